"""What replayed traces hold and where their time goes, and how well each model repeats its ping-pong."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pandera.pandas as pa

from analysis.networks.curves import record_details
from analysis.runs.errors import TableError
from analysis.tables.contract import COUNT, FLAG, NUMBER, POSITIVE, SHARE, TEXT, table_schema, validated

PARTS = ("compute", "waiting", "transfer")
"""What the time of a rank is spent with."""
FACTORS = ("load_balance", "serialisation_efficiency", "transfer_efficiency")
"""Factors of the parallel efficiency, as the POP centre of excellence defines them."""

_WHOLE = pa.Column("Int64", pa.Check.ge(0), nullable=True)
_SECONDS = pa.Column(float)
_POINT = {"case": TEXT, "interconnect": TEXT, "kind": TEXT, "nodes": COUNT, "processes": COUNT}

SIMULATED_TABLES = {
    "traces": table_schema(
        "traces",
        case=TEXT,
        processes=COUNT,
        steps=COUNT,
        clock=TEXT,
        cores=COUNT,
        serial_seconds=POSITIVE,
        compute_seconds=POSITIVE,
        inflation=POSITIVE,
        correction=TEXT,
        indicative=FLAG,
        noise=SHARE,
    ),
    "trace_profile": table_schema(
        "trace_profile",
        case=TEXT,
        processes=COUNT,
        operation=TEXT,
        largest_bytes=_WHOLE,
        calls=POSITIVE,
        bytes=NUMBER,
    ),
    "trace_pairs": table_schema(
        "trace_pairs",
        case=TEXT,
        processes=COUNT,
        source=_WHOLE,
        target=_WHOLE,
        messages=POSITIVE,
        bytes=NUMBER,
    ),
    "simulated_times": table_schema(
        "simulated_times",
        **_POINT,
        rank=_WHOLE,
        **{f"{part}_seconds": _SECONDS for part in PARTS},
    ),
    "simulated_efficiency": table_schema(
        "simulated_efficiency",
        **_POINT,
        parallel_efficiency=POSITIVE,
        **dict.fromkeys(FACTORS, POSITIVE),
    ),
    "model_fit": table_schema(
        "model_fit",
        interconnect=TEXT,
        bytes=_WHOLE,
        given_us=POSITIVE,
        simulated_us=POSITIVE,
        error_percent=NUMBER,
        left_out_percent=NUMBER,
    ),
}
"""Schema of each table of this module by its name; columns.yaml says what the columns mean."""


def make_simulated_tables(runs: pd.DataFrame, folder: Path) -> dict[str, pd.DataFrame]:
    """Make the tables of `SIMULATED_TABLES` from the records and traces of a study.

    Parameters
    ----------
    runs : DataFrame
        As `analysis.runs.runs.read_runs` gives it.
    folder : Path
        Of the study's results: paths in ``record`` start from it, and it has the ``traces``.

    Returns
    -------
    dict of DataFrame
        Those that have rows; none of a study that replayed nothing here.

    Raises
    ------
    TableError
        A record, trace or fit that cannot be read.
    """
    rows: dict[str, list[pd.DataFrame]] = {name: [] for name in SIMULATED_TABLES}
    traced: set[Path] = set()
    for run, trace, details in _replayed(runs, folder):
        own = {name: run[name] for name in (*_POINT, "site")}
        if run["interconnect"]:
            rows["simulated_times"].append(_times(own, details))
            rows["simulated_efficiency"].append(pd.DataFrame([own | _factors(details)]))
        if trace not in traced:
            traced.add(trace)
            whose = {name: run[name] for name in ("case", "processes", "site")}
            for name, table in _trace_tables(trace).items():
                rows[name].append(table.assign(**whose))
    simulated = runs.loc[runs["kind"] == "simulated", "interconnect"].dropna()
    rows["model_fit"] += list(_fits(folder, set(simulated)))
    return {
        name: validated(SIMULATED_TABLES[name], pd.concat(tables, ignore_index=True))
        for name, tables in rows.items()
        if any(map(len, tables))
    }


def _replayed(runs: pd.DataFrame, folder: Path) -> Iterator[tuple[dict[str, Any], Path, Mapping[str, Any]]]:
    """Simulated runs whose records and traces are there, with the trace and what the record tells."""
    ours = runs[(runs["kind"] == "simulated") & runs["record"].notna()]
    ours = ours.assign(interconnect=ours["interconnect"].fillna(""), site=ours["site"].astype(object))
    for run in ours.sort_values(["case", "processes"], kind="stable").to_dict("records"):
        case = Path(run["record"]).parent.parent.name  # with its size, which the run's name may lack
        trace = folder / "traces" / case / f"processes-{run['processes']}"
        details = record_details(folder, run["record"], run["started"])
        if details is not None and trace.is_dir():
            yield run, trace, details


def _times(own: Mapping[str, Any], details: Mapping[str, Any]) -> pd.DataFrame:
    parts = {f"{part}_seconds": details[f"{part}_seconds"] for part in PARTS}
    return pd.DataFrame(parts).rename_axis("rank").reset_index().assign(**own)


def _factors(details: Mapping[str, Any]) -> dict[str, float]:
    factors = {name: details[name] for name in FACTORS}
    first, second, third = factors.values()
    return factors | {"parallel_efficiency": first * second * third}


def _trace_tables(folder: Path) -> dict[str, pd.DataFrame]:
    """What a trace says of itself; calls, messages and bytes are those of one step."""
    about = _read(_read_json, folder / "trace.json")
    summary = {
        "steps": about["steps"],
        "clock": about["clock"],
        "cores": about["load"]["cores"],
        "serial_seconds": about["serial_cpu_seconds"],
        "compute_seconds": sum(about["compute_seconds"]),
        "inflation": about["inflation"],
        "correction": about["correction"],
        "indicative": about["indicative"],
        "noise": about["load"]["pressure_share"],
    }
    profile, pairs = (_read(pd.read_csv, folder / f"{name}.csv") for name in ("profile", "pairs"))
    a_step = {name: profile[name] / about["steps"] for name in ("calls", "bytes")}
    pair_step = {name: pairs[name] / about["steps"] for name in ("messages", "bytes")}
    return {
        "traces": pd.DataFrame([summary]),
        "trace_profile": profile.assign(**a_step),
        "trace_pairs": pairs.assign(**pair_step),
    }


def _fits(folder: Path, interconnects: set[str]) -> Iterator[pd.DataFrame]:
    for file in sorted((folder / "simulated/fit").glob("*.csv")):
        if file.stem in interconnects:
            yield _read(pd.read_csv, file).assign(interconnect=file.stem)


def _read_json(file: Path) -> dict[str, Any]:
    return json.loads(file.read_text(encoding="utf-8"))


def _read(reader: Callable[[Path], Any], file: Path) -> Any:
    try:
        return reader(file)
    except (OSError, ValueError) as error:
        raise TableError(f"cannot be read: {error}", str(file)) from None
