"""The record of a repetition, and how it stands in a file.

The attributes are the keys of ``workflows/schemas/record.yaml``, which says what each of them is. A key that
a record of an earlier version lacks has the default that it has here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from workflows import inputs
from workflows.domain import Energy, Noise, Point
from workflows.launch.probes import Probe


@dataclass(frozen=True)
class Times:
    """``times`` of a record, in seconds; None where the run did not get there."""

    startup_seconds: float | None = None
    output_seconds: float | None = None
    wall_seconds: float | None = None
    cpu_seconds: float | None = None


@dataclass(frozen=True)
class RunNoise(Noise):
    """``noise`` of a record; also the wait for an idle machine, and CPUs that were busy when it ended."""

    idle_wait_seconds: float | None = None
    busy_cores_before: float | None = None


@dataclass(frozen=True)
class Speed:
    """``speed`` of a record: how long a fixed piece of work took just before the run and just after it.

    Seconds of the slowest core; None where `problem` says why.
    """

    compute_seconds_before: float | None = None
    stream_seconds_before: float | None = None
    compute_seconds_after: float | None = None
    stream_seconds_after: float | None = None
    problem: str | None = None

    @property
    def seconds(self) -> float | None:
        """Mean of the whole piece of work before and after; None where one of them is missing."""
        parts = [value for name, value in vars(self).items() if name != "problem"]
        return None if None in parts else sum(parts) / 2


@dataclass(frozen=True)
class GivenAnswer:
    """``answer`` of a record: what the run printed beside what it was to print."""

    quantity: str
    unit: str
    value: float | None
    reference: float
    source: str
    tolerance: float
    relative_difference: float | None


@dataclass(frozen=True)
class Exit:
    """``exit`` of a record: how the program ended."""

    status: int | None
    signal: str | None
    timed_out: bool
    time_limit_seconds: float
    errors: str


@dataclass(frozen=True)
class ClusterJob:
    """``cluster`` of a record: the job that the run was in."""

    job: str
    state: str
    nodes: str | None
    partition: str | None
    restarts: int
    launcher: str
    exclusive: bool
    neighbours_hidden: bool = False


_SECTIONS = {
    "times": Times,
    "noise": RunNoise,
    "speed": Speed,
    "energy": Energy,
    "answer": GivenAnswer,
    "exit": Exit,
    "cluster": ClusterJob,
    "probe": Probe,
}
_OF_A_RUN = {"exit", "command", "environment", "one_sided_windows", "probe", "speed", "energy"}
"""What is not known of a run that ended with its job."""


@dataclass(frozen=True, kw_only=True)
class Record:
    """The record of a repetition. Before the run it has no more than what is known then."""

    schema: ClassVar[str] = "record"

    study: str
    case: str
    application: str
    interconnect: str | None
    kind: str
    nodes: int
    processes: int
    servers: int = 0
    cores: int
    processes_per_node: int | None = None
    threads: int = 1
    oversubscription: int
    block: int
    companions: Mapping[str, str] = field(default_factory=dict)
    repetition: int
    attempt: int
    started: str
    mpi: str | None = None
    mpi_library: str | None = None
    machine: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, str | None]
    cluster: ClusterJob | None = None
    seconds: float | None = None
    valid: bool = False
    reason: str | None = None
    problem: str | None = None
    interrupted: bool = False
    times: Times = Times()
    answer: GivenAnswer | None = None
    noise: RunNoise = RunNoise()
    speed: Speed | None = None
    energy: Energy | None = None
    exit: Exit | None = None
    placement: Sequence[Mapping[str, Any]] = ()
    command: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    version: str | None = None
    one_sided_windows: Mapping[str, int] = field(default_factory=dict)
    probe: Probe | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def point(self) -> Point:
        """The point that was run."""
        return Point(
            self.case,
            self.interconnect,
            self.processes,
            self.oversubscription,
            self.nodes,
            self.cores,
            self.processes_per_node,
            self.servers // self.processes,
            self.threads,
        )

    @property
    def answer_value(self) -> float | None:
        """The answer that the run printed; None where it printed none or is not judged by an answer."""
        return self.answer.value if self.answer else None

    @property
    def speed_probe_seconds(self) -> float | None:
        """What the fixed piece of work took beside it; None where it was not timed."""
        return self.speed.seconds if self.speed else None

    @property
    def probe_latency_us(self) -> float | None:
        """What an empty message took when its interconnect was attested; None where none was."""
        return self.probe.latency_us if self.probe else None

    @property
    def energy_joules(self) -> float | None:
        """Energy of its machines from its begin to its end; None where it was not counted."""
        return self.energy.joules if self.energy else None

    @property
    def energy_source(self) -> str | None:
        """What counted that."""
        return self.energy.source if self.energy and self.energy.joules else None

    @classmethod
    def of_point(cls, point: Point, **others: Any) -> Self:
        """Make a record of a point and all its other keys."""
        return cls(
            case=point.case,
            interconnect=point.interconnect,
            nodes=point.nodes,
            processes=point.processes,
            servers=point.servers,
            cores=point.cores,
            processes_per_node=point.processes_per_node,
            threads=point.threads,
            oversubscription=point.oversubscription,
            **others,
        )

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Self:
        """Take a record from what a file holds."""
        given = {name: make(**data[name]) for name, make in _SECTIONS.items() if data.get(name) is not None}
        return cls(**data | given)

    def as_json(self) -> dict[str, Any]:
        """Give what its file holds, in the order of the schema."""
        sections = {name: getattr(self, name) for name in _SECTIONS}
        held = vars(self) | {name: vars(section) for name, section in sections.items() if section is not None}
        held["probe"] = self.probe and self.probe.as_json()
        absent = _OF_A_RUN if self.interrupted else {"interrupted"}
        absent = absent if self.cluster else absent | {"cluster"}
        absent = absent if self.threads > 1 else absent | {"threads"}
        held |= {"times": {}, "noise": {}} if self.interrupted else {}
        return {key: held[key] for key in inputs.keys(self.schema) if key not in absent}


@dataclass(frozen=True, kw_only=True)
class SimulatedRecord(Record):
    """The record of a simulated point, with the keys of ``simulated.yaml``.

    Attributes
    ----------
    seconds_low, seconds_high : float or None
        Ends of the band of `seconds`.
    """

    schema: ClassVar[str] = "simulated"

    seconds_low: float | None
    seconds_high: float | None
