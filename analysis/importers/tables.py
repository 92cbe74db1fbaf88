"""Nodeworth's own CSV tables: runs, network curves, and published figures without single runs."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from collections.abc import Mapping as Entries
from pathlib import Path

import pandas as pd
import pandera.pandas as pa

from analysis.importers.importer import Importer
from analysis.importers.mapping import Mapping, misspelt
from analysis.importers.results import CURVES, Import, write_table
from analysis.importers.transports import TRANSPORTS
from analysis.runs.buses import PATTERN
from analysis.runs.columns import described, with_descriptions
from analysis.runs.files import read_listing
from analysis.runs.runs import COUNT, NAME, REQUIRED, RUNS, TableError, read_runs

_POSITIVE = pa.Check.gt(0, error="must be above 0")
_NAMED = pa.Column(str, NAME)
_TEXT = pa.Column(str)
_NOTE = pa.Column(str, nullable=True)
_COUNT = pa.Column("Int64", COUNT)
_COUNT_OR_NONE = pa.Column("Int64", COUNT, nullable=True)
_NUMBER = pa.Column(float)
_AMOUNT = pa.Column(float, _POSITIVE)
_AMOUNT_OR_NONE = pa.Column(float, _POSITIVE, nullable=True)
_BUS = pa.Check.str_matches(PATTERN, error="must be a bus, as PCIe 1.0 x8, PCI-X 133 or PCI 33")
_STATEMENT = {"quantity": _TEXT, "value": _NUMBER, "unit": _NOTE}


def _schema(name: str, description: str, **columns: pa.Column) -> pa.DataFrameSchema:
    return pa.DataFrameSchema(columns, name=name, description=description, strict=True, coerce=True)


DERIVED = {
    schema.name: schema
    for schema in (
        _schema(
            "cases",
            "Published cases.",
            case=_NAMED,
            title=described(_NOTE, "Description of the case."),
            serial_seconds=described(_AMOUNT_OR_NONE, "Time of the serial run."),
            cells=described(_COUNT_OR_NONE, "Size of the mesh."),
        ),
        _schema(
            "peaks",
            "Published peaks.",
            case=_NAMED,
            interconnect=_NAMED,
            peak_processes=described(_COUNT, "Process count with the highest speedup."),
            note=_NOTE,
        ),
        _schema(
            "improvement",
            "Published improvements. The case `average` is the mean over cases.",
            case=_NAMED,
            baseline_interconnect=_NAMED,
            interconnect=_NAMED,
            at_processes=described(_COUNT_OR_NONE, "Process count, if published."),
            improvement_percent=described(_NUMBER, "Improvement at that count."),
            average_percent=described(pa.Column(float, nullable=True), "Average improvement."),
        ),
        _schema(
            "node_equivalent",
            "Published node equivalents.",
            case=_NAMED,
            target_speedup=described(_AMOUNT, "Speedup to be reached."),
            interconnect=_NAMED,
            processes=described(_COUNT, "Processes that reach it."),
            processes_saved=described(_NUMBER, "Processes of the baseline − `processes`."),
        ),
        _schema(
            "network_summary",
            "Published latency and bandwidth.",
            interconnect=_NAMED,
            api=described(_NOTE, "Interface, such as tcp or mpi."),
            latency_us=described(_AMOUNT_OR_NONE, "Latency."),
            latency_us_high=described(_AMOUNT_OR_NONE, "Upper end of a published range."),
            peak_Mbps=described(_AMOUNT_OR_NONE, "Highest bandwidth, 10⁶ bit/s."),
            note=_NOTE,
        ),
        _schema(
            "network_names",
            "Published networks that an interconnect of the runs may be; several rows if the source "
            "is ambiguous.",
            interconnect=_NAMED,
            network=described(_NAMED, "Name in `network_summary`."),
            api=described(_TEXT, "Interface in `network_summary`."),
        ),
        _schema(
            "network_peaks",
            "Published bandwidths and peaks of the link.",
            interconnect=_NAMED,
            link_peak_unidirectional_MBps=described(_AMOUNT, "Peak of the link in one direction."),
            max_unidirectional_MBps=described(_AMOUNT, "Bandwidth reached in one direction."),
            unidirectional_percent_of_peak=described(_AMOUNT, "The same in percent of the peak."),
            max_bidirectional_MBps=described(_AMOUNT, "Bandwidth reached in both directions."),
            bidirectional_percent_of_peak=described(_AMOUNT, "The same in percent of the peak."),
        ),
        _schema(
            "host_buses",
            "Buses of the adapters of published networks.",
            interconnect=_NAMED,
            host_bus=described(
                pa.Column(str, _BUS),
                "PCI Express by generation and lanes (`PCIe 1.0 x8`), or PCI-X and PCI of 64 bits by MHz "
                "(`PCI-X 133`).",
            ),
        ),
        _schema(
            "notes",
            "Relevant facts that are not numbers; a column `source` may be added.",
            interconnect=described(
                _NOTE,
                "Name of the interconnect, or the beginning of the names of several; empty for the whole "
                "document.",
            ),
            topic=described(_TEXT, "Topic of the note."),
            note=described(_TEXT, "Text of the note."),
            year=described(_COUNT, "Year of the note."),
        ),
        _schema(
            "network_statements",
            "Published values that hold under a condition.",
            experiment=described(_TEXT, "Name of the experiment."),
            condition=described(_NOTE, "Condition of the value."),
            **with_descriptions(
                _STATEMENT,
                quantity="Measured quantity.",
                value="Value of the quantity.",
                unit="Unit of the value.",
            ),
        ),
        _schema(
            "link_statements",
            "Published values of a link.",
            rate=described(_TEXT, "Data rate, such as SDR."),
            medium=described(_NOTE, "Copper or fiber."),
            path=described(_NOTE, "Switched or back to back; verbs or ipoib."),
            **with_descriptions(
                _STATEMENT,
                quantity="Measured quantity.",
                value="Value of the quantity.",
                unit="Unit of the value.",
            ),
        ),
        _schema(
            "list_prices",
            "Published prices by ports; a column `year` may be added.",
            interconnect=_NAMED,
            switching=described(_NOTE, "Switches of the network."),
            ports=described(_COUNT, "Number of ports."),
            list_price_usd=described(_AMOUNT, "List price of the network."),
            price_per_port_usd=described(_AMOUNT, "List price per port."),
        ),
        _schema(
            "node_prices",
            "Published prices by nodes; a column `year` may be added.",
            interconnect=_NAMED,
            nodes=described(_COUNT_OR_NONE, "Size of the cluster."),
            usd_per_node=described(_AMOUNT, "Price per node."),
            usd_per_node_high=described(_AMOUNT_OR_NONE, "Upper end of a published range."),
            note=_NOTE,
        ),
        TRANSPORTS,
    )
}
"""Schemas of tables of published figures, by name; a file is recognised by its columns."""

SOURCE = "source"
"""Column with the file of a figure; only merged tables have it."""

YEAR = "year"
"""Optional column of price lists."""

_OPTIONAL = {
    SOURCE: dict.fromkeys(DERIVED, _TEXT),
    YEAR: dict.fromkeys(("list_prices", "node_prices"), _COUNT),
}
"""Types of optional columns, by column and by the table that may have it."""

_KEYS = {
    "cases": ["case"],
    "peaks": ["case", "interconnect"],
    "improvement": ["case", "baseline_interconnect", "interconnect"],
    "node_equivalent": ["case", "target_speedup", "interconnect"],
    "network_summary": ["interconnect", "api"],
    "network_names": ["interconnect", "network", "api"],
}
"""Columns that identify a row of the tables that a report shows."""

ADDED_TO_CURVES = ("runs", "window", "site", "repetition", "waiting")
"""Columns of network curves that older files lack."""
_QUANTITIES = ("latency_us", "bandwidth_MBps")
LONG_CURVES = _schema(
    "network curves in one column",
    "The same curves in short form, one row per quantity.",
    benchmark=described(_NAMED, "As in network curves."),
    interconnect=_NAMED,
    bytes=described(pa.Column("Int64", pa.Check.ge(0, error="must be 0 or more")), "Message size."),
    quantity=described(
        pa.Column(str, pa.Check.isin(_QUANTITIES, error=f"must be one of {', '.join(_QUANTITIES)}")),
        "`latency_us` or `bandwidth_MBps`.",
    ),
    value=described(_AMOUNT, "Value of the quantity."),
)


def _heading(text: str) -> set[str]:
    try:
        return set(next(csv.reader(io.StringIO(text)), []))
    except csv.Error:
        return set()


def table_of(text: str) -> str:
    """Return the kind of Nodeworth's own table that a CSV text is: ``runs``, ``curves`` or ``derived``.

    The heading decides. The result is empty for any other text.
    """
    heading = _heading(text)
    if heading.issuperset(REQUIRED):
        return "runs"
    if _curve_columns(heading) or heading == set(LONG_CURVES.columns):
        return "curves"
    return "derived" if _derived_schema(heading) else ""


def _curve_columns(heading: set[str]) -> pa.DataFrameSchema | None:
    """Return the schema of network curves with exactly these columns; None if there is no such schema."""
    absent = [name for name in ADDED_TO_CURVES if name not in heading]
    return CURVES.remove_columns(absent) if heading == {*CURVES.columns} - {*absent} else None


def _derived_schema(heading: set[str]) -> pa.DataFrameSchema | None:
    """Return the schema of `DERIVED` with exactly these columns, optional columns included; None if none."""
    for schema in DERIVED.values():
        optional = {
            name: columns[schema.name]
            for name, columns in _OPTIONAL.items()
            if name in heading and name not in schema.columns and schema.name in columns
        }
        if heading == {*schema.columns, *optional}:
            return schema.add_columns(optional) if optional else schema
    return None


def read_curve_table(path: Path, text: str) -> Import:
    """Read network curves, with the columns of `CURVES` or with one quantity per row.

    Raises
    ------
    TableError
        In one line with file, line and column.
    """
    heading = _heading(text)
    if schema := _curve_columns(heading):
        curves = read_listing(path, schema, []).reindex(columns=list(CURVES.columns))
        return Import(curves=CURVES.validate(curves))
    key = ["benchmark", "interconnect", "bytes"]
    rule = ("quantity", lambda rows: rows.duplicated([*key, "quantity"]), "is there twice for a message size")
    rows = read_listing(path, LONG_CURVES, [rule])
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
    schema = _derived_schema(_heading(text))
    if schema is None:
        columns = "; ".join(f"{name}: {', '.join(table.columns)}" for name, table in DERIVED.items())
        raise TableError(f"has the columns of no table of derived figures ({columns})", str(path))
    return Import(derived={schema.name: read_listing(path, schema, [])})


def _importer(name: str, read: Callable[[Path, str, Mapping], Import]) -> Importer:
    """Make the importer of one kind of Nodeworth table. It refuses a mapping of columns."""

    def recognises(text: str) -> bool:
        return table_of(text) == name

    def read_unmapped(text: str, source: str, mapping: Mapping) -> Import:
        if mapping.fields:
            message = f"is a Nodeworth table ({name}), which takes no mapping: change or add its columns"
            raise TableError(message, source)
        return read(Path(source), text, mapping)

    return Importer(name, recognises, read_unmapped)


def _equal_rows(text: str) -> list[str]:
    """Return a remark in one line if rows of a CSV text are equal in all cells; else an empty list."""
    reader = csv.reader(io.StringIO(text, newline=""))
    next(reader, None)
    first_line: dict[tuple[str, ...], int] = {}
    pairs = []
    for cells in reader:
        line = reader.line_num - sum(cell.count("\n") for cell in cells)
        first = first_line.setdefault(tuple(cells), line)
        if cells and first != line:
            pairs.append((first, line))
    if not pairs:
        return []
    (first, second), further = pairs[0], len(pairs) - 1
    if not further:
        return [f"lines {first} and {second} are equal: both count; remove one if it was copied"]
    others = (
        f"{further} further line{'s repeat earlier lines' if further > 1 else ' repeats an earlier line'}"
    )
    return [f"lines {first} and {second} are equal, and {others}: all count; remove lines that were copied"]


def _read_runs_table(path: Path, text: str, mapping: Mapping) -> Import:
    header = next(csv.reader(io.StringIO(text, newline="")), [])
    unused = {*header} - {*RUNS.columns, *mapping.settings}
    remarks = [*misspelt(unused, RUNS.columns.keys() - {*header}), *_equal_rows(text)]
    return Import(runs=read_runs(path, mapping.settings), remarks=remarks)


RUNS_TABLE = _importer("runs", _read_runs_table)
CURVE_TABLE = _importer("curves", lambda path, text, _: read_curve_table(path, text))
DERIVED_TABLE = _importer("derived", lambda path, text, _: read_derived(path, text))


def merge_derived(derived: Entries[Path, Entries[str, pd.DataFrame]]) -> dict[str, pd.DataFrame]:
    """Merge the derived figures of several files.

    Parameters
    ----------
    derived : mapping of Path to mapping of str to DataFrame
        `Import.derived` by file.

    Returns
    -------
    dict of str to DataFrame
        Tables by name. Column `source` is taken from the file, else it is the name of the file.

    Raises
    ------
    TableError
        If two rows hold the same figure.
    """
    by_name: dict[str, list[pd.DataFrame]] = {}
    for file, tables in derived.items():
        for name, table in tables.items():
            sourced = table if SOURCE in table else table.assign(**{SOURCE: file.name})
            _check_distinct(pd.concat([*by_name.get(name, []), sourced]), name, file)
            by_name.setdefault(name, []).append(sourced)
    return {name: pd.concat(tables, ignore_index=True) for name, tables in by_name.items()}


def _check_distinct(table: pd.DataFrame, name: str, file: Path) -> None:
    """Refuse a table in which two rows hold the same figure."""
    key = _KEYS.get(name, [])
    twice = table[table.duplicated(key)] if key else table.iloc[:0]
    if len(twice):
        figure = ", ".join(map(str, twice[key].iloc[0]))
        raise TableError(f"tells {name} of {figure} a second time", str(file))


def write_derived(tables: Entries[str, pd.DataFrame], folder: Path) -> None:
    """Write each table to ``<folder>/<name>.csv``; `analysis.importers.read_published` reads them back.

    Raises
    ------
    TableError
        If a file cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        write_table(table, folder / f"{name}.csv")
