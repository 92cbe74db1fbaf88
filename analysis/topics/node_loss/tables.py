"""Where the efficiency of a run inside one node goes: memory, communication, waiting, or work that grows.

A run beside its trace: E = T(1) / (p T(p)) is the product of four factors.

- work: CPU time of the serial run over that of all ranks, each timed alone.
- memory: 1 / (1 + s (p - 1)), s how much longer a rank computes for each other one that does on the node,
  from re-runs of one and of several ranks at once (`workflows.tracing.alone`).
- waiting: load balance × serialisation of the trace replayed with messages that cost nothing.
- communication: what is left of E, and with it whatever the trace does not tell.

Beside them stands what the bandwidth B of memory explains at most: if all computing waited for memory, it
would take p B(1) / B(p) times as long, B of 1, 2, 4, ... all cores by STREAM's triad, between them on lines.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.runs.columns import COUNT, NUMBER, POSITIVE, TEXT, table_schema, validated, with_interval
from analysis.runs.frames import with_ends
from analysis.runs.kinds import ran

PARTS = ("memory", "communication", "waiting", "work")
NODE_LOSS = {
    "node_loss": table_schema(
        "node_loss",
        case=TEXT,
        interconnect=TEXT,
        kind=TEXT,
        processes=COUNT,
        **with_interval("efficiency", POSITIVE),
        **{name: one for part in PARTS for name, one in with_interval(f"{part}_factor", POSITIVE).items()},
        **{name: one for part in PARTS for name, one in with_interval(f"{part}_percent", NUMBER).items()},
        **with_interval("bandwidth_factor", POSITIVE),
        **with_interval("bandwidth_percent", NUMBER),
    )
}
_KEYS = ["case", "processes", "site", "threads"]


def make_node_loss(
    scaling: pd.DataFrame, simulated: Mapping[str, pd.DataFrame], bandwidth: pd.DataFrame
) -> dict[str, pd.DataFrame]:
    """Make the table ``node_loss`` of the runs on one node whose ranks were also timed alone.

    Parameters
    ----------
    scaling : DataFrame
        Of a study of strong scaling.
    simulated : mapping of str to DataFrame
        As `analysis.topics.simulated.tables.make_simulated_tables` gives them.
    bandwidth : DataFrame
        Side table of what the cores of the node have; without rows where it was not measured.

    Returns
    -------
    dict of DataFrame
        Nothing where there is no such run. Ends are the least and the most over the ends of efficiency and
        of the trace's bands together; shares of the loss, of logarithms, are empty where there may be none.
    """
    if not {"traces", "simulated_efficiency"} <= simulated.keys():
        return {}
    traces, replays = simulated["traces"], simulated["simulated_efficiency"]
    inside = (
        (scaling["nodes"] == 1)
        & (scaling["processes"] > 1)
        & (scaling["oversubscription"] == 1)
        & (scaling["threads"] == 1)
    )
    rows = scaling[inside & scaling["kind"].map(ran).astype(bool) & (scaling["reference_cores"] == 1)]
    traces = traces[(traces["timing"] == "alone") & traces["corun_percent"].notna()]
    replays = replays[replays["nodes"] == 1].drop_duplicates(_KEYS)
    rows = rows.merge(traces, on=_KEYS).merge(replays, on=_KEYS, suffixes=("", "_replayed"))
    if rows.empty:
        return {}

    def ends(*names: str) -> NDArray[np.float64]:
        return rows[list(names)].to_numpy(float)

    efficiency = ends("efficiency", "efficiency_low", "efficiency_high")[:, :, None, None]
    seconds = ends("corrected_seconds", "low_seconds", "high_seconds")[:, None, :, None]
    slower = ends("corun_percent", "corun_percent_low", "corun_percent_high")[:, None, None, :] / 100
    shape = (len(rows), 1, 1, 1)
    factors = {
        "memory": 1 / (1 + slower * (rows["processes"].to_numpy(float).reshape(shape) - 1)),
        "waiting": (rows["load_balance"] * rows["serialisation_efficiency"]).to_numpy(float).reshape(shape),
        "work": rows["serial_seconds"].to_numpy(float).reshape(shape) / seconds,
    }
    factors["communication"] = efficiency / (factors["memory"] * factors["waiting"] * factors["work"])
    lost = np.log(np.where((efficiency < 1).all(axis=1, keepdims=True), efficiency, np.nan))
    columns = {name: rows[name] for name in ("case", "interconnect", "kind", "processes", "site")}
    columns |= {f"efficiency{end}": rows[f"efficiency{end}"] for end in ("", "_low", "_high")}
    factors["bandwidth"] = _of_bandwidth(bandwidth, rows).reshape(len(rows), 1, -1, 1)
    for part, factor in factors.items():
        columns |= _with_ends(f"{part}_factor", factor + 0 * efficiency)
        columns |= _with_ends(f"{part}_percent", 100 * np.log(factor) / lost)
    return {"node_loss": validated(NODE_LOSS["node_loss"], pd.DataFrame(columns))}


def _of_bandwidth(bandwidth: pd.DataFrame, rows: pd.DataFrame) -> NDArray[np.float64]:
    """Give B(p) / (p B(1)), at most 1, with its least and most: shape (rows, 3), nan where B is not known."""
    found = np.full((len(rows), 3), np.nan)
    for number, (site, processes) in enumerate(
        zip(rows["site"], rows["processes"].astype(float), strict=True)
    ):
        own = bandwidth[bandwidth["site"].eq(site) | (bandwidth["site"].isna() & pd.isna(site))]
        own = own.sort_values("cores")
        if own.empty or processes > own["cores"].max():
            continue
        ends = [f"bandwidth_MBps{end}" for end in ("", "_low", "_high")]
        of_all = [np.interp(processes, own["cores"].astype(float), own[end]) for end in ends]
        alone = own[ends].iloc[0].to_numpy()[[0, 2, 1]]
        found[number] = np.minimum(of_all / (processes * alone), 1)
    return found


def _with_ends(name: str, values: NDArray[np.float64]) -> Mapping[str, object]:
    flat = values.reshape(len(values), -1)
    return with_ends(name, flat[:, 0], flat.min(axis=1), flat.max(axis=1))
