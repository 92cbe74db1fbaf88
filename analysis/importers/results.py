"""Result of an import: runs, network curves, derived figures, and a list of skipped entries."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Sequence
from collections.abc import Mapping as Entries
from dataclasses import dataclass, field
from math import inf
from pathlib import Path

import pandas as pd
import pandera.pandas as pa
from pandera.errors import SchemaErrors

from analysis.importers.cleaning import clean_text
from analysis.importers.mapping import Mapping
from analysis.importers.plausible import implausible
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
        "processes": described(
            _optional("Int64", COUNT),
            "Process count, if printed or stated; 2 for OSU's benchmarks of one pair.",
        ),
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
            "Lowest over processes, if printed (OSU `-f`, IMB); over `runs` if there are several, and in a "
            "curve of Nodeworth.",
        ),
        "latency_us_high": described(_optional(float, _POSITIVE), "Highest over processes or runs."),
        "bandwidth_MBps": described(_optional(float, _POSITIVE), "10⁶ bytes/s."),
        "messages_per_second": described(_optional(float, _POSITIVE), "Message rate, if printed."),
        "samples": described(_optional("Int64", COUNT), "Repetitions of a message, if printed."),
        "record": described(pa.Column(str, nullable=True), "File and line."),
        "runs": described(
            _optional("Int64", COUNT), "Runs of the benchmark in the file, if several: values are medians."
        ),
        "window": described(_optional("Int64", COUNT), "Messages in flight of a stream, if printed."),
        "site": described(pa.Column(str, nullable=True), "Site, if stated."),
        "repetition": described(_optional("Int64", _SIZE), "Number of a repetition with a file of its own."),
        "waiting": described(
            _optional("Int64", COUNT), "Processes of IMB that waited meanwhile, if printed."
        ),
    },
    name="network curves",
    description="Curves of network benchmarks, one row per message size.",
    strict=True,
    ordered=True,
    coerce=True,
)
"""Columns of a table of network curves, with one row per message size."""


NO_INTERCONNECT = "the output does not name its interconnect: give it in a mapping, {value: NAME}"
STATED = ("interconnect", "kind", "processes", "repetition")
"""Columns that a mapping may state for the output of a network benchmark."""


@functools.cache
def _empty_runs() -> pd.DataFrame:
    return empty(RUNS)


@functools.cache
def _empty_curves() -> pd.DataFrame:
    return empty(CURVES)


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
    remarks : list of str
        One line per doubt about entries that count.
    """

    runs: pd.DataFrame = field(default_factory=lambda: _empty_runs().copy())
    curves: pd.DataFrame = field(default_factory=lambda: _empty_curves().copy())
    derived: dict[str, pd.DataFrame] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def read_text(path: Path) -> str:
    """Read a file of UTF-8 text that is not empty.

    Raises
    ------
    TableError
        If the file cannot be read or holds nothing.
    """
    with readable(path):
        text = clean_text(path.read_bytes(), str(path))
    if not text.strip():
        raise TableError("is empty", str(path))
    return text


def network_constants(mapping: Mapping, source: str, columns: Sequence[str]) -> dict[str, str | int]:
    """Return the constants of a mapping for the output of a network benchmark, by column.

    Parameters
    ----------
    columns : sequence of str
        Columns that the mapping may state.

    Raises
    ------
    TableError
        If the mapping names variables or other columns.
    """
    constants = mapping.constants
    wrong = next((column for column in mapping.fields if column not in {*constants} & {*columns}), None)
    if wrong is not None:
        message = f"network benchmarks have no variables: give the value of {', '.join(columns)} alone"
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
        numbers the runs of a benchmark in one file. ``settings`` is what the run prints about itself,
        ``environment`` the lines of a shell that changed its environment, ``command`` the line that started
        it, and ``called`` the command that it prints itself, if they are there.
    unread : list of str
        One line for each part of the output that was skipped.
    mapping : Mapping
        Constants that the output does not hold: `interconnect`; `kind`, else ``published``; `processes`;
        `repetition`.

    Raises
    ------
    TableError
        If there is no row, or the mapping names no interconnect or a wrong one.
    """
    constants = network_constants(mapping, source, STATED)
    unread = list(unread)
    rows = _with_all_digits(rows, unread, source)
    rows = _plausible(rows, unread, source)
    rows = _once_per_size(rows, unread, source)
    if not rows:
        raise TableError("holds no curve" + (f": {unread[0]}" if unread else ""), source)
    _check_settings(rows, source)
    if "interconnect" not in constants:
        raise TableError(NO_INTERCONNECT, source, column="interconnect")
    name = Path(source).name
    stated = [{key: value for key, value in row.items() if value is not None} for row in rows]
    frame = pd.DataFrame(
        [{"kind": "published", **constants, **row, "record": f"{name}: line {row['line']}"} for row in stated]
    )
    frame = frame.reindex(columns=[*CURVES.columns, *_OF_RUN])
    frame = _medians_over_runs(frame, unread, source)
    try:
        curves = CURVES.validate(frame[list(CURVES.columns)], lazy=True)
    except SchemaErrors as errors:
        raise first_fault(errors, source) from None
    return Import(curves=curves, unread=unread)


_OF_RUN = ("run", "settings")
_CURVE = ("benchmark", "processes", "group")
"""Columns that identify a curve of a file."""
_QUANTITIES = {"latency_us": "times", "bandwidth_MBps": "bandwidths", "messages_per_second": "message rates"}
"""Measured columns, and the words of messages for them."""


def _with_all_digits(
    rows: Iterable[Entries[str, object]], unread: list[str], source: str
) -> list[Entries[str, object]]:
    """Return the rows with the decimals that most rows of their table have; others were cut off or mixed in.

    The optional ``decimals`` of a row are the decimals of its printed values.
    """
    rows = list(rows)
    tables = [tuple(row.get(name) for name in ("benchmark", "processes", "run")) for row in rows]
    counts = Counter((table, row.get("decimals", ())) for table, row in zip(tables, rows, strict=True))
    usual = {
        table: decimals
        for (table, decimals), _ in sorted(counts.items(), key=lambda item: (item[1], item[0][1]))
    }
    whole: list[Entries[str, object]] = []
    for table, row in zip(tables, rows, strict=True):
        if row.get("decimals", ()) == usual[table]:
            whole.append({name: value for name, value in row.items() if name != "decimals"})
        else:
            unread.append(
                f"{source}: line {row['line']}: has other decimals than most rows: cut off, or mixed in"
            )
    return whole


def _plausible(
    rows: Iterable[Entries[str, object]], unread: list[str], source: str
) -> list[Entries[str, object]]:
    """Return the rows whose values fit each other and physics; list the others."""
    plausible = []
    for row in rows:
        fault = _disordered(row) or _contradicts_rate(row) or implausible(row)
        if not any(row.get(name) for name in ("latency_us", "bandwidth_MBps", "messages_per_second")):
            fault = "has neither a time nor a rate"
        if fault:
            unread.append(f"{source}: line {row['line']}: {fault}")
        else:
            plausible.append(row)
    return plausible


def _contradicts_rate(row: Entries[str, object]) -> str:
    """Return that bandwidth and message rate contradict each other for the size; empty if they do not."""
    size, rate, messages = (row.get(name) for name in ("bytes", "bandwidth_MBps", "messages_per_second"))
    if not (isinstance(size, int) and isinstance(rate, float) and isinstance(messages, float) and size):
        return ""
    share = rate * 1e6 / size / messages
    slack = 0.05 + 0.01 / rate  # a bandwidth has two decimals
    if 1 - slack < share < 1 + slack:
        return ""
    return f"{rate:g} MB/s and {messages:g} messages/s contradict each other for {size} bytes"


def _disordered(row: Entries[str, object]) -> str:
    """Return that a mean lies outside the extremes of its processes; empty if it does not."""
    low, mean, high = (row.get(f"latency_us{end}") for end in ("_low", "", "_high"))
    numbers = [value for value in (low, mean, high) if isinstance(value, int | float)]
    if len(numbers) == 3 and numbers != sorted(numbers):
        return f"the mean {mean} µs is not between the lowest {low} and the highest {high}"
    return ""


def _once_per_size(
    rows: list[Entries[str, object]], unread: list[str], source: str
) -> list[Entries[str, object]]:
    """Return the rows without those that a run has twice; list the sizes with two values."""
    by_point: dict[tuple, list[Entries[str, object]]] = {}
    for row in rows:
        point = tuple(row.get(name) for name in (*_CURVE, "run", "bytes"))
        by_point.setdefault(point, []).append(row)
    contradictory = []
    for same in by_point.values():
        if any({**row, "line": 0} != {**same[0], "line": 0} for row in same[1:]):
            contradictory.append(same)
        elif len(same) > 1:
            unread.append(f"{source}: line {same[1]['line']}: is the same as line {same[0]['line']}")
    for first, *_, last in contradictory:
        size = "" if first.get("bytes") is None else f" {first['bytes']} bytes"
        unread.append(
            f"{source}: line {last['line']}: {first['benchmark']}:{size} differ from line {first['line']} of "
            "the same run"
        )
    dropped = {id(row) for same in contradictory for row in same}
    firsts = {id(same[0]) for same in by_point.values()}
    return [row for row in rows if id(row) in firsts - dropped]


def _check_settings(rows: list[Entries[str, object]], source: str) -> None:
    """Refuse runs of a benchmark with different settings, which are no repetitions."""
    first_rows: dict[tuple, Entries[str, object]] = {}
    for row in rows:
        first = first_rows.setdefault(tuple(row.get(name) for name in _CURVE), row)
        for name in ("settings", "environment", "command", "called"):
            value, before = row.get(name), first.get(name)
            if value != before and (name in ("settings", "environment") or (value and before)):
                if name == "environment":
                    value, before = _without_common(str(value), str(before))
                raise TableError(
                    f"{row['benchmark']} ran with {value!r}, and before line {row['line']} with {before!r}: "
                    "give each run its own file, with its own name of the interconnect",
                    source,
                    f"line {row['line']}",
                )


def _without_common(environment: str, before: str) -> tuple[str, str]:
    """Return the lines of two environments that are not in the other environment."""
    lines, lines_before = environment.split("; "), before.split("; ")
    return (
        "; ".join(line for line in lines if line not in lines_before),
        "; ".join(line for line in lines_before if line not in lines),
    )


def _medians_over_runs(frame: pd.DataFrame, unread: list[str], source: str) -> pd.DataFrame:
    """Return one row per size: the median over the runs, and the extremes of the time over the runs."""
    key = ["interconnect", "kind", *_CURVE, "bytes"]
    groups = frame.groupby(key, dropna=False, sort=False)
    runs = groups["record"].transform("size")
    if runs.max() == 1:
        return frame
    values = list(_QUANTITIES)
    several = runs > 1
    times = groups["latency_us"]
    spread = {"latency_us_low": times.transform("min"), "latency_us_high": times.transform("max")}
    ratios = pd.DataFrame(
        {name: groups[name].transform("max") / groups[name].transform("min") for name in values}
    )
    frame = frame.assign(
        **{name: frame[name].mask(several, groups[name].transform(_median)) for name in values},
        **{name: frame[name].mask(several, extreme) for name, extreme in spread.items()},
        runs=runs.where(several).astype("Int64"),
    )
    for benchmark, rows in frame[several].groupby("benchmark", sort=False):
        unread.append(
            f"{source}: {benchmark} ran {rows['runs'].max()} times with equal settings: repetitions"
            f"{_difference(ratios.loc[rows.index].max())}, of which the medians are kept. Runs of different "
            "libraries need files of their own"
        )
    return frame.drop_duplicates(key)


def _difference(ratios: pd.Series) -> str:
    """Return by how much the runs of a benchmark differ, from the largest ratio of each quantity."""
    words = ((name, 100 * (ratios[name] - 1)) for name in _QUANTITIES if ratios[name] > 1)
    return next((f" ({_QUANTITIES[name]} differ by up to {percent:.0f} %)" for name, percent in words), "")


def _median(values: pd.Series) -> float:
    """Return the median without the binary digits that a mean of two decimal fractions has at its end."""
    return float(f"{values.median():.12g}")


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
