"""The record of a repetition, and its form in a file.

The schema ``workflows/schemas/record.yaml`` describes the keys, which are the attributes here. If a record of
an earlier version lacks a key, the attribute has its default.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from workflows import inputs
from workflows.domain import Energy, Noise, Point
from workflows.launch.attesters import Probe


@dataclass(frozen=True)
class Times:
    """``times`` of a record, in seconds; None if the run ended before."""

    startup_seconds: float | None = None
    output_seconds: float | None = None
    wall_seconds: float | None = None
    cpu_seconds: float | None = None


@dataclass(frozen=True)
class RunNoise(Noise):
    """``noise`` of a record, with the wait for an idle machine and the CPUs that were busy at its end."""

    idle_wait_seconds: float | None = None
    busy_cores_before: float | None = None


@dataclass(frozen=True)
class Speed:
    """``speed`` of a record: the time of a fixed piece of work just before and just after the run.

    Seconds of the slowest core; None if there is a `problem`.
    """

    compute_seconds_before: float | None = None
    stream_seconds_before: float | None = None
    compute_seconds_after: float | None = None
    stream_seconds_after: float | None = None
    problem: str | None = None

    @property
    def seconds(self) -> float | None:
        """Mean of the times of the whole work before and after the run; None if a part is missing."""
        parts = [value for name, value in vars(self).items() if name != "problem"]
        return None if None in parts else sum(parts) / 2


@dataclass(frozen=True)
class GivenAnswer:
    """``answer`` of a record: the answer that the run printed, and the expected answer."""

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
    """``cluster`` of a record: the job of the run."""

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
_OF_A_RUN = {
    "exit",
    "command",
    "environment",
    "one_sided_windows",
    "probe",
    "speed",
    "energy",
    "world_verified",
}
"""Keys that a record lacks if the end of the job cut the run off."""


@dataclass(frozen=True, kw_only=True)
class Record:
    """The record of a repetition. Attributes that the run has not set yet have their defaults."""

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
    world_verified: bool | None = None
    one_sided_windows: Mapping[str, int] = field(default_factory=dict)
    probe: Probe | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def point(self) -> Point:
        """Point of the repetition."""
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
        """Answer that the run printed; None if it printed none, or needs none."""
        return self.answer.value if self.answer else None

    @property
    def speed_probe_seconds(self) -> float | None:
        """Mean time of the fixed piece of work before and after the run; None if it was not timed."""
        return self.speed.seconds if self.speed else None

    @property
    def probe_latency_us(self) -> float | None:
        """Latency of an empty message when the interconnect was attested; None if it was not."""
        return self.probe.latency_us if self.probe else None

    @property
    def energy_joules(self) -> float | None:
        """Energy of the machines from the start of the run to its end; None if it was not counted."""
        return self.energy.joules if self.energy else None

    @property
    def energy_source(self) -> str | None:
        """Meter that counted the energy; None if it was not counted."""
        return self.energy.source if self.energy and self.energy.joules else None

    @classmethod
    def of_point(cls, point: Point, **others: Any) -> Self:
        """Return the record of a point; `others` are the attributes that the point does not determine."""
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
        """Return a record from the content of a file."""
        sections = {
            name: section(**data[name]) for name, section in _SECTIONS.items() if data.get(name) is not None
        }
        return cls(**{**data, **sections})

    def as_json(self) -> dict[str, Any]:
        """Return the content of the record's file, in the order of the schema."""
        sections = {name: getattr(self, name) for name in _SECTIONS}
        content = vars(self) | {
            name: vars(section) for name, section in sections.items() if section is not None
        }
        content["probe"] = self.probe and self.probe.as_json()
        absent = set(_OF_A_RUN) if self.interrupted else {"interrupted"}
        if not self.cluster:
            absent.add("cluster")
        if self.threads == 1:
            absent.add("threads")
        if self.interrupted:
            content |= {"times": {}, "noise": {}}
        return {key: content[key] for key in inputs.keys(self.schema) if key not in absent}


@dataclass(frozen=True, kw_only=True)
class SimulatedRecord(Record):
    """The record of a simulated point, with the keys of ``workflows/schemas/simulated.yaml``.

    Attributes
    ----------
    seconds_low, seconds_high : float or None
        Ends of the band of `seconds`.
    """

    schema: ClassVar[str] = "simulated"

    seconds_low: float | None
    seconds_high: float | None
