"""Runs that ended with their jobs are recorded with the state of the job and repeated."""

import json
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from small_records import KNOWN_BEFORE, record

from workflows.domain import InputError, Point, Repetition
from workflows.jobs import SCHEDULERS
from workflows.jobs.scheduler import Job
from workflows.jobs.sge import GridEngine
from workflows.jobs.slurm import Slurm
from workflows.launch.cluster_launch import JobNode
from workflows.measure import allocation as allocations
from workflows.measure.allocation import STOPPED, Allocation, JobEndedError, OutOfTimeError, settle
from workflows.paths import StudyPaths
from workflows.plan.record import Record
from workflows.plan.records import TRIES, is_missing, read_record

REPETITION = Repetition(Point("duct", None, 1, 1, 1, 1), 1, ())
INPUTS = {"case": "a", "interconnect": None}


def job(state="RUNNING", restarts=0, ends=None):
    return Job("7", state, "n[1-2]", restarts, ends, "all")


@pytest.fixture
def at_work(tmp_path):
    """A run under way in job 7."""
    nodes = (JobNode("n1", "srun", "pmix"),)
    here = Allocation(job(), nodes, True, tmp_path / "measured/part.running.json", tmp_path / "scratch")
    here.notes.parent.mkdir()
    planned = Record.of_point(REPETITION.point, **KNOWN_BEFORE | {"inputs": INPUTS}, cluster=here.facts())
    path = tmp_path / "records/duct/block-1-attempt-1.json"
    paths, cluster = StudyPaths(tmp_path), SimpleNamespace(scheduler=SCHEDULERS["slurm"])
    return SimpleNamespace(paths=paths, cluster=cluster, here=here, planned=planned, path=path)


def test_only_srun_leaves_out_the_node_where_it_is_started(at_work):
    """In four blocks a serial run is on each of four nodes, by srun."""
    for launcher, used in (("srun", 4), ("mpirun", 1)):
        nodes = tuple(JobNode(f"n{number}", launcher, "pmix") for number in range(4))
        here = Allocation(job(), nodes, True, at_work.here.notes, at_work.here.scratch)
        blocks = [here.nodes_of(replace(REPETITION, block=block), 1) for block in range(1, 5)]
        assert len({node.name for (node,) in blocks}) == used


def die(at_work):
    with pytest.raises(KeyboardInterrupt), at_work.here.noted(at_work.path, at_work.planned):
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("became", "state", "message"),
    [
        (job("TIMEOUT"), "TIMEOUT", "job 7 ended as TIMEOUT on n[1-2]"),
        (job("NODE_FAIL"), "NODE_FAIL", "job 7 ended as NODE_FAIL on n[1-2]"),
        (job("RUNNING", 1), "REQUEUED", "job 7 was put back into the queue (restart 1) on n[1-2]"),
        (Job("7", "unknown"), "unknown", "job 7 ended; it is not known any more how on n[1-2]"),
    ],
)
def test_a_run_that_ended_with_its_job(at_work, monkeypatch, became, state, message):
    (at_work.here.scratch / "run").mkdir(parents=True)
    die(at_work)
    monkeypatch.setattr(Slurm, "job", lambda *_: became)
    assert settle(at_work.cluster, at_work.paths) == [f"duct/block-1-attempt-1.json: {message}"]
    record = read_record(at_work.path)
    assert (record.valid, record.seconds, record.reason) == (False, None, message)
    assert record.interrupted and record.cluster.state == state
    assert not at_work.here.scratch.exists()
    assert settle(at_work.cluster, at_work.paths) == []


def test_the_final_state_of_a_completing_job_is_awaited(at_work, monkeypatch):
    die(at_work)
    states = iter(["COMPLETING", "CANCELLED"])
    monkeypatch.setattr(time, "sleep", lambda _: None)
    monkeypatch.setattr(Slurm, "job", lambda *_: job(next(states)))
    settle(at_work.cluster, at_work.paths, at_work.here.notes)
    assert read_record(at_work.path).cluster.state == "CANCELLED"


def test_elsewhere_a_job_that_finds_its_own_note_was_put_back(at_work, monkeypatch):
    """Only Slurm counts how often."""
    die(at_work)
    at_work.cluster.scheduler = SCHEDULERS["sge"]
    monkeypatch.setenv("JOB_ID", "7")
    monkeypatch.setattr(GridEngine, "job", lambda *_: Job("7", "RUNNING"))
    assert settle(at_work.cluster, at_work.paths) == []
    (message,) = settle(at_work.cluster, at_work.paths, at_work.here.notes)
    assert message.endswith("job 7 was put back into the queue (restart 1) on n[1-2]")
    assert read_record(at_work.path).cluster.state == "REQUEUED"


def test_a_note_of_an_earlier_version_holds_less_and_is_settled(at_work, monkeypatch):
    die(at_work)
    note = json.loads(at_work.here.notes.read_text())
    of_the_run = ("seconds", "valid", "reason", "problem", "times", "noise", "placement", "probe", "details")
    for key in of_the_run:
        del note["planned"][key]
    at_work.here.notes.write_text(json.dumps(note))
    monkeypatch.setattr(Slurm, "job", lambda *_: job("TIMEOUT"))
    settle(at_work.cluster, at_work.paths)
    assert read_record(at_work.path).problem == "job 7 ended as TIMEOUT on n[1-2]"


def test_settled_runs_are_reported_once(at_work, monkeypatch):
    monkeypatch.setattr(Slurm, "job", lambda *_: job("TIMEOUT"))
    die(at_work)
    allocations.pass_on(at_work.paths, ["a line of a job"])
    ended = "duct/block-1-attempt-1.json: job 7 ended as TIMEOUT on n[1-2]"
    assert allocations.interruptions(at_work.cluster, at_work.paths) == ["a line of a job", ended]
    assert allocations.interruptions(at_work.cluster, at_work.paths) == []


def test_lines_written_during_a_reading_come_with_the_next(at_work, monkeypatch):
    read = Path.read_text

    def read_and_append(file):
        text = read(file)
        if text == "first\n":
            allocations.pass_on(at_work.paths, ["second"])
        return text

    allocations.pass_on(at_work.paths, ["first"])
    monkeypatch.setattr(Path, "read_text", read_and_append)
    assert [allocations.interruptions(at_work.cluster, at_work.paths) for _ in range(3)] == [
        ["first"],
        ["second"],
        [],
    ]


def test_a_run_that_is_still_under_way_is_left_alone(at_work, monkeypatch):
    die(at_work)
    monkeypatch.setattr(Slurm, "job", lambda *_: job())
    assert settle(at_work.cluster, at_work.paths) == []
    assert not at_work.path.exists() and at_work.here.notes.exists()


def test_a_run_that_was_recorded_leaves_no_note(at_work):
    with at_work.here.noted(at_work.path, at_work.planned):
        assert json.loads(at_work.here.notes.read_text())["record"] == str(at_work.path)
    assert not at_work.here.notes.exists() and at_work.here.runs == 1


@pytest.mark.parametrize(
    ("became", "errors", "message"),
    [
        (job("TIMEOUT"), "", r"job 7 ends \(TIMEOUT\) while a run is under way"),
        (job("PENDING", 1), "", r"job 7 ends \(PENDING\)"),
        (job(), "srun: error: Unable to create step for job 7: Memory required\n", "not started: Unable to"),
    ],
)
def test_a_run_that_fails_with_its_job_is_left_to_the_next(at_work, monkeypatch, became, errors, message):
    monkeypatch.setattr(Slurm, "job", lambda *_: became)
    monkeypatch.setattr(allocations, "REFUSED_SECONDS", 0)
    with pytest.raises(JobEndedError, match=message), at_work.here.noted(at_work.path, at_work.planned):
        at_work.here.check_failed(errors)
    (message_later,) = settle(at_work.cluster, at_work.paths, at_work.here.notes)
    expected = {
        "TIMEOUT": "job 7 ended as TIMEOUT on n[1-2]",
        "PENDING": "job 7 was put back into the queue (restart 1) on n[1-2]",
        "RUNNING": "job 7: a run was not started: Unable to create step for job 7: Memory required on n[1-2]",
    }
    assert message_later.endswith(expected[became.state])
    assert json.loads(at_work.path.read_text())["interrupted"]


def test_a_run_that_fails_while_its_job_is_cleared_away_does_not_count(at_work, monkeypatch):
    monkeypatch.setattr(Slurm, "job", lambda *_: job("COMPLETING"))
    with pytest.raises(JobEndedError, match=r"job 7 ends \(COMPLETING\)"):
        at_work.here.check_failed("srun: error: Too few NodeNames in Slurm Hostfile\n")


def test_a_run_whose_other_node_is_out_of_time_first_ends_with_its_job(at_work, monkeypatch):
    monkeypatch.setattr(allocations.time, "sleep", lambda _: setattr(at_work, "waited", True))
    monkeypatch.setattr(Slurm, "job", lambda *_: job("TIMEOUT" if hasattr(at_work, "waited") else "RUNNING"))
    at_work.here.check_failed("out of luck\n")
    with pytest.raises(JobEndedError, match="TIMEOUT"):
        at_work.here.check_failed("ORTE has lost communication with a remote daemon.\n")


def test_nothing_is_begun_in_a_job_that_is_cleared_away(at_work, monkeypatch):
    monkeypatch.setattr(Slurm, "this_job", lambda _: job("COMPLETING"))
    cluster = SimpleNamespace(scheduler=SCHEDULERS["slurm"], file="site.yaml")
    here = allocations.this_allocation(cluster, at_work.paths, None)
    with pytest.raises(InputError, match="job 7 is being ended"), here:
        pass


def test_a_run_that_fails_by_itself_is_recorded(at_work, monkeypatch):
    monkeypatch.setattr(Slurm, "job", lambda *_: job())
    at_work.here.check_failed("out of luck\n")


def test_an_interrupted_attempt_is_made_again_but_not_for_ever():
    lost = record(inputs=INPUTS, interrupted=True, valid=False)
    for count in range(TRIES + 1):
        assert is_missing(REPETITION, [lost] * count, INPUTS, []) is (count < TRIES)
    assert not is_missing(REPETITION, [lost, record(inputs=INPUTS, valid=False)], INPUTS, [])


def test_no_run_is_begun_that_would_outlast_its_job(at_work, tmp_path, monkeypatch):
    monkeypatch.setenv(STOPPED, str(tmp_path / "stopped"))
    at_work.here.job = job(ends=time.time() + 60)
    at_work.here.check_time(30)
    at_work.here.runs = 4
    with pytest.raises(OutOfTimeError, match=r"job 7 ends in \d+ s, before the next run would"):
        at_work.here.check_time(50)
    assert (tmp_path / "stopped").read_text() == "4"
    at_work.here.job = job()
    at_work.here.check_time(1e9)


def test_a_neighbour_on_exclusive_nodes_makes_a_run_invalid(at_work, monkeypatch):
    seen, other = [], "job 9 of anna on n2"
    monkeypatch.setattr(Slurm, "neighbours", lambda _, job: seen.append(job) or [other])
    assert [at_work.here.neighbour() for _ in range(3)] == [f"not alone on its nodes: {other}"] * 3
    assert len(seen) == 1  # asked at most every ten seconds
    at_work.here.exclusive, at_work.here._neighbours = False, None
    assert at_work.here.neighbour() is None
    at_work.here.exclusive, at_work.here.neighbours_hidden, at_work.here._asked_at = True, True, None
    assert at_work.here.neighbour() is None and len(seen) == 1  # where nodes are hidden, it would be refused
