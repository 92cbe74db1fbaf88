"""What intervals that are nominally 95 % covered in simulated studies of so many blocks."""

from __future__ import annotations

from analysis.text import formats

COVERED = {5: (93.6, 94.7), 6: (93.4, 95.3), 10: (95.5, 97.3), 30: (96.2, 98.2)}
"""Least and most coverage of a derived quantity, in percent, over log-normal, heavy, bimodal and congested
noise, by number of blocks: the last table of ``tests/benchmarks/coverage_of_derived.py``."""


def coverage_sentence(blocks: int) -> str:
    """Say what derived intervals of points with so many blocks, 5 or more, covered in simulated studies.

    It is that of the next smaller number of blocks that was simulated.
    """
    simulated = max(number for number in COVERED if number <= blocks)
    ends = formats.spanned(*(formats.percent(end, places=1) for end in COVERED[simulated]))
    return f"In simulated studies of {formats.whole(simulated)} blocks they covered {ends}."
