"""Which of an imported file's variables is what in our runs table."""

from __future__ import annotations

import re
from collections.abc import Mapping as Entries
from dataclasses import dataclass, field
from pathlib import Path

from analysis.runs.runs import TableError
from analysis.runs.yaml_files import read_yaml

TEXTS = ("case", "interconnect", "kind")
COUNTS = ("processes", "nodes", "cores", "oversubscription", "block", "repetition", "threads")
COLUMNS = (*TEXTS, *COUNTS, "energy_joules", "seconds")
"""What a mapping may fill: columns of the runs table, and threads a process, from which cores follow."""

SECONDS = {"s": 1.0, "sec": 1.0, "seconds": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0}
"""Units of time and their length in seconds."""
JOULES = {"J": 1.0, "kJ": 1e3, "MJ": 1e6, "GJ": 1e9, "Wh": 3600.0, "kWh": 3.6e6}
"""Units of energy in joules."""
UNITS = {"seconds": SECONDS, "energy_joules": JOULES}
"""Columns that have a unit, and the units that they may be given in."""

_KEYS = {
    **dict.fromkeys(TEXTS, ("from", "names", "value")),
    **dict.fromkeys(COUNTS, ("from", "value")),
    **dict.fromkeys(UNITS, ("from", "unit")),
}


@dataclass(frozen=True)
class Field:
    """Where one column comes from: variables of the file, or a constant.

    Attributes
    ----------
    variables : tuple of str
        Names; the values of several are joined with ``-``. Empty for a constant.
    value : str or int or None
        The constant.
    names : dict of str to str
        Other words for the file's values; values that are not there stay.
    unit : str
        One of `UNITS` of the column; empty where the file holds it.
    """

    variables: tuple[str, ...] = ()
    value: str | int | None = None
    names: dict[str, str] = field(default_factory=dict)
    unit: str = ""


@dataclass(frozen=True)
class Mapping:
    """A mapping of a file's variables to columns of the runs table.

    Attributes
    ----------
    fields : dict of str to Field
        By column; one that is not there is guessed.
    may_differ : tuple of str
        Variables in which runs of one point may differ.
    patterns : dict of str to compiled pattern
        By variable. Runs of which it does not match the whole value are left out; its named groups are
        variables too.
    source : str
        The mapping's file, empty where there is none.
    """

    fields: dict[str, Field] = field(default_factory=dict)
    may_differ: tuple[str, ...] = ()
    patterns: dict[str, re.Pattern[str]] = field(default_factory=dict)
    source: str = ""

    @property
    def constants(self) -> dict[str, str | int]:
        """Columns of which the mapping gives the value itself."""
        return {column: origin.value for column, origin in self.fields.items() if origin.value is not None}


def read_mapping(path: str | Path) -> Mapping:
    """Read a mapping from a YAML file; docs/import.md describes its keys.

    Raises
    ------
    TableError
        In one line with file, key and what is allowed.
    """
    return make_mapping(read_yaml(Path(path)), str(path))


def make_mapping(data: object, source: str = "mapping") -> Mapping:
    """Check a mapping's keys and values and give it its type.

    Parameters
    ----------
    data : dict
        By column of `COLUMNS`: a variable's name, or a dict of ``from`` (a name, or several of a text
        column), ``names`` and ``unit``, or of ``value``; ``may_differ``, a list of names; and ``pattern``,
        a regular expression with named groups for each of some variables.

    Raises
    ------
    TableError
        In one line with key and what is allowed.
    """
    if not isinstance(data, dict):
        raise TableError("must be keys and values, as processes: num_tasks", source)
    allowed = (*COLUMNS, "may_differ", "pattern")
    odd = next((key for key in data if key not in allowed), None)
    if odd is not None:
        raise TableError(f"is unknown (allowed: {', '.join(allowed)})", source, f"key '{odd}'")
    may_differ = _names(data.get("may_differ", []), source, "may_differ")
    fields = {column: _field(column, data[column], source) for column in COLUMNS if column in data}
    return Mapping(fields, may_differ, _patterns(data.get("pattern", {}), source), source)


def _patterns(given: object, source: str) -> dict[str, re.Pattern[str]]:
    if not isinstance(given, Entries):
        raise TableError("must be a regular expression for each of some variables", source, "key 'pattern'")
    patterns = {}
    for name, text in given.items():
        where = f"key 'pattern.{name}'"
        try:
            patterns[str(name)] = re.compile(str(text))
        except re.error as error:
            raise TableError(f"{text!r} is no regular expression: {error}", source, where) from None
        if not patterns[str(name)].groupindex:
            raise TableError(f"{text!r} needs a named group, as (?P<case>.+)", source, where)
    return patterns


def _field(column: str, entry: object, source: str) -> Field:
    entry = {"from": entry} if isinstance(entry, str) else entry
    allowed = _KEYS[column]
    if not isinstance(entry, dict) or ("from" in entry) == ("value" in entry):
        needed = " or ".join(key for key in ("from", "value") if key in allowed)
        raise TableError(f"must be a variable's name, or hold {needed}", source, f"key '{column}'")
    odd = next((key for key in entry if key not in allowed or ("value" in entry and key != "value")), None)
    if odd is not None:
        keys = "value" if "value" in entry and "value" in allowed else ", ".join(allowed)
        raise TableError(f"is unknown here (allowed: {keys})", source, f"key '{column}.{odd}'")
    if "value" in entry:
        return Field(value=_constant(column, entry["value"], source))
    variables = _names(entry["from"], source, f"{column}.from")
    if not variables or (len(variables) > 1 and column not in TEXTS):
        raise TableError("must be one variable's name", source, f"key '{column}.from'")
    unit = entry.get("unit", "")
    if "unit" in entry and unit not in UNITS[column]:
        known = ", ".join(UNITS[column])
        raise TableError(f"{unit!r} must be one of {known}", source, f"key '{column}.unit'")
    return Field(variables, names=_renamed(entry.get("names", {}), source, column), unit=unit)


def _constant(column: str, value: object, source: str) -> str | int:
    wanted, description = (str, "text") if column in TEXTS else (int, "a whole number")
    if not isinstance(value, wanted) or isinstance(value, bool) or value == "":
        raise TableError(f"{value!r} must be {description}", source, f"key '{column}.value'")
    return value


def _names(value: object, source: str, key: str) -> tuple[str, ...]:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
        raise TableError("must be a variable's name or a list of names", source, f"key '{key}'")
    return tuple(names)


def _renamed(value: object, source: str, column: str) -> dict[str, str]:
    if not isinstance(value, Entries) or not all(isinstance(name, str) for name in value.values()):
        raise TableError("must give a name for each value of the file", source, f"key '{column}.names'")
    return {str(old): new for old, new in value.items()}
