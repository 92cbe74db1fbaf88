"""The table ``improvement``: how much longer a baseline takes than another interconnect."""

from __future__ import annotations

from analysis.curves.curve_comparison import compare
from analysis.runs.columns import (
    AT_ONCE,
    COUNT,
    DEPENDENCE,
    FLAG,
    JUDGED,
    MARK,
    NOTE,
    NUMBER,
    OF_A_TEST,
    OF_AN_IMPROVEMENT,
    POSITIVE,
    SHARE,
    THREADS,
    in_percent,
    table_schemas,
)
from analysis.runs.frames import Tables, stacked
from analysis.topics.topic import Context

IMPROVEMENT = table_schemas(
    improvement=dict(
        **OF_AN_IMPROVEMENT,
        **in_percent("improvement"),
        **in_percent("average"),
        paired=FLAG,
        p_value=SHARE,
        distinguishable=MARK,
        processes_per_node=POSITIVE,
        baseline_peak_processes=COUNT,
        **OF_A_TEST,
        note=NOTE,
        **JUDGED,
        at_processes_other=COUNT,
        **AT_ONCE,
        **DEPENDENCE,
        candidates=COUNT,
        **{
            f"{name}_same_computing_{end}": NUMBER
            for name in ("improvement", "average")
            for end in ("low", "high")
        },
        **THREADS,
    ),
)


def make_improvement(context: Context) -> Tables:
    """Make the table ``improvement``: a row for each pair of curves."""
    rows = [row for pairs in context.curves.pairs for row in compare(pairs, context.settings)]
    return {"improvement": stacked(rows)}
