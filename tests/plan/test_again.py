"""Requests to run something again: ``snakemake --config again=WHAT``."""

import json
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest
from programs import ran
from refused import refusal
from small_records import record

from workflows.command import main
from workflows.domain import InputError
from workflows.measure.stopped import state_of
from workflows.paths import ROOT
from workflows.plan.announce import announcement
from workflows.plan.hooks import StudyRun, record_requests, reruns
from workflows.plan.plan import make_plan
from workflows.plan.records import write_record
from workflows.study import asked

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
    study_run(plan).announce("faulty/shared_memory")
    (request,) = map(json.loads, plan.paths.requests.read_text().splitlines())
    assert request["what"] == "faulty/shared_memory"


def test_dry_runs_and_jobs_of_a_cluster_record_no_request(study):
    plan = make_plan(study)
    study_run(plan, dryrun=True).announce("faulty")
    study_run(plan, is_main_process=False).announce("faulty")
    assert not plan.paths.requests.exists()


@pytest.mark.parametrize("dryrun", [True, False])
def test_a_request_without_a_point_is_one_line(study, dryrun):
    with pytest.raises(InputError, match=r"^study\.yaml: again duct: no case 'duct'; known: failed, faulty"):
        study_run(make_plan(study), dryrun).announce("duct")


def recorded(plan, **changes):
    """Write a record of every repetition of a plan."""
    for repetition in plan.design.repetitions:
        inputs = plan.design.inputs(repetition.point)
        write_record(plan.paths.record(repetition, 1), record(**({"inputs": inputs} | changes)))


def test_only_the_runs_of_a_request_are_announced(study, capsys):
    plan = make_plan(study)
    recorded(plan)
    study_run(plan, dryrun=True).announce("faulty/shared_memory")
    first, listed, *_ = capsys.readouterr().err.splitlines()
    assert first.startswith("again: again faulty/shared_memory: 1 run of 2, about ")
    assert listed == "  faulty, shared_memory, 2 processes: block 1"


def test_the_same_request_continues_until_its_runs_are_made(study, capsys):
    plan = make_plan(study)
    recorded(plan, started="2020-01-01T00:00:00+00:00")
    study_run(plan).announce("faulty")
    study_run(make_plan(study)).announce("faulty")
    assert len(plan.paths.requests.read_text().splitlines()) == 1
    assert "again faulty: the request of" in capsys.readouterr().err
    for repetition, attempt in plan.missing(plan.design.repetitions):
        inputs = plan.design.inputs(repetition.point)
        started = "2999-01-01T00:00:00+00:00"
        write_record(plan.paths.record(repetition, attempt), record(inputs=inputs, started=started))
    study_run(make_plan(study)).announce("faulty")
    assert len(plan.paths.requests.read_text().splitlines()) == 2


def test_recorded_blocks_beyond_the_study_are_announced(study):
    study.write_text(STUDY.replace("blocks: 1", "blocks: 2"))
    recorded(make_plan(study))
    study.write_text(STUDY)
    plan = make_plan(study)
    assert "; 2 recorded in results/again, nothing to measure; 2 repeated or added runs count too" in (
        announcement(plan)
    )
    later = next(plan.paths.results.rglob("block-2-attempt-1.json"))
    later.unlink()
    write_record(later, record(inputs={"case": "before", "interconnect": None}))
    assert "; 1 repeated or added run counts too" in announcement(plan)


def test_a_complete_study_gets_no_remark_on_few_blocks(study):
    """Its results state which comparisons are undecided."""
    study.write_text(STUDY.replace("[shared_memory]", "[shared_memory, tcp_loopback]"))
    plan = make_plan(study)
    assert "verdicts on all comparisons need" in announcement(plan)
    recorded(plan)
    assert "verdicts on all comparisons need" not in announcement(plan)


def test_only_runs_that_still_count_are_counted(study):
    plan = make_plan(study)
    recorded(plan)
    assert "; 2 recorded in " in announcement(plan) and (
        state_of(plan) == "1 of 1 block recorded; tables and report are not finished"
    )
    record_requests(replace(plan, requested=reruns(plan, "faulty/serial")))
    assert "; 2 recorded in " in announcement(plan)
    left = "again faulty/serial: 1 run left of earlier requests (--again none withdraws them)"
    assert left in announcement(plan).splitlines()
    assert state_of(plan) == (
        "1 of 1 block recorded; 1 run of --again left, which the next command makes even without --again"
    )


def test_failed_runs_of_further_blocks_are_announced(study, capsys):
    """The study once asked for 2 blocks; now its file asks for 1 again."""
    study.write_text(STUDY.replace("blocks: 1", "blocks: 2"))
    plan = make_plan(study)
    for repetition in plan.design.repetitions:
        made = record(inputs=plan.design.inputs(repetition.point), valid=repetition.block == 1)
        write_record(plan.paths.record(repetition, 1), made)
    study.write_text(STUDY)
    assert reruns(make_plan(study), "failed") == ()
    printed = capsys.readouterr().err
    assert "no run of the 1 block of " in printed
    assert "has failed; to repeat failed runs of later blocks, add --config blocks=2" in printed


def test_a_further_look_is_announced(study):
    """Also if blocks are added, and not before the first report."""
    plan = make_plan(study)
    recorded(plan)
    requested = replace(plan, requested=reruns(plan, "faulty"))
    line = (
        "the next report is a further look at faulty, and tests this case more strictly (docs/statistics.md)"
    )
    assert line not in announcement(requested).splitlines()
    plan.paths.looks.write_text('{"looks": []}')
    assert line in announcement(requested).splitlines()
    part = replace(plan, requested=reruns(plan, "faulty/shared_memory"))
    assert line not in announcement(part).splitlines() and line not in announcement(plan).splitlines()
    study.write_text(STUDY.replace("blocks: 1", "blocks: 2"))
    assert line in announcement(make_plan(study)).splitlines()


def test_requests_can_be_withdrawn(study, capsys):
    """The withdrawn request leaves no run, and later requests count again."""
    plan = make_plan(study)
    recorded(plan)
    assert reruns(plan, "none") == () and "again none: no request is open" in capsys.readouterr().err
    record_requests(replace(plan, requested=reruns(plan, "faulty/serial")))
    assert len(plan.missing(plan.design.repetitions)) == 1
    withdrawn = replace(plan, requested=reruns(plan, "none"))
    assert "again none: 1 run of earlier requests withdrawn" in capsys.readouterr().err
    assert withdrawn.missing(plan.design.repetitions) == []
    assert "2 recorded in results/again, nothing to measure" in announcement(withdrawn)
    record_requests(withdrawn)
    assert plan.missing(plan.design.repetitions) == [] and "again" not in state_of(plan)
    record_requests(replace(plan, requested=reruns(plan, "faulty/serial")))
    assert len(plan.missing(plan.design.repetitions)) == 1


def test_runs_of_an_edited_case_are_not_counted(study):
    plan = make_plan(study)
    recorded(plan, inputs={"case": "before", "interconnect": None})
    assert "; 0 recorded in " in announcement(plan) and state_of(plan) == "0 of 1 block recorded"


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (
            {"case": "before"},
            "faulty changed: runs recorded before the change do not count (they are kept)",
        ),
        (
            {"interconnect": "before"},
            "shared_memory changed: runs recorded before the change do not count (they are kept)",
        ),
        (
            {"cluster": "before"},
            "cluster changed: runs recorded before the change do not count (they are kept)",
        ),
        (
            {"case": "before", "interconnect": "before"},
            "faulty, shared_memory changed: runs recorded before the change do not count (they are kept)",
        ),
    ],
    ids=str,
)
def test_runs_before_a_change_are_announced_until_it_is_undone(study, changes, line):
    plan = make_plan(study)
    for repetition in plan.design.repetitions:
        inputs = plan.design.inputs(repetition.point)
        if repetition.point.interconnect is None:
            inputs |= {key: value for key, value in changes.items() if key != "interconnect"}
        else:
            inputs |= changes
        write_record(plan.paths.record(repetition, 1), record(inputs=inputs))
    assert line in announcement(plan).splitlines()
    assert "nothing to measure" not in announcement(plan)
    for repetition, attempt in plan.missing(plan.design.repetitions):
        inputs = plan.design.inputs(repetition.point)
        write_record(plan.paths.record(repetition, attempt), record(inputs=inputs))
    assert "changed" not in announcement(plan)
    assert announcement(plan).splitlines()[0].endswith("; 2 recorded in results/again, nothing to measure")


def test_a_block_that_only_an_undone_edit_has_is_no_change(study):
    plan = make_plan(study, {"blocks": 2})
    for repetition in plan.design.repetitions:
        inputs = plan.design.inputs(repetition.point)
        if repetition.block == 2:
            inputs |= {"case": "edited"}
        write_record(plan.paths.record(repetition, 1), record(inputs=inputs))
    assert "; 2 recorded in " in announcement(plan) and "changed" not in announcement(plan)


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"again": "nosuch"}, "again nosuch: no case 'nosuch'; known: box, failed"),
        ({"again": "box/tcp"}, "again box/tcp: no interconnect 'tcp'; known: serial, shared_memory"),
        ({"again": "box/serial/3"}, "again box/serial/3: no process count '3'; known: 1"),
        (
            {"interconnects": ["shared_memry"]},
            "interconnects[0]: no interconnect 'shared_memry', did you mean",
        ),
        ({"exclude": [{"interconnect": "tcp"}]}, "exclude[0].interconnect: 'tcp' is not in this study"),
    ],
    ids=str,
)
def test_wrong_names_are_refused_before_the_trial_run(study, monkeypatch, changes, line):
    trials = []
    monkeypatch.setattr(asked, "make_case", lambda *given: trials.append(given))
    (study.parent / "box").mkdir()
    (study.parent / "box/in.lmp").write_text("run 10\n")
    study.write_text(STUDY.replace("[faulty]", "[{path: box/in.lmp, name: box}]"))
    assert refusal(InputError, make_plan, study, changes).startswith(f"study.yaml: {line}")
    assert trials == []


@pytest.mark.parametrize("typed", [["smoke"], ["study.yaml"], ["study.yaml", "-n"], ["mine.yaml", "smoke"]])
def test_a_request_without_its_value_is_one_line(study, typed):
    message = refusal(InputError, main, ["--again", *typed])
    assert message.startswith(f"--again: WHAT is missing before {typed[0]}: failed, or a case of the study, ")


@pytest.mark.slow
def test_plain_snakemake_runs_a_case_again(study, tmp_path):
    command = [sys.executable, "-m", "snakemake", "--snakefile", ROOT / "Snakefile", "--directory", tmp_path]
    command += ["--workflow-profile", ROOT / "profiles/default", "--cores", "2", "--configfile", study]
    again = ["--config", "again=faulty/shared_memory"]
    for config in ([], [*again, "--dry-run"], again):
        done = ran(*command, *config, "--", "results/again/records.txt", timeout=300)
        assert done.returncode == 0, done.stderr
        if "--dry-run" in config:
            assert "\nmeasure " in done.stdout and "Nothing to be done" not in done.stdout
            assert "\n  faulty, shared_memory, 2 processes: block 1\n" in done.stderr
    records = sorted(path.name for path in tmp_path.rglob("shared_memory/**/*.json"))
    assert records == ["block-1-attempt-1.json", "block-1-attempt-2.json"]
    assert [path.name for path in tmp_path.rglob("serial/**/*.json")] == ["block-1-attempt-1.json"]


def test_a_request_covers_the_blocks_of_its_command(study):
    """After --again with --config blocks=1, a plain command on two blocks does not repeat the second block."""
    study.write_text(STUDY.replace("blocks: 1", "blocks: 2"))
    plan = make_plan(study)
    recorded(plan)
    record_requests(replace(plan, requested=reruns(make_plan(study, {"blocks": 1}), "faulty/serial")))
    assert [repetition.block for repetition, _ in plan.missing(plan.design.repetitions)] == [1]
