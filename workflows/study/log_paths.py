"""Fields in the paths of logs, by a template: ``{interconnect}/size{nodes}/.../{case}-{iteration}.out``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from workflows.domain import InputError

COUNTS = (
    "nodes",
    "processes",
    "threads",
    "processes_per_node",
    "cores",
    "oversubscription",
    "block",
    "repetition",
    "iteration",
)
"""Fields that are whole numbers; ``iteration`` is another name of ``repetition``."""
FIELDS = ("case", "interconnect", "kind", "site", *COUNTS)
"""Fields with a meaning; any other field becomes a column of settings."""
_PARTS = re.compile(
    r"\{(?P<name>[^{}]*)\}|(?P<folders>\.\.\./?)|(?P<any>\*)|(?P<text>[^{}*.]+|\.)|(?P<odd>.)"
)


@dataclass(frozen=True)
class PathTemplate:
    """A template for the end of a log's path.

    Attributes
    ----------
    text : str
        ``{name}`` is a field inside one name, ``*`` any text inside one name, ``...`` any folders.
    pattern : re.Pattern
        The same as a regular expression with named groups.
    """

    text: str
    pattern: re.Pattern[str]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the fields."""
        return tuple(self.pattern.groupindex)

    def fields(self, path: Path) -> dict[str, str] | None:
        """Return the fields of a path by name; None if the template does not match its end."""
        match = self.pattern.search("/" + path.as_posix())
        return match.groupdict() if match else None


def path_template(text: str, where: str) -> PathTemplate:
    """Translate a template.

    Raises
    ------
    InputError
        A brace has no partner, or a name is no name or is there twice.
    """
    expression, names = "/", set[str]()
    for part in _PARTS.finditer(text.removeprefix("/")):
        if part["odd"]:
            raise InputError(f"{where}: {text!r}: {part['odd']!r} has no partner; write fields as {{name}}")
        if part["name"] is not None:
            name = part["name"]
            if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
                raise InputError(f"{where}: {name!r} is no name of a field: a-z, 0-9 and _ after a letter")
            if name in names:
                raise InputError(f"{where}: {{{name}}} is there twice; each only once")
            names.add(name)
            expression += rf"(?P<{name}>{r'[0-9]+' if name in COUNTS else '[^/]+'})"
        else:
            text_of = re.escape(part["text"] or "")
            expression += "(?:.*/)?" if part["folders"] else "[^/]*" if part["any"] else text_of
    if not names:
        raise InputError(f"{where}: {text!r} has no field, such as {{case}}")
    return PathTemplate(text, re.compile(expression + r"\Z"))
