"""When a study that goes on until its intervals are narrow enough stops."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workflows.plan.record import Record
from workflows.study.study import Study

if TYPE_CHECKING:  # jobs that measure can spare its import
    import pandas as pd


@dataclass(frozen=True)
class Stopping:
    """How far a study is from its target, and why it adds no further block.

    Attributes
    ----------
    half_width_percent : float or None
        Half-width of the widest interval that the target means; None while an interval is missing.
    core_hours : float
        Taken by all runs until now.
    reached : bool
        Whether the target is reached.
    reason : str or None
        Why no block is added, in a few words; None where the study goes on.
    """

    half_width_percent: float | None
    core_hours: float
    reached: bool
    reason: str | None


def judge(study: Study, blocks: int, half_widths: pd.Series, core_hours: float) -> Stopping:
    """Apply the stopping rule of a study to what has been run.

    Parameters
    ----------
    study : Study
        One with a target.
    blocks : int
        Complete blocks, at least those that the study always makes.
    half_widths : Series
        Half-width of every interval that the target means, in percentage points, NaN where there is none
        yet: see `analysis.topics.precision.half_widths`.
    core_hours : float
        Taken until now. The next block is expected to take as much as one of these blocks.
    """
    until, allowed = study.until, study.limits.core_hours
    missing = half_widths.empty or half_widths.isna().any()
    widest = None if missing else float(half_widths.max())
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


def core_hours(records: Iterable[Record]) -> float:
    """Core hours that recorded runs took, from launch to end."""
    ended = (record for record in records if not record.interrupted)
    return sum(record.cores * record.times.wall_seconds for record in ended) / 3600
