"""How busy are data servers and their clients?"""

from __future__ import annotations

import pandas as pd

from analysis.presentation import formats
from analysis.presentation.blocks import Section, paragraph, section
from analysis.presentation.content import Content
from analysis.presentation.formats import number
from analysis.presentation.rows import line_table, numbers, texts
from analysis.runs.columns import (
    COUNT,
    NUMBER,
    POINT_COLUMNS,
    POSITIVE,
    TEXT,
    described,
    table_schema,
    table_schemas,
    validated,
    with_descriptions,
)
from analysis.runs.side_tables import RUN
from analysis.topics.topic import Topic

BUSY = ("busy_processes", "busy_servers")
"""Columns with the share of a core that processes or servers keep busy."""
LATENCIES = {
    "latency_us": "operation_seconds_p50",
    "latency_us_p5": "operation_seconds_p5",
    "latency_us_p95": "operation_seconds_p95",
}
"""Columns with times of an operation (µs), and their columns (s) in the side table."""

DATA_SERVER_TABLES = table_schemas(
    table_schema(
        "data_servers",
        "One row per point and operation on a distributed array, for operations that left their process.",
        **POINT_COLUMNS,
        operation=described(TEXT, "`get`, `put` (which fills the array) or `accumulate`."),
        runs=described(COUNT, "Repetitions."),
        servers=described(NUMBER, "Total number of data servers."),
        **with_descriptions(
            dict.fromkeys(("seconds", "calls", *LATENCIES), POSITIVE),
            seconds="Time of all tasks.",
            calls="Operations per run.",
            latency_us="Time of an operation, median.",
            latency_us_p5="5th percentile.",
            latency_us_p95="95th percentile.",
        ),
        **with_descriptions(
            dict.fromkeys(BUSY, NUMBER),
            busy_processes="CPU time of the processes / (number of processes × time of the tasks); polling "
            "counts as CPU time.",
            busy_servers="The same for the servers; empty without servers.",
        ),
    )
)

READING = (
    "Times are medians over the runs of a point. The operations access the memory of another process. “Busy” "
    "is the share of a core that a process or a server uses. A polling process uses its core while the "
    "process waits. A polling server leaves at most half of its core to a process on the same core."
)


def make_data_servers(runs: pd.DataFrame, operations: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Make the table ``data_servers``: medians of each operation over the repetitions of a point.

    Parameters
    ----------
    runs : DataFrame
        With the columns `RUN` and `POINT_COLUMNS`, ``site`` and ``seconds``.
    operations : DataFrame
        Side table ``data_servers``: see `analysis.runs.side_tables.DETAILS`.

    Returns
    -------
    dict of DataFrame
        The table by its name, in the order of the runs; empty if no run recorded an operation.
    """
    point = ["site", *POINT_COLUMNS]
    recorded = runs.reindex(columns=[*RUN, *point, "seconds"]).merge(operations, on=list(RUN))
    if recorded.empty:
        return {}
    sources = {name: name for name in ("seconds", "calls", "servers", *BUSY)} | LATENCIES
    medians = {name: pd.NamedAgg(source, "median") for name, source in sources.items()}
    groups = recorded.groupby([*point, "operation"], dropna=False, sort=False)
    servers = groups.agg(runs=pd.NamedAgg("seconds", "size"), **medians).reset_index()
    servers[list(LATENCIES)] *= 1e6
    return {"data_servers": validated(DATA_SERVER_TABLES["data_servers"], servers)}


def data_servers_section(content: Content) -> Section | None:
    """Tabulate times and busy cores for cases with a distributed array, to compare the ways servers wait."""
    if "data_servers" not in content.tables:
        return None
    labels = content.labels
    operations = content.tables["data_servers"]
    gets = operations[operations["operation"] == "get"]

    def percent(share: float) -> str:
        return formats.whole(100 * share)

    fields = [
        texts("Case", labels.case, "case"),
        numbers("Processes", formats.whole, "processes"),
        numbers("Servers", formats.whole, "servers"),
        numbers("On a core", formats.whole, "oversubscription"),
        numbers("Seconds", number, "seconds"),
        numbers("A get (µs)", number, "latency_us"),
        numbers("95 % of gets (µs)", number, "latency_us_p95"),
        numbers("Processes busy (%)", percent, "busy_processes"),
        numbers("Servers busy (%)", percent, "busy_servers"),
    ]
    caption = (
        "Times of get operations. The rows differ in how data servers wait. File tables/data_servers.csv has "
        "the other operations."
    )
    lines = labels.lines(gets, "oversubscription", "processes", "interconnect", "kind", "case")
    printed = line_table(caption, fields, lines, labels.curve)
    return section("data-servers", "Data servers", [paragraph(READING), printed])


TOPIC = Topic(
    name="data_servers",
    schemas=DATA_SERVER_TABLES,
    make=lambda context: make_data_servers(context.runs, context.side_tables["data_servers"]),
    section=data_servers_section,
)
