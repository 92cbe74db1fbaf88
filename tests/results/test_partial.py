"""Reports of a running study: when they are made, and that they are never taken for complete."""

import logging
from types import SimpleNamespace

import pytest
from snakemake_interface_logger_plugins.common import LogEvent

from workflows.paths import StudyPaths
from workflows.plan import hooks
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


def test_the_interim_report_of_an_ended_study_leads_to_the_report(tmp_path):
    paths = StudyPaths(tmp_path)
    paths.partial.mkdir()
    paths.interim_report.write_text("interim")
    paths.report.write_text("whole")
    hooks.drop_interim_report(paths)
    assert paths.interim_report.read_text() == "whole" and not paths.report.is_symlink()


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
