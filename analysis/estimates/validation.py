"""Predicted against measured times, where a study has an interconnect and a model of it."""

from __future__ import annotations

import pandas as pd

from analysis.runs.facts import Facts
from analysis.tables.contract import COUNT, NUMBER, POSITIVE, SHARE, TEXT, table_schemas, validated

_POINT = ["case", "processes", "site"]

VALIDATION = table_schemas(
    validation=dict(
        **dict.fromkeys(("case", "interconnect", "kind", "model"), TEXT),
        processes=COUNT,
        n=COUNT,
        **dict.fromkeys(("predicted_seconds", "predicted_low", "predicted_high"), POSITIVE),
        **dict.fromkeys(("measured_seconds", "measured_low", "measured_high"), POSITIVE),
        error_percent=NUMBER,
        noise=SHARE,
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
    predicts = {name: about.model and about.model.predicts for name, about in facts.interconnects.items()}
    rows = scaling[
        (scaling["processes"] > 1) & (scaling["oversubscription"] == 1) & (scaling["threads"] == 1)
    ]
    rows = rows[rows["processes_per_node"].isna()]
    simulated = rows["kind"] == "simulated"
    times = ["seconds", "seconds_low", "seconds_high"]
    predicted = rows.loc[simulated, [*_POINT, "interconnect", *times]]
    predicted = predicted.rename(columns={"interconnect": "model"} | _named(times, "predicted"))
    predicted = predicted.assign(interconnect=predicted["model"].map(predicts)).dropna(subset="interconnect")
    measured = rows.loc[~simulated, [*_POINT, "interconnect", "kind", "n", *times]]
    measured = measured.rename(columns=_named(times, "measured"))
    table = predicted.merge(measured, on=[*_POINT, "interconnect"])
    if table.empty:
        return {}
    keys = [*_POINT, "interconnect"]
    valid = runs[runs["valid"] & (runs["oversubscription"] == 1) & (runs["kind"] != "simulated")]
    valid = valid[valid["threads"] == 1]
    noise = valid.groupby(keys, dropna=False)["noise"].mean().reset_index()
    table = table.merge(noise, on=keys, how="left")
    error = 100 * (table["predicted_seconds"] / table["measured_seconds"] - 1)
    table = table.assign(error_percent=error).sort_values(["case", "processes"], kind="stable")
    return {"validation": validated(VALIDATION["validation"], table.reset_index(drop=True))}


def _named(times: list[str], whose: str) -> dict[str, str]:
    """Names of columns of times that say whose they are: ``seconds_low`` becomes ``measured_low``."""
    ends = (name.removeprefix("seconds") or "_seconds" for name in times)
    return {name: f"{whose}{end}" for name, end in zip(times, ends, strict=True)}
