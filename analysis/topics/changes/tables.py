"""Tables of changes between two sites, or two states of a site, point by point."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pandera.pandas as pa

from analysis.curves.outcomes import corrected, outcome
from analysis.curves.point_comparison import Contrast, compare_points, percent_columns, simultaneous
from analysis.curves.points import CasePoints, cases
from analysis.runs.columns import (
    COUNT,
    NOTE,
    P_VALUES,
    POSITIVE,
    SHARE,
    SIMULTANEOUS_INTERVAL,
    TEXT,
    THREADS,
    described,
    in_percent,
    table_schema,
    validated,
    with_descriptions,
    with_interval,
)
from analysis.runs.runs import TableError
from analysis.runs.settings import Settings
from analysis.statistics import Floats
from analysis.statistics.bootstrap import percentile_interval

ONLY = "only in "
"""Start of the verdict on a point that only one site has, before the name of the site."""
SUMMED = ("faster", "slower", "not distinguishable", "untested", "untestable")
"""Outcomes that the summary counts, in the order of its columns."""

CHANGES = {
    "changes": table_schema(
        "changes",
        "One row per point of either site.",
        site_before=described(TEXT, "Site that serves as the baseline."),
        site_after=described(TEXT, "Site that is compared with it."),
        case=TEXT,
        interconnect=NOTE,
        kind=TEXT,
        oversubscription=COUNT,
        **THREADS,
        processes=COUNT,
        processes_per_node=POSITIVE,
        n_before=described(COUNT, "Blocks before."),
        **with_descriptions(with_interval("seconds_before", POSITIVE), seconds_before="Median time before."),
        n_after=described(COUNT, "Blocks after."),
        **with_descriptions(with_interval("seconds_after", POSITIVE), seconds_after="Median time after."),
        **with_descriptions(
            in_percent("change"), change_percent="100 × (time before / time after − 1). Above 0 is faster."
        ),
        **P_VALUES,
        verdict=described(TEXT, "As in `improvement`, or `only in SITE`."),
        blocks=COUNT,
        blocks_needed=COUNT,
        coverage=SHARE,
        least_p=SHARE,
        **SIMULTANEOUS_INTERVAL,
    ).remove_columns(["site"]),
    "changes_summary": table_schema(
        "changes_summary",
        "One row per case and kind; an empty case stands for all cases of the kind.",
        site_before=described(TEXT, "Site that serves as the baseline."),
        site_after=described(TEXT, "Site that is compared with it."),
        case=NOTE,
        kind=TEXT,
        points=described(COUNT, "Common points of both sites."),
        **with_descriptions(
            in_percent("change"),
            change_percent="Geometric mean of the changes; over all cases, each case has the same weight.",
        ),
        **with_descriptions(
            {word.replace(" ", "_"): pa.Column("Int64") for word in SUMMED},
            faster="Points that are faster.",
            slower="Points that are slower.",
            not_distinguishable="Points without a distinguishable difference.",
            untested="Points without a test.",
            untestable="Points with too few blocks for a test.",
        ),
    ).remove_columns(["site"]),
}

POINT = ["kind", "case", "interconnect", "oversubscription", "processes", "threads"]
"""Columns that two sites must share to be compared, the kind first."""


class PointKey(NamedTuple):
    """Identity of a point at different sites. `nodes` is 0 unless a site varies placement."""

    kind: str
    interconnect: str
    oversubscription: int
    processes: int
    threads: int
    nodes: int


class CaseMean(NamedTuple):
    """Mean log ratio of the times before and after, over the points of a case and kind.

    Attributes
    ----------
    sites : pair of str
        Site before and site after.
    logs : array (1 + scenarios × draws,)
        Mean log ratio of the medians, then its bootstrap draws.
    """

    sites: tuple[str, str]
    case: str
    kind: str
    logs: Floats


def make_changes(runs: pd.DataFrame, settings: Settings) -> dict[str, pd.DataFrame]:
    """Make the tables ``changes`` and ``changes_summary``.

    Parameters
    ----------
    settings : Settings
        `compare_sites` lists the pairs of sites.

    Returns
    -------
    dict of DataFrame
        ``changes`` has a row for each point of either site. ``changes_summary`` has a row for each case and
        kind, and one for all cases of a kind. Empty without pairs of sites.

    Raises
    ------
    TableError
        If the runs lack a site, or if two sites have no point in common.
    """
    if not settings.compare_sites:
        return {}
    check_sites(runs, settings.compare_sites)
    rows: list[dict[str, Any]] = []
    means: list[CaseMean] = []
    for points in cases(runs, settings):
        for sites in settings.compare_sites:
            case_rows, case_means = _compare_case(points, sites, settings)
            rows += case_rows
            means += case_means
    for before, after in settings.compare_sites:
        if not any(mean.sites == (before, after) for mean in means):
            raise TableError(f"compare_sites: '{before}' and '{after}' have no placement in common")
    table = pd.DataFrame(rows).sort_values(["site_before", "site_after"], kind="stable", ignore_index=True)
    factors = settings.look_factors(table["case"])
    changes = corrected(table, factors, settings.level)
    verdicts = table["verdict"].fillna(changes["verdict"])
    changes = changes.assign(verdict=verdicts, **simultaneous(changes, factors))
    changes = validated(CHANGES["changes"], changes)
    summary = pd.DataFrame(list(_summary_rows(means, changes, settings.level)))
    return {"changes": changes, "changes_summary": validated(CHANGES["changes_summary"], summary)}


def check_site_names(sites: Iterable[str], pairs: Sequence[tuple[str, str]]) -> None:
    """Check that the sites to compare are among `sites`.

    Raises
    ------
    TableError
        If a site of a pair is not among `sites`.
    """
    names = sorted(set(sites))
    for name in (name for pair in pairs for name in pair):
        if name not in names:
            listed = ", ".join(names) or "none"
            raise TableError(f"compare_sites: '{name}' is no site of the runs; there are {listed}")


def check_sites(runs: pd.DataFrame, pairs: Sequence[tuple[str, str]]) -> None:
    """Check that the runs have the sites to compare, and that the sites of a pair share a point.

    Parameters
    ----------
    runs : DataFrame
        Runs table, with or without column ``site``: see `analysis.runs.runs.read_runs`.

    Raises
    ------
    TableError
        If a site is missing, or if the sites of a pair share no point.
    """
    check_site_names(runs["site"].dropna() if "site" in runs else (), pairs)
    for before, after in pairs:
        points_before, points_after = (
            runs.loc[runs["valid"] & (runs["site"] == site), POINT].fillna("").drop_duplicates()
            for site in (before, after)
        )
        if len(points_before.merge(points_after)):
            continue
        message = f"compare_sites: '{before}' and '{after}' have no point in common"
        if len(points_before.merge(points_after, on=POINT[1:])):  # points that differ only in their kind
            kinds_before, kinds_after = (
                ", ".join(sorted(points["kind"].unique())) for points in (points_before, points_after)
            )
            message += f": runs of '{before}' are {kinds_before}, those of '{after}' {kinds_after}"
        raise TableError(message)


def _compare_case(
    points: CasePoints, sites: tuple[str, str], settings: Settings
) -> tuple[list[dict[str, Any]], list[CaseMean]]:
    """Make the rows of ``changes`` for a case and pair of sites, and the mean change of each kind."""
    before, after = sites
    earlier, later = _points_by_key(points, before, after)
    rows: list[dict[str, Any]] = []
    ratios: dict[str, list[Floats]] = {}
    for key in sorted(earlier.keys() | later.keys()):
        row = {
            "site_before": before,
            "site_after": after,
            "case": points.case,
            "interconnect": key.interconnect or None,
            "kind": key.kind,
            "oversubscription": key.oversubscription,
            "processes": key.processes,
            "threads": key.threads,
            "processes_per_node": key.processes / key.nodes if key.nodes else None,
            **dict.fromkeys(
                ("change_percent", "change_low", "change_high", "p_value", "least_p", "blocks"), np.nan
            ),
            "verdict": None,
        }
        first, second = earlier.get(key), later.get(key)
        if first is not None:
            row |= _times(points, first, "before")
        if second is not None:
            row |= _times(points, second, "after")
        if first is None or second is None:
            row["verdict"] = ONLY + (after if first is None else before)
        else:
            row |= _change(points, first, second, settings)
            ratios.setdefault(key.kind, []).append(_log_ratio(points, first, second))
        rows.append(row)
    means = [CaseMean(sites, points.case, kind, np.mean(logs, axis=0)) for kind, logs in ratios.items()]
    return rows, means


def _points_by_key(
    points: CasePoints, before: str, after: str
) -> tuple[dict[PointKey, int], dict[PointKey, int]]:
    """Return the positions of the points of two sites, by key.

    The nodes are part of a key only if points of a site could not be distinguished otherwise.
    """
    table = points.table
    sides = [np.flatnonzero(table["site"] == site) for site in (before, after)]
    for nodes in (np.zeros_like(table["nodes"]), table["nodes"]):
        columns = [*(table[name] for name in PointKey._fields[:-1]), nodes]
        earlier, later = (
            {PointKey(*(values[position] for values in columns)): position for position in side.tolist()}
            for side in sides
        )
        has_distinct_keys = len(earlier) + len(later) == len(sides[0]) + len(sides[1])
        if has_distinct_keys:
            break
    return earlier, later


def _times(points: CasePoints, number: int, side: str) -> dict[str, Any]:
    """Return the columns with the times of a point, `side` being ``before`` or ``after``."""
    table = points.table
    ends = {f"seconds_{side}{end}": table[f"seconds{end}"][number] for end in ("", "_low", "_high")}
    return {f"n_{side}": table["n"][number], **ends}


def _change(points: CasePoints, before: int, after: int, settings: Settings) -> dict[str, Any]:
    """Compare the times of two points: an unpaired test, or the bands of simulated times."""
    table = points.table
    if table["kind"][before] == "simulated":
        logs = {end: np.log(table[f"seconds{end}"][[before, after]]) for end in ("", "_low", "_high")}
        ends = (("", ""), ("_low", "_high"), ("_high", "_low"))
        return percent_columns("change", [logs[first][0] - logs[second][1] for first, second in ends])
    samples = points.samples[before], points.samples[after], False
    (compared,) = compare_points([samples], [1 - settings.level])
    return {
        **percent_columns("change", compared.shift),
        **{name: getattr(compared.shift, name) for name in ("p_value", "least_p", "coverage")},
        "tested": Contrast(samples),
        "withheld": compared.withheld,
        "blocks": compared.blocks,
    }


def _log_ratio(points: CasePoints, before: int, after: int) -> Floats:
    """Compute the log ratio of two times and its bootstrap draws, array (1 + scenarios × draws,)."""
    seconds, draws = points.table["seconds"], points.draws
    logs = np.log(draws[before] / draws[after])
    return np.concatenate([[np.log(seconds[before] / seconds[after])], logs.ravel()])


def _summary_rows(
    means: Sequence[CaseMean], changes: pd.DataFrame, confidence: float
) -> Iterator[dict[str, Any]]:
    """Yield the rows of ``changes_summary``: for each case of a kind, then for all cases of the kind.

    The change is a geometric mean over points. In the mean over all cases, all cases have the same weight.
    """

    def sites_and_kind(mean: CaseMean) -> tuple[str, str, str]:
        return *mean.sites, mean.kind

    for (before, after, kind), group in groupby(sorted(means, key=sites_and_kind), key=sites_and_kind):
        case_means = list(group)
        is_common = (changes["site_before"] == before) & (changes["site_after"] == after)
        is_common &= (changes["kind"] == kind) & changes["change_percent"].notna()
        common = changes[is_common]
        means_and_points: list[tuple[str | None, Floats, pd.DataFrame]] = [
            (mean.case, mean.logs, common[common["case"] == mean.case]) for mean in case_means
        ]
        if len(case_means) > 1:
            mean_over_cases = np.mean([mean.logs for mean in case_means], axis=0)
            means_and_points.append((None, mean_over_cases, common))
        for case, logs, points in means_and_points:
            low, high = percentile_interval(logs[None, 1:], confidence)
            verdicts = points["verdict"].map(outcome).value_counts()
            yield {
                "site_before": before,
                "site_after": after,
                "case": case,
                "kind": kind,
                "points": len(points),
                "change_percent": 100 * np.expm1(logs[0]),
                "change_low": 100 * np.expm1(low),
                "change_high": 100 * np.expm1(high),
                **{word.replace(" ", "_"): int(verdicts.get(word, 0)) for word in SUMMED},
            }
