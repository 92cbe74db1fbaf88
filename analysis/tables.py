"""From a runs table to the tables of the contract."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.bootstrap import percentile_interval
from analysis.comparison import compare, oversubscription_rows, pairs
from analysis.curves import Curve, make_curves, ranking
from analysis.equivalence import equivalent_rows
from analysis.metrics import efficiency, incremental_efficiency, serial_fraction
from analysis.peaks import find_peak
from analysis.points import cases
from analysis.records import TableError
from analysis.schemas import TABLES, validated
from analysis.settings import Settings
from analysis.significance import DISTINGUISHABLE, blocks_needed, holm


def make_tables(runs: pd.DataFrame, settings: Settings) -> dict[str, pd.DataFrame]:
    """Make all tables from a runs table.

    Parameters
    ----------
    runs : DataFrame
        As `analysis.records.read_runs` gives it. The order of its rows changes nothing.
    settings : Settings

    Returns
    -------
    dict of DataFrame
        ``scaling, peaks, improvement, node_equivalent, oversubscription``, with the columns of
        `analysis.schemas.TABLES`. Missing is missing; times in seconds, improvements and gains in
        percent.

    Raises
    ------
    TableError
        If the settings name an interconnect that the table has not, there are two references, or
        serial runs alone.
    """
    _check_names(runs, settings)
    ranked = ranking(runs)
    if not ranked:
        raise TableError("holds serial runs alone: nothing scales", "runs table", column="interconnect")
    rows: dict[str, list] = {name: [] for name in TABLES}
    for points in cases(runs, settings):
        curves = make_curves(points, ranked, settings)
        rows["scaling"] += [scaling_columns(curve, settings) for curve in curves]
        rows["peaks"] += [peak_row(curve, settings.level) for curve in curves]
        rows["oversubscription"] += oversubscription_rows(curves, settings)
        for baseline, other, kind in pairs(curves, ranked, settings):
            rows["improvement"].append(compare(baseline, other, kind, settings))
            rows["node_equivalent"] += equivalent_rows(baseline, other, kind, settings)
    tables = {name: pd.DataFrame(rows[name]) for name in TABLES if name != "scaling"}
    tables["scaling"] = _stacked(rows["scaling"])
    for name in ("improvement", "oversubscription"):
        tables[name] = _tested(tables[name])
    return {name: validated(schema, tables[name]) for name, schema in TABLES.items()}


def _check_names(runs: pd.DataFrame, settings: Settings) -> None:
    known = sorted(runs["interconnect"].dropna().unique())
    wanted = {"baselines": settings.baselines}
    if settings.reference_interconnect:
        wanted["reference_interconnect"] = (settings.reference_interconnect,)
    for key, names in wanted.items():
        for name in names:
            if name not in known:
                raise TableError(
                    f"{key}: '{name}' is no interconnect of the runs; there are {', '.join(known)}"
                )


def scaling_columns(curve: Curve, settings: Settings) -> dict[str, object]:
    """Columns of the scaling table for one curve."""
    table, reference = curve.table, curve.reference
    speedup_low, speedup_high = percentile_interval(curve.speedup_draws, settings.level)
    efficiencies = [
        efficiency(values, table["cores"], reference.cores)
        for values in (curve.speedup, speedup_low, speedup_high)
    ]
    fraction = serial_fraction(table["seconds"], reference.seconds, table["processes"], reference.processes)
    return {
        "case": curve.case,
        "interconnect": curve.interconnect,
        "kind": curve.kind,
        "oversubscription": curve.oversubscription,
        **table,
        "nodes": np.where(table["nodes"] == 0, np.nan, table["nodes"]),
        "reference_seconds": reference.seconds,
        "reference_processes": reference.processes,
        "speedup": curve.speedup,
        "speedup_low": speedup_low,
        "speedup_high": speedup_high,
        **dict(zip(("efficiency", "efficiency_low", "efficiency_high"), efficiencies, strict=True)),
        "incremental_efficiency": incremental_efficiency(
            table["seconds"], table["processes"], settings.scaling
        ),
        "serial_fraction": fraction if settings.scaling == "strong" else np.full(len(fraction), np.nan),
        "processes_per_node": curve.processes_per_node,
        "reference_interconnect": reference.interconnect or None,
        "reference_cores": reference.cores,
        "serial": ~curve.own,
    }


def peak_row(curve: Curve, level: float) -> dict[str, object]:
    """One row of the peaks table."""
    peak = find_peak(curve.speedup, curve.speedup_draws, level)
    low, high = percentile_interval(curve.speedup_draws[peak.index], level)
    blocks = np.min(curve.table["n"])
    note = None
    if curve.kind == "simulated":
        note = "simulated" if peak.members.any() else "simulated, without a band"
    elif not peak.members.any():
        note = "one sample"
    return {
        "case": curve.case,
        "interconnect": curve.interconnect,
        "kind": curve.kind,
        "oversubscription": curve.oversubscription,
        "peak_processes": curve.processes[peak.index],
        "peak_set": " ".join(map(str, curve.processes[peak.members])) or None,
        "peak_speedup": curve.speedup[peak.index],
        "reached": peak.reached,
        "processes_per_node": curve.processes_per_node,
        "peak_speedup_low": low,
        "peak_speedup_high": high,
        "blocks": blocks,
        "note": note,
    }


def _tested(table: pd.DataFrame) -> pd.DataFrame:
    """Holm's correction within the table, and how many blocks its best p-value needs."""
    if table.empty:
        return table
    adjusted = holm(table["p_value"].to_numpy(float))
    tested = np.isfinite(adjusted)
    paired = table["paired"] if "paired" in table else pd.Series(False, table.index)
    needed = {one: blocks_needed(max(tested.sum(), 1), one, DISTINGUISHABLE) for one in (False, True)}
    return table.assign(
        p_adjusted=adjusted,
        distinguishable=adjusted <= DISTINGUISHABLE,
        blocks_needed=paired.map(needed).where(tested),
    )


def _stacked(curves: list[dict[str, object]]) -> pd.DataFrame:
    """One frame of the columns of many curves; what is one value for a curve is repeated."""
    lengths = [len(curve["processes"]) for curve in curves]
    columns = {}
    for name, first in curves[0].items():
        values = [curve[name] for curve in curves]
        whole = isinstance(first, np.ndarray)
        columns[name] = np.concatenate(values) if whole else np.repeat(np.array(values, object), lengths)
    return pd.DataFrame(columns)


def write_tables(tables: dict[str, pd.DataFrame], folder: str | Path) -> None:
    """Write each table to ``<folder>/<name>.csv``: all of them or none. Missing is empty.

    Other files in the folder stay as they are.

    Raises
    ------
    OSError
        If the folder cannot be written to.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".tables-", dir=folder) as fresh:
        for name, table in tables.items():
            table.to_csv(Path(fresh) / f"{name}.csv", index=False)
        for name in tables:
            (Path(fresh) / f"{name}.csv").replace(folder / f"{name}.csv")
