"""Is a node slower than the others?

A run waits for its slowest node, so a slow node delays every run that uses it. Points that leave nodes free
use different nodes in each block, drawn at random. The test repeats this draw.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from analysis.presentation import formats, style
from analysis.presentation.axes import name_rows
from analysis.presentation.blocks import Section, bullets, section
from analysis.presentation.content import Content
from analysis.presentation.drawing import Drawing, new_drawing, shortened
from analysis.presentation.formats import counted, listed
from analysis.presentation.labels import level_of
from analysis.presentation.marks import Point, draw_points
from analysis.presentation.rows import line_table, numbers, p_value, percent_cell, texts
from analysis.presentation.style import FigureLabels
from analysis.runs.columns import (
    COUNT,
    FLAG,
    SHARE,
    TEXT,
    described,
    in_percent,
    table_schema,
    table_schemas,
    validated,
    with_descriptions,
)
from analysis.runs.frames import Tables, percent_interval
from analysis.runs.groups import Groups, coded
from analysis.runs.runs import NODE_NAMES, valid_rows
from analysis.runs.settings import Settings
from analysis.statistics import Floats, Integers
from analysis.statistics.shift import EQUAL
from analysis.topics.quality.tables import POINT
from analysis.topics.topic import Topic, View

STRICTER = 20
"""Divisor of alpha for slow-node tests: a flag sends an operator to the node."""
REACHED = 5
"""Most orders of the blocks, the observed order included, that may be as extreme as a flagged node.

The number of drawn orders follows from it."""
NUMBERS_AT_ONCE = 2**22
"""Numbers that `_permuted` holds in memory at once."""
SCHEMAS = table_schemas(
    table_schema(
        "nodes",
        "One row per node of a cluster, with the difference in time of the runs that include it. "
        "It needs points that ran both with and without the node. Points with runs that were "
        "stopped at their time limit are left out.",
        node=described(TEXT, "Name of the node."),
        runs=described(COUNT, "Valid runs that include the node."),
        blocks=described(
            COUNT,
            "Blocks of the compared points (case, process count and oversubscription) that include the node.",
        ),
        **with_descriptions(
            in_percent("slower"),
            slower_percent="Increase of the time over runs of the same points without the node. After a slow "
            "node, other nodes are judged from runs without that node. The intervals of all nodes"
            " hold at once.",
        ),
        p_value=described(
            SHARE,
            "Probability, if no node differed, that the largest deviation of all nodes is at least as"
            " large: by permutation of the blocks.",
        ),
        slow=described(
            FLAG,
            "Whether the node is flagged as slow: its interval is above 0, and `p_value` is at most a"
            " twentieth of the level of tests.",
        ),
    )
)

_SIZE_OF_RUN = ["case", "oversubscription", "processes", "threads", "nodes"]
_POINT = [*_SIZE_OF_RUN, "interconnect", "kind"]


class Blocks(NamedTuple):
    """Mean times of runs, one for each block, size of runs and set of nodes: the units of the test.

    Attributes
    ----------
    stratum : array (blocks,)
        Number of the stratum; blocks of a stratum ran the same points.
    logs : array (blocks,)
        Log ratio of the block's times to the mean times of its points.
    used : array (nodes, blocks)
        Whether the block used a node.
    """

    stratum: Integers
    logs: Floats
    used: NDArray[np.bool_]


class Effects(NamedTuple):
    """Effect of each node, arrays (nodes,); NaN if no points ran both with and without the node.

    Attributes
    ----------
    slower, low, high : array
        Log ratio of times with the node to times without it; the intervals hold for all nodes at once.
    p_value : array
        Probability of an effect as large, on whichever node, if no node differs.
    """

    slower: Floats
    low: Floats
    high: Floats
    p_value: Floats


def make_nodes(runs: pd.DataFrame, settings: Settings) -> Tables:
    """Make the table ``nodes``: how much slower each node is, and which nodes are slow beyond chance.

    The slowest node is tested first. Once a node is flagged, the other nodes are tested on the runs that did
    not use it.

    Parameters
    ----------
    runs : DataFrame
        As `analysis.runs.runs.read_runs` returns it.
    settings : Settings
        A node is slow at level `alpha` / `STRICTER`, for all nodes at once; intervals are at `alpha`.

    Returns
    -------
    dict of DataFrame
        Empty if the names of nodes are unknown, if no node was both used and left out by runs of the same
        points, or if the study is unfinished.
    """
    if settings.unfinished or NODE_NAMES not in runs:
        return {}
    named = valid_rows(runs[runs[NODE_NAMES].notna() & ~in_stopped_points(runs)])
    names, blocks = _blocks(named)
    effects = Effects(*np.full((4, len(names)), np.nan))
    slow = np.zeros(len(names), bool)
    for current, worst in _stepwise_effects(blocks, settings.alpha):
        estimated = ~np.isnan(current.slower) & ~slow
        for values, new in zip(effects, current, strict=True):
            values[estimated] = new[estimated]
        slow[worst] = True
    if np.isnan(effects.slower).all():
        return {}
    runs_per_node = named[NODE_NAMES].str.split().explode().value_counts()
    percent = [100 * np.expm1(ends) for ends in effects[:3]]
    table = pd.DataFrame(dict(zip(in_percent("slower"), percent, strict=True)))
    table = table.assign(node=names, runs=runs_per_node[names].to_numpy(), blocks=blocks.used.sum(axis=1))
    table = table.assign(p_value=effects.p_value, slow=slow)
    table = table.sort_values("slower_percent", ascending=False, kind="stable", ignore_index=True)
    return {"nodes": validated(SCHEMAS["nodes"], table)}


def in_stopped_points(runs: pd.DataFrame) -> NDArray[np.bool_]:
    """Return whether each row is a run of a point with a run that was stopped at its time limit."""
    if "censored" not in runs:
        return np.zeros(len(runs), bool)
    point = Groups.of(*(coded(runs[name])[0] for name in ("site", *_POINT))).number
    return np.isin(point, point[runs["censored"]])


def _blocks(runs: pd.DataFrame) -> tuple[list[str], Blocks]:
    """Return the sorted names of all nodes, and the blocks."""
    point = Groups.of(*(coded(runs[name])[0] for name in _POINT)).number
    logs = np.log(runs["seconds"].to_numpy(float))
    means = np.bincount(point, logs) / np.bincount(point) if len(point) else logs
    runs = runs.assign(logs=logs - means[point], interconnect=runs["interconnect"].fillna(""))
    keys = [*_SIZE_OF_RUN, "block", NODE_NAMES]
    grouped = runs.sort_values("interconnect").groupby(keys, sort=True, dropna=False)
    rows = grouped.agg(logs=("logs", "mean"), interconnects=("interconnect", ",".join)).reset_index()
    stratum = Groups.of(*(coded(rows[name])[0] for name in [*_SIZE_OF_RUN, "interconnects"])).number
    used = rows[NODE_NAMES].str.get_dummies(" ").astype(bool)
    names = [str(name) for name in used.columns]
    return names, Blocks(stratum, rows["logs"].to_numpy(float), used.to_numpy().T)


def _stepwise_effects(blocks: Blocks, alpha: float) -> Iterator[tuple[Effects, Integers]]:
    """Yield the effects of all nodes and the clearest slow node, then the same without blocks of this node.

    The clearest slow node has the narrowest interval relative to its effect. The last array of nodes is
    empty, since no node is slow.
    """
    while True:
        effects = node_effects(blocks, alpha)
        slow_nodes = np.flatnonzero((effects.p_value <= alpha / STRICTER) & (effects.low > 0))
        relative_width = (effects.slower - effects.low) / effects.slower
        clearest = slow_nodes[np.argsort(relative_width[slow_nodes])[:1]]
        yield effects, clearest
        if not len(clearest):
            return
        without_node = ~blocks.used[clearest[0]]
        blocks = Blocks(blocks.stratum[without_node], blocks.logs[without_node], blocks.used[:, without_node])


def node_effects(blocks: Blocks, alpha: float) -> Effects:
    """Compare blocks with and without each node, stratum by stratum.

    The estimate is the difference of the means within strata, weighted by their precision. The test permutes
    the blocks of each stratum, which is exact if the nodes were drawn at random. Its statistic is the largest
    effect of all nodes, so it holds for all nodes at once (Westfall and Young, Resampling-based multiple
    testing, 1993). Intervals are Student's t intervals at 1 − alpha/nodes.
    """
    nodes, _ = blocks.used.shape
    strata = Groups.of(blocks.stratum)
    stratum, size = strata.number, strata.size
    logs = blocks.logs - (np.bincount(stratum, blocks.logs) / size)[stratum]
    variance = np.bincount(stratum, logs**2) / np.maximum(size - 1, 1)
    freedom = len(stratum) - len(size) - 1
    median_variance = np.median(variance[size > 1]) if (size > 1).any() else 0.0
    if freedom < 1 or median_variance + variance.max() <= EQUAL**2:
        return Effects(*np.full((4, nodes), np.nan))
    weight = 1 / (variance + median_variance)[stratum]
    share_of_stratum = np.stack([np.bincount(stratum, used) for used in blocks.used]) / size
    contrast = (blocks.used - share_of_stratum[:, stratum]) * weight
    precision = (contrast * blocks.used).sum(axis=1)  # 1 / variance of the effect, up to a factor
    precision[precision < 1e-9 * weight.max()] = np.nan
    slower = contrast @ logs / precision
    residual_variance = np.maximum((weight * logs**2).sum() - slower**2 * precision, 0) / freedom
    quantile = stats.t.isf(alpha / 2 / max(np.isfinite(precision).sum(), 1), freedom)
    half_width = quantile * np.sqrt(residual_variance / precision)
    scaled_contrast = np.nan_to_num(contrast / np.sqrt(precision)[:, None])
    orders = math.ceil(REACHED * STRICTER / alpha) - 1
    largest = np.concatenate(
        [np.abs(scaled_contrast @ permuted).max(axis=0) for permuted in _permuted(strata, logs, orders)]
    )
    is_reached = largest >= np.abs(slower * np.sqrt(precision))[:, None] * (1 - 1e-9)
    p_values = np.where(np.isnan(slower), np.nan, (1 + is_reached.sum(axis=1)) / (1 + orders))
    return Effects(slower, slower - half_width, slower + half_width, p_values)


def _permuted(groups: Groups, logs: Floats, orders: int) -> Iterator[Floats]:
    """Yield arrays (blocks, n) of log times, each column in a random order within each group.

    The total number of columns is `orders`.
    """
    rng = np.random.default_rng(len(logs))
    step = max(NUMBERS_AT_ONCE // len(logs), 1)
    for start in range(0, orders, step):
        permuted = np.empty((len(logs), min(step, orders - start)))
        for first, size in zip(groups.first, groups.size, strict=True):
            rows = groups.order[first : first + size]
            permuted[rows] = rng.permuted(np.repeat(logs[rows][:, None], permuted.shape[1], axis=1), axis=0)
        yield permuted


MOST_NODES = 40
"""Largest number of nodes in the figure: the slowest."""
ROW_HEIGHT, MARGIN = 0.2, 0.6
"""Height of a row, and of the figure without its rows, in inches."""
NORMAL, SLOW = style.Look(style.INK, "o"), style.Look(style.COLOURS[0], "s")


def draw_nodes(view: View) -> list[Drawing]:
    """Draw the table ``nodes`` if the study has it."""
    return node_figures(view.tables["nodes"], view.labels) if "nodes" in view.tables else []


def node_figures(nodes: pd.DataFrame, labels: FigureLabels) -> list[Drawing]:
    """Draw the table ``nodes``: one row per node, the slowest on top."""
    estimated = nodes[nodes["slower_percent"].notna()]
    shown = estimated.head(MOST_NODES).to_dict("records")
    caption = (
        "Extra time of runs on each node, compared with runs of the same points on other nodes. The "
        f"{level_of(labels.facts)} intervals are simultaneous for all nodes. Squares are slow nodes."
    )
    if len(estimated) > MOST_NODES:
        caption += f" The figure shows the {MOST_NODES} slowest of {len(estimated)} nodes."
    alt = "Effect of each node on the times of its runs in percent, with intervals."
    points = []
    for place, row in enumerate(shown):
        value, low, high = percent_interval(row, "slower")
        text = f"{row['node']}\n{formats.bracketed_percent(value, low, high)}"
        points.append(Point(value, place, SLOW if row["slow"] else NORMAL, None, text, low, high))
    with new_drawing("nodes", "nodes", ROW_HEIGHT * len(shown) + MARGIN, caption, alt) as drawing:
        axes = drawing.figure.subplots()
        axes.axvline(0, color=style.IDEAL, linewidth=0.8, zorder=1)
        name_rows(axes, [shortened(row["node"], 34, lines=1) for row in shown])
        draw_points(drawing, axes, points, hollow=True, across=True)
        axes.set_xlabel("Slower than the others (%)")
    return [drawing]


def node_section(content: Content) -> Section | None:
    """Name each node that operators should inspect, and tabulate the effects of all nodes."""
    if "nodes" not in content.tables:
        return None
    table = content.tables["nodes"].sort_values("slow", ascending=False, kind="stable")
    fields = [
        texts("Node", str, "node"),
        *([texts("Site", str, "site")] if table["site"].notna().any() else []),
        numbers("Runs", formats.whole, "runs"),
        numbers("Blocks", formats.whole, "blocks"),
        numbers("Slower by (%)", percent_cell("slower")),
        numbers("p", p_value, "p_value"),
    ]
    caption = "Extra time of runs on each node, compared with runs of the same points on other nodes."
    printed = line_table(caption, fields, table.to_dict("records"), of_cases=False)
    sentences = node_sentences(table, level_of(content.facts)) + stopped_sentences(content.runs)
    return section("nodes", "Nodes", [bullets(sentences), *content.figures("nodes"), printed])


def node_sentences(table: pd.DataFrame, level: str) -> list[str]:
    """Name each slow node of the table ``nodes`` with its effect.

    If no node is slow, state the largest effect that the intervals do not exclude.
    """
    estimated = table[table["slower_percent"].notna()]
    count = counted(len(estimated), "node")
    at_once = f"{level} interval and the p-value hold for all {count} together"
    sentences = [
        f"Node {row['node']} is slow: its runs take "
        f"{formats.percent_with_interval(*percent_interval(row, 'slower'))} longer than runs of the same "
        f"points on other nodes, with {formats.p_value(row['p_value'])}. The {at_once}. Report the node to "
        "the operators."
        for row in estimated[estimated["slow"]].to_dict("records")
    ]
    if not sentences:
        ends = estimated["slower_high"].dropna()
        limit = f". No node is more than {formats.percent(ends.max())} slower" if len(ends) else ""
        sentences = [f"None of {count} is significantly slow{limit}."]
    missing = table.loc[table["slower_percent"].isna(), "node"]
    if len(missing):
        sentences.append(f"There are too few comparable runs to judge {listed(missing)}.")
    return sentences


def stopped_sentences(runs: pd.DataFrame) -> list[str]:
    """Count the points on named nodes that are left out because runs were stopped at their time limit."""
    left_out = runs[in_stopped_points(runs) & runs[NODE_NAMES].notna()].drop_duplicates(["site", *POINT])
    if left_out.empty:
        return []
    verb = "is" if len(left_out) == 1 else "are"
    return [
        f"{counted(len(left_out), 'point')} {verb} left out, because some runs were stopped at their time "
        "limit. The effect of a node on such a run is unknown."
    ]


TOPIC = Topic(
    name="nodes",
    schemas=SCHEMAS,
    make=lambda context: make_nodes(context.runs, context.settings),
    by_site=True,
    draw=draw_nodes,
    section=node_section,
    in_appendix=True,
)
