"""The executor for Slurm: a silent controller, waiting jobs, and jobs that sbatch refuses."""

import asyncio
from pathlib import Path
from types import SimpleNamespace

import pytest
from snakemake.exceptions import WorkflowError
from snakemake_executor_plugin_nodeworth_slurm import Executor
from snakemake_executor_plugin_slurm import Executor as SlurmExecutor
from snakemake_interface_executor_plugins.executors.base import SubmittedJobInfo

from workflows.jobs import SCHEDULERS, slurm
from workflows.jobs.scheduler import SUBMITTED_JOBS

SETTINGS = {
    "silence_limit": 600,
    "explain_after": 120,
    "resubmit_after": 0,
    "longest_status_interval": 180,
    "init_seconds_before_status_checks": 5,
    "keep_successful_logs": False,
    "partition_config": None,
    "array_jobs": None,
}


class Scheduler:
    """Messages to Snakemake's scheduler."""

    def __init__(self):
        self.finished, self.failed, self.submitted = [], [], []
        self.finish_callback, self.error_callback = self.finished.append, self.failed.append
        self.submit_callback = self.submitted.append


class Scripted(Executor):
    """The executor with scripted answers of Slurm instead of a workflow; `clock` is its time in seconds."""

    def __init__(self, *answers, **settings):
        self.answers, self.clock = list(answers), 0.0
        settings = SimpleNamespace(**(SETTINGS | settings))
        self.workflow = SimpleNamespace(executor_settings=settings, scheduler=Scheduler())
        self.min_job_age, self.last_answer = 300, 0.0
        self.pending_since, self.printed_subjects, self.resubmissions = {}, set(), []
        self._next_seconds_between_status_checks = 5

    async def ask_states(self):
        return self.answers.pop(0)

    def print_job_error(self, job_info, msg=None, **kwargs):
        pass


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """The executor's clock, which a test sets."""
    now = SimpleNamespace(seconds=0.0)
    monkeypatch.setattr("time.monotonic", lambda: now.seconds)
    return now


@pytest.fixture
def jobs(tmp_path):
    def make(number):
        log = tmp_path / f"{number}.log"
        log.write_text("")
        return SubmittedJobInfo(job=f"job {number}", external_jobid=number, aux={"slurm_logfile": log})

    return {number: make(number) for number in "789"}


def check(executor, jobs):
    """Numbers of the jobs that are active after the executor has asked Slurm once."""

    async def active():
        return [job.external_jobid async for job in executor.check_active_jobs(list(jobs.values()))]

    return asyncio.run(active())


def test_ended_jobs_are_reported_and_others_stay_active(jobs):
    executor = Scripted({"7": "COMPLETED", "8": "TIMEOUT", "9": "RUNNING"})
    assert check(executor, jobs) == ["9"]
    assert executor.workflow.scheduler.finished == ["job 7"]
    assert executor.workflow.scheduler.failed == ["job 8"]
    logs = [job.aux["slurm_logfile"].exists() for job in jobs.values()]
    assert logs == [False, True, True]  # only the log of a successful job goes


def test_a_job_that_slurm_does_not_show_yet_stays_active(jobs):
    assert check(Scripted({}), jobs) == ["7", "8", "9"]


def test_no_job_is_forgotten_while_the_controller_is_silent(jobs, clock):
    executor = Scripted(None, None, {"7": "COMPLETED", "8": "RUNNING", "9": "RUNNING"})
    for clock.seconds in (100, 590):
        assert check(executor, jobs) == ["7", "8", "9"]
    clock.seconds = 610  # an answer came in time, so the study goes on
    assert check(executor, jobs) == ["8", "9"]


def test_a_controller_that_is_silent_for_ten_minutes_ends_the_study(jobs, clock):
    executor = Scripted({"7": "RUNNING"}, None, None)
    assert check(executor, jobs)
    clock.seconds = 600
    assert check(executor, jobs)
    clock.seconds = 601
    with pytest.raises(WorkflowError, match="nodeworth: Slurm has not answered for 600 s"):
        check(executor, jobs)


def test_questions_become_rare_while_nothing_ends_but_not_too_rare(jobs):
    executor = Scripted(*[{"7": "RUNNING"}] * 30, {"7": "COMPLETED"})
    intervals = []
    for _ in range(30):
        check(executor, jobs)
        intervals.append(executor.next_seconds_between_status_checks)
    # The controller forgets an ended job after 300 s.
    assert intervals[:2] == [15, 25] and max(intervals) == 150
    check(executor, jobs)
    assert executor.next_seconds_between_status_checks == 5


def test_each_reason_for_waiting_is_printed_once(jobs, clock, monkeypatch, capsys):
    """Jobs 7, 8 and 10 wait for more than two minutes; 9 has begun."""
    listed = (
        "7|AssocGrpNodeLimit|PENDING\n8|Priority|PENDING\n10|QOSMaxJobsPerUserLimit|PENDING\n9|None|RUNNING\n"
    )
    monkeypatch.setattr(slurm, "ask", lambda *_, **__: listed)
    states = {"7": "PENDING", "8": "PENDING", "9": "RUNNING", "10": "PENDING"}
    executor, printed = Scripted(*[states] * 4), []
    for clock.seconds in (0, 60, 121, 300):
        check(executor, jobs)
        printed.append(capsys.readouterr().err.splitlines())
    wait = "nodeworth: waiting for more than 2 min: job"
    lines = [
        f"{wait} 7: AssocGrpNodeLimit, a limit that may never release them",
        f"{wait} 8: Priority",
        f"{wait} 10: QOSMaxJobsPerUserLimit, a limit of running jobs: the jobs begin as others end",
    ]
    assert printed == [[], [], lines, []]


def test_nodes_that_are_drained_are_named(monkeypatch):
    reason = "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions"
    drained = "\n".join(f"n{number}: Kill task failed" for number in range(5))
    listed = f"7|{reason}|PENDING\n8|{reason}|PENDING\n"
    monkeypatch.setattr(slurm, "ask", lambda program, *_, **__: listed if program == "squeue" else drained)
    nodes = "n0: Kill task failed, n1: Kill task failed, n2: Kill task failed and 2 reasons more"
    line = f"job 7 and 1 more: {reason}; out of service: {nodes}"
    assert list(SCHEDULERS["slurm"].waiting_reasons(["7", "8"])) == [(reason, line)]


@pytest.mark.parametrize("reason", ["JobHeldUser", "launch failed requeued held"])
def test_a_held_job_is_reported_with_the_way_to_release_it(monkeypatch, reason):
    """Slurm gives the second reason after slurmctld crashed and restarted a job that ran."""
    monkeypatch.setattr(slurm, "ask", lambda *_, **__: f"7|{reason}|PENDING\n")
    line = f"job 7: {reason}, until scontrol release lets them go"
    assert list(SCHEDULERS["slurm"].waiting_reasons(["7"])) == [(reason, line)]


SBATCH = "SLURM sbatch failed. The error message was '{}'.\n    sbatch call:\n        sbatch --wrap='echo'\n"


def test_the_line_of_a_refused_job_is_printed_once(jobs, capsys):
    """Snakemake prints no message for several rules in one job."""
    executor = Scripted()
    line = "sbatch: error: QOSMaxWallDurationPerJobLimit\nsbatch: error: Batch job submission failed"
    for _ in range(2):
        executor.report_job_error(SubmittedJobInfo(job="refused"), msg=SBATCH.format(line))
    joined = "sbatch: error: QOSMaxWallDurationPerJobLimit sbatch: error: Batch job submission failed"
    assert capsys.readouterr().err == f"nodeworth: {joined}\n"
    assert executor.workflow.scheduler.failed == ["refused"] * 2


def test_a_job_beyond_the_limit_of_submitted_jobs_is_submitted_again(monkeypatch, capsys):
    submitted = []
    monkeypatch.setattr(SlurmExecutor, "run_job", lambda self, job: submitted.append(job))
    executor = Scripted()
    message = SBATCH.format("sbatch: error: QOSMaxSubmitJobPerUserLimit")
    for job in ("first", "second"):
        executor.report_job_error(SubmittedJobInfo(job=job), msg=message)
    for timer in executor.resubmissions:
        timer.join(timeout=30)
    assert sorted(submitted) == ["first", "second"] and not executor.workflow.scheduler.failed
    line = "nodeworth: QOSMaxSubmitJobPerUserLimit: further jobs are submitted as others end\n"
    assert capsys.readouterr().err == line


def test_an_interrupted_study_submits_no_job_again(monkeypatch):
    submitted = []
    monkeypatch.setattr(SlurmExecutor, "run_job", lambda self, job: submitted.append(job))
    monkeypatch.setattr(SlurmExecutor, "cancel_jobs", lambda self, active_jobs: None)
    executor = Scripted(resubmit_after=60)
    executor.report_job_error(
        SubmittedJobInfo(job="late"), msg=SBATCH.format("sbatch: error: AssocMaxSubmitJobLimit")
    )
    executor.cancel_jobs([])
    for timer in executor.resubmissions:
        timer.join(timeout=30)
    assert not submitted


def test_every_submitted_job_is_noted(monkeypatch, tmp_path, jobs):
    file = tmp_path / "measured/submitted.txt"
    monkeypatch.setenv(SUBMITTED_JOBS, str(file))
    monkeypatch.setattr(SlurmExecutor, "report_job_submission", lambda self, job_info, register_job: None)
    executor = Scripted()
    for number in "78":
        executor.report_job_submission(jobs[number])
    assert file.read_text() == "7\n8\n"


def test_sbatch_chooses_the_partition_of_a_job_that_names_none():
    executor = Scripted()
    assert executor.get_partition_arg(SimpleNamespace(resources={})) == ""


def test_the_profile_of_a_cluster_selects_this_executor():
    assert "executor: nodeworth-slurm\n" in Path("cluster/config.yaml").read_text()
