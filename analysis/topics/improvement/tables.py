"""Tables of improvements over a baseline, and of their means over the cases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import sqrt

import numpy as np
import pandas as pd
from scipy import stats

from analysis.curves.best_comparison import with_best_verdicts
from analysis.curves.curve_comparison import compare
from analysis.curves.outcomes import AT_LEAST, AT_MOST, INSEPARABLE
from analysis.runs.columns import (
    COUNT,
    DEPENDENCE,
    FLAG,
    IMPROVEMENT_KEY,
    MARK,
    NOTE,
    NUMBER,
    PAIR_COLUMNS,
    POSITIVE,
    SHARE,
    SIMULTANEOUS_INTERVAL,
    TEST_COLUMNS,
    TEXT,
    THREADS,
    UNIT,
    VERDICT_COLUMNS,
    described,
    in_percent,
    table_schema,
    table_schemas,
    validated,
    with_descriptions,
)
from analysis.runs.frames import Tables, stacked
from analysis.statistics import Floats
from analysis.topics.topic import Context

IMPROVEMENT = table_schemas(
    table_schema(
        "improvement",
        "One row per comparison of an interconnect with a baseline.",
        **with_descriptions(
            IMPROVEMENT_KEY,
            at_processes="Count of the baseline in the comparison, in `unit`: its peak, or the nearest "
            "common count below. If the baseline is fastest on one process, the best count of the other "
            "interconnect.",
        ),
        **with_descriptions(
            in_percent("improvement"),
            improvement_percent="100 × (baseline's time / time − 1) at this count, block by block.",
        ),
        **with_descriptions(
            in_percent("average"),
            average_percent="The same for the geometric means over the common counts from 2 to this count.",
        ),
        paired=FLAG,
        p_value=SHARE,
        distinguishable=MARK,
        processes_per_node=POSITIVE,
        baseline_peak_processes=described(COUNT, "Count of the baseline's peak."),
        **TEST_COLUMNS,
        note=NOTE,
        **VERDICT_COLUMNS,
        at_processes_other=described(
            COUNT,
            "Count of the other interconnect; it differs only if the nearest pair of counts is compared.",
        ),
        **SIMULTANEOUS_INTERVAL,
        **DEPENDENCE,
        candidates=described(
            COUNT, "Number K of possible peaks that this count was chosen from; the interval is at 1 − α/K."
        ),
        **with_descriptions(
            {
                f"{name}_same_computing_{end}": NUMBER
                for name in ("improvement", "average")
                for end in ("low", "high")
            },
            improvement_same_computing_low="Lower end of the band of `improvement_percent` if "
            "computing takes equally long over "
            "both interconnects, from two replays of one trace; else empty.",
            improvement_same_computing_high="Upper end.",
            average_same_computing_low="Lower end of the same band of `average_percent`.",
            average_same_computing_high="Upper end.",
        ),
        **UNIT,
        **THREADS,
        best_processes=described(COUNT, "Best count of the baseline, in `unit`."),
        best_processes_other=described(COUNT, "Best count of the other interconnect."),
        **with_descriptions(
            in_percent("best"),
            best_percent="100 × (baseline's time / time − 1), each at its own best count.",
            best_low="Lower end of its interval, which allows for the choice of both counts.",
            best_high="Upper end.",
        ),
        best_p_value=described(SHARE, "p-value of its test, which allows for the choice of both counts."),
        best_p_adjusted=described(SHARE, "The same after Holm's correction."),
        best_verdict=described(NOTE, "Verdict on this comparison, as in `verdict`."),
    ),
)


IMPROVEMENT_MEAN = table_schemas(
    table_schema(
        "improvement_mean",
        "One row per mean over the cases that compare two interconnects. Its interval refers to "
        "further cases of the same sort; it is empty below three cases.",
        **PAIR_COLUMNS,
        oversubscription=COUNT,
        processes_per_node=POSITIVE,
        mean=described(
            TEXT,
            "`geometric`: of the ratios. `plain`: of the percentages, as in published tables. "
            "`weighted`: geometric, with the weights of `economics: mix`.",
        ),
        cases=described(COUNT, "Number of cases."),
        **with_descriptions(
            in_percent("improvement"),
            improvement_percent="Mean of `improvement_percent` of table improvement.",
        ),
        **with_descriptions(in_percent("average"), average_percent="Mean of its `average_percent`."),
        **THREADS,
    )
)

FEWEST_CASES = 3
"""Cases that an interval needs: with two cases, the quantile of t is 12.7."""
GEOMETRIC, PLAIN, WEIGHTED = "geometric", "plain", "weighted"
_PAIR = ["site", *PAIR_COLUMNS, "oversubscription", "processes_per_node", "threads"]


def make_improvement(context: Context) -> Tables:
    """Make the table ``improvement``: a row for each pair of curves."""
    rows = [row for pairs in context.curves.pairs for row in compare(pairs, context.settings)]
    return {"improvement": with_best_verdicts(stacked(rows), context.settings)}


def make_improvement_mean(
    improvement: pd.DataFrame, weights: Mapping[str, float], level: float
) -> dict[str, pd.DataFrame]:
    """Make the table ``improvement_mean``: rows for each pair that at least two cases compare.

    Parameters
    ----------
    improvement : DataFrame
        Table ``improvement``. Cases are left out if they have no figure or only a bound, or if a change over
        time may explain the difference.
    weights : mapping of str to float
        Weights of cases in the weighted mean, which needs a comparison of each of these cases.
    level : float
        Nominal coverage of the intervals: see `mean_over_cases`.
    """
    is_unclear = improvement["note"].str.contains(f"{AT_LEAST}|{AT_MOST}|{INSEPARABLE}", na=False)
    usable = improvement[improvement["improvement_percent"].notna() & ~is_unclear]
    rows = [
        row
        for _, pair in usable.groupby(_PAIR, dropna=False, sort=False)
        for row in _mean_rows(pair, weights, level)
    ]
    if not rows:
        return {}
    return {"improvement_mean": validated(IMPROVEMENT_MEAN["improvement_mean"], pd.DataFrame(rows))}


def _mean_rows(pair: pd.DataFrame, weights: Mapping[str, float], level: float) -> Iterator[dict[str, object]]:
    """Make the rows of a pair of interconnects, one for each kind of mean."""
    equal_weights = dict.fromkeys(pair["case"], 1.0)
    if len(equal_weights) < 2:
        return
    yield _mean_row(pair, GEOMETRIC, equal_weights, level)
    yield _mean_row(pair, PLAIN, equal_weights, level)
    if len(weights) > 1 and set(weights) <= set(equal_weights):
        yield _mean_row(pair, WEIGHTED, weights, level)


def _mean_row(pair: pd.DataFrame, mean: str, weights: Mapping[str, float], level: float) -> dict[str, object]:
    cases = pair.set_index("case").loc[list(weights)]
    row = {name: pair[name].iloc[0] for name in _PAIR} | {"mean": mean, "cases": len(weights)}
    for quantity in ("improvement", "average"):
        percent = cases[f"{quantity}_percent"].to_numpy(float)
        values = percent if mean == PLAIN else np.log1p(percent / 100)
        interval = np.array(mean_over_cases(values, np.array(list(weights.values())), level))
        ends = interval if mean == PLAIN else 100 * np.expm1(interval)
        row |= dict(zip((f"{quantity}_{end}" for end in ("percent", "low", "high")), ends, strict=True))
    return row


def mean_over_cases(values: Floats, weights: Floats, level: float) -> tuple[float, float, float]:
    """Compute the weighted mean over cases with its t interval, for a population of similar cases.

    The mean is m = sum(w x) with weights w that add up to 1. Its variance is s^2 sum(w^2), where
    s^2 = sum(w (x - m)^2) / (1 - sum(w^2)). The degrees of freedom are 1 / sum(w^2) - 1, rounded down (Kish,
    Survey Sampling, 1965, section 8.2). Equal weights make it Student's interval. The spread between the
    cases includes the uncertainty of each case.

    Parameters
    ----------
    values, weights : arrays (cases,)

    Returns
    -------
    mean, low, high : float
        The ends are NaN below `FEWEST_CASES` cases.
    """
    shares = weights / weights.sum()
    mean, squares = float(shares @ values), float(shares @ shares)
    if len(values) < FEWEST_CASES:
        return mean, np.nan, np.nan
    spread = sqrt(float(shares @ (values - mean) ** 2) / (1 - squares) * squares)
    freedom = max(int(1 / squares - 1 + 1e-9), 1)
    half_width = float(stats.t.isf((1 - level) / 2, freedom)) * spread
    return mean, mean - half_width, mean + half_width
