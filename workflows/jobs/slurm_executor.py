"""Snakemake's executor for Slurm, adapted: it asks patiently, and a job starts one Snakemake or none.

It says why jobs wait, and what is refused: Snakemake loses that line where several rules are one job. What is
refused since too many jobs are submitted is submitted again.

Version 2.8 forgets all its jobs when a question about them has no answer, and then waits for ever. And where
the controller does not say how long it remembers jobs, it asks ``sacct``, which hangs without accounting.

In a job it starts a Snakemake that only starts another one. That takes a second of CPU, and a second more of
waiting when the job is done. The one that is left imports what it does not need: see `workflows.jobs.in_job`.
A job that measures needs none: see `workflows.measure.batch`.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import re
import shlex
import sys
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import snakemake_executor_plugin_slurm as plugin
from snakemake.exceptions import WorkflowError
from snakemake.settings.types import DeploymentMethod

from workflows.domain import InputError
from workflows.jobs import in_job, slurm

LIMIT_SECONDS = 600.0
WAITING_SECONDS = 120.0  # after which it is said why a job has not begun
SUBMITTING_SECONDS = 10.0  # after which a job is submitted again, while too many are
_AGAIN_SECONDS = 2.0
_FEW_JOBS = re.compile(r"(?:Assoc|QOS)(?:Max|Grp)Jobs")
_LIMITS = ("Assoc", "QOS", "Partition", "BadConstraints")
_NODES = ("ReqNodeNotAvail", "Nodes required for job")
States = tuple[dict[str, str] | None, float | None]


def ask_patiently(limit_seconds: float = LIMIT_SECONDS) -> None:
    """Replace the executor's questions by patient ones.

    A controller that does not answer for `limit_seconds` ends the study, with one line.
    """
    plugin.query_job_status = _telling(_patient(plugin.query_job_status, limit_seconds))
    plugin.get_min_job_age = _remembering(plugin.get_min_job_age, limit_seconds)


def tell_what_is_refused() -> None:
    """Say in one line, once, why sbatch refuses jobs; where too many are submitted, submit again later."""
    plugin.Executor._report_job_error_threadsafe = _saying(plugin.Executor._report_job_error_threadsafe)


def _saying(report: Callable[..., None]) -> Callable[..., None]:
    said = set()

    @functools.wraps(report)
    def tell(executor: Any, job_info: Any, msg: str) -> None:
        found = re.search(r"sbatch failed\. The error message was '(.*?)'\.\n", msg, re.S)
        line = " ".join(found[1].split()) if found else ""
        limit = slurm.SUBMIT_LIMIT.search(line)
        line = f"{limit[0]}: further jobs are submitted as others end" if limit else line
        if line and line not in said:
            said.add(line)
            print(f"nodeworth: {line}", file=sys.stderr)
        if not limit:
            return report(executor, job_info, msg=msg)
        time.sleep(SUBMITTING_SECONDS)  # in a thread of its own
        executor._job_submission_executor.submit(executor.run_job, job_info.job)

    return tell


def note_submitted(file: Path) -> None:
    """Add the number of each job to a file: what they took belongs to the study, whatever they were for."""
    report = plugin.Executor._report_job_submission_threadsafe

    @functools.wraps(report)
    def note(executor: Any, job_info: Any) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a") as numbers:
            numbers.write(f"{job_info.external_jobid}\n")
        report(executor, job_info)

    plugin.Executor._report_job_submission_threadsafe = note


def start_directly() -> None:
    """Let the Snakemake that a job starts run the job itself, and start quickly."""
    plugin.Executor.additional_general_args = lambda self: []
    plugin.Executor.get_python_executable = _quick(plugin.Executor.get_python_executable)


def _quick(executable: Callable[..., str]) -> Callable[..., str]:
    """Have a job's Python run `workflows.jobs.in_job`, which takes what follows it, ``-m`` and a module."""
    return lambda self: f"{executable(self)} {shlex.quote(in_job.__file__)}"


def measure_directly(rule: str, module: str, request: Path) -> None:
    """Let jobs of a rule run a module of ours instead of Snakemake, where that brings no software into them.

    The module gets the file of the request, the batch, and for how long to wait for files.
    """
    by_snakemake = plugin.Executor.format_job_exec

    def format_job_exec(executor: Any, job: Any) -> str:
        workflow = executor.workflow
        if (
            job.is_group()
            or job.rule.name != rule
            or not _SOFTWARE.isdisjoint(workflow.deployment_settings.deployment_method)
        ):
            return by_snakemake(executor, job)
        given = [request, job.wildcards.batch, workflow.execution_settings.latency_wait]
        started = f"{executor.get_python_executable()} -m {module} {shlex.join(map(str, given))}"
        return " && ".join(filter(None, [started, executor.get_job_exec_suffix(job)]))

    plugin.Executor.format_job_exec = format_job_exec


_SOFTWARE = frozenset({DeploymentMethod.CONDA, DeploymentMethod.APPTAINER})


def leave_default_partition() -> None:
    """Let sbatch take its default where none is named: sinfo, which the executor asks, may show none."""
    plugin.get_default_partition = lambda job, logger: ""


def _patient(query: Callable[..., Any], limit_seconds: float) -> Callable[..., Any]:
    @functools.wraps(query)
    async def ask(command: str, logger: Any) -> States:
        deadline = time.monotonic() + limit_seconds
        while (answer := await query(command, logger))[0] is None:
            if time.monotonic() > deadline:
                raise WorkflowError(f"nodeworth: Slurm has not answered for {limit_seconds:g} s: {command}")
            await asyncio.sleep(_AGAIN_SECONDS)
        return answer

    return ask


def _telling(query: Callable[..., Any]) -> Callable[..., Any]:
    """Say why jobs have not begun that wait for longer than `WAITING_SECONDS`, each reason once."""
    since: dict[str, float] = {}
    said: set[str] = set()

    @functools.wraps(query)
    async def ask(command: str, logger: Any) -> States:
        answer = await query(command, logger)
        now, pending = time.monotonic(), {job for job, state in answer[0].items() if state == "PENDING"}
        for job in since.keys() - pending:
            del since[job]
        waiting = {job for job in pending if now - since.setdefault(job, now) > WAITING_SECONDS}
        for reason, jobs in _reasons(waiting).items():
            if reason not in said:
                said.add(reason)
                print(f"nodeworth: {_why(reason, jobs)}", file=sys.stderr)
        return answer

    return ask


def _reasons(waiting: Collection[str]) -> dict[str, list[str]]:
    """Ask why jobs wait; give the jobs of each reason, nothing if that is not answered."""
    if not waiting:
        return {}
    found: dict[str, list[str]] = {}
    with contextlib.suppress(InputError):
        shown = slurm.ask("squeue", "--noheader", f"--jobs={','.join(sorted(waiting))}", "--format=%i|%r|%T")
        for job, reason, state in (line.split("|") for line in shown.splitlines()):
            if state == "PENDING":
                found.setdefault(reason, []).append(job)
    return found


def _why(reason: str, jobs: list[str]) -> str:
    others = f" and {len(jobs) - 1} more" if len(jobs) > 1 else ""
    if _FEW_JOBS.match(reason):
        held = ", a limit of jobs: they begin as others end"
    elif reason.startswith(_NODES):
        held = slurm.out_of_service()
    elif "held" in reason.lower():
        held = ", until scontrol release lets them go"
    else:
        held = ", a limit that may hold them for ever" if reason.startswith(_LIMITS) else ""
    return f"waiting for more than {WAITING_SECONDS / 60:g} min: job {jobs[0]}{others}: {reason}{held}"


def _remembering(query: Callable[[], int | None], limit_seconds: float) -> Callable[[], int | None]:
    @functools.cache
    def ask() -> int | None:
        deadline = time.monotonic() + limit_seconds
        while (answer := query()) is None and time.monotonic() < deadline:
            time.sleep(_AGAIN_SECONDS)
        return answer

    return ask
