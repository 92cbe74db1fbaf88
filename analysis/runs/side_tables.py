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
    described,
    empty,
    first_fault,
    table_schema,
    table_schemas,
    with_descriptions,
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


def _of_runs(name: str, description: str, **columns: pa.Column) -> pa.DataFrameSchema:
    """Make the schema of a table that is joined with the runs table by `RUN`."""
    return pa.DataFrameSchema(
        dict.fromkeys(RUN, TEXT) | columns,
        name=name,
        description=description,
        ordered=True,
        strict=True,
        coerce=True,
    )


DETAILS = {
    "benchmarks": _of_runs(
        "benchmarks",
        "One row per run of a network benchmark and message size.",
        bytes=WHOLE,
        pairs=COUNT,
        source=WHOLE,
        target=WHOLE,
        part=NOTE,
        n=described(COUNT, "Timed batches."),
        moved_bytes=described(RATE, "Bytes that all processes send in the time of a message."),
        busy_share=NUMBER,
        **with_descriptions(
            {f"seconds_p{share}": NUMBER for share in PERCENTILES},
            seconds_p5="Time of a message, 5th percentile over the batches.",
            seconds_p25="25th percentile.",
            seconds_p50="Median.",
            seconds_p75="75th percentile.",
            seconds_p95="95th percentile.",
        ),
        seconds_lowest_rank=described(NUMBER, "Median of the fastest rank."),
        seconds_highest_rank=described(NUMBER, "Median of the slowest rank."),
    ),
    "transports": _of_runs(
        "transports",
        "One row per run, transport, test and message size.",
        transport=TEXT,
        test=TEXT,
        bytes=WHOLE,
        offered_MBps=RATE,
        sent_MBps=RATE,
        received_MBps=RATE,
        lost_percent=RATE,
        **with_descriptions(
            {f"latency_us_p{share}": RATE for share in DELAYS},
            latency_us_p50="Median over the round trips of the run.",
        ),
        sender_busy=RATE,
        receiver_busy=RATE,
        n=described(COUNT, "Messages sent, or round trips."),
    ),
    "data_servers": _of_runs(
        "data_servers",
        "One row per run and operation on a distributed array, for operations that left their process.",
        operation=TEXT,
        servers=WHOLE,
        busy_processes=NUMBER,
        busy_servers=NUMBER,
        block_bytes=described(WHOLE, "Size of the block that an operation moves."),
        calls=COUNT,
        **with_descriptions(
            {f"operation_seconds_p{share}": NUMBER for share in PERCENTILES},
            operation_seconds_p5="Time of an operation, 5th percentile.",
            operation_seconds_p25="25th percentile.",
            operation_seconds_p50="Median.",
            operation_seconds_p75="75th percentile.",
            operation_seconds_p95="95th percentile.",
        ),
    ),
    "traffic": _of_runs(
        "traffic",
        "One row per run of a pattern, job and offered load.",
        row=described(WHOLE, "Number of the row in its run."),
        pattern=TEXT,
        job=TEXT,
        **CHOICE,
        offered_load=POSITIVE,
        beside_load=POSITIVE,
        accepted_load=RATE,
        offered_MBps=RATE,
        accepted_MBps=RATE,
        target_MBps=RATE,
        link_MBps=POSITIVE,
        fairness=SHARE,
        slowdown=POSITIVE,
        **{f"delay_seconds_p{share}": RATE for share in DELAYS},
        clients=COUNT,
        targets=COUNT,
        messages=WHOLE,
        completed=WHOLE,
        withheld=WHOLE,
        mean_bytes=WHOLE,
    ),
    "traffic_processes": _of_runs(
        "traffic_processes",
        "One row per client of the rows of `traffic`.",
        row=described(WHOLE, "Row of `traffic`."),
        process=WHOLE,
        process_MBps=described(RATE, "Accepted from this client."),
    ),
    "replays": _of_runs("replays", "One row per replayed point.", **dict.fromkeys(FACTORS, POSITIVE)),
    "replay_ranks": _of_runs(
        "replay_ranks",
        "One row per rank of a replayed point, in seconds of a whole run.",
        rank=WHOLE,
        **{f"{use}_seconds": SECONDS for use in USES},
    ),
    **table_schemas(
        table_schema(
            "jobs",
            "One row per start of a measuring job, from Slurm's accounting.",
            job=described(TEXT, "Number of the job."),
            state=described(TEXT, "State of the job, at its end or when the study was last collected."),
            cores=described(COUNT, "Allocated cores."),
            seconds=described(RATE, "Time from start to end."),
            energy_joules=described(RATE, "Energy of its nodes."),
        ),
        table_schema(
            "traces",
            "One row per trace.",
            **TRACE_COLUMNS,
            steps=described(COUNT, "Steps in the trace."),
            clock=described(TEXT, "Clock of the computing: `thread_cpu` or `instructions`."),
            cores=described(COUNT, "Cores of the ranks."),
            timing=described(
                TEXT, "`alone`: each rank ran again by itself; `together`: it was timed in the traced run."
            ),
            timing_reason=described(NOTE, "Why ranks were not timed alone; empty if they were."),
            repeats=described(COUNT, "Number of runs of each rank alone."),
            disturbed_repeats=described(WHOLE, "Number of these runs that waited for their core."),
            serial_seconds=described(POSITIVE, "CPU time of the same steps in the serial run."),
            compute_seconds=described(POSITIVE, "Measured CPU time of all ranks."),
            corrected_seconds=described(POSITIVE, "Corrected CPU time of all ranks."),
            low_seconds=described(POSITIVE, "Lower end of its band."),
            high_seconds=described(POSITIVE, "Upper end of its band."),
            inflation=described(
                POSITIVE,
                "CPU time of all ranks / CPU time of the serial run, or of serial runs at the same time "
                "if there were any.",
            ),
            **with_descriptions(
                with_interval("corun_percent", RATE),
                corun_percent="Increase of a rank's computing time for each other rank that "
                "computes on its node at"
                " the same time, in percent; for ranks timed alone.",
                corun_percent_low="Lower end of its band.",
                corun_percent_high="Upper end of its band.",
            ),
            correction=described(TEXT, "`none`, `serial_sum` or `serial_beside`."),
            indicative=described(
                FLAG,
                "Whether predictions from this trace are only indicative "
                "([when](../tracing.md#how-computing-is-timed)).",
            ),
            noise=described(SHARE, "Share of the traced run's time under CPU pressure."),
            cpu=described(NOTE, "Processor of the traced run, as named by Linux."),
            step_spread_percent=described(
                RATE,
                "Difference between the longest and the shortest traced step of rank 0, in percent of the"
                " median step; empty below two steps.",
            ),
        ),
        table_schema(
            "trace_profile",
            "One row per operation and size class, for all ranks: in all steps in `details/`, "
            "per step in `tables/`.",
            **TRACE_COLUMNS,
            operation=described(TEXT, "Name of the operation."),
            largest_bytes=described(
                WHOLE, "Largest size of the class; empty for the class of the largest messages."
            ),
            calls=described(POSITIVE, "Number of calls."),
            bytes=described(NUMBER, "Bytes of these calls."),
        ),
        table_schema(
            "trace_pairs",
            "One row per pair of ranks, without collectives: for all steps in `details/`, "
            "per step in `tables/`.",
            **TRACE_COLUMNS,
            source=described(WHOLE, "Sending rank."),
            target=described(WHOLE, "Receiving rank."),
            messages=described(POSITIVE, "Number of messages."),
            bytes=described(NUMBER, "Bytes of these messages."),
        ),
        table_schema(
            "congestion_flows",
            "One row per pair of nodes that a pattern of traffic uses in a topology.",
            topology=TEXT,
            pattern=TEXT,
            source=described(WHOLE, "Number of the sending node."),
            destination=described(WHOLE, "Number of the receiving node."),
            load=described(RATE, "Traffic in link bandwidths."),
        ),
        table_schema(
            "bandwidth",
            "One row per number of cores of the traced node, if ranks of a node were also run.",
            cores=described(COUNT, "Cores that ran STREAM at once."),
            **with_descriptions(
                with_interval("bandwidth_MBps", POSITIVE),
                bandwidth_MBps="Their total memory bandwidth by STREAM's triad, 10^6 bytes/s, "
                "median of three "
                "rounds; the ends are the lowest and the highest round.",
            ),
        ),
        table_schema(
            "model_fit",
            "One row per point of a model's ping-pong.",
            interconnect=TEXT,
            bytes=described(WHOLE, "Size of a message."),
            given_us=described(POSITIVE, "One-way time of the input curve."),
            simulated_us=described(POSITIVE, "Replayed time."),
            error_percent=described(NUMBER, "Relative error of the replayed time."),
            left_out_percent=described(
                NUMBER, "Error of a model that does not know the point; empty at the ends of a protocol."
            ),
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
    """Read a side table and check it; the table has no rows if there is no such file."""
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
