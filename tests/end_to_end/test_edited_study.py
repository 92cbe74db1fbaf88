"""A study is run, one of its inputs is edited, and the same command is given again."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pandas as pd
import pytest
from needs import DEFAULT_SIGNALS, need
from programs import printed, ran
from small_records import record
from study_files import study_file
from study_folders import SNAKEMAKE, planned_rules
from waiting import wait_until

from workflows.measure.prepare import prepare
from workflows.paths import CASES, ROOT
from workflows.plan.jobs import batches
from workflows.plan.plan import make_plan
from workflows.plan.records import write_record

pytestmark = pytest.mark.slow

STUDY = """
name: edited
cases_folder: cases
interconnects_folder: interconnects
cases: [CASES]
interconnects: [shared_memory]
processes: [1, 2]
blocks: 1
limits: {run_seconds: 60, idle_seconds: 0.1}
"""
COUNT = """
application: command
title: Count
description: A program of the tests.
stands_for: Nothing.
size: small
sizes: {small: {parameters: {n: 1}, serial_seconds: 0.1, memory_MB: 1}}
answer: {quantity: count, unit: "1", possible: [0, 9], tolerance: 1.0e-6, reason: It is exact.}
settings:
  program: [sh, count.sh, $n]
  read: {seconds: 'took (\\S+) s', answer: 'n = (\\d+)'}
"""
SCRIPT = "sleep SECONDS\n[ ${OMPI_COMM_WORLD_RANK:-0} = 0 ] || exit 0\necho n = $1\necho took 0.1 s\n"
SITE = "scheduler: sge\nlauncher: mpirun\nnodes: 4\ncores_per_node: 1\nmemory_per_node_MB: 4000\njoined_by: emulated_gigabit\n"
RUNS = 2  # of one block of a case: serial, and 2 processes


class Edited:
    """A folder with a study, its cases and its interconnects, which a user edits between two commands."""

    def __init__(self, folder: Path, project: Path = ROOT) -> None:
        self.folder, self.project = folder, project
        self.study = study_file(folder, STUDY)
        self.results = folder / "results/edited"
        (folder / "interconnects").mkdir()

    def count(self, name: str = "count", seconds: float = 0) -> Path:
        """Write a case that prints its parameter after some seconds."""
        case = self.folder / "cases/command" / name
        case.mkdir(parents=True)
        (case / "case.yaml").write_text(COUNT)
        (case / "count.sh").write_text(SCRIPT.replace("SECONDS", str(seconds)))
        return case

    def ask_for(self, *cases: str, **changes: str) -> "Edited":
        text = STUDY.replace("CASES", ", ".join(cases))
        for key, value in changes.items():
            text = re.sub(rf"(?m)^{key}: .*", f"{key}: {value}", text)
        self.study.write_text(text)
        return self

    def command(self, *options: str) -> list[str]:
        where = ["--directory", str(self.folder), "--snakefile", str(self.project / "Snakefile")]
        return [SNAKEMAKE, *where, "--configfile", str(self.study), *options, "--", "results/edited/runs.csv"]

    def run(self, *config: str) -> str:
        """Run the study, with some values of --config, to its runs table; times need not be right."""
        options = ["--config", *config] if config else []
        done = ran(*self.command(*options), timeout=600, NO_COLOR="1")
        assert (self.results / "runs.csv").exists(), done.stderr
        return done.stderr

    def planned(self, *options: str) -> list[str]:
        """Rule of each job that a dry run counts, in order."""
        command = self.command("--dry-run", "--quiet", "host", *options)
        return planned_rules(printed(*command, timeout=120, NO_COLOR="1"))

    def attempts(self) -> list[int]:
        """Number of the attempt of each record, in order."""
        return sorted(int(file.stem.split("-")[-1]) for file in self.results.glob("records/**/*.json"))

    def counted(self) -> list[int]:
        """Attempts of the runs that were made with the files as they are now, in order."""
        runs = pd.read_csv(self.results / "runs.csv")
        return sorted(runs.loc[runs["loss"] != "outdated", "attempt"])

    def valid(self) -> list[int]:
        """Attempts of the valid runs, in order."""
        runs = pd.read_csv(self.results / "runs.csv")
        return sorted(runs.loc[runs["valid"], "attempt"])

    def answers(self) -> set[float]:
        """Answers of the runs that count."""
        runs = pd.read_csv(self.results / "runs.csv")
        return set(runs.loc[runs["loss"] != "outdated", "answer"])


@pytest.fixture
def edited(tmp_path):
    return Edited(tmp_path)


def edit(file: Path, before: str, after: str) -> None:
    text = file.read_text()
    assert before in text, file
    file.write_text(text.replace(before, after))


APPLICATIONS = {
    "command": (
        ROOT / "tests/cases/command/harmonic",
        ("case.yaml", "terms: 1000}", "terms: 2000}"),
        ("harmonic.py", "range(1, ", "range(2, "),
    ),
    "openfoam": (
        CASES / "openfoam/cavity",
        ("case.yaml", "iterations: 20,", "iterations: 22,"),
        ("system/fvSolution", "nCorrectors 2", "nCorrectors 3"),
    ),
    "nwchem": (
        CASES / "nwchem/water_scf",
        ("case.yaml", "{waters: 1, basis: 6-31g*}", "{waters: 1, basis: 3-21g}"),
        ("input.nw", "thresh 1e-6", "thresh 1e-5"),
    ),
    "lammps": (
        CASES / "lammps/lj_melt",
        ("case.yaml", "steps: 200}", "steps: 220}"),
        ("input.lmp", "create 1.44", "create 1.45"),
    ),
    "mpi4py": (
        CASES / "mpi4py/pingpong",
        ("case.yaml", "largest_bytes: 65536", "largest_bytes: 32768"),
        ("pingpong.py", "main(pingpong_sweep)", "\nmain(pingpong_sweep)"),
    ),
}
PROGRAMS = {"openfoam": ("blockMesh", "icoFoam"), "nwchem": ("nwchem",), "lammps": ("lmp",)}


@pytest.mark.parametrize("application", APPLICATIONS)
def test_the_next_command_measures_the_edited_case(edited, application):
    need("mpirun", *PROGRAMS.get(application, ()))
    origin, *edits = APPLICATIONS[application]
    case = edited.folder / "cases" / application / origin.name
    shutil.copytree(origin, case)
    edited.ask_for(f"{origin.name}-smoke").run()
    for attempt, (name, before, after) in enumerate(edits, 2):
        edit(case / name, before, after)
        assert "measure" in edited.planned()
        edited.run()
        assert edited.attempts() == sorted([*range(1, attempt + 1)] * RUNS)
        assert edited.counted() == [attempt] * RUNS
    assert edited.planned() == []


def test_a_case_of_the_project_is_measured_by_the_same_command(tmp_path):
    """In a clone, with the command that users give."""
    for name in ("analysis", "cluster", "config", "envs", "profiles", "workflows"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("Snakefile", "pyproject.toml", "run-study", "uv.lock"):
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / ".venv").symlink_to(ROOT / ".venv")
    clone = Edited(tmp_path, tmp_path)
    clone.count()
    clone.ask_for("count")
    edit(clone.study, "cases_folder: cases\n", "")
    for attempt in (1, 2):
        here = {"PYTHONPATH": str(tmp_path), "NO_COLOR": "1"}  # .venv was installed for another folder
        done = ran(tmp_path / "run-study", clone.study.name, cwd=tmp_path, timeout=600, **here)
        assert f"done: report: {tmp_path}/results/edited/report.pdf" in done.stderr, done.stderr
        assert clone.valid() == [attempt] * RUNS and clone.answers() == {attempt}
        edit(tmp_path / "cases/command/count/case.yaml", f"n: {attempt}", f"n: {attempt + 1}")


def test_the_records_of_the_original_case_count_again(edited):
    case = edited.count()
    edited.ask_for("count").run()
    edit(case / "case.yaml", "n: 1", "n: 2")
    edited.run()
    edit(case / "case.yaml", "n: 2", "n: 1")
    edited.run()
    assert edited.attempts() == [1, 1, 2, 2] and edited.counted() == [1, 1] and edited.answers() == {1}
    assert edited.planned() == []


def test_a_point_that_was_repeated_while_the_case_was_edited_is_not_repeated_after_the_edit_is_undone(edited):
    case = edited.count()
    edited.ask_for("count").run()
    edit(case / "case.yaml", "n: 1", "n: 2")
    assert "recorded before the change" in edited.run()
    again = edited.run("again=count/shared_memory/2")
    assert edited.attempts() == [1, 1, 2, 2, 3]
    assert "again count/shared_memory/2: 1 run of 2" in again and "before the change" not in again
    assert "repeats only some interconnects or counts of count" in again
    edit(case / "case.yaml", "n: 2", "n: 1")
    assert "before the change" not in edited.run()
    assert edited.attempts() == [1, 1, 2, 2, 3] and edited.counted() == [1, 1] and edited.answers() == {1}


def test_input_files_come_and_go(edited):
    case = edited.count()
    outside = edited.folder / "table.txt"
    outside.write_text("1 2\n")
    edited.ask_for("count").run()
    changes = [
        lambda: (case / "new.txt").write_text("new\n"),
        lambda: (case / "new.txt").rename(case / "renamed.txt"),
        lambda: (case / "renamed.txt").unlink(),  # as it was at first
        lambda: (case / "table.txt").symlink_to(outside),
        lambda: outside.write_text("3 4\n"),
    ]
    for change, counted in zip(changes, (2, 3, 1, 4, 5), strict=True):
        change()
        edited.run()
        assert edited.counted() == [counted] * RUNS
    assert edited.attempts() == sorted([1, 2, 3, 4, 5] * RUNS)


@pytest.mark.needs("blockMesh", "icoFoam")
def test_a_case_is_measured_when_the_case_that_it_is_like_is_edited(edited):
    case = edited.folder / "cases/openfoam/like_cavity/case.yaml"
    shutil.copytree(CASES / "openfoam/cavity", case.parents[1] / "cavity")
    case.parent.mkdir()
    text = (CASES / "openfoam/cavity/case.yaml").read_text()
    case.write_text(text.replace("  solver: icoFoam", "  solver: icoFoam\n  like: cavity"))
    edited.ask_for("like_cavity-smoke").run()
    edit(case.parents[1] / "cavity/system/fvSolution", "nCorrectors 2", "nCorrectors 3")
    edited.run()
    assert edited.counted() == [2] * RUNS


def test_an_edited_interconnect_is_measured_whatever_else_is_edited(edited):
    """Its runs alone: the serial run, which it has no part in, is not made again."""
    case = edited.count()
    interconnect_file = edited.folder / "interconnects/shared_memory.yaml"
    shutil.copy(ROOT / "config/interconnects/shared_memory.yaml", interconnect_file)
    edited.ask_for("count").run()
    edit(interconnect_file, "self,vader", "vader,self")
    edited.run()
    assert edited.attempts() == [1, 1, 2] and edited.counted() == [1, 2]
    edit(interconnect_file, "vader,self", "self,tcp")
    edit(case / "case.yaml", "possible: [0, 9]", "possible: [0, 8]")  # the expected answer is found again
    edited.run()
    assert edited.attempts() == [1, 1, 2, 3] and edited.counted() == [1, 3]


def test_again_measures_while_the_expected_answer_is_recomputed(edited):
    case = edited.count()
    edited.ask_for("count").run()
    edit(case / "case.yaml", "possible: [0, 9]", "possible: [0, 8]")
    newest = max(json.loads(file.read_text())["started"] for file in edited.results.glob("records/**/*.json"))
    (edited.results / "again.jsonl").write_text(json.dumps({"what": "count", "time": newest}) + "\n")
    edited.run()
    assert edited.attempts() == [1, 1, 2, 2]


def test_blocks_are_added_while_a_case_is_edited(edited):
    case = edited.count()
    edited.ask_for("count").run()
    edit(case / "case.yaml", "possible: [0, 9]", "possible: [0, 8]")
    edited.ask_for("count", blocks="2").run()
    assert edited.attempts() == [1] * 2 * RUNS


def test_a_study_that_asks_for_fewer_blocks_again_leaves_out_no_run(edited):
    """--config adds two blocks; the next command asks for the blocks of the file, and reports all four."""
    edited.count()
    edited.ask_for("count", blocks="2").run()
    edited.run("blocks=4")
    edited.run()
    study = json.loads((edited.results / "facts.json").read_text())["study"]
    assert (study["blocks"], study["blocks_recorded"]) == (4, 4)
    assert edited.valid() == [1] * 4 * RUNS


def test_a_study_that_was_stopped_goes_on_with_the_edited_case(edited, tmp_path):
    """An edit while it runs, Ctrl-C, the whole study; then back: Nodeworth measures what the original case lacks."""
    case = edited.count(seconds=1)
    edited.ask_for("count", blocks="4")
    command = [*DEFAULT_SIGNALS, *edited.command()]
    with (tmp_path / "printed").open("w") as out:
        stopped = subprocess.Popen(command, stdout=out, stderr=out, start_new_session=True)
        try:
            assert wait_until(lambda: len(edited.attempts()) >= 3, 240), (tmp_path / "printed").read_text()
            edit(case / "case.yaml", "n: 1", "n: 2")
            os.killpg(stopped.pid, signal.SIGINT)  # as a terminal does
            assert stopped.wait(60) != 0
        finally:
            stopped.kill()
    before = len(edited.attempts())
    assert before < 4 * RUNS
    edited.run()
    assert len(edited.attempts()) == before + 4 * RUNS and edited.answers() == {2}
    edit(case / "case.yaml", "n: 2", "n: 1")
    edited.run()
    assert len(edited.attempts()) == 2 * 4 * RUNS and edited.answers() == {1}


def changed_while_running(edited: Edited, text: str, change) -> str:
    """Run the study, change something once it has printed a text, and give all that it printed."""
    process = subprocess.Popen(edited.command(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    lines = []
    for line in process.stderr:
        lines.append(line)
        if text in line:
            change()
    process.wait()
    return "".join(lines)


def test_a_case_that_is_edited_while_another_is_prepared(edited):
    """What was prepared is of the case as it was: no run of it may be recorded as one of the edited case."""
    case = edited.count()
    edited.count("slow", seconds=3)
    edited.ask_for("count", "slow")
    printed = changed_while_running(
        edited,
        "Checking slow",
        lambda: (time.sleep(1), (case / "count.sh").write_text("echo n = 2\necho took 0.1 s\n")),
    )
    assert "give the same command again" in printed
    edited.run()
    assert edited.answers() == {1, 2}
    runs = pd.read_csv(edited.results / "runs.csv").set_index("case")
    assert set(runs.loc["count", "answer"]) == {2}


def test_a_case_that_is_edited_while_it_is_measured_and_back(edited):
    case = edited.count(seconds=2)
    edited.ask_for("count")
    printed = changed_while_running(edited, "[1/2]", lambda: edit(case / "case.yaml", "n: 1", "n: 2"))
    assert "give the same command again" in printed
    edit(case / "case.yaml", "n: 2", "n: 1")
    edited.run()
    assert edited.attempts() == [1] * RUNS and edited.counted() == [1] * RUNS


@pytest.mark.needs("blockMesh", "icoFoam", "mpicxx.openmpi")
def test_blocks_are_added_to_a_study_that_also_simulates(edited):
    """Its first block is measured before anything is traced."""
    shutil.copytree(CASES / "openfoam/cavity", edited.folder / "cases/openfoam/cavity")
    interconnects = "[shared_memory, gigabit_ethernet]"
    edited.ask_for("cavity-smoke", interconnects=interconnects, blocks="2").run()
    edited.ask_for("cavity-smoke", interconnects=interconnects, blocks="3").run()
    assert edited.attempts() == [1] * 3 * RUNS


@pytest.fixture
def in_jobs(edited, monkeypatch):
    """Files of two cases that jobs of a cluster measured; gives the options that plan on the cluster."""
    site = edited.folder / "site.yaml"
    site.write_text(SITE)
    for name in ("count", "other"):
        edited.count(name)
    edited.ask_for("count", "other", interconnects="[emulated_gigabit]", blocks="2")
    monkeypatch.chdir(edited.folder)  # where results lie
    plan = make_plan(edited.study, {"cluster": str(site)})
    for point in plan.design.points:
        prepare(
            plan.asked.cases[point.case], point.processes, plan.paths.prepared(point.case, point.processes)
        )
        plan.paths.expected(point.case).write_text('{"value": 1, "source": "serial"}')
    for repetition in plan.design.repetitions:
        recorded = record(inputs=plan.design.inputs(repetition.point))
        write_record(plan.paths.record(repetition, 1), recorded)
    for name, batch in batches(plan).items():
        listed = plan.paths.batch(name)
        listed.parent.mkdir(parents=True, exist_ok=True)
        listed.write_text(
            "".join(f"{plan.paths.record(repetition, 1)}\n" for repetition in batch.repetitions)
        )
    for name in ("records.txt", "runs.csv", "runs.parquet", "facts.json"):
        (edited.results / name).write_text('{"runs": {}}')
    for name in ("details", "published"):
        (edited.results / name).mkdir()
    options = ("--profile", str(ROOT / "cluster/sge"), "--config", f"cluster={site}")
    monkeypatch.setenv("JOB_ID", "1")  # else Nodeworth refuses all but dry runs where no scheduler is
    done = ran(*edited.command("--touch", "--forceall", *options), timeout=120)
    assert done.returncode == 0, done.stderr
    assert edited.planned(*options) == []
    return options


def test_on_a_cluster_the_jobs_of_the_edited_case_alone_are_submitted(edited, in_jobs):
    case = edited.folder / "cases/command/count/case.yaml"
    edit(case, "n: 1", "n: 2")
    assert edited.planned(*in_jobs).count("measure_batch") == 2 * RUNS  # a job for each block of each count
    edit(case, "n: 2", "n: 1")
    edit(case, "possible: [0, 9]", "possible: [0, 8]")
    planned = edited.planned(*in_jobs)
    assert "reference" in planned and "measure_batch" not in planned


def test_on_a_cluster_a_job_is_submitted_whatever_else_is_edited(edited, in_jobs):
    for name in ("count", "other"):
        case = edited.folder / f"cases/command/{name}/case.yaml"
        edit(case, "possible: [0, 9]", "possible: [0, 8]")
    request = {"what": "count/serial", "time": "2027-01-01T12:00:00.000+00:00"}
    (edited.results / "again.jsonl").write_text(json.dumps(request) + "\n")
    assert edited.planned(*in_jobs).count("measure_batch") == 2  # blocks of the serial run
