"""Comparison of traffic patterns with statements published about QsNet.

The statements are from ``qsnet.csv`` (Petrini, Frachtenberg, Hoisie, Coll 2003), on up to 64 nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import pandas as pd

from analysis.runs.frames import Tables
from analysis.topics.traffic.tables import TRAFFIC_TABLES

INTERCONNECT = "quadrics_elan3"
"""Beginning of the names of interconnects that the statements are compared with."""

NODES = 64
IO_PATTERNS = ("hot_spot", "multiple_hot_spots")
BYTES = {"compute": 262144, "io": 1048576}
"""Mean message sizes of the source, for patterns without and with I/O nodes."""
UNEVEN = ("shuffle", "transpose", "bit_reversal")
"""Permutations whose lowest and highest bandwidth the source states."""

Statement = tuple[str, str, str]
Finder = Callable[[Tables], float | None]


def compare_with_published(tables: Tables, statements: pd.DataFrame) -> pd.DataFrame:
    """Compare each published statement with the study's result for each interconnect named `INTERCONNECT…`.

    Parameters
    ----------
    tables : mapping
        ``traffic`` and ``traffic_processes``, see `analysis.topics.traffic.tables.TRAFFIC_TABLES`.
    statements : DataFrame
        Columns ``experiment, condition, quantity, value, unit``.

    Returns
    -------
    DataFrame
        One row per statement and interconnect: ``experiment, condition, quantity, unit, published,
        interconnect, kind, result, error_percent``. A statement has no row if the study has no result for it.
        A statement in percent has no ``error_percent``.
    """
    traffic = tables["traffic"]
    is_compared = traffic["interconnect"].str.startswith(INTERCONNECT)
    pairs = traffic.loc[is_compared, ["interconnect", "kind"]].drop_duplicates()
    rows = []
    for statement in statements.to_dict("records"):
        find = FINDERS.get((statement["experiment"], statement["condition"], statement["quantity"]))
        if find is None:
            continue
        for interconnect, kind in pairs.itertuples(index=False):
            result = find({name: _select(tables[name], interconnect, kind) for name in TRAFFIC_TABLES})
            if result is None:
                continue
            value = float(statement["value"])
            rows.append(
                {name: statement[name] for name in ("experiment", "condition", "quantity", "unit")}
                | {"published": value, "interconnect": interconnect, "kind": kind, "result": result}
                | {"error_percent": 100 * (result / value - 1) if statement["unit"] != "%" else None}
            )
    columns = ["experiment", "condition", "quantity", "unit", "published", "interconnect", "kind", "result"]
    return pd.DataFrame(rows, columns=[*columns, "error_percent"]).astype({"error_percent": float})


def _select(table: pd.DataFrame, interconnect: str, kind: str) -> pd.DataFrame:
    return table[(table["interconnect"] == interconnect) & (table["kind"] == kind)]


def _pattern(tables: Tables, name: str, processes: int = NODES) -> pd.DataFrame:
    """Select the rows of a pattern with the mean message size of the source."""
    rows = tables["traffic"]
    size = BYTES["io" if name in IO_PATTERNS else "compute"]
    return rows[(rows["pattern"] == name) & (rows["processes"] == processes) & (rows["mean_bytes"] == size)]


def _highest(rows: pd.DataFrame, column: str) -> float | None:
    return float(rows[column].max()) if len(rows) and rows[column].notna().any() else None


def _highest_of(name: str, column: str = "accepted_MBps", processes: int = NODES) -> Finder:
    """Return a function that finds the highest value of a column in a pattern."""
    return lambda tables: _highest(_pattern(tables, name, processes), column)


def _extreme_of(tables: Tables, choose: Callable[[list[float]], float]) -> float | None:
    """Choose from the bandwidths of the uneven permutations; None unless all of these permutations ran."""
    bandwidths = [_highest_of(name)(tables) for name in UNEVEN]
    known_bandwidths = [bandwidth for bandwidth in bandwidths if bandwidth is not None]
    return choose(known_bandwidths) if len(known_bandwidths) == len(UNEVEN) else None


_HOT_SPOT_ON_HALF = _highest_of("hot_spot", "target_MBps", NODES // 2)
_HOT_SPOT_ON_ALL = _highest_of("hot_spot", "target_MBps")


def _hot_spot_decrease(tables: Tables) -> float | None:
    """Return by how many percent the hot spot's bandwidth falls from half of the nodes to all nodes."""
    on_half, on_all = _HOT_SPOT_ON_HALF(tables), _HOT_SPOT_ON_ALL(tables)
    return 100 * (1 - on_all / on_half) if on_half and on_all else None


def _hot_spot_senders(tables: Tables, first: int, last: int) -> float | None:
    """Return the mean bandwidth of the senders `first` to `last` of the hot spot at the highest load."""
    rows = tables["traffic_processes"]
    rows = rows[(rows["pattern"] == "hot_spot") & (rows["processes"] == NODES)]
    rows = rows[rows["mean_bytes"] == BYTES["io"]]
    rows = rows[(rows["offered_load"] == rows["offered_load"].max()) & rows["process"].between(first, last)]
    return float(rows["accepted_MBps"].mean()) if len(rows) else None


def _io(tables: Tables, destinations: str, mapping: str) -> float | None:
    """Return the highest bandwidth of an I/O node, by the choice and the position of the I/O nodes."""
    rows = _pattern(tables, "multiple_hot_spots")
    rows = rows[(rows["destinations"] == destinations) & (rows["io_mapping"] == mapping)]
    return _highest(rows, "target_MBps")


def _compute_alone(tables: Tables) -> float | None:
    """Return the highest bandwidth of the compute job without an I/O job."""
    rows = _pattern(tables, "combined")
    return _highest(rows[(rows["job"] == "compute") & rows["beside_load"].isna()], "accepted_MBps")


def _degradation(tables: Tables, mapping: str, application: str) -> float | None:
    """Return the largest loss of the compute job's bandwidth by an I/O job, in percent."""
    rows = _pattern(tables, "combined")
    rows = rows[(rows["io_mapping"] == mapping) & (rows["application_mapping"] == application)]
    slowdown = _highest(rows, "slowdown")
    return None if slowdown is None else 100 * (1 - 1 / slowdown)


_UNEVEN = "shuffle, transpose, bit-reversal"
FINDERS: Mapping[Statement, Finder] = {
    ("uniform", "64 nodes, 256 KB messages", "asymptotic bandwidth (less than)"): _highest_of("uniform"),
    ("uniform", "64 nodes", "fraction of bidirectional maximum"): _highest_of("uniform", "accepted_load"),
    **{
        ("permutation", name, "asymptotic bandwidth"): _highest_of(name)
        for name in ("neighbor", "butterfly", "complement")
    },
    ("permutation", _UNEVEN, "asymptotic bandwidth, lowest"): partial(_extreme_of, choose=min),
    ("permutation", _UNEVEN, "asymptotic bandwidth, highest"): partial(_extreme_of, choose=max),
    ("hot-spot", "1 MB messages, up to 32 nodes", "aggregate bandwidth"): _HOT_SPOT_ON_HALF,
    ("hot-spot", "1 MB messages, 64 nodes", "decrease"): _hot_spot_decrease,
    **{
        ("hot-spot", f"64 nodes, senders {first}-{last}", "bandwidth per node"): partial(
            _hot_spot_senders, first=first, last=last
        )
        for first, last in ((1, 3), (4, 15), (16, 63))
    },
    **{
        ("multiple-hot-spots", f"{choice} traffic, {mapping} I/O", "maximum accepted load"): partial(
            _io, destinations=choice, mapping=mapping
        )
        for choice in ("random", "deterministic")
        for mapping in ("clustered", "distributed")
    },
    (
        "combined",
        "uniform compute job alone, 256 KB messages",
        "asymptotic bandwidth (about)",
    ): _compute_alone,
    ("combined", "compute job overlapping the I/O nodes", "degradation, at most"): partial(
        _degradation, mapping="clustered_compute", application="shared"
    ),
    ("combined", "compute job on no I/O node", "degradation"): partial(
        _degradation, mapping="clustered_compute", application="dedicated"
    ),
}
"""Functions that find the result for each statement, by experiment, condition and quantity."""
