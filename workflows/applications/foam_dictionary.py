"""Reader of dictionaries in OpenFOAM's format. It reads what Nodeworth needs to run a case: see `read`."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from workflows.domain import InputError

Entries = dict[str, Any]
"""Entries of a dictionary: text, or the entries of a section."""

_COMMENTS = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.S)
_STRING = r'"(?:\\.|[^"\\])*"'
_TOKEN = re.compile(
    rf"#\w+\s+{_STRING}|#include\w*\s+[^\s;{{}}(]+(?:\([^)]*\))?|{_STRING}|#\{{.*?#\}}|\$\{{\w+\}}"
    r'|[{}();]|[^\s{}();"]+',
    re.S,
)
_INCLUDES = {"#include": True, "#includeIfPresent": False, "#sinclude": False}
"""Directives that include another file. The value tells whether the file must exist."""


def file_of(folder: Path, name: str) -> Path | None:
    """Return the path of a file, or of its gzipped form ``NAME.gz``; None if both are missing."""
    return next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None)


def text_of(file: Path, most: int = -1) -> str:
    """Return the text of a file, which may be gzipped, or its first `most` bytes.

    Raises
    ------
    InputError
        The file cannot be read.
    """
    try:
        with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as opened:
            return opened.read(most).decode(errors="replace")
    except (OSError, EOFError) as error:
        raise InputError(f"{file}: cannot be read: {error}") from None


def read(folder: Path, name: str) -> Entries:
    """Read a dictionary of a case, with the files that it includes.

    Values are text, in which ``$name`` is replaced if the name has a value. As in OpenFOAM, a later entry
    replaces an earlier entry with the same key, and sections merge. Calculations (``#calc``) and code keep
    their text. An entry without an end is left out: OpenFOAM reports the error. A missing dictionary has no
    entries.

    Parameters
    ----------
    folder : Path
        Folder of the case.
    name : str
        Path of the dictionary in it: ``system/controlDict``.

    Raises
    ------
    InputError
        An included file or a brace is missing.
    """
    entries: Entries = {}
    if file := file_of(folder, name):
        _Reader(folder, file).section(entries, ())
    return entries


class _Reader:
    """Reader of the tokens of a file, which fills entries.

    The argument `outer` of its methods holds the entries of the enclosing sections, innermost first.
    ``$name`` is looked up there.
    """

    def __init__(self, case: Path, file: Path) -> None:
        self.case, self.file = case, file
        text = _COMMENTS.sub(lambda match: match[1] or " ", text_of(file))
        tokens = [match[0] for match in _TOKEN.finditer(text)]
        opened, closed = tokens.count("{"), tokens.count("}")
        if opened != closed:
            raise InputError(f"{file}: {opened} opening and {closed} closing braces; one is missing")
        self.tokens: Iterator[str] = iter(tokens)

    def section(self, entries: Entries, outer: tuple[Entries, ...]) -> None:
        """Read entries up to the end of the section or the file."""
        for token in self.tokens:
            if token == "}":
                return
            if token.startswith("#"):
                self._directive(token, entries, outer)
            elif token not in "();{":
                self._entry(token, entries, outer)

    def _entry(self, key: str, entries: Entries, outer: tuple[Entries, ...]) -> None:
        """Read the value or the section of a key."""
        if key.startswith("$"):  # stands for the entries of another section
            next(self.tokens, None)
            section = _lookup(key[1:], (entries, *outer))
            if isinstance(section, dict):
                entries |= section
            return
        words: list[str] = []
        depth = 0
        for token in self.tokens:
            if token == "{" and not words:
                inner = entries.get(key)
                entries[key] = inner if isinstance(inner, dict) else {}
                self.section(entries[key], (entries, *outer))
                return
            if token == ";" and not depth:
                entries[key] = " ".join(_value(word, (entries, *outer)) for word in words)
                return
            if token in ("(", "{"):
                depth += 1
            elif token in (")", "}"):
                depth -= 1
            words.append(token)

    def _directive(self, directive: str, entries: Entries, outer: tuple[Entries, ...]) -> None:
        """Follow a directive that includes another file; ignore any other directive."""
        word, _, name = " ".join(directive.split()).partition(" ")
        name = name.strip('"')
        if word == "#includeFunc":
            function = re.sub(r"\W.*", "", name)
            if file := file_of(self.case, f"system/{function}"):
                _Reader(self.case, file).section(entries.setdefault(function, {}), (entries, *outer))
        elif word in _INCLUDES and "$" not in name and "<" not in name:
            if file := file_of(self.file.parent, name):
                _Reader(self.case, file).section(entries, outer)
            elif _INCLUDES[word]:
                raise InputError(f"{self.file}: includes {name}: no such file")


def _value(word: str, scopes: tuple[Entries, ...]) -> str:
    """Return a word of a value; if it is ``$name`` and the name has a value, return this value."""
    value = _lookup(word.strip("${}"), scopes) if word.startswith("$") else None
    return value if isinstance(value, str) else word


def _lookup(name: str, scopes: tuple[Entries, ...]) -> Any:
    """Return the entry of a name in the innermost section that has it; None if no section has it."""
    name = name.strip("{}:.")
    return next((scope[name] for scope in scopes if name in scope), None)
