"""A finished study as a user asks for it again: answered at once, or by Snakemake where anything is new."""

import os
import shutil

import pytest
from programs import ran
from study_files import study_file

from workflows.paths import ROOT

pytestmark = pytest.mark.slow

NAME = f"finished_test_{os.getpid()}"
RESULTS = ROOT / "results" / NAME
DONE = f"done: report and proposal in results/{NAME}"


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished")
    (folder / "runs.csv").write_text(
        "case,interconnect,processes,seconds\nlid,,1,10\nlid,ethernet,2,6\nlid,ethernet,4,4\n"
    )
    yield study_file(folder, f"name: {NAME}\nimport: [runs.csv]\n")
    shutil.rmtree(RESULTS, ignore_errors=True)


def run(*words):
    done = ran(ROOT / "run-study", *words, timeout=300, NO_COLOR="1")
    asked = "Building DAG of jobs..." in done.stdout + done.stderr
    return done.returncode, [line for line in done.stderr.splitlines() if line.startswith("done:")], asked


def dates():
    return {file: file.stat().st_mtime_ns for file in RESULTS.rglob("*") if file.is_file()}


def test_what_changes_is_looked_at_and_nothing_else(study):
    assert run(study) == (0, [DONE], True)
    before = dates()
    assert run(study) == (0, [DONE], False)
    assert run(study, "--cores", "1") == (0, [DONE], True)
    assert run(study, "--dry-run") == (0, [], True)
    assert run(study, "--dry-run", "--config", "seed=7")[2]
    assert run(study, "--forcerun", "report", "--dry-run")[2]
    assert dates() == before
    (RESULTS / "report.html").unlink()
    assert run(study) == (0, [DONE], True)
    assert (RESULTS / "report.html").exists()
    assert run(study) == (0, [DONE], False)
    os.utime(ROOT / "config/interconnects/tcp_loopback.yaml")  # of no trace of another test
    assert run(study) == (0, [DONE], True)  # Snakemake finds that nothing is to be done, and says the same
    assert run(study) == (0, [DONE], False)
    (study.parent / "runs.csv").write_text((study.parent / "runs.csv").read_text().replace("10", "11"))
    assert run(study, "--dry-run")[2]
    study.write_text(study.read_text() + "title: Another title\n")
    assert run(study) == (0, [DONE], True)
    assert "11" in (RESULTS / "runs.csv").read_text()
    assert "Another title" in (RESULTS / "report.html").read_text()
    assert run(study) == (0, [DONE], False)


def test_a_study_that_would_fail_is_not_called_finished(study):
    assert run(study)[0] == 0
    (study.parent / "runs.csv").write_text("case,interconnect\n")
    status, done, _ = run(study)
    assert status and not done
