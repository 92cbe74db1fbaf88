"""Where a curve peaks, and which counts cannot be distinguished from the peak."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis.estimates.bootstrap import tail
from analysis.estimates.curves import Alike, names_of
from analysis.runs.groups import Floats
from analysis.tables.frames import Piece


class Peak(NamedTuple):
    """The highest point of a curve, or of each of several, whose axes follow the axis of the counts.

    Attributes
    ----------
    index : array (...)
        Position of the count of the highest speedup; of equals, the smallest.
    members : array (counts, ...) of bool
        Counts that may be the peak; none where there are no draws.
    reached : array (...) of bool
        Whether the curve goes down after the peak: false where the last count may be the peak.
    """

    index: NDArray[np.int64]
    members: NDArray[np.bool_]
    reached: NDArray[np.bool_]


def peak_columns(group: Alike, confidence: float) -> Piece:
    """Columns of the peaks table for curves of the same counts, one row a curve."""
    curves = group.curves
    peak = find_peak(group.stacked("speedup"), group.stacked("speedup_draws"), confidence)
    own = names_of(curves)
    counts = group.processes.astype(str)
    notes = list(map(_peak_note, own["kind"], peak.members.any(axis=0)))
    at_peak = {
        f"peak_{name}": np.array(
            [getattr(curve, name)[at] for curve, at in zip(curves, peak.index, strict=True)]
        )
        for name in ("processes", "speedup", "speedup_low", "speedup_high")
    }
    return {
        **own,
        **at_peak,
        "peak_set": np.array([" ".join(counts[members]) or None for members in peak.members.T], object),
        "reached": peak.reached,
        "blocks": group.stacked("n").min(axis=0),
        "note": np.array(notes, object),
    }


def _peak_note(kind: str, drawn: bool) -> str | None:
    if kind == "simulated":
        return "simulated" if drawn else "simulated, without a band"
    return None if drawn else "one sample"


def find_peak(speedup: Floats, draws: Floats, confidence: float = 0.95) -> Peak:
    """Find the peak of each curve.

    A count p belongs to the set unless the joint interval of log S(p) - max over the others of log S
    lies below 0. The set may have gaps.

    Parameters
    ----------
    speedup : array (counts, ...)
        In increasing order of the counts.
    draws : array (counts, ..., scenarios, B)
        Bootstrap draws of the speedup, NaN throughout a count that has one block only. Then there is
        no set, and `reached` goes by the point estimate.
    """
    index = np.argmax(speedup, axis=0)
    members = may_lead(draws, confidence)  # NaN leads nowhere
    return Peak(index, members, np.where(members.any(axis=0), ~members[-1], index < len(speedup) - 1))


def may_lead(values: Floats, confidence: float) -> NDArray[np.bool_]:
    """Which options may be the highest: those that are in enough of the draws.

    An option may be the highest unless the joint percentile interval of log value - max over the others
    of log value lies below 0. Its upper end, the k-th largest of B draws, does if and only if the option
    is the highest in fewer than k draws (of one scenario, for a simulated band).

    Parameters
    ----------
    values : array (options, ..., scenarios, B)
        Draws, without NaN, or there is none; axes between are choices of their own.

    Returns
    -------
    array (options, ...)
    """
    leads = (values == values.max(axis=0)).sum(axis=-1, dtype=np.int32)  # thrice as fast as of int64
    return (leads >= tail(values.shape[-1], confidence)).any(axis=-1)
