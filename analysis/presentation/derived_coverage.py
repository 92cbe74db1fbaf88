"""Simulated coverage of nominal 95 % intervals, in words, and the reason if there are no intervals."""

from __future__ import annotations

import pandas as pd

from analysis.presentation import formats

COVERED = {5: (93.6, 94.6), 6: (93.3, 95.2), 10: (95.3, 97.4), 30: (96.1, 98.4)}
"""Lowest and highest coverage of a derived quantity in percent, by number of blocks.

They span log-normal, heavy-tailed, bimodal and congested noise. Source: the last table of
``tests/benchmarks/coverage_of_derived.py``.
"""

AT_TARGET = (
    "In simulated studies that stop at a width, intervals of improvements covered 93.8 to "
    f"96.9{formats.THIN}%."
)
"""Source: ``tests/benchmarks/analysis_coverage.py --only until``."""

OF_SPEEDUPS = "that of a speedup takes 5 blocks of a point and of its reference"


def has_several(blocks: pd.Series) -> bool:
    """Return whether any point has more than one block."""
    return bool((blocks.astype(float) > 1).any())


def too_few(blocks: pd.Series) -> str:
    """Say why comparisons of points with these numbers of blocks have no interval."""
    return "so few blocks attain none" if has_several(blocks) else "there is one sample each"


def coverage_sentence(blocks: int) -> str:
    """Write the simulated coverage of derived intervals for points with at least 5 blocks.

    The sentence refers to the largest simulated number of blocks that does not exceed `blocks`.
    """
    simulated = max(number for number in COVERED if number <= blocks)
    ends = formats.spanned(*(formats.percent(end, places=1) for end in COVERED[simulated]))
    return f"In simulated studies of {formats.whole(simulated)} blocks they covered {ends}."
