"""Side tables of a study, made from its records, traces and fits of models."""

from __future__ import annotations

import json
import operator
import statistics
from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.runs.columns import validated
from analysis.runs.side_tables import DETAILS, FACTORS, RUN, USES
from workflows.domain import InputError
from workflows.paths import StudyPaths
from workflows.plan.record import Record
from workflows.plan.records import read_record
from workflows.study.study import Study
from workflows.tracing.trace import step_spread_percent

Run = Mapping[Hashable, Any]
"""Row of the runs table."""
Details = Mapping[str, Any]
"""Values that a program or a replay reports about a run, by key."""


def make_details(
    study: Study, paths: StudyPaths, runs: pd.DataFrame, records: Sequence[Record]
) -> dict[str, pd.DataFrame]:
    """Make the side tables of a study.

    Parameters
    ----------
    runs : DataFrame
        The runs table; see `workflows.results.collect.Collected`.
    records : sequence of Record
        Records of the rows that are not imported, in the order of the rows.

    Returns
    -------
    dict of DataFrame
        The tables of `analysis.runs.side_tables.DETAILS`.

    Raises
    ------
    InputError
        If a record, trace or fit cannot be read.
    """
    recorded_details = (record.details for record in records)
    valid_runs: list[tuple[Run, Details]] = []
    for run in runs[[*RUN, "origin", "valid"]].to_dict("records"):
        details = _imported_details(run) if run["origin"] == "import" else next(recorded_details)
        if run["valid"]:
            valid_runs.append((run, details))
    tables = tables_of_runs(valid_runs)
    tables |= _tables_of_models(study, paths, runs[runs["origin"] == "replay"], records)
    return tables | {"congestion_flows": _congestion_flows(study)}


def _congestion_flows(study: Study) -> pd.DataFrame:
    """Tabulate the traffic of the study's ``congestion``, for which the report shows the load of routes."""
    rows = []
    if study.congestion:
        # Only such a study pays for the import of the analysis.
        from workflows.study.congestion import requested_flows, requested_topologies

        where = f"{study.file}: congestion"
        topologies = requested_topologies(study.congestion, where)
        rows = [
            flows.assign(topology=title, pattern=pattern)
            for title, by_pattern in requested_flows(study.congestion, topologies, where).items()
            for pattern, flows in by_pattern.items()
        ]
    table = pd.concat(rows, ignore_index=True) if rows else pd.DataFrame()
    return validated(DETAILS["congestion_flows"], table)


def tables_of_runs(valid_runs: Iterable[tuple[Run, Details]]) -> dict[str, pd.DataFrame]:
    """Make the side tables of runs.

    Parameters
    ----------
    valid_runs : iterable of (Run, Details)
        Each run with the columns `RUN`, and its details. The details hold the ``rows`` of a program of
        `workflows.benchmarks`, or the result of `workflows.replay.points.split_times`.
    """
    rows: dict[str, list[dict[str, Any]]] = {
        name: []
        for name in (
            "benchmarks",
            "data_servers",
            "transports",
            "traffic",
            "traffic_processes",
            "replays",
            "replay_ranks",
        )
    }
    for run, details in valid_runs:
        key = {name: run[name] for name in RUN}
        for index, row in enumerate(details.get("rows", ())):
            if "seconds_p50" in row:
                rows["benchmarks"].append(key | row)
            if "transport" in row:
                rows["transports"].append(key | row)
            if "operation" in row:
                busy = {f"busy_{role}": share for role, share in details["busy_share"].items()}
                rows["data_servers"].append(key | {"servers": details["servers"]} | busy | row)
            if "offered_load" in row:
                numbered = key | {"row": index}
                rows["traffic"].append(numbered | row)
                rows["traffic_processes"] += [
                    numbered | {"process": process, "process_MBps": rate}
                    for process, rate in zip(row["process"], row["process_MBps"], strict=True)
                ]
        if FACTORS[0] in details:
            rows["replays"].append({**key, **details})
            columns = [f"{use}_seconds" for use in USES]
            seconds_of_ranks = zip(*(details[column] for column in columns), strict=True)
            rows["replay_ranks"] += [
                key | {"rank": rank} | dict(zip(columns, seconds, strict=True))
                for rank, seconds in enumerate(seconds_of_ranks)
            ]
    return {name: validated(DETAILS[name], pd.DataFrame(lines)) for name, lines in rows.items()}


def _imported_details(row: Run) -> Details:
    """Return the details in the record of an imported run; empty if the run has no such record."""
    path = Path(row["record"]) if isinstance(row["record"], str) else None
    if path is None or path.suffix != ".json" or not path.is_file():
        return {}
    record: Record = read_record(path)
    return record.details if record.started == row["started"] else {}


def _tables_of_models(
    study: Study, paths: StudyPaths, runs: pd.DataFrame, records: Sequence[Record]
) -> dict[str, pd.DataFrame]:
    """Make the side tables of the replayed traces, the models, and the memory bandwidth."""
    tables: dict[str, list[pd.DataFrame]] = {
        name: [] for name in ("traces", "trace_profile", "trace_pairs", "model_fit", "bandwidth")
    }
    if paths.bandwidth.exists():
        tables["bandwidth"].append(_read_bandwidth(paths.bandwidth).assign(site=study.site))
    traces = set()
    for point in (record.point for record in records if record.kind == "simulated"):
        folder = paths.trace(point.case, point.processes, point.threads)
        traces.add((study.case_of(point.case), point.processes, point.threads, folder))
    for case, processes, threads, folder in sorted(traces):
        if not folder.is_dir():
            continue
        for name, table in _read_trace(folder).items():
            identified = table.assign(case=case, processes=processes, threads=threads, site=study.site)
            tables[name].append(identified)
    for name in sorted(runs["interconnect"].dropna().unique()):
        if (file := paths.fit(name)).exists():
            tables["model_fit"].append(_read_csv(file).assign(interconnect=name))
    return {name: validated(DETAILS[name], _stacked(parts)) for name, parts in tables.items()}


def _read_bandwidth(file: Path) -> pd.DataFrame:
    """Tabulate the median, minimum and maximum bandwidth over the rounds of each number of cores, in MB/s."""
    rounds = json.loads(file.read_text())
    rows = ((int(cores), statistics.median(rates), min(rates), max(rates)) for cores, rates in rounds.items())
    return pd.DataFrame(
        rows, columns=["cores", "bandwidth_MBps", "bandwidth_MBps_low", "bandwidth_MBps_high"]
    )


def _read_trace(folder: Path) -> dict[str, pd.DataFrame]:
    """Read a trace: its summary (one row), its profile, and the messages between pairs of ranks."""
    file = folder / "trace.json"
    try:
        about = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{file}: cannot be read: {error}") from None
    seconds_of_ranks = about["compute_seconds"]
    summary = about | {
        f"{name}_seconds": sum(map(operator.mul, seconds_of_ranks, about[f"{name}_factor"]))
        for name in ("corrected", "low", "high")
    }
    summary |= {
        "timing_reason": about["timing_reason"] or None,
        "cores": about["load"]["cores"],
        "serial_seconds": about["serial_cpu_seconds"],
        "compute_seconds": sum(seconds_of_ranks),
        "noise": about["load"]["pressure_share"],
        "cpu": about["machine"].get("cpu"),
        "step_spread_percent": step_spread_percent(about),
    }
    return {
        "traces": pd.DataFrame([summary]),
        "trace_profile": _read_csv(folder / "profile.csv"),
        "trace_pairs": _read_csv(folder / "pairs.csv"),
    }


def _read_csv(file: Path) -> pd.DataFrame:
    try:
        return pd.read_csv(file)
    except (OSError, ValueError) as error:
        raise InputError(f"{file}: cannot be read: {error}") from None


def _stacked(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Stack the tables that have rows."""
    filled = [table for table in tables if len(table)]
    return pd.concat(filled, ignore_index=True) if filled else pd.DataFrame()
