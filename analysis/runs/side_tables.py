"""Side tables of the runs table: details of runs, traces, and fits of models."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import pandera.pandas as pa
from pandera.errors import SchemaErrors

from analysis.runs.columns import (
    COUNT,
    FLAG,
    NOTE,
    NUMBER,
    POSITIVE,
    SHARE,
    TEXT,
    THREADS,
    empty,
    first_fault,
    table_schemas,
    with_interval,
)
from analysis.runs.errors import TableError, readable

WHOLE = pa.Column("Int64", pa.Check.ge(0, error="must be 0 or more"), nullable=True)
"""Whole number of 0 or more, such as bytes or a rank."""
RATE = pa.Column(float, pa.Check.ge(0, error="must be 0 or more"), nullable=True)
SECONDS = pa.Column(float)

RUN = ("record", "started")
"""Columns that identify a run; an import may have a record with the same path."""
PERCENTILES = (5, 25, 50, 75, 95)
DELAYS = (5, 50, 95)
LABELS = ("bytes", "pairs", "source", "target", "part")
"""Columns that identify a row of a benchmark run; each benchmark uses some of them."""
CHOICES = ("sizes", "intervals", "io_mapping", "application_mapping", "destinations", "write_ratio")
"""Columns with the parameters of a traffic pattern; each case uses some of them."""
PHASE = ("pattern", "job", *CHOICES, "mean_bytes", "offered_load", "beside_load")
"""Columns that identify a row of a traffic run."""
USES = ("compute", "waiting", "transfer")
"""Parts of the time of a replayed rank."""
FACTORS = ("load_balance", "serialisation_efficiency", "transfer_efficiency")
"""Factors of the parallel efficiency, as the POP centre of excellence defines them."""

TRACE_COLUMNS = {"case": TEXT, "processes": COUNT, **THREADS}
"""Columns that identify a trace."""

CHOICE = {name: RATE if name == "write_ratio" else NOTE for name in CHOICES}


def _of_runs(name: str, **columns: pa.Column) -> pa.DataFrameSchema:
    """Make the schema of a table that is joined with the runs table by `RUN`."""
    return pa.DataFrameSchema(
        dict.fromkeys(RUN, TEXT) | columns, name=name, ordered=True, strict=True, coerce=True
    )


DETAILS = {
    "benchmarks": _of_runs(
        "benchmarks",
        bytes=WHOLE,
        pairs=COUNT,
        source=WHOLE,
        target=WHOLE,
        part=NOTE,
        n=COUNT,
        moved_bytes=RATE,
        busy_share=NUMBER,
        **{f"seconds_p{share}": NUMBER for share in PERCENTILES},
        seconds_lowest_rank=NUMBER,
        seconds_highest_rank=NUMBER,
    ),
    "transports": _of_runs(
        "transports",
        transport=TEXT,
        test=TEXT,
        bytes=WHOLE,
        **dict.fromkeys(("offered_MBps", "sent_MBps", "received_MBps", "lost_percent"), RATE),
        **{f"latency_us_p{share}": RATE for share in DELAYS},
        **dict.fromkeys(("sender_busy", "receiver_busy"), RATE),
        n=COUNT,
    ),
    "data_servers": _of_runs(
        "data_servers",
        operation=TEXT,
        servers=WHOLE,
        busy_processes=NUMBER,
        busy_servers=NUMBER,
        block_bytes=WHOLE,
        calls=COUNT,
        **{f"operation_seconds_p{share}": NUMBER for share in PERCENTILES},
    ),
    "traffic": _of_runs(
        "traffic",
        row=WHOLE,
        pattern=TEXT,
        job=TEXT,
        **CHOICE,
        offered_load=POSITIVE,
        beside_load=POSITIVE,
        **dict.fromkeys(("accepted_load", "offered_MBps", "accepted_MBps", "target_MBps"), RATE),
        link_MBps=POSITIVE,
        fairness=SHARE,
        slowdown=POSITIVE,
        **{f"delay_seconds_p{share}": RATE for share in DELAYS},
        **dict.fromkeys(("clients", "targets"), COUNT),
        **dict.fromkeys(("messages", "completed", "withheld"), WHOLE),
        mean_bytes=WHOLE,
    ),
    "traffic_processes": _of_runs("traffic_processes", row=WHOLE, process=WHOLE, process_MBps=RATE),
    "replays": _of_runs("replays", **dict.fromkeys(FACTORS, POSITIVE)),
    "replay_ranks": _of_runs("replay_ranks", rank=WHOLE, **{f"{use}_seconds": SECONDS for use in USES}),
    **table_schemas(
        jobs=dict(job=TEXT, state=TEXT, cores=COUNT, seconds=RATE, energy_joules=RATE),
        traces=dict(
            **TRACE_COLUMNS,
            steps=COUNT,
            clock=TEXT,
            cores=COUNT,
            timing=TEXT,
            timing_reason=NOTE,
            repeats=COUNT,
            disturbed_repeats=WHOLE,
            **dict.fromkeys(("serial_seconds", "compute_seconds", "corrected_seconds"), POSITIVE),
            **dict.fromkeys(("low_seconds", "high_seconds", "inflation"), POSITIVE),
            **with_interval("corun_percent", RATE),
            correction=TEXT,
            indicative=FLAG,
            noise=SHARE,
            cpu=NOTE,
            step_spread_percent=RATE,
        ),
        trace_profile=dict(
            **TRACE_COLUMNS, operation=TEXT, largest_bytes=WHOLE, calls=POSITIVE, bytes=NUMBER
        ),
        trace_pairs=dict(**TRACE_COLUMNS, source=WHOLE, target=WHOLE, messages=POSITIVE, bytes=NUMBER),
        congestion_flows=dict(topology=TEXT, pattern=TEXT, source=WHOLE, destination=WHOLE, load=RATE),
        bandwidth=dict(cores=COUNT, **with_interval("bandwidth_MBps", POSITIVE)),
        model_fit=dict(
            interconnect=TEXT,
            bytes=WHOLE,
            **dict.fromkeys(("given_us", "simulated_us"), POSITIVE),
            **dict.fromkeys(("error_percent", "left_out_percent"), NUMBER),
        ),
    ),
}
"""Schema of each side table by the name of its file."""

Details = Mapping[str, pd.DataFrame]
"""Side tables of a study by name; tables without rows may be missing."""


def with_fewest_threads(traces: pd.DataFrame) -> pd.DataFrame:
    """Keep the traces with the fewest threads of each process count; all send the same messages."""
    fewest = traces.groupby(["case", "processes"])["threads"].transform("min")
    return traces[traces["threads"] == fewest]


def empty_details() -> dict[str, pd.DataFrame]:
    """Make all side tables without rows."""
    return {name: empty(schema) for name, schema in DETAILS.items()}


def read_details(folder: str | Path) -> dict[str, pd.DataFrame]:
    """Read all side tables of `DETAILS`; a table without a CSV file in the folder has no rows.

    Raises
    ------
    TableError
        If a table is damaged.
    """
    return {name: _read(Path(folder) / f"{name}.csv", schema) for name, schema in DETAILS.items()}


def write_details(tables: Details, folder: str | Path) -> None:
    """Write the side tables that have rows; `read_details` reads them."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        if len(table):
            table.to_csv(Path(folder) / f"{name}.csv", index=False)


def _read(file: Path, schema: pa.DataFrameSchema) -> pd.DataFrame:
    if not file.is_file():
        return empty(schema)
    types = {name: column.dtype.type for name, column in schema.columns.items()}
    with readable(file, ValueError):
        table = pd.read_csv(file, dtype=types, keep_default_na=False, na_values=[""])
        if missing := [name for name in types if name not in table]:
            earlier = "is missing; an earlier version collected the table; --forcerun collect makes it again"
            raise TableError(earlier, str(file), column=missing[0])
    try:
        return schema.validate(table, lazy=True)
    except SchemaErrors as errors:
        raise first_fault(errors, str(file)) from None
