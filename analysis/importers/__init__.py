"""Results imported from other benchmarking frameworks, network benchmarks and publications."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from analysis.importers import iperf3, netperf, perftest, qperf, sockperf
from analysis.importers.imb import BENCHMARK, read_imb
from analysis.importers.jube import read_table
from analysis.importers.mapping import COLUMNS, Mapping, make_mapping, read_mapping
from analysis.importers.netpipe import INTEGRITY, read_netpipe
from analysis.importers.osu import TITLE, read_osu
from analysis.importers.reframe import PERFLOG_START, read_perflog, read_report
from analysis.importers.resolution import with_resolution
from analysis.importers.results import CURVES, Import, make_curves, write_table
from analysis.importers.sacct import begins, read_sacct
from analysis.importers.tables import merge_derived, read_curve_table, read_derived, table_of, write_derived
from analysis.importers.transports import make_transports
from analysis.importers.variables import Recorded, make_runs
from analysis.runs.errors import readable
from analysis.runs.runs import REQUIRED, TableError, read_runs

__all__ = [
    "COLUMNS",
    "CURVES",
    "FORMATS",
    "Import",
    "Mapping",
    "make_mapping",
    "merge_derived",
    "read_foreign",
    "read_mapping",
    "read_published",
    "with_resolution",
    "write_derived",
    "write_table",
]

Reader = Callable[[str, str], tuple[list, list[str]]]
"""Takes the content of a file and its name; gives what it read (`Recorded` runs, or rows of network curves
with their ``line``), and a line for each thing that it could not read."""

_RECORDED: dict[str, Reader] = {
    "reframe-report": read_report,
    "reframe-perflog": read_perflog,
    "jube": read_table,
    "sacct": read_sacct,
}
_PRINTED: dict[str, Reader] = {"osu": read_osu, "imb": read_imb, "netpipe": read_netpipe}

_TRANSPORTS: dict[str, Reader] = {
    "perftest": perftest.read_perftest,
    "qperf": qperf.read_qperf,
    "iperf3": iperf3.read_iperf3,
    "netperf": netperf.read_netperf,
    "sockperf": sockperf.read_sockperf,
}

_OWN: dict[str, Callable[[Path, str], Import]] = {
    "runs": lambda path, text: Import(runs=read_runs(path)),
    "curves": read_curve_table,
    "derived": read_derived,
}

FORMATS = (*_OWN, *_RECORDED, *_PRINTED, *_TRANSPORTS)
"""What `read_foreign` reads; docs/import.md describes each."""

_OF_CURVES = ("interconnect", "kind", "processes")


def read_foreign(path: str | Path, format: str | None = None, mapping: Mapping | None = None) -> Import:
    """Read a file of results to import, or a folder of ReFrame's performance logs.

    Parameters
    ----------
    path : path of a file or folder
        Of a folder, all ``*.log*`` at any depth are read: ReFrame puts a log aside as ``.log.h0`` when its
        header changes
    format : str, optional
        One of `FORMATS`. By default the content shows it, except for the numbers of NetPIPE.
    mapping : Mapping, optional
        Which of the file's variables is what, and what the file does not say. A runs table, network
        curves in CSV and derived figures need none and take none.

    Returns
    -------
    Import

    Raises
    ------
    TableError
        In one line with file, line and column, if the file cannot be read, is in no known format, or
        holds wrong names or numbers. What is merely missing is skipped and listed in `Import.unread`.
    """
    path, mapping = Path(path), mapping or Mapping()
    if format is not None and format not in FORMATS:
        raise TableError(f"format {format!r} is unknown (known: {', '.join(FORMATS)})", str(path))
    if path.is_dir():
        if format not in (None, "reframe-perflog"):
            raise TableError(f"is a folder, where {format} is a file", str(path))
        return _read_perflogs(path, mapping)
    if path.suffix == ".parquet" and format in (None, "runs"):
        return Import(runs=read_runs(path))
    text = _read_text(path)
    format = format or _detected(text, path)
    if format in _RECORDED:
        records, unread = _RECORDED[format](text, str(path))
        return make_runs(records, mapping, unread, str(path))
    if format in _PRINTED:
        _check_constants(mapping, path)
        rows, unread = _PRINTED[format](text, str(path))
        return make_curves(rows, mapping.constants, unread, str(path))
    if format in _TRANSPORTS:
        _check_constants(mapping, path)
        rows, unread = _TRANSPORTS[format](text, str(path))
        return make_transports(rows, mapping.constants, unread, str(path))
    if mapping.fields:
        raise TableError(f"is a table of ours ({format}), which takes no mapping", str(path))
    return _OWN[format](path, text)


def _check_constants(mapping: Mapping, path: Path) -> None:
    allowed = set(mapping.constants).intersection(_OF_CURVES)
    odd = next((column for column in mapping.fields if column not in allowed), None)
    if odd is not None:
        message = f"network benchmarks have no variables: give the value of {', '.join(_OF_CURVES)} alone"
        raise TableError(message, mapping.source or str(path), f"key '{odd}'")


def read_published(folder: str | Path) -> dict[str, pd.DataFrame]:
    """Read the derived figures among the CSV files of a folder.

    Parameters
    ----------
    folder : path of a folder
        As analysis/published, or what `write_derived` wrote. Runs tables and network curves are left to
        `read_foreign`.

    Returns
    -------
    dict of str to DataFrame
        Typed tables by name (``peaks``, ``improvement``, …; docs/reference/imports.md lists them); column
        `source` is the file. Of no table here anything is estimated: they stand beside our own.

    Raises
    ------
    TableError
        If there is no such folder, or a CSV file is none of our tables or damaged.
    """
    if not Path(folder).is_dir():
        raise TableError("there is no such folder", str(folder))
    texts = {path: _read_text(path) for path in sorted(Path(folder).glob("*.csv"))}
    return merge_derived(
        {
            path: read_derived(path, text)
            for path, text in texts.items()
            if table_of(text) not in ("runs", "curves")
        }
    )


def _read_text(path: Path) -> str:
    with readable(path):
        text = path.read_bytes().decode("utf-8-sig")
    if not text.strip():
        raise TableError("is empty", str(path))
    return text


def _detected(text: str, path: Path) -> str:
    """Recognise a format by the content of a file."""
    lines = [line for line in text.splitlines() if line.strip()]
    if text.lstrip().startswith("{"):
        return "iperf3" if iperf3.VERSION.search(text) else "reframe-report"
    if lines[0].startswith(PERFLOG_START):
        return "reframe-perflog"
    if begins(lines[0]):
        return "sacct"
    if any(TITLE.match(line) for line in lines):
        return "osu"
    if any(BENCHMARK.match(line) for line in lines):
        return "imb"
    for format, first in _FIRST_LINES.items():
        if any(first.match(line) for line in lines):
            return format
    if INTEGRITY.match(lines[0]):
        return "netpipe"
    if all(map(_NUMBER.fullmatch, re.split(r"[\s,;|]+", lines[0].strip(" \t,;|")))):
        raise TableError(_NO_HEADING, str(path))
    if own := table_of(text):
        return own
    if any(separator in line for separator in ",;|" for line in lines[:2]):
        return "jube"
    raise TableError(f"is in no known format: name it ({', '.join(FORMATS)})", str(path))


_FIRST_LINES = {
    "perftest": perftest.TITLE,
    "qperf": qperf.TITLE,
    "netperf": netperf.TITLE,
    "sockperf": sockperf.START,
}
"""Lines by which the output of a test of transports is known."""

_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_NO_HEADING = (
    "has no heading, and Nodeworth does not guess what its numbers are. For NetPIPE's np.out give "
    "format: netpipe (on the command line --format netpipe). For runs write CSV whose first line names the "
    f"columns: {','.join(REQUIRED)}"
)


def _read_perflogs(folder: Path, mapping: Mapping) -> Import:
    records: list[Recorded] = []
    unread: list[str] = []
    for file in sorted(folder.rglob("*.log*")):
        found, skipped = read_perflog(_read_text(file), str(file))
        records += found
        unread += skipped
    return make_runs(records, mapping, unread, str(folder))
