"""The terms of a study as data classes: case, interconnect, point, and the output of one run.

Nothing here reads a file or starts a program.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from analysis.runs.facts import LeftOut as LeftOut
from workflows.errors import InputError as InputError

FAILED = "failed"
"""Value of key ``again`` that requests every repetition without a valid attempt."""
WITHDRAW = "none"
"""Value of key ``again`` that withdraws the earlier requests."""


@dataclass(frozen=True)
class Answer:
    """The value that a correct run of a case prints.

    Attributes
    ----------
    quantity : str
        Name of the integral quantity (``pressure_drop``, ``energy``).
    unit : str
    tolerance : float
        Largest relative difference from the expected answer.
    golden : float or None
        Expected answer, from a carefully made run. None: the answer of a serial run is expected.
    possible : tuple of float
        Lowest and highest value that is physically possible; a run outside the range has diverged.
    """

    quantity: str
    unit: str
    tolerance: float
    golden: float | None = None
    possible: tuple[float, float] = (-math.inf, math.inf)


@dataclass(frozen=True)
class Option:
    """A way to run a case in parallel that changes neither its input nor its answer.

    Attributes
    ----------
    name : str
    servers_per_process : int
        Data servers (threads or processes) per process, which do not compute.
    environment : dict
        Environment variables of every rank.
    server_ranks : bool
        Whether each server is a separate rank; else it is a thread of its process.
    """

    name: str
    servers_per_process: int
    environment: dict[str, str]
    server_ranks: bool = False


@dataclass(frozen=True)
class Case:
    """An application with an input and a size.

    Attributes
    ----------
    name : str
        Name in a study: ``elbow_segregated``, or ``elbow_segregated-4k`` for another size.
    application : str
        Name of the module of `workflows.applications` that prepares and runs the case and reads its output.
    size : str
    title : str
        A few words for headings.
    folder : Path
        ``cases/<application>/<case>``: case.yaml and the application's input files.
    parameters : dict
        Values of this size, which replace ``$name`` in the input files.
    settings : dict
        Section ``settings`` of case.yaml, as the application's schema describes it.
    answer : Answer or None
        None if the case prints no value that shows whether a run is correct (only `command` and `mpi4py`).
    serial_seconds : float
        Rough time of one serial run, for planning only.
    divisible : int or None
        Number that process counts must divide; None if any count works.
    fewest_processes : int
        Smallest process count that works.
    description, stands_for : str
        The computation, and the case of a known study that it represents.
    published_case : str or None
        Name, in tables of published figures, of the case that this size represents.
    memory_MB : float
        Rough memory of one serial run, for planning and for requests of jobs.
    option : Option or None
        Special way to start the parallel runs of the case. A serial run has no option.
    drop_page_cache : bool
        Whether Nodeworth drops the kernel's page cache before each repetition, and runs write to a disk.
    trial_processes : int or None
        Processes of the trial run that must pass before the first measurement; None without a trial run.
    """

    name: str
    application: str
    size: str
    title: str
    folder: Path
    parameters: dict[str, Any]
    settings: dict[str, Any]
    answer: Answer | None
    serial_seconds: float
    divisible: int | None = None
    fewest_processes: int = 1
    description: str = ""
    stands_for: str = ""
    published_case: str | None = None
    memory_MB: float = 0.0  # noqa: N815
    option: Option | None = None
    drop_page_cache: bool = False
    trial_processes: int | None = None

    @property
    def needs_serial_run(self) -> bool:
        """Whether an untimed serial run gives the expected answer."""
        if self.trial_processes:
            return False
        return "as_is" in self.settings if self.answer is None else self.answer.golden is None


@dataclass(frozen=True)
class Interconnect:
    """What connects the processes.

    Attributes
    ----------
    name : str
    kind : str
        ``measured``, ``emulated`` or ``simulated``; a simulated interconnect is not launched.
    title : str
        A few words for legends.
    launch : dict
        ``mpi`` (the MPI library), ``mca`` (Open MPI parameters) and ``env`` (environment variables).
    emulate : dict or None
        ``nodes``, ``cores_per_node``, ``rate_mbps`` and ``mtu`` of emulated nodes.
    nodes, cores_per_node : int
        Nodes and cores per node that it connects.
    place : str
        ``machine``: inside any machine. ``cluster``: between the nodes of any cluster. ``own``: between the
        nodes that its file describes.
    description : str
        One or two sentences.
    price : dict or None
        Source of its price: ``book`` or ``parts``, and ``item``.
    simulate : dict or None
        Cost model of a simulated interconnect, as the schema describes it.
    link_mbps : float or None
        Rate of one direction of a link, 10^6 bit/s; None if there is no link or its rate is unknown.
    attest : dict or None
        Lowest and highest ``latency_us`` and ``bandwidth_MBps`` that a probe may measure; each is optional.
        None: nothing is probed.
    factors : dict
        ``transport``, ``mtu``, ``cable`` and ``path``, where known.
    host_bus : str or None
        Bus of its adapter (``PCIe 3.0 x8``).
    notes : sequence of dict
        Remarks, each with ``topic``, ``note``, ``year`` and ``source``.
    """

    name: str
    kind: str
    title: str
    launch: dict[str, Any]
    emulate: dict[str, Any] | None
    nodes: int
    cores_per_node: int
    description: str = ""
    price: dict[str, str] | None = None
    link_mbps: float | None = None
    place: str = "machine"
    simulate: dict[str, Any] | None = None
    attest: dict[str, list[float]] | None = None
    factors: dict[str, Any] = field(default_factory=dict)
    host_bus: str | None = None
    notes: Sequence[dict[str, Any]] = ()

    @property
    def joins_nodes(self) -> bool:
        """Whether the interconnect connects nodes. Messages inside a node then do not use it."""
        return self.place == "cluster" or self.nodes > 1


def counted(number: int, noun: str) -> str:
    """Write a count with its noun: ``1 thread``, ``2 processes``."""
    return f"{number} {noun}" + ("" if number == 1 else "es" if noun.endswith("s") else "s")


@dataclass(frozen=True)
class Point:
    """case × interconnect × processes × oversubscription (× processes a node, × threads, where they vary).

    ``interconnect`` is None for a serial run. ``cores = running / oversubscription``. ``processes_per_node``
    is None if the study does not vary placement; ``nodes`` then follows from the interconnect.
    """

    case: str
    interconnect: str | None
    processes: int
    oversubscription: int
    nodes: int
    cores: int
    processes_per_node: int | None = None
    servers_per_process: int = 0
    threads: int = 1

    @property
    def in_words(self) -> str:
        """Processes and threads as text: ``1 process of 2 threads``, ``4 processes``."""
        each = f" of {self.threads} threads" if self.threads > 1 else ""
        return f"{counted(self.processes, 'process')}{each}"

    @property
    def computing(self) -> int:
        """Number of computing threads of all processes. Points with the same number are compared."""
        return self.processes * self.threads

    @property
    def servers(self) -> int:
        """Data servers of all processes, which do not compute."""
        return self.processes * self.servers_per_process

    @property
    def running_per_process(self) -> int:
        """Computing threads and data servers of one process."""
        return self.threads + self.servers_per_process

    @property
    def running(self) -> int:
        """Computing threads and data servers of all processes."""
        return self.processes * self.running_per_process

    @property
    def cores_per_process(self) -> int:
        """Number of cores for the threads and servers of a process; 1 if the process shares a core."""
        return max(1, self.running_per_process // self.oversubscription)

    @property
    def processes_per_core(self) -> int:
        """Number of processes per core; 1 if each process has whole cores for its threads and servers."""
        return max(1, self.oversubscription // self.running_per_process)

    @property
    def companion(self) -> str | None:
        """Name in `Repetition.companions`: the interconnect, with placement and threads if they vary."""
        if self.interconnect is None:
            return None
        return "/".join([self.interconnect, *self.varied])

    @property
    def varied(self) -> list[str]:
        """Names of additional folders for the point's records, if the study varies placement or threads."""
        varies_placement = self.processes_per_node is not None
        return [
            *([f"processes-per-node-{self.processes_per_node}"] if varies_placement else []),
            *([f"threads-{self.threads}"] if self.threads > 1 else []),
        ]


@dataclass(frozen=True)
class Repetition:
    """One timed run of a point within a block.

    Attributes
    ----------
    point : Point
    block : int
        Number of the block, from 1. Repetitions of a block run back to back if they have the same case,
        oversubscription and number of computing threads (`Point.computing`).
    companions : tuple of str
        Interconnects that the block compares, sorted (see `Point.companion`). Empty for a serial run. Two
        repetitions form a pair only if their companions are equal.
    """

    point: Point
    block: int
    companions: tuple[str, ...]


@dataclass(frozen=True)
class Line:
    """A line of a program's output with its arrival time, in seconds since the launch."""

    seconds: float
    text: str


@dataclass(frozen=True)
class Reading:
    """Result of reading the output of one run.

    Attributes
    ----------
    seconds : float or None
        Time of the main loop without start-up and output; None if the run did not finish it.
    startup_seconds : float or None
        From the launch to the start of the main loop.
    output_seconds : float or None
        From the end of the main loop to the last line.
    answer : float or None
        Value of the case's quantity.
    problem : str or None
        Why the run does not count (incomplete, diverged, ...); None for a sound run. The caller compares the
        answer with the expected answer.
    details : dict
        Further values for the record (iterations, residuals, times). Two keys have the same meaning for all
        applications: ``loop_seconds``, the time of each part of the main loop by name, and
        ``solver_iterations``, the iterations of the linear solver per time step by field.
    one_sided : bool
        Whether ranks accessed each other's memory by one-sided MPI calls.
    printed : str or None
        ``seconds`` as the program printed it; None if it is the time between two lines.
    unit : str
        Unit of `printed`, a key of `workflows.applications.tools.UNITS`.
    processes : int or None
        Number of processes that the program printed; None if it printed none. `problem` states a number that
        differs from the started processes.
    copies : int or None
        How often the output holds everything that a single run prints; None if unknown.
    """

    seconds: float | None
    startup_seconds: float | None
    output_seconds: float | None
    answer: float | None
    problem: str | None
    details: dict[str, Any] = field(default_factory=dict)
    one_sided: bool = False
    printed: str | None = None
    unit: str = "s"
    processes: int | None = None
    copies: int | None = None


@dataclass(frozen=True)
class Work:
    """Work of the timed part of a run: an amount and its unit (``cell iterations``)."""

    amount: float
    unit: str


@dataclass(frozen=True)
class Energy:
    """``energy`` of a record: the energy that counters of its machines measured.

    Attributes
    ----------
    joules : float or None
        None if `problem` says why there is no measurement.
    source : str
        Name of the counters.
    resolution_joules : float or None
        Smallest step of a counter; None if unknown.
    update_seconds : float or None
        Interval between updates of a counter; None if unknown.
    problem : str or None
    """

    joules: float | None
    source: str
    resolution_joules: float | None = None
    update_seconds: float | None = None
    problem: str | None = None


@dataclass(frozen=True)
class Noise:
    """Other activity of the machine during a period; None if unknown.

    Attributes
    ----------
    pressure_share : float or None
        Share of the time, 0-1, in which at least one runnable task waited for a CPU. A run with more
        processes than cores causes this itself.
    foreign_cores : float or None
        Mean number of CPUs that other programs kept busy.
    stolen_cores : float or None
        Mean number of CPUs that the hypervisor gave to other guests.
    """

    pressure_share: float | None = None
    foreign_cores: float | None = None
    stolen_cores: float | None = None


def short_digest(content: bytes) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of `content`."""
    return hashlib.sha256(content).hexdigest()[:16]
