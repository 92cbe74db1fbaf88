"""Predicted against measured times, where a study has an interconnect and a model of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from analysis.runs.columns import (
    COUNT,
    NUMBER,
    POSITIVE,
    SHARE,
    TEXT,
    table_schemas,
    validated,
    with_interval,
)
from analysis.runs.facts import Facts
from analysis.runs.side_tables import WHOLE
from analysis.statistics.bootstrap import median_interval

_POINT = ["case", "processes", "site"]
_TOLD = [f"{what}{end}" for what in ("seconds", "speedup") for end in ("", "_low", "_high")]
_TOLD += ["reference_processes"]
ALIKE = 1.1
"""Times what the probe took when a model's curve was measured, up to which a run is compared with it."""

VALIDATION = table_schemas(
    validation=dict(
        **dict.fromkeys(("case", "interconnect", "kind", "model"), TEXT),
        processes=COUNT,
        n=COUNT,
        **dict.fromkeys(("predicted_seconds", "predicted_low", "predicted_high"), POSITIVE),
        **dict.fromkeys(("measured_seconds", "measured_low", "measured_high"), POSITIVE),
        error_percent=NUMBER,
        **with_interval("predicted_speedup", POSITIVE),
        **with_interval("measured_speedup", POSITIVE),
        speedup_error_percent=NUMBER,
        noise=SHARE,
        unlike=WHOLE,
    )
)
"""One row a case, `interconnect` (of `kind`) and process count from 2, at one process a core, that was both
run and predicted on its `model`; columns.yaml says what the columns mean."""


def make_validation(runs: pd.DataFrame, scaling: pd.DataFrame, facts: Facts) -> dict[str, pd.DataFrame]:
    """Set predictions beside measurements.

    Parameters
    ----------
    facts : Facts
        Of its ``interconnects``, those with a ``model`` may name what it ``predicts``.

    Returns
    -------
    dict of DataFrame
        Table ``validation``, if it has rows.
    """
    models = {name: about.model for name, about in facts.interconnects.items() if about.model}
    predicts = {name: model.predicts for name, model in models.items()}
    rows = scaling[
        (scaling["processes"] > 1) & (scaling["oversubscription"] == 1) & (scaling["threads"] == 1)
    ]
    rows = rows[rows["processes_per_node"].isna()]
    simulated = rows["kind"] == "simulated"
    predicted = rows.loc[simulated, [*_POINT, "interconnect", *_TOLD]]
    predicted = predicted.rename(columns={"interconnect": "model"} | _named("predicted"))
    predicted = predicted.assign(interconnect=predicted["model"].map(predicts)).dropna(subset="interconnect")
    measured = rows.loc[~simulated, [*_POINT, "interconnect", "kind", "n", *_TOLD]]
    measured = measured.rename(columns=_named("measured"))
    table = predicted.merge(measured, on=[*_POINT, "interconnect"])
    if table.empty:
        return {}
    keys = [*_POINT, "interconnect"]
    valid = runs[runs["valid"] & (runs["oversubscription"] == 1) & (runs["kind"] != "simulated")]
    valid = valid[valid["threads"] == 1]
    runs_of = dict(list(valid.fillna({"site": ""}).groupby(keys)))
    none = valid.head(0)  # all were stopped
    table = pd.DataFrame(
        _compared(row, runs_of.get(tuple(row[key] for key in keys), none), models[row["model"]].probe_us)
        for row in table.fillna({"site": ""}).to_dict("records")
    )
    speedups = table.filter(like="speedup").columns
    reference = table["predicted_reference_processes"]
    told = (reference == table["measured_reference_processes"]) & (reference != table["processes"])
    table[speedups] = table[speedups].where(told)
    for error, what in (("error_percent", "seconds"), ("speedup_error_percent", "speedup")):
        table[error] = 100 * (table[f"predicted_{what}"] / table[f"measured_{what}"] - 1)
    table = table.sort_values(["case", "processes"], kind="stable")
    return {"validation": validated(VALIDATION["validation"], table.reset_index(drop=True))}


def _named(whose: str) -> dict[str, str]:
    """Names of columns that say whose they are: ``seconds_low`` becomes ``measured_low``."""
    return {name: f"{whose}_{name.removeprefix('seconds_')}" for name in _TOLD}


def _compared(row: dict[str, Any], runs: pd.DataFrame, probe_us: float | None) -> dict[str, Any]:
    """The row with runs of its point in which the interconnect was as when the model's curve was measured.

    Where all of them are such, or none is, their time is that of the whole point.
    """
    apart = runs.get("probe_latency_us", pd.Series(float("nan"), runs.index)) / (probe_us or float("nan"))
    unlike = apart.notna() & ~apart.between(1 / ALIKE, ALIKE)
    row |= {"noise": runs["noise"].mean(), "unlike": unlike.sum()}
    if unlike.all() or not unlike.any():
        return row
    alike = runs[~unlike]
    times = alike.groupby("block")["seconds"].median().to_numpy(float)
    (low,), (high,), _ = median_interval(times[None])
    median = float(np.median(times))
    faster = row["measured_seconds"] / median
    row |= {f"measured_speedup{end}": faster * row[f"measured_speedup{end}"] for end in ("", "_low", "_high")}
    row |= {"n": len(times), "noise": alike["noise"].mean(), "measured_seconds": median}
    return row | {"measured_low": low, "measured_high": high}
