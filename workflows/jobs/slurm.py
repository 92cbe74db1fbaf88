"""What Slurm says of nodes and jobs. Every question has a limit of time."""

from __future__ import annotations

import functools
import os
import re
import subprocess
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import compress
from pathlib import Path
from typing import NamedTuple

from workflows.domain import InputError

submits = "sbatch"
job_variable = "SLURM_JOB_ID"
ASK_SECONDS = 20.0
PATIENCE_SECONDS = 60.0  # in which a controller that is being restarted must be back
SUBMITTED_JOBS = "NODEWORTH_SUBMITTED_JOBS"
"""Environment variable: file to which the executor adds the number of every submitted job."""
ENDED = ("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "TIMEOUT")
SUBMIT_LIMIT = re.compile(r"(?:Assoc|QOS)\w*Submit\w*Limit")  # in what sbatch says; passes as other jobs end
_AWAY = (
    r"unable to contact|connection (refused|timed out)|socket timed out"
    r"|zero bytes were transmitted|message (receive|send) failure"  # it ended after it had accepted
)


class Nodes(NamedTuple):
    """Nodes of a partition: how many, and the cores and the memory of the smallest."""

    number: int
    cores: int
    memory_MB: int  # noqa: N815


class Where(NamedTuple):
    """Which nodes a job may have: of a partition (None: Slurm's default), with features, in a reservation."""

    partition: str | None = None
    constraint: str | None = None
    reservation: str | None = None


@dataclass(frozen=True)
class Job:
    """A job as Slurm knows it.

    Attributes
    ----------
    number : str
    state : str
        ``RUNNING``, ``TIMEOUT``, ...; ``unknown`` for a job that Slurm has forgotten.
    node_list : str or None
        Its nodes as Slurm writes them (``n[1-2]``); None where it never had any.
    restarts : int
        How often it was put back into the queue.
    ends : float or None
        Time of its walltime's end, in seconds since 1970; None without a limit.
    partition : str or None
    """

    number: str
    state: str
    node_list: str | None = None
    restarts: int = 0
    ends: float | None = None
    partition: str | None = None

    @property
    def is_over(self) -> bool:
        """Whether it has ended, or nothing is known of it."""
        return self.state.startswith(ENDED) or self.state == "unknown"

    @property
    def is_ending(self) -> bool:
        """Whether it has ended, or Slurm clears it away: some of its nodes may be gone already."""
        return self.is_over or self.state.startswith("COMPLETING")


def ask(*command: str, patience_seconds: float = PATIENCE_SECONDS) -> str:
    """Ask Slurm, again while its controller is away, for `patience_seconds`.

    Raises
    ------
    InputError
        If the command is not there, is refused, or is not answered in time: one line.
    """
    deadline = time.monotonic() + patience_seconds
    while True:
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=ASK_SECONDS)
            problem, away = done.stderr.strip() or done.stdout, re.search(_AWAY, done.stderr, re.I)
            if not done.returncode:
                return done.stdout
        except FileNotFoundError:
            raise InputError(f"{command[0]}: no such program; is this a cluster with Slurm?") from None
        except subprocess.TimeoutExpired:
            problem, away = f"no answer in {ASK_SECONDS:g} s", True
        if not away or time.monotonic() > deadline:
            raise InputError(f"{command[0]}: {' '.join(problem.split())}")
        time.sleep(1)


@functools.cache
def nodes_of(where: Where, file: Path) -> Nodes:
    """Ask for nodes, whether they are up now or not.

    `file` names them, for messages.

    Raises
    ------
    InputError
        If there is no such partition or no default, no such reservation, or no node with such features; or
        if Slurm hides them.
    """
    partition, constraint, reservation = where
    try:
        shown = ask("sinfo", "--noheader", *_reserved(reservation, file), "--format=%P|%D|%c|%z|%m|%f")
    except InputError as error:
        if "permission denied" not in str(error):
            raise
        told = (
            "nodes, cores_per_node, memory_per_node_MB: must be given where Slurm hides nodes (PrivateData)"
        )
        raise InputError(f"{file}: {told}: {error}") from None
    listed = [line.split("|") for line in shown.splitlines()]
    known = {name.rstrip("*") for name, *_ in listed}
    wanted = {partition} if partition else {name.rstrip("*") for name, *_ in listed if name.endswith("*")}
    found = [row for row in listed if row[0].rstrip("*") in wanted]
    if not found:
        raise InputError(
            f"{file}: partition: {partition or 'no default'}: Slurm has {', '.join(sorted(known))}"
        )
    features = [set(row[-1].split(",")) for row in found]
    if constraint and not any(suit := [_have(there, constraint) for there in features]):
        there = sorted(set().union(*features) - {"(null)"})
        raise InputError(
            f"{file}: constraint: {constraint!r}: no node of {', '.join(sorted(wanted))} has it; features "
            f"there: {', '.join(there) or 'none'}"
        )
    if constraint:
        found = list(compress(found, suit))
    number = sum(int(nodes) for _, nodes, *_ in found)
    cores = (min(_least(processors), _cores(layout)) for *_, processors, layout, _, _ in found)
    return Nodes(number, min(cores), min(_least(memory) for *_, memory, _ in found))


def _reserved(reservation: str | None, file: Path) -> list[str]:
    """Let sinfo show the nodes of a reservation alone, if there is one."""
    if reservation is None:
        return []
    try:
        shown = ask("scontrol", "show", "reservation", "--oneliner", reservation)
    except InputError as error:
        raise InputError(f"{file}: reservation: {error}") from None
    return ["--nodes=" + re.search(r"(?:^| )Nodes=(\S*)", shown)[1]]


def _have(features: set[str], constraint: str) -> bool:
    """Whether nodes have what ``--constraint`` asks for; of counts and brackets only sbatch can tell."""
    if re.search(r"[][()*]", constraint):
        return True
    return any(features.issuperset(every.split("&")) for every in constraint.split("|"))


def _cores(layout: str) -> int:
    """Cores of a node that sinfo gives as sockets:cores:hardware threads of a core."""
    sockets, cores, _ = map(_least, layout.split(":"))
    return sockets * cores


def _least(text: str) -> int:
    """Give a number that sinfo marks with + where some nodes have more."""
    return int(text.rstrip("+"))


def job(number: str) -> Job:
    """Ask for a job, the accounting too if the controller has forgotten it."""
    try:
        return read_job(ask("scontrol", "show", "job", "--oneliner", number))
    except InputError as error:
        if "Invalid job id" not in str(error):
            raise
    try:
        shown = ask("sacct", "-n", "-X", "-P", "-j", number, "-o", "State,NodeList", patience_seconds=0)
    except InputError:  # no accounting
        return Job(number, "unknown")
    state, _, nodes = shown.partition("\n")[0].partition("|")
    return Job(number, state.split(" ")[0] or "unknown", nodes or None)  # CANCELLED by 1000


def accounts(jobs: Iterable[str]) -> str:
    """Give what accounting has of jobs, for `analysis.importers.sacct.read_jobs`; empty without any."""
    columns = "JobID,JobName,State,AllocCPUS,ElapsedRaw,ConsumedEnergyRaw"
    told = ("sacct", "--parsable2", "--allocations", "--duplicates", f"--format={columns}")
    try:
        return ask(*told, f"--jobs={','.join(jobs)}", patience_seconds=0)
    except InputError:  # no accounting, or none that answers
        return ""


def read_job(shown: str) -> Job:
    """Read what ``scontrol show job --oneliner`` prints."""
    fields = dict(re.findall(r"(?:^| )([A-Z]\w+)=(\S*)", shown))
    ends, nodes = fields.get("EndTime", "Unknown"), fields.get("NodeList")
    return Job(
        fields["JobId"],
        fields["JobState"],
        None if nodes in ("", "(null)") else nodes,
        int(fields.get("Restarts", 0)),
        None if ends in ("Unknown", "None") else datetime.fromisoformat(ends).timestamp(),
        fields.get("Partition"),
    )


def this_job() -> Job | None:
    """Give the job that this process is in; None outside of a job. See `ask` for what it raises."""
    number = os.environ.get(job_variable)
    return read_job(ask("scontrol", "show", "job", "--oneliner", number)) if number else None


def hosts(node_list: str) -> tuple[str, ...]:
    """Give the nodes of a list as Slurm writes it, one by one."""
    return tuple(ask("scontrol", "show", "hostnames", node_list).split())


def neighbours(own: Job) -> list[str]:
    """Jobs of others that run on the nodes of a job: ``job 7 of anna on n1``. See `hides_neighbours`."""
    shown = ask("squeue", "--noheader", "--states=R", f"--nodelist={own.node_list}", "--format=%A|%u|%N")
    rows = [line.split("|") for line in shown.splitlines()]
    return [f"job {number} of {user} on {nodes}" for number, user, nodes in rows if number != own.number]


@functools.cache
def hides_neighbours() -> bool:
    """Whether Slurm hides jobs of others or nodes from a user (``PrivateData``): `neighbours` needs both."""
    found = re.search(r"^PrivateData\s*=\s*(\S+)", ask("scontrol", "show", "config"), re.M)
    return found is not None and not {"jobs", "nodes"}.isdisjoint(found[1].split(",")) and os.geteuid() != 0


def complaint(errors: str) -> str | None:
    """Give the line of a standard error in which Slurm says why it ended a run; None if there is none.

    Ranks that are ended because another rank has left are no reason.
    """
    lines = re.findall(r"^(?:slurmstepd|srun)(?:-\S+)?: error: (.*)$", errors, re.M)
    by_slurm = [line for line in lines if re.search(r"memory|oom|node failure|time limit", line, re.I)]
    of_ranks = [line for line in lines if re.search(r": tasks? .*: ", line)]
    first = [line for line in of_ranks[:1] if ": Exited with" not in line]
    return next(iter([*by_slurm, *first]), None)


def first_error(errors: str) -> str | None:
    """Give the first error of srun that is not of its ranks: why it started none; None if there is none."""
    lines = re.findall(r"^srun(?:-\S+)?: error: (.*)$", errors, re.M)
    return next((line for line in lines if not re.search(r": tasks? ", line)), None)


def not_started(errors: str) -> str | None:
    """Give the line of a standard error in which srun says why it started nothing; None if there is none."""
    found = re.search(
        r"^srun: error: (Unable to (?:create step|confirm allocation) for job .*)$", errors, re.M
    )
    return found[1] if found else None


def without_chatter(errors: str) -> str:
    """Give what the program itself wrote of a standard error."""
    return re.sub(r"^(?:slurmstepd|srun)(?:-\S+)?: .*\n?", "", errors, flags=re.M)


def refusal(*options: str) -> str | None:
    """Say in one line why Slurm would refuse a job with these options of sbatch; None if it takes it."""
    try:
        ask("sbatch", "--test-only", *options, "--wrap=true")
    except InputError as error:
        if SUBMIT_LIMIT.search(str(error)):
            return None
        return f"{error}{out_of_service()}" if "is not available" in str(error) else str(error)
    return None


def out_of_service() -> str:
    """Tell which nodes are down or drained, and why: the end of a line, empty where Slurm shows none."""
    try:
        shown = ask("sinfo", "--noheader", "--list-reasons", "--format=%N: %E", patience_seconds=0)
    except InputError:
        return ""
    nodes = shown.splitlines()
    others = f" and {len(nodes) - _SHOWN} reasons more" if len(nodes) > _SHOWN else ""
    return f"; out of service: {', '.join(nodes[:_SHOWN])}{others}" if nodes else ""


_SHOWN = 3  # reasons of nodes out of service
