"""What nominally 95 % intervals covered in simulated studies of so many blocks, or why there are none."""

from __future__ import annotations

import pandas as pd

from analysis.presentation import formats

COVERED = {5: (93.6, 94.6), 6: (93.3, 95.2), 10: (95.3, 97.4), 30: (96.1, 98.4)}
"""Least and most coverage of a derived quantity, in percent, over log-normal, heavy, bimodal and congested
noise, by number of blocks: the last table of ``tests/benchmarks/coverage_of_derived.py``."""

AT_TARGET = (
    "In simulated studies that stop at a width, intervals of improvements covered 93.8 to "
    f"96.9{formats.THIN}%."
)
"""Of nominally 95 % intervals: ``tests/benchmarks/analysis_coverage.py --only until``."""

OF_SPEEDUPS = "that of a speedup takes 5 blocks of a point and of its reference"


def has_several(blocks: pd.Series) -> bool:
    """Whether some point has more than one block."""
    return bool((blocks.astype(float) > 1).any())


def too_few(blocks: pd.Series) -> str:
    """Say why no comparison of points with so many blocks has an interval."""
    return "so few blocks attain none" if has_several(blocks) else "there is one sample each"


def coverage_sentence(blocks: int) -> str:
    """Say what derived intervals of points with so many blocks, 5 or more, covered in simulated studies.

    It is that of the next smaller number of blocks that was simulated.
    """
    simulated = max(number for number in COVERED if number <= blocks)
    ends = formats.spanned(*(formats.percent(end, places=1) for end in COVERED[simulated]))
    return f"In simulated studies of {formats.whole(simulated)} blocks they covered {ends}."
