"""The table ``hybrid``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter

import numpy as np

from analysis.curves.compared import share_blocks
from analysis.curves.comparison import gain_columns
from analysis.curves.curves import Curve
from analysis.runs.columns import (
    COUNT,
    OF_A_CURVE,
    OF_A_GAIN,
    table_schemas,
)
from analysis.runs.frames import Tables, stacked
from analysis.runs.settings import Settings
from analysis.topics.topic import Context

HYBRID = table_schemas(
    hybrid=dict(
        **OF_A_CURVE,
        cores=COUNT,
        nodes=COUNT,
        **dict.fromkeys(("processes_of_baseline", "threads_of_baseline", "processes"), COUNT),
        **OF_A_GAIN,
    ),
)


def make_hybrid(context: Context) -> Tables:
    """Make the table ``hybrid``."""
    rows = [row for curves in context.curves.cases for row in hybrid_rows(curves, context.settings)]
    return {"hybrid": stacked(rows)}


def hybrid_rows(curves: Sequence[Curve], settings: Settings) -> Iterator[dict[str, object]]:
    """Rows of the hybrid table of one case: what more threads a process bring at equal cores.

    On the same cores and nodes of an interconnect and level, the baseline is what has the fewest threads a
    process. Points of equal cores are of the same blocks: the test is paired where they share them.
    """
    points: dict[tuple, list[tuple[Curve, int]]] = {}
    for curve in sorted(curves, key=attrgetter("threads")):
        for j in np.flatnonzero(curve.own):
            on = curve.oversubscription, curve.table["cores"][j], curve.table["nodes"][j]
            points.setdefault((curve.kind, curve.interconnect, *on), []).append((curve, j))
    for _, ((pure, i), *others) in sorted(points.items(), key=lambda item: item[0]):
        for hybrid, j in (other for other in others if other[0].threads > pure.threads):
            paired = hybrid.kind != "simulated" and share_blocks(pure.samples[i], hybrid.samples[j])
            yield {
                **gain_columns(pure, i, hybrid, j, paired, settings),
                "processes_of_baseline": pure.processes[i],
                "threads_of_baseline": pure.threads,
                "seconds_of_baseline": pure.table["seconds"][i],
                "paired": paired,
            }
