"""Where a curve peaks, and which counts cannot be distinguished from the peak."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from analysis.estimates.best import (
    ALPHA,
    FEWEST,
    behind,
    may_be_best,
    roundings,
    with_offsets,
    within_bands,
)
from analysis.estimates.curves import Curve
from analysis.tables.frames import Piece


def peak_columns(curve: Curve) -> Piece:
    """Make the row of a curve in the table of peaks."""
    members, counts, peak = may_peak(curve), curve.processes.astype(str), curve.peak
    return {
        **curve.names,
        "peak_processes": curve.processes[peak],
        **{f"peak_{name}": getattr(curve, name)[peak] for name in ("speedup", "speedup_low", "speedup_high")},
        "peak_set": " ".join(counts[members]) or None,
        "reached": not members[-1] if members.any() else peak < len(counts) - 1,
        "blocks": curve.table["n"].min(),
        "note": _note(curve, members),
    }


def _note(curve: Curve, members: NDArray[np.bool_]) -> str | None:
    if curve.kind == "simulated":
        return "simulated" if members.any() else "simulated, without a band"
    if members.any():
        return None
    return "one sample" if _fewest(curve) < 2 else f"fewer than {FEWEST} blocks"


def _fewest(curve: Curve) -> int:
    """Blocks of the point with the fewest; the serial run, which all curves share, may have one alone."""
    return int(curve.table["n"][curve.own].min())


def may_peak(curve: Curve) -> NDArray[np.bool_]:
    """Find the counts of a curve that may be its peak, array (counts,).

    By multiple comparisons with the best (`analysis.estimates.best`); the highest point always belongs. Of a
    simulated curve, the counts that are highest somewhere in the band. None of a curve of too few blocks, or
    without a band.
    """
    offsets = np.log(curve.speedup * curve.table["seconds"])  # weak scaling's work
    if curve.kind == "simulated":
        return within_bands(*(np.log(curve.table[f"seconds_{end}"]) - offsets for end in ("low", "high")))
    if _fewest(curve) < FEWEST:
        return np.zeros(len(curve.processes), bool)
    found = behind(curve.sweeps[1], roundings(curve.samples))
    return may_be_best(with_offsets(found, offsets), curve.peak, ALPHA)
