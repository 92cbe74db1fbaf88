"""How narrow the intervals are, and how many blocks a narrower one would take."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.schemas import COUNT, FLAG, NUMBER, POSITIVE, TABLES, table_schema, validated

_KEY = ["case", "baseline_interconnect", "interconnect", "kind", "oversubscription", "at_processes"]
PRECISION = table_schema(
    "precision",
    **{name: TABLES["improvement"].columns[name] for name in _KEY},
    blocks=COUNT,
    half_width_percent=NUMBER,
    target_percent=POSITIVE,
    reached=FLAG,
    blocks_wanted=COUNT,
)
"""Schema of the table ``precision``."""


def make_precision(improvement: pd.DataFrame, target_percent: float) -> pd.DataFrame:
    """Tell for each comparison whether its interval is narrow enough, and how many blocks it takes.

    An interval of a median narrows with the square root of the blocks (in the long run; with few
    blocks this is a rough guide): n (half-width / target)^2 of them, and never fewer than the test
    needs. An interval told after going on until it was narrow covers less than one of a fixed number
    of blocks; a study that does so has to say it.

    Parameters
    ----------
    improvement : DataFrame
        As `analysis.tables.make_tables` gives it.
    target_percent : float
        Wanted half-width of the improvement's interval, in percentage points.

    Returns
    -------
    DataFrame
        One row a comparison. `reached` is false and `blocks_wanted` empty where there is no interval.
    """
    half_width = (improvement["improvement_high"] - improvement["improvement_low"]) / 2
    blocks = improvement["blocks"].astype(float)
    wanted = np.ceil(blocks * (half_width / target_percent) ** 2 - 1e-9)
    wanted = np.fmax(wanted, improvement["blocks_needed"].astype(float)).where(half_width.notna())
    table = improvement.assign(
        half_width_percent=half_width,
        target_percent=float(target_percent),
        reached=half_width <= target_percent,
        blocks_wanted=wanted,
    )
    return validated(PRECISION, table)
