"""Source files of each script. A rule runs again if a source of its script changes."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from functools import cache

from workflows.domain import short_digest
from workflows.paths import ROOT

# A regular expression reads the imports ten times as fast as Python's parser.
_OURS = r"((?:analysis|workflows)[\w.]*)"
_IMPORT = re.compile(rf"^[ \t]*(?:from {_OURS} import (\([^)]*\)|.*)|import {_OURS})", re.MULTILINE)
_BY_NAME = ("workflows.applications",)
"""Packages that import a module by its name in a study, so all their modules count as imported."""
_SCHEMAS = "workflows/schemas/"
_NAMED = re.compile(
    r"(?:\b(?:check|defaults|keys)\((?:\w+, )?|\bschema(?:: [\w\[\]]+)? = )f?[\"'](\w+)([\"'{])"
)
_REFERENCE = re.compile(r"\$ref: \"?(\w+\.yaml)")
_NO_DATA = (".py", ".pyc", ".smk", ".csv", ".md")
"""Suffixes of files that are not data files of a folder. Modules are found by their imports instead."""


@cache
def source_digest(script: str) -> str:
    """Return a digest of all sources of a script, by its name in ``workflows/scripts``."""
    digests = [(name, _digest_of(name)) for name in sorted(sources(script))]
    return short_digest(repr(digests).encode())


def sources(script: str) -> set[str]:
    """Return the source files of a script, by their paths in the project.

    They are the script, all modules that it imports directly or indirectly, their packages, the data files in
    their folders (templates, programs to compile), and the schemas that they name.
    """
    names: set[str] = set()
    waiting = [f"workflows.scripts.{script}"]
    while waiting:
        module = waiting.pop()
        file = _modules()[module]
        if file not in names:
            names |= {file, *_data().get(_folder(file), ()), *_schemas_of(module)}
            waiting += _imported(module)
    return names


@cache
def _digest_of(name: str) -> str:
    return hashlib.sha256((ROOT / name).read_bytes()).hexdigest()


@cache
def _imported(module: str) -> set[str]:
    """Return the modules of the project that a module imports, and their packages."""
    names = set()
    for package, several, whole in _IMPORT.findall((ROOT / _modules()[module]).read_text(encoding="utf-8")):
        names |= {package or whole, *(f"{package}.{name}" for name in re.findall(r"\w+", several))}
    names |= {name for name in _modules() if module in _BY_NAME and name.startswith(f"{module}.")}
    dotted = [name.split(".") for name in names]
    packages = {".".join(words[:size]) for words in dotted for size in range(1, len(words) + 1)}
    return packages & _modules().keys()


@cache
def _schemas_of(module: str) -> set[str]:
    """Return the schemas that a module names, and all schemas that those schemas refer to.

    A module may give only the start of a name, followed by a variable in an f-string.
    """
    text = (ROOT / _modules()[module]).read_text(encoding="utf-8")
    if "inputs" not in text and "schema" not in text:
        return set()  # the search below is slow
    schemas = [name for name in _files() if name.startswith(_SCHEMAS)]
    used: set[str] = set()
    waiting = [
        schema
        for name, end in set(_NAMED.findall(text))
        for schema in schemas
        if schema.startswith(f"{_SCHEMAS}{name}{'' if end == '{' else '.'}")
    ]
    while waiting:
        schema = waiting.pop()
        if schema not in used:
            used.add(schema)
            referred = _REFERENCE.findall((ROOT / schema).read_text(encoding="utf-8"))
            waiting += [_SCHEMAS + name for name in referred]
    return used


@cache
def _modules() -> dict[str, str]:
    """Return the path of every module of the project by its dotted name."""
    python = [name for name in _files() if name.endswith(".py")]
    return {name.removesuffix(".py").removesuffix("/__init__").replace("/", "."): name for name in python}


@cache
def _data() -> dict[str, list[str]]:
    """Return the data files of each folder with modules, including those in subfolders without modules."""
    folders = {_folder(name) for name in _modules().values()}
    data: dict[str, list[str]] = {}
    for name in _files():
        if not name.endswith(_NO_DATA) and not name.startswith(_SCHEMAS):
            folder = _folder(name)
            owner = folder if folder in folders else _folder(folder)
            data.setdefault(owner, []).append(name)
    return data


def _folder(name: str) -> str:
    return name.rpartition("/")[0]


@cache
def _files() -> list[str]:
    return list(_below("analysis")) + list(_below("workflows"))


def _below(folder: str) -> Iterator[str]:
    with os.scandir(ROOT / folder) as entries:
        for entry in entries:
            if not entry.is_dir():
                yield f"{folder}/{entry.name}"
            elif entry.name != "__pycache__":
                yield from _below(f"{folder}/{entry.name}")
