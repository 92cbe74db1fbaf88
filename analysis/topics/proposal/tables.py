"""The scaling table that computing centres ask for, judged by a named rule."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from analysis.curves.curves import Curve
from analysis.runs.columns import (
    COUNT,
    NOTE,
    OF_A_CURVE,
    POSITIVE,
    SHARE,
    TEXT,
    table_schemas,
    with_interval,
)
from analysis.runs.frames import Piece, with_ends
from analysis.runs.settings import Rule, Settings
from analysis.statistics import Floats
from analysis.statistics.bootstrap import percentile_interval
from analysis.statistics.metrics import efficiency
from analysis.topics.money.market import nodes_of

PROPOSAL = table_schemas(
    proposal=dict(
        **OF_A_CURVE,
        processes_per_node=POSITIVE,
        nodes=COUNT,
        ranks=COUNT,
        ranks_per_node=POSITIVE,
        n=COUNT,
        **with_interval("seconds", POSITIVE),
        coverage=SHARE,
        **with_interval("speedup", POSITIVE),
        reference_seconds=POSITIVE,
        reference_processes=COUNT,
        reference_interconnect=NOTE,
        **with_interval("efficiency", POSITIVE),
        **with_interval("incremental_efficiency", POSITIVE),
        node_hours=POSITIVE,
        rule=TEXT,
        quantity=TEXT,
        **with_interval("value", POSITIVE),
        at_least=POSITIVE,
        verdict=NOTE,
        note=NOTE,
    ),
)

UNTESTED = ("would pass (untested)", "would fail (untested)")
"""Verdicts from estimates without an interval."""


def proposal_columns(curve: Curve, rule: Rule, settings: Settings, cores_per_node: int | None) -> Piece:
    """Make the scaling table of a curve, judged by a rule.

    `speedup_per_doubling` of neighbouring counts p < q is (S(q) / S(p))^(1 / log2(q / p)), so that the
    rule "1.5 times a doubling" means T(p) / T(q) >= 1.5^log2(q / p). A count passes where the whole
    interval of the quantity reaches the minimum, fails where none of it does, and is undecided between:
    see `judge`.

    Parameters
    ----------
    cores_per_node : int or None
        By which nodes are counted where the runs do not say.

    Returns
    -------
    Piece
        Columns of table ``proposal``, one row a count. Node hours are nodes × seconds / 3600.
    """
    table, reference = curve.table, curve.reference
    seconds, processes, nodes = table["seconds"], curve.processes, nodes_of(curve, cores_per_node)
    quantities = _quantities(curve, settings)
    value, low, high = quantities[rule.quantity]
    minimum = np.array([rule.at_least(count) for count in table["cores"]])
    of_reference = (processes == reference.processes) & (seconds == reference.seconds)
    referred = ~curve.own | (of_reference & (curve.interconnect == reference.interconnect))
    judged = ~np.isnan(value) & ~np.isnan(minimum) & ~referred
    notes = {
        "reference": referred,
        "the rule says nothing about so many cores": np.isnan(minimum),
    }
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
        "verdict": np.where(judged, judge(value, low, high, minimum), None),
        "note": _joined(notes),
    }


def _joined(notes: Mapping[str, np.ndarray]) -> np.ndarray:
    """Notes of each point in one text, None where there is none."""
    joined = np.full(next(iter(notes.values())).shape, None)
    for note, where in notes.items():
        joined[where] = [f"{before}; {note}" if before else note for before in joined[where]]
    return joined


def _quantities(curve: Curve, settings: Settings) -> dict[str, tuple[Floats, Floats, Floats]]:
    """Work out the speedup and what a rule may be about: value, low and high end (counts,).

    Efficiency grows with the speedup; the incremental efficiency and the speedup a doubling with the ratio of
    times: their intervals are those, transformed. The first goes by cores, the second by processes.
    """
    speedup = curve.speedup, curve.speedup_low, curve.speedup_high
    cores, growth = _steps(curve.table["cores"]), 1 / _steps(curve.processes.astype(float))
    times = _steps(curve.table["seconds"]), *percentile_interval(_steps(curve.draws), settings.level)
    strong = settings.scaling == "strong"
    return {
        "speedup": speedup,
        "efficiency": tuple(
            efficiency(values, curve.table["cores"], curve.reference.cores) for values in speedup
        ),
        "incremental_efficiency": tuple(values * cores if strong else values for values in times),
        "speedup_per_doubling": tuple(
            (values if strong else values * growth) ** (1 / np.log2(growth)) for values in times
        ),
    }


def _steps(values: np.ndarray) -> Floats:
    """Each value's predecessor over it, along the counts; NaN for the first."""
    steps = np.empty(values.shape)
    steps[0] = np.nan
    np.divide(values[:-1], values[1:], out=steps[1:])
    return steps


def judge(value: Floats, low: Floats, high: Floats, at_least: Floats) -> np.ndarray:
    """``pass``, ``fail`` or ``undecided``: where the interval lies to the minimum.

    Without one (NaN) nothing is told but what the value would come to.
    """
    untested = np.isnan(low) | np.isnan(high)
    return np.select(
        [untested & (value >= at_least), untested, low >= at_least, high < at_least],
        [*UNTESTED, "pass", "fail"],
        "undecided",
    )
