"""Tables on replayed traces, the parts of their time, and the errors of each model."""

from __future__ import annotations

import pandas as pd

from analysis.runs.columns import (
    COUNT,
    POSITIVE,
    TEXT,
    THREADS,
    described,
    table_schema,
    table_schemas,
    validated,
    with_descriptions,
)
from analysis.runs.side_tables import DETAILS, FACTORS, RUN, SECONDS, TRACE_COLUMNS, USES, WHOLE, Details

_POINT = {"case": TEXT, "interconnect": TEXT, "kind": TEXT, "nodes": COUNT, "processes": COUNT, **THREADS}
_AMOUNTS = {"trace_profile": ("calls", "bytes"), "trace_pairs": ("messages", "bytes")}
"""Columns that the tables state per step of a trace, by table."""

SIMULATED_TABLES = {
    **{name: DETAILS[name] for name in ("traces", *_AMOUNTS)},
    **table_schemas(
        table_schema(
            "simulated_times",
            "One row per rank of a simulated point, in seconds of a whole run.",
            **_POINT,
            rank=described(WHOLE, "Number of the rank."),
            **with_descriptions(
                {f"{use}_seconds": SECONDS for use in USES},
                compute_seconds="Time of computing.",
                waiting_seconds="Waiting time that remains if messages cost nothing.",
                transfer_seconds="Time that the interconnect adds.",
            ),
        ),
        table_schema(
            "simulated_efficiency",
            "One row per simulated point.",
            **_POINT,
            **with_descriptions(
                dict.fromkeys(("parallel_efficiency", *FACTORS), POSITIVE),
                parallel_efficiency="Product of the next three columns.",
                load_balance="Mean computing time / largest computing time.",
                serialisation_efficiency="Largest computing time / time if messages cost nothing.",
                transfer_efficiency="Time if messages cost nothing / time.",
            ),
        ),
    ),
    "model_fit": DETAILS["model_fit"],
}
"""Schemas of the tables, by name."""


def make_simulated_tables(runs: pd.DataFrame, details: Details) -> dict[str, pd.DataFrame]:
    """Make the tables of `SIMULATED_TABLES` from the side tables of a study.

    Parameters
    ----------
    details : mapping of str to DataFrame
        Side tables, as in `analysis.runs.side_tables.DETAILS`.

    Returns
    -------
    dict of DataFrame
        The tables that have rows. A study without replays has none.
    """
    points = runs[runs["interconnect"].notna()].reindex(columns=[*RUN, *_POINT, "site"])
    points = points.sort_values(list(TRACE_COLUMNS), kind="stable")
    efficiency = points.merge(details["replays"], on=list(RUN))
    parallel_efficiency = efficiency[list(FACTORS)].prod(axis=1, skipna=False)
    steps = details["traces"][[*TRACE_COLUMNS, "site", "steps"]]
    tables = {
        "simulated_times": points.merge(details["replay_ranks"], on=list(RUN)),
        "simulated_efficiency": efficiency.assign(parallel_efficiency=parallel_efficiency),
        "model_fit": details["model_fit"],
        "traces": details["traces"],
    }
    for name, amounts in _AMOUNTS.items():
        table = details[name].merge(steps)
        tables[name] = table.assign(**{amount: table[amount] / table["steps"] for amount in amounts})
    return {
        name: validated(schema, tables[name].reset_index(drop=True))
        for name, schema in SIMULATED_TABLES.items()
        if len(tables[name])
    }
