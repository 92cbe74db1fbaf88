"""From the variables that another framework recorded with each run to a runs table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import pandas as pd

from analysis.importers.mapping import COLUMNS, SECONDS, Field, Mapping
from analysis.importers.results import Import
from analysis.runs.runs import REQUIRED, TableError, complete_runs

GUESSES = {
    "case": ("case", "test", "jube_benchmark_name"),
    "interconnect": ("interconnect", "fabric", "network"),
    "kind": ("kind",),
    "processes": ("num_tasks", "processes", "tasks", "ntasks", "nprocs"),
    "nodes": ("nodes", "num_nodes"),
    "cores": ("cores",),
    "oversubscription": ("oversubscription",),
    "block": ("block",),
    "repetition": (),
    "seconds": ("seconds",),
}
"""Variables that a column is taken from without a mapping: the first one that the file has."""

MAY_DIFFER = re.compile(r"^(repeat_no|jube_.*)$")
"""Variables in which runs of one point may differ without a mapping: counters of ReFrame and JUBE."""

_POINT = ("case", "interconnect", "kind", "nodes", "processes", "cores", "oversubscription")

Value = str | int | float | None


@dataclass(frozen=True)
class Recorded:
    """One run as another framework recorded it.

    Attributes
    ----------
    file, location : str
        Where it stands: the file, and the line or the test in it.
    variables : dict of str to str, number or None
        None where there is no value.
    units : dict of str to str
        Of the variables that have one.
    parameters : frozenset of str
        Variables that set runs apart.
    reason : str
        Why the run is invalid; empty for a valid one.
    """

    file: str
    location: str
    variables: dict[str, Value]
    units: dict[str, str] = field(default_factory=dict)
    parameters: frozenset[str] = frozenset()
    reason: str = ""


def make_runs(records: Sequence[Recorded], mapping: Mapping, unread: Iterable[str], source: str) -> Import:
    """Make the runs table of imported records.

    A record without one of the columns that a run needs is skipped and listed. An invalid one needs no
    time. Wrong names and numbers refuse the file.

    Parameters
    ----------
    unread : iterable of str
        What the reader could not read.
    source : str
        The file or folder.

    Raises
    ------
    TableError
        If no variable holds one of the needed columns, the mapping names a variable that is not there,
        runs that differ in a parameter would count as repetitions of one point, or nothing is left.
    """
    unread = list(unread)
    if not records:
        raise TableError("holds no run" + (f": {unread[0]}" if unread else ""), source)
    fields = {column: _resolved(column, records, mapping, source) for column in COLUMNS}
    rows: list[dict[str, object]] = []
    kept: list[Recorded] = []
    for record in records:
        row = _run(record, fields)
        if isinstance(row, str):
            unread.append(f"{record.file}: {record.location}: {row}")
        else:
            rows.append(row)
            kept.append(record)
    if not rows:
        raise TableError(f"holds no run: {unread[0]}", source)
    frame = pd.DataFrame(rows)
    used = {name for origin in fields.values() if origin is not None for name in origin.variables}
    _check_alike(frame, kept, used | set(mapping.may_differ), source)
    try:
        runs = complete_runs(frame, source)
    except TableError as error:
        if error.row is None:
            raise
        record = kept[error.row]
        raise TableError(error.message, record.file, record.location, error.column, error.row) from None
    return Import(runs=runs, unread=unread)


def _resolved(column: str, records: Sequence[Recorded], mapping: Mapping, source: str) -> Field | None:
    """Where a column comes from: the mapping, else a guess; None where no variable holds it."""
    found = {name for record in records for name, value in record.variables.items() if value is not None}
    origin = mapping.fields.get(column)
    if origin is not None:
        odd = next((name for name in origin.variables if name not in found), None)
        if odd is not None:
            message = f"'{odd}' is no variable of {source} (found: {_listed(found)})"
            raise TableError(message, mapping.source, f"key '{column}'")
        return origin
    guess = next((name for name in GUESSES[column] if name in found), None)
    if guess is None and column == "seconds":
        guess = _time_variable(records, source)
    if guess is None and column in REQUIRED:
        message = f"no variable tells it (found: {_listed(found)}): name one in a mapping"
        raise TableError(message, source, column=column)
    return None if guess is None else Field((guess,))


def _time_variable(records: Sequence[Recorded], source: str) -> str | None:
    """The only variable that has a unit of time; None where there is none."""
    times = {name for record in records for name, unit in record.units.items() if unit in SECONDS}
    if len(times) > 1:
        message = f"several variables are times ({_listed(times)}): name one in a mapping"
        raise TableError(message, source, column="seconds")
    return next(iter(times), None)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))


def _value(record: Recorded, origin: Field) -> Value:
    if origin.value is not None:
        return origin.value
    values = [record.variables.get(name) for name in origin.variables]
    if any(value is None or value == "" for value in values):
        return None
    value = values[0] if len(values) == 1 else "-".join(str(value) for value in values)
    return origin.names.get(str(value), value)


def _run(record: Recorded, fields: dict[str, Field | None]) -> dict[str, object] | str:
    """A row of the runs table, or why a record cannot be one."""
    row: dict[str, object] = {
        column: _value(record, origin) for column, origin in fields.items() if origin is not None
    }
    for column in REQUIRED:
        names = ", ".join(fields[column].variables)
        if row[column] is None and not (column == "seconds" and record.reason):
            return f"'{column}' ({names}) is empty" + (f" ({record.reason})" if record.reason else "")
    if row["seconds"] is not None:
        seconds = _seconds(row["seconds"], record, fields["seconds"])
        if isinstance(seconds, str):
            return seconds
        row["seconds"] = seconds
    name = f"{record.file.rpartition('/')[2]}: {record.location}"
    return {**row, "valid": not record.reason, "reason": record.reason or None, "record": name}


def _seconds(value: Value, record: Recorded, origin: Field) -> float | str:
    """A time in seconds, or why it is none."""
    (name,) = origin.variables
    recorded = record.units.get(name, "s" if name == "seconds" else "")
    if origin.unit and SECONDS.get(record.units.get(name), SECONDS[origin.unit]) != SECONDS[origin.unit]:
        return f"'seconds' ({name}) has the unit {recorded!r}, and {origin.unit!r} in the mapping"
    unit = origin.unit or recorded
    if unit not in SECONDS:
        fault = f"has the unit {unit!r}, which is no time" if unit else "has no unit: give it in a mapping"
        return f"'seconds' ({name}) {fault}"
    try:
        return float(value) * SECONDS[unit]
    except (TypeError, ValueError):
        return f"'seconds' ({name}) is no number: {value!r}"


def _check_alike(frame: pd.DataFrame, records: Sequence[Recorded], ignored: set[str], source: str) -> None:
    """Refuse runs of one point that differ in a parameter: they would be taken for repetitions."""
    names = {name for record in records for name in record.parameters if not MAY_DIFFER.match(name)}
    point = [frame[column].astype("str") for column in _POINT if column in frame]
    for name in sorted(names - ignored):
        values = pd.Series([str(record.variables.get(name)) for record in records], frame.index)
        several = next((found for found in values.groupby(point).unique() if len(found) > 1), None)
        if several is not None:
            raise TableError(
                f"'{name}' takes several values in runs of one point ({_listed(several)}): make it part of "
                "the case in a mapping, or list it under may_differ",
                source,
            )
