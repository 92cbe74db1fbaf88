"""The interface of a scheduler, and the classes for its answers.

A scheduler is a subclass of `Scheduler` in a module of this folder, an entry in `workflows.jobs.SCHEDULERS`,
and the folder ``cluster/<name>`` with its Snakemake profile. docs/extending/scheduler.md has a template.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from workflows.domain import InputError

if TYPE_CHECKING:
    from workflows.jobs.cluster import Cluster

ASK_SECONDS = 20.0
"""Time limit of a command of a scheduler."""

IMAGE_SECONDS = 600.0
"""Time limit of a command that may first download or unpack an image."""

SUBMITTED_JOBS = "NODEWORTH_SUBMITTED_JOBS"
"""Environment variable with the path of a file. An executor adds the number of every submitted job to it."""

ENDED_STATES = (
    "BOOT_FAIL",
    "CANCELLED",
    "COMPLETED",
    "DEADLINE",
    "FAILED",
    "NODE_FAIL",
    "OUT_OF_MEMORY",
    "TIMEOUT",
)
"""States of a job that has ended."""

UNKNOWN = "unknown"
"""State of a job that its scheduler no longer knows. The job has ended, and it is unknown how."""

NODE_KEYS = ("nodes", "cores_per_node", "memory_per_node_MB")
"""Keys of a site file that describe its nodes."""


class Nodes(NamedTuple):
    """Nodes that a job may have: their number, and the cores and the memory (MB) of the smallest node."""

    number: int
    cores: int
    memory_MB: int  # noqa: N815


class SiteKey(NamedTuple):
    """A key of a new site file. If the value is None, the user fills it in; the file shows `example`."""

    key: str
    value: Any
    comment: str
    example: str = ""


class NodeSelection(NamedTuple):
    """Nodes that a job asks for; None leaves the choice to the scheduler."""

    partition: str | None = None
    constraint: str | None = None
    reservation: str | None = None


@dataclass(frozen=True)
class JobRequest:
    """Size of a job.

    Attributes
    ----------
    nodes, tasks_per_node : int
        Number of nodes, and of tasks on each node. Each task has a core.
    memory_MB : int
        Memory of each node.
    minutes : int
        Walltime.
    """

    nodes: int
    tasks_per_node: int
    memory_MB: int  # noqa: N815
    minutes: int


@dataclass(frozen=True)
class Job:
    """A job as its scheduler describes it.

    Attributes
    ----------
    number : str
        Identifier, which is a number with most schedulers.
    state : str
        ``RUNNING`` for a job that waits or runs, ``COMPLETING`` for a job that is being removed, a word of
        `ENDED_STATES`, or `UNKNOWN`. Slurm has further states.
    node_list : str or None
        Nodes of the job as the scheduler writes them (Slurm: ``n[1-2]``). None before the job has nodes.
    restarts : int
        How often the job was put back into the queue.
    ends : float or None
        End of the walltime in seconds since 1970. None without a limit.
    partition : str or None
    reason : str or None
        Reason for the state, if the scheduler reports a reason.
    """

    number: str
    state: str
    node_list: str | None = None
    restarts: int = 0
    ends: float | None = None
    partition: str | None = None
    reason: str | None = None

    @property
    def is_over(self) -> bool:
        """Whether the job has ended, or is unknown."""
        return self.state.startswith(ENDED_STATES) or self.state == UNKNOWN

    @property
    def is_ending(self) -> bool:
        """Whether the job has ended or is being removed: some of its nodes may be gone already."""
        return self.is_over or self.state.startswith("COMPLETING")


class EnergyCounter(NamedTuple):
    """A counter with which a scheduler counts the energy of each step: name, and seconds between updates."""

    name: str
    update_seconds: float | None


class Scheduler(ABC):
    """A scheduler: its commands, the states of its jobs, and how jobs ask for nodes.

    A subclass must define the abstract methods. The other methods have defaults for a scheduler that cannot
    do more; a subclass overrides them for a scheduler that can.

    Attributes
    ----------
    name : str
        Name in site files.
    title : str
        Name in messages.
    submit_program : str
        Program that submits a job.
    job_variable : str
        Environment variable that holds the job's number inside a job.
    job_prefixes : tuple of str
        Prefixes of the environment variables by which ``mpirun`` detects the job in which it runs.
    hidden_prefixes : tuple of str
        Prefixes of the environment variables that ranks of a job must not inherit.
    visible_variables : tuple of str
        Environment variables that ranks inherit although a prefix of `hidden_prefixes` matches.
    own_launcher : str or None
        Value of ``launcher`` in a site file for the scheduler's own launcher, which starts ranks of any
        MPI library. Launchers of MPI libraries work with every scheduler.
    cluster_keys : tuple of str
        Keys of a site file that only some schedulers have, including this scheduler.
    log_folder : str
        Folder below ``.snakemake`` with the logs of its jobs.
    describes_nodes : bool
        Whether `nodes_of` asks the scheduler. If not, a site file must describe the nodes.
    counts_restarts : bool
        Whether the scheduler reports `Job.restarts`.
    shows_neighbours : bool
        Whether the scheduler can report the jobs of others on a node: see `neighbours`.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    submit_program: ClassVar[str]
    job_variable: ClassVar[str]
    job_prefixes: ClassVar[tuple[str, ...]]
    hidden_prefixes: ClassVar[tuple[str, ...]] = ()
    visible_variables: ClassVar[tuple[str, ...]] = ()
    own_launcher: ClassVar[str | None] = None
    cluster_keys: ClassVar[tuple[str, ...]] = ()
    log_folder: ClassVar[str] = "cluster_logs"
    describes_nodes: ClassVar[bool] = False
    counts_restarts: ClassVar[bool] = False
    shows_neighbours: ClassVar[bool] = False

    @property
    def folder(self) -> str:
        """Folder with its Snakemake profile, below the project's folder: ``cluster/<name>``."""
        return f"cluster/{self.name}"

    # Jobs and their states

    @abstractmethod
    def this_job(self) -> Job | None:
        """Return the job in which this process runs; None outside of a job."""

    @abstractmethod
    def job(self, number: str) -> Job:
        """Ask for the state of a job.

        Raises
        ------
        InputError
            If the scheduler is missing or does not answer. Then the job must not count as ended.
        """

    @abstractmethod
    def hosts(self, node_list: str) -> tuple[str, ...]:
        """Return the host names of a `Job.node_list`."""

    def discard(self, job: Job) -> None:
        """Remove a job that can never end by itself. By default there is no such job."""
        return

    def waiting_reasons(self, jobs: Collection[str]) -> Iterator[tuple[str, str]]:
        """Yield each reason why jobs of `jobs` wait, together with a line that explains the reason."""
        yield from ()

    def submit_limit(self, message: str) -> str | None:
        """Return the limit of submitted jobs that a refusal names, if any. It no longer applies as jobs end.

        `message` is the scheduler's refusal of a job.
        """
        return None

    # Asking for nodes

    @property
    def is_here(self) -> bool:
        """Whether jobs can be submitted here, or this process runs in a job."""
        return self.job_variable in os.environ or shutil.which(self.submit_program) is not None

    @property
    def absence(self) -> str:
        """Reason why jobs cannot be submitted here, if `is_here` is false."""
        return f"{self.submit_program}: no such program"

    def nodes_of(self, selection: NodeSelection, file: Path) -> Nodes:
        """Ask the scheduler for the nodes of a selection; `file` names the site file in messages."""
        raise NotImplementedError(f"{self.title} is not asked for nodes")

    @abstractmethod
    def resources(
        self, cluster: Cluster, request: JobRequest, selection: NodeSelection
    ) -> dict[str, int | str | None]:
        """Return the Snakemake resources of a job, with the names that this scheduler's profile uses."""

    def common_resources(self, cluster: Cluster) -> dict[str, str]:
        """Return the Snakemake resources of every job of a cluster."""
        return {}

    def runtime(self, minutes: int) -> int:
        """Return the value of the resource ``runtime`` for a walltime. By default it is in minutes."""
        return minutes

    def check_requests(
        self,
        cluster: Cluster,
        requests: Mapping[str, tuple[JobRequest, NodeSelection]],
        preparing_minutes: int,
    ) -> None:
        """Ask whether the scheduler would accept the jobs of a study, before any job is submitted.

        By default nothing is asked.

        Parameters
        ----------
        cluster : Cluster
        requests : mapping
            Size and nodes of each kind of job with timed runs. The key is the name of a batch of this kind.
        preparing_minutes : int
            Walltime of a job that prepares cases.

        Raises
        ------
        InputError
            One line for the first job that would be refused.
        """
        return

    def check(self, values: Mapping[str, Any], given: Collection[str], file: Path) -> None:
        """Check the keys of a site file that depend on the scheduler.

        Parameters
        ----------
        values : mapping
            Values of all keys. Keys that are not in the file have their defaults.
        given : collection of str
            Keys in the file.
        file : Path

        Raises
        ------
        InputError
            One line for the first wrong key.
        """
        if not self.describes_nodes and (missing := [key for key in NODE_KEYS if key not in given]):
            raise InputError(f"{file}: {', '.join(missing)}: must be given with scheduler {self.name}")

    def site_keys(self) -> list[SiteKey]:
        """Ask the scheduler for the keys of a new site file. By default, the user fills in the nodes."""
        return [
            SiteKey("nodes", None, "most nodes of a job", "4"),
            SiteKey("cores_per_node", None, "cores of the smallest node", "64"),
            SiteKey("memory_per_node_MB", None, "memory of the smallest node for jobs", "250000"),
        ]

    def mpi_plugins(self) -> list[str]:
        """Ask which values ``mpi_plugin`` of a site file may have. By default there are none."""
        return []

    # Inside a job

    def neighbours(self, job: Job) -> list[str]:
        """Describe the jobs of others on the nodes of a job: ``job 7 of anna on n1``."""
        return []

    def hides_neighbours(self) -> bool:
        """Whether the scheduler hides the jobs of other users."""
        return False

    def requeue(self) -> None:
        """Put the job of this process back into the queue."""
        raise InputError(f"{self.title}: a job cannot be put back into the queue by Nodeworth")

    def mpirun_environment(self, ranks: Mapping[str, int]) -> dict[str, str]:
        """Return the environment variables that Open MPI's ``mpirun`` needs in a job.

        `ranks` holds the number of ranks on each host.
        """
        return {}

    def hydra_options(self) -> list[str]:
        """Return the options of ``mpiexec.hydra``. By default it detects the scheduler itself."""
        return []

    def hydra_environment(self) -> dict[str, str]:
        """Return the environment variables that ``mpiexec.hydra`` needs in a job."""
        return {}

    def check_image(self, enter: Sequence[str], cluster: Cluster) -> None:
        """Raise an `InputError` if the scheduler cannot be used from inside an image.

        `enter` is the command line that enters the image.
        """
        return

    # Accounting

    def accounts(self, jobs: Iterable[str]) -> str:
        """Return the accounting of jobs as ``sacct --parsable2`` prints it; empty without accounting."""
        return ""

    def energy_counter(self) -> EnergyCounter | None:
        """Return the scheduler's own energy counter; None if it has none."""
        return None

    def step_energy(self, step: str) -> float | None:
        """Return the joules of an ended step (``JOB.STEP``); None until the accounting has the step.

        Raises
        ------
        InputError
            The accounting has no energy for the step.
        NotImplementedError
            The scheduler counts no energy; the default.
        """
        raise NotImplementedError(f"{self.title} counts no energy")


class HostFileScheduler(Scheduler):
    """A scheduler whose jobs are submitted by commands in a Snakemake profile.

    Inside a job, a file lists the hosts of the job. The end of the walltime and restarts remain unknown.

    Attributes
    ----------
    hosts_variable : str or None
        Environment variable with the path of the file with the hosts. Each line begins with a host; a host
        may have several lines. None for a scheduler whose jobs have a single host.
    """

    hosts_variable: ClassVar[str | None]

    def this_job(self) -> Job | None:
        """Return the job in which this process runs; None outside of a job."""
        number = os.environ.get(self.job_variable)
        if number is None:
            return None
        file = os.environ.get(self.hosts_variable) if self.hosts_variable else None
        lines = Path(file).read_text().splitlines() if file else [platform.node()]
        hosts = dict.fromkeys(line.split()[0] for line in lines if line.strip())
        return Job(number, "RUNNING", ",".join(hosts))

    def hosts(self, node_list: str) -> tuple[str, ...]:
        """Return the host names of a list that `this_job` made."""
        return tuple(node_list.split(","))

    def resources(
        self, cluster: Cluster, request: JobRequest, selection: NodeSelection
    ) -> dict[str, int | str | None]:
        """Return the resources that the submit command of the profile names.

        Numbers of nodes and tasks are text, because Snakemake would add integers over the jobs of a group.
        """
        return {
            "nodes": str(request.nodes),
            "tasks": str(request.nodes * request.tasks_per_node),
            "tasks_per_node": str(request.tasks_per_node),
            "mem_mb": request.memory_MB,
            "runtime": self.runtime(request.minutes),
        }

    def ask(self, *command: str) -> tuple[int, str]:
        """Run a command of the scheduler; return its exit status, and its standard output and error.

        Raises
        ------
        InputError
            If the command is missing, or does not end in time.
        """
        try:
            done = subprocess.run(
                command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=ASK_SECONDS
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise InputError(f"{self.name}: {command[0]}: {error}") from None
        return done.returncode, done.stdout

    def answer(self, *command: str) -> str:
        """Run a command of the scheduler, and return what it printed.

        Raises
        ------
        InputError
            If the command is missing, fails, or does not end in time.
        """
        status, printed = self.ask(*command)
        if status:
            raise InputError(f"{self.name}: {' '.join(printed.split())}")
        return printed

    def job_unless_over(self, number: str, over: str, *command: str) -> Job:
        """Return the job as running; as `UNKNOWN` if the output of `command` matches the pattern `over`."""
        status, printed = self.ask(*command)
        if re.search(over, printed, re.IGNORECASE):
            return Job(number, UNKNOWN)
        if status:
            raise InputError(f"{self.name}: {' '.join(printed.split())}")
        return Job(number, "RUNNING")


def output_of(command: Sequence[str], failure: str) -> str:
    """Return the standard output of a command.

    Raises
    ------
    InputError
        The command is missing, fails, or does not end in time. The message begins with `failure`.
    """
    try:
        done = subprocess.run(command, capture_output=True, timeout=IMAGE_SECONDS, check=True)
    except FileNotFoundError:
        raise InputError(f"{failure}: there is no {command[0]} here") from None
    except subprocess.CalledProcessError as error:
        printed = re.sub(r"\x1b\[\d*m", "", os.fsdecode(error.stderr))
        raise InputError(f"{failure}: {' '.join(printed.split())}") from None
    except subprocess.TimeoutExpired:
        raise InputError(f"{failure}: not done after {IMAGE_SECONDS:g} s") from None
    return os.fsdecode(done.stdout)
