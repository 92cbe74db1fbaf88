"""Runs that were stopped at their time limit: they took longer than that, and what follows says no more."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.curves.points import block_times, point_table
from analysis.runs.columns import (
    COUNT,
    OF_A_POINT,
    POSITIVE,
    SHARE,
    table_schemas,
    validated,
    with_interval,
)
from analysis.runs.settings import Settings
from analysis.topics.topic import Topic

CENSORED = table_schemas(
    censored=dict(
        **OF_A_POINT,
        cores=COUNT,
        n=COUNT,
        censored=COUNT,
        **with_interval("seconds", POSITIVE),
        coverage=SHARE,
    )
)
"""Schema of the table of this module by its name."""


def make_censored(runs: pd.DataFrame, settings: Settings) -> dict[str, pd.DataFrame]:
    """Make the table ``censored``: a row a point of which some block was stopped; none without such a block.

    A median or an end of its interval that lies beyond the limit is empty.
    """
    if "censored" not in runs or not runs["censored"].any():
        return {}
    points = pd.DataFrame(point_table(*block_times(runs), settings.level))
    points = points[points["censored"] > 0].reset_index(drop=True)
    points = points.assign(
        **{name: points[name].replace("", None) for name in ("interconnect", "site")},
        nodes=points["nodes"].replace(0, np.nan),
    )
    return {} if points.empty else {"censored": validated(CENSORED["censored"], points)}


TOPIC = Topic(
    name="censored",
    schemas=CENSORED,
    make=lambda context: make_censored(context.runs, context.settings),
    by_site=True,
)
