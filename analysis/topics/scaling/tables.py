"""The table ``scaling``: time, speedup and efficiency of every point."""

from __future__ import annotations

import numpy as np

from analysis.curves.curves import Curve
from analysis.runs.columns import (
    COUNT,
    FLAG,
    NOTE,
    NUMBER,
    OF_A_CURVE,
    POSITIVE,
    SHARE,
    table_schemas,
    with_interval,
)
from analysis.runs.frames import Piece, Tables, stacked
from analysis.runs.settings import Settings
from analysis.statistics.metrics import efficiency, incremental_efficiency, serial_fraction
from analysis.topics.scaling.rates import add_rates
from analysis.topics.topic import Context

SCALING = table_schemas(
    scaling=dict(
        **OF_A_CURVE,
        **dict.fromkeys(("nodes", "processes", "cores", "n"), COUNT),
        **with_interval("seconds", POSITIVE),
        coverage=SHARE,
        reference_seconds=POSITIVE,
        reference_processes=COUNT,
        **with_interval("speedup", POSITIVE),
        **with_interval("efficiency", POSITIVE),
        incremental_efficiency=POSITIVE,
        serial_fraction=NUMBER,
        processes_per_node=POSITIVE,
        reference_interconnect=NOTE,
        reference_cores=COUNT,
        serial=FLAG,
        runs_per_day=POSITIVE,
        rate=POSITIVE,
        rate_unit=NOTE,
    ),
)


def make_scaling(context: Context) -> Tables:
    """Make the table ``scaling``: a row for each point of a curve."""
    rows = [scaling_columns(curve, context.settings) for curves in context.curves.cases for curve in curves]
    table = stacked(rows)
    return {"scaling": add_rates(table, context.runs) if len(table) else table}


def scaling_columns(curve: Curve, settings: Settings) -> Piece:
    """Make the columns of the scaling table for a curve."""
    reference, cores, seconds = curve.reference, curve.table["cores"], curve.table["seconds"]
    speedups = {name: getattr(curve, name) for name in ("speedup", "speedup_low", "speedup_high")}
    fraction = serial_fraction(seconds, reference.seconds, cores, reference.cores)
    return {
        **curve.names,
        **curve.table,
        **speedups,
        **{
            name.replace("speedup", "efficiency"): efficiency(values, cores, reference.cores)
            for name, values in speedups.items()
        },
        "nodes": np.where(curve.table["nodes"] == 0, np.nan, curve.table["nodes"]),
        "incremental_efficiency": incremental_efficiency(seconds, cores, settings.scaling),
        "serial_fraction": fraction if settings.scaling == "strong" else np.nan,
        "serial": ~curve.own,
        "reference_interconnect": reference.interconnect or None,
        **{f"reference_{name}": getattr(reference, name) for name in ("seconds", "processes", "cores")},
    }
