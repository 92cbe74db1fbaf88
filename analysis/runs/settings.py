"""Settings of the analysis of a study."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from analysis.runs.json_parts import JsonPart, each
from analysis.runs.lifetime import Assumed

PROCESSES, NODES = "processes", "nodes"
"""Units in which interconnects are compared."""
DISTINGUISHABLE = 0.05
"""Largest Holm-adjusted p-value of distinguishable results at the first look."""
SHORT_SECONDS_OF_USERS = 2.0
"""Time of a run of a user's input or command below which start-up matters; the user can choose the steps."""
FEWEST_REPEATS = 3
"""Default number of repeats of each rank of a trace; fewer repeats make a prediction only indicative."""
SIZE_OF_USERS = "as_given"
"""Name of the only size of a case that Nodeworth makes from a user's input."""


@dataclass(frozen=True)
class Chosen(JsonPart, converters={"target_speedups": tuple}, optional={"reference_interconnect"}):
    """Settings that only concern the analysis; every value has a default.

    Attributes
    ----------
    draws : int
        Bootstrap draws.
    level : float
        Nominal coverage of the intervals.
    target_speedups : tuple of float
        Speedups for which node equivalents are estimated; by default the speedups of a baseline at each of
        its counts up to its peak.
    extrapolation : float
        Models predict up to this multiple of the largest process count of their fit.
    target_percent : float
        Target half-width of an improvement's interval, in percentage points.
    reference_interconnect : str or None
        Interconnect whose smallest process count is the reference of a case without a serial run. The
        default baseline is used if a kind or case has no run of it.
    """

    draws: int = 10_000
    level: float = 0.95
    target_speedups: tuple[float, ...] = ()
    extrapolation: float = 2.0
    target_percent: float = 5.0
    reference_interconnect: str | None = None

    def __post_init__(self) -> None:
        """Raise `ValueError` for impossible values."""
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
    """All settings of a study that its analysis uses.

    Attributes
    ----------
    study : str
        Name, for messages.
    baselines : tuple of str
        Interconnects that others are compared with. A kind without them takes its default baseline, the
        interconnect with the most points (the first by name if several are equal).
    compare_kinds : tuple of pairs
        Kinds that may be compared with each other, for example ``(("measured", "simulated"),)``.
    scaling : str
        ``strong`` (fixed size) or ``weak`` (size grows with the processes).
    compare_sites : tuple of pairs
        Sites whose times are compared point by point, for example ``(("before", "after"),)``.
    unfinished : bool
        Whether planned blocks are still missing, so that the report states no direction.
    looks : tuple of pairs
        Case, and the number of looks at it, including the present report: see `workflows.results.looks`.
    inside_nodes : tuple of str
        Interconnects that carry messages inside a node, such as shared memory. Other interconnects connect
        nodes: processes on one node send nothing through them.
    compare_by : str or None
        Unit of comparison, `PROCESSES` or `NODES`; by default it follows from the counts of each case
        (`analysis.curves.units.unit_of`).
    layouts : tuple of pairs
        Interconnect, and the layout with which it is compared by nodes, such as ``"96 x 1"`` (processes per
        node x threads).
    """

    study: str = "study"
    baselines: tuple[str, ...] = ()
    compare_kinds: tuple[tuple[str, str], ...] = ()
    seed: int = 0
    scaling: str = "strong"
    compare_sites: tuple[tuple[str, str], ...] = ()
    unfinished: bool = False
    looks: tuple[tuple[str, int], ...] = ()
    inside_nodes: tuple[str, ...] = ()
    compare_by: str | None = None
    layouts: tuple[tuple[str, str], ...] = ()

    @property
    def alpha(self) -> float:
        """Largest p-value of a test of the runs of all cases: 0.05 over the largest factor of a case."""
        return DISTINGUISHABLE / max(self.look_factors(dict(self.looks)), default=1)

    def look_factors(self, cases: Iterable[str]) -> list[int]:
        """Return by how much the p-values of each case are multiplied: by 2^k at look k > 1, else by 1.

        The level of the k-th look is then 0.05 / 2^k.
        """
        looks = dict(self.looks)
        return [2 ** looks[case] if looks.get(case, 1) > 1 else 1 for case in cases]

    def baselines_among(self, names: Sequence[str]) -> list[str]:
        """Return the baselines of the study among interconnects of one kind, else the first interconnect."""
        return [name for name in self.baselines if name in names] or list(names[:1])

    def __post_init__(self) -> None:
        """Raise `ValueError` for impossible values."""
        super().__post_init__()
        if self.scaling not in ("strong", "weak"):
            raise ValueError(f"scaling: '{self.scaling}'; strong or weak")


@dataclass(frozen=True)
class NodePrice(JsonPart, converters={"price_range": tuple}, optional={"cores", "source", "price_range"}):
    """Price of a node without its interconnect.

    Attributes
    ----------
    price : float
        Above 0.
    year : int
        Year of the price.
    cores : int or None
        Cores of a node, to count nodes if the runs do not state them.
    source : str or None
        Source of the price.
    price_range : pair of float or None
        Smallest and largest possible price.
    """

    price: float
    currency: str
    year: int
    cores: int | None = None
    source: str | None = None
    price_range: tuple[float, float] | None = None

    @property
    def assumed(self) -> Assumed:
        """Price with its range, year and source."""
        return Assumed(self.price, self.price_range, self.year, self.source)

    @property
    def prices(self) -> tuple[float, float, float]:
        """Price, and the ends of its range."""
        return (self.price, *self.assumed.ends)

    def __post_init__(self) -> None:
        """Raise `ValueError` for impossible values."""
        try:
            least = self.assumed.ends[0]
        except ValueError as error:
            raise ValueError(f"price_{error}") from None
        if not 0 < least <= self.price < math.inf:
            raise ValueError(f"price of a node: {least:g}; above 0")
        if self.cores is not None and self.cores < 1:
            raise ValueError(f"cores of a node: {self.cores}; 1 or more")


@dataclass(frozen=True)
class SystemPrice(JsonPart, converters={"price_range": tuple}, optional={"price_range"}):
    """Price of a node hour of a system, an interconnect or a site.

    Attributes
    ----------
    price : float
        Above 0. By default the middle of its range.
    price_range : pair of float or None
        Smallest and largest possible price.
    terms : str or None
        Terms of the purchase, such as ``on_demand`` or ``spot``.
    date, source : str or None
        Date and source of the price.
    """

    price: float
    price_range: tuple[float, float] | None = None
    terms: str | None = None
    date: str | None = None
    source: str | None = None

    @classmethod
    def of(cls, data: float | Mapping[str, Any]) -> Self:
        """Make the price from a number, or from a section of keys.

        If the section has only a range, the price is the middle of the range.
        """
        given: dict[str, Any] = dict(data) if isinstance(data, Mapping) else {"price": data}
        if given.get("price") is None:
            given["price"] = sum(given["price_range"]) / 2
        return super().of(given)

    @property
    def prices(self) -> tuple[float, float, float]:
        """Price, and the ends of its range."""
        return (self.price, *(self.price_range or (self.price, self.price)))

    def __post_init__(self) -> None:
        """Raise `ValueError` for impossible values."""
        _, low, high = self.prices
        if not 0 < low <= self.price <= high < math.inf:
            raise ValueError(f"price_range: {low:g} to {high:g} does not hold the price {self.price:g}")


@dataclass(frozen=True)
class RunCosts(
    JsonPart,
    converters={"prices": each(SystemPrice.of), "deadlines": tuple, "budgets": tuple, "cases": tuple},
    optional={"file"},
):
    """Prices of node hours, and the questions about the cost of a run.

    Attributes
    ----------
    prices : mapping of interconnect or site to SystemPrice
    deadlines : tuple of float
        Times to solution in seconds.
    budgets : tuple of float
        Costs of a run in the currency.
    file : str or None
        Price book.
    cases : tuple of str
        Cases with costs; empty for all cases.
    """

    currency: str
    prices: Mapping[str, SystemPrice]
    deadlines: tuple[float, ...] = ()
    budgets: tuple[float, ...] = ()
    file: str | None = None
    cases: tuple[str, ...] = ()

    def covers(self, case: str) -> bool:
        """Return whether a case has costs."""
        return not self.cases or case in self.cases


@dataclass(frozen=True)
class Mix(JsonPart, converters={"budgets": tuple}, optional={"kilowatts"}):
    """Mix of cases that a planned cluster will run, and the budget of this cluster.

    Attributes
    ----------
    weights : mapping of case to float
        Weights above 0, of which only the ratios count.
    budgets : tuple of float
        Budgets in the currency of the node's price.
    kilowatts : float or None
        Largest power of the whole cluster; None for no limit.
    """

    weights: Mapping[str, float]
    budgets: tuple[float, ...]
    kilowatts: float | None = None

    def __post_init__(self) -> None:
        """Raise `ValueError` for impossible values."""
        for case, weight in self.weights.items():
            if not 0 < weight < math.inf:
                raise ValueError(f"weight of case '{case}': {weight}; above 0")
        if not self.weights:
            raise ValueError("weights: none given")


@dataclass(frozen=True)
class Limit(JsonPart):
    """A minimum, and the largest number of cores that it applies to (None for any)."""

    at_least: float
    up_to_cores: int | None = None


@dataclass(frozen=True)
class Rule(JsonPart, converters={"limits": lambda limits: tuple(map(Limit.of, limits))}):
    """Rule of a computing centre for scaling tables.

    Attributes
    ----------
    quantity : str
        One of `analysis.topics.proposal.rules.QUANTITIES`.
    limits : tuple of Limit
        Limits by increasing number of cores.
    """

    name: str
    title: str
    quantity: str
    limits: tuple[Limit, ...]
    source: str
    note: str = ""

    def at_least(self, cores: int) -> float:
        """Return the minimum at a number of cores; NaN if the rule has none."""
        fitting = (limit for limit in self.limits if limit.up_to_cores is None or cores <= limit.up_to_cores)
        return next((limit.at_least for limit in fitting), math.nan)
