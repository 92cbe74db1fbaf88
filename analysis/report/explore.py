"""What the page that explores looks up: points of curves with their intervals, nodes and prices."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from analysis.presentation.content import Content
from analysis.presentation.formats import listed
from analysis.presentation.style import Look, placed
from analysis.report.chart import axes, chart
from analysis.report.explore_controls import COLUMNS, NOTE, TARGETS, WORDS
from analysis.runs.errors import one_line
from analysis.runs.frames import is_missing
from analysis.runs.kinds import comparable_sets, side
from analysis.topics.money.market import Tariff, market_costs, tariffs_of
from analysis.topics.request import request_of

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
DIGITS = 7


def explore(content: Content, looks: Mapping[str, Look]) -> dict[str, Any] | None:
    """Put together what a page needs to answer what its reader asks, as plain data.

    Returns
    -------
    dict or None
        None where no case has a curve. ``panels``: what may be compared (a case, its comparable kinds, one
        oversubscription level, one site), of which the ``first`` has most curves, each with its ``curves``,
        whose ``points`` have the columns `POINT` of table ``scaling`` (None is an empty cell), and the ends
        of its ``axes``. ``charts``: how each is drawn, as `analysis.report.chart.chart` gives it.
        ``ports``: by interconnect, prices of a node's share ``[nodes, price, low, high]``, each up to the
        next number of nodes. ``equivalents``: of a panel, as `_equivalents` gives them. ``unused``: of a
        curve, the largest count whose processes share one node and do not use the interconnect; else 0.
        ``node``, ``currency``: of the study's prices. The rest are words.
    """
    labels, scaling = content.labels, content.tables["scaling"]
    market = request_of(content.facts).market
    inside = scaling["interconnect"].str.partition("@")[0].isin(content.facts.study.inside_nodes)
    on_one_node = scaling["nodes"].eq(1).fillna(False) & ~inside
    scaling = scaling.assign(unused=scaling["processes"].where(on_one_node, 0))
    scaling = _with_nodes(scaling, market.node.cores if market else None)
    panels = [
        {
            "name": f"{labels.case(case)}, {title}",
            "curves": curves,
            "baseline": _baseline(content, curves),
            "axes": axes(curves),
            "equivalents": _equivalents(rows, curves, content),
        }
        for case, of_case in labels.by_case(scaling)
        for title, rows in _comparable(of_case, content)
        if (curves := list(_curves(rows, content, looks)))
    ]
    if not panels:
        return None
    names = {curve["interconnect"] for panel in panels for curve in panel["curves"]}
    offered = tariffs_of(market_costs(content.runs, market)) if market and market.offers else {}
    prices = {name: offered.get(name.partition("@")[0]) for name in sorted(names)}
    weak = labels.weak
    return {
        "panels": panels,
        "charts": [chart(panel["curves"]) for panel in panels],
        "first": max(range(len(panels)), key=[_size(panel) for panel in panels].__getitem__),
        "interconnects": [
            {"name": one_line(name), "title": labels.interconnect(name)}
            for name in labels.sorted_interconnects(sorted(names))
        ],
        "ports": {name: _steps(tariff) for name, tariff in prices.items() if tariff},
        "node": market.node.price if market else None,
        "currency": market.node.currency if market else "",
        "nodes_known": bool(scaling["nodes"].notna().all()),
        "targets": {name: said for name, said in TARGETS.items() if name == "speedup" or not weak},
        "columns": COLUMNS,
        "words": {**WORDS, "same": "" if weak else WORDS["same"]},
        "note": NOTE.format(intervals=labels.intervals(scaling)),
    }


def _with_nodes(scaling: pd.DataFrame, cores_of_node: int | None) -> pd.DataFrame:
    """Rows with the nodes that their cores fill, where runs do not say; as for prices."""
    if cores_of_node is None:
        return scaling
    return scaling.assign(nodes=scaling["nodes"].fillna(-(-scaling["cores"] // cores_of_node)))


def _comparable(of_case: pd.DataFrame, content: Content) -> Iterable[tuple[str, pd.DataFrame]]:
    """Rows of a case that may be compared, with what tells them from the others of the case."""
    for kinds in comparable_sets(of_case["kind"], content.labels.declared):
        rows_of_kinds = of_case[of_case["kind"].isin(kinds)]
        for (level, site), rows in rows_of_kinds.groupby(["oversubscription", "site"], dropna=False):
            more = f", oversubscription {level}" if level > 1 else ""
            yield listed(kinds) + more + ("" if is_missing(site) else f", {one_line(site)}"), rows


def _curves(rows: pd.DataFrame, content: Content, looks: Mapping[str, Look]) -> Iterable[dict[str, Any]]:
    """Curves of rows, in the study's order; one of a single count is none."""
    labels = content.labels
    groups = rows.groupby(["interconnect", "kind", "processes_per_node"], dropna=False)
    ordered = sorted(groups, key=lambda group: (labels.place(group[0][0]), group[0][1], str(group[0][2])))
    for (name, kind, placement), points in ordered:
        if points["processes"].nunique() < 2:
            continue
        points = points.sort_values("processes")
        yield {
            "interconnect": one_line(name),
            "title": labels.placed(name, kind, placement),
            "kind": kind,
            "placement": None if is_missing(placement) else float(placement),
            "colour": placed(looks[name], placement).colour,
            "reference": _rounded(points["reference_seconds"].iloc[0]),
            "unused": int(points["unused"].max()),
            "points": [
                dict(zip(POINT, map(_rounded, point), strict=True)) for point in points[POINT].to_numpy(float)
            ],
        }


def _size(panel: Mapping[str, Any]) -> tuple[int, int]:
    """Number of curves and of points."""
    return len(panel["curves"]), sum(len(curve["points"]) for curve in panel["curves"])


def _baseline(content: Content, curves: list[dict[str, Any]]) -> int:
    """Place of the curve that others are compared with at first."""
    names = [curve["interconnect"] for curve in curves]
    return names.index(content.facts.all_settings().baselines_among(names)[0])


def _equivalents(
    rows: pd.DataFrame, curves: list[dict[str, Any]], content: Content
) -> list[list[float | str | None]]:
    """Ranges of node equivalents: places of baseline and other among the curves, processes, ends."""
    table = content.tables["node_equivalent"]
    table = table[table["case"].eq(rows["case"].iloc[0]) & table["attainable"]]
    table = table[table["oversubscription"].eq(rows["oversubscription"].iloc[0])]
    places = {
        (curve["interconnect"], curve["kind"], curve["placement"]): place
        for place, curve in enumerate(curves)
    }
    found = []
    for line in table.dropna(subset=["baseline_processes", "equivalent_low"]).to_dict("records"):
        placement = None if is_missing(line["processes_per_node"]) else float(line["processes_per_node"])
        baseline, other = (
            places.get((one_line(line[name]), side(line["kind"], number), placement))
            for number, name in enumerate(("baseline_interconnect", "interconnect"))
        )
        if baseline is not None and other is not None:
            ends = (line[name] for name in ("baseline_processes", "equivalent_low", "equivalent_high"))
            found.append([baseline, other, *map(_rounded, ends)])
    return found


def _steps(tariff: Tariff) -> list[list[float | None]]:
    """Price per node, low and high end from each number of nodes on at which they change."""
    prices = tariff.prices[:, 1:]
    same = np.isclose(prices[:, 1:], prices[:, :-1], rtol=1e-9, equal_nan=True).all(axis=0)
    starts = np.flatnonzero(np.append(True, ~same))
    return [[int(start) + 1, *map(_rounded, prices[:, start])] for start in starts]


def _rounded(value: float) -> float | str | None:
    """A number that JSON can hold; infinity as JavaScript reads it from a text."""
    if is_missing(value):
        return None
    return "Infinity" if math.isinf(value) else float(f"{value:.{DIGITS}g}")
