"""Which node counts can a request for core-hours defend, by the rule of a computing centre?"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from analysis.curves.curves import Curve
from analysis.runs.columns import (
    COUNT,
    CURVE_COLUMNS,
    NOTE,
    POSITIVE,
    SHARE,
    TEXT,
    described,
    table_schema,
    table_schemas,
    with_descriptions,
    with_interval,
)
from analysis.runs.frames import Piece, Tables, stacked, with_ends
from analysis.runs.settings import Rule, Settings
from analysis.statistics import Floats
from analysis.statistics.bootstrap import percentile_interval
from analysis.statistics.metrics import efficiency
from analysis.topics.money.exchange import Texts, texts_where
from analysis.topics.money.market import joined, nodes_of
from analysis.topics.topic import Context, Topic

PROPOSAL = table_schemas(
    table_schema(
        "proposal",
        "One row per point, judged by the rule of a computing centre.",
        **CURVE_COLUMNS,
        processes_per_node=POSITIVE,
        nodes=COUNT,
        ranks=described(COUNT, "The same as `processes` elsewhere."),
        ranks_per_node=described(POSITIVE, "Ranks per node."),
        n=described(COUNT, "Blocks; empty for simulated rows."),
        **with_descriptions(with_interval("seconds", POSITIVE), seconds="Median time."),
        coverage=described(SHARE, "Probability that its interval covers the median."),
        **with_interval("speedup", POSITIVE),
        reference_seconds=described(POSITIVE, "Time of the reference."),
        reference_processes=described(COUNT, "Processes of the reference."),
        reference_interconnect=described(NOTE, "Interconnect of the reference; empty for the serial run."),
        **with_descriptions(with_interval("efficiency", POSITIVE), efficiency="As in `scaling`."),
        **with_descriptions(
            with_interval("incremental_efficiency", POSITIVE), incremental_efficiency="As in `scaling`."
        ),
        node_hours=described(POSITIVE, "nodes × seconds / 3600, of one run."),
        rule=described(TEXT, "Name of the rule."),
        quantity=described(TEXT, "Quantity that the rule judges."),
        **with_descriptions(with_interval("value", POSITIVE), value="Value of that quantity."),
        at_least=described(POSITIVE, "Minimum of that quantity at this point."),
        verdict=described(
            NOTE,
            "`pass` if the whole interval reaches the minimum, `fail` if none of it does, else "
            "`undecided`; without an interval `would pass (untested)`, `would fail (untested)`.",
        ),
        note=NOTE,
    ),
)

NO_MINIMUM = "the rule has no minimum for this number of cores"
Ends = tuple[Floats, Floats, Floats]
"""Value, low and high end, each (counts,)."""
UNTESTED = ("would pass (untested)", "would fail (untested)")
"""Verdicts from estimates without an interval."""


def proposal_columns(curve: Curve, rule: Rule, settings: Settings, cores_per_node: int | None) -> Piece:
    """Make the scaling table of a curve, judged by a rule.

    `speedup_per_doubling` of neighbouring counts p < q is (S(q) / S(p))^(1 / log2(q / p)). The rule
    "1.5 times per doubling" therefore means T(p) / T(q) >= 1.5^log2(q / p). `judge` compares the interval of
    the quantity with the minimum.

    Parameters
    ----------
    cores_per_node : int or None
        Used to count nodes if the runs do not record them.

    Returns
    -------
    Piece
        Columns of table ``proposal``, one row per count. Node hours are nodes × seconds / 3600.
    """
    table, reference = curve.table, curve.reference
    seconds, processes, nodes = table["seconds"], curve.processes, nodes_of(curve, cores_per_node)
    quantities = _quantities(curve, settings)
    value, low, high = quantities[rule.quantity]
    minimum = np.array([rule.at_least(count) for count in table["cores"]])
    has_reference_time = (processes == reference.processes) & (seconds == reference.seconds)
    is_reference = curve.is_serial | (has_reference_time & (curve.interconnect == reference.interconnect))
    has_no_minimum = np.isnan(minimum)
    is_judged = ~np.isnan(value) & ~has_no_minimum & ~is_reference
    notes = [
        joined("reference" if refers else None, NO_MINIMUM if without_minimum else None)
        for refers, without_minimum in zip(is_reference, has_no_minimum, strict=True)
    ]
    return {
        **curve.names,
        "nodes": nodes,
        "ranks": processes,
        "ranks_per_node": processes / nodes,
        **{name: table[name] for name in ("n", "seconds", "seconds_low", "seconds_high", "coverage")},
        **with_ends("speedup", *quantities["speedup"]),
        "reference_seconds": reference.seconds,
        "reference_processes": reference.processes,
        "reference_interconnect": reference.interconnect or None,
        **with_ends("efficiency", *quantities["efficiency"]),
        **with_ends("incremental_efficiency", *quantities["incremental_efficiency"]),
        "node_hours": nodes * seconds / 3600,
        "rule": rule.name,
        "quantity": rule.quantity,
        **with_ends("value", value, low, high),
        "at_least": minimum,
        "verdict": texts_where(is_judged, judge(value, low, high, minimum)),
        "note": np.array(notes, object),
    }


def _quantities(curve: Curve, settings: Settings) -> dict[str, Ends]:
    """Compute the speedup and the quantities of rules: value, low and high end, each (counts,).

    Efficiency increases with the speedup. Incremental efficiency (by cores) and speedup per doubling (by
    processes) increase with the ratio of times. The ends of their intervals are therefore computed from the
    ends of the intervals of the speedup and of the ratio.
    """
    speedup = curve.speedup, curve.speedup_low, curve.speedup_high
    cores = _ratios_of_neighbours(curve.table["cores"])
    growth = 1 / _ratios_of_neighbours(curve.processes.astype(float))
    low, high = percentile_interval(_ratios_of_neighbours(curve.draws), settings.level)
    time_ratios = _ratios_of_neighbours(curve.table["seconds"]), low, high
    is_strong = settings.scaling == "strong"

    def efficiency_of(values: Floats) -> Floats:
        return efficiency(values, curve.table["cores"], curve.reference.cores)

    def incremental_efficiency(ratio: Floats) -> Floats:
        return ratio * cores if is_strong else ratio

    def per_doubling(ratio: Floats) -> Floats:
        return (ratio if is_strong else ratio * growth) ** (1 / np.log2(growth))

    return {
        "speedup": speedup,
        "efficiency": _each_end(efficiency_of, speedup),
        "incremental_efficiency": _each_end(incremental_efficiency, time_ratios),
        "speedup_per_doubling": _each_end(per_doubling, time_ratios),
    }


def _each_end(function: Callable[[Floats], Floats], ends: Ends) -> Ends:
    """Apply a function to the value, the low end and the high end of a quantity."""
    value, low, high = ends
    return function(value), function(low), function(high)


def _ratios_of_neighbours(values: np.ndarray) -> Floats:
    """Return the ratio of the previous value to each value, along the first axis; NaN for the first value."""
    ratios = np.empty(values.shape)
    ratios[0] = np.nan
    np.divide(values[:-1], values[1:], out=ratios[1:])
    return ratios


def judge(value: Floats, low: Floats, high: Floats, at_least: Floats) -> Texts:
    """Compare the interval of a quantity with its minimum, for each count.

    A count passes if the whole interval reaches the minimum. It fails if the whole interval is below the
    minimum, and is ``undecided`` otherwise. If an end is NaN, the verdict is one of `UNTESTED`, by the value.
    """
    untested = np.isnan(low) | np.isnan(high)
    return np.select(
        [untested & (value >= at_least), untested, low >= at_least, high < at_least],
        [*UNTESTED, "pass", "fail"],
        "undecided",
    ).astype(object)


def make_proposal(context: Context) -> Tables:
    """Make the table ``proposal`` if the study names a rule."""
    rule, market = context.request.rule, context.request.market
    if rule is None:
        return {}
    cores_per_node = market.node.cores if market else None
    rows = [
        proposal_columns(curve, rule, context.settings, cores_per_node)
        for curves in context.curves.cases
        for curve in curves
    ]
    return {"proposal": stacked(rows)}


TOPIC = Topic(name="proposal", schemas=PROPOSAL, make=make_proposal, by_site=True, directions=("proposal",))
