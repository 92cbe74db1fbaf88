"""Which node of a cluster is slow: what was run on it against the same points without it.

A run waits for its slowest node, so a slow node shows in every run that it is part of. Points that leave
nodes free are on other nodes in each block, drawn at random. The test draws that anew.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from analysis.runs.columns import COUNT, FLAG, SHARE, TEXT, in_percent, table_schemas, validated
from analysis.runs.groups import Groups, coded
from analysis.runs.runs import valid_rows
from analysis.runs.settings import Settings
from analysis.statistics import Floats, Integers
from analysis.statistics.shift import EQUAL

NAMES = "node_names"
"""Column of a runs table with the names of a run's nodes, a blank between them."""
STRICTER = 20
"""A node is told to be slow at a level of so many times less than other tests: somebody is called for it."""
REACHED = 5
"""Orders, that of the runs among them, that may be as far where a node is told; so many are drawn."""
ROOM = 2**22
"""Numbers held at once."""
NODES = table_schemas(
    nodes=dict(node=TEXT, runs=COUNT, blocks=COUNT, **in_percent("slower"), p_value=SHARE, slow=FLAG)
)
"""Schema of the table of this module by its name."""

_SHARED = ["case", "oversubscription", "processes", "threads", "nodes"]
_POINT = [*_SHARED, "interconnect", "kind"]


class Blocks(NamedTuple):
    """Blocks of what is compared, each on certain nodes.

    Attributes
    ----------
    stratum : array (blocks,)
        Equal for blocks of the same points.
    logs : array (blocks,)
        Log time, the mean of its points, over what they take on average.
    used : array (nodes, blocks)
        Whether a node was part of it.
    """

    stratum: Integers
    logs: Floats
    used: NDArray[np.bool_]


class Effects(NamedTuple):
    """Of each node, arrays (nodes,): NaN where nothing of the same points was run with and without it.

    Attributes
    ----------
    slower, low, high : array
        Log ratio of times with it to times without it; the intervals of all nodes hold at once.
    p_value : array
        How often the farthest of all nodes is as far from 0, if none differs.
    """

    slower: Floats
    low: Floats
    high: Floats
    p_value: Floats


def make_nodes(runs: pd.DataFrame, settings: Settings) -> dict[str, pd.DataFrame]:
    """Make the table ``nodes``: by how much each node is slower, and which are slow beyond chance.

    The slowest is looked for first; once it is told, the others are judged by what was run without it.

    Parameters
    ----------
    settings : Settings
        At `alpha` / `STRICTER`, for all nodes at once, one is slow; intervals are at `alpha`.

    Returns
    -------
    dict of DataFrame
        By its name. Nothing where nodes are not known, where nothing was run with and without a node, and
        in an unfinished study.
    """
    if settings.unfinished or NAMES not in runs:
        return {}
    known = valid_rows(runs[runs[NAMES].notna() & ~of_stopped_points(runs)])
    names, blocks = _blocks(known)
    found = Effects(*np.full((4, len(names)), np.nan))
    slow = np.zeros(len(names), bool)
    for effects, worst in _one_after_another(blocks, settings.alpha):
        there = ~np.isnan(effects.slower) & ~slow
        for old, new in zip(found, effects, strict=True):
            old[there] = new[there]
        slow[worst] = True
    if np.isnan(found.slower).all():
        return {}
    held = known[NAMES].str.split().explode().value_counts()
    percent = [100 * np.expm1(ends) for ends in found[:3]]
    table = pd.DataFrame(dict(zip(in_percent("slower"), percent, strict=True)))
    table = table.assign(node=names, runs=held[names].to_numpy(), blocks=blocks.used.sum(axis=1))
    table = table.assign(p_value=found.p_value, slow=slow)
    table = table.sort_values("slower_percent", ascending=False, kind="stable", ignore_index=True)
    return {name: validated(schema, table) for name, schema in NODES.items()}


def of_stopped_points(runs: pd.DataFrame) -> NDArray[np.bool_]:
    """Rows of points that are left out: some run was stopped at its time limit."""
    if "censored" not in runs:
        return np.zeros(len(runs), bool)
    point = Groups.of(*(coded(runs[name])[0] for name in ("site", *_POINT))).number
    return np.isin(point, point[runs["censored"]])


def _blocks(known: pd.DataFrame) -> tuple[list[str], Blocks]:
    """Names of all nodes in their order, and the blocks."""
    point = Groups.of(*(coded(known[name])[0] for name in _POINT)).number
    logs = np.log(known["seconds"].to_numpy(float))
    means = np.bincount(point, logs) / np.bincount(point) if len(point) else logs
    own = known.assign(logs=logs - means[point], interconnect=known["interconnect"].fillna(""))
    together = own.sort_values("interconnect").groupby([*_SHARED, "block", NAMES], sort=True, dropna=False)
    found = together.agg(logs=("logs", "mean"), over=("interconnect", ",".join)).reset_index()
    stratum = Groups.of(*(coded(found[name])[0] for name in [*_SHARED, "over"])).number
    used = found[NAMES].str.get_dummies(" ").astype(bool)
    return list(used), Blocks(stratum, found["logs"].to_numpy(float), used.to_numpy().T)


def _one_after_another(blocks: Blocks, alpha: float) -> Iterator[tuple[Effects, Integers]]:
    """Effects of all nodes and number of the plainest slow one, then of the others, until none is slow."""
    while True:
        effects = node_effects(blocks, alpha)
        slow = np.flatnonzero((effects.p_value <= alpha / STRICTER) & (effects.low > 0))
        plainest = np.argsort(((effects.slower - effects.low) / effects.slower)[slow])[:1]
        yield effects, slow[plainest]
        if not len(slow):
            return
        without = ~blocks.used[slow[plainest[0]]]
        blocks = Blocks(blocks.stratum[without], blocks.logs[without], blocks.used[:, without])


def node_effects(blocks: Blocks, alpha: float) -> Effects:
    """Compare blocks with and without each node, stratum by stratum.

    The estimate is the difference of the means within strata, weighted by their spread. The test permutes the
    blocks of each stratum, which is exact for nodes that were drawn. It takes the farthest of all nodes, so
    that it holds for all at once (Westfall and Young, Resampling-based multiple testing, 1993). Intervals are
    those of Student's t at 1 − alpha/nodes.
    """
    nodes, _ = blocks.used.shape
    groups = Groups.of(blocks.stratum)
    number, size = groups.number, groups.size
    logs = blocks.logs - (np.bincount(number, blocks.logs) / size)[number]
    variance = np.bincount(number, logs**2) / np.maximum(size - 1, 1)
    freedom = len(number) - len(size) - 1
    middle = np.median(variance[size > 1]) if (size > 1).any() else 0.0
    if freedom < 1 or middle + variance.max() <= EQUAL**2:
        return Effects(*np.full((4, nodes), np.nan))
    weight = 1 / (variance + middle)[number]
    shares = np.stack([np.bincount(number, used) for used in blocks.used]) / size
    own = (blocks.used - shares[:, number]) * weight
    squares = (own * blocks.used).sum(axis=1)
    squares[squares < 1e-9 * weight.max()] = np.nan
    slower = own @ logs / squares
    spread = np.maximum((weight * logs**2).sum() - slower**2 * squares, 0) / freedom
    half = stats.t.isf(alpha / 2 / max(np.isfinite(squares).sum(), 1), freedom) * np.sqrt(spread / squares)
    scaled = np.nan_to_num(own / np.sqrt(squares)[:, None])
    orders = math.ceil(REACHED * STRICTER / alpha) - 1
    farthest = np.concatenate(
        [np.abs(scaled @ drawn).max(axis=0) for drawn in _redrawn(groups, logs, orders)]
    )
    reached = farthest >= np.abs(slower * np.sqrt(squares))[:, None] * (1 - 1e-9)
    p_value = np.where(np.isnan(slower), np.nan, (1 + reached.sum(axis=1)) / (1 + orders))
    return Effects(slower, slower - half, slower + half, p_value)


def _redrawn(groups: Groups, logs: Floats, orders: int) -> Iterator[Floats]:
    """Log times (blocks, orders), those of each group in random order, some orders at a time."""
    rng = np.random.default_rng(len(logs))
    step = max(ROOM // len(logs), 1)
    for start in range(0, orders, step):
        drawn = np.empty((len(logs), min(step, orders - start)))
        for first, size in zip(groups.first, groups.size, strict=True):
            rows = groups.order[first : first + size]
            drawn[rows] = rng.permuted(np.repeat(logs[rows][:, None], drawn.shape[1], axis=1), axis=0)
        yield drawn
