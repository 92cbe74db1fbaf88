"""What a study decides about its analysis."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """What a study decides about its analysis; every value has a default.

    Attributes
    ----------
    study : str
        Name, for messages.
    baselines : tuple of str
        Interconnects that others are compared with. A kind that has none of them takes its default
        baseline: the interconnect with the most points, of equals the first by name.
    compare_kinds : tuple of pairs
        Kinds that may be compared with each other, as ``(("measured", "simulated"),)``.
    reference_interconnect : str or None
        Whose smallest process count is the reference of a case without a serial run. A kind or case
        that has no run of it takes the default baseline.
    draws : int
        Bootstrap draws.
    seed : int
    level : float
        Nominal coverage of the intervals.
    scaling : str
        ``strong`` (fixed size) or ``weak`` (size grows with the processes).
    target_speedups : tuple of float
        Speedups for which node equivalents are told; without any, those that a baseline has at each
        of its counts up to its peak.
    extrapolation : float
        Models say nothing beyond this many times the largest process count they were fitted to.
    target_percent : float
        Wanted half-width of an improvement's interval, in percentage points.
    compare_sites : tuple of pairs
        Sites whose times are compared point by point, as ``(("before", "after"),)``.
    """

    study: str = "study"
    baselines: tuple[str, ...] = ()
    compare_kinds: tuple[tuple[str, str], ...] = ()
    reference_interconnect: str | None = None
    draws: int = 10_000
    seed: int = 0
    level: float = 0.95
    scaling: str = "strong"
    target_speedups: tuple[float, ...] = ()
    extrapolation: float = 4.0
    target_percent: float = 5.0
    compare_sites: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        if self.draws < 100:
            raise ValueError(f"draws: {self.draws}; at least 100")
        if not 0.5 <= self.level <= 0.999:
            raise ValueError(f"level: {self.level}; from 0.5 to 0.999")
        if self.scaling not in ("strong", "weak"):
            raise ValueError(f"scaling: '{self.scaling}'; strong or weak")
        if any(not target > 0 for target in self.target_speedups):
            raise ValueError(f"target_speedups: {list(self.target_speedups)}; above 0")
        if not 1 <= self.extrapolation <= 1_000:
            raise ValueError(f"extrapolation: {self.extrapolation}; from 1 to 1000")
        if not 0 < self.target_percent < float("inf"):
            raise ValueError(f"target_percent: {self.target_percent}; above 0")


@dataclass(frozen=True)
class Queue:
    """What waits to be run, and on what.

    Attributes
    ----------
    jobs : int
        Equal jobs, k.
    cores : int or None
        N; without it, the largest number of cores on which the case was run, by kinds that are compared.
    efficiency : float
        Least efficiency that a shared machine asks for.
    """

    jobs: int = 3
    cores: int | None = None
    efficiency: float = 0.75

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        if not 1 <= self.jobs <= 100_000:
            raise ValueError(f"jobs: {self.jobs}; from 1 to 100000")
        if self.cores is not None and self.cores < 1:
            raise ValueError(f"cores: {self.cores}; 1 or more")
        if not 0 < self.efficiency <= 1:
            raise ValueError(f"efficiency: {self.efficiency}; above 0, at most 1")
