"""The job in which runs are made: its nodes, its remaining time, and runs that the end of the job cut off.

A killed job cannot write a record. So Nodeworth writes a note of each run before the run starts. If a later
process finds a note without a record, it asks the scheduler how the job ended. Then it writes the record of
an attempt that does not count. The repetition runs again as the next attempt.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import random
import shutil
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from workflows.domain import InputError, Repetition
from workflows.jobs import SCHEDULERS
from workflows.jobs.cluster import Cluster
from workflows.jobs.scheduler import UNKNOWN, Job
from workflows.jobs.slurm import not_started
from workflows.launch.cluster_launch import JobNode, inherited
from workflows.launch.mpi.registry import MPI_LIBRARIES
from workflows.paths import StudyPaths
from workflows.plan.record import ClusterJob, Record
from workflows.plan.records import write_record

STOPPED = "NODEWORTH_STOPPED"
"""Environment variable with the path of a file. A job that stops for lack of time writes its number of runs
there."""

NOT_ALONE = "not alone on its nodes"
"""Beginning of the reason why a run is invalid if another job shared its nodes."""

MARGIN_SECONDS = 20.0  # between the end of the last run and the end of the walltime
LOST_SECONDS = 5.0  # after a lost node: if the job ends, this node ends its ranks within this time
REFUSED_SECONDS = 5.0  # before another attempt of a run that was not started
ENDING_SECONDS = 30.0  # maximum time for removing a job
NEIGHBOURS_SECONDS = 10.0  # how long the scheduler's answer about neighbours is used


class OutOfTimeError(InputError):
    """The job ends before the next run would end. Its records are kept."""


class JobEndedError(InputError):
    """The job ended before its run. A later process reads the note of the run."""


@dataclass
class Allocation:
    """A job with its nodes, the note of its current run, and the folder for files of its runs.

    Attributes
    ----------
    job : Job
    nodes : tuple of JobNode
    exclusive : bool
        Whether other jobs must stay off its nodes, and the scheduler can report such jobs.
    notes : Path
        File with the note of the current run.
    scratch : Path
        Folder for files of its runs, which all its nodes share.
    neighbours_hidden : bool
        Whether the scheduler hides the jobs of others.
    runs : int
        Number of runs made in the job so far.
    """

    job: Job
    nodes: tuple[JobNode, ...]
    exclusive: bool
    notes: Path
    scratch: Path
    neighbours_hidden: bool = False
    runs: int = 0
    _asked_at: float | None = None
    _neighbours: str | None = None

    def nodes_of(self, repetition: Repetition, seed: int) -> list[JobNode]:
        """Return the nodes of a repetition: see `chosen_nodes`.

        Only the scheduler's launcher can choose among the nodes. Launchers of MPI libraries must use the node
        on which they start, so their runs use the first nodes.
        """
        first = self.nodes[0]
        numbers: Iterable[int] = range(repetition.point.nodes)
        if first.launcher == first.scheduler.own_launcher:
            numbers = chosen_nodes(len(self.nodes), repetition, seed)
        return [self.nodes[number] for number in numbers]

    def check_time(self, seconds: float) -> None:
        """Raise an `OutOfTimeError` if a run of this duration would not end before the job."""
        left = math.inf if self.job.ends is None else self.job.ends - time.time()
        if left < seconds + MARGIN_SECONDS:
            if STOPPED in os.environ:
                Path(os.environ[STOPPED]).write_text(f"{self.runs}")
            raise OutOfTimeError(
                f"job {self.job.number} ends in {max(left, 0):.0f} s, before the next run would; what is "
                "recorded is kept, and the next job goes on from there"
            )

    def check_failed(self, errors: str) -> None:
        """Check whether a run failed because of its job.

        Parameters
        ----------
        errors : str
            Standard error of the run.

        Raises
        ------
        JobEndedError
            The job is ending or was put back into the queue, or the scheduler did not start the run.
        """
        if any(library.lost_node and library.lost_node in errors for library in MPI_LIBRARIES.values()):
            time.sleep(LOST_SECONDS)
        now = self.nodes[0].scheduler.job(self.job.number)
        if now.is_ending or now.restarts != self.job.restarts:
            raise JobEndedError(f"job {self.job.number} ends ({now.state}) while a run is under way")
        if refused := not_started(errors):
            time.sleep(REFUSED_SECONDS)  # a node that has just lost another job may not be ready
            raise JobEndedError(f"job {self.job.number}: a run was not started: {refused}")

    def neighbour(self) -> str | None:
        """Return one line that names jobs of others on exclusive nodes; None if there are none."""
        now = time.monotonic()
        is_visible = self.exclusive and not self.neighbours_hidden
        if is_visible and (self._asked_at is None or now - self._asked_at > NEIGHBOURS_SECONDS):
            others = self.nodes[0].scheduler.neighbours(self.job)
            self._neighbours = f"{NOT_ALONE}: {', '.join(others)}" if others else None
            self._asked_at = time.monotonic()
        return self._neighbours

    def facts(self) -> ClusterJob:
        """Return the part of a record that describes the job."""
        return ClusterJob(
            job=self.job.number,
            state=self.job.state,
            nodes=self.job.node_list,
            partition=self.job.partition,
            restarts=self.job.restarts,
            launcher=self.nodes[0].launcher,
            exclusive=self.exclusive,
            neighbours_hidden=self.neighbours_hidden,
        )

    @contextlib.contextmanager
    def noted(self, path: Path, planned: Record) -> Iterator[None]:
        """Write a note of a run, and remove the note when the context ends, because the run is recorded then.

        If an exception ends the context, the note stays. A `JobEndedError` adds its reason to the note.

        Parameters
        ----------
        path : Path
            File of the record that the run will write.
        planned : Record
            The record with the values that are known before the run.
        """
        note = {
            "record": str(path),
            "planned": planned.as_json(),
            "job": self.job.number,
            "restarts": self.job.restarts,
            "scratch": str(self.scratch),
        }
        self._write(note)
        try:
            yield
        except JobEndedError as error:
            self._write(note | {"reason": str(error)})
            raise
        self.notes.unlink()
        self.runs += 1

    def _write(self, note: dict[str, Any]) -> None:
        draft = Path(f"{self.notes}.draft")
        draft.write_text(json.dumps(note))
        draft.replace(self.notes)


def chosen_nodes(nodes: int, repetition: Repetition, seed: int) -> list[int]:
    """Choose the nodes of a repetition among the nodes of its job. Each block gets other nodes.

    With *n* nodes in the job, a point runs equally often on each node over *n* blocks. The nodes are shuffled
    again after every *n* blocks. Points that are compared within a block get the same nodes.

    Parameters
    ----------
    nodes : int
        Number of nodes of the job.

    Returns
    -------
    list of int
        Indices of the chosen nodes, ascending, because nodes next to each other in a scheduler's list are
        mostly close.
    """
    point = repetition.point
    cycle, first = divmod(repetition.block - 1, nodes)
    generator = random.Random(f"{seed}/{point.case}/{point.computing}/{point.oversubscription}/nodes/{cycle}")
    order = generator.sample(range(nodes), nodes)
    return sorted(order[(first + offset) % nodes] for offset in range(point.nodes))


@contextlib.contextmanager
def this_allocation(cluster: Cluster, paths: StudyPaths, batch: str | None) -> Iterator[Allocation]:
    """Return the job of this process, with a folder for the files of its runs.

    All nodes of the job share the folder. It is removed at the end; `settle` removes the folder of a killed
    job.

    Raises
    ------
    InputError
        This process is outside a job, or the job is ending.
    """
    scheduler = cluster.scheduler
    job = scheduler.this_job()
    if job is None or job.node_list is None:
        raise InputError(
            f"{cluster.file}: runs are made in jobs of the cluster: snakemake --profile cluster, or sbatch "
            "cluster/allocation.sh"
        )
    if job.is_ending:
        raise InputError(
            f"{cluster.file}: job {job.number} is being ended ({job.state}): nothing is begun in it"
        )
    name = f"{paths.results.name}-{batch or 'all'}-job-{job.number}-{job.restarts}".replace("/", "-")
    scratch = Path(cluster.scratch or paths.results / "scratch").absolute() / name
    own_folder(scratch)
    os.environ["NODEWORTH_SCRATCH"] = str(scratch)
    environment = inherited()
    nodes = tuple(
        JobNode(host, cluster.launcher, cluster.mpi_plugin, scheduler, environment=environment)
        for host in scheduler.hosts(job.node_list)
    )
    exclusive = cluster.exclusive and scheduler.shows_neighbours
    try:
        neighbours_hidden = exclusive and scheduler.hides_neighbours()
        yield Allocation(job, nodes, exclusive, paths.notes(batch), scratch, neighbours_hidden)
    finally:
        shutil.rmtree(scratch)


def own_folder(folder: Path) -> None:
    """Make a folder that only this user can read, or accept a folder that this user made earlier.

    If the parent is writable for all users, another user may have made a link or a folder of the same name.

    Raises
    ------
    InputError
        The path is a link, not a folder, or belongs to another user.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        status = folder.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
            raise InputError(
                f"{folder}: is a link, no folder, or somebody else's: nothing is put there"
            ) from None


def settle(cluster: Cluster, paths: StudyPaths, own: Path | None = None) -> list[str]:
    """Write the record of each run that the end of its job cut off, and remove the files of the run.

    Parameters
    ----------
    own : Path, optional
        File of notes of the current job. A note in it is left from an earlier job, or from the current job
        before the scheduler put it back into the queue. Either way, the run of the note has ended.

    Returns
    -------
    list of str
        One line for each record.
    """
    scheduler, lines = cluster.scheduler, []
    for notes in sorted(paths.measured.rglob("*.running.json")):
        with contextlib.suppress(FileNotFoundError, FileExistsError):  # another job settles it
            note = json.loads(notes.read_text())
            path = Path(note["record"])
            if not path.exists():
                job = _last_state(scheduler.job, note["job"])
                is_restarted = notes == own and note["job"] == os.environ.get(scheduler.job_variable)
                if is_restarted and not scheduler.counts_restarts:
                    job = replace(job, restarts=note["restarts"] + 1)
                is_under_way = notes != own and not job.is_over and job.restarts == note["restarts"]
                if is_under_way:
                    continue
                record = interrupted(Record.of(note["planned"]), job, note["restarts"], note.get("reason"))
                write_record(path, record)
                lines.append(f"{path.relative_to(paths.records)}: {record.problem}")
                shutil.rmtree(note["scratch"], ignore_errors=True)  # a lost node may hold some files
            notes.unlink()
    return lines


def _last_state(ask: Callable[[str], Job], number: str) -> Job:
    """Return the state of a job; if the job is ending, wait up to `ENDING_SECONDS` until it has ended."""
    deadline = time.monotonic() + ENDING_SECONDS
    while (job := ask(number)).is_ending and not job.is_over and time.monotonic() < deadline:
        time.sleep(1)
    return job


def pass_on(paths: StudyPaths, lines: list[str]) -> None:
    """Append a job's lines about interrupted runs to the file that `interruptions` reads."""
    if lines:
        with paths.interrupted.open("a") as file:
            file.write("".join(f"{line}\n" for line in lines))


def interruptions(cluster: Cluster, paths: StudyPaths) -> list[str]:
    """Return one line for each run that was cut off by the end of its job since the last call."""
    lines, renamed = settle(cluster, paths), paths.interrupted.with_suffix(".taken")
    with contextlib.suppress(FileNotFoundError):
        paths.interrupted.rename(renamed)  # jobs may append at the same time
        lines = [*renamed.read_text().splitlines(), *lines]
        renamed.unlink()
    return lines


def messages_of_jobs(folder: Path, since: float) -> list[str]:
    """Return Nodeworth's lines in the logs of jobs since a time (seconds since 1970), without repetition."""
    folders = {scheduler.log_folder for scheduler in SCHEDULERS.values()}
    logs = sorted(log for name in folders for log in (folder / name).rglob("*.log"))
    recent = (log for log in logs if log.stat().st_mtime >= since)
    lines = (line for log in recent for line in log.read_text(errors="replace").splitlines())
    return list(dict.fromkeys(line for line in lines if line.startswith("nodeworth: ")))


def interrupted(planned: Record, job: Job, restarts: int, reason: str | None = None) -> Record:
    """Return the record of a run that the end of its job cut off, or that the job gave up.

    Parameters
    ----------
    planned : Record
        The record with the values that were known before the run.
    job : Job
        State of the job now.
    restarts : int
        How often the job had been restarted when the run began.
    reason : str, optional
        Why the job gave up the run.
    """
    if planned.cluster is None:
        raise ValueError("the run was not in a job")
    requeued = job.restarts > restarts
    if requeued:
        ended = f"was put back into the queue (restart {restarts + 1})"
    elif job.state == UNKNOWN:
        ended = "ended; it is not known any more how"
    else:
        ended = f"ended as {job.state}"
    if requeued or not reason or job.state not in ("RUNNING", "FAILED"):
        reason = f"job {job.number} {ended}"
    problem = f"{reason} on {planned.cluster.nodes}"
    cluster = replace(planned.cluster, state="REQUEUED" if requeued else job.state)
    return replace(planned, reason=problem, problem=problem, interrupted=True, cluster=cluster)
