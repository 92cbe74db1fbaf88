"""What more threads a process bring at equal cores, in words."""

from __future__ import annotations

import pandas as pd

from analysis.presentation import formats
from analysis.presentation.formats import MOST
from analysis.presentation.labels import Labels
from analysis.runs.frames import Line, lowest_level, percent_interval


def ways(line: Line) -> str:
    """Write what is compared: ``4 × 2 against 8 × 1``."""
    return f"{_way(line)} against {_way(line, '_of_baseline')}"


def hybrid_sentence(line: Line, labels: Labels) -> str:
    """Say what a row of the table ``hybrid`` comes to: ``4 × 2 beats 8 × 1 by 12 % [8, 15]``."""
    gain, low, high = percent_interval(line, "gain")
    if line["verdict"] == "faster":
        by = formats.percent_with_interval(gain, low, high)
        said = f"{_way(line)} beats {_way(line, '_of_baseline')} by {by}"
    elif line["verdict"] == "slower":
        by = formats.percent_with_interval(-gain, -high, -low)
        said = f"{_way(line)} loses {by} to {_way(line, '_of_baseline')}"
    else:
        said = (
            f"{ways(line)}: {formats.percent_with_interval(gain, low, high, signed=True)}, {line['verdict']}"
        )
    where = f"{labels.case(line['case'])}, {labels.interconnect(line['interconnect'], line['kind'])}"
    return f"{where}, {formats.whole(line['cores'])} cores: {said}"


def most_threads(gains: pd.DataFrame, labels: Labels) -> list[str]:
    """Say what the most threads on the most cores bring, for the first cases and the lowest level."""
    gains = lowest_level(gains)
    last = gains.sort_values(["cores", "threads"]).groupby("case", sort=False).tail(1)
    return [hybrid_sentence(line, labels) for line in labels.lines(last, "case", "interconnect")[:MOST]]


def _way(line: Line, of: str = "") -> str:
    return f"{formats.whole(line[f'processes{of}'])} × {formats.whole(line[f'threads{of}'])}"
