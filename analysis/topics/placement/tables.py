"""The table ``placement``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from analysis.curves.compared import share_blocks
from analysis.curves.comparison import gain_columns
from analysis.curves.curves import Curve
from analysis.runs.columns import (
    COUNT,
    OF_A_CURVE,
    OF_A_GAIN,
    POSITIVE,
    table_schemas,
)
from analysis.runs.frames import Tables, stacked
from analysis.runs.settings import Settings
from analysis.topics.topic import Context

PLACEMENT = table_schemas(
    placement=dict(
        **OF_A_CURVE,
        processes=COUNT,
        cores=COUNT,
        processes_per_node_of_baseline=POSITIVE,
        processes_per_node=POSITIVE,
        nodes_of_baseline=COUNT,
        nodes=COUNT,
        **OF_A_GAIN,
    ),
)


def make_placement(context: Context) -> Tables:
    """Make the table ``placement``."""
    rows = [row for curves in context.curves.cases for row in placement_rows(curves, context.settings)]
    return {"placement": stacked(rows)}


def placement_rows(curves: Sequence[Curve], settings: Settings) -> Iterator[dict[str, object]]:
    """Rows of the placement table of one case: what fewer processes a node bring over the most packed.

    At each count of an interconnect and level, the baseline is the placement with the most processes a
    node. Placements of one count are of the same blocks: the test is paired where they share them.
    """
    placed = [(curve, j) for curve in curves if curve.processes_per_node for j in np.flatnonzero(curve.own)]
    points: dict[tuple, list[tuple[Curve, int]]] = {}
    for curve, j in sorted(placed, key=lambda point: -point[0].processes_per_node):
        key = (curve.kind, curve.interconnect, curve.oversubscription, curve.threads, curve.processes[j])
        points.setdefault(key, []).append((curve, j))
    for _, ((packed, i), *others) in sorted(points.items(), key=lambda item: item[0]):
        for spread, j in others:
            paired = spread.kind != "simulated" and share_blocks(packed.samples[i], spread.samples[j])
            yield {
                **gain_columns(packed, i, spread, j, paired, settings),
                "processes_per_node_of_baseline": packed.processes_per_node,
                "nodes_of_baseline": packed.table["nodes"][i],
                "seconds_of_baseline": packed.table["seconds"][i],
                "paired": paired,
            }
