"""The job in which runs are made: its nodes, the time that is left, and what was under way when it ended.

A job that is killed can write no record. So each run is noted before it starts; whoever comes next finds a
note without a record, asks Slurm what became of the job, and writes a record of that: an attempt that does
not count, after which the repetition is made again as the next attempt.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from workflows.domain import InputError, Repetition
from workflows.jobs import SCHEDULERS
from workflows.jobs.cluster import Cluster
from workflows.jobs.scheduler import UNKNOWN, Job
from workflows.jobs.slurm import not_started
from workflows.launch.cluster_launch import JobNode, inherited
from workflows.paths import StudyPaths
from workflows.plan.record import ClusterJob, Record
from workflows.plan.records import write_record
from workflows.plan.rotation import chosen_nodes

STOPPED = "NODEWORTH_STOPPED"  # names a file that gets the number of runs made before a job ended too soon
NOT_ALONE = "not alone on its nodes"  # begins the reason of runs that somebody disturbed
MARGIN_SECONDS = 20.0  # between the ends of the last run and of the walltime
LOST_NODE = "lost communication with a remote daemon"  # mpirun's words for a node that ended its ranks
LOST_SECONDS = 5.0  # in which this node ends them too, if it is the job: each counts its walltime by itself
REFUSED_SECONDS = 5.0  # before a run that was not started is left to a further attempt
ENDING_SECONDS = 30.0  # in which a job that is being cleared away has ended
NEIGHBOURS_SECONDS = 10.0  # for which an answer about neighbours is held to be true


class OutOfTimeError(InputError):
    """A job that ends before the next run would; what is recorded is kept."""


class JobEndedError(InputError):
    """A job that was over before its run; the note of the run is for whoever comes next."""


@dataclass
class Allocation:
    """A job with its nodes, its notes and its folder of files.

    Attributes
    ----------
    job : Job
    nodes : tuple of JobNode
    exclusive : bool
        Whether nobody else may be on its nodes; only Slurm is asked.
    notes : Path
        File of what is under way.
    scratch : Path
        Folder of its runs' files, which all nodes see.
    neighbours_hidden : bool
        Whether Slurm does not show who else is on them.
    made : int
        Runs made in it until now.
    """

    job: Job
    nodes: tuple[JobNode, ...]
    exclusive: bool
    notes: Path
    scratch: Path
    neighbours_hidden: bool = False
    made: int = 0
    _looked: float | None = None
    _seen: str | None = None

    def nodes_of(self, repetition: Repetition, seed: int) -> list[JobNode]:
        """Choose the nodes of a repetition: see `chosen_nodes`.

        By other launchers than srun they are the first: these cannot leave out the node that they are on.
        """
        every, few = len(self.nodes), repetition.point.nodes
        by_srun = self.nodes[0].launcher == "srun"
        numbers = chosen_nodes(every, repetition, seed) if by_srun else range(few)
        return [self.nodes[number] for number in numbers]

    def check_time(self, seconds: float) -> None:
        """Raise an `OutOfTimeError` if a run that takes so long does not end before the job does."""
        left = math.inf if self.job.ends is None else self.job.ends - time.time()
        if left < seconds + MARGIN_SECONDS:
            if STOPPED in os.environ:
                Path(os.environ[STOPPED]).write_text(f"{self.made}")
            raise OutOfTimeError(
                f"job {self.job.number} ends in {max(left, 0):.0f} s, before the next run would; what is "
                "recorded is kept, and the next job goes on from there"
            )

    def check_failed(self, errors: str) -> None:
        """See whether a run failed by itself, as its standard error has it, and not because of its job.

        Raises
        ------
        JobEndedError
            If the job is being ended or was put back into the queue, or if Slurm did not start the run.
        """
        if LOST_NODE in errors:
            time.sleep(LOST_SECONDS)
        now = self.nodes[0].scheduler.job(self.job.number)
        if now.is_ending or now.restarts != self.job.restarts:
            raise JobEndedError(f"job {self.job.number} ends ({now.state}) while a run is under way")
        if refused := not_started(errors):
            time.sleep(REFUSED_SECONDS)  # a node that has just lost another job may not be ready
            raise JobEndedError(f"job {self.job.number}: a run was not started: {refused}")

    def neighbour(self) -> str | None:
        """Say in one line who else is on nodes that were to be exclusive."""
        now = time.monotonic()
        visible = self.exclusive and not self.neighbours_hidden
        if visible and (self._looked is None or now - self._looked > NEIGHBOURS_SECONDS):
            others = self.nodes[0].scheduler.neighbours(self.job)
            self._seen = f"{NOT_ALONE}: {', '.join(others)}" if others else None
            self._looked = time.monotonic()
        return self._seen

    def facts(self) -> ClusterJob:
        """Give what a record says of the job."""
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
        """Note a run as under way until it is recorded, and why it was given up, if that is known.

        The folder of notes is there.
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
            self._write(note | {"told": str(error)})
            raise
        self.notes.unlink()
        self.made += 1

    def _write(self, note: dict[str, Any]) -> None:
        draft = Path(f"{self.notes}.draft")
        draft.write_text(json.dumps(note))
        draft.replace(self.notes)


@contextlib.contextmanager
def this_allocation(cluster: Cluster, paths: StudyPaths, batch: str | None) -> Iterator[Allocation]:
    """Give the job that this process is in, and let runs put their files where all its nodes see them.

    The folder of these files is gone afterwards; what a killed job leaves of it, `settle` removes.

    Raises
    ------
    InputError
        Outside of a job.
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
    how = (cluster.launcher, cluster.mpi_plugin, scheduler)
    environment = inherited()
    nodes = tuple(JobNode(host, *how, environment=environment) for host in scheduler.hosts(job.node_list))
    exclusive = cluster.exclusive and scheduler.shows_neighbours
    try:
        hidden = exclusive and scheduler.hides_neighbours()
        yield Allocation(job, nodes, exclusive, paths.notes(batch), scratch, hidden)
    finally:
        shutil.rmtree(scratch)


def own_folder(folder: Path) -> None:
    """Make a folder that nobody else can look into, or take one that this user has made.

    Where all users may write, somebody could have put a link or a folder of theirs there before.

    Raises
    ------
    InputError
        There is something else of that name.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        there = folder.lstat()
        if not stat.S_ISDIR(there.st_mode) or there.st_uid != os.geteuid():
            raise InputError(
                f"{folder}: is a link, no folder, or somebody else's: nothing is put there"
            ) from None


def settle(cluster: Cluster, paths: StudyPaths, own: Path | None = None) -> list[str]:
    """Write records of the runs that ended with their jobs, and remove their files; gives a line for each.

    `own` are the notes of the job in which this process is: what they name was under way in an earlier job,
    or in this one before it was put back into the queue, which Slurm alone counts.
    """
    scheduler, lines = cluster.scheduler, []
    for notes in sorted(paths.measured.rglob("*.running.json")):
        with contextlib.suppress(FileNotFoundError, FileExistsError):  # another job settles it, or has ended
            note = json.loads(notes.read_text())
            path = Path(note["record"])
            if not path.exists():
                job = _last_known(scheduler.job, note["job"])
                again = notes == own and note["job"] == os.environ.get(scheduler.job_variable)
                if again and not scheduler.counts_restarts:
                    job = replace(job, restarts=note["restarts"] + 1)
                if notes != own and not job.is_over and job.restarts == note["restarts"]:
                    continue  # it is still at it
                record = interrupted(Record.of(note["planned"]), job, note["restarts"], note.get("told"))
                write_record(path, record)
                lines.append(f"{path.relative_to(paths.records)}: {record.problem}")
                shutil.rmtree(note["scratch"], ignore_errors=True)  # a node that is off may hold on to some
            notes.unlink()
    return lines


def _last_known(ask: Callable[[str], Job], number: str) -> Job:
    """Ask what became of a job; while it is being cleared away that is not decided."""
    deadline = time.monotonic() + ENDING_SECONDS
    while (job := ask(number)).is_ending and not job.is_over and time.monotonic() < deadline:
        time.sleep(1)
    return job


def pass_on(paths: StudyPaths, lines: list[str]) -> None:
    """Keep lines of a job for the Snakemake that submitted it: see `interruptions`."""
    if lines:
        with paths.interrupted.open("a") as file:
            file.write("".join(f"{line}\n" for line in lines))


def interruptions(cluster: Cluster, paths: StudyPaths) -> list[str]:
    """One line for each run that ended with its job, settled by jobs or now; each is given once."""
    lines, taken = settle(cluster, paths), paths.interrupted.with_suffix(".taken")
    with contextlib.suppress(FileNotFoundError):
        paths.interrupted.rename(taken)  # jobs go on appending meanwhile
        lines = [*taken.read_text().splitlines(), *lines]
        taken.unlink()
    return lines


def said_by_jobs(folder: Path, since: float) -> list[str]:
    """Lines of ours in the logs of jobs that failed after a time (seconds since 1970), each once."""
    folders = {scheduler.log_folder for scheduler in SCHEDULERS.values()}
    logs = sorted(log for name in folders for log in (folder / name).rglob("*.log"))
    recent = (log for log in logs if log.stat().st_mtime >= since)
    lines = (line for log in recent for line in log.read_text(errors="replace").splitlines())
    return list(dict.fromkeys(line for line in lines if line.startswith("nodeworth: ")))


def interrupted(planned: Record, job: Job, restarts: int, why: str | None = None) -> Record:
    """Complete the record of a run that ended with its job, or that its job gave up and said `why`."""
    requeued = job.restarts > restarts
    if requeued:
        ended = f"was put back into the queue (restart {restarts + 1})"
    elif job.state == UNKNOWN:
        ended = "ended; it is not known any more how"
    else:
        ended = f"ended as {job.state}"
    if requeued or not why or job.state not in ("RUNNING", "FAILED"):
        why = f"job {job.number} {ended}"
    problem = f"{why} on {planned.cluster.nodes}"
    cluster = replace(planned.cluster, state="REQUEUED" if requeued else job.state)
    return replace(planned, reason=problem, problem=problem, interrupted=True, cluster=cluster)
