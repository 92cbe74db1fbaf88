"""Runs table from the variables that another framework recorded with each run."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Sequence
from collections.abc import Mapping as Entries
from dataclasses import dataclass, field, replace

import pandas as pd

from analysis.importers.mapping import COLUMNS, PER_NODE, UNITS, Field, Mapping, misspelt
from analysis.importers.resolution import decimal_steps
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
    "threads": ("threads", "num_cpus_per_task", "cpus_per_task", "threads_per_process", "threadspertask"),
    PER_NODE: (PER_NODE,),
    "started": ("started",),
    "energy_joules": ("energy_joules",),
    "seconds": ("seconds",),
}
"""Variables for each column without a mapping; the first variable that the file has is used."""

MAY_DIFFER = re.compile(r"^(repeat_no|jube_.*)$")
"""Counters of ReFrame and JUBE, in which runs of one point may differ without a mapping."""

MOST_VALUES = 4
"""Values of a variable that a message lists."""
_POINT = ("case", "interconnect", "kind", "nodes", "processes", "cores", "oversubscription", "threads")

Value = str | int | float | None


@dataclass(frozen=True)
class Recorded:
    """One run as another framework recorded it.

    Attributes
    ----------
    file, location : str
        File of the run, and its line or test in the file.
    variables : dict of str to str, number or None
        Values by name; None without a value.
    units : dict of str to str
        Units of the variables that have one.
    parameters : frozenset of str
        Variables that distinguish points.
    reason : str
        Why the run is invalid; empty for a valid run.
    censored : bool
        Whether the run was stopped at its time limit, which is then its time.
    """

    file: str
    location: str
    variables: dict[str, Value]
    units: dict[str, str] = field(default_factory=dict)
    parameters: frozenset[str] = frozenset()
    reason: str = ""
    censored: bool = False


def make_runs(records: Sequence[Recorded], unread: Iterable[str], mapping: Mapping, source: str) -> Import:
    """Make the runs table of imported records.

    A record without a required column is skipped and listed. An invalid run needs no time.

    Parameters
    ----------
    records : sequence of Recorded
        Runs of the file.
    unread : iterable of str
        One line per entry that the parser skipped.
    mapping : Mapping
        Sources of the columns.
    source : str
        File, for messages.

    Raises
    ------
    TableError
        If no variable holds a required column, the mapping names a missing variable, runs that differ in a
        parameter would count as repetitions of one point, a name or number is wrong, or no run is left.
    """
    unread = list(unread)
    records = _matching(records, mapping, unread, source)
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
    variables = {name for record in records for name in record.variables}
    unread += misspelt(variables - used, [column for column, origin in fields.items() if origin is None])
    _check_parameters(frame, kept, used | {*mapping.may_differ, *mapping.settings}, source)
    for name in mapping.settings:
        values = [record.variables.get(name) for record in kept]
        if name not in frame and any(value is not None for value in values):
            frame[name] = pd.Series(values, dtype="str")
    used_columns = {"censored": frame["censored"].any(), "energy_joules": fields["energy_joules"] is not None}
    unused = [name for name, is_used in used_columns.items() if not is_used]
    frame = frame.drop(columns=unused, errors="ignore")
    try:
        runs = complete_runs(frame, source, settings=mapping.settings)
    except TableError as error:
        if error.row is None:
            raise
        record = kept[error.row]
        raise TableError(error.message, record.file, record.location, error.column, error.row) from None
    return Import(runs=runs, unread=unread)


def _matching(
    records: Sequence[Recorded], mapping: Mapping, unread: list[str], source: str
) -> list[Recorded]:
    """Return the records that match the patterns of a mapping, with named groups as variables."""
    records = list(records)
    for name, pattern in mapping.patterns.items():
        names = {variable for record in records for variable in record.variables}
        if records and name not in names:
            message = f"'{name}' is no variable of {source} (found: {_listed(names)})"
            raise TableError(message, mapping.source, f"key 'pattern.{name}'")
        matches = [pattern.fullmatch(str(record.variables.get(name) or "")) for record in records]
        if not_matching := matches.count(None):
            unread.append(f"{source}: runs whose {name} does not match {pattern.pattern}: {not_matching}")
        records = [
            replace(
                record,
                variables=record.variables | match.groupdict(),
                parameters=record.parameters | pattern.groupindex.keys(),
            )
            for record, match in zip(records, matches, strict=True)
            if match
        ]
    return records


def _resolved(column: str, records: Sequence[Recorded], mapping: Mapping, source: str) -> Field | None:
    """Return the source of a column from the mapping, else by `GUESSES`; None if no variable holds it."""
    is_optional = column == "interconnect"  # serial runs have none
    names = {
        name
        for record in records
        for name, value in record.variables.items()
        if value is not None or is_optional
    }
    origin = mapping.fields.get(column)
    if origin is not None:
        odd = next((name for name in origin.variables if name not in names), None)
        if odd is not None:
            message = f"'{odd}' is no variable of {source} (found: {_listed(names)})"
            raise TableError(message, mapping.source, f"key '{column}'")
        return origin
    guess = next((name for name in GUESSES[column] if name in names), None)
    if guess is None and column in UNITS:
        guess = _only_variable(column, records, source)
    follows = column == "processes" and all(
        _resolved(count, records, mapping, source) for count in ("nodes", PER_NODE)
    )
    if guess is None and column in REQUIRED and not follows:
        near = difflib.get_close_matches(column, names, n=1)
        hint = f", but {near[0]!r} is similar" if near else ""
        others = f", or map nodes and {PER_NODE}" if column == "processes" else ""
        remedy = f"rename one, or name one in a mapping{others}"
        message = f"no variable holds it{hint} (found: {_listed(names)}): {remedy}"
        raise TableError(message, source, column=column)
    return None if guess is None else Field((guess,))


def _only_variable(column: str, records: Sequence[Recorded], source: str) -> str | None:
    """Return the only variable whose unit fits a column; None if there is no such variable.

    Several times are an error, since the runs table needs a time. Several energies give None.
    """
    names = {name for record in records for name, unit in record.units.items() if unit in UNITS[column]}
    if len(names) > 1 and column in REQUIRED:
        message = f"several variables are times ({_listed(names)}): name one in a mapping"
        raise TableError(message, source, column=column)
    return next(iter(names)) if len(names) == 1 else None


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))


def _value(record: Recorded, origin: Field) -> Value:
    """Return the value of a column for a run: the constant, or the joined values of the variables."""
    if origin.value is not None:
        return origin.value
    values = [record.variables.get(name) for name in origin.variables]
    if any(value is None or value == "" for value in values):
        return None
    value = values[0] if len(values) == 1 else "-".join(str(value) for value in values)
    return origin.names.get(str(value), value)


def _run(record: Recorded, fields: dict[str, Field | None]) -> dict[str, object] | str:
    """Return a row of the runs table, or the reason why a record cannot be one."""
    origins = {column: origin for column, origin in fields.items() if origin is not None}
    values = {column: _value(record, origin) for column, origin in origins.items()}
    each = values.pop(PER_NODE, None)
    if each is not None and (problem := _fill_counts(values, each)):
        return problem
    row: dict[str, object] = {**values}
    for column in REQUIRED:
        if column not in origins:  # `processes`, if they follow from the nodes
            if values.get(column) is None:
                return f"'nodes' or '{PER_NODE}' is empty"
            continue
        names = ", ".join(origins[column].variables)
        if column == "interconnect" and _is_serial(values, record, origins[column]):
            continue
        if values[column] is None and not (column == "seconds" and record.reason):
            return f"'{column}' ({names}) is empty" + (f" ({record.reason})" if record.reason else "")
    for column in UNITS:
        value = values.get(column)
        if value is not None:
            amount = _amount(column, value, record, origins[column])
            if isinstance(amount, str):
                return amount
            number = float(value)
            if column == "seconds" and amount != number:  # the file has another unit than seconds
                row["resolution_seconds"] = float(decimal_steps(number)) * amount / number or None
            row[column] = amount
    if values.get("threads") is not None and values.get("cores") is None:
        cores = _product(values["processes"], values["threads"])
        if cores is None:
            processes, threads = values["processes"], values["threads"]
            return f"'threads' ({threads!r}) or 'processes' ({processes!r}) is no whole number"
        row["cores"] = cores
    name = f"{record.file.rpartition('/')[2]}: {record.location}"
    ended = {"valid": not record.reason, "reason": record.reason or None, "censored": record.censored}
    return {**row, **ended, "record": name}


def _fill_counts(values: dict[str, Value], each: Value) -> str | None:
    """Compute the processes of a run from its nodes, or its nodes from its processes.

    Parameters
    ----------
    values : dict
        Values of the run by column, which are changed.
    each : str or int or float
        Processes per node.

    Returns
    -------
    str or None
        Why the counts are wrong; None if they are right.
    """
    counts = {PER_NODE: each, **{name: values.get(name) for name in ("nodes", "processes")}}
    try:
        whole = {name: None if value is None else int(str(value)) for name, value in counts.items()}
    except ValueError:
        stated = ", ".join(f"{name} {value!r}" for name, value in counts.items() if value is not None)
        return f"{stated}: must be whole numbers"
    per_node, nodes, processes = whole[PER_NODE], whole["nodes"], whole["processes"]
    if not per_node or per_node < 1:
        return f"'{PER_NODE}' is {each!r}: must be 1 or more"
    if processes is None and nodes is not None:
        values["processes"] = nodes * per_node
    elif processes is not None and nodes is None:
        values["nodes"] = -(-processes // per_node)
    elif processes is not None and nodes is not None and -(-processes // per_node) != nodes:
        return f"{processes} processes on {nodes} nodes contradict {PER_NODE}, {per_node}"
    return None


def _is_serial(values: Entries[str, Value], record: Recorded, origin: Field) -> bool:
    """Return whether a run has one process, and leaves the variable of the interconnect empty."""
    is_empty = all(record.variables.get(name, "absent") in (None, "") for name in origin.variables)
    return values["interconnect"] is None and is_empty and str(values["processes"]) in ("1", "1.0")


def _product(*counts: Value) -> int | None:
    try:
        return math.prod(int(str(count)) for count in counts)
    except ValueError:
        return None


_QUANTITIES = {"seconds": ("s", "time"), "energy_joules": ("J", "energy")}


def _amount(column: str, value: str | int | float, record: Recorded, origin: Field) -> float | str:
    """Return a time in seconds or an energy in joules, or the reason why it is neither."""
    (name,), units = origin.variables, UNITS[column]
    base_unit, quantity = _QUANTITIES[column]
    recorded = record.units.get(name, base_unit if name == column else "")
    if origin.unit and units.get(record.units.get(name, ""), units[origin.unit]) != units[origin.unit]:
        return f"'{column}' ({name}) has the unit {recorded!r}, and {origin.unit!r} in the mapping"
    unit = origin.unit or recorded
    if unit not in units:
        fault = (
            f"has the unit {unit!r}, which is no {quantity}" if unit else "has no unit: give it in a mapping"
        )
        return f"'{column}' ({name}) {fault}"
    try:
        return float(value) * units[unit]
    except ValueError:
        hint = ": write a decimal point, and no thousands separator" if "," in str(value) else ""
        return f"'{column}' ({name}) is no number: {value!r}{hint}"


def _check_parameters(
    frame: pd.DataFrame, records: Sequence[Recorded], ignored: set[str], source: str
) -> None:
    """Refuse runs of the same point that differ in a parameter, since they would count as repetitions.

    Parameters
    ----------
    frame : DataFrame
        Rows of the runs table, one per record.
    ignored : set of str
        Parameters in which runs may differ.
    """
    names = {name for record in records for name in record.parameters if not MAY_DIFFER.match(name)}
    for name in sorted(names - ignored):
        point = [frame[column].astype("str") for column in _POINT if column in frame]
        values = pd.Series([str(record.variables.get(name)) for record in records], frame.index)
        values_per_point = values.groupby(point).unique()
        different = next((group for group in values_per_point if len(group) > 1), None)
        if different is not None:
            raise TableError(
                f"'{name}' takes several values in runs of one point ({_first_values(different)}): "
                f"{_remedy(different)}",
                source,
            )


def _first_values(values: Iterable[str]) -> str:
    first = sorted(values)
    return ", ".join([*first[:MOST_VALUES], *(["…"] if len(first) > MOST_VALUES else [])])


def _remedy(values: Iterable[str]) -> str:
    """Return what a user can do if a variable takes several values in runs of one point."""
    texts = pd.Series(list(values))
    is_date = pd.to_datetime(texts, errors="coerce", format="ISO8601", utc=True).notna()
    if is_date.all() and not texts.str.isdecimal().any():
        return "map it to started, if it is the date of the run"
    return (
        "make it part of the case in a mapping, or list it under the study's settings, or under may_differ "
        "if it is a result or has no influence"
    )
