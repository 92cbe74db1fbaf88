"""Where a curve peaks, and which counts cannot be distinguished from the peak."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from analysis.estimates.best import (
    ALPHA,
    FEWEST,
    behind_all,
    may_be_best,
    roundings,
    with_offsets,
    within_bands,
)
from analysis.estimates.curves import Alike, Curve, names_of
from analysis.tables.frames import Piece


def peak_columns(group: Alike) -> Piece:
    """Columns of the peaks table for curves of the same counts, one row a curve."""
    curves = group.curves
    own = names_of(curves)
    peaks = [curve.peak for curve in curves]
    members = may_peak(curves)
    counts = group.processes.astype(str)
    at_peak = {
        f"peak_{name}": np.array([getattr(curve, name)[at] for curve, at in zip(curves, peaks, strict=True)])
        for name in ("processes", "speedup", "speedup_low", "speedup_high")
    }
    beyond = np.array(peaks) == len(counts) - 1
    return {
        **own,
        **at_peak,
        "peak_set": np.array([" ".join(counts[row]) or None for row in members], object),
        "reached": np.where(members.any(axis=1), ~members[:, -1], ~beyond),
        "blocks": group.stacked("n").min(axis=0),
        "note": np.array(list(map(_note, curves, members)), object),
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


def may_peak(curves: Sequence[Curve]) -> NDArray[np.bool_]:
    """Which counts of some curves of the same counts may be the peak, array (curves, counts).

    By multiple comparisons with the best (`analysis.estimates.best`); the highest point always belongs. Of a
    simulated curve, the counts that are highest somewhere in the band. None of a curve of too few blocks, or
    without a band.
    """
    members = np.zeros((len(curves), len(curves[0].processes)), bool)
    known = {}
    offsets = np.log([curve.speedup * curve.table["seconds"] for curve in curves])  # weak scaling's work
    for number, curve in enumerate(curves):
        if curve.kind == "simulated":
            ends = (np.log(curve.table[f"seconds_{end}"]) - offsets[number] for end in ("low", "high"))
            members[number] = within_bands(*ends)
        elif _fewest(curve) >= FEWEST:
            known[number] = curve.sweeps[1], roundings(curve.samples)
    best = np.array([curve.peak for curve in curves])
    for numbers, found in behind_all(known):
        members[numbers] = may_be_best(with_offsets(found, offsets[numbers]), best[numbers], ALPHA)
    return members
