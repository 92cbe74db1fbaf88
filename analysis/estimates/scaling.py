"""From a runs table to the tables of the contract."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.estimates.compared import simultaneous
from analysis.estimates.comparison import compare, hybrid_rows, oversubscription_rows, pairs, placement_rows
from analysis.estimates.curves import Curve, all_curves, ranking
from analysis.estimates.equivalence import equivalent_pieces
from analysis.estimates.fastest import FASTEST, fastest_rows
from analysis.estimates.metrics import efficiency, incremental_efficiency, serial_fraction
from analysis.estimates.peaks import peak_columns
from analysis.estimates.rates import add_rates
from analysis.estimates.significance import corrected
from analysis.estimates.sites import by_site
from analysis.runs.runs import TableError
from analysis.runs.settings import Settings
from analysis.tables.contract import HYBRID, TABLES, validated
from analysis.tables.frames import Piece, Pieces, Tables, merge, stacked

TESTED = {name: TABLES[name] for name in ("improvement", "oversubscription", "placement")} | HYBRID
"""Schemas of the tables whose rows are tests."""


def make_tables(runs: pd.DataFrame, settings: Settings) -> dict[str, pd.DataFrame]:
    """Make the tables that every study has from a runs table.

    Returns
    -------
    dict of DataFrame
        ``scaling, peaks, improvement, node_equivalent, oversubscription, placement``, with the
        columns of `analysis.tables.contract.TABLES`, ``fastest`` if interconnects compete, and ``hybrid`` if
        threads do.
        Missing is missing; times in seconds, improvements and gains in percent. Without a valid run over
        an interconnect they have no rows.

    Raises
    ------
    TableError
        If the settings name an interconnect that the table has not, or there are two references.
    """
    check_names(runs, settings)
    return judged(by_site(runs, lambda own: _tables_of_one_site(own, settings), settings.alpha), settings)


def _tables_of_one_site(runs: pd.DataFrame, settings: Settings) -> dict[str, pd.DataFrame]:
    ranked = ranking(runs)
    return core_tables(
        merge(core_pieces(curves, ranked, settings) for curves in all_curves(runs, ranked, settings)),
        runs,
    )


def core_pieces(curves: Sequence[Curve], ranked: dict[str, list[str]], settings: Settings) -> Pieces:
    """Make the rows of the tables of `analysis.tables.contract.TABLES` from all curves of a case."""
    compared = list(pairs(curves, ranked, settings))
    return {
        "scaling": [scaling_columns(curve, settings) for curve in curves],
        "peaks": [peak_columns(curve) for curve in curves],
        "oversubscription": list(oversubscription_rows(curves, settings)),
        "placement": list(placement_rows(curves, settings)),
        "hybrid": list(hybrid_rows(curves, settings)),
        "improvement": compare(compared, settings),
        "node_equivalent": list(equivalent_pieces(compared, settings)),
        "fastest": list(fastest_rows(curves, settings)),
    }


def core_tables(pieces: Pieces, runs: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Make the tables of `analysis.tables.contract.TABLES` from all pieces; `judged` ends those of tests."""
    names = [*TABLES, *(name for name in HYBRID if pieces.get(name))]
    tables = {name: stacked(pieces.get(name, [])) for name in names}
    if len(tables["scaling"]):
        tables["scaling"] = add_rates(tables["scaling"], runs)
    ended = {name: validated(TABLES[name], table) for name, table in tables.items() if name not in TESTED}
    if fastest := pieces.get("fastest"):
        ended["fastest"] = validated(FASTEST["fastest"], stacked(fastest))
    return tables | ended


def judged(tables: Tables, settings: Settings) -> dict[str, pd.DataFrame]:
    """Correct the tests of all sites' rows, judge them, and add intervals that hold at once."""
    found = {}
    for name in (name for name in TESTED if name in tables):
        table = corrected(tables[name], settings.alpha, settings.level)
        if len(table):
            table = table.assign(**simultaneous(table, settings.alpha))
        found[name] = validated(TESTED[name], table)
    return {**tables, **found}


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
            # A column of counts with missing values holds floats: write 64, not 64.0.
            floats = table.select_dtypes("float")
            whole = [column for column in floats if (floats[column].dropna() % 1 == 0).all()]
            table.astype(dict.fromkeys(whole, "Int64")).to_csv(Path(fresh) / f"{name}.csv", index=False)
        for name in tables:
            (Path(fresh) / f"{name}.csv").replace(folder / f"{name}.csv")
