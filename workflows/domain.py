"""The words of a study as data: case, interconnect, point, and what one run printed.

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


@dataclass(frozen=True)
class Answer:
    """What a right run of a case prints.

    Attributes
    ----------
    quantity : str
        Name of the integral quantity (``pressure_drop``, ``energy``).
    unit : str
    tolerance : float
        Largest relative difference from the expected answer.
    golden : float or None
        The answer of a run made once with care; without it, the answer of a serial run of the prepared case
        is expected.
    possible : tuple of float
        Lowest and highest value that is physically possible; a run outside has diverged.
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
        Data servers (threads or processes) that run beside each process and do not compute.
    environment : dict
        Environment variables of every rank.
    server_ranks : bool
        Whether each server is a rank of its own, started beside those that compute; else it is a thread of
        its process.
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
        As a study names it: ``elbow_segregated``, or ``elbow_segregated-4k`` for another size.
    application : str
        Module of `workflows.applications` that knows how to prepare, run and read it.
    size : str
    title : str
        A few words for headings.
    folder : Path
        ``cases/<application>/<case>``: case.yaml and the application's input files.
    parameters : dict
        Values of this size, put into the input files (``$name`` in a template).
    settings : dict
        The application's own section of case.yaml, as its schema describes it.
    answer : Answer or None
        None where the case prints nothing to be judged by (only `command` allows that).
    serial_seconds : float
        Rough time of one serial run here, for planning only.
    divisible : int or None
        Process counts must divide this number; None where any count will do.
    fewest_processes : int
        The smallest process count that it can run on.
    description, stands_for : str
        What it computes, and which case of a known study it stands for.
    published_case : str or None
        The case that it stands for at this size, by its name in tables of published figures.
    memory_MB : float
        Rough memory of one serial run, for planning only.
    option : Option or None
        How its parallel runs are made, if not simply started. A serial run has no option.
    drop_page_cache : bool
        Whether the kernel's page cache is dropped before each repetition, and its runs write to a disk.
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


@dataclass(frozen=True)
class Interconnect:
    """What joins the processes.

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
        ``nodes``, ``cores_per_node``, ``rate_mbps``, ``mtu`` of emulated nodes.
    nodes, cores_per_node : int
        What can be used where this interconnect is.
    place : str
        ``machine`` inside any machine, ``cluster`` between the nodes of whatever cluster is used, ``own``
        where `nodes` and `cores_per_node` are its own.
    description : str
        What it is, in a sentence or two.
    price : dict or None
        Where its price is found: ``book`` or ``parts``, and ``item``.
    simulate : dict or None
        What messages cost on a simulated interconnect, as the schema describes it.
    link_mbps : float or None
        Rate of one direction of a link, 10^6 bit/s; None where there is no link or its rate is not known.
    attest : dict or None
        Lowest and highest ``latency_us`` and ``bandwidth_MBps`` that a probe may measure, either of them
        optional; None where nothing is probed.
    factors : dict
        ``transport``, ``mtu``, ``cable`` and ``path``, as far as they are known.
    host_bus : str or None
        Bus of its adapter (``PCIe 3.0 x8``).
    notes : sequence of dict
        What is no number: ``topic``, ``note``, ``year`` and ``source`` of each.
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
        """Whether it is between nodes, so that messages inside a node are not its own."""
        return self.place == "cluster" or self.nodes > 1


def counted(number: int, noun: str) -> str:
    """Write a count with its noun, as plain text: ``1 thread``, ``2 processes``."""
    return f"{number} {noun}" + ("" if number == 1 else "es" if noun.endswith("s") else "s")


@dataclass(frozen=True)
class Point:
    """case × interconnect × processes × oversubscription (× processes a node, × threads, where they vary).

    ``interconnect`` is None for a serial run. ``cores = running / oversubscription``.
    ``processes_per_node`` is None where the study does not vary placement: ``nodes`` then is as the
    interconnect gives.
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
        """Its processes and threads: ``1 process of 2 threads``, ``4 processes``."""
        each = f" of {self.threads} threads" if self.threads > 1 else ""
        return f"{counted(self.processes, 'process')}{each}"

    @property
    def computing(self) -> int:
        """Threads that compute, those of all processes together: points of equally many are compared."""
        return self.processes * self.threads

    @property
    def servers(self) -> int:
        """Data servers, which run beside the processes and do not compute."""
        return self.processes * self.servers_per_process

    @property
    def running_per_process(self) -> int:
        """What runs of a process: the threads that it computes with, and its data servers."""
        return self.threads + self.servers_per_process

    @property
    def running(self) -> int:
        """Everything that runs: the threads that compute, one a process or more, and the data servers."""
        return self.processes * self.running_per_process

    @property
    def cores_per_process(self) -> int:
        """Cores that a process has for its threads and servers; 1 where it shares a core with others."""
        return max(1, self.running_per_process // self.oversubscription)

    @property
    def processes_per_core(self) -> int:
        """Processes, each with its threads and servers, that share a core; 1 where each has one or more."""
        return max(1, self.oversubscription // self.running_per_process)

    @property
    def companion(self) -> str | None:
        """Name among the companions of a block: the interconnect, and placement and threads if they vary."""
        if self.interconnect is None:
            return None
        return "/".join([self.interconnect, *self.varied])

    @property
    def varied(self) -> list[str]:
        """Folders of its records for what few studies vary: processes a node, and threads beyond one."""
        placed = self.processes_per_node is not None
        return [
            *([f"processes-per-node-{self.processes_per_node}"] if placed else []),
            *([f"threads-{self.threads}"] if self.threads > 1 else []),
        ]


@dataclass(frozen=True)
class Repetition:
    """One timed run of a point within a block.

    Attributes
    ----------
    point : Point
    block : int
        From 1. Repetitions of one block with the same case, oversubscription and number of threads that
        compute (`Point.computing`) are run back to back.
    companions : tuple of str
        Interconnects (placements, threads: see `Point.companion`) planned together in that block, sorted;
        empty for a serial run. Two repetitions are a pair only if they have the same companions.
    """

    point: Point
    block: int
    companions: tuple[str, ...]


@dataclass(frozen=True)
class Line:
    """A line of a program's output and when it arrived, in seconds since the launch."""

    seconds: float
    text: str


@dataclass(frozen=True)
class Reading:
    """What the output of one run says.

    Attributes
    ----------
    seconds : float or None
        Time of the main loop, start-up and output excluded; None where the run did not get there.
    startup_seconds : float or None
        From the launch to the start of the main loop.
    output_seconds : float or None
        From the end of the main loop to the last line.
    answer : float or None
        Value of the case's quantity.
    problem : str or None
        Why the run does not count (incomplete, diverged, ...); None for a sound run. The answer is
        compared with its reference by the caller, not here.
    details : dict
        Whatever else is worth keeping (iterations, residuals, application's own times). Two keys mean the
        same for every application that has them: ``loop_seconds``, the time of each part of the main loop by
        name, and ``solver_iterations``, the iterations of the linear solver in a time step by field.
    one_sided : bool
        Whether its ranks reached into each other's memory by MPI's one-sided calls.
    printed : str or None
        ``seconds`` as the program printed them; None if they are the time between two lines.
    copies : int or None
        How many times the output holds all that a run prints; None if the application cannot know.
    """

    seconds: float | None
    startup_seconds: float | None
    output_seconds: float | None
    answer: float | None
    problem: str | None
    details: dict[str, Any] = field(default_factory=dict)
    one_sided: bool = False
    printed: str | None = None
    copies: int | None = None


@dataclass(frozen=True)
class Work:
    """What a run does while it is timed: an amount and its unit (``cell iterations``)."""

    amount: float
    unit: str


@dataclass(frozen=True)
class Energy:
    """``energy`` of a record: what its machines counted, by what, and how finely.

    `resolution_joules` is the step of a counter, `update_seconds` how often it moves; None where that is not
    known. No joules where `problem` says why.
    """

    joules: float | None
    source: str
    resolution_joules: float | None = None
    update_seconds: float | None = None
    problem: str | None = None


@dataclass(frozen=True)
class Noise:
    """What else the machine did between two moments; None where it is not known.

    Attributes
    ----------
    pressure_share : float or None
        Share of the time, 0-1, in which at least one runnable task waited for a CPU. A run with more
        processes than cores causes it itself.
    foreign_cores : float or None
        CPUs that something else than what is measured kept busy, on average.
    stolen_cores : float or None
        CPUs that the hypervisor gave to others, on average.
    """

    pressure_share: float | None = None
    foreign_cores: float | None = None
    stolen_cores: float | None = None


def short_digest(content: bytes) -> str:
    """Digest that tells contents apart: the first 16 hexadecimal digits of SHA-256."""
    return hashlib.sha256(content).hexdigest()[:16]
