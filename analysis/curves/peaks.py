"""Which counts of a curve cannot be distinguished from its peak."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from analysis.curves.best import (
    ALPHA,
    FEWEST,
    behind,
    may_be_best,
    roundings,
    with_offsets,
    within_bands,
)
from analysis.curves.curves import Curve


def fewest_blocks(curve: Curve) -> int:
    """Blocks of the point with the fewest; the serial run, which all curves share, may have one alone."""
    return int(curve.table["n"][curve.own].min())


def may_peak(curve: Curve) -> NDArray[np.bool_]:
    """Find the counts of a curve that may be its peak, array (counts,).

    By multiple comparisons with the best (`analysis.curves.best`); the highest point always belongs. Of a
    simulated curve, the counts that are highest somewhere in the band. None of a curve of too few blocks, or
    without a band.
    """
    offsets = np.log(curve.speedup * curve.table["seconds"])  # weak scaling's work
    if curve.kind == "simulated":
        return within_bands(*(np.log(curve.table[f"seconds_{end}"]) - offsets for end in ("low", "high")))
    if fewest_blocks(curve) < FEWEST:
        return np.zeros(len(curve.processes), bool)
    found = behind(curve.sweeps[1], roundings(curve.samples))
    return may_be_best(with_offsets(found, offsets), curve.peak, ALPHA)
