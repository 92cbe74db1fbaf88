"""Reports of a running study: when they are made, and that they are never taken for complete."""

import logging
import os
from types import SimpleNamespace

import pytest
from snakemake_interface_logger_plugins.common import LogEvent
from study_files import study_file

from workflows.domain import InputError
from workflows.paths import StudyPaths
from workflows.plan import hooks
from workflows.plan.machine import hold_study
from workflows.plan.plan import make_plan
from workflows.results.partial import PartialReports, _WhenJobsEnd, is_due


@pytest.mark.parametrize(
    ("since", "took", "left", "due"),
    [
        (0, 0, 600, True),  # the first
        (189, 10, 600, False),  # 10 of 199 s are more than a twentieth
        (190, 10, 600, True),
        (190, 10, 59, False),  # the whole one comes soon
        (190, 10, None, True),
    ],
)
def test_a_report_is_made_if_it_takes_little_of_the_time(since, took, left, due):
    assert is_due(since, took, left) is due


def test_a_report_that_cannot_be_made_stops_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    messages = []
    PartialReports(tmp_path / "none.yaml", {}, simulated=True).make(600, messages.append)
    assert len(messages) == 1 and messages[0].startswith("there is no report of the recorded runs: ")
    assert "none.yaml" in messages[0] and "Traceback" not in messages[0]


@pytest.fixture
def stopped(tmp_path, monkeypatch):
    """Paths of a study that was stopped with a partial report, and how Snakemake comes upon it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs.csv").write_text("case,interconnect,processes,seconds\nlid,ethernet,1,2\n")
    plan = make_plan(study_file(tmp_path, "name: stopped\nimport: [runs.csv]\n"))
    paths = plan.paths
    paths.partial.mkdir(parents=True)
    (paths.partial / "report.html").write_text("partial")
    paths.report.symlink_to("partial/report.html")

    def snakemake_reads(dryrun=False):
        workflow = SimpleNamespace(is_main_process=True, output_settings=SimpleNamespace(dryrun=dryrun))
        return hooks.begin_run(plan, workflow)

    return paths, snakemake_reads


def test_snakemake_never_sees_a_partial_report(stopped):
    paths, snakemake_reads = stopped
    snakemake_reads(dryrun=True)
    assert paths.report.read_text() == "partial"
    snakemake_reads()
    assert not paths.report.is_symlink() and not paths.partial.exists()


def test_the_partial_report_of_a_study_that_runs_is_left_alone(stopped, capsys):
    paths, snakemake_reads = stopped
    lock = hold_study(paths.results)
    run = snakemake_reads()
    with pytest.raises(InputError, match="another process is running this study"):
        run.start()
    assert paths.report.read_text() == "partial"
    os.close(lock)


def test_a_whole_report_stays(tmp_path):
    paths = StudyPaths(tmp_path)
    paths.partial.mkdir()
    paths.report.write_text("whole")
    hooks.drop_interim_report(paths)
    assert paths.report.read_text() == "whole" and not paths.partial.exists()


def test_jobs_of_a_cluster_are_reported_now_and_then():
    made = []
    reports = SimpleNamespace(make=lambda left, say: made.append(left))
    listening = _WhenJobsEnd(reports, every_seconds=0)
    job_ended = logging.makeLogRecord({"msg": "", "event": LogEvent.JOB_FINISHED})
    listening.emit(logging.makeLogRecord({"msg": "Select jobs to execute..."}))
    listening.emit(job_ended)
    listening._thread.join()
    assert made == [None]
    seldom = _WhenJobsEnd(reports, every_seconds=300)
    seldom.emit(job_ended)
    assert made == [None]
