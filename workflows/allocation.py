"""The job in which runs are made: its nodes, the time that is left, and what was under way when it ended.

A job that is killed can write no record. So each run is noted before it starts; whoever comes next finds a
note without a record, asks Slurm what became of the job, and writes a record of that: an attempt that does
not count, after which the repetition is made again as the next one.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from workflows import slurm
from workflows.domain import InputError
from workflows.launch_cluster import JobNode
from workflows.plan import Plan
from workflows.records import Record, write_record

STOPPED = "NODEWORTH_STOPPED"  # names a file that gets the number of runs made before a job ended too soon
MARGIN_SECONDS = 20.0  # between the end of the last run and that of the walltime
NEIGHBOURS_SECONDS = 10.0  # for which an answer about neighbours is held to be true


class OutOfTimeError(InputError):
    """A job that ends before the next run would; what is recorded is kept."""


@dataclass
class Allocation:
    """A job and what it is for.

    Attributes
    ----------
    job : slurm.Job
    nodes : tuple of JobNode
    exclusive : bool
        Whether nobody else may be on its nodes.
    notes : Path
        File of what is under way.
    made : int
        Runs made in it until now.
    """

    job: slurm.Job
    nodes: tuple[JobNode, ...]
    exclusive: bool
    notes: Path
    made: int = 0
    _looked: float = -NEIGHBOURS_SECONDS
    _seen: str | None = None

    def check_time(self, seconds: float) -> None:
        """See whether a run that takes so long ends before the job does.

        Raises
        ------
        OutOfTimeError
        """
        left = float("inf") if self.job.ends is None else self.job.ends - time.time()
        if left < seconds + MARGIN_SECONDS:
            if STOPPED in os.environ:
                Path(os.environ[STOPPED]).write_text(f"{self.made}")
            raise OutOfTimeError(
                f"job {self.job.number} ends in {max(left, 0):.0f} s, before the next run would; what is "
                "recorded is kept, and the next job goes on from there"
            )

    def neighbour(self) -> str | None:
        """Say in one line who else is on nodes that were to be exclusive."""
        if self.exclusive and time.monotonic() - self._looked > NEIGHBOURS_SECONDS:
            others = slurm.neighbours(self.job)
            self._seen = f"not alone on its nodes: {', '.join(others)}" if others else None
            self._looked = time.monotonic()
        return self._seen

    def facts(self) -> dict[str, Any]:
        """Give what a record tells of the job."""
        return {
            "job": self.job.number,
            "state": self.job.state,
            "nodes": self.job.node_list,
            "partition": self.job.partition,
            "restarts": self.job.restarts,
            "launcher": self.nodes[0].launcher,
            "exclusive": self.exclusive,
        }

    @contextlib.contextmanager
    def noted(self, path: Path, planned: Record) -> Iterator[None]:
        """Note a run as under way until it is recorded, or was given up in good order."""
        self.notes.parent.mkdir(parents=True, exist_ok=True)
        note = {
            "record": str(path),
            "planned": planned,
            "job": self.job.number,
            "restarts": self.job.restarts,
        }
        draft = self.notes.with_suffix(".draft")
        draft.write_text(json.dumps(note))
        draft.replace(self.notes)
        yield
        self.notes.unlink()
        self.made += 1


def notes_file(plan: Plan, part: str | None) -> Path:
    """File of what is under way in the job of a part, or of the whole study."""
    return plan.results / "measured" / f"{part or 'allocation'}.running.json"


def this_allocation(plan: Plan, part: str | None) -> Allocation:
    """Give the job that this process is in, and let runs put their files where all its nodes see them.

    Raises
    ------
    InputError
        Outside of a job.
    """
    cluster, job = plan.cluster, slurm.this_job()
    if job is None or job.node_list is None:
        raise InputError(
            f"{cluster.file}: runs are made in jobs of the cluster: snakemake --profile cluster, or sbatch "
            "cluster/allocation.sh"
        )
    scratch = (
        Path(cluster.scratch or plan.results / "scratch").absolute() / f"{plan.study.name}-{part or 'all'}"
    )
    shutil.rmtree(scratch, ignore_errors=True)  # of an earlier job for the same, which is over
    scratch.mkdir(parents=True)
    os.environ["NODEWORTH_SCRATCH"] = str(scratch)
    nodes = tuple(JobNode(host, cluster.launcher, cluster.mpi_plugin) for host in slurm.hosts(job.node_list))
    return Allocation(job, nodes, cluster.exclusive, notes_file(plan, part))


def settle(plan: Plan, own: Path | None = None) -> list[str]:
    """Write records of the runs that ended with their jobs.

    Parameters
    ----------
    plan : Plan
    own : Path, optional
        Notes of the job in which this process is: what is noted there was under way in an earlier one.

    Returns
    -------
    list of str
        One line a run.
    """
    told = []
    for notes in sorted((plan.results / "measured").rglob("*.running.json")):
        with contextlib.suppress(FileNotFoundError, FileExistsError):  # another job settles it, or has ended
            note = json.loads(notes.read_text())
            path = Path(note["record"])
            if not path.exists():
                job = slurm.job(note["job"])
                if notes != own and not job.is_over and job.restarts == note["restarts"]:
                    continue  # it is still at it
                record = interrupted(note["planned"], job, note["restarts"])
                write_record(path, record)
                told.append(f"{path.relative_to(plan.results / 'records')}: {record['problem']}")
            notes.unlink()
    return told


def said_by_jobs(logs: Path, since: float) -> list[str]:
    """Lines of ours in the logs of jobs that failed after a time (seconds since 1970), each once."""
    recent = (log for log in sorted(logs.rglob("*.log")) if log.stat().st_mtime >= since)
    lines = (line for log in recent for line in log.read_text(errors="replace").splitlines())
    return list(dict.fromkeys(line for line in lines if line.startswith("nodeworth: ")))


def tell_stopped(plan: Plan) -> None:
    """Say on standard error that a study has stopped, and on a cluster what became of runs under way."""
    for told in settle(plan) if plan.cluster else ():
        print(f"nodeworth: {told}", file=sys.stderr)
    for told in said_by_jobs(Path(".snakemake/slurm_logs"), psutil.Process().create_time()):
        print(told, file=sys.stderr)
    print("stopped; what is recorded is kept, and the same command goes on from there", file=sys.stderr)


def interrupted(planned: Record, job: slurm.Job, restarts: int) -> Record:
    """Complete the record of a run that ended with its job."""
    if job.restarts > restarts:
        ended = f"was put back into the queue (restart {restarts + 1})"
    elif job.state == "unknown":
        ended = "ended; Slurm does not know any more how"
    else:
        ended = f"ended as {job.state}"
    problem = f"job {job.number} {ended} on {planned['cluster']['nodes']}"
    state = "REQUEUED" if job.restarts > restarts else job.state
    return planned | {
        "seconds": None,
        "valid": False,
        "reason": problem,
        "problem": problem,
        "interrupted": True,
        "answer": None,
        "times": {},
        "noise": {},
        "placement": [],
        "version": None,
        "details": {},
        "cluster": planned["cluster"] | {"state": state},
    }
