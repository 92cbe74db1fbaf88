"""How narrow are the intervals, and how many blocks would make them narrow enough?"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from analysis.curves.outcomes import INSEPARABLE
from analysis.presentation.contests import allows_for_correlation
from analysis.runs.columns import (
    COUNT,
    FLAG,
    IMPROVEMENT_KEY,
    NUMBER,
    POSITIVE,
    THREADS,
    described,
    table_schema,
    validated,
    with_descriptions,
)
from analysis.runs.frames import as_lines
from analysis.topics.topic import Topic

PRECISION = table_schema(
    "precision",
    "One row per improvement, with the width of its interval.",
    **with_descriptions(IMPROVEMENT_KEY, at_processes="Process count of the comparison."),
    **THREADS,
    blocks=COUNT,
    half_width_percent=described(NUMBER, "Half-width of the interval, percentage points."),
    target_percent=described(POSITIVE, "Largest half-width that the study accepts."),
    reached=described(FLAG, "Whether the half-width is at most `target_percent`."),
    blocks_wanted=described(
        COUNT, "Estimated number of blocks for that half-width; empty without an interval."
    ),
)
"""Schema of the table ``precision``."""


def make_precision(improvement: pd.DataFrame, target_percent: float) -> pd.DataFrame:
    """Make the table ``precision``: half-widths of intervals, and blocks needed for the target half-width.

    The width of a median's interval is asymptotically proportional to 1 / sqrt(n). About
    n (half-width / target)^2 blocks therefore reach the target. The estimate is at least the number of
    blocks that the test needs, and is rough if there are few blocks. If a study stops once its intervals are
    narrow, they cover less than with a fixed number of blocks; the report of such a study states this.

    Parameters
    ----------
    improvement : DataFrame
        Table ``improvement``.
    target_percent : float
        Half-width to reach, in percentage points.

    Returns
    -------
    DataFrame
        One row per comparison that more blocks can make more precise. There are no rows of simulated
        comparisons, since bands do not narrow, and of comparisons that time and interconnect explain equally
        well. If a comparison has no interval, ``reached`` is false and ``blocks_wanted`` is empty. It is also
        empty for unpaired comparisons whose intervals allow for correlated runs.
    """
    is_simulated = improvement["kind"].str.contains("simulated")
    is_inseparable = improvement["verdict"].eq(INSEPARABLE).fillna(False)
    improvement = improvement[~is_simulated & ~is_inseparable]
    half_width = (improvement["improvement_high"] - improvement["improvement_low"]) / 2
    blocks = improvement["blocks"].astype(float)
    estimate = np.ceil(blocks * (half_width / target_percent) ** 2 - 1e-9).clip(lower=1)
    estimate = np.fmax(estimate, improvement["blocks_needed"].astype(float)).where(half_width.notna())
    # Intervals that allow for a correlation narrow faster than 1 / sqrt(n).
    narrow_faster = [allows_for_correlation(line) for line in as_lines(improvement)]
    estimate = estimate.mask(np.array(narrow_faster, bool))
    table = improvement.assign(
        half_width_percent=half_width,
        target_percent=float(target_percent),
        reached=half_width <= target_percent,
        blocks_wanted=estimate,
    )
    return validated(PRECISION, table)


NEEDS = ("scaling", "improvement", "placement", "hybrid")
"""Tables that `half_widths` reads."""


def half_widths(tables: Mapping[str, pd.DataFrame]) -> pd.Series:
    """Return the half-widths of the intervals that decide whether a study has enough blocks.

    These are the intervals of all improvements, and of all gains of placements and threads. A case without
    comparisons contributes the intervals of its times.

    Parameters
    ----------
    tables : mapping of str to DataFrame
        The tables in `NEEDS`; ``hybrid`` is optional.

    Returns
    -------
    Series
        Half-widths in percentage points, or in percent of the time for times; NaN if there is no interval.
    """
    improvement, placement, scaling = (tables[name] for name in ("improvement", "placement", "scaling"))
    tested = improvement[improvement["improvement_percent"].notna()]
    gains = pd.concat([placement, *([tables["hybrid"]] if "hybrid" in tables else [])])
    compared_cases = {*tested["case"], *gains["case"]}
    other_points = scaling[~scaling["serial"] & ~scaling["case"].isin(compared_cases)]
    return pd.concat(
        [
            (tested["improvement_high"] - tested["improvement_low"]) / 2,
            (gains["gain_high"] - gains["gain_low"]) / 2,
            50 * (other_points["seconds_high"] - other_points["seconds_low"]) / other_points["seconds"],
        ],
        ignore_index=True,
    )


TOPIC = Topic(
    name="precision",
    schemas={"precision": PRECISION},
    make=lambda context: {
        "precision": make_precision(context.tables["improvement"], context.settings.target_percent)
    },
    needs=("improvement",),
)
