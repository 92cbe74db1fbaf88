"""What a study decides about its analysis."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analysis.runs.json_parts import JsonPart
from analysis.runs.lifetime import Assumed

DISTINGUISHABLE = 0.05
"""Holm-adjusted p-value up to which two things count as told apart, at the first look."""


@dataclass(frozen=True)
class Chosen(JsonPart, made={"target_speedups": tuple}, optional={"reference_interconnect"}):
    """What a study says of its analysis alone; every value has a default.

    Attributes
    ----------
    draws : int
        Bootstrap draws.
    level : float
        Nominal coverage of the intervals.
    target_speedups : tuple of float
        Speedups for which node equivalents are estimated; without any, the speedups that a baseline has at
        each of its counts up to its peak.
    extrapolation : float
        Models say nothing beyond this many times the largest process count they were fitted to.
    target_percent : float
        Wanted half-width of an improvement's interval, in percentage points.
    reference_interconnect : str or None
        Whose smallest process count is the reference of a case without a serial run. A kind or case
        that has no run of it takes the default baseline.
    """

    draws: int = 10_000
    level: float = 0.95
    target_speedups: tuple[float, ...] = ()
    extrapolation: float = 2.0
    target_percent: float = 5.0
    reference_interconnect: str | None = None

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        if self.draws < 100:
            raise ValueError(f"draws: {self.draws}; at least 100")
        if not 0.5 <= self.level <= 0.999:
            raise ValueError(f"level: {self.level}; from 0.5 to 0.999")
        if any(not target > 0 for target in self.target_speedups):
            raise ValueError(f"target_speedups: {list(self.target_speedups)}; above 0")
        if not 1 <= self.extrapolation <= 1_000:
            raise ValueError(f"extrapolation: {self.extrapolation}; from 1 to 1000")
        if not 0 < self.target_percent < float("inf"):
            raise ValueError(f"target_percent: {self.target_percent}; above 0")


@dataclass(frozen=True)
class Settings(Chosen):
    """All that a study decides about its analysis.

    Attributes
    ----------
    study : str
        Name, for messages.
    baselines : tuple of str
        Interconnects that others are compared with. A kind that has none of them takes its default
        baseline: the interconnect with the most points, of equals the first by name.
    compare_kinds : tuple of pairs
        Kinds that may be compared with each other, as ``(("measured", "simulated"),)``.
    scaling : str
        ``strong`` (fixed size) or ``weak`` (size grows with the processes).
    compare_sites : tuple of pairs
        Sites whose times are compared point by point, as ``(("before", "after"),)``.
    unfinished : bool
        Whether planned blocks are still to be recorded, so that no direction is told.
    look : int
        Which whole report of the study this is, from 1: later ones are of more blocks.
    inside_nodes : tuple of str
        Interconnects that carry the messages inside a node, as shared memory does. Every other interconnect
        joins nodes: processes that share one node send nothing through it.
    """

    study: str = "study"
    baselines: tuple[str, ...] = ()
    compare_kinds: tuple[tuple[str, str], ...] = ()
    seed: int = 0
    scaling: str = "strong"
    compare_sites: tuple[tuple[str, str], ...] = ()
    unfinished: bool = False
    look: int = 1
    inside_nodes: tuple[str, ...] = ()

    @property
    def alpha(self) -> float:
        """Holm-adjusted p-value up to which two things count as told apart: at look k > 1, over 2^k."""
        return DISTINGUISHABLE / (2**self.look if self.look > 1 else 1)

    def baselines_among(self, names: Sequence[str]) -> list[str]:
        """Baselines among interconnects of one kind: those that are named, else the first."""
        return [name for name in self.baselines if name in names] or list(names[:1])

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        super().__post_init__()
        if self.scaling not in ("strong", "weak"):
            raise ValueError(f"scaling: '{self.scaling}'; strong or weak")


@dataclass(frozen=True)
class Queue(JsonPart, optional={"cores"}):
    """What waits to be run, and on what.

    Attributes
    ----------
    jobs : int
        Equal jobs, k.
    efficiency : float
        Least efficiency that a shared machine asks for.
    cores : int or None
        N; without it, the largest number of cores on which the case was run, by kinds that are compared.
    """

    jobs: int = 3
    efficiency: float = 0.75
    cores: int | None = None

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        if not 1 <= self.jobs <= 100_000:
            raise ValueError(f"jobs: {self.jobs}; from 1 to 100000")
        if self.cores is not None and self.cores < 1:
            raise ValueError(f"cores: {self.cores}; 1 or more")
        if not 0 < self.efficiency <= 1:
            raise ValueError(f"efficiency: {self.efficiency}; above 0, at most 1")


@dataclass(frozen=True)
class NodePrice(JsonPart, made={"price_range": tuple}, optional={"cores", "source", "price_range"}):
    """A node without its interconnect.

    Attributes
    ----------
    price : float
        Above 0.
    year : int
        Of the price.
    cores : int or None
        Cores of a node, by which nodes are counted where the runs do not say.
    source : str or None
        Where the price is from.
    price_range : pair of float or None
        The least and the most that the price may be.
    """

    price: float
    currency: str
    year: int
    cores: int | None = None
    source: str | None = None
    price_range: tuple[float, float] | None = None

    @property
    def assumed(self) -> Assumed:
        """The price with its range, its year and where it is from."""
        return Assumed(self.price, self.price_range, self.year, self.source)

    @property
    def prices(self) -> tuple[float, float, float]:
        """Price, and the ends of its range."""
        return (self.price, *self.assumed.ends)

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        try:
            least = self.assumed.ends[0]
        except ValueError as error:
            raise ValueError(f"price_{error}") from None
        if not 0 < least <= self.price < math.inf:
            raise ValueError(f"price of a node: {least:g}; above 0")
        if self.cores is not None and self.cores < 1:
            raise ValueError(f"cores of a node: {self.cores}; 1 or more")


@dataclass(frozen=True)
class Mix(JsonPart, made={"budgets": tuple}, optional={"kilowatts"}):
    """What the cluster is for, and what it may cost.

    Attributes
    ----------
    weights : mapping of case to float
        Above 0; only their ratios count.
    budgets : tuple of float
        In the currency of the node's price.
    kilowatts : float or None
        Most power that all of the cluster may draw; None is no limit.
    """

    weights: Mapping[str, float]
    budgets: tuple[float, ...]
    kilowatts: float | None = None

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        for case, weight in self.weights.items():
            if not 0 < weight < math.inf:
                raise ValueError(f"weight of case '{case}': {weight}; above 0")
        if not self.weights:
            raise ValueError("weights: none given")


@dataclass(frozen=True)
class Limit(JsonPart):
    """A minimum, and the largest number of cores that it is for (None: any)."""

    at_least: float
    up_to_cores: int | None = None


@dataclass(frozen=True)
class Rule(JsonPart, made={"limits": lambda limits: tuple(map(Limit.of, limits))}):
    """What a computing centre asks of a scaling table.

    Attributes
    ----------
    quantity : str
        One of `analysis.topics.proposal.rules.QUANTITIES`.
    limits : tuple of Limit
        By increasing number of cores.
    """

    name: str
    title: str
    quantity: str
    limits: tuple[Limit, ...]
    source: str
    note: str = ""

    def at_least(self, cores: int) -> float:
        """Minimum at a number of cores; NaN where the rule says nothing."""
        fitting = (limit for limit in self.limits if limit.up_to_cores is None or cores <= limit.up_to_cores)
        return next((limit.at_least for limit in fitting), math.nan)
