"""What changed between two sites, or at one before and after an upgrade, point by point."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pandera.pandas as pa

from analysis.curves.outcomes import corrected, outcome
from analysis.curves.point_comparison import Contrast, compare_points, percent_columns, simultaneous
from analysis.curves.points import CasePoints, cases
from analysis.runs.columns import (
    AT_ONCE,
    COUNT,
    NOTE,
    P_VALUES,
    POSITIVE,
    SHARE,
    TEXT,
    THREADS,
    in_percent,
    table_schema,
    validated,
    with_interval,
)
from analysis.runs.runs import TableError
from analysis.runs.settings import Settings
from analysis.statistics import Floats
from analysis.statistics.bootstrap import percentile_interval

ONLY = "only in "
"""Begins the verdict on a point that only one site has; the site follows."""
SIDES = ("before", "after")
SUMMED = ("faster", "slower", "not distinguishable", "untested", "untestable")
"""Kinds of verdicts that the summary counts, in the order of its columns."""

CHANGES = {
    "changes": table_schema(
        "changes",
        **dict.fromkeys(("site_before", "site_after", "case"), TEXT),
        interconnect=NOTE,
        kind=TEXT,
        oversubscription=COUNT,
        **THREADS,
        processes=COUNT,
        processes_per_node=POSITIVE,
        n_before=COUNT,
        **with_interval("seconds_before", POSITIVE),
        n_after=COUNT,
        **with_interval("seconds_after", POSITIVE),
        **in_percent("change"),
        **P_VALUES,
        verdict=TEXT,
        blocks=COUNT,
        blocks_needed=COUNT,
        coverage=SHARE,
        least_p=SHARE,
        **AT_ONCE,
    ).remove_columns(["site"]),
    "changes_summary": table_schema(
        "changes_summary",
        site_before=TEXT,
        site_after=TEXT,
        case=NOTE,
        kind=TEXT,
        points=COUNT,
        **in_percent("change"),
        **{word.replace(" ", "_"): pa.Column("Int64") for word in SUMMED},
    ).remove_columns(["site"]),
}
"""Schema of each table by its name, which is that of its file; columns.yaml says what the columns mean."""


_SAME = ["kind", "case", "interconnect", "oversubscription", "processes", "threads"]
"""Columns in which points of two sites may agree, the kind first."""


class _Key(NamedTuple):
    """What makes a point of one site the same point at another. `nodes` counts where placement varies."""

    kind: str
    interconnect: str
    oversubscription: int
    processes: int
    threads: int
    nodes: int


@dataclass
class _Found:
    """Rows of the table ``changes``, and the means of the points' log ratios.

    There is one mean for a pair of sites, case and kind, with ``logs``, an array
    (1 + scenarios × draws,): the estimate, then its draws.
    """

    rows: list[dict[str, Any]] = field(default_factory=list)
    means: list[dict[str, Any]] = field(default_factory=list)


def make_changes(runs: pd.DataFrame, settings: Settings) -> dict[str, pd.DataFrame]:
    """Compare sites point by point.

    Parameters
    ----------
    settings : Settings
        Its `compare_sites` are the pairs.

    Returns
    -------
    dict of DataFrame
        ``changes``, one row a point of either site, and ``changes_summary``, one row a case and kind and
        one for all cases of a kind; with the columns of `CHANGES`. None without a pair.

    Raises
    ------
    TableError
        If the runs have no such site, or two sites have no point in common.
    """
    if not settings.compare_sites:
        return {}
    check_sites(runs, settings.compare_sites)
    found = _Found()
    for points in cases(runs, settings):
        for before, after in settings.compare_sites:
            _compare_case(points, before, after, found, settings)
    rows = pd.DataFrame(found.rows).sort_values(
        ["site_before", "site_after"], kind="stable", ignore_index=True
    )
    changes = corrected(rows, settings.alpha, settings.level)
    verdicts = rows["verdict"].fillna(changes["verdict"])
    changes = changes.assign(verdict=verdicts, **simultaneous(changes, settings.alpha))
    changes = validated(CHANGES["changes"], changes)
    for before, after in settings.compare_sites:
        if not any((mean["site_before"], mean["site_after"]) == (before, after) for mean in found.means):
            raise TableError(f"compare_sites: '{before}' and '{after}' have no placement in common")
    summary = pd.DataFrame(list(_summary_rows(found.means, changes, settings.level)))
    return {"changes": changes, "changes_summary": validated(CHANGES["changes_summary"], summary)}


def check_site_names(sites: Iterable[str], pairs: Sequence[tuple[str, str]]) -> None:
    """Check that the sites to compare are among `sites`.

    Raises
    ------
    TableError
    """
    known = sorted(set(sites))
    for name in (name for pair in pairs for name in pair):
        if name not in known:
            listed = ", ".join(known) or "none"
            raise TableError(f"compare_sites: '{name}' is no site of the runs; there are {listed}")


def check_sites(runs: pd.DataFrame, pairs: Sequence[tuple[str, str]]) -> None:
    """Check that there are the sites to compare, and that both sites of a pair have something in common.

    Parameters
    ----------
    runs : DataFrame
        As `analysis.runs.runs.read_runs` gives it, with or without column ``site``.

    Raises
    ------
    TableError
    """
    check_site_names(runs["site"].dropna() if "site" in runs else (), pairs)
    for pair in pairs:
        sides = [runs[runs["valid"] & (runs["site"] == site)] for site in pair]
        points = [set(side[_SAME].fillna("").itertuples(index=False, name=None)) for side in sides]
        if points[0].isdisjoint(points[1]):
            message = f"compare_sites: '{pair[0]}' and '{pair[1]}' have no point in common"
            kinds = [", ".join(sorted(side["kind"].unique())) for side in sides]
            if {point[1:] for point in points[0]} & {point[1:] for point in points[1]}:
                message += f": runs of '{pair[0]}' are {kinds[0]}, those of '{pair[1]}' {kinds[1]}"
            raise TableError(message)


def _compare_case(points: CasePoints, before: str, after: str, found: _Found, settings: Settings) -> None:
    earlier, later = _matched(points, before, after)
    ratios: dict[str, list[Floats]] = {}
    for key in sorted(earlier.keys() | later.keys()):
        sides = earlier.get(key), later.get(key)
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
        for side, number in zip(SIDES, sides, strict=True):
            if number is not None:
                row |= _times(points, number, side)
        if sides[0] is None or sides[1] is None:
            row["verdict"] = ONLY + (after if sides[0] is None else before)
        else:
            row |= _change(points, sides[0], sides[1], settings)
            ratios.setdefault(key.kind, []).append(_log_ratio(points, sides[0], sides[1]))
        found.rows.append(row)
    for kind, logs in ratios.items():
        about = {"site_before": before, "site_after": after, "case": points.case, "kind": kind}
        found.means.append({**about, "logs": np.mean(logs, axis=0)})


def _matched(points: CasePoints, before: str, after: str) -> tuple[dict[_Key, int], dict[_Key, int]]:
    """Points of two sites by their key; nodes count where one of the two sites varies placement."""
    table = points.table
    rows = [np.flatnonzero(table["site"] == site) for site in (before, after)]
    for nodes in (np.zeros_like(table["nodes"]), table["nodes"]):
        columns = [*(table[name] for name in _Key._fields[:-1]), nodes]
        earlier, later = ({_Key(*(values[row] for values in columns)): row for row in own} for own in rows)
        if len(earlier) + len(later) == len(rows[0]) + len(rows[1]):  # no two points have one key
            break
    return earlier, later


def _times(points: CasePoints, number: int, side: str) -> dict[str, Any]:
    table = points.table
    ends = {f"seconds_{side}{end}": table[f"seconds{end}"][number] for end in ("", "_low", "_high")}
    return {f"n_{side}": table["n"][number], **ends}


def _change(points: CasePoints, before: int, after: int, settings: Settings) -> dict[str, Any]:
    table = points.table
    if table["kind"][before] == "simulated":
        logs = {end: np.log(table[f"seconds{end}"][[before, after]]) for end in ("", "_low", "_high")}
        ends = (("", ""), ("_low", "_high"), ("_high", "_low"))
        return percent_columns("change", [logs[first][0] - logs[second][1] for first, second in ends])
    samples = points.samples[before], points.samples[after], False
    found = compare_points([samples], [1 - settings.level])[0]
    tests = {name: getattr(found.shift, name) for name in ("p_value", "least_p", "coverage")}
    tests |= {"tested": Contrast(samples), "withheld": found.withheld, "blocks": found.blocks}
    return percent_columns("change", found.shift) | tests


def _log_ratio(points: CasePoints, before: int, after: int) -> Floats:
    seconds, draws = points.table["seconds"], points.draws
    logs = np.log(draws[before] / draws[after])
    return np.concatenate([[np.log(seconds[before] / seconds[after])], logs.ravel()])


def _summary_rows(
    means: list[dict[str, Any]], changes: pd.DataFrame, confidence: float
) -> Iterator[dict[str, Any]]:
    """Geometric means of the ratios of a case's points, and over cases, each of which counts alike."""

    def pair_and_kind(mean: dict[str, Any]) -> tuple[str, str, str]:
        return mean["site_before"], mean["site_after"], mean["kind"]

    for (before, after, kind), group in groupby(sorted(means, key=pair_and_kind), key=pair_and_kind):
        of_cases = list(group)
        every = (changes["site_before"] == before) & (changes["site_after"] == after)
        every &= (changes["kind"] == kind) & changes["change_percent"].notna()
        lines = [(mean["case"], mean["logs"], every & (changes["case"] == mean["case"])) for mean in of_cases]
        if len(of_cases) > 1:
            lines.append((None, np.mean([mean["logs"] for mean in of_cases], axis=0), every))
        for case, logs, rows in lines:
            low, high = percentile_interval(logs[None, 1:], confidence)
            verdicts = changes.loc[rows, "verdict"].map(outcome).value_counts()
            yield {
                "site_before": before,
                "site_after": after,
                "case": case,
                "kind": kind,
                "points": int(rows.sum()),
                "change_percent": 100 * np.expm1(logs[0]),
                "change_low": 100 * np.expm1(low),
                "change_high": 100 * np.expm1(high),
                **{word.replace(" ", "_"): int(verdicts.get(word, 0)) for word in SUMMED},
            }
