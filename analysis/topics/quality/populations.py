"""Are the runs of a point of one population, or of two, as with a setting that nobody noted?"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pandera.pandas as pa

from analysis.presentation import formats
from analysis.presentation.formats import counted, listed
from analysis.presentation.labels import Labels
from analysis.runs.columns import (
    COUNT,
    MARK,
    NOTE,
    POINT_COLUMNS,
    POSITIVE,
    SHARE,
    described,
    table_schema,
    table_schemas,
    validated,
)
from analysis.runs.frames import Line, as_lines, is_missing
from analysis.runs.groups import Groups
from analysis.runs.runs import DISTURBED_CORES, RUNS, valid_rows
from analysis.statistics.populations import FEWEST, are_two, best_split
from analysis.topics.quality.sentences import point_in_words
from analysis.topics.quality.tables import POINT, points_of

MOST = 4
"""Largest number of points that the section names."""
MOST_ON_PAGE_ONE = 2
OF_IMPORTED_RUNS = "list the setting that differs under settings of the study, or split the case"
OF_DISTURBED_RUNS = "measure the case on an idle machine, since other programs disturbed the slow runs"
OF_OTHER_RUNS = "look in runs.csv for columns in which the groups differ, such as nodes or times of start"

_NUMBER_OF_RUNS = pa.Column("Int64", pa.Check.ge(0, error="must be 0 or more"), nullable=True)
POPULATIONS = table_schemas(
    table_schema(
        "populations",
        "One row per point of measured, emulated and published runs: whether its valid times are of two "
        f"populations. Below {FEWEST} times this is unknown. The last columns are empty without two groups.",
        **POINT_COLUMNS,
        n=described(COUNT, "Valid runs."),
        variance_ratio=described(
            SHARE,
            "Sum of squares of the log times within the two groups / total sum of squares, for the best "
            f"division. Empty below {FEWEST} runs.",
        ),
        mixed=described(MARK, "Whether the test finds two populations."),
        fast_n=described(COUNT, "Runs of the faster group."),
        fast_seconds=described(POSITIVE, "Their median time."),
        slow_n=described(COUNT, "Runs of the slower group."),
        slow_seconds=described(POSITIVE, "Their median time."),
        separated_by=described(
            NOTE, "Further columns of the runs table that have one value in each group, joined by `, `."
        ),
        fast_disturbed=described(_NUMBER_OF_RUNS, "Runs of the faster group that other programs disturbed."),
        slow_disturbed=described(_NUMBER_OF_RUNS, "Runs of the slower group that other programs disturbed."),
        imported=described(MARK, "Whether the runs are imported."),
    )
)
"""Schema of the table ``populations``, by its name."""


def make_populations(runs: pd.DataFrame) -> pd.DataFrame:
    """Divide the valid times of each point into two groups, and test whether they are two populations."""
    timed = valid_rows(runs[runs["kind"] != "simulated"]).reset_index(drop=True)
    groups = Groups.of(points_of(timed))
    table = timed[POINT].take(groups.rows).reset_index(drop=True).assign(n=groups.size)
    seconds = timed["seconds"].to_numpy()
    steps = timed["resolution_seconds"].fillna(0).to_numpy() if "resolution_seconds" in timed else 0 * seconds
    disturbed = np.zeros(len(timed), bool)
    if "foreign_cores" in timed:
        disturbed = (timed["foreign_cores"] > DISTURBED_CORES).to_numpy(bool)
    is_from_study = (
        (timed["origin"] == "run").to_numpy(bool) if "origin" in timed else np.zeros(len(timed), bool)
    )
    further = [str(name) for name in timed if name not in RUNS.columns]
    ratios = np.full(len(table), np.nan)
    lines = []
    for points, rows in groups.of_size():
        n = rows.shape[1]
        if n < FEWEST:
            continue
        rows = np.take_along_axis(rows, np.argsort(seconds[rows], axis=1), axis=1)
        times, each = seconds[rows], np.arange(len(rows))
        fast_n, ratios[points] = best_split(np.log(times))
        gap = times[each, fast_n] - times[each, fast_n - 1]
        # Times that are rounded to few values look like two groups.
        is_mixed = are_two(ratios[points], n) & (gap > steps[rows].max(axis=1))
        for place in np.flatnonzero(is_mixed):
            fast, slow = np.split(rows[place], [fast_n[place]])
            separating = [name for name in further if _separates(timed[name], fast, slow)]
            lines.append(
                {
                    "point": points[place],
                    "mixed": True,
                    "fast_n": len(fast),
                    "fast_seconds": np.median(seconds[fast]),
                    "slow_n": len(slow),
                    "slow_seconds": np.median(seconds[slow]),
                    "separated_by": ", ".join(separating) or None,
                    "fast_disturbed": int(disturbed[fast].sum()),
                    "slow_disturbed": int(disturbed[slow].sum()),
                    "imported": not is_from_study[rows[place]].all(),
                }
            )
    not_mixed = pd.Series(False, table.index, "boolean")
    table = table.assign(variance_ratio=ratios, mixed=not_mixed.where(table["n"] >= FEWEST))
    if lines:
        divided = pd.DataFrame(lines).set_index("point")
        table = divided.combine_first(table).rename_axis(None)
    return validated(POPULATIONS["populations"], table)


def _separates(column: pd.Series, fast: np.ndarray, slow: np.ndarray) -> bool:
    """Return whether a column has one value in the rows `fast`, and another in the rows `slow`."""
    numbers = [column.iloc[rows].nunique(dropna=False) for rows in (fast, slow, [fast[0], slow[0]])]
    return numbers == [1, 1, 2]


def mixed_points(populations: pd.DataFrame) -> pd.DataFrame:
    """Return the points with two populations, those farthest apart first."""
    mixed = populations[populations["mixed"].fillna(False)]
    return mixed.loc[(mixed["slow_seconds"] / mixed["fast_seconds"]).sort_values(ascending=False).index]


def population_sentences(populations: pd.DataFrame, labels: Labels) -> list[str]:
    """Name the points with two populations, and count the points with too few runs for the test."""
    tested, mixed = populations[populations["mixed"].notna()], mixed_points(populations)
    untested = len(populations) - len(tested)
    if tested.empty:
        needs = (
            f"At points with at least {FEWEST} valid runs, Nodeworth tests whether the times form two groups."
        )
        return [f"{needs} Every point has fewer runs."] if untested else []
    others = (
        f" {counted(untested, 'point')} {'has' if untested == 1 else 'have'} fewer than {FEWEST} valid runs, "
        "too few for this test."
        if untested
        else ""
    )
    which = "only point" if len(tested) == 1 else counted(len(tested), "point")
    total = f"At the {which} with at least {FEWEST} valid runs, Nodeworth tested for two groups of times."
    if mixed.empty:
        return [f"{total} No tested point has two groups.{others}"]
    named = [describe_groups(line, labels) for line in as_lines(mixed.head(MOST))]
    if len(mixed) > MOST:
        named.append(f"{formats.whole(len(mixed) - MOST)} more in tables/populations.csv")
    remedies = _remedies(mixed)
    chance = (
        "The test may also find two groups by chance, at up to 1 in 100 points if the times of a point are "
        "log-normal."
    )
    return [
        f"{total} {counted(len(mixed), 'point')} {'has' if len(mixed) == 1 else 'have'} two groups. "
        f"{'; '.join(named)}. {remedies[0].upper()}{remedies[1:]}. {chance}{others}"
    ]


def population_note(populations: pd.DataFrame, labels: Labels, target_percent: float) -> str:
    """Name the points with two populations for page one.

    The note is empty if the medians of the groups differ by no more than the target precision in percent.
    """
    mixed = mixed_points(populations)
    mixed = mixed[mixed["slow_seconds"] > (1 + target_percent / 100) * mixed["fast_seconds"]]
    if mixed.empty:
        return ""
    sentences = [
        f"The runs of {point_in_words(line, labels)} form two groups: {_groups(line)}."
        for line in as_lines(mixed.head(MOST_ON_PAGE_ONE))
    ]
    if more := max(len(mixed) - MOST_ON_PAGE_ONE, 0):
        sentences.append(
            f"{counted(more, 'more point')} {'has' if more == 1 else 'have'} two groups of runs."
        )
    sentences.append("The median of all runs describes at most one group.")
    return f"{' '.join(sentences)} To separate the groups, {_remedies(mixed)}."


def _remedies(mixed: pd.DataFrame) -> str:
    """Say what to do about points with two populations."""
    return "; ".join(dict.fromkeys(map(_remedy, as_lines(mixed))))


def _remedy(line: Line) -> str:
    if _are_disturbed(line):
        return OF_DISTURBED_RUNS
    return OF_IMPORTED_RUNS if line["imported"] else OF_OTHER_RUNS


def _are_disturbed(line: Line) -> bool:
    """Return whether other programs disturbed most slow runs of a point, and few of its fast runs."""
    return 2 * line["slow_disturbed"] > line["slow_n"] and 2 * line["fast_disturbed"] < line["fast_n"]


def describe_groups(line: Line, labels: Labels) -> str:
    """Name a point, and its two groups with counts and median times."""
    return f"{point_in_words(line, labels)}: {_groups(line)}"


def _groups(line: Line) -> str:
    groups = [
        f"{formats.whole(line[f'{group}_n'])} runs with a median of "
        f"{formats.seconds(line[f'{group}_seconds'])}"
        for group in ("fast", "slow")
    ]
    text = listed(groups)
    if _are_disturbed(line):
        of_slow = f"{formats.whole(line['slow_disturbed'])} of the {formats.whole(line['slow_n'])} slow runs"
        return f"{text} (other programs disturbed {of_slow})"
    return text if is_missing(line["separated_by"]) else f"{text} (they differ in {line['separated_by']})"
