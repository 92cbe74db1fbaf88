"""Reading what a user wrote: strict YAML, closed schemas, one line for what is wrong."""

from __future__ import annotations

import contextlib
import difflib
import functools
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import jsonschema
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from analysis.runs.errors import TableError
from analysis.runs.yaml_files import load_yaml
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
"""Types of a schema: what Python makes of them, and what they are called in messages."""


def read_yaml(path: Path) -> dict[str, Any]:
    """Read a YAML 1.2 file that is a section of keys.

    Returns
    -------
    dict
        Every key is text and every number finite.

    Raises
    ------
    InputError
        Missing or unreadable file, bad syntax, a key given twice, a key that is no text, a number
        that is not finite, or something else than a section of keys.
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
        mark = error.problem_mark or error.context_mark
        where = f"{path}, line {mark.line + 1}" if mark else f"{path}"
        begun = f"{error.context}, " if error.problem.startswith("but ") else ""
        raise InputError(f"{where}: {_one_line(begun + error.problem)}") from None
    except YAMLError as error:
        raise InputError(f"{path}: {_one_line(error)}") from None
    if data is None:
        raise InputError(f"{path}: is empty")
    if not isinstance(data, dict):
        raise InputError(f"{path}: the file must be {_types('object')}, not {_show(data)}")
    _refuse_unusable(data, path, (), ())
    return data


def is_there(path: Path) -> bool:
    """Whether a file or folder is there; of a name that none can have, Python says so only since 3.12."""
    with contextlib.suppress(OSError):
        return path.exists()
    return False


def replaced(data: dict[str, Any], overrides: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Replace keys of a file by those of ``--config``, in which Snakemake leaves lists and sections as text.

    `overrides`, Snakemake's `config`, has also the file's own keys, with their types.

    Raises
    ------
    InputError
        As `read_yaml` does.
    """
    found = data | {key: _typed(value, data.get(key)) for key, value in overrides.items()}
    _refuse_unusable(found, path, (), ())
    return found


def _typed(given: Any, known: Any, inside: bool = False) -> Any:
    """Give a value its types where it is not the one `known`, and stands inside a list or a section."""
    match given:
        case _ if given == known:
            return given
        case dict():
            known = known if isinstance(known, dict) else {}
            return {key: _typed(inner, known.get(key), True) for key, inner in given.items()}
        case list():
            return [_typed(inner, None, True) for inner in given]
        case str() if inside:
            with contextlib.suppress(YAMLError):  # it is no YAML, and so a text
                return load_yaml(given)
    return given


def check(data: dict[str, Any], schema_name: str, path: Path) -> None:
    """Check `data`, read from `path`, against ``workflows/schemas/<schema_name>.yaml``.

    Raises
    ------
    InputError
        The first thing wrong in the order of the keys: file, dotted key, value, what is allowed.
    """
    if errors := sorted(_validator(schema_name).iter_errors(data), key=_order):
        raise InputError(f"{path}: {_explain(errors[0])}")


def defaults(schema_name: str, *section: str) -> dict[str, Any]:
    """Give the default values that a schema states for the keys of a section, or outside of all."""
    schema = _schema(f"{schema_name}.yaml")
    for key in section:
        schema = schema["properties"][key]
    return {key: value["default"] for key, value in schema["properties"].items() if "default" in value}


def keys(schema_name: str) -> list[str]:
    """Keys of a schema outside of its sections, in its order."""
    return list(_schema(f"{schema_name}.yaml")["properties"])


def choose(value: str, known: Iterable[str], what: str, where: str) -> str:
    """Return `value` if it is one of `known`, which are `what`s: ``interconnect``.

    Raises
    ------
    InputError
        Naming the nearest known name, where one is near, and all of them.
    """
    names = sorted(known)
    if value in names:
        return value
    raise InputError(
        f"{where}: no {what} {value!r}{_nearest(value, names)}; known: {', '.join(names) or 'none'}"
    )


@contextlib.contextmanager
def found_wrong_in(where: str) -> Iterator[None]:
    """Turn what the analysis finds wrong into an `InputError` that begins with the file or key of it."""
    try:
        yield
    except TableError as error:
        raise InputError(f"{where}: {error}") from None


def dotted(keys: Iterable[str | int]) -> str:
    """Write the way to a value as ``section.key[2]`` (the third of a list)."""
    text = ""
    for key in keys:
        text += f"[{key}]" if isinstance(key, int) else f".{key}" if text else str(key)
    return text


@functools.cache
def _validator(schema_name: str) -> jsonschema.Draft202012Validator:
    others = Registry(retrieve=lambda name: Resource(_schema(name), DRAFT202012))
    form = jsonschema.FormatChecker(["regex"])
    schema = _schema(f"{schema_name}.yaml")
    return jsonschema.Draft202012Validator(schema, registry=others, format_checker=form)


@functools.cache
def _schema(name: str) -> dict[str, Any]:
    """Read a schema by the name of its file, which is how other schemas refer to it (``$ref``)."""
    return load_yaml((SCHEMAS / name).read_text())


def _order(error: jsonschema.ValidationError) -> tuple[bool, list[str]]:
    """Unknown keys first: a misspelt key also shows as a missing key."""
    return error.validator != "additionalProperties", [str(key) for key in error.absolute_path]


_BEYOND = {
    "minimum": "is too small; at least",
    "maximum": "is too large; at most",
    "exclusiveMinimum": "is too small; above",
    "exclusiveMaximum": "is too large; below",
    "pattern": "does not match",
    **dict.fromkeys(("minItems", "minProperties", "minLength"), "has too few entries; at least"),
    **dict.fromkeys(("maxItems", "maxProperties", "maxLength"), "has too many entries; at most"),
}
"""What is said of a value beyond what a schema allows, which follows."""


def _explain(error: jsonschema.ValidationError) -> str:
    """Say in one line which key holds which value and what is allowed there."""
    while error.context and error.validator in ("anyOf", "oneOf"):
        # Of several alternatives, the user meant the one whose mistake lies deepest; one of a type is worst.
        deepest = max(error.context, key=lambda inner: (len(inner.absolute_path), inner.validator != "type"))
        if len(deepest.absolute_path) == len(error.absolute_path):
            break
        error = deepest
    key = dotted(error.absolute_path)
    at = f"{key}: " if key else ""
    value, allowed = error.instance, error.validator_value
    match error.validator:
        case "additionalProperties":
            known = sorted(error.schema.get("properties", {}))
            unknown = next(name for name in value if name not in known)
            path = dotted([*error.absolute_path, unknown])
            return f"{path}: unknown key{_nearest(unknown, known)}; allowed: {', '.join(known) or 'none'}"
        case "required":
            missing = next(name for name in allowed if name not in value)
            about = error.schema.get("properties", {}).get(missing, {}).get("description")
            path = dotted([*error.absolute_path, missing])
            return f"{path}: missing" + (f" ({_one_line(about).rstrip('.')})" if about else "")
        case "type":
            return f"{at}{_show(value)} is not {_types(allowed)}"
        case "enum":
            names = [str(name) for name in allowed]
            return f"{at}no {_show(value)} here{_nearest(str(value), names)}; allowed: {', '.join(names)}"
        case "const":
            return f"{at}{_show(value)} must be {_show(allowed)}"
        case "format":
            return f"{at}{_show(value)} is no {'regular expression' if allowed == 'regex' else allowed}"
        case limit if limit in _BEYOND:
            return f"{at}{_show(value)} {_BEYOND[limit]} {allowed}"
        case "uniqueItems":
            twice = next(entry for index, entry in enumerate(value) if entry in value[:index])
            return f"{at}{_show(twice)} is there twice; each only once"
        case "not":
            return f"{at}does not belong here: {error.schema['description']}"
        case "anyOf" | "oneOf":
            return f"{at}{_show(value)} is not {' or '.join(dict.fromkeys(map(_alternative, allowed)))}"
        case _:
            return f"{at}{_one_line(error.message)}"


def _alternative(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return ", ".join(map(str, schema["enum"]))
    return _show(schema["const"]) if "const" in schema else _types(schema.get("type", []))


def _types(allowed: str | list[str]) -> str:
    names = [allowed] if isinstance(allowed, str) else allowed
    return " or ".join(_TYPES[name][1] for name in names)


def _nearest(value: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(str(value), list(known), n=1)
    return f", did you mean {near[0]!r}?" if near else ""


def _show(value: Any) -> str:
    """Show a value as YAML would have it, cut to a readable length."""
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


def _one_line(text: object) -> str:
    return " ".join(str(text).split())


def _refuse_unusable(value: Any, path: Path, keys: tuple[str | int, ...], parents: tuple[int, ...]) -> None:
    """Refuse what YAML can say and no key of ours can mean; `parents` are ids, to see a loop."""
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
