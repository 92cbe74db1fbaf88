"""Answers of Slurm: how they are read, and which questions are repeated."""

import subprocess
from pathlib import Path

import pytest
from programs import write_program

from workflows.domain import InputError
from workflows.jobs import SCHEDULERS, slurm
from workflows.jobs.scheduler import Job, NodeSelection

SLURM = SCHEDULERS["slurm"]
RUNNING = (
    "JobId=7 JobName=x UserId=root(0) GroupId=root(0) Priority=1 JobState=RUNNING Reason=None Requeue=1 "
    "Restarts=2 BatchFlag=1 EndTime=2026-11-21T09:00:00 Deadline=N/A Partition=all NodeList=n[1-2] NumNodes=2"
)
SHOWN = "all*|3|36+|2:18+:1|190000|eth\nall*|2|72|2:36:1|500000|ib,new\nfat|1|256|2:64:2|2000000|(null)\n"
HERE = Path("site.yaml")
PENDING = "JobId=8 JobState=PENDING Reason=Resources EndTime=Unknown Partition=all NodeList=(null)"


def test_a_job_that_runs(monkeypatch):
    monkeypatch.setenv("TZ", "UTC")
    job = slurm.read_job(RUNNING)
    assert (job.number, job.state, job.node_list) == ("7", "RUNNING", "n[1-2]")
    assert (job.restarts, job.partition) == (2, "all")
    assert job.ends is not None and not job.is_over


def test_a_job_that_waits():
    job = slurm.read_job(PENDING)
    assert (job.state, job.node_list, job.ends, job.restarts) == ("PENDING", None, None, 0)


@pytest.mark.parametrize(
    ("state", "over"), [("CANCELLED", True), ("NODE_FAIL", True), ("unknown", True), ("COMPLETING", False)]
)
def test_finished_jobs(state, over):
    assert Job("1", state).is_over is over


def answers(monkeypatch, *given):
    """Let commands give these exit statuses and outputs, one after another."""
    left = list(given)

    def run(command, **_):
        status, out, errors = left.pop(0)
        return subprocess.CompletedProcess(command, status, out, errors)

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(slurm.time, "sleep", lambda _: None)
    return left


@pytest.mark.parametrize(
    "why",
    [
        "Unable to contact slurm controller (connect failure)",
        "Zero Bytes were transmitted or received",
        "Message receive failure",
    ],
)
def test_a_controller_that_comes_back_is_asked_again(monkeypatch, why):
    away = (1, "", f"slurm_load_jobs error: {why}")
    left = answers(monkeypatch, away, away, (0, "back", ""))
    assert slurm.ask("squeue") == "back" and not left


def test_a_controller_that_stays_away_and_a_refusal_are_one_line(monkeypatch):
    answers(monkeypatch, (1, "", "Unable to contact slurm controller"))
    with pytest.raises(InputError, match=r"^squeue: Unable to contact"):
        slurm.ask("squeue", patience_seconds=-1)
    left = answers(monkeypatch, (1, "", "Invalid job id\nspecified"), (0, "", ""))
    with pytest.raises(InputError, match=r"^scontrol: Invalid job id specified$"):
        slurm.ask("scontrol")
    assert len(left) == 1


@pytest.mark.parametrize(
    ("accounting", "job"),
    [
        ((1, "", "Slurm accounting"), Job("5", "unknown")),
        ((0, "CANCELLED by 1000|n[1-2]\n", ""), Job("5", "CANCELLED", "n[1-2]")),
    ],
)
def test_a_forgotten_job_has_the_state_in_accounting(monkeypatch, accounting, job):
    answers(monkeypatch, (1, "", "slurm_load_jobs error: Invalid job id specified"), accounting)
    assert SLURM.job("5") == job


def test_without_accounting_nothing_is_known_of_jobs(monkeypatch):
    answers(
        monkeypatch, (0, "JobID|State\n7|COMPLETED\n", ""), (1, "", "Slurm accounting storage is disabled")
    )
    assert SLURM.accounts({"7"}) == "JobID|State\n7|COMPLETED\n" and SLURM.accounts({"7"}) == ""


def test_the_smallest_node_of_a_partition_counts(monkeypatch):
    slurm.nodes_of.cache_clear()
    shown = (0, SHOWN, "")
    answers(monkeypatch, shown, shown, shown)
    assert slurm.nodes_of(NodeSelection(), HERE) == (5, 36, 190000)
    assert slurm.nodes_of(NodeSelection("fat"), HERE) == (1, 128, 2000000)  # two hardware threads a core
    with pytest.raises(InputError, match=r"site\.yaml: partition: thin: Slurm has all, fat"):
        slurm.nodes_of(NodeSelection("thin"), HERE)
    slurm.nodes_of.cache_clear()


@pytest.mark.parametrize(
    ("constraint", "nodes"),
    [
        ("ib", (2, 72, 500000)),
        ("ib|eth", (5, 36, 190000)),
        ("ib&new", (2, 72, 500000)),
        ("[ib*1&eth*2]", (5, 36, 190000)),  # of this only sbatch can tell
    ],
)
def test_nodes_with_features_count(constraint, nodes, monkeypatch):
    slurm.nodes_of.cache_clear()
    answers(monkeypatch, (0, SHOWN, ""))
    assert slurm.nodes_of(NodeSelection(None, constraint), HERE) == nodes


@pytest.mark.parametrize(
    ("where", "shown", "message"),
    [
        (
            NodeSelection(None, "opa"),
            SHOWN,
            "constraint: 'opa': no node of all has it; features there: eth, ib, new",
        ),
        (
            NodeSelection("fat", "opa"),
            SHOWN,
            "constraint: 'opa': no node of fat has it; features there: none",
        ),
    ],
)
def test_nodes_that_are_not_there_are_one_line(where, shown, message, monkeypatch):
    slurm.nodes_of.cache_clear()
    answers(monkeypatch, (0, shown, ""))
    with pytest.raises(InputError, match=f"^site.yaml: {message}"):
        slurm.nodes_of(where, HERE)


def test_nodes_that_are_hidden_must_be_given(monkeypatch):
    """What Slurm 22.05 says with ``PrivateData=nodes``."""
    slurm.nodes_of.cache_clear()
    answers(monkeypatch, (1, "", "slurm_load_node: Access/permission denied"))
    message = r"^site\.yaml: nodes, cores_per_node, .*: must be given where Slurm hides nodes \(PrivateData\): sinfo: "
    with pytest.raises(InputError, match=message):
        slurm.nodes_of(NodeSelection(), HERE)


def test_nodes_of_a_reservation(monkeypatch):
    slurm.nodes_of.cache_clear()
    reserved = "ReservationName=night StartTime=2026-11-23T20:00:00 Nodes=n[1-2] NodeCnt=2 CoreCnt=72\n"
    answers(monkeypatch, (0, reserved, ""), (0, SHOWN, ""))
    assert slurm.nodes_of(NodeSelection(None, None, "night"), HERE).number == 5
    answers(monkeypatch, (1, "", "Reservation day not found"))
    with pytest.raises(InputError, match=r"^site\.yaml: reservation: scontrol: Reservation day not found$"):
        slurm.nodes_of(NodeSelection(None, None, "day"), HERE)


def test_neighbours_are_the_jobs_of_others(monkeypatch):
    answers(monkeypatch, (0, "7|me|n[1-2]\n9|anna|n2\n", ""))
    assert SLURM.neighbours(slurm.read_job(RUNNING)) == ["job 9 of anna on n2"]


@pytest.mark.parametrize(
    ("shown", "user", "hidden"),
    [
        ("PrivateData             = jobs,usage", 1000, True),
        ("PrivateData             = nodes", 1000, True),
        ("PrivateData             = none", 1000, False),
        ("PrivateData             = accounts,users", 1000, False),
        ("PrivateData             = jobs", 0, False),  # root sees all
    ],
)
def test_neighbours_may_be_hidden(shown, user, hidden, monkeypatch):
    slurm.hides_neighbours.cache_clear()
    monkeypatch.setattr(slurm.os, "geteuid", lambda: user)
    answers(monkeypatch, (0, f"PriorityWeightQOS       = 0\n{shown}\nProctrackType           = x\n", ""))
    assert slurm.hides_neighbours() is hidden
    slurm.hides_neighbours.cache_clear()


def test_why_slurm_ended_a_run():
    errors = (
        "srun: error: n1: task 0: Killed\n"
        "slurmstepd: error: Step 1.0 exceeded memory limit (691 > 675), being killed\n"
    )
    assert slurm.complaint(errors) == "Step 1.0 exceeded memory limit (691 > 675), being killed"
    assert slurm.complaint("srun: error: n1: task 0: Exited with exit code 1\n") is None
    assert slurm.complaint("nothing") is None
    killed = "srun: error: n1: task 0: Killed\nsrun: error: n2: task 1: Terminated\n"
    assert slurm.complaint(killed) == "n1: task 0: Killed"
    left = "srun: error: n1: task 0: Exited with exit code 1\nsrun: error: n2: task 1: Terminated\n"
    assert slurm.complaint(left) is None


def test_why_srun_started_nothing_is_its_first_error():
    errors = (
        "srun: cluster configuration lacks support for cpu binding\n"
        "srun: error: Too few NodeNames in Slurm Hostfile\nsrun: error: Failure getting NodeNames from hostfile\n"
    )
    assert slurm.first_error(errors) == "Too few NodeNames in Slurm Hostfile"
    assert slurm.first_error("srun: error: n1: task 0: Exited with exit code 1\n") is None


def test_the_reason_is_the_last_line_of_the_program():
    assert slurm.without_chatter("srun: launch: x\nout of luck\nslurmstepd-n1: error: y\n") == "out of luck\n"


def test_jobs_that_slurm_refuses(monkeypatch):
    refused = "allocation failure: Invalid feature specification"
    answers(monkeypatch, (1, "", refused), (0, "", "Job 5 to start"))
    assert slurm.refusal("-N2") == f"sbatch: {refused}"
    assert slurm.refusal("-N2") is None


@pytest.fixture
def slurm_here(tmp_path, monkeypatch):
    """Programs of Slurm that answer in the form that the environment of the question chooses."""
    show = (
        '#!/bin/sh\n[ "$SLURM_TIME_FORMAT" = standard ] && [ "$TZ" = UTC0 ] || END=10:15\n'
        'echo "JobId=77 JobName=a JobState=RUNNING Restarts= EndTime=$END Partition= NodeList=n[1-2] NumNodes=2"\n'
    )
    rows = (
        '#!/bin/sh\n[ -n "$SLURM_CLUSTERS" ] && echo "CLUSTER: $SLURM_CLUSTERS"\n'
        '[ -n "$SQUEUE_USERS" ] || echo "78|ben|n1"\n[ "$SQUEUE_LOCAL" = 1 ] || echo "99|far|n1"\n'
    )
    for name, script in (("scontrol", show), ("squeue", rows)):
        write_program(tmp_path / name, script)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("SLURM_JOB_ID", "77")


@pytest.mark.parametrize(
    ("printed", "ends"),
    [
        ("1970-01-02T00:00:00", 86400.0),
        ("1970-01-01T00:01:00+00:00", 60.0),
        ("1970-01-01T01:01:00+01:00", 60.0),
        ("10:15", None),
        ("Unknown", None),
        ("", None),
        ("N/A", None),
        ("2026-10-25T99:00:00", None),
    ],
)
def test_the_end_of_a_job_in_any_form(slurm_here, monkeypatch, printed, ends):
    monkeypatch.setenv("END", printed)
    monkeypatch.setenv("SLURM_TIME_FORMAT", "relative")
    monkeypatch.setenv("TZ", "Europe/Berlin")  # repeats an hour in autumn
    job = SLURM.this_job()
    assert (job.number, job.ends, job.restarts, job.partition) == ("77", ends, 0, None)


def test_neighbours_in_a_federation_and_with_settings_of_squeue(slurm_here, monkeypatch):
    monkeypatch.setenv("SLURM_CLUSTERS", "west")
    monkeypatch.setenv("SQUEUE_USERS", "me")
    monkeypatch.setenv("SQUEUE_FORMAT", "%i")
    assert SLURM.neighbours(Job("77", "RUNNING", "n[1-2]")) == ["job 78 of ben on n1"]


def test_an_answer_without_a_job_is_one_line():
    with pytest.raises(
        InputError, match=r"^scontrol: show job: no JobId or JobState in its answer: CLUSTER: west$"
    ):
        slurm.read_job("CLUSTER: west\n")
