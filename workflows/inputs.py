"""Reader of files that users write: strict YAML, schemas without unknown keys, one line for an error."""

from __future__ import annotations

import contextlib
import difflib
import functools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, cast

import jsonschema
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from analysis.runs.errors import TableError
from analysis.runs.yaml_files import fault, line_of, load_yaml
from workflows.errors import InputError
from workflows.paths import SCHEMAS

_TYPES = {
    "object": (dict, "a section of keys"),
    "array": (list, "a list"),
    "string": (str, "text"),
    "number": (float, "a number"),
    "integer": (int, "a whole number"),
    "boolean": (bool, "true or false"),
    "null": (type(None), "empty"),
}
"""For each type of a schema: the Python type, and its name in messages."""


def read_yaml(path: Path) -> dict[str, Any]:
    """Read a YAML 1.2 file whose top level is a section of keys.

    Returns
    -------
    dict
        Every key is text and every number finite.

    Raises
    ------
    InputError
        The file is missing or unreadable, has bad syntax, a duplicate key, a key that is not text or a number
        that is not finite, or is not a section of keys.
    """
    try:
        data = load_yaml(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8 text (byte {error.start})") from None
    except MarkedYAMLError as error:
        line = line_of(error)
        where = f"{path}, line {line}" if line else f"{path}"
        context = f"{error.context}, " if error.problem.startswith("but ") else ""
        raise InputError(f"{where}: {_joined(context + fault(error))}") from None
    except YAMLError as error:
        raise InputError(f"{path}: {_joined(error)}") from None
    if data is None:
        raise InputError(f"{path}: is empty")
    if not isinstance(data, dict):
        raise InputError(f"{path}: the file must be {_types('object')}, not {_show(data)}")
    _refuse_unusable(data, path, (), ())
    return data


def is_there(path: Path) -> bool:
    """Return whether a path exists."""
    with contextlib.suppress(OSError):  # before Python 3.12: for a name that no file can have
        return path.exists()
    return False


def replaced(data: dict[str, Any], overrides: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Replace keys of a file by the keys of ``--config``.

    Parameters
    ----------
    overrides : mapping
        Snakemake's ``config``. It holds the file's keys with their types, and the keys of ``--config``.
        Snakemake does not parse the inside of lists and sections of ``--config``: their values are text.

    Raises
    ------
    InputError
        As `read_yaml` does.
    """
    merged = data | {key: _typed(value, data.get(key)) for key, value in overrides.items()}
    _refuse_unusable(merged, path, (), ())
    return merged


def _typed(value: Any, in_file: Any, inside: bool = False) -> Any:
    """Return a value of ``config`` with its type: text inside a list or section is parsed as YAML.

    Snakemake reads True and False, but not YAML's true and false. A value that equals the value `in_file`
    already has its type.
    """
    match value:
        case _ if value == in_file:
            return value
        case dict():
            in_file = in_file if isinstance(in_file, dict) else {}
            return {key: _typed(inner, in_file.get(key), True) for key, inner in value.items()}
        case list():
            return [_typed(inner, None, True) for inner in value]
        case str() if inside or value.lower() in ("true", "false"):
            with contextlib.suppress(YAMLError):  # plain text
                return load_yaml(value)
    return value


def check(data: dict[str, Any], schema_name: str, path: Path) -> None:
    """Check `data`, read from `path`, against ``workflows/schemas/<schema_name>.yaml``.

    Raises
    ------
    InputError
        The first error in the order of the keys: file, dotted key, value and allowed values.
    """
    if errors := sorted(_validator(schema_name).iter_errors(data), key=_order):
        raise InputError(f"{path}: {_explain(errors[0])}")


def defaults(schema_name: str, *section: str) -> dict[str, Any]:
    """Return the defaults that a schema states for the keys of a section, or of the top level."""
    schema = _schema(f"{schema_name}.yaml")
    for key in section:
        schema = schema["properties"][key]
    properties = schema.get("properties", {})
    return {key: value["default"] for key, value in properties.items() if "default" in value}


def keys(schema_name: str, mark: str | None = None) -> list[str]:
    """Return the top-level keys of a schema in its order; with a `mark`, the keys with ``<mark>: true``."""
    properties = _schema(f"{schema_name}.yaml")["properties"]
    return [key for key, value in properties.items() if mark is None or value.get(mark, False)]


def entry_keys(schema_name: str, key: str) -> list[str]:
    """Return the keys of an entry of a list in a schema."""
    return list(_schema(f"{schema_name}.yaml")["properties"][key]["items"]["properties"])


MOST_LISTED = 20
"""Largest number of names that a message of `choose` lists if a command lists all names."""


def choose(
    value: str,
    names: Iterable[str],
    noun: str,
    where: str,
    listing: Callable[[Sequence[str]], str] = ", ".join,
    list_command: str | None = None,
) -> str:
    """Return `value` if it is one of the names.

    Parameters
    ----------
    noun : str
        Noun for the names in messages: ``interconnect``.
    where : str
        File and key of the value, for messages.
    listing : callable, optional
        Returns the text that lists names in the message. By default, commas separate the names.
    list_command : str, optional
        Command that lists all names. If it is given, a message on more than `MOST_LISTED` names lists only
        the similar names.

    Raises
    ------
    InputError
        The name is unknown; the line suggests the nearest name, and lists all or similar names.
    """
    choices = sorted(names)
    if value in choices:
        return value
    known = f"known: {listing(choices) or 'none'}"
    if list_command and len(choices) > MOST_LISTED:
        near = difflib.get_close_matches(value, choices, n=8)
        similar = [*near, *(name for name in choices if value in name and name not in near)][:MOST_LISTED]
        known = (f"similar: {listing(similar)}; " if similar else "") + f"all names: {list_command}"
    raise InputError(f"{where}: no {noun} {value!r}{nearest(value, choices)}; {known}")


@contextlib.contextmanager
def table_errors_in(where: str) -> Iterator[None]:
    """Turn a `TableError` into an `InputError` that begins with `where`, the file or key."""
    try:
        yield
    except TableError as error:
        raise InputError(f"{where}: {error}") from None


def dotted(keys: Iterable[str | int]) -> str:
    """Write the path to a value as ``section.key[2]`` (the third entry of a list)."""
    text = ""
    for key in keys:
        text += f"[{key}]" if isinstance(key, int) else f".{key}" if text else str(key)
    return text


WITH_GROUP = "regex-with-group"
"""Format of a regular expression whose first group is a value."""


def has_group(pattern: object) -> bool:
    """Return whether a regular expression has a group; anything that is no text has its own message."""
    return not isinstance(pattern, str) or re.compile(pattern).groups > 0


@functools.cache
def _validator(schema_name: str) -> jsonschema.Draft202012Validator:
    # mypy does not see the arguments of attrs classes in `referencing`.
    others: Registry[Any] = Registry(retrieve=_resource)  # type: ignore[call-arg]
    form = jsonschema.FormatChecker(["regex"])
    form.checks(WITH_GROUP, raises=re.error)(has_group)
    schema = _schema(f"{schema_name}.yaml")
    return jsonschema.Draft202012Validator(schema, registry=others, format_checker=form)


def _resource(name: str) -> Resource[Any]:
    return DRAFT202012.create_resource(_schema(name))


@functools.cache
def _schema(name: str) -> dict[str, Any]:
    """Read a schema by its file name, which other schemas use in ``$ref``."""
    return cast(dict[str, Any], load_yaml((SCHEMAS / name).read_text()))


def _order(error: jsonschema.ValidationError) -> tuple[bool, list[str]]:
    """Return the key by which errors are sorted: unknown keys first, then by position.

    A misspelt key causes two errors, an unknown key and a missing key. The unknown key is the better message.
    """
    return error.validator != "additionalProperties", [str(key) for key in error.absolute_path]


_BEYOND = {
    "minimum": "is too small; at least",
    "maximum": "is too large; at most",
    "exclusiveMinimum": "is too small; must be above",
    "exclusiveMaximum": "is too large; must be below",
    "pattern": "does not match",
    **dict.fromkeys(("minItems", "minProperties", "minLength"), "has too few entries; at least"),
    **dict.fromkeys(("maxItems", "maxProperties", "maxLength"), "has too many entries; at most"),
}
"""Beginning of the message for a value beyond a limit of a schema. The limit follows."""


def _explain(error: jsonschema.ValidationError) -> str:
    """Return one line with the key, its value and the allowed values."""
    while error.context and error.validator in ("anyOf", "oneOf"):
        # The user most likely meant the alternative with the deepest error; a wrong type is least likely.
        deepest = max(error.context, key=lambda inner: (len(inner.absolute_path), inner.validator != "type"))
        if len(deepest.absolute_path) == len(error.absolute_path):
            break
        error = deepest
    key = dotted(error.absolute_path)
    at = f"{key}: " if key else ""
    value, allowed = cast(Any, error.instance), cast(Any, error.validator_value)
    schema = cast(Mapping[str, Any], error.schema)
    match error.validator:
        case "additionalProperties":
            names = sorted(schema.get("properties", {}))
            unknown = next(name for name in value if name not in names)
            path = dotted([*error.absolute_path, unknown])
            return f"{path}: unknown key{nearest(unknown, names)}; allowed: {', '.join(names) or 'none'}"
        case "required":
            missing = next(name for name in allowed if name not in value)
            description = schema.get("properties", {}).get(missing, {}).get("description")
            path = dotted([*error.absolute_path, missing])
            return f"{path}: missing" + (f" ({_joined(description).rstrip('.')})" if description else "")
        case "type":
            hint = "; put it in quotes" if isinstance(value, date) else ""  # YAML has dates, JSON has none
            if allowed == "array" and isinstance(value, str | int | float):
                hint = f"; write [{value}]"
            return f"{at}{_show(value)} is not {_types(allowed)}{hint}"
        case "pattern" if "examples" in schema:
            return f"{at}{_show(value)} does not match {allowed}; an example: {schema['examples'][0]}"
        case "enum":
            texts = [str(name) for name in allowed]
            return f"{at}no {_show(value)} here{nearest(str(value), texts)}; allowed: {', '.join(texts)}"
        case "const":
            return f"{at}{_show(value)} must be {_show(allowed)}"
        case "format":
            if allowed == WITH_GROUP and error.cause is None:
                return f"{at}{_show(value)} has no group ( ); put the value in parentheses: (\\S+)"
            return f"{at}'{value}' is no regular expression: {error.cause}"
        case limit if limit in _BEYOND:
            return f"{at}{_show(value)} {_BEYOND[limit]} {allowed}"
        case "uniqueItems":
            twice = next(entry for index, entry in enumerate(value) if entry in value[:index])
            return f"{at}{_show(twice)} is there twice; each only once"
        case "dependentRequired":
            odd = next(key for key, needed in allowed.items() if key in value and needed[0] not in value)
            path = dotted([*error.absolute_path, odd])
            return f"{path}: belongs to {allowed[odd][0]}, which is missing"
        case "not":
            return f"{at}does not belong here: {schema['description']}"
        case "anyOf" | "oneOf" if all("required" in schema for schema in allowed):
            wanted = " or ".join(" and ".join(schema["required"]) for schema in allowed)
            return f"{at}needs {wanted}, and has {_show(value)}"
        case "anyOf" | "oneOf":
            return f"{at}{_show(value)} is not {' or '.join(dict.fromkeys(map(_alternative, allowed)))}"
        case _:
            return f"{at}{_joined(error.message)}"


def _alternative(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return ", ".join(map(str, schema["enum"]))
    return _show(schema["const"]) if "const" in schema else _types(schema.get("type", []))


def _types(allowed: str | list[str]) -> str:
    names = [allowed] if isinstance(allowed, str) else allowed
    return " or ".join(_TYPES[name][1] for name in names)


def nearest(value: str, names: Iterable[str]) -> str:
    """Return the end of a message that suggests the nearest name; empty if none is near."""
    near = difflib.get_close_matches(str(value), list(names), n=1)
    return f", did you mean {near[0]!r}?" if near else ""


def _show(value: Any) -> str:
    """Write a value as in YAML, shortened to 60 characters."""
    match value:
        case None:
            return "an empty value"
        case bool():
            return str(value).lower()
        case str():
            text = repr(value)
        case dict():
            text = "{" + ", ".join(str(key) for key in value) + "}"
        case _:
            text = str(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _joined(text: object) -> str:
    """Return text without line breaks and repeated blanks."""
    return " ".join(str(text).split())


def _refuse_unusable(value: Any, path: Path, keys: tuple[str | int, ...], parents: tuple[int, ...]) -> None:
    """Raise an `InputError` for values that are valid YAML but not allowed in any file.

    These are references to an enclosing section, keys that are not text, and numbers that are not finite.

    Parameters
    ----------
    keys : tuple of str or int
        Path to the value, for messages.
    parents : tuple of int
        Ids of the enclosing lists and sections, to detect loops.
    """
    if id(value) in parents:
        raise InputError(f"{path}: {dotted(keys)}: refers to itself")
    match value:
        case dict():
            for key, inner in value.items():
                if not isinstance(key, str):
                    raise InputError(f"{path}: {dotted([*keys, str(key)])}: a key must be text; quote it")
                _refuse_unusable(inner, path, (*keys, key), (*parents, id(value)))
        case list():
            for index, inner in enumerate(value):
                _refuse_unusable(inner, path, (*keys, index), (*parents, id(value)))
        case float() if not math.isfinite(value):
            raise InputError(f"{path}: {dotted(keys)}: {value} is not a finite number")


def whole_number(option: str, text: str, least: int) -> int:
    """Return the value of a command-line option that is a whole number.

    Raises
    ------
    InputError
        The text is no whole number, or the number is too small: one line.
    """
    if not text.isdecimal() or int(text) < least:
        raise InputError(f"--{option}: {text!r} is not a whole number from {least} on")
    return int(text)
