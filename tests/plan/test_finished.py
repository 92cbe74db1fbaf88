"""A study that is finished is answered for at once, and only if nothing has changed."""

import json
import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from programs import printed
from study_files import study_file

from workflows.paths import ROOT, StudyPaths
from workflows.plan import ending, finished
from workflows.plan.finished import CLOCK_SECONDS, STAMP, answer, given, made
from workflows.plan.plan import make_plan

STUDY = Path("config/studies/mine.yaml")
MAIN = SimpleNamespace(is_main_process=True, dryrun=False)  # what a study asks of Snakemake's workflow
FILES = {
    "Snakefile": "rule all:\n",
    "workflows/plan/plan.py": "blocks = 1\n",
    "analysis/estimates/peaks.py": "peak = 1\n",
    "profiles/default/config.yaml": "cores: all\n",
    "envs/python.yaml": "dependencies: [python]\n",
    "config/interconnects/gigabit.yaml": "name: gigabit\n",
    "config/prices/2026.yaml": "price: 1\n",
    "cases/command/nothing/case.yaml": "size: none\n",
    "cluster/site.yaml": "nodes: 1\n",
    str(STUDY): "# a study\nname: mine\nblocks: 1\n",
    "foreign/runs.csv": "seconds\n1\n",
    "results/mine/runs.csv": "seconds\n1\n",
    "results/mine/records/nothing/block-1-attempt-1.json": "{}\n",
    "results/mine/report.pdf": "%PDF\n",
}
TOLD = ["mine: 1 points", "done: report and proposal in results/mine; 1 of 4 runs is invalid: killed"]


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project with a study that is finished, as the current folder; its programs are in its folder bin."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "bin").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin", prepend=os.pathsep)
    monkeypatch.setattr(finished, "_environment", lambda: dict(os.environ))
    time.sleep(CLOCK_SECONDS)
    files, programs = ["foreign/runs.csv", "foreign/curve.csv"], ["solver"]
    stamp = {"study": str(STUDY), "files": files, "programs": programs, "told": TOLD}
    stamp |= {"given": given(files, programs), "made": made(Path("results/mine"))}
    Path("results/mine", STAMP).write_text(json.dumps(stamp))
    return tmp_path


def test_it_says_what_was_said(project):
    assert answer(STUDY) == TOLD


@pytest.mark.parametrize("name", FILES)
def test_a_changed_file_is_looked_at(project, name):
    text, before = Path(name).read_text(), Path(name).stat()
    Path(name).write_text(text.replace("1", "2") if "1" in text else text.upper())
    os.utime(name, ns=(before.st_atime_ns, before.st_mtime_ns))  # as who restores dates, and keeps the size
    assert answer(STUDY) is None


@pytest.mark.parametrize("name", FILES)
def test_a_removed_file_is_missed(project, name):
    Path(name).unlink()
    assert answer(STUDY) is None


@pytest.mark.parametrize(
    "name",
    [
        *("workflows/new.py", "analysis/new.py", "config/interconnects/new.yaml"),
        *("cases/command/new/case.yaml", "foreign/curve.csv", "bin/solver"),
        *("results/mine/again.jsonl", "results/mine/records/nothing/block-2-attempt-1.json"),
    ],
)
def test_a_new_file_is_seen(project, name):
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_text("")
    assert answer(STUDY) is None


def test_a_program_is_installed_in_a_folder_that_comes_later(project, monkeypatch):
    (project / "other").mkdir()
    monkeypatch.setenv("PATH", f"{os.environ['PATH']}:{project}/other")
    assert answer(STUDY) is None


@pytest.mark.parametrize("name", ["OMPI_MCA_btl", "LD_LIBRARY_PATH", "WM_PROJECT_DIR", "SNAKEMAKE_PROFILE"])
def test_an_environment_that_may_matter_is_another_one(project, monkeypatch, name):
    monkeypatch.setenv(name, "other")
    assert answer(STUDY) is None


def test_fewer_cores_are_another_machine(project):
    cores = os.sched_getaffinity(0)
    if len(cores) < 2:
        pytest.skip("one core cannot be made fewer")
    try:
        os.sched_setaffinity(0, {min(cores)})
        assert answer(STUDY) is None
    finally:
        os.sched_setaffinity(0, cores)
    assert answer(STUDY) == TOLD


def test_what_is_of_a_terminal_or_a_cache_changes_nothing(project, monkeypatch):
    monkeypatch.setenv("TERM", "vt100")
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    (project / "workflows/__pycache__").mkdir()
    (project / "workflows/__pycache__/plan.pyc").write_text("")
    (project / ".snakemake/log").mkdir(parents=True)
    assert answer(STUDY) == TOLD


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"study": "config/studies/mine.yaml"}', "\0"])
def test_a_damaged_stamp_answers_nothing(project, text):
    Path("results/mine", STAMP).write_text(text)
    assert answer(STUDY) is None


def test_another_study_of_the_same_name_is_not_the_one(project):
    other = Path("config/studies/other.yaml")
    other.write_text(STUDY.read_text())
    assert answer(other) is None
    assert answer(Path("config/studies/none.yaml")) is None


@pytest.fixture
def begun(tmp_path, monkeypatch):
    """A plan that has begun, as the only thing on a command line, and the place of its stamp."""
    (tmp_path / "runs.csv").write_text("case,interconnect,processes,seconds\nlid,ethernet,1,2\n")
    file = study_file(tmp_path, "name: begun\nimport: [runs.csv]\n")
    monkeypatch.setattr(ending, "announcement", lambda plan: "begun: nothing is run")
    monkeypatch.setattr(ending, "tell_done", lambda paths: print("done: all of it", file=sys.stderr))
    monkeypatch.setattr(ending, "announce", lambda plan: None)
    monkeypatch.setattr(ending, "ROOT", Path.cwd())
    monkeypatch.setattr(sys, "argv", ["snakemake", "--configfile", str(file)])
    plan = make_plan(file)
    plan = replace(plan, paths=StudyPaths(tmp_path / "results"))
    (tmp_path / "results").mkdir()
    old = time.time() - 3600
    monkeypatch.setattr(ending, "changed_at", lambda files: old)
    return plan, plan.paths.results / STAMP


def test_a_good_end_is_kept(begun, capsys):
    plan, stamp = begun
    ending.begin(plan, MAIN)
    ending.end(plan)
    assert capsys.readouterr().err == "done: all of it\n"
    kept = json.loads(stamp.read_text())
    assert kept["told"] == ["begun: nothing is run", "done: all of it"]
    imported = plan.asked.study.imports[0]
    beside = {str(imported.with_name(name)) for name in ("facts.json", "records", "simulated")}
    assert beside | {str(imported)} <= {*kept["files"]} and "nwchem" in kept["programs"]


@pytest.mark.parametrize(
    "options", [["--cores", "1"], ["--", "results/begun/runs.csv"], ["--until", "collect"]]
)
def test_an_end_with_options_is_not_kept(begun, monkeypatch, options):
    plan, stamp = begun
    monkeypatch.setattr(sys, "argv", [*sys.argv, *options])
    ending.begin(plan, MAIN)
    ending.end(plan)
    assert not stamp.exists()


def test_a_bad_end_is_not_kept(begun, monkeypatch):
    plan, stamp = begun
    monkeypatch.setattr(ending, "tell_done", lambda plan: sys.exit("nodeworth: no run is valid"))
    ending.begin(plan, MAIN)
    with pytest.raises(SystemExit):
        ending.end(plan)
    assert not stamp.exists()


def test_what_was_edited_while_a_study_ran_is_not_kept(begun):
    plan, stamp = begun
    ending.begin(plan, MAIN)
    plan.asked.study.imports[0].write_text("case,interconnect,processes,seconds\nlid,ethernet,1,3\n")
    ending.end(plan)
    assert not stamp.exists()


def test_what_was_edited_after_python_began_is_not_kept(begun, monkeypatch):
    plan, stamp = begun
    monkeypatch.setattr(ending, "changed_at", lambda files: time.time())
    ending.begin(plan, MAIN)
    ending.end(plan)
    assert not stamp.exists()


def test_a_study_that_starts_is_not_finished(begun):
    plan, stamp = begun
    stamp.write_text("{}")
    os.close(ending.start(plan, {}))
    assert not stamp.exists()


def test_asking_takes_no_long_imports():
    code = "import sys, workflows.command; print(sorted({name.partition('.')[0] for name in sys.modules}))"
    loaded = set(eval(printed(sys.executable, "-c", code)))
    assert "workflows" in loaded
    assert not {"numpy", "pandas", "snakemake", "ruamel", "jsonschema"} & loaded


def test_what_a_study_is_given_is_the_same_however_python_is_called(project):
    """The stamp is written by Snakemake and read by ``run-study``."""
    code = "import sys; sys.path.insert(0, sys.argv[1]); from workflows.plan.finished import given; print(given([], ['sh']))"
    home = Path(sys.executable).parent
    one, other = (
        printed(python, "-c", code, ROOT, cwd=project, PYTHONDONTWRITEBYTECODE="1")
        for python in (home / "python", os.path.relpath(home / "python", project))
    )
    assert one == other
