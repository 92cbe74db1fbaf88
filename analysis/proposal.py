"""The scaling table that computing centres ask for, judged by a named rule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from analysis.bootstrap import Floats, percentile_interval
from analysis.curves import Curve
from analysis.economics import nodes_of
from analysis.frames import Piece, Pieces
from analysis.metrics import efficiency, incremental_efficiency
from analysis.rules import Rule
from analysis.settings import Settings


def proposal_columns(
    curve: Curve, rule: Rule, settings: Settings, cores_per_node: int | None = None
) -> Piece:
    """Scaling table of one curve, judged by a rule.

    `speedup_per_doubling` of neighbouring counts p < q is (S(q) / S(p))^(1 / log2(q / p)), so that the
    rule "1.5 times a doubling" means T(p) / T(q) >= 1.5^log2(q / p). A count passes where the whole
    interval of the quantity reaches the minimum, fails where none of it does, and is undecided between;
    without an interval the point estimate decides, and `note` says so.

    Parameters
    ----------
    curve : Curve
    rule : Rule
    settings : Settings
    cores_per_node : int, optional
        By which nodes are counted where the runs do not say.

    Returns
    -------
    Piece
        Columns of table ``proposal``, one row a count. Node hours are nodes × seconds / 3600.
    """
    table, reference = curve.table, curve.reference
    nodes = nodes_of(curve, cores_per_node)
    quantities = _quantities(curve, settings)
    value, low, high = quantities[rule.quantity]
    minimum = np.array([rule.at_least(count) for count in table["cores"]])
    own = curve.interconnect == reference.interconnect and curve.processes == reference.processes
    referred = ~curve.own | own & (table["seconds"] == reference.seconds)
    judged = ~np.isnan(value) & ~np.isnan(minimum) & ~referred
    notes = {
        "reference": referred,
        "the rule says nothing about so many cores": np.isnan(minimum),
        "no interval: by the point estimate": judged & np.isnan(low),
    }
    return {
        "case": curve.case,
        "interconnect": curve.interconnect,
        "kind": curve.kind,
        "oversubscription": curve.oversubscription,
        "processes_per_node": curve.processes_per_node,
        "nodes": nodes,
        "ranks": curve.processes,
        "ranks_per_node": curve.processes / nodes,
        **{name: table[name] for name in ("n", "seconds", "seconds_low", "seconds_high", "coverage")},
        **_columns("speedup", quantities),
        "reference_seconds": reference.seconds,
        "reference_processes": reference.processes,
        "reference_interconnect": reference.interconnect or None,
        **_columns("efficiency", quantities),
        **_columns("incremental_efficiency", quantities),
        "node_hours": nodes * table["seconds"] / 3600,
        "rule": rule.name,
        "quantity": rule.quantity,
        "value": value,
        "value_low": low,
        "value_high": high,
        "at_least": minimum,
        "verdict": np.where(judged, judge(value, low, high, minimum), None),
        "note": np.array(
            ["; ".join(note for note, where in notes.items() if where[i]) or None for i in range(len(nodes))]
        ),
    }


def _quantities(curve: Curve, settings: Settings) -> dict[str, tuple[Floats, Floats, Floats]]:
    """What a rule may be about, and the speedup: value, low and high end of each count.

    Efficiency grows with the speedup, and the speedup a doubling with the incremental efficiency: their
    intervals are those, transformed.
    """
    processes, cores = curve.processes, curve.table["cores"]
    speedup = curve.speedup, curve.speedup_low, curve.speedup_high
    steps = _step(curve.table["seconds"], processes, settings.scaling)
    drawn = _step(curve.draws, processes, settings.scaling)
    step = steps, *percentile_interval(drawn, settings.level)
    growth = np.full(len(processes), np.nan)
    growth[1:] = processes[1:] / processes[:-1]
    return {
        "speedup": speedup,
        "efficiency": tuple(efficiency(one, cores, curve.reference.cores) for one in speedup),
        "incremental_efficiency": step,
        "speedup_per_doubling": tuple((one * growth) ** (1 / np.log2(growth)) for one in step),
    }


def _step(times: Floats, processes: np.ndarray, scaling: str) -> Floats:
    return incremental_efficiency(times, processes.reshape(-1, *[1] * (times.ndim - 1)), scaling)


def _columns(name: str, quantities: Mapping[str, tuple[Floats, Floats, Floats]]) -> dict[str, Floats]:
    return {f"{name}{end}": one for end, one in zip(("", "_low", "_high"), quantities[name], strict=True)}


def judge(value: Floats, low: Floats, high: Floats, at_least: Floats) -> np.ndarray:
    """``pass``, ``fail`` or ``undecided``: where the interval lies to the minimum.

    Parameters
    ----------
    value, low, high, at_least : arrays (...)
        Without an interval (NaN) the value decides.
    """
    low, high = np.where(np.isnan(low), value, low), np.where(np.isnan(high), value, high)
    return np.select([low >= at_least, high < at_least], ["pass", "fail"], "undecided")


def proposal_pieces(
    curves: Iterable[Curve], rule: Rule, settings: Settings, cores_per_node: int | None = None
) -> Pieces:
    """Rows of the table ``proposal`` from all curves of one case."""
    return {"proposal": [proposal_columns(curve, rule, settings, cores_per_node) for curve in curves]}


def outcome(rows: pd.DataFrame) -> str:
    """Say in a sentence up to which number of ranks one curve passes.

    Parameters
    ----------
    rows : DataFrame
        Rows of table ``proposal`` of one curve.
    """
    judged = rows.dropna(subset="verdict").sort_values("ranks")
    if judged.empty:
        return "The rule judges none of these runs."
    passed = judged["verdict"].eq("pass").cummin()
    said = f"Passes up to {judged.loc[passed, 'ranks'].max()} ranks" if passed.any() else "Passes nowhere"
    if not passed.all():
        first = judged[~passed].iloc[0]
        said += f"; {'undecided' if first['verdict'] == 'undecided' else 'fails'} at {first['ranks']}"
    return f"{said}."
