"""Requests to run something again: ``snakemake --config again=WHAT``."""

import json
import sys
from types import SimpleNamespace

import pytest
from programs import ran

from workflows.domain import InputError
from workflows.paths import ROOT
from workflows.plan.hooks import StudyRun
from workflows.plan.plan import make_plan

STUDY = f"""
name: again
cases_folder: {ROOT / "tests/cases"}
cases: [faulty]
interconnects: [shared_memory]
processes: [1, 2]
blocks: 1
limits: {{run_seconds: 40, idle_seconds: 0}}
"""


@pytest.fixture
def study(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.yaml").write_text(STUDY)
    return tmp_path / "study.yaml"


def study_run(plan, dryrun=False, is_main_process=True):
    settings = SimpleNamespace(dryrun=dryrun)
    return StudyRun(plan, SimpleNamespace(output_settings=settings, is_main_process=is_main_process))


def test_a_request_makes_its_runs_missing_again(study):
    plan = make_plan(study, {"again": "faulty/shared_memory"})
    study_run(plan).request_again("faulty/shared_memory")
    (request,) = map(json.loads, plan.paths.requests.read_text().splitlines())
    assert request["what"] == "faulty/shared_memory"


def test_dry_runs_and_jobs_of_a_cluster_record_no_request(study):
    plan = make_plan(study)
    study_run(plan, dryrun=True).request_again("failed")
    study_run(plan, is_main_process=False).request_again("failed")
    assert not plan.paths.requests.exists()


@pytest.mark.parametrize("dryrun", [True, False])
def test_a_request_without_a_point_is_one_line(study, dryrun):
    with pytest.raises(InputError, match=r"^again duct: no case 'duct'; known: failed, faulty"):
        study_run(make_plan(study), dryrun).request_again("duct")


@pytest.mark.slow
def test_plain_snakemake_runs_a_case_again(study, tmp_path):
    command = [sys.executable, "-m", "snakemake", "--snakefile", ROOT / "Snakefile", "--directory", tmp_path]
    command += ["--workflow-profile", ROOT / "profiles/default", "--cores", "2", "--configfile", study]
    for config in ([], ["--config", "again=faulty/shared_memory"]):
        done = ran(*command, *config, "--", "results/again/records.txt", timeout=300)
        assert done.returncode == 0, done.stderr
    records = sorted(path.name for path in tmp_path.rglob("shared_memory/**/*.json"))
    assert records == ["block-1-attempt-1.json", "block-1-attempt-2.json"]
    assert [path.name for path in tmp_path.rglob("serial/**/*.json")] == ["block-1-attempt-1.json"]
