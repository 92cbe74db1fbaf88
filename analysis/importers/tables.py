"""Our own CSV tables: runs, network curves, and published figures that hold no time of a run."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pandas as pd
import pandera.pandas as pa

from analysis.importers.results import CURVES, Import
from analysis.prices import NAME, read_listing
from analysis.records import REQUIRED, TableError, read_runs

_POSITIVE = pa.Check.gt(0, error="must be above 0")
_COUNT = pa.Check.in_range(1, 10**9, error="must be a whole number from 1 to 10^9")


def _schema(name: str, **columns: pa.Column) -> pa.DataFrameSchema:
    return pa.DataFrameSchema(columns, name=name, strict=True, coerce=True)


def _name() -> pa.Column:
    return pa.Column(str, NAME)


def _count(nullable: bool = False) -> pa.Column:
    return pa.Column("Int64", _COUNT, nullable=nullable)


def _number(positive: bool = True, nullable: bool = False) -> pa.Column:
    return pa.Column(float, _POSITIVE if positive else None, nullable=nullable)


def _text() -> pa.Column:
    return pa.Column(str, nullable=True)


_STATEMENT = {"quantity": pa.Column(str), "value": _number(positive=False), "unit": _text()}

DERIVED = {
    schema.name: schema
    for schema in (
        _schema(
            "cases",
            case=_name(),
            title=_text(),
            serial_seconds=_number(nullable=True),
            cells=_count(nullable=True),
        ),
        _schema("peaks", case=_name(), interconnect=_name(), peak_processes=_count(), note=_text()),
        _schema(
            "improvement",
            case=_name(),
            baseline_interconnect=_name(),
            interconnect=_name(),
            at_processes=_count(nullable=True),
            improvement_percent=_number(positive=False),
            average_percent=_number(positive=False, nullable=True),
        ),
        _schema(
            "node_equivalent",
            case=_name(),
            target_speedup=_number(),
            interconnect=_name(),
            processes=_count(),
            processes_saved=_number(positive=False),
        ),
        _schema(
            "network_summary",
            interconnect=_name(),
            api=_text(),
            latency_us=_number(nullable=True),
            latency_us_high=_number(nullable=True),
            peak_Mbps=_number(nullable=True),
            note=_text(),
        ),
        _schema(
            "network_peaks",
            interconnect=_name(),
            link_peak_unidirectional_MBps=_number(),
            max_unidirectional_MBps=_number(),
            unidirectional_percent_of_peak=_number(),
            max_bidirectional_MBps=_number(),
            bidirectional_percent_of_peak=_number(),
        ),
        _schema("network_statements", experiment=pa.Column(str), condition=_text(), **_STATEMENT),
        _schema("link_statements", rate=pa.Column(str), medium=_text(), path=_text(), **_STATEMENT),
        _schema(
            "list_prices",
            interconnect=_name(),
            switching=_text(),
            ports=_count(),
            list_price_usd=_number(),
            price_per_port_usd=_number(),
        ),
        _schema(
            "node_prices",
            interconnect=_name(),
            nodes=_count(nullable=True),
            usd_per_node=_number(),
            usd_per_node_high=_number(nullable=True),
            note=_text(),
        ),
    )
}
"""Tables of published figures that are no runs, by name; a file is the one whose columns it has."""

_QUANTITIES = ("latency_us", "bandwidth_MBps")
_LONG_CURVES = _schema(
    "network curves in one column",
    benchmark=_name(),
    interconnect=_name(),
    bytes=pa.Column("Int64", pa.Check.ge(0, error="must be 0 or more")),
    quantity=pa.Column(str, pa.Check.isin(_QUANTITIES, error=f"must be one of {', '.join(_QUANTITIES)}")),
    value=_number(),
)


def _heading(text: str) -> set[str]:
    try:
        return set(next(csv.reader(io.StringIO(text)), []))
    except csv.Error:
        return set()


def table_of(text: str) -> str:
    """Name the table of ours that a CSV text is, by its heading: empty if it is none."""
    heading = _heading(text)
    if heading.issuperset(REQUIRED):
        return "runs"
    if heading in (set(CURVES.columns), set(_LONG_CURVES.columns)):
        return "curves"
    return "derived" if any(heading == set(schema.columns) for schema in DERIVED.values()) else ""


def read_run_table(path: Path) -> Import:
    """Read a runs table: see `analysis.records.read_runs`."""
    return Import(runs=read_runs(path))


def read_curve_table(path: Path, text: str) -> Import:
    """Read network curves, in the columns of `CURVES` or with a quantity a row.

    Raises
    ------
    TableError
        In one line with file, line and column.
    """
    if "quantity" not in _heading(text):
        return Import(curves=read_listing(path, CURVES, []))
    key = ["benchmark", "interconnect", "bytes"]
    rule = ("quantity", lambda rows: rows.duplicated([*key, "quantity"]), "is there twice for a message size")
    rows = read_listing(path, _LONG_CURVES, [rule])
    wide = rows.pivot(index=key, columns="quantity", values="value").reset_index()
    wide = wide.rename_axis(columns=None).assign(kind="published", record=path.name)
    wide = wide.reindex(columns=list(CURVES.columns))
    return Import(curves=CURVES.validate(wide))


def read_derived(path: Path, text: str) -> Import:
    """Read a table of `DERIVED`.

    Raises
    ------
    TableError
        In one line with file, line and column.
    """
    schema = next((one for one in DERIVED.values() if _heading(text) == set(one.columns)), None)
    if schema is None:
        known = "; ".join(f"{name}: {', '.join(one.columns)}" for name, one in DERIVED.items())
        raise TableError(f"has the columns of no table of derived figures ({known})", str(path))
    return Import(derived={schema.name: read_listing(path, schema, [])})


def merge_derived(tables: dict[str, Import]) -> dict[str, pd.DataFrame]:
    """Put the derived figures of several files together.

    Parameters
    ----------
    tables : dict of str to Import
        By file.

    Returns
    -------
    dict of str to DataFrame
        By name of the table; column `source` is the file.
    """
    found: dict[str, list[pd.DataFrame]] = {}
    for source, one in tables.items():
        for name, table in one.derived.items():
            found.setdefault(name, []).append(table.assign(source=source))
    return {name: pd.concat(parts, ignore_index=True) for name, parts in found.items()}
