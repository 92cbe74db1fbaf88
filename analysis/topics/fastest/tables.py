"""Tables of the fastest interconnect at each process count."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.curves.curves import Curve
from analysis.curves.point_comparison import (
    bonferroni_coverage,
    compare_points,
    depend_too_much,
    percent_columns,
    same_machine,
    share_blocks,
    took_turns,
)
from analysis.curves.points import Sample, block_logs, roundings
from analysis.runs.columns import (
    COUNT,
    MARK,
    POINT_COLUMNS,
    POSITIVE,
    SHARE,
    TEXT,
    UNIT,
    described,
    in_percent,
    table_schema,
    table_schemas,
    with_descriptions,
)
from analysis.runs.frames import Piece, Tables, stacked
from analysis.runs.kinds import comparable_sets
from analysis.runs.settings import NODES, Settings
from analysis.statistics import Floats
from analysis.statistics.best import ALPHA, FEWEST, may_be_best, pairwise_differences, within_bands
from analysis.statistics.shift import EQUAL
from analysis.topics.topic import Context

FASTEST = table_schemas(
    table_schema(
        "fastest",
        "One row per interconnect and count at which interconnects of comparable kinds compete.",
        **POINT_COLUMNS,
        processes_per_node=POSITIVE,
        compared_kinds=TEXT,
        seconds=described(POSITIVE, "Median time."),
        place=described(
            COUNT,
            "1 for the fastest by joint ratios, which mostly has the shortest median; ties are "
            "ordered by name.",
        ),
        **with_descriptions(
            in_percent("longer"),
            longer_percent="Difference to the time of the first, from their joint ratios; empty "
            "for the first.",
            longer_low="Lower end of its interval, at 1 − α divided by the number of candidates for the "
            "fastest; lower end of the band if one of the two is simulated.",
            longer_high="Upper end.",
        ),
        coverage=SHARE,
        may_be_fastest=described(
            MARK,
            "Whether it may be the fastest, by multiple comparisons with the best; empty below five blocks.",
        ),
        **UNIT,
    )
)
TURNS = 4
"""Most rounds in which another point may become the fastest: pairwise comparisons may form a cycle."""
POINT = ["site", "case", "compared_kinds", "oversubscription", "processes_per_node", "threads", "processes"]
"""Columns that name a count at which interconnects compete; by nodes the processes are missing."""
WINNERS = [
    *POINT,
    *("nodes", "interconnects", "interconnect", "kind", "seconds", "next_interconnect", "next_kind"),
    *(f"{quantity}_{end}" for quantity in ("lead", "spread") for end in ("percent", "low", "high")),
    *("rivals", "candidates", "equal"),
]
"""Columns of `winners`."""


class Competitor(NamedTuple):
    """A curve at one of its process counts."""

    curve: Curve
    position: int

    @property
    def sample(self) -> Sample:
        """Block times."""
        return self.curve.samples[self.position]

    def log(self, end: str = "") -> float:
        """Return the log time, or an end of its band; the time itself if a run has no interval."""
        seconds = self.curve.table[f"seconds{end}"][self.position]
        if np.isnan(seconds) and self.curve.kind != "simulated":
            seconds = self.curve.table["seconds"][self.position]
        return float(np.log(seconds))


def make_fastest(context: Context) -> Tables:
    """Make the table ``fastest``: a row for each point that competes."""
    rows = [row for curves in context.curves.cases for row in fastest_rows(curves, context.settings)]
    return {"fastest": stacked(rows)}


def fastest_rows(curves: Sequence[Curve], settings: Settings) -> Iterator[Piece]:
    """Compare the interconnects of a case at each process count.

    The fastest point is not slower than any other point by their joint log ratios. It usually, but not
    always, has the shortest median time. Multiple comparisons with the best (`analysis.statistics.best`)
    decide which points may be the fastest. The location of the joint log ratios estimates how much longer
    each other point takes. The data choose the fastest among several candidates, so the level of the interval
    is 1 - alpha / candidates. Simulated times have bands instead of intervals.

    Yields
    ------
    Piece
        Row of a point, the fastest of each process count first.
    """
    for kinds in comparable_sets({curve.kind for curve in curves}, settings.compare_kinds):
        competitors: dict[tuple[float, ...], list[Competitor]] = {}
        for curve in (curve for curve in curves if curve.kind in kinds):
            threads = 0 if curve.unit == NODES and curve.is_compared else curve.threads
            layout = curve.oversubscription, curve.processes_per_node or 0, threads
            for position in np.flatnonzero(~curve.is_serial & curve.uses).tolist():
                key = (*layout, curve.counts[position])
                competitors.setdefault(key, []).append(Competitor(curve, position))
        for _, points in sorted(competitors.items(), key=itemgetter(0)):
            if len(points) > 1:
                yield from _rows(points, "/".join(kinds), settings)


def _rows(points: Sequence[Competitor], kinds: str, settings: Settings) -> Iterator[Piece]:
    """Make the rows of the points of a process count, the fastest first."""
    points = sorted(points, key=lambda point: (point.log(), point.curve.interconnect))
    for turn in range(TURNS):
        may_be_fastest, longer, coverage = _compared(points, settings)
        first = -np.inf if turn == TURNS - 1 else 0.0
        others = np.where(np.abs(longer[0, 1:]) < EQUAL, 0, longer[0, 1:])
        order = np.argsort([first, *others], kind="stable").tolist()
        if order[0] == 0:
            break
        points = [points[number] for number in order]
    for place, number in enumerate(order, 1):
        curve, position = points[number]
        yield {
            **curve.names,
            "processes": curve.processes[position],
            "nodes": curve.table["nodes"][position] or np.nan,
            "compared_kinds": kinds,
            "seconds": curve.table["seconds"][position],
            "place": place,
            **percent_columns("longer", longer[:, number]),
            "coverage": coverage[number],
            "may_be_fastest": may_be_fastest[number] if may_be_fastest.any() else None,
            "unit": curve.unit,
        }


def _compared(points: Sequence[Competitor], settings: Settings) -> tuple[NDArray[np.bool_], Floats, Floats]:
    """Compare points with the first point.

    Returns
    -------
    may_be_fastest : array (points,)
        All False if the times do not allow the decision.
    longer : array (3, points)
        Log ratio of each time to the first point's, with the ends of its interval; NaN for the first point.
    coverage : array (points,)
    """
    samples, first = [point.sample for point in points], points[0]
    coverage = np.full(len(points), np.nan)
    middle, low, high = (np.array([point.log(end) for point in points]) for end in ("", "_low", "_high"))
    longer = np.stack([middle - middle[0], low - high[0], high - low[0]])
    longer[:, 0] = np.nan
    if any(point.curve.kind == "simulated" for point in points):
        return within_bands(low, high), longer, coverage
    on_one_machine = [same_machine(point.curve.kind, first.curve.kind) for point in points[1:]]
    pairs = [
        (sample, first.sample, together and share_blocks(sample, first.sample))
        for sample, together in zip(samples[1:], on_one_machine, strict=True)
    ]
    separable = [
        not together or took_turns(*pair) is not False
        for pair, together in zip(pairs, on_one_machine, strict=True)
    ]
    may_be_fastest = np.zeros(len(points), bool)
    may_be_judged = (
        all(separable)
        and not any(depend_too_much(*pair) for pair in pairs)
        and all(len(sample.blocks) >= FEWEST and not sample.stopped for sample in samples)
    )
    if may_be_judged:
        differences = pairwise_differences(block_logs(samples)[1], roundings(samples))
        # Either of two equal points may be ruled out, so that chance names the other at 2 × ALPHA / 2.
        may_be_fastest = may_be_best(differences, 0, ALPHA / 2)
    candidates = int(may_be_fastest.sum()) or len(points) - 1
    comparisons = compare_points(pairs, [(1 - settings.level) / candidates] * len(pairs))
    for number, (compared, is_separable) in enumerate(zip(comparisons, separable, strict=True), 1):
        shift = compared.shift
        if not np.isnan(shift.estimate):
            longer[0, number] = shift.estimate
        if is_separable:
            longer[1:, number] = shift.low, shift.high
            coverage[number] = bonferroni_coverage(shift.coverage, candidates)
        else:
            longer[1:, number] = np.nan
    return may_be_fastest, longer, coverage


def winners(fastest: pd.DataFrame) -> pd.DataFrame:
    """Summarise the table ``fastest`` in a row for each count.

    Returns
    -------
    DataFrame
        Columns `POINT` and:

        - ``nodes``: missing if competitors have different numbers of nodes,
        - ``interconnects``: number of competitors,
        - ``interconnect, kind, seconds``: the fastest,
        - ``next_interconnect, next_kind``: the next,
        - ``lead_percent, lead_low, lead_high``: how much longer the next takes,
        - ``spread_percent, spread_low, spread_high``: how much longer the slowest takes,
        - ``rivals``: number of others that may be the fastest; missing if this is unknown and none is equal,
        - ``candidates``: names of all that may be the fastest,
        - ``equal``: names of all that are as fast as the fastest.
    """
    rows = []
    by_nodes = fastest["unit"] == NODES
    fastest = fastest.assign(
        processes=fastest["processes"].mask(by_nodes), at_nodes=fastest["nodes"].where(by_nodes)
    )
    for _, group in fastest.groupby([*POINT, "at_nodes"], dropna=False, sort=False):
        points = group.sort_values("place")
        first, second, last = points.iloc[0], points.iloc[1], points.iloc[-1]
        nodes = points["nodes"].dropna().unique()
        equal = points["longer_percent"].fillna(0).abs() <= 100 * EQUAL
        may_be_fastest = points["may_be_fastest"].fillna(False) | equal
        row = {name: first[name] for name in POINT} | {
            "nodes": nodes[0] if len(nodes) == 1 and points["nodes"].notna().all() else None,
            "interconnects": len(points),
            **{name: first[name] for name in ("interconnect", "kind", "seconds")},
            **{f"next_{name}": second[name] for name in ("interconnect", "kind")},
            **{f"lead_{end}": second[f"longer_{end}"] for end in ("percent", "low", "high")},
            **{f"spread_{end}": last[f"longer_{end}"] for end in ("percent", "low", "high")},
        }
        is_decided = points["may_be_fastest"].notna().all() or equal.sum() > 1
        row["rivals"] = int(may_be_fastest.sum()) - 1 if is_decided else None
        for name, members in {"candidates": may_be_fastest, "equal": equal}.items():
            row[name] = tuple(points.loc[members, "interconnect"])
        rows.append(row)
    return pd.DataFrame(rows, columns=WINNERS).sort_values([*POINT, "nodes"], ignore_index=True)
