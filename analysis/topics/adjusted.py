"""How large are differences between interconnects on a machine of constant speed?

A fixed piece of work, the speed probe, is timed together with long repetitions. Interconnects are compared on
the same cores in random order, so the expected ratio of their probe times is 1. The probe is therefore a
control variate of known mean (Lavenberg and Welch, Management Science 27, 1981, 322).

A regression over all pairs and process counts of a case estimates the slope of run times against probe times.
Each block is adjusted with the slope of the other blocks, so that the scatter of the adjusted times is not
too small.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import permutations
from typing import NamedTuple

import numpy as np
import pandas as pd

from analysis.curves.point_comparison import bonferroni_coverage, compare_points, percent_columns
from analysis.curves.points import Sample
from analysis.presentation import formats
from analysis.presentation.blocks import Section, bullets, section
from analysis.presentation.content import Content
from analysis.presentation.formats import MISSING, counted
from analysis.presentation.rows import line_table, numbers, percent_cell, texts, with_levels
from analysis.runs.columns import (
    COUNT,
    IMPROVEMENT_KEY,
    NOTE,
    NUMBER,
    POSITIVE,
    SHARE,
    THREADS,
    described,
    in_percent,
    table_schema,
    table_schemas,
    validated,
    with_descriptions,
)
from analysis.runs.frames import Line, as_lines, is_missing
from analysis.runs.groups import Floats, Integers
from analysis.runs.kinds import side
from analysis.runs.runs import valid_rows
from analysis.statistics.shift import EQUAL, paired_shift
from analysis.topics.topic import Topic

PROBE = "speed_probe_seconds"
"""Column of a runs table with the time of the speed probe."""
FEWEST = 5
"""Blocks that both interconnects need in common."""
ENUMERATED = 7
"""Largest number of blocks whose orders are all enumerated."""
DRAWN = 9_999
"""Orders that are drawn for more blocks."""
EXPLAINS = 0.05
"""Largest p-value at which the speed of the machine counts as an explanation of the times."""
BIASED = 0.01
"""Largest p-value at which the probe itself differs between two interconnects and is not used."""

ADJUSTED = table_schemas(
    table_schema(
        "adjusted",
        "One row per paired improvement whose repetitions have a speed probe, a fixed piece of "
        "work. It estimates the comparison on a machine of constant speed.",
        **with_descriptions(IMPROVEMENT_KEY, at_processes="Process count of the comparison."),
        **THREADS,
        processes_per_node=POSITIVE,
        blocks=described(COUNT, "Blocks in which both have a probe."),
        slope=described(
            NUMBER,
            "Increase of the ratio of run times, in percent, per percent of the ratio of probe times,"
            " over all counts of the case.",
        ),
        probe_p_value=described(
            SHARE, "One-sided p-value of a slope of 0 or less, over all orders of the blocks."
        ),
        explained_percent=described(NUMBER, "Share of the variance of the ratios that the probe explains."),
        **with_descriptions(in_percent("improvement"), improvement_percent="As in `improvement`."),
        **with_descriptions(
            in_percent("adjusted"),
            adjusted_percent="The same from adjusted ratios, each with the slope of the other "
            "blocks; if empty, "
            "`note` gives the reason.",
        ),
        adjusted_coverage=described(SHARE, "Coverage of the adjusted interval."),
        narrower_percent=described(
            NUMBER,
            "Reduction of the interval's width by the adjustment, in log ratios; negative if it is wider.",
        ),
        note=NOTE,
    )
)

ABOUT = (
    "A speed probe is a fixed piece of work of 0.1 s. Nodeworth timed the probe before and after each long "
    "run on the cores of the run. If run times rise significantly with probe times, the table also shows "
    "comparisons adjusted to a constant speed of the machine. All verdicts use only the comparisons without "
    "adjustment."
)


class Ratios(NamedTuple):
    """Two interconnects at one process count: blocks (n,), log ratios of run times and of probe times."""

    blocks: Integers
    times: Floats
    speeds: Floats


class Effect(NamedTuple):
    """Dependence of the ratios of run times on the ratios of probe times.

    Attributes
    ----------
    slope : float
        Percent by which a ratio of run times grows per percent of the ratio of probe times.
    p_value : float
        Test of a slope of 0 or less, over all orders of the blocks.
    explained : float
        Explained share of the variance of the ratios.
    squares : float
        Sum of squared deviations of the probe's log ratios.
    without : dict
        Slope from all other blocks, by the number of the block that is left out.
    """

    slope: float
    p_value: float
    explained: float
    squares: float
    without: dict[int, float]


def speed_effect(series: Sequence[Ratios]) -> Effect | None:
    """Estimate the slope of ratios of run times against ratios of probe times.

    All series share one slope. The mean of each series is subtracted from its values. The test permutes whole
    blocks of all series together, since a change of the machine's speed affects all runs of a block. All
    orders of up to `ENUMERATED` blocks are enumerated; for more blocks, `DRAWN` orders are drawn.

    Parameters
    ----------
    series : sequence of Ratios
        Each has at least `FEWEST` blocks.

    Returns
    -------
    Effect or None
        None if run times or probe times do not vary.
    """
    blocks = np.unique(np.concatenate([ratios.blocks for ratios in series]))
    times, speeds = np.zeros((2, len(series), len(blocks)))
    # A series without one of its n blocks has other means: its sum of products loses n / (n - 1) times the
    # product of the block.
    lost_factor = np.empty(len(series))
    for row, ratios in enumerate(series):
        columns = np.searchsorted(blocks, ratios.blocks)
        times[row, columns] = ratios.times - ratios.times.mean()
        speeds[row, columns] = ratios.speeds - ratios.speeds.mean()
        lost_factor[row] = len(columns) / (len(columns) - 1)
    negligible = EQUAL**2 * times.size
    sum_of_squares, times_squares = (speeds**2).sum(), (times**2).sum()
    if sum_of_squares <= negligible or times_squares <= negligible:
        return None
    products = times.T @ speeds
    sum_of_products = np.trace(products)
    slope = sum_of_products / sum_of_squares
    products_without = sum_of_products - lost_factor @ (times * speeds)
    squares_without = sum_of_squares - lost_factor @ speeds**2
    slopes_without = np.divide(
        products_without,
        squares_without,
        out=np.zeros_like(products_without),
        where=squares_without > negligible,
    )
    original_order = np.arange(len(blocks))
    permuted_sums = products[original_order, _orders(len(blocks))].sum(axis=1)
    is_at_least = permuted_sums >= sum_of_products - 1e-9 * np.abs(products).sum()
    explained = slope * sum_of_products / times_squares
    without = dict(zip(blocks.tolist(), slopes_without.tolist(), strict=True))
    return Effect(float(slope), float(is_at_least.mean()), float(explained), float(sum_of_squares), without)


@cache
def _orders(count: int) -> Integers:
    """Return orders (orders, count) of `count` blocks, including the original order."""
    if count <= ENUMERATED:
        return np.array(list(permutations(range(count))))
    drawn = np.random.default_rng(count).permuted(np.tile(np.arange(count), (DRAWN, 1)), axis=1)
    return np.vstack([np.arange(count), drawn])


def adjusted_times(ratios: Ratios, effect: Effect) -> Floats:
    """Subtract the effect of the machine's speed from log ratios of run times, array (n,).

    Each block uses the slope of the other blocks. Then the distance of each value from the median is
    multiplied by sqrt(1 + n m^2 / S), with the mean m of the probe's log ratios and the sum S of their
    squared deviations (`Effect.squares`). The factor adds the error of the slope to the error of the mean, as
    in an analysis of covariance.
    """
    slopes = np.array([effect.without[block] for block in ratios.blocks.tolist()])
    steady = ratios.times - slopes * ratios.speeds
    median = np.median(steady)
    spread = np.sqrt(1 + len(steady) * ratios.speeds.mean() ** 2 / effect.squares)
    return median + (steady - median) * spread


def make_adjusted(runs: pd.DataFrame, improvement: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Make the table ``adjusted``: each paired comparison without the effect of the machine's speed.

    Parameters
    ----------
    improvement : DataFrame
        Table ``improvement``. An adjusted interval has the level of the plain interval. An adjusted
        comparison has no test: two tests of one comparison would give it two chances.

    Returns
    -------
    dict of DataFrame
        Empty if no run has a speed probe. Column ``note`` has the reason why a comparison is not adjusted.
    """
    if PROBE not in runs or not runs[PROBE].notna().any() or improvement.empty:
        return {}
    timed = _by_block(runs)
    rows: list[dict[str, object]] = []
    for _, compared in improvement[improvement["paired"]].groupby("case", sort=False):
        pairs = [(line, _series(timed, line)) for line in as_lines(compared)]
        series = [ratios for _, by_count in pairs for ratios in by_count.values()]
        if series:
            effect = speed_effect(series)
            rows += [_row(line, by_count.get(line["at_processes"]), effect) for line, by_count in pairs]
    return {"adjusted": validated(ADJUSTED["adjusted"], pd.DataFrame(rows))} if rows else {}


def _by_block(runs: pd.DataFrame) -> pd.DataFrame:
    """Compute median log times of runs and of their probe, by point and block."""
    rows = valid_rows(runs)
    rows = rows[rows[PROBE].notna() & rows["interconnect"].notna()]
    logs = pd.DataFrame({"times": np.log(rows["seconds"]), "speeds": np.log(rows[PROBE])})
    keys = ["case", "interconnect", "kind", "oversubscription", "nodes", "processes", "threads", "block"]
    return logs.groupby([rows[name] for name in keys], dropna=False).median().reset_index()


def _series(timed: pd.DataFrame, line: Line) -> dict[int, Ratios]:
    """Return the log ratios of a comparison, baseline to the other interconnect, by process count.

    Counts with fewer than `FEWEST` common blocks are left out.

    Parameters
    ----------
    timed : DataFrame
        As `_by_block` returns it.
    line : mapping
        Row of the table ``improvement``.
    """
    sides = []
    for number, column in enumerate(("baseline_interconnect", "interconnect")):
        is_side = timed["kind"] == side(str(line["kind"]), number)
        is_side &= timed["interconnect"] == line[column]
        for key in ("case", "oversubscription", "threads"):
            is_side &= timed[key] == line[key]
        if not is_missing(line["processes_per_node"]):
            is_side &= timed["processes"] == timed["nodes"] * line["processes_per_node"]
        sides.append(timed[is_side])
    baseline, other = sides
    both = baseline.merge(other, on=["processes", "block"], suffixes=("", "_other")).sort_values("block")
    both["times"] -= both["times_other"]  # logarithms: a difference is a log ratio
    both["speeds"] -= both["speeds_other"]
    by_count = {}
    for count in sorted(both["processes"].unique().tolist()):
        rows = both[both["processes"] == count]
        if len(rows) >= FEWEST:
            by_count[int(count)] = Ratios(
                rows["block"].to_numpy(np.int64),
                rows["times"].to_numpy(float),
                rows["speeds"].to_numpy(float),
            )
    return by_count


def _row(line: Line, ratios: Ratios | None, effect: Effect | None) -> dict[str, object]:
    """Make the row of ``adjusted`` for a comparison.

    Parameters
    ----------
    line : mapping
        Row of the table ``improvement``.
    ratios : Ratios, optional
        Ratios at the count of the comparison.
    effect : Effect, optional
        Effect of the machine's speed on the case.
    """
    names = (*IMPROVEMENT_KEY, *THREADS, "processes_per_node", *in_percent("improvement"))
    row: dict[str, object] = {name: line[name] for name in names}
    if effect:
        row |= {"slope": effect.slope, "probe_p_value": effect.p_value}
        row["explained_percent"] = 100 * effect.explained
    row["blocks"] = None if ratios is None else len(ratios.blocks)
    reason = _reason_against(line, ratios, effect)
    if reason or ratios is None or effect is None:
        return row | {"note": reason}
    logs = adjusted_times(ratios, effect)
    # A pair of samples has these log ratios if the second sample is 1 in every block.
    ones = Sample(ratios.blocks, np.ones(len(logs)))
    paired = True
    pair = (Sample(ratios.blocks, np.exp(logs)), ones, paired)
    alpha, candidates = 1 - line["coverage"], int(line["candidates"])
    rounding = 1e-9  # so that rounding does not exclude the level that the blocks attain
    shift = compare_points([pair], [alpha / candidates + rounding])[0].shift
    columns = percent_columns("adjusted", shift)
    low, high = line["improvement_low"], line["improvement_high"]
    if not low <= columns["adjusted_percent"] <= high:
        return row | {"note": "not given: it would move the estimate beyond its interval"}
    width, plain_width = shift.high - shift.low, np.log1p(high / 100) - np.log1p(low / 100)
    return {
        **row,
        **columns,
        "adjusted_coverage": bonferroni_coverage(shift.coverage, candidates),
        "narrower_percent": 100 * (1 - width / plain_width) if plain_width > 0 else np.nan,
    }


def _reason_against(line: Line, ratios: Ratios | None, effect: Effect | None) -> str | None:
    """Return the reason why a comparison cannot be adjusted; None if it can be adjusted."""
    if ratios is None or len(ratios.blocks) != line["blocks"]:
        return f"the speed is missing in some block, or the blocks are fewer than {FEWEST}"
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


def adjusted_section(content: Content) -> Section | None:
    """Write the section that shows each comparison as measured and adjusted to a constant machine speed."""
    if "adjusted" not in content.tables:
        return None
    rows, labels = content.tables["adjusted"], content.labels
    explanations = [f"{labels.case(case)}: {_explained(lines)}" for case, lines in labels.by_case(rows)]
    blocks = [bullets([ABOUT, *explanations])]

    def baseline(line: Line) -> str:
        return f"Over {labels.interconnect(line['baseline_interconnect'], side(str(line['kind']), 0))}"

    if rows["adjusted_percent"].notna().any():
        fields = [
            texts("Case", labels.case, "case"),
            texts(labels.interconnect_head, labels.compared),
            numbers("Processes", formats.whole, "at_processes"),
            numbers("Improvement (%)", percent_cell("improvement")),
            numbers("Adjusted (%)", percent_cell("adjusted")),
            numbers("Narrower by", formats.percent, "narrower_percent"),
            texts("Note", lambda note: MISSING if is_missing(note) else note, "note"),
        ]
        caption = "Improvements as measured, and adjusted to a machine of constant speed."
        keys = ("baseline_interconnect", "oversubscription", "case", "interconnect")
        blocks.append(line_table(caption, fields, labels.lines(rows, *keys), with_levels(rows, baseline)))
    return section("adjusted", "The speed of the machine", blocks)


def _explained(rows: pd.DataFrame) -> str:
    """State how much of a case's scatter the probe explains, and how much narrower its intervals become."""
    first, adjusted = rows.iloc[0], rows[rows["adjusted_percent"].notna()]
    if is_missing(first["slope"]):
        return "the run times or the probe times do not vary."
    test = f"{formats.p_value(first['probe_p_value'])}, permutation test of the blocks"
    if first["probe_p_value"] > EXPLAINS:
        return f"the run times do not rise significantly with the probe times ({test})."
    narrower = adjusted["narrower_percent"]
    share = formats.percent(first["explained_percent"])
    explained = f"the probe times explain {share} of the scatter of the run times ({test})"
    if narrower.dropna().empty:
        return f"{explained}. No comparison is adjusted."
    median, comparisons = formats.percent(narrower.median()), counted(len(adjusted), "comparison")
    return f"{explained}. The adjustment narrows the intervals by {median}, as a median over {comparisons}."


TOPIC = Topic(
    name="adjusted",
    schemas=ADJUSTED,
    make=lambda context: make_adjusted(context.runs, context.tables["improvement"]),
    by_site=True,
    needs=("improvement",),
    directions=("adjusted",),
    section=adjusted_section,
    in_appendix=True,
)
