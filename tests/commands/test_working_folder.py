"""Studies in a folder of the user: results go there, wherever the project is."""

import csv
import os
import shutil
import stat
import sys
import tempfile
from pathlib import Path

import pytest
from programs import ran

from workflows import command
from workflows.command import main
from workflows.jobs.cluster import site_file
from workflows.paths import ROOT, working_folder

STUDY = "name: in_my_folder\nimport: [runs.csv]\n"
RUNS = "case,interconnect,processes,seconds\nduct,eth,1,10\nduct,eth,2,6\nduct,ib,1,10\nduct,ib,2,5\n"
NOBODY = 65534
SNAKEMAKE = str(Path(sys.executable).with_name("snakemake"))


@pytest.fixture
def mine(tmp_path):
    """A folder of a user with a study."""
    (tmp_path / "mine.yaml").write_text(STUDY)
    (tmp_path / "runs.csv").write_text(RUNS)
    return tmp_path


@pytest.fixture
def started(monkeypatch):
    """Working folder and options with which Snakemake is started."""
    starts = []
    monkeypatch.setattr(command, "args_to_api", lambda parsed, _: starts.append((Path.cwd(), parsed)))
    return starts


def typed(monkeypatch, folder, *words):
    """Type words after run-study in a folder."""
    monkeypatch.chdir(folder)
    with pytest.raises(SystemExit):
        main(list(words))


def test_every_folder_of_the_project_has_the_results_of_the_project(tmp_path):
    assert working_folder(ROOT) == working_folder(ROOT / "config/studies") == ROOT
    assert working_folder(tmp_path) == tmp_path


def test_snakemake_works_in_the_folder_of_the_user(mine, monkeypatch, started):
    typed(monkeypatch, mine, "mine.yaml", "--dry-run")
    folder, parsed = started[0]
    assert folder == mine and Path(parsed.snakefile) == ROOT / "Snakefile"
    assert parsed.configfile == [Path("mine.yaml")]


def test_results_names_another_folder(mine, monkeypatch, started):
    typed(monkeypatch, mine, "mine.yaml", "--results", "elsewhere/new")
    folder, parsed = started[0]
    assert folder == mine / "elsewhere/new" and parsed.configfile == [mine / "mine.yaml"]


def test_a_folder_of_results_without_results_is_removed(mine):
    folder = mine / "mistyped/new"
    for words in (["mine.yaml", "--dry-run"], ["none.yaml"]):
        done = ran(ROOT / "run-study", *words, "--results", folder, cwd=mine)
        assert (done.returncode == 0) == ("mine.yaml" in words)
        assert not folder.parent.exists()


def test_profiles_of_the_project_have_their_names_everywhere(mine, monkeypatch, started):
    for words in (["--profile", "cluster"], ["--profile=cluster/pbs"]):
        typed(monkeypatch, mine, "mine.yaml", *words)
    assert [parsed.profile for _, parsed in started] == [[f"{ROOT}/cluster"], [f"{ROOT}/cluster/pbs"]]


def test_a_site_file_of_the_user_comes_before_that_of_the_project(mine, monkeypatch):
    study = mine / "studies/mine.yaml"
    study.parent.mkdir()
    monkeypatch.chdir(mine)
    assert site_file("cluster/site.yaml", study) == ROOT / "cluster/site.yaml"
    (study.parent / "site.yaml").write_text("")
    assert site_file("cluster/site.yaml", study) == study.parent / "site.yaml"
    (mine / "site.yaml").write_text("")
    assert site_file("cluster/site.yaml", study) == Path("site.yaml")
    assert site_file(str(study.parent / "site.yaml"), study) == study.parent / "site.yaml"


def results_are_in(folder, done):
    """Whether a study ended with the full path of a report in a folder."""
    assert done.returncode == 0, done.stderr
    report = folder / "results/in_my_folder/report.pdf"
    assert done.stderr.splitlines()[-1].endswith(f" {report}") and report.stat().st_size > 10_000
    assert not (ROOT / "results/in_my_folder").exists()


def test_a_study_in_the_folder_of_the_user(mine):
    """Also where packages there have the names of those of the project."""
    for package in ("analysis", "workflows"):
        (mine / package).mkdir()
        (mine / package / "__init__.py").write_text("raise SystemExit('mine')\n")
    results_are_in(mine, ran(ROOT / "run-study", "mine.yaml", cwd=mine, timeout=300, NO_COLOR="1"))
    archived = ran(ROOT / "run-study", "--archive", "mine.yaml", cwd=mine, timeout=100)
    assert archived.stdout.startswith("results/in_my_folder/in_my_folder-archive.zip: "), archived.stderr
    checked = ran(ROOT / "run-study", "--check", archived.stdout.split(":")[0], cwd=mine, timeout=200)
    assert checked.stdout.endswith("the archive passes\n"), checked.stdout + checked.stderr


def test_plain_snakemake_in_the_folder_of_the_user(mine):
    options = ["--snakefile", ROOT / "Snakefile", "--configfile", "mine.yaml"]
    results_are_in(mine, ran(SNAKEMAKE, *options, cwd=mine, timeout=300, NO_COLOR="1"))


def test_only_the_report_of_a_study(mine):
    """By ./run-study, as the documentation states, and by plain Snakemake."""
    report, study = "results/in_my_folder/report.pdf", "mine.yaml"
    troubleshooting = (ROOT / "docs/troubleshooting.md").read_text()
    assert "./run-study mystudy.yaml results/mystudy/report.pdf " in troubleshooting
    plain = [SNAKEMAKE, "--snakefile", ROOT / "Snakefile"]
    for words in ([*plain, report, "--configfile", study], [ROOT / "run-study", study, report]):
        done = ran(*words, "--dry-run", cwd=mine, timeout=100)
        assert done.returncode == 0 and "\nreport " in done.stdout and "\nall " not in done.stdout, (
            done.stderr
        )
    wrong = ran(*plain, "--dry-run", "--configfile", study, report, cwd=mine, timeout=100)
    assert wrong.returncode == 1
    assert wrong.stderr.splitlines()[-1] == (
        f"nodeworth: --configfile: {report}: is no study file; name the files to make first: "
        f"snakemake {report} --configfile {study}"
    )
    assert "Traceback" not in wrong.stderr


def test_the_default_study_needs_no_configfile(tmp_path):
    done = ran(SNAKEMAKE, "--snakefile", ROOT / "Snakefile", "--dry-run", cwd=tmp_path, timeout=100)
    assert "laptop: " in done.stderr, done.stderr


MEASURED = """\
name: of_a_user
cases: [pingpong-smoke]
interconnects: [shared_memory]
processes: [2]
blocks: 1
"""


@pytest.fixture
def nobody():
    """A folder of a user who may not write to the project, and the command that becomes this user."""
    if os.geteuid() or ROOT.stat().st_mode & stat.S_IWOTH or shutil.which("setpriv") is None:
        pytest.skip("needs root, setpriv and a project that others cannot change")
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chown(folder, NOBODY, NOBODY)
        become = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        if ran(*become, "ls", ROOT / ".venv/bin/python").returncode:
            pytest.skip("the project is hidden from others")
        yield Path(folder), [*become, "env", f"HOME={folder}"]


@pytest.mark.slow
def test_a_project_that_the_user_may_not_change(nobody):
    """Nodeworth builds its helpers in the results of the user."""
    folder, become = nobody
    (folder / "mine.yaml").write_text(MEASURED)
    target = "results/of_a_user/runs.csv"
    done = ran(*become, ROOT / "run-study", "mine.yaml", "--", target, cwd=folder, timeout=900, NO_COLOR="1")
    assert done.stderr.endswith(f"done: results: {folder}/results/of_a_user\n"), done.stderr
    assert next(csv.DictReader((folder / target).open()))["valid"] == "True"
    assert list((folder / "results/.attesters").iterdir())


def test_a_project_that_nobody_has_set_up(nobody):
    folder, become = nobody
    with tempfile.TemporaryDirectory(dir="/tmp") as made:
        clone = Path(made)
        clone.chmod(0o755)
        for name in ("run-study", "uv.lock", "pyproject.toml"):
            shutil.copy(ROOT / name, clone)
        shutil.copytree(ROOT / "envs", clone / "envs")
        done = ran(*become, clone / "run-study", "smoke", cwd=folder)
        assert done.returncode == 1 and done.stderr == (
            f"Nodeworth is not set up. A user who may write to {clone} must first run ./run-study laptop --dry-run "
            "there.\n"
        )


@pytest.mark.parametrize("words", [["smoke", "--dry-run"], ["smoke", "--results", "new"], ["--init"]])
def test_a_folder_in_which_the_user_may_not_write_is_one_line(nobody, words):
    folder, become = nobody
    folder.chmod(0o555)
    try:
        done = ran(*become[:-1], "HOME=/tmp", ROOT / "run-study", *words, cwd=folder)
    finally:
        folder.chmod(0o755)
    (line,) = (line for line in done.stderr.splitlines() if not line.startswith("Using"))
    if "--init" in words:
        assert line == f"nodeworth: --init: {folder}/site.yaml: Permission denied"
    else:
        place = folder / "new" if "new" in words else folder
        assert line == f"nodeworth: {place}: you may not write there; name another folder with --results"
