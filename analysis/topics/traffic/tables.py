"""Tables on traffic patterns: offered and accepted load, fairness and slowdown."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pandas as pd

from analysis.presentation.network_words import size_text
from analysis.runs.columns import (
    COUNT,
    NOTE,
    POSITIVE,
    SHARE,
    TEXT,
    described,
    table_schema,
    table_schemas,
    validated,
    with_descriptions,
)
from analysis.runs.side_tables import CHOICE, CHOICES, DELAYS, PHASE, RATE, RUN, WHOLE, Details

POINT = ("site", "case", "interconnect", "kind", "oversubscription", "nodes", "processes")

_PATTERN = {
    "interconnect": NOTE,
    **dict.fromkeys(("kind", "pattern", "job"), TEXT),
    "processes": COUNT,
    "offered_load": POSITIVE,
    "beside_load": POSITIVE,
}
_CASE = {**CHOICE, "case": TEXT, "oversubscription": COUNT, "nodes": COUNT, "mean_bytes": WHOLE}
_RATES = ("offered_MBps", "accepted_MBps", "target_MBps")
_DELAYS = tuple(f"delay_seconds_p{share}" for share in DELAYS)
_MEDIANS = ("accepted_load", *_RATES, "link_MBps", "fairness", "slowdown", *_DELAYS)
_FIRST = ("clients", "targets")
_SUMS = ("messages", "completed", "withheld")

TRAFFIC_TABLES = table_schemas(
    table_schema(
        "traffic",
        "One row per point, job of a pattern and offered load; medians over runs.",
        **with_descriptions(
            _PATTERN,
            pattern="Name of the pattern.",
            job="`compute`, or `io` for the processes that send to I/O nodes.",
            offered_load="Rate at which a client offers messages / bandwidth of its link.",
            beside_load="Offered load of the other job at the same time; empty without another job.",
        ),
        accepted_load=described(RATE, "Rate of messages that arrived in time / bandwidth of the link."),
        accepted_load_lowest_run=described(RATE, "Lowest value of a run."),
        accepted_load_highest_run=described(RATE, "Highest value of a run."),
        **with_descriptions(
            dict.fromkeys(_RATES, RATE),
            offered_MBps="Offered by a client, mean.",
            accepted_MBps="Accepted from a client, mean.",
            target_MBps="Accepted by a target, mean.",
        ),
        link_MBps=described(POSITIVE, "Bandwidth at a load of 1."),
        fairness=described(SHARE, "Jain's index of the clients' shares; 1 is equal."),
        slowdown=described(
            POSITIVE, "Bandwidth of the compute job alone / bandwidth together with the I/O job."
        ),
        **with_descriptions(
            dict.fromkeys(_DELAYS, RATE),
            delay_seconds_p5="Time from the scheduled start of a message to its confirmed "
            "arrival, 5th percentile.",
            delay_seconds_p50="Median.",
            delay_seconds_p95="95th percentile.",
        ),
        **with_descriptions(
            dict.fromkeys(_FIRST, COUNT),
            clients="Processes that send messages.",
            targets="Processes that receive them.",
        ),
        **with_descriptions(
            dict.fromkeys(_SUMS, WHOLE),
            messages="Messages of the schedule.",
            completed="Messages that arrived.",
            withheld="Messages that were never sent, because earlier messages were not accepted in time.",
        ),
        runs=described(COUNT, "Runs."),
        **with_descriptions(
            _CASE,
            sizes="Distribution of sizes.",
            intervals="Distribution of intervals.",
            io_mapping="Positions of the I/O nodes.",
            application_mapping="Whether I/O nodes are also clients.",
            destinations="How a client chooses its I/O node.",
            write_ratio="Share of writes.",
            mean_bytes="Mean size of the job's messages.",
        ),
    ),
    table_schema(
        "traffic_processes",
        "One row per client of the rows of `traffic`.",
        **with_descriptions(
            _PATTERN,
            pattern="Name of the pattern.",
            job="Name of the job.",
            offered_load="As in `traffic`.",
            beside_load="As in `traffic`.",
        ),
        process=described(WHOLE, "Number of the client."),
        accepted_MBps=described(RATE, "Accepted from this client, median over runs."),
        **with_descriptions(
            _CASE,
            sizes="As in `traffic`.",
            intervals="As in `traffic`.",
            io_mapping="As in `traffic`.",
            application_mapping="As in `traffic`.",
            destinations="As in `traffic`.",
            write_ratio="As in `traffic`.",
            mean_bytes="As in `traffic`.",
        ),
    ),
)
"""Schemas of the tables ``traffic`` and ``traffic_processes``."""

NAMED = (*CHOICES, "mean_bytes")
"""Columns that titles name if they vary within a pattern."""

_MAPPINGS = {
    "clustered_io": "clustered under the I/O job",
    "clustered_compute": "clustered under the compute job",
}
_WORDS = {
    "sizes": lambda name: f"{name} sizes",
    "intervals": lambda name: f"{name} intervals",
    "io_mapping": lambda name: _MAPPINGS.get(name, name),
    "write_ratio": lambda share: f"{100 * share:.0f} % writes",
    "mean_bytes": lambda size: f"{size_text(size)} messages",
}


def make_traffic_tables(runs: pd.DataFrame, details: Details) -> dict[str, pd.DataFrame]:
    """Summarise the results of traffic patterns over the repetitions of each point.

    Parameters
    ----------
    runs : DataFrame
        Columns of `RUN` and `POINT`.
    details : mapping of str to DataFrame
        Side tables ``traffic`` and ``traffic_processes``.

    Returns
    -------
    dict of DataFrame
        The tables of `TRAFFIC_TABLES`, with rising loads within a pattern; empty if no run had a pattern.
    """
    frame = runs.reindex(columns=[*RUN, *POINT]).merge(details["traffic"], on=list(RUN))
    if frame.empty:
        return {name: validated(schema, pd.DataFrame()) for name, schema in TRAFFIC_TABLES.items()}
    key = [*POINT, *PHASE]
    groups = frame.groupby(key, dropna=False, sort=False)
    table = groups.agg(
        **{name: (name, "median") for name in _MEDIANS},
        accepted_load_lowest_run=("accepted_load", "min"),
        accepted_load_highest_run=("accepted_load", "max"),
        **{name: (name, "first") for name in _FIRST},
        **{name: (name, "sum") for name in _SUMS},
        runs=("accepted_load", "size"),
    ).reset_index()
    row = [*RUN, "row"]
    clients = frame[[*row, *key]].merge(details["traffic_processes"], on=row)
    bandwidths = clients.groupby([*key, "process"], dropna=False, sort=False)["process_MBps"].median()
    tables = {
        "traffic": table,
        "traffic_processes": bandwidths.rename("accepted_MBps").reset_index(),
    }
    return {name: validated(TRAFFIC_TABLES[name], _in_order(rows)) for name, rows in tables.items()}


def cases_that_vary(traffic: pd.DataFrame, choices: Sequence[str]) -> set[str]:
    """Return the cases with a job that has several combinations of values in the columns `choices`."""
    combinations = traffic.drop_duplicates(["case", "job", *choices])
    has_several = combinations.duplicated(["case", "job"])
    return set(combinations.loc[has_several, "case"])


def _in_order(table: pd.DataFrame) -> pd.DataFrame:
    """Sort rows: cases in the order of the runs, then points and choices, then loads from the smallest."""
    ordered = table.assign(order=pd.factorize(table["case"])[0])
    by = ["order", *POINT[2:], *PHASE, *(["process"] if "process" in table else [])]
    return ordered.sort_values(by, kind="stable", ignore_index=True)


def with_titles(table: pd.DataFrame, unnamed: Collection[str] = ()) -> pd.DataFrame:
    """Add the column ``title`` to a table of `TRAFFIC_TABLES`.

    A title names the pattern and the choices that vary within it, such as ``multiple hot spots, clustered,
    dedicated``. It omits the `unnamed` columns, which an axis or a legend shows.
    """
    titles = table["pattern"].astype(object)
    for _, rows in table.groupby(["pattern", "job"]):
        for name in (choice for choice in NAMED if choice not in unnamed):
            if rows[name].nunique() > 1:
                words = rows[name].map(_WORDS.get(name, str))
                titles.loc[rows.index] = titles.loc[rows.index] + ", " + words
    return table.assign(title=titles.str.replace("_", " "))


def distribution_words(rows: pd.DataFrame) -> pd.Series:
    """Name the distributions of message sizes and intervals of each row: ``uniform S, fixed T``."""
    return rows["sizes"] + " S, " + rows["intervals"] + " T"


def nodes_words(rows: pd.DataFrame) -> pd.Series:
    """Name the position of the I/O nodes of each row."""
    return rows["io_mapping"].map(lambda name: _MAPPINGS.get(name, name))
