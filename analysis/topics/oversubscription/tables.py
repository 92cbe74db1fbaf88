"""The table ``oversubscription``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from analysis.curves.comparison import gain_columns
from analysis.curves.curves import Curve
from analysis.runs.columns import (
    AT_ONCE,
    COUNT,
    JUDGED,
    MARK,
    OF_A_CURVE,
    OF_A_TEST,
    POSITIVE,
    SHARE,
    in_percent,
    table_schemas,
)
from analysis.runs.frames import Tables, stacked
from analysis.runs.settings import Settings
from analysis.topics.topic import Context

OVERSUBSCRIPTION = table_schemas(
    oversubscription=dict(
        **OF_A_CURVE,
        **dict.fromkeys(("cores", "nodes", "processes", "processes_of_one"), COUNT),
        seconds=POSITIVE,
        seconds_of_one=POSITIVE,
        **in_percent("gain"),
        p_value=SHARE,
        distinguishable=MARK,
        processes_per_node=POSITIVE,
        **OF_A_TEST,
        **JUDGED,
        **AT_ONCE,
    ),
)


def make_oversubscription(context: Context) -> Tables:
    """Make the table ``oversubscription``."""
    rows = [row for curves in context.curves.cases for row in oversubscription_rows(curves, context.settings)]
    return {"oversubscription": stacked(rows)}


def oversubscription_rows(curves: Sequence[Curve], settings: Settings) -> Iterator[dict[str, object]]:
    """Rows of the oversubscription table of one case: what level L brings over level 1 at equal cores.

    Levels differ in their process counts, so no block holds both: the test is unpaired.
    """
    crowded = [curve for curve in curves if curve.oversubscription > 1]
    for curve, plain in product(crowded, curves):
        for j in np.flatnonzero(curve.own) if _one_process_a_core(plain, curve) else ():
            equal = np.flatnonzero(plain.table["cores"] == curve.table["cores"][j])
            if len(equal):
                yield {
                    **gain_columns(plain, equal[-1], curve, j, False, settings),
                    "processes_of_one": plain.processes[equal[-1]],
                    "seconds_of_one": plain.table["seconds"][equal[-1]],
                }


def _one_process_a_core(plain: Curve, curve: Curve) -> bool:
    ours = (curve.kind, curve.interconnect, curve.threads, 1)
    same = (plain.kind, plain.interconnect, plain.threads, plain.oversubscription) == ours
    if not same or plain.processes_per_node is None or curve.processes_per_node is None:
        return same
    return plain.processes_per_node * curve.oversubscription == curve.processes_per_node
