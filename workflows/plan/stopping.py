"""The stopping rule of a study that adds blocks until its intervals are narrow enough."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from operator import mul
from types import MappingProxyType
from typing import TYPE_CHECKING

from workflows.domain import Point
from workflows.plan.record import Record
from workflows.study.study import Study

if TYPE_CHECKING:  # a job that measures loads no pandas
    import pandas as pd


@dataclass(frozen=True)
class Stopping:
    """Precision that a study has reached so far, and the reason why the study adds no further block.

    Attributes
    ----------
    half_width_percent : float or None
        Half-width of the widest interval that the target covers, in percentage points. None while an interval
        is missing.
    core_hours : float
        Core hours of all runs so far.
    reached : bool
        Whether the target is reached.
    reason : str or None
        Why no block is added, in a few words; None if the study goes on.
    """

    half_width_percent: float | None
    core_hours: float
    reached: bool
    reason: str | None


def judge(study: Study, blocks: int, half_widths: pd.Series, core_hours: float) -> Stopping:
    """Apply the stopping rule of a study to its runs.

    Parameters
    ----------
    study : Study
        A study with a target.
    blocks : int
        Number of complete blocks.
    half_widths : Series
        Half-width of every interval of the target in percentage points, NaN for a missing interval: see
        `analysis.topics.precision.half_widths`.
    core_hours : float
        Core hours so far. The next block is expected to take as many as the mean block.
    """
    until, allowed = study.until, study.limits.core_hours
    if until is None:
        raise ValueError("the study has no target")
    is_missing = half_widths.empty or half_widths.isna().any()
    widest = None if is_missing else float(half_widths.max())
    reached = widest is not None and widest <= until.interval_percent
    reason = None
    if reached:
        reason = "the target was reached"
    elif half_widths.empty:
        reason = "nothing was run that has an interval"
    elif blocks >= until.max_blocks:
        reason = f"{until.max_blocks} blocks are the most that the study allows"
    elif core_hours * (blocks + 1) / blocks > allowed:
        reason = f"another block would have exceeded its {allowed:g} core hours"
    return Stopping(widest, core_hours, reached, reason)


def core_hours(
    records: Iterable[Record], occupied_cores: Mapping[Point, int] = MappingProxyType({})
) -> float:
    """Return the core hours of recorded runs, from launch to end.

    A run occupies the cores that `occupied_cores` states for its point, else the cores of its record.
    """
    ended = [record for record in records if not record.interrupted]
    cores = [occupied_cores.get(record.point, record.cores) for record in ended]
    seconds = [record.times.wall_seconds or 0.0 for record in ended]
    return sum(map(mul, cores, seconds)) / 3600
