"""A finished study is requested again: Snakemake makes missing or changed outputs, and nothing else."""

import os
import shutil

import pytest
from programs import ran
from study_files import study_file

from workflows.paths import ROOT

pytestmark = pytest.mark.slow

NAME = f"finished_test_{os.getpid()}"
RESULTS = ROOT / "results" / NAME
DONE = f"done: report: {RESULTS}/report.pdf"


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished")
    (folder / "runs.csv").write_text(
        "case,interconnect,processes,seconds\nlid,,1,10\nlid,ethernet,2,6\nlid,ethernet,4,4\n"
    )
    yield study_file(folder, f"name: {NAME}\nimport: [runs.csv]\n")
    shutil.rmtree(RESULTS, ignore_errors=True)


def run(*words):
    """Exit status, and the lines that say where the results are."""
    done = ran(ROOT / "run-study", *words, timeout=300, NO_COLOR="1")
    return done.returncode, [line for line in done.stderr.splitlines() if line.startswith("done:")]


def dates():
    return {file: file.stat().st_mtime_ns for file in RESULTS.rglob("*") if file.is_file()}


def test_only_changed_outputs_are_made_again(study):
    assert run(study) == (0, [DONE])
    before = dates()
    assert run(study) == (0, [DONE])
    assert run(study, "--cores", "1") == (0, [DONE])
    assert run(study, "--dry-run") == (0, [])
    assert run(study, "--forcerun", "report", "--dry-run") == (0, [])
    assert run(study, "--summary") == (0, [])
    assert dates() == before
    (RESULTS / "report.html").unlink()
    assert run(study) == (0, [DONE])
    assert (RESULTS / "report.html").exists()
    (study.parent / "runs.csv").write_text((study.parent / "runs.csv").read_text().replace("10", "11"))
    study.write_text(study.read_text() + "title: Another title\n")
    assert run(study) == (0, [DONE])
    assert "11" in (RESULTS / "runs.csv").read_text()
    assert "Another title" in (RESULTS / "report.html").read_text()


def test_a_study_that_fails_is_not_called_finished(study):
    assert run(study)[0] == 0
    (study.parent / "runs.csv").write_text("case,interconnect\n")
    status, done = run(study)
    assert status and not done
