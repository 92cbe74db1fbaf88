"""Traffic patterns beside the figures that were published of them on QsNet, statement by statement.

The statements are from ``qsnet.csv`` (Petrini, Frachtenberg, Hoisie, Coll 2003), on 64 nodes and fewer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import pandas as pd

from analysis.runs.frames import Tables
from analysis.topics.traffic.tables import TRAFFIC_TABLES

PUBLISHED_OF = "quadrics_elan3"
"""Interconnects whose names begin so stand for what was measured."""

NODES = 64
OF_IO = ("hot_spot", "multiple_hot_spots")
BYTES = {"compute": 262144, "io": 1048576}
"""Mean sizes of the messages of the source, of patterns without and with I/O nodes."""
UNEVEN = ("shuffle", "transpose", "bit_reversal")
"""Permutations of which the source states the lowest and the highest bandwidth."""

Statement = tuple[str, str, str]
Finder = Callable[[Tables], float | None]


def beside_published(tables: Tables, statements: pd.DataFrame) -> pd.DataFrame:
    """Find what each interconnect came to for each statement.

    Parameters
    ----------
    tables : mapping
        ``traffic`` and ``traffic_processes``, see `analysis.topics.traffic.tables.TRAFFIC_TABLES`.
    statements : DataFrame
        ``experiment, condition, quantity, value, unit``.

    Returns
    -------
    DataFrame
        A row a statement and interconnect: ``experiment, condition, quantity, unit, published, interconnect,
        kind, found, error_percent``. Statements without a counterpart have no row; a statement in
        percent has no error in percent.
    """
    traffic = tables["traffic"]
    owners = traffic.loc[traffic["interconnect"].str.startswith(PUBLISHED_OF), ["interconnect", "kind"]]
    rows = []
    for statement in statements.to_dict("records"):
        finder = FOUND.get((statement["experiment"], statement["condition"], statement["quantity"]))
        for interconnect, kind in owners.drop_duplicates().itertuples(index=False) if finder else ():
            found = finder({name: _of(tables[name], interconnect, kind) for name in TRAFFIC_TABLES})
            if found is None:
                continue
            value = float(statement["value"])
            rows.append(
                {name: statement[name] for name in ("experiment", "condition", "quantity", "unit")}
                | {"published": value, "interconnect": interconnect, "kind": kind, "found": found}
                | {"error_percent": 100 * (found / value - 1) if statement["unit"] != "%" else None}
            )
    columns = ["experiment", "condition", "quantity", "unit", "published", "interconnect", "kind", "found"]
    return pd.DataFrame(rows, columns=[*columns, "error_percent"]).astype({"error_percent": float})


def _of(table: pd.DataFrame, interconnect: str, kind: str) -> pd.DataFrame:
    return table[(table["interconnect"] == interconnect) & (table["kind"] == kind)]


def _pattern(tables: Tables, name: str, processes: int = NODES) -> pd.DataFrame:
    rows = tables["traffic"]
    size = BYTES["io" if name in OF_IO else "compute"]
    return rows[(rows["pattern"] == name) & (rows["processes"] == processes) & (rows["mean_bytes"] == size)]


def _highest(rows: pd.DataFrame, column: str) -> float | None:
    return float(rows[column].max()) if len(rows) and rows[column].notna().any() else None


def _of_pattern(name: str, column: str = "accepted_MBps", processes: int = NODES) -> Finder:
    return lambda tables: _highest(_pattern(tables, name, processes), column)


def _of_uneven(tables: Tables, choose: Callable[[list[float]], float]) -> float | None:
    found = [_of_pattern(name)(tables) for name in UNEVEN]
    return None if None in found else choose(found)


_HALF = _of_pattern("hot_spot", "target_MBps", NODES // 2)
_WHOLE = _of_pattern("hot_spot", "target_MBps")


def _hot_decrease(tables: Tables) -> float | None:
    half, whole = _HALF(tables), _WHOLE(tables)
    return 100 * (1 - whole / half) if half and whole else None


def _hot_share(tables: Tables, first: int, last: int) -> float | None:
    """Mean bandwidth of some senders: the plain mean, since all of them send for the same time."""
    rows = tables["traffic_processes"]
    rows = rows[(rows["pattern"] == "hot_spot") & (rows["processes"] == NODES)]
    rows = rows[rows["mean_bytes"] == BYTES["io"]]
    rows = rows[(rows["offered_load"] == rows["offered_load"].max()) & rows["process"].between(first, last)]
    return float(rows["accepted_MBps"].mean()) if len(rows) else None


def _io(tables: Tables, destinations: str, mapping: str) -> float | None:
    rows = _pattern(tables, "multiple_hot_spots")
    rows = rows[(rows["destinations"] == destinations) & (rows["io_mapping"] == mapping)]
    return _highest(rows, "target_MBps")


def _compute_alone(tables: Tables) -> float | None:
    rows = _pattern(tables, "combined")
    return _highest(rows[(rows["job"] == "compute") & rows["beside_load"].isna()], "accepted_MBps")


def _degradation(tables: Tables, mapping: str, application: str) -> float | None:
    rows = _pattern(tables, "combined")
    rows = rows[(rows["io_mapping"] == mapping) & (rows["application_mapping"] == application)]
    slowdown = _highest(rows, "slowdown")
    return None if slowdown is None else 100 * (1 - 1 / slowdown)


_UNEVEN = "shuffle, transpose, bit-reversal"
FOUND: Mapping[Statement, Finder] = {
    ("uniform", "64 nodes, 256 KB messages", "asymptotic bandwidth (less than)"): _of_pattern("uniform"),
    ("uniform", "64 nodes", "fraction of bidirectional maximum"): _of_pattern("uniform", "accepted_load"),
    **{
        ("permutation", name, "asymptotic bandwidth"): _of_pattern(name)
        for name in ("neighbor", "butterfly", "complement")
    },
    ("permutation", _UNEVEN, "asymptotic bandwidth, lowest"): partial(_of_uneven, choose=min),
    ("permutation", _UNEVEN, "asymptotic bandwidth, highest"): partial(_of_uneven, choose=max),
    ("hot-spot", "1 MB messages, up to 32 nodes", "aggregate bandwidth"): _HALF,
    ("hot-spot", "1 MB messages, 64 nodes", "decrease"): _hot_decrease,
    **{
        ("hot-spot", f"64 nodes, senders {first}-{last}", "bandwidth per node"): partial(
            _hot_share, first=first, last=last
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
"""How each statement is found in what ran."""
