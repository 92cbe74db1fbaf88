"""The table ``scaling``: time, speedup and efficiency of every point."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.curves.curves import Curve
from analysis.runs.columns import (
    COUNT,
    CURVE_COLUMNS,
    FLAG,
    NOTE,
    NUMBER,
    POSITIVE,
    SHARE,
    UNIT,
    described,
    table_schema,
    table_schemas,
    with_descriptions,
    with_interval,
)
from analysis.runs.frames import Piece, Tables, stacked
from analysis.runs.runs import TableError
from analysis.runs.settings import NODES, Settings
from analysis.statistics.metrics import (
    efficiency,
    incremental_efficiency,
    rate,
    runs_per_day,
    serial_fraction,
)
from analysis.topics.topic import Context

SCALING = table_schemas(
    table_schema(
        "scaling",
        "One row per point of a curve.",
        **CURVE_COLUMNS,
        nodes=COUNT,
        processes=COUNT,
        cores=COUNT,
        n=described(COUNT, "Blocks."),
        **with_descriptions(
            with_interval("seconds", POSITIVE), seconds="Time *T(p)*, the median over the blocks."
        ),
        coverage=described(SHARE, "Probability that the interval of `seconds` covers the median."),
        reference_seconds=described(POSITIVE, "Time *T*₀ of the reference."),
        reference_processes=described(COUNT, "Processes of the reference."),
        **with_interval("speedup", POSITIVE),
        **with_descriptions(
            with_interval("efficiency", POSITIVE),
            efficiency="Speedup × reference cores / cores; by nodes, speedup × reference nodes / nodes. In "
            "weak scaling *T*₀ / *T(p)*.",
        ),
        incremental_efficiency=described(POSITIVE, "Efficiency of the step from the next smaller count."),
        serial_fraction=described(
            NUMBER,
            "Experimentally determined serial fraction (Karp and Flatt); empty if none explains the times. "
            "By nodes only for the interconnect of the reference: other nodes compute at another speed.",
        ),
        processes_per_node=POSITIVE,
        reference_interconnect=described(NOTE, "Interconnect of the reference; empty for the serial run."),
        reference_cores=described(COUNT, "Cores of the reference."),
        serial=FLAG,
        runs_per_day=described(POSITIVE, "86,400 s / `seconds`."),
        rate=described(POSITIVE, "Work of a repetition / `seconds`."),
        rate_unit=described(NOTE, "Unit of the work; the rate is per second."),
        **UNIT,
        reference_nodes=described(COUNT, "Nodes of the reference; empty if unknown."),
        layout=described(NOTE, "Processes per node × threads per process; empty by processes."),
        own_speedup=described(
            POSITIVE, "Speedup relative to the smallest count of this curve, without the serial run."
        ),
    ),
)


def make_scaling(context: Context) -> Tables:
    """Make the table ``scaling``: a row for each point of a curve."""
    rows = [scaling_columns(curve, context.settings) for curves in context.curves.cases for curve in curves]
    table = stacked(rows)
    return {"scaling": add_rates(table, context.runs) if len(table) else table}


def scaling_columns(curve: Curve, settings: Settings) -> Piece:
    """Return the rows of a curve in the table ``scaling``, column by column."""
    reference, size, seconds = curve.reference, curve.size, curve.table["seconds"]
    reference_size = reference.size(curve.unit)
    speedups = {name: getattr(curve, name) for name in ("speedup", "speedup_low", "speedup_high")}
    fraction = serial_fraction(seconds, reference.seconds, size, reference_size)
    same_nodes = curve.unit != NODES or curve.interconnect == reference.interconnect
    first = int(np.argmin(curve.is_serial))
    layout = f"{curve.processes[0] / curve.counts[0]:g} x {curve.threads}"
    return {
        **curve.names,
        **curve.table,
        **speedups,
        **{
            name.replace("speedup", "efficiency"): efficiency(values, size, reference_size)
            for name, values in speedups.items()
        },
        "nodes": np.where(curve.table["nodes"] == 0, np.nan, curve.table["nodes"]),
        "incremental_efficiency": incremental_efficiency(seconds, size, settings.scaling),
        "serial_fraction": fraction if settings.scaling == "strong" and same_nodes else np.nan,
        "serial": curve.is_serial,
        "reference_interconnect": reference.interconnect or None,
        **{f"reference_{name}": getattr(reference, name) for name in ("seconds", "processes", "cores")},
        "unit": curve.unit,
        "reference_nodes": reference.nodes or np.nan,
        "layout": layout if curve.unit == NODES else None,
        "own_speedup": np.where(curve.is_serial, np.nan, curve.speedup / curve.speedup[first]),
    }


def add_rates(scaling: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Add ``runs_per_day``, ``rate`` and ``rate_unit`` to the points of `scaling`.

    With the median time T in seconds, ``runs_per_day`` is 86400 / T and ``rate`` is work / T. The columns
    ``work`` (an amount) and ``work_unit`` of the runs table state the work of a repetition. A case without
    them has no rate.

    Raises
    ------
    TableError
        If a case has two amounts of work on the same number of processes, or two units.
    """
    table = scaling.assign(runs_per_day=runs_per_day(scaling["seconds"]))
    if "work" not in runs:
        return table
    keys = ["case", "processes"]
    with_work = runs[runs["valid"] & runs["work"].notna()]
    work = with_work.reindex(columns=[*keys, "work", "work_unit"]).drop_duplicates()
    _check_unique(work, keys, "work")
    _check_unique(work, ["case"], "work_unit")
    work_of_points = table[keys].merge(work, how="left", on=keys).set_axis(table.index)
    return table.assign(
        rate=rate(work_of_points["work"], table["seconds"]), rate_unit=work_of_points["work_unit"]
    )


def _check_unique(table: pd.DataFrame, keys: list[str], column: str) -> None:
    """Raise a TableError if rows with equal keys have different values of a column."""
    pairs = table[[*keys, column]].drop_duplicates()
    ambiguous = pairs[pairs.duplicated(keys, keep=False)]
    if ambiguous.empty:
        return
    first = ambiguous.iloc[0]
    values = ambiguous.loc[(ambiguous[keys] == first[keys]).all(axis=1), column]
    where = f"case '{first['case']}'" + (f", {first['processes']} processes" if "processes" in keys else "")
    raise TableError(f"is both {values.iloc[0]} and {values.iloc[1]}", where, column=column)
