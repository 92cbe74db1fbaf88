"""Mapping from the variables of an imported file to columns of the runs table."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from collections.abc import Mapping as Entries
from dataclasses import dataclass, field
from pathlib import Path

from analysis.runs.runs import TableError
from analysis.runs.yaml_files import read_yaml

TEXTS = ("case", "interconnect", "kind")
COUNTS = ("processes", "nodes", "cores", "oversubscription", "block", "repetition", "threads")
PER_NODE = "processes_per_node"
"""Entry from which Nodeworth computes `processes` or `nodes`, which must then be the other of the two."""
COLUMNS = (*TEXTS, *COUNTS, PER_NODE, "started", "energy_joules", "seconds")
"""Columns of the runs table that a mapping may fill, and `PER_NODE`."""

SECONDS = {"s": 1.0, "sec": 1.0, "seconds": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0}
"""Units of time and their length in seconds."""
JOULES = {"J": 1.0, "kJ": 1e3, "MJ": 1e6, "GJ": 1e9, "Wh": 3600.0, "kWh": 3.6e6}
"""Units of energy in joules."""
UNITS = {"seconds": SECONDS, "energy_joules": JOULES}
"""Units of the columns that have a unit."""

_KEYS = {
    **dict.fromkeys(TEXTS, ("from", "names", "value")),
    **dict.fromkeys((*COUNTS, PER_NODE), ("from", "value")),
    "started": ("from",),
    **dict.fromkeys(UNITS, ("from", "unit")),
}


@dataclass(frozen=True)
class Field:
    """Source of one column: variables of the file, or a constant.

    Attributes
    ----------
    variables : tuple of str
        Names of variables; the values of several are joined with ``-``. Empty for a constant.
    value : str or int or None
        The constant.
    names : dict of str to str
        Replacements for the file's values; other values stay.
    unit : str
        One of `UNITS` of the column; empty if the file states the unit.
    """

    variables: tuple[str, ...] = ()
    value: str | int | None = None
    names: dict[str, str] = field(default_factory=dict)
    unit: str = ""


@dataclass(frozen=True)
class Mapping:
    """Mapping from a file's variables to columns of the runs table.

    Attributes
    ----------
    fields : dict of str to Field
        Source of each column; missing columns are guessed.
    may_differ : tuple of str
        Variables in which runs of one point may differ.
    patterns : dict of str to compiled pattern
        Pattern of a variable. Runs whose whole value does not match are skipped; named groups become
        variables.
    source : str
        File of the mapping, for messages; empty without a file.
    settings : tuple of str
        Variables that become columns of the runs table, because the study lists them under ``settings``.
    """

    fields: dict[str, Field] = field(default_factory=dict)
    may_differ: tuple[str, ...] = ()
    patterns: dict[str, re.Pattern[str]] = field(default_factory=dict)
    source: str = ""
    settings: tuple[str, ...] = ()

    @property
    def constants(self) -> dict[str, str | int]:
        """Values of the columns that the mapping states directly."""
        return {column: origin.value for column, origin in self.fields.items() if origin.value is not None}


def read_mapping(path: str | Path) -> Mapping:
    """Read a mapping from a YAML file; docs/import-tools.md describes its keys.

    Raises
    ------
    TableError
        If the mapping is not valid. The message is one line with file, key and allowed values.
    """
    return make_mapping(read_yaml(Path(path)), str(path))


def make_mapping(data: object, source: str = "mapping") -> Mapping:
    """Check the keys and values of a mapping, and make a `Mapping`.

    Parameters
    ----------
    data : dict
        An entry for any of `COLUMNS`: the name of a variable, or a dict. The dict holds either ``value``, or
        ``from`` with optional ``names`` and ``unit``. ``from`` is a name; a text column may list several.
        Further entries are ``may_differ``, a list of variables, and ``pattern``, a dict from variable to a
        regular expression with named groups.
    source : str
        Name of the mapping for messages.

    Raises
    ------
    TableError
        If the mapping is not valid. The message is one line with key and allowed values.
    """
    if not isinstance(data, dict):
        raise TableError("must be keys and values, as processes: num_tasks", source)
    allowed = (*COLUMNS, "may_differ", "pattern")
    unknown = next((key for key in data if key not in allowed), None)
    if unknown is not None:
        raise TableError(f"is unknown (allowed: {', '.join(allowed)})", source, f"key '{unknown}'")
    may_differ = _names(data.get("may_differ", []), source, "may_differ")
    fields = {column: _field(column, data[column], source) for column in COLUMNS if column in data}
    return Mapping(fields, may_differ, _patterns(data.get("pattern", {}), source), source)


def _patterns(given: object, source: str) -> dict[str, re.Pattern[str]]:
    """Compile the patterns of a mapping, by variable."""
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
    """Check the entry of a column, and make its `Field`."""
    entry = {"from": entry} if isinstance(entry, str) else entry
    allowed = _KEYS[column]
    # An entry needs exactly one of ``from`` and ``value``.
    if not isinstance(entry, dict) or ("from" in entry) == ("value" in entry):
        needed = " or ".join(key for key in ("from", "value") if key in allowed)
        raise TableError(f"must be a variable's name, or hold {needed}", source, f"key '{column}'")
    if "value" in entry and "value" in allowed:
        allowed = ("value",)
    unknown = next((key for key in entry if key not in allowed), None)
    if unknown is not None:
        raise TableError(
            f"is unknown here (allowed: {', '.join(allowed)})", source, f"key '{column}.{unknown}'"
        )
    if "value" in entry:
        return Field(value=_constant(column, entry["value"], source))
    variables = _names(entry["from"], source, f"{column}.from")
    if not variables or (len(variables) > 1 and column not in TEXTS):
        raise TableError("must be one variable's name", source, f"key '{column}.from'")
    unit = entry.get("unit", "")
    if "unit" in entry and (not isinstance(unit, str) or unit not in UNITS[column]):
        units = ", ".join(UNITS[column])
        raise TableError(f"{unit!r} must be one of {units}", source, f"key '{column}.unit'")
    return Field(variables, names=_renamed(entry.get("names", {}), source, column), unit=unit)


def _constant(column: str, value: object, source: str) -> str | int:
    """Check the constant of a column: a text or a whole number."""
    if column in TEXTS and isinstance(value, str) and value:
        return value
    if column not in TEXTS and isinstance(value, int) and not isinstance(value, bool):
        return value
    description = "text" if column in TEXTS else "a whole number"
    raise TableError(f"{value!r} must be {description}", source, f"key '{column}.value'")


def _names(value: object, source: str, key: str) -> tuple[str, ...]:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
        raise TableError("must be a variable's name or a list of names", source, f"key '{key}'")
    return tuple(names)


def _renamed(value: object, source: str, column: str) -> dict[str, str]:
    if not isinstance(value, Entries) or not all(isinstance(name, str) for name in value.values()):
        raise TableError("must give a name for each value of the file", source, f"key '{column}.names'")
    return {str(old): new for old, new in value.items()}


def misspelt(unused: Iterable[str], missing: Iterable[str]) -> list[str]:
    """Return a line for each unused name of a file that is similar to the name of a missing column."""
    columns = list(missing)
    near = {name: difflib.get_close_matches(name, columns, n=1, cutoff=0.75) for name in sorted(unused)}
    return [f"{name!r} is not used (similar to column {close[0]!r})" for name, close in near.items() if close]
