"""What is said of a study that has stopped before its end."""

from __future__ import annotations

import sys
from pathlib import Path

import psutil

from workflows.measure.allocation import interruptions, said_by_jobs
from workflows.paths import FACTS, record_name
from workflows.plan.plan import Plan
from workflows.plan.records import recorded
from workflows.study.sites import read_facts


def killed_for_memory(counters: Path = Path("/proc/vmstat")) -> int | None:
    """Processes that the kernel has ended for want of memory since it started; None where it does not say."""
    try:
        found = (line.split() for line in counters.read_text().splitlines())
        return next((int(value) for name, value in found if name == "oom_kill"), None)
    except OSError:
        return None


_KILLED_BEFORE = killed_for_memory()


def tell_stopped(plan: Plan) -> None:
    """Say on standard error that a study has stopped, what is there of it, and what became of its jobs.

    What is killed for want of memory, a trace or its ranks, has no word of its own.
    """
    cluster = plan.here.cluster
    if _KILLED_BEFORE is not None and (killed := (killed_for_memory() or 0) - _KILLED_BEFORE) > 0:
        what = "a process" if killed == 1 else f"{killed} processes"
        print(
            f"nodeworth: out of memory: the kernel has ended {what} on this machine meanwhile",
            file=sys.stderr,
        )
    for line in interruptions(cluster, plan.paths) if cluster else ():
        print(f"nodeworth: {line}", file=sys.stderr)
    for line in said_by_jobs(Path(".snakemake"), psutil.Process().create_time()):
        print(line, file=sys.stderr)
    print(f"stopped; {what_is_there(plan)}; the same command goes on from there", file=sys.stderr)


def what_is_there(plan: Plan) -> str:
    """Say how many blocks are recorded, and where there is a report of how many of them."""
    paths, repetitions, blocks = plan.paths, plan.design.repetitions, plan.design.blocks
    if not repetitions:
        return "what is made is kept"
    made = recorded(paths)
    missing = {one.block for one in repetitions if record_name(one, 1) not in made}
    there = f"{blocks - len(missing)} of {blocks} blocks recorded"
    if not paths.report.is_symlink():
        return there
    reported = read_facts(paths.partial / FACTS).study.blocks_recorded
    return f"{there}; report of {reported} of them in {paths.report}"
