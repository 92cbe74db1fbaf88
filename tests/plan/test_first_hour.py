"""Messages that a new user meets in the first hour."""

import subprocess
import sys

import pytest
from refused import refusal
from small_records import record

from workflows.domain import InputError
from workflows.inputs import read_yaml
from workflows.measure.stopped import state_of
from workflows.paths import CASES, ROOT
from workflows.plan.announce import announce, announcement
from workflows.plan.design import duration
from workflows.plan.hooks import reruns
from workflows.plan.plan import make_plan
from workflows.plan.records import write_record
from workflows.study.asked import read_asked
from workflows.study.cases import read_case_file
from workflows.study.study import read_study

STUDY = f"""
name: hour
cases_folder: {ROOT / "tests/cases"}
cases: [harmonic-smoke]
interconnects: [shared_memory, tcp_loopback]
processes: [1, 2]
blocks: 4
"""


@pytest.fixture
def study(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hour.yaml").write_text(STUDY)
    return tmp_path / "hour.yaml"


def test_a_study_without_a_usable_interconnect_is_refused(study):
    """Its serial runs alone would end with a report without a result."""
    study.write_text(STUDY.replace("[shared_memory, tcp_loopback]", "[infiniband_verbs]"))
    line = refusal(InputError, make_plan, study)
    assert line.startswith(
        "hour.yaml: none of the parallel runs of this study can be run here: interconnect infiniband_verbs: is between"
    )
    study.write_text(study.read_text().replace("[1, 2]", "[1]"))
    assert [point.processes for point in make_plan(study).design.points] == [1]


def test_a_missing_folder_of_cases_is_named(study):
    study.write_text(STUDY.replace(str(ROOT / "tests/cases"), "my_cases"))
    message = refusal(InputError, read_asked, study)
    assert message == "hour.yaml: cases_folder: my_cases: no such folder"


def test_a_duplicate_key_is_named_in_plain_words(study):
    study.write_text(STUDY + "blocks: 5\n")
    assert (
        refusal(InputError, read_yaml, study)
        == f"{study}, line 8: key 'blocks' is there twice; each only once"
    )


def test_a_list_without_its_end_is_named_with_the_line_of_its_beginning(study):
    study.write_text("name: hour\ncases: [a, b\nblocks: 5\n")
    assert refusal(InputError, read_study, study).startswith(f"{study}, line 2: expected ',' or ']'")


def test_an_incomplete_section_names_the_keys_of_which_it_needs_one(tmp_path):
    case = tmp_path / "openfoam/mine/case.yaml"
    case.parent.mkdir(parents=True)
    text = (CASES / "openfoam/cavity/case.yaml").read_text()
    start, end = text.index("  read:"), text.index("courant")
    case.write_text(text[:start] + "  read: {answer: 'x = (.*)'}\n")
    assert end > start
    assert refusal(InputError, read_case_file, case) == (
        f"{case}: settings.read: needs continuity or courant, and has {{answer}}"
    )


def test_runs_of_unfinished_blocks_are_counted(study):
    plan = make_plan(study)
    for repetition in plan.design.repetitions[:2]:
        inputs = plan.design.inputs(repetition.point)
        write_record(plan.paths.record(repetition, 1), record(inputs=inputs))
    assert state_of(plan) == "0 of 4 blocks and 2 further runs recorded"
    inputs = plan.design.inputs(plan.design.repetitions[2].point)
    invalid = record(inputs=inputs, valid=False, reason="diverged")
    write_record(plan.paths.record(plan.design.repetitions[2], 1), invalid)
    assert state_of(plan) == "1 of 4 blocks recorded, 1 run invalid"


@pytest.mark.parametrize("seconds", [0, 5])
def test_waiting_is_announced_if_runs_may_wait(study, seconds):
    study.write_text(f"{STUDY}limits: {{idle_seconds: {seconds}}}\n")
    assert ("s of waiting before each run" in announcement(make_plan(study))) is bool(seconds)


def test_again_failed_without_a_failed_run_is_answered(study, capsys):
    plan = make_plan(study)
    assert reruns(plan, "failed") == ()
    assert (
        capsys.readouterr().err
        == "again failed: hour.yaml has no runs yet; the study starts as without --again\n"
    )
    repetition = plan.design.repetitions[0]
    write_record(plan.paths.record(repetition, 1), record(inputs=plan.design.inputs(repetition.point)))
    assert reruns(plan, "failed") == ()
    assert capsys.readouterr().err == "again failed: no run of hour.yaml has failed; nothing is repeated\n"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(89, "89 s"), (90, "2 min"), (7190, "120 min"), (9000, "2.5 h"), (9048000, "105 days")],
)
def test_long_times_are_in_hours_or_days(seconds, words):
    assert duration(seconds) == f"about {words}"


def test_single_points_and_blocks_are_singular(study):
    text = STUDY.replace("[1, 2]", "[1]").replace("blocks: 4", "blocks: 1")
    study.write_text(text)
    assert announcement(make_plan(study)).startswith("hour: 1 point, 1 block, 1 run, about ")


@pytest.mark.parametrize(
    ("request_text", "line"),
    [
        ("fail", "no case 'fail', did you mean 'failed'?; known: failed, harmonic-smoke"),
        ("harmonic-smok", "no case 'harmonic-smok', did you mean 'harmonic-smoke'?; known: failed, "),
        (
            "harmonic-smoke/tcp_loopbak",
            "no interconnect 'tcp_loopbak', did you mean 'tcp_loopback'?; known: serial, shared_memory, tcp_loopb",
        ),
        ("harmonic-smoke/serial/2", "no process count '2'; known: 1"),
        ("harmonic-smoke/serial/1/4", "no oversubscription '4'; known: 1"),
        ("harmonic-smoke/serial/1/1/1", "'1' does not belong here; write failed, none, or case"),
    ],
)
def test_a_wrong_part_of_again_gets_a_suggestion(study, request_text, line):
    message = refusal(InputError, reruns, make_plan(study), request_text)
    assert message.startswith(f"hour.yaml: again {request_text}: {line}")


def test_kinds_that_are_not_compared_get_a_line(study):
    text = "name: hour\ncases: [cavity-smoke]\ninterconnects: [shared_memory, emulated_gigabit]\n"
    text += "processes: [1, 2]\nblocks: 1\n"
    study.write_text(text)
    assert "not compared: measured with emulated interconnects" in announcement(make_plan(study))
    study.write_text(f"{text}compare_kinds: [[emulated, measured]]\n")
    assert "not compared" not in announcement(make_plan(study))


def test_too_few_cells_per_process_get_a_remark(study):
    text = "name: hour\ncases: [cavity-smoke]\ninterconnects: [gigabit_ethernet]\nprocesses: [1, 2, 512]\nblocks: 1\n"
    study.write_text(text)
    remark = "few cells: cavity-smoke has 1,000, 2 per process on 512 processes; below 100, most cells lie at the edge"
    assert remark in announcement(make_plan(study))
    study.write_text(text.replace(", 512", ""))
    assert "few cells" not in announcement(make_plan(study))


def test_a_study_beyond_its_core_hours_is_shown_before_it_is_refused(study, capsys):
    study.write_text(f"{STUDY}limits: {{core_hours: 1.0e-9}}\n")
    message = refusal(InputError, announce, make_plan(study))
    assert message.startswith("hour.yaml: limits.core_hours: 1e-09 is too little: 12 runs will take about ")
    assert "hour: 3 points, 4 blocks, 12 runs, about " in capsys.readouterr().err


def test_a_study_of_imports_announces_no_measurement(study):
    study.write_text("name: hour\nimport: [mine.csv]\n")
    study.with_name("mine.csv").write_text("case,interconnect,processes,seconds\na,b,1,2\na,b,2,1\n")
    command = [
        sys.executable,
        "-m",
        "snakemake",
        "--snakefile",
        ROOT / "Snakefile",
        "--directory",
        study.parent,
    ]
    command += ["--workflow-profile", "none", "--configfile", study, "--dry-run", "--cores", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    assert "Collecting" in done.stdout + done.stderr, done.stderr
    assert "Measuring" not in done.stdout + done.stderr
