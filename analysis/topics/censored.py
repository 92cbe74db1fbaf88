"""Which times are known of points with runs that were stopped at their time limit?

A stopped run would have taken longer than its limit.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.curves.points import block_times, point_table
from analysis.presentation import formats
from analysis.presentation.formats import MOST, counted, listed
from analysis.runs.columns import (
    COUNT,
    POINT_COLUMNS,
    POSITIVE,
    SHARE,
    described,
    table_schema,
    table_schemas,
    validated,
    with_descriptions,
    with_interval,
)
from analysis.runs.settings import Settings
from analysis.topics.quality.sentences import point_in_words
from analysis.topics.topic import Headline, Page, Topic

CENSORED = table_schemas(
    table_schema(
        "censored",
        "One row per point with a run that was stopped at its time limit. The median, or an end "
        "of its interval, is empty if it lies beyond the limit. A point without a median is in no"
        " other table.",
        **POINT_COLUMNS,
        cores=COUNT,
        n=described(COUNT, "Blocks."),
        censored=described(COUNT, "Blocks that were stopped; their times are longer than the limit."),
        **with_descriptions(
            with_interval("seconds", POSITIVE), seconds="Time *T(p)*, the median over the blocks."
        ),
        coverage=described(SHARE, "Probability that the interval of `seconds` covers the median."),
    )
)


def make_censored(runs: pd.DataFrame, settings: Settings) -> dict[str, pd.DataFrame]:
    """Make the table ``censored``: a row for each point with a stopped block.

    A median, or an end of its interval, is empty if it is above the time limit.

    Returns
    -------
    dict of DataFrame
        Empty if no block was stopped.
    """
    if "censored" not in runs or not runs["censored"].any():
        return {}
    points = pd.DataFrame(point_table(*block_times(runs), settings.level))
    points = points[points["censored"] > 0].reset_index(drop=True)
    if points.empty:
        return {}
    points = points.assign(
        interconnect=points["interconnect"].replace("", None),
        site=points["site"].replace("", None),
        nodes=points["nodes"].replace(0, np.nan),
    )
    return {"censored": validated(CENSORED["censored"], points)}


def unknown_medians(page: Page) -> Headline | None:
    """Name the points whose median time is unknown, because many of their runs were stopped."""
    table = page.content.tables.get("censored")
    unknown = None if table is None else table[table["seconds"].isna()]
    if unknown is None or unknown.empty:
        return None
    labels = page.content.labels
    medians = [
        f"{point_in_words(row, labels)} ({formats.whole(row['censored'])} of {counted(row['n'], 'block')})"
        for row in unknown.head(MOST).to_dict("records")
    ]
    more = len(unknown) - len(medians)
    names = listed([*medians, *([f"{counted(more, 'more point')}"] if more else [])])
    return Headline(
        cautions=[f"The median time is unknown where many blocks were stopped at their time limit: {names}."]
    )


TOPIC = Topic(
    name="censored",
    schemas=CENSORED,
    make=lambda context: make_censored(context.runs, context.settings),
    by_site=True,
    headline=unknown_medians,
)
