"""Why jobs of Slurm wait."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Iterator

from workflows.domain import InputError
from workflows.jobs import slurm

_PASSING_LIMIT = re.compile(r"(?:Assoc|QOS)(?:Max|Grp)Jobs")
_LASTING_LIMITS = ("Assoc", "QOS", "Partition", "BadConstraints")
_UNAVAILABLE_NODES = ("ReqNodeNotAvail", "Nodes required for job")


def waiting_reasons(jobs: Collection[str]) -> Iterator[tuple[str, str]]:
    """Ask Slurm why jobs wait, and explain each reason in one line.

    Parameters
    ----------
    jobs : collection of str
        Numbers of jobs. Jobs that no longer wait are left out.

    Yields
    ------
    tuple of str
        Reason, and line: ``job 7 and 2 more: REASON, explanation``. Nothing if Slurm gives no answer.
    """
    by_reason: dict[str, list[str]] = {}
    if not jobs:
        return
    with contextlib.suppress(InputError):
        listed = slurm.ask("squeue", "--noheader", f"--jobs={','.join(sorted(jobs))}", "--format=%i|%r|%T")
        for job, reason, state in (line.split("|") for line in listed.splitlines()):
            if state == "PENDING":
                by_reason.setdefault(reason, []).append(job)
    for reason, waiting in by_reason.items():
        others = f" and {len(waiting) - 1} more" if len(waiting) > 1 else ""
        yield reason, f"job {waiting[0]}{others}: {reason}{_explanation(reason)}"


def _explanation(reason: str) -> str:
    if _PASSING_LIMIT.match(reason):
        return ", a limit of running jobs: the jobs begin as others end"
    if reason.startswith(_UNAVAILABLE_NODES):
        return slurm.out_of_service()
    if "held" in reason.lower():
        return ", until scontrol release lets them go"
    if reason.startswith(_LASTING_LIMITS):
        return ", a limit that may hold them for ever"
    return ""
