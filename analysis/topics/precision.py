"""How narrow the intervals are, and how many blocks a narrower one would take."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from analysis.curves.outcomes import INSEPARABLE
from analysis.runs.columns import (
    COUNT,
    FLAG,
    NUMBER,
    OF_AN_IMPROVEMENT,
    POSITIVE,
    THREADS,
    table_schema,
    validated,
)
from analysis.topics.topic import Topic

PRECISION = table_schema(
    "precision",
    **OF_AN_IMPROVEMENT,
    **THREADS,
    blocks=COUNT,
    half_width_percent=NUMBER,
    target_percent=POSITIVE,
    reached=FLAG,
    blocks_wanted=COUNT,
)
"""Schema of the table ``precision``."""


def make_precision(improvement: pd.DataFrame, target_percent: float) -> pd.DataFrame:
    """Say for each comparison whether its interval is narrow enough, and how many blocks it takes.

    An interval of a median narrows with the square root of the blocks (in the long run; with few
    blocks this is a rough guide): n (half-width / target)^2 of them, and never fewer than the test
    needs. The interval of a study that goes on until it is narrow covers less than that of a fixed
    number of blocks; such a study has to say so.

    Parameters
    ----------
    improvement : DataFrame
        As `analysis.pipeline.make_all_tables` gives it.
    target_percent : float
        Wanted half-width of the improvement's interval, in percentage points.

    Returns
    -------
    DataFrame
        One row a comparison, none of simulated times, which have bands, nor of interconnects that time may
        set apart. `reached` is false and `blocks_wanted` empty where there is no interval.
    """
    improvement = improvement[~improvement["kind"].str.contains("simulated")]  # a band does not narrow
    improvement = improvement[
        ~improvement["verdict"].eq(INSEPARABLE).fillna(False)
    ]  # more blocks do not help
    half_width = (improvement["improvement_high"] - improvement["improvement_low"]) / 2
    blocks = improvement["blocks"].astype(float)
    wanted = np.ceil(blocks * (half_width / target_percent) ** 2 - 1e-9).clip(lower=1)
    wanted = np.fmax(wanted, improvement["blocks_needed"].astype(float)).where(half_width.notna())
    table = improvement.assign(
        half_width_percent=half_width,
        target_percent=float(target_percent),
        reached=half_width <= target_percent,
        blocks_wanted=wanted,
    )
    return validated(PRECISION, table)


NEEDS = ("scaling", "improvement", "placement", "hybrid")
"""Tables that `half_widths` needs."""


def half_widths(tables: Mapping[str, pd.DataFrame]) -> pd.Series:
    """Half-widths of the intervals that a study is made for.

    They are the half-widths of all improvements and of all gains of placements and of threads, at the counts
    where these are estimated. A case in which nothing is compared has the half-widths of its times instead.

    Parameters
    ----------
    tables : mapping of str to DataFrame
        As `analysis.pipeline.make_all_tables` gives them.

    Returns
    -------
    Series
        In percentage points, of a time in percent of it; NaN where there is no interval.
    """
    improvement, placement, scaling = (tables[name] for name in ("improvement", "placement", "scaling"))
    tested = improvement[improvement["improvement_percent"].notna()]
    gains = pd.concat([placement, *([tables["hybrid"]] if "hybrid" in tables else [])])
    compared = {*tested["case"], *gains["case"]}
    alone = scaling[~scaling["serial"] & ~scaling["case"].isin(compared)]
    return pd.concat(
        [
            (tested["improvement_high"] - tested["improvement_low"]) / 2,
            (gains["gain_high"] - gains["gain_low"]) / 2,
            50 * (alone["seconds_high"] - alone["seconds_low"]) / alone["seconds"],
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
