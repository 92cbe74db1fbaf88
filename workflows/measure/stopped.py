"""Messages about a study that stopped before its end."""

from __future__ import annotations

import atexit
import sys
from collections import Counter
from pathlib import Path

import psutil

from workflows.domain import counted
from workflows.measure.allocation import interruptions, messages_of_jobs
from workflows.measure.noise import killed_for_memory
from workflows.paths import FACTS
from workflows.plan.plan import Plan
from workflows.plan.records import attempts
from workflows.study.sites import read_facts

_KILLED_BEFORE = killed_for_memory()


def report_stopped(plan: Plan) -> None:
    """Print on standard error that a study has stopped, how far it got, and what happened to its jobs.

    Also print how many processes the kernel killed for lack of memory: a killed process cannot report this.
    """
    cluster = plan.here.cluster
    if _KILLED_BEFORE is not None and (killed := (killed_for_memory() or 0) - _KILLED_BEFORE) > 0:
        processes = "a process" if killed == 1 else f"{killed} processes"
        print(
            f"nodeworth: out of memory: the kernel has ended {processes} on this machine meanwhile",
            file=sys.stderr,
        )
    for line in interruptions(cluster, plan.paths) if cluster else ():
        print(f"nodeworth: {line}", file=sys.stderr)
    began = psutil.Process().create_time()
    for line in messages_of_jobs(Path(".snakemake"), began):
        print(line, file=sys.stderr)
    if fault := fault_of_preparation(plan.paths.results / "logs", began):
        last = f"stopped; {state_of(plan)}; first mend this: {fault}"
        atexit.register(print, last, file=sys.stderr)  # after the messages of Snakemake
    else:
        print(f"stopped; {state_of(plan)}; the same command goes on from there", file=sys.stderr)


def fault_of_preparation(logs: Path, began: float) -> str | None:
    """Return the line with which the preparation or trial run of a case failed; None without a failure.

    Parameters
    ----------
    logs : Path
        Folder with the logs of the jobs of a study.
    began : float
        Start of this process, seconds since 1970: older logs belong to earlier commands.
    """
    written = [file for name in ("prepare", "reference") for file in (logs / name).glob("*.log")]
    new = [file for file in written if file.stat().st_mtime >= began and file.stat().st_size]
    return new[0].read_text(encoding="utf-8").strip() if new else None


def _count_invalid(plan: Plan) -> int:
    """Count the repetitions whose last complete run of the present inputs is invalid."""
    invalid = 0
    for repetition in plan.design.repetitions:
        inputs = plan.design.inputs(repetition.point)
        complete = [
            record
            for record in attempts(plan.paths, repetition)
            if record.inputs == inputs and not record.interrupted
        ]
        invalid += bool(complete) and not complete[-1].valid
    return invalid


def state_of(plan: Plan) -> str:
    """Return one line: recorded blocks that still count, invalid runs, and the state of the report."""
    paths, repetitions, blocks = plan.paths, plan.design.repetitions, plan.design.blocks
    if not repetitions:
        return "what is made is kept"
    incomplete = Counter(repetition.block for repetition, _ in plan.missing(repetitions, with_requests=False))
    again = plan.repeats_left
    runs_of_blocks = Counter(repetition.block for repetition in repetitions)
    further = sum(runs_of_blocks[block] - missing for block, missing in incomplete.items())
    runs = f" and {counted(further, 'further run')}" if further else ""
    state = f"{blocks - len(incomplete)} of {counted(blocks, 'block')}{runs} recorded"
    if invalid := _count_invalid(plan):
        state += f", {counted(invalid, 'run')} invalid"
    if again:
        left = counted(again, "run")
        state += f"; {left} of --again left, which the next command makes even without --again"
    if not incomplete and not again:
        return f"{state}; tables and report are not finished"
    if not (paths.partial / FACTS).exists():
        return state
    reported = read_facts(paths.partial / FACTS).study.blocks_recorded
    return f"{state}; interim report of {counted(reported or 0, 'block')} in {paths.interim_report}"
