"""What an interconnect brings on average over the cases, as if they were drawn from cases like these."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import sqrt

import numpy as np
import pandas as pd
from scipy import stats

from analysis.curves.outcomes import AT_LEAST, AT_MOST, INSEPARABLE
from analysis.runs.columns import (
    COUNT,
    OF_A_PAIR,
    POSITIVE,
    TEXT,
    THREADS,
    in_percent,
    table_schemas,
    validated,
)
from analysis.statistics import Floats

FEWEST = 3
"""Cases below which their spread says next to nothing: of two, t is 12.7."""
GEOMETRIC, PLAIN, WEIGHTED = "geometric", "plain", "weighted"
QUANTITIES = ("improvement", "average")
_PAIR = ["site", *OF_A_PAIR, "oversubscription", "processes_per_node", "threads"]

IMPROVEMENT_MEAN = table_schemas(
    improvement_mean=dict(
        **OF_A_PAIR,
        oversubscription=COUNT,
        processes_per_node=POSITIVE,
        mean=TEXT,
        cases=COUNT,
        **in_percent("improvement"),
        **in_percent("average"),
        **THREADS,
    )
)
"""Schema of the table of this module by its name."""


def make_improvement_mean(
    improvement: pd.DataFrame, weights: Mapping[str, float], level: float
) -> dict[str, pd.DataFrame]:
    """Make the table ``improvement_mean``: rows for each pair that two cases or more compare.

    Parameters
    ----------
    improvement : DataFrame
        Table ``improvement``. Cases without a figure, with a bound alone, or in which time may be what sets
        the interconnects apart, are left out.
    weights : mapping of str to float
        How much cases count in the weighted mean, which there is where all of them are compared.
    level : float
        Nominal coverage of the intervals: see `mean_over_cases`.
    """
    left_out = improvement["note"].str.contains(f"{AT_LEAST}|{AT_MOST}|{INSEPARABLE}", na=False)
    known = improvement[improvement["improvement_percent"].notna() & ~left_out]
    rows = [
        row
        for _, pair in known.groupby(_PAIR, dropna=False, sort=False)
        for row in _rows(pair, weights, level)
    ]
    if not rows:
        return {}
    return {"improvement_mean": validated(IMPROVEMENT_MEAN["improvement_mean"], pd.DataFrame(rows))}


def _rows(pair: pd.DataFrame, weights: Mapping[str, float], level: float) -> Iterator[dict[str, object]]:
    alike = dict.fromkeys(pair["case"], 1.0)
    if len(alike) < 2:
        return
    yield _row(pair, GEOMETRIC, alike, level)
    yield _row(pair, PLAIN, alike, level)
    if len(weights) > 1 and set(weights) <= set(alike):
        yield _row(pair, WEIGHTED, weights, level)


def _row(pair: pd.DataFrame, mean: str, weights: Mapping[str, float], level: float) -> dict[str, object]:
    of_cases = pair.set_index("case").loc[list(weights)]
    row = {name: pair[name].iloc[0] for name in _PAIR} | {"mean": mean, "cases": len(weights)}
    for quantity in QUANTITIES:
        percent = of_cases[f"{quantity}_percent"].to_numpy(float)
        values = percent if mean == PLAIN else np.log1p(percent / 100)
        found = np.array(mean_over_cases(values, np.array(list(weights.values())), level))
        ends = found if mean == PLAIN else 100 * np.expm1(found)
        row |= dict(zip((f"{quantity}_{end}" for end in ("percent", "low", "high")), ends, strict=True))
    return row


def mean_over_cases(values: Floats, weights: Floats, level: float) -> tuple[float, float, float]:
    """Weighted mean of the cases' values with its t interval, which means cases like these.

    m = sum of w x, w adding up to 1; its variance is s^2 sum of w^2, s^2 = sum of w (x - m)^2 / (1 - sum of
    w^2), with as many degrees of freedom as 1 / sum of w^2 (Kish, Survey Sampling, 1965, section 8.2) less 1,
    in whole ones. With equal weights that is Student's interval. What the cases' own intervals say is in
    their spread. Ends are NaN below `FEWEST` cases.

    Parameters
    ----------
    values, weights : arrays (cases,)
    """
    shares = weights / weights.sum()
    mean, squares = float(shares @ values), float(shares @ shares)
    if len(values) < FEWEST:
        return mean, np.nan, np.nan
    spread = sqrt(float(shares @ (values - mean) ** 2) / (1 - squares) * squares)
    freedom = max(int(1 / squares - 1 + 1e-9), 1)
    half_width = stats.t.isf((1 - level) / 2, freedom) * spread
    return mean, mean - half_width, mean + half_width
