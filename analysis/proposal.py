"""The scaling table that computing centres ask for, judged by a named rule."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd

from analysis.bootstrap import Floats, percentile_interval
from analysis.curves import Curve
from analysis.decision_schemas import conform
from analysis.economics import joined, nodes_of
from analysis.metrics import efficiency, incremental_efficiency
from analysis.records import TableError
from analysis.settings import Settings
from analysis.yaml_files import read_yaml

QUANTITIES = ("speedup_per_doubling", "incremental_efficiency", "efficiency")
"""What a rule may ask a minimum of."""

_RULE = {
    "type": "object",
    "additionalProperties": False,
    "required": ["name", "title", "quantity", "limits", "source"],
    "properties": {
        "name": {"type": "string", "pattern": "^[a-z][a-z0-9_]*$"},
        "title": {"type": "string", "minLength": 1},
        "quantity": {"enum": list(QUANTITIES)},
        "limits": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["at_least"],
                "properties": {
                    "at_least": {"type": "number", "exclusiveMinimum": 0},
                    "up_to_cores": {"type": "integer", "minimum": 1},
                },
            },
        },
        "source": {"type": "string", "minLength": 1},
        "note": {"type": "string", "minLength": 1},
    },
}


@dataclass(frozen=True)
class Limit:
    """A minimum, and the largest number of cores that it is for (None: any)."""

    at_least: float
    up_to_cores: int | None = None


@dataclass(frozen=True)
class Rule:
    """What a computing centre asks of a scaling table.

    Attributes
    ----------
    name, title, source, note : str
    quantity : str
        One of `QUANTITIES`.
    limits : tuple of Limit
        By increasing number of cores.
    """

    name: str
    title: str
    quantity: str
    limits: tuple[Limit, ...]
    source: str
    note: str = ""

    def at_least(self, cores: int) -> float:
        """Minimum at a number of cores; NaN where the rule says nothing."""
        fitting = (one for one in self.limits if one.up_to_cores is None or cores <= one.up_to_cores)
        return next((one.at_least for one in fitting), np.nan)


def read_rule(path: str | Path) -> Rule:
    """Read a rule.

    Parameters
    ----------
    path : path of a YAML file
        docs/proposal.md describes its keys.

    Raises
    ------
    TableError
        In one line with file, key and what is allowed.
    """
    path = Path(path)
    data = read_yaml(path)
    fault = jsonschema.exceptions.best_match(jsonschema.Draft202012Validator(_RULE).iter_errors(data))
    if fault is not None:
        key = fault.json_path.removeprefix("$").removeprefix(".")
        raise TableError(" ".join(fault.message.split()), str(path), f"key '{key}'" if key else "")
    limits = tuple(Limit(**limit) for limit in data.pop("limits"))
    bounds = [np.inf if limit.up_to_cores is None else limit.up_to_cores for limit in limits]
    if bounds != sorted(set(bounds)):
        raise TableError(
            "up_to_cores must increase, and only the last may lack it", str(path), "key 'limits'"
        )
    return Rule(limits=limits, **data)


def proposal_rows(
    curve: Curve, rule: Rule, settings: Settings, cores_per_node: int | None = None
) -> pd.DataFrame:
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
    DataFrame
        Columns of table ``proposal``, one row a count. Node hours are nodes × seconds / 3600.
    """
    table, reference = curve.table, curve.reference
    nodes = nodes_of(curve, cores_per_node)
    cores = table["cores"][:, None, None]
    efficiency_draws = efficiency(curve.speedup_draws, cores, reference.cores)
    shares = efficiency(curve.speedup, table["cores"], reference.cores), efficiency_draws
    steps = tuple(
        _step(times, curve.processes, settings.scaling) for times in (table["seconds"], curve.draws)
    )
    quantities = {
        "efficiency": shares,
        "incremental_efficiency": steps,
        "speedup_per_doubling": _doubled(steps, curve),
    }
    value, draws = quantities[rule.quantity]
    low, high = percentile_interval(draws, settings.level)
    minimum = np.array([rule.at_least(count) for count in table["cores"]])
    own = curve.interconnect == reference.interconnect and curve.processes == reference.processes
    referred = ~curve.own | own & (table["seconds"] == reference.seconds)
    judged = ~np.isnan(value) & ~np.isnan(minimum) & ~referred
    return pd.DataFrame(
        {
            "case": curve.case,
            "interconnect": curve.interconnect,
            "kind": curve.kind,
            "oversubscription": curve.oversubscription,
            "processes_per_node": curve.processes_per_node,
            "nodes": nodes,
            "ranks": curve.processes,
            "ranks_per_node": curve.processes / nodes,
            **{name: table[name] for name in ("n", "seconds", "seconds_low", "seconds_high", "coverage")},
            **_with_interval("speedup", (curve.speedup, curve.speedup_draws), settings.level),
            "reference_seconds": reference.seconds,
            "reference_processes": reference.processes,
            "reference_interconnect": reference.interconnect or None,
            **_with_interval("efficiency", shares, settings.level),
            **_with_interval("incremental_efficiency", steps, settings.level),
            "node_hours": nodes * table["seconds"] / 3600,
            "rule": rule.name,
            "quantity": rule.quantity,
            "value": value,
            "value_low": low,
            "value_high": high,
            "at_least": minimum,
            "verdict": np.where(judged, judge(value, low, high, minimum), None),
            "note": [
                joined(*notes)
                for notes in zip(
                    np.where(referred, "reference", None),
                    np.where(np.isnan(minimum), "the rule says nothing about so many cores", None),
                    np.where(judged & np.isnan(low), "no interval: by the point estimate", None),
                    strict=True,
                )
            ],
        }
    )


def _step(times: Floats, processes: np.ndarray, scaling: str) -> Floats:
    return incremental_efficiency(times, processes.reshape(-1, *[1] * (times.ndim - 1)), scaling)


def _doubled(steps: Sequence[Floats], curve: Curve) -> tuple[Floats, ...]:
    """Speedup a doubling of the processes, from the incremental efficiency."""
    growth = np.full(len(curve.processes), np.nan)
    growth[1:] = curve.processes[1:] / curve.processes[:-1]
    grown = [growth.reshape(-1, *[1] * (step.ndim - 1)) for step in steps]
    return tuple((step * ratio) ** (1 / np.log2(ratio)) for step, ratio in zip(steps, grown, strict=True))


def _with_interval(name: str, value: tuple[Floats, Floats], level: float) -> dict[str, Floats]:
    low, high = percentile_interval(value[1], level)
    return {name: value[0], f"{name}_low": low, f"{name}_high": high}


def judge(value: Floats, low: Floats, high: Floats, at_least: Floats) -> np.ndarray:
    """``pass``, ``fail`` or ``undecided``: where the interval lies to the minimum.

    Parameters
    ----------
    value, low, high, at_least : arrays (...)
        Without an interval (NaN) the value decides.
    """
    low, high = np.where(np.isnan(low), value, low), np.where(np.isnan(high), value, high)
    return np.select([low >= at_least, high < at_least], ["pass", "fail"], "undecided")


def proposal_table(
    case_curves: Iterable[Sequence[Curve]], rule: Rule, settings: Settings, cores_per_node: int | None = None
) -> pd.DataFrame:
    """Table ``proposal`` of all curves of all cases."""
    tables = [
        proposal_rows(curve, rule, settings, cores_per_node) for curves in case_curves for curve in curves
    ]
    return conform("proposal", pd.concat([pd.DataFrame(), *tables], ignore_index=True))


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
