"""From a runs table to the tables of the contract."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.csv

from analysis.comparison import compare, oversubscription_rows, pairs, placement_rows
from analysis.correction import corrected
from analysis.curves import Curve, all_curves, ranking
from analysis.equivalence import equivalent_pieces
from analysis.frames import Pieces, merge, stacked
from analysis.metrics import efficiency, incremental_efficiency, serial_fraction
from analysis.peaks import find_peak
from analysis.rates import add_rates
from analysis.records import TableError
from analysis.schemas import TABLES, validated
from analysis.settings import Settings
from analysis.sites import by_site


def make_tables(runs: pd.DataFrame, settings: Settings) -> dict[str, pd.DataFrame]:
    """Make the tables that every study has from a runs table.

    Parameters
    ----------
    runs : DataFrame
        As `analysis.records.read_runs` gives it. The order of its rows changes nothing.
    settings : Settings

    Returns
    -------
    dict of DataFrame
        ``scaling, peaks, improvement, node_equivalent, oversubscription, placement``, with the
        columns of `analysis.schemas.TABLES`. Missing is missing; times in seconds, improvements and gains in
        percent. Without a valid run over an interconnect they have no rows.

    Raises
    ------
    TableError
        If the settings name an interconnect that the table has not, or there are two references.
    """
    check_names(runs, settings)
    return by_site(runs, lambda own: _tables_of_one_site(own, settings))


def _tables_of_one_site(runs: pd.DataFrame, settings: Settings) -> dict[str, pd.DataFrame]:
    ranked = ranking(runs)
    return core_tables(
        merge(core_pieces(curves, ranked, settings) for curves in all_curves(runs, settings)), runs
    )


def core_pieces(curves: Sequence[Curve], ranked: dict[str, list[str]], settings: Settings) -> Pieces:
    """Rows of the tables of `analysis.schemas.TABLES` from all curves of one case."""
    compared = list(pairs(curves, ranked, settings))
    return {
        "scaling": [scaling_columns(curve, settings) for curve in curves],
        "peaks": [peak_row(curve, settings.level) for curve in curves],
        "oversubscription": list(oversubscription_rows(curves, settings)),
        "placement": list(placement_rows(curves, settings)),
        "improvement": [compare(baseline, other, kind, settings) for baseline, other, kind in compared],
        "node_equivalent": [one for pair in compared for one in equivalent_pieces(*pair, settings)],
    }


def core_tables(pieces: Pieces, runs: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Make the tables of `analysis.schemas.TABLES` from the pieces of all cases, and test their rows."""
    tables = {name: stacked(pieces.get(name, [])) for name in TABLES}
    if len(tables["scaling"]):
        tables["scaling"] = add_rates(tables["scaling"], runs)
    for name in ("improvement", "oversubscription", "placement"):
        tables[name] = corrected(tables[name])
    return {name: validated(schema, tables[name]) for name, schema in TABLES.items()}


def check_names(runs: pd.DataFrame, settings: Settings) -> None:
    """Check that the settings name interconnects of the runs; raises `TableError`."""
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
    efficiencies = [
        efficiency(values, table["cores"], reference.cores)
        for values in (curve.speedup, curve.speedup_low, curve.speedup_high)
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
        "speedup_low": curve.speedup_low,
        "speedup_high": curve.speedup_high,
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
        "peak_speedup_low": curve.speedup_low[peak.index],
        "peak_speedup_high": curve.speedup_high[peak.index],
        "blocks": blocks,
        "note": note,
    }


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
            _write_csv(table, Path(fresh) / f"{name}.csv")
        for name in tables:
            (Path(fresh) / f"{name}.csv").replace(folder / f"{name}.csv")


def _write_csv(table: pd.DataFrame, file: Path) -> None:
    """Write a table as `DataFrame.to_csv` does, which takes ten times as long where nothing needs a quote."""
    texts = table.select_dtypes(["bool", "boolean"]).apply(lambda flags: flags.astype("str"))
    # In one piece: after an empty one (of joined tables) the writer of pyarrow 26 puts bytes of its own.
    columns = pyarrow.Table.from_pandas(table.assign(**texts), preserve_index=False).combine_chunks()
    options = pyarrow.csv.WriteOptions(include_header=False, quoting_style="none")
    with file.open("wb") as stream:
        stream.write(f"{','.join(table)}\n".encode())
        try:
            pyarrow.csv.write_csv(columns, stream, options)
        except pyarrow.ArrowInvalid:  # some text holds a comma, a quote or a line break
            stream.seek(0)
            stream.truncate()
            table.to_csv(stream, index=False)
