"""What the speed of the machine explains of the scatter of comparisons, and the comparisons without it.

A fixed piece of work is timed beside long repetitions. Interconnects are compared on the same cores, in
random order, so the ratio of its times beside both is 1 on average, whatever the two bring: a control variate
of known mean (Lavenberg and Welch, Management Science 27, 1981, 322). How far ratios of run times follow it
is found by regression, within pairs, over all counts of a case. Every block is adjusted by the slope of the
other blocks, so that what is left is no smaller than the slope deserves.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import permutations
from typing import NamedTuple

import numpy as np
import pandas as pd

from analysis.curves.compared import compare_points, one_of_several, percent_columns
from analysis.curves.points import Sample
from analysis.runs.columns import (
    COUNT,
    NOTE,
    NUMBER,
    OF_AN_IMPROVEMENT,
    POSITIVE,
    SHARE,
    THREADS,
    in_percent,
    table_schemas,
    validated,
)
from analysis.runs.frames import is_missing
from analysis.runs.kinds import side
from analysis.runs.runs import valid_rows
from analysis.statistics import Floats, Integers
from analysis.statistics.shift import EQUAL, paired_shift

PROBE = "speed_probe_seconds"
"""Column of a runs table with the time of the fixed piece of work."""
FEWEST = 5
"""Blocks that both interconnects need in common."""
ENUMERATED = 7
"""Blocks up to which all their orders are enumerated."""
DRAWN = 9_999
"""Orders that are drawn of more blocks."""
EXPLAINS = 0.05
"""p-value up to which the speed explains the times."""
BIASED = 0.01
"""p-value up to which the fixed work itself differs between two interconnects, so that it may not be used."""

ADJUSTED = table_schemas(
    adjusted=dict(
        **OF_AN_IMPROVEMENT,
        **THREADS,
        processes_per_node=POSITIVE,
        blocks=COUNT,
        slope=NUMBER,
        probe_p_value=SHARE,
        explained_percent=NUMBER,
        **in_percent("improvement"),
        **in_percent("adjusted"),
        adjusted_coverage=SHARE,
        narrower_percent=NUMBER,
        note=NOTE,
    )
)
"""Schema of the table of this module by its name."""


class Ratios(NamedTuple):
    """Two interconnects at one process count: blocks (n,), log ratios of run times and of the fixed work."""

    blocks: Integers
    times: Floats
    speeds: Floats


class Effect(NamedTuple):
    """How ratios of run times follow those of the fixed work.

    Attributes
    ----------
    slope : float
        By how many percent a ratio of times grows with one percent more of the fixed work.
    p_value : float
        Of the slope being 0 or less, over all orders of the blocks.
    explained : float
        Share of the variance of the ratios.
    squares : float
        Sum of squared deviations of the fixed work, on which the slope rests.
    without : dict
        Slope without a block, by its number.
    """

    slope: float
    p_value: float
    explained: float
    squares: float
    without: dict[int, float]


def speed_effect(series: Sequence[Ratios]) -> Effect | None:
    """Find how far ratios of run times follow those of the fixed work.

    One slope for all series, each about its own means. The test permutes blocks: whole ones, of all series at
    once, since what happens to a machine happens to all that is run then. Orders are enumerated up to
    `ENUMERATED` blocks, else drawn.

    Parameters
    ----------
    series : sequence of Ratios
        Of `FEWEST` blocks each.

    Returns
    -------
    Effect or None
        None where nothing varies.
    """
    blocks = np.unique(np.concatenate([ratios.blocks for ratios in series]))
    times, speeds = np.zeros((2, len(series), len(blocks)))
    grown = np.empty(len(series))  # of a product of deviations that is left out, what the sum loses
    for row, ratios in enumerate(series):
        there = np.searchsorted(blocks, ratios.blocks)
        times[row, there] = ratios.times - ratios.times.mean()
        speeds[row, there] = ratios.speeds - ratios.speeds.mean()
        grown[row] = len(there) / (len(there) - 1)
    both, own, least = times.T @ speeds, (speeds**2).sum(), EQUAL**2 * times.size
    if own <= least or (times**2).sum() <= least:
        return None
    slope = np.trace(both) / own
    left, own_left = np.trace(both) - grown @ (times * speeds), own - grown @ speeds**2
    without = np.divide(left, own_left, out=np.zeros_like(left), where=own_left > least)
    order = np.arange(len(blocks))
    of_orders = both[order, _orders(len(blocks))].sum(axis=1)
    reached = of_orders >= np.trace(both) - 1e-9 * np.abs(both).sum()
    explained = slope * np.trace(both) / (times**2).sum()
    of_blocks = dict(zip(blocks.tolist(), without.tolist(), strict=True))
    return Effect(float(slope), float(reached.mean()), float(explained), float(own), of_blocks)


@cache
def _orders(count: int) -> Integers:
    """Orders (orders, count) of so many blocks, the one that they have among them."""
    if count <= ENUMERATED:
        return np.array(list(permutations(range(count))))
    drawn = np.random.default_rng(count).permuted(np.tile(np.arange(count), (DRAWN, 1)), axis=1)
    return np.vstack([np.arange(count), drawn])


def adjusted_times(ratios: Ratios, effect: Effect) -> Floats:
    """Log ratios of run times (n,), less what the slope of the other blocks makes of those of the fixed work.

    They are spread about their median by sqrt(1 + n m^2 / S), with the mean m of the fixed work's ratios and
    the sum of squares S: what the slope's own error adds to that of a mean in an analysis of covariance.
    """
    slopes = np.array([effect.without[block] for block in ratios.blocks.tolist()])
    steady = ratios.times - slopes * ratios.speeds
    middle = np.median(steady)
    wider = np.sqrt(1 + len(steady) * ratios.speeds.mean() ** 2 / effect.squares)
    return middle + (steady - middle) * wider


def make_adjusted(runs: pd.DataFrame, improvement: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Make the table ``adjusted``: each paired comparison without what the speed of the machine explains.

    Parameters
    ----------
    improvement : DataFrame
        The table of that name. An adjusted interval is at the level of the plain one. There is no further
        test: two of one comparison would be two chances.

    Returns
    -------
    dict of DataFrame
        By its name; nothing where no run has a fixed piece of work beside it. What is not adjusted says why.
    """
    if PROBE not in runs or not runs[PROBE].notna().any():
        return {}
    timed = _by_block(runs)
    rows: list[dict[str, object]] = []
    paired = improvement[improvement["paired"]] if len(improvement) else improvement
    for _, compared in paired.groupby("case", sort=False) if len(paired) else ():
        lines = compared.to_dict("records")
        found = [(line, _series(timed, line)) for line in lines]
        if series := [ratios for _, counts in found for ratios in counts.values()]:
            effect = speed_effect(series)
            rows += [_row(line, counts.get(line["at_processes"]), effect) for line, counts in found]
    return {name: validated(schema, pd.DataFrame(rows)) for name, schema in ADJUSTED.items()} if rows else {}


def _by_block(runs: pd.DataFrame) -> pd.DataFrame:
    """Median log times of runs and of the fixed work beside them, by point and block."""
    known = valid_rows(runs)
    known = known[known[PROBE].notna() & known["interconnect"].notna()]
    logs = pd.DataFrame({"times": np.log(known["seconds"]), "speeds": np.log(known[PROBE])})
    keys = ["case", "interconnect", "kind", "oversubscription", "nodes", "processes", "threads", "block"]
    return logs.groupby([known[name] for name in keys], dropna=False).median().reset_index()


def _series(timed: pd.DataFrame, line: dict[str, object]) -> dict[int, Ratios]:
    """Ratios of the baseline's times to the other's, by process count."""
    sides = []
    for which, name in enumerate(("baseline_interconnect", "interconnect")):
        kind = side(str(line["kind"]), which)
        mine = (timed["case"] == line["case"]) & (timed["oversubscription"] == line["oversubscription"])
        mine &= timed["threads"] == line["threads"]
        mine &= (timed["interconnect"] == line[name]) & (timed["kind"] == kind)
        if not is_missing(line["processes_per_node"]):
            mine &= timed["processes"] == timed["nodes"] * line["processes_per_node"]
        sides.append(timed[mine])
    both = sides[0].merge(sides[1], on=["processes", "block"], suffixes=("", "_other"))
    return {
        int(count): Ratios(
            some["block"].to_numpy(np.int64),
            (some["times"] - some["times_other"]).to_numpy(float),
            (some["speeds"] - some["speeds_other"]).to_numpy(float),
        )
        for count, some in both.sort_values("block").groupby("processes")
        if len(some) >= FEWEST
    }


def _row(line: dict[str, object], ratios: Ratios | None, effect: Effect | None) -> dict[str, object]:
    row = {
        name: line[name]
        for name in (*OF_AN_IMPROVEMENT, *THREADS, "processes_per_node", *in_percent("improvement"))
    }
    if effect:
        row |= {"slope": effect.slope, "probe_p_value": effect.p_value}
        row["explained_percent"] = 100 * effect.explained
    row["blocks"] = None if ratios is None else len(ratios.blocks)
    hindrance = _hindrance(line, ratios, effect)
    if hindrance or ratios is None or effect is None:
        return row | {"note": hindrance}
    logs = adjusted_times(ratios, effect)
    other = Sample(ratios.blocks, np.ones(len(logs)))
    pair = (Sample(ratios.blocks, np.exp(logs)), other, True)
    missed, several = 1 - float(line["coverage"]), int(line["candidates"])
    shift = compare_points([pair], [missed / several + 1e-9])[0].shift
    columns = percent_columns("adjusted", shift)
    low, high = (float(line[f"improvement_{end}"]) for end in ("low", "high"))
    if not low <= columns["adjusted_percent"] <= high:
        return row | {"note": "not given: it would move the estimate beyond its interval"}
    width, plain = shift.high - shift.low, np.log1p(high / 100) - np.log1p(low / 100)
    narrower = 100 * (1 - width / plain) if plain > 0 else np.nan
    coverage = one_of_several(shift.coverage, several)
    return row | columns | {"adjusted_coverage": coverage, "narrower_percent": narrower}


def _hindrance(line: dict[str, object], ratios: Ratios | None, effect: Effect | None) -> str | None:
    """Say why a comparison is not adjusted."""
    if ratios is None or len(ratios.blocks) != line["blocks"]:
        return f"the speed is not known in all blocks, or in fewer than {FEWEST}"
    if line["at_processes"] != line["at_processes_other"]:
        return "compared at two counts"
    if effect is None:
        return "nothing varies"
    if effect.p_value > EXPLAINS:
        return "the speed does not explain the times"
    if is_missing(line["improvement_low"]):
        return "without an interval there is nothing to narrow"
    if paired_shift(ratios.speeds[None], BIASED).p_value[0] <= BIASED:
        return "the fixed work itself differs between the two interconnects"
    return None
