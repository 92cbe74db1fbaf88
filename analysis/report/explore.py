"""Data of the explorer, a form of the HTML report that looks up processes, nodes and prices for a target."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from analysis.presentation.content import Content
from analysis.presentation.formats import listed
from analysis.presentation.style import Look, placed
from analysis.report.chart import axis_limits, make_chart
from analysis.runs.errors import one_line
from analysis.runs.frames import as_float, is_missing
from analysis.runs.kinds import comparable_sets, side
from analysis.runs.settings import PROCESSES
from analysis.topics.money.market import Tariff, market_costs, tariffs_of
from analysis.topics.topic import request_of

POINT = [
    "processes",
    "nodes",
    "seconds",
    "seconds_low",
    "seconds_high",
    "speedup",
    "speedup_low",
    "speedup_high",
]
"""Columns of the table ``scaling`` that a point has."""
DIGITS = 7
WORDS = {
    "beyond": "not reached, at most {speedup} on {processes}",
    "below": "reached on {processes}, the fewest that were run",
    "reached": "{speedup} on {processes}",
    "unknown": "none that is known",
    "over": "too many",
    "none": "none is known",
    "asked": "{name}: {target} {value}.",
    "same": "This is a speedup of {speedup}. A run takes {seconds} s. {runs} consecutive runs fit in a day.",
}
"""Texts of the answers; the page fills in the numbers in braces."""
COLUMNS = {
    "processes": "Processes",
    "nodes": "Nodes",
    "price": "Price of the cluster",
    "run": "Price per run",
    "speedup": "Speedup",
    "processes_saved": "Processes saved",
    "nodes_saved": "Nodes saved",
    "price_saved": "Saved",
    "at_hand": "Speedup on available nodes",
}
"""Heads of the table of answers."""
TARGETS = {
    "speedup": "a speedup of at least",
    "seconds": "seconds per run, at most",
    "runs": "consecutive runs per day, at least",
    "price": "price per run, at most",
}
"""Targets that a reader can choose."""
NOTE = (
    "Each point of a curve is a number of processes with a result. Nodeworth interpolates speedups linearly "
    "between the points and does not extrapolate curves. Speedups have {intervals}. The range of the number "
    "of processes comes from the ends of these intervals: one end from the lower ends, the other end from "
    "the upper ends. The ranges in column “Processes saved” are from tables/node_equivalent.csv. If "
    "this file has no row for an interconnect and its baseline, the saved processes have no range. If the "
    "processes use only a part of a node, prices still contain the whole node. If the target is a price per "
    "run, Nodeworth does not interpolate: it uses only the points of the curves."
)

Panel = dict[str, Any]
Number = float | str | None
"""A number that JSON can hold: None if missing, infinity as the text that JavaScript reads."""


def explore(content: Content, looks: Mapping[str, Look]) -> dict[str, Any] | None:
    """Make the data of the explorer, or None if no case that is compared by processes has a curve.

    Returns
    -------
    dict
        With these keys, and texts:

        - ``panels``: one for each case, set of comparable kinds, oversubscription level and site. A panel has
          ``curves`` with their ``points`` (columns `POINT`), the limits of its ``axes``, the index of the
          ``baseline``, and the ``equivalents`` of `_equivalents`. A curve's ``unused`` is its largest process
          count on a single node, where the interconnect carries nothing; 0 without such a count.
        - ``first``: index of the panel with the most curves.
        - ``charts``: for each panel, see `analysis.report.chart.make_chart`.
        - ``ports``: for each interconnect, rows ``[nodes, price, low, high]``: price per node from this
          number of nodes on.
        - ``node``, ``currency``: price of a node.
    """
    labels, facts = content.labels, content.facts
    market = request_of(facts).market
    scaling = content.tables["scaling"]
    by_processes = scaling[scaling["unit"] == PROCESSES]
    if by_processes.empty:
        return None
    scaling = _add_nodes(by_processes, market.node.cores if market else None, content)
    panels = []
    for case, case_rows in labels.by_case(scaling):
        for title, rows in _split(case_rows, content):
            if curves := list(_curves(rows, content, looks)):
                panels.append(_make_panel(f"{labels.case(case)}, {title}", rows, curves, content))
    if not panels:
        return None
    names = {curve["interconnect"] for panel in panels for curve in panel["curves"]}
    tariffs = tariffs_of(market_costs(content.runs, market)) if market and market.offers else {}
    prices = {name: tariffs.get(name.partition("@")[0]) for name in sorted(names)}
    words, targets = WORDS, TARGETS
    if labels.weak:
        words, targets = {**WORDS, "same": ""}, {"speedup": TARGETS["speedup"]}
    return {
        "panels": panels,
        "charts": [make_chart(panel["curves"]) for panel in panels],
        "first": max(range(len(panels)), key=lambda index: _size(panels[index])),
        "interconnects": [
            {"name": one_line(name), "title": labels.interconnect(name)}
            for name in labels.sorted_interconnects(sorted(names))
        ],
        "ports": {name: _price_steps(tariff) for name, tariff in prices.items() if tariff},
        "node": market.node.price if market else None,
        "currency": market.node.currency if market else "",
        "nodes_known": bool(scaling["nodes"].notna().all()),
        "targets": targets,
        "columns": COLUMNS,
        "words": words,
        "note": NOTE.format(intervals=labels.intervals(scaling)) + _left_out(content),
    }


def _left_out(content: Content) -> str:
    """Name the cases that are compared by nodes; empty if there are none."""
    scaling, labels = content.tables["scaling"], content.labels
    cases = labels.sorted_cases(scaling.loc[scaling["unit"] != PROCESSES, "case"])
    if not cases:
        return ""
    return (
        " Cases that Nodeworth compares at equal numbers of nodes are not shown here: "
        f"{listed(map(labels.case, cases))}."
    )


def _add_nodes(scaling: pd.DataFrame, cores_per_node: int | None, content: Content) -> pd.DataFrame:
    """Add the column ``unused``, and compute missing nodes from the cores per node.

    ``unused`` is the process count if a run on one node leaves the interconnect unused, else 0.
    """
    is_inside = scaling["interconnect"].str.partition("@")[0].isin(content.facts.study.inside_nodes)
    on_one_node = scaling["nodes"].eq(1).fillna(False) & ~is_inside
    scaling = scaling.assign(unused=scaling["processes"].where(on_one_node, 0))
    if cores_per_node is None:
        return scaling
    return scaling.assign(nodes=scaling["nodes"].fillna(-(-scaling["cores"] // cores_per_node)))


def _split(case_rows: pd.DataFrame, content: Content) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield title and rows of each panel of a case; rows of a panel are comparable."""
    for kinds in comparable_sets(case_rows["kind"], content.labels.declared):
        rows_of_kinds = case_rows[case_rows["kind"].isin(kinds)]
        for (level, site), rows in rows_of_kinds.groupby(["oversubscription", "site"], dropna=False):
            title = listed(kinds)
            title += f", oversubscription {level}" if as_float(level) > 1 else ""
            title += "" if is_missing(site) else f", {one_line(site)}"
            yield title, rows


def _make_panel(name: str, rows: pd.DataFrame, curves: list[dict[str, Any]], content: Content) -> Panel:
    """Make a panel of the explorer from its curves: see `explore`."""
    names = [curve["interconnect"] for curve in curves]
    return {
        "name": name,
        "curves": curves,
        "baseline": names.index(content.facts.all_settings().baselines_among(names)[0]),
        "axes": axis_limits(curves),
        "equivalents": _equivalents(rows, curves, content),
    }


def _curves(rows: pd.DataFrame, content: Content, looks: Mapping[str, Look]) -> Iterator[dict[str, Any]]:
    """Make the curves with at least two process counts, in the order of the study."""
    labels = content.labels
    groups = dict(list(rows.groupby(["interconnect", "kind", "processes_per_node"], dropna=False)))

    def order_of_study(key: tuple[Any, ...]) -> tuple[Any, ...]:
        interconnect, kind, processes_per_node = key
        return labels.place(interconnect), kind, str(processes_per_node)

    for key in sorted(groups, key=order_of_study):
        (interconnect, kind, processes_per_node), points = key, groups[key]
        if points["processes"].nunique() < 2:
            continue
        name, placement = str(interconnect), _placement(processes_per_node)
        points = points.sort_values("processes")
        yield {
            "interconnect": one_line(name),
            "title": labels.placed(name, str(kind), placement),
            "kind": kind,
            "placement": placement,
            "colour": placed(looks[name], placement).colour,
            "reference": _rounded(points["reference_seconds"].iloc[0]),
            "unused": int(points["unused"].max()),
            "points": [
                dict(zip(POINT, map(_rounded, point), strict=True)) for point in points[POINT].to_numpy(float)
            ],
        }


def _placement(processes_per_node: object) -> float | None:
    return None if is_missing(processes_per_node) else as_float(processes_per_node)


def _size(panel: Panel) -> tuple[int, int]:
    """Return the numbers of curves and points of a panel."""
    return len(panel["curves"]), sum(len(curve["points"]) for curve in panel["curves"])


def _equivalents(
    rows: pd.DataFrame, curves: Sequence[Mapping[str, Any]], content: Content
) -> list[list[Number]]:
    """Return the ranges of node equivalents of a panel.

    Returns
    -------
    list of list
        Indices of the baseline's curve and of the other curve, processes of the baseline, low end, high end.
    """
    table = content.tables["node_equivalent"]
    table = table[table["case"].eq(rows["case"].iloc[0]) & table["attainable"]]
    table = table[table["oversubscription"].eq(rows["oversubscription"].iloc[0])]
    indices = {
        (curve["interconnect"], curve["kind"], curve["placement"]): index
        for index, curve in enumerate(curves)
    }
    ranges: list[list[Number]] = []
    for line in table.dropna(subset=["baseline_processes", "equivalent_low"]).to_dict("records"):
        placement = _placement(line["processes_per_node"])
        baseline, other = (
            indices.get((one_line(line[name]), side(line["kind"], place), placement))
            for place, name in enumerate(("baseline_interconnect", "interconnect"))
        )
        if baseline is not None and other is not None:
            numbers = (line[name] for name in ("baseline_processes", "equivalent_low", "equivalent_high"))
            ranges.append([baseline, other, *map(_rounded, numbers)])
    return ranges


def _price_steps(tariff: Tariff) -> list[list[Number]]:
    """Return rows ``[nodes, price, low, high]``, one for each number of nodes at which a price changes."""
    prices = tariff.prices[:, 1:]
    is_same = np.isclose(prices[:, 1:], prices[:, :-1], rtol=1e-9, equal_nan=True).all(axis=0)
    starts = np.flatnonzero(np.append(True, ~is_same))
    return [[int(start) + 1, *map(_rounded, prices[:, start])] for start in starts]


def _rounded(value: float) -> Number:
    """Round a number to `DIGITS` significant digits for JSON."""
    if is_missing(value):
        return None
    return "Infinity" if math.isinf(value) else float(f"{value:.{DIGITS}g}")
