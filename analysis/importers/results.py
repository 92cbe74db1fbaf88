"""Result of an import: runs, network curves, derived figures, and a list of skipped entries."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping as Entries
from dataclasses import dataclass, field
from math import inf
from pathlib import Path

import pandas as pd
import pandera.pandas as pa
from pandera.errors import SchemaErrors

from analysis.importers.mapping import Mapping
from analysis.runs.columns import described, empty, first_fault
from analysis.runs.errors import TableError, readable
from analysis.runs.runs import COUNT, KIND, NAME, RUNS

_POSITIVE = pa.Check.in_range(0, inf, include_min=False, include_max=False, error="must be above 0")
_SIZE = pa.Check.in_range(0, 2**62, error="must be 0 or more")


def _optional(dtype: str | type, check: pa.Check) -> pa.Column:
    return pa.Column(dtype, check, nullable=True)


CURVES = pa.DataFrameSchema(
    {
        "interconnect": described(pa.Column(str, NAME), "Name of the interconnect."),
        "kind": pa.Column(str, KIND),
        "benchmark": described(
            pa.Column(str, NAME),
            "`pingpong` and other benchmarks of Nodeworth; `osu_…` with the printed title, `imb_…` "
            "with the benchmark's name, `netpipe`.",
        ),
        "processes": described(_optional("Int64", COUNT), "Process count, if printed or stated."),
        "group": described(_optional("Int64", _SIZE), "Group of an IMB run with `-multi`."),
        "bytes": described(
            _optional("Int64", _SIZE),
            "Message size, empty for a barrier; both directions together in NetPIPE's bidirectional mode.",
        ),
        "latency_us": described(
            _optional(float, _POSITIVE), "Half a round trip of a ping-pong; else the mean over processes."
        ),
        "latency_us_low": described(
            _optional(float, _POSITIVE),
            "Lowest over processes, if printed (OSU `-f`, IMB); over runs in a curve of Nodeworth.",
        ),
        "latency_us_high": described(_optional(float, _POSITIVE), "Highest over processes or runs."),
        "bandwidth_MBps": described(_optional(float, _POSITIVE), "10⁶ bytes/s."),
        "messages_per_second": described(_optional(float, _POSITIVE), "Message rate, if printed."),
        "samples": described(_optional("Int64", COUNT), "Repetitions of a message, if printed."),
        "record": described(pa.Column(str, nullable=True), "File and line."),
    },
    name="network curves",
    description="Curves of network benchmarks, one row per message size.",
    strict=True,
    ordered=True,
    coerce=True,
)
"""Columns of a table of network curves, with one row per message size."""


NO_INTERCONNECT = "the output does not name its interconnect: give it in a mapping, {value: NAME}"
_STATED = ("interconnect", "kind", "processes")
"""Columns that a mapping may state for the output of a network benchmark."""


@dataclass(frozen=True, eq=False)
class Import:
    """Result of an import.

    Attributes
    ----------
    runs : DataFrame
        Complete runs table with one row per repetition; empty if the file holds no run.
    curves : DataFrame
        Columns of `CURVES`, with one row per benchmark and message size.
    derived : dict of str to DataFrame
        Published figures without single runs, by the name of their table. The report shows them and
        estimates nothing from them.
    unread : list of str
        One line per skipped entry: file, line and reason.
    """

    runs: pd.DataFrame = field(default_factory=lambda: empty(RUNS))
    curves: pd.DataFrame = field(default_factory=lambda: empty(CURVES))
    derived: dict[str, pd.DataFrame] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)


def read_text(path: Path) -> str:
    """Read a file of UTF-8 text that is not empty.

    Raises
    ------
    TableError
        If the file cannot be read or holds nothing.
    """
    with readable(path):
        text = path.read_bytes().decode("utf-8-sig")
    if not text.strip():
        raise TableError("is empty", str(path))
    return text


def network_constants(mapping: Mapping, source: str) -> dict[str, str | int]:
    """Return the constants of a mapping for the output of a network benchmark, by column.

    Raises
    ------
    TableError
        If it names variables or other columns than interconnect, kind and processes.
    """
    constants = mapping.constants
    wrong = next((column for column in mapping.fields if column not in {*constants} & {*_STATED}), None)
    if wrong is not None:
        message = f"network benchmarks have no variables: give the value of {', '.join(_STATED)} alone"
        raise TableError(message, mapping.source or source, f"key '{wrong}'")
    return constants


def make_curves(
    rows: Iterable[Entries[str, object]], unread: list[str], mapping: Mapping, source: str
) -> Import:
    """Complete the rows of a benchmark's output to network curves.

    Parameters
    ----------
    rows : iterable of mappings
        Columns of `CURVES` that the output holds, and ``line``, the number of its line. The optional ``run``
        separates runs of a benchmark in one file.
    unread : list of str
        One line for each part of the output that was skipped.
    mapping : Mapping
        Constants that the output does not hold: `interconnect`; `kind`, else ``published``; `processes`.

    Raises
    ------
    TableError
        If there is no row, or the mapping names no interconnect or a wrong one.
    """
    constants = network_constants(mapping, source)
    rows = list(rows)
    if not rows:
        raise TableError("holds no curve" + (f": {unread[0]}" if unread else ""), source)
    if "interconnect" not in constants:
        raise TableError(NO_INTERCONNECT, source, column="interconnect")
    name = Path(source).name
    stated = [{key: value for key, value in row.items() if value is not None} for row in rows]
    places = ({"record": f"{_run(name, row)}: line {row['line']}"} for row in stated)
    frame = pd.DataFrame(
        [
            {"kind": "published", **constants, **row, **place}
            for row, place in zip(stated, places, strict=True)
        ]
    )
    try:
        curves = CURVES.validate(frame.reindex(columns=list(CURVES.columns)), lazy=True)
    except SchemaErrors as errors:
        raise first_fault(errors, source) from None
    return Import(curves=curves, unread=unread)


def _run(name: str, row: Entries[str, object]) -> str:
    """Return the name of a file, with the number of the run of a benchmark from the second on."""
    return name if row.get("run", 1) == 1 else f"{name} (run {row['run']})"


def write_table(table: pd.DataFrame, path: str | Path) -> None:
    """Write a runs table or network curves as CSV, completely or not at all.

    Parameters
    ----------
    table : DataFrame
        `Import.runs` or `Import.curves`; `read_foreign` reads the file back to an equal table.
    path : path of the CSV file, which is replaced if it exists

    Raises
    ------
    TableError
        If the file cannot be written.
    """
    path = Path(path)
    fresh = path.with_name(path.name + ".part")
    try:
        table.to_csv(fresh, index=False, lineterminator="\n")
        fresh.replace(path)
    except OSError as error:
        fresh.unlink(missing_ok=True)
        raise TableError(f"cannot be written: {' '.join(str(error).split())}", str(path)) from None
