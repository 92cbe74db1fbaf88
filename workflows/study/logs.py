"""Folders of logs that a study imports: ``import: [{logs: runs/*.out, application: NAME}]``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.runs.runs import COLUMNS
from workflows import inputs
from workflows.applications import application, names
from workflows.applications.base import Application
from workflows.domain import InputError
from workflows.study.log_paths import COUNTS, FIELDS, PathTemplate, path_template
from workflows.study.log_patterns import COMPLETE, NUMBERS, LogPattern, log_pattern

READ = (*NUMBERS, "started", COMPLETE)
"""Keys of ``read`` with a meaning; any other key becomes a column of settings."""
STATED = tuple(name for name in FIELDS if name not in ("repetition", "iteration"))
"""Columns that may stand next to ``logs``."""
_ITERATION = "{iteration} is another name of {repetition}; give one"
_OF_LOGS = ("application", "read", "settings", "expected_answer")
"""Keys that only logs of runs have."""


@dataclass(frozen=True)
class Logs:
    """Logs that are read in the same way.

    Attributes
    ----------
    where : str
        Study file and key, for messages.
    base : Path
        Folder of the study file.
    files : tuple of Path
        Sorted by path.
    application : str or None
    read : mapping of str to LogPattern
        Expressions by column; they come before what the application reads.
    template : PathTemplate or None
    stated : mapping
        Columns that the study states for all logs.
    settings : mapping of str to str
        Further columns that the study states.
    expected : tuple of float or None
        Expected answer and its tolerance, the largest relative difference.
    """

    where: str
    base: Path
    files: tuple[Path, ...]
    application: str | None
    read: Mapping[str, LogPattern]
    template: PathTemplate | None
    stated: Mapping[str, Any]
    settings: Mapping[str, str]
    expected: tuple[float, float] | None

    @property
    def program(self) -> Application | None:
        """The application whose logs Nodeworth reads without expressions; None for another program."""
        return application(self.application) if self.application in names() else None


def log_files(pattern: str, base: Path, where: str) -> tuple[Path, ...]:
    """Return the files that a pattern with ``*``, ``?``, ``[…]`` or ``**`` (any folders) matches, sorted.

    Raises
    ------
    InputError
        It matches no file.
    """
    root, below = (Path("/"), pattern.lstrip("/")) if pattern.startswith("/") else (base, pattern)
    try:
        files = tuple(sorted(path for path in root.glob(below) if path.is_file()))
    except ValueError as error:
        raise InputError(f"{where}.logs: {pattern!r}: {error}") from None
    if not files:
        raise InputError(f"{where}.logs: {pattern!r} matches no file in {base.absolute()}")
    return files


def read_logs_entry(entry: Mapping[str, Any], base: Path, where: str) -> Logs:
    """Check an entry of ``import`` with ``logs``.

    Raises
    ------
    InputError
        A key is wrong: one line.
    """
    files = log_files(entry["logs"], base, where)
    stated_patterns: Mapping[str, Any] = entry.get("read", {})
    read = {name: log_pattern(name, text, f"{where}.read") for name, text in stated_patterns.items()}
    name = entry.get("application")
    if "seconds" not in read and (name not in names() or not _reads_logs(name)):
        known = ", ".join(name for name in names() if _reads_logs(name))
        if name is None:
            raise InputError(f"{where}: needs application ({known}), or read.seconds for another program")
        near = inputs.nearest(name, known.split(", "))
        raise InputError(f"{where}.read.seconds: missing, since application is not {known}{near}: {name!r}")
    template = path_template(entry["from_path"], f"{where}.from_path") if "from_path" in entry else None
    settings = {key: str(value) for key, value in entry.get("settings", {}).items()}
    stated = {key: entry[key] for key in STATED if key in entry}
    fields = template.names if template else ()
    for key, names_there in {"from_path": fields, "read": tuple(read), "settings": tuple(settings)}.items():
        meant = {"from_path": FIELDS, "read": READ, "settings": ()}[key]
        if filled := next((column for column in names_there if column in {*COLUMNS} - {*meant}), None):
            raise InputError(f"{where}.{key}: Nodeworth fills the column {filled!r}; take another name")
    if {"repetition", "iteration"} <= {*fields}:
        raise InputError(f"{where}.from_path: {_ITERATION}")
    if twice := next((column for column in fields if column in stated or column in settings), None):
        raise InputError(f"{where}.{twice}: is in from_path, too; each only once")
    expected = entry.get("expected_answer")
    return Logs(
        where, base, files, name, read, template, stated, settings,
        (expected["value"], expected["tolerance"]) if expected else None,
    )  # fmt: skip


def files_of_format(entry: Mapping[str, Any], base: Path, where: str) -> dict[Path, dict[str, Any]]:
    """Return the entry of each file of a format, such as ``osu``: what path and study state is its mapping.

    Raises
    ------
    InputError
        See `log_files` and `path_template`; also if a path does not match, or a key is of logs only.
    """
    if odd := next((key for key in _OF_LOGS if key in entry), None):
        raise InputError(f"{where}.{odd}: does not belong here, next to format")
    template = path_template(entry["from_path"], f"{where}.from_path") if "from_path" in entry else None
    stated = {key: entry[key] for key in STATED if key in entry and key != "site"}
    files = {}
    for path in log_files(entry["logs"], base, where):
        fields = template.fields(path) if template else {}
        if fields is None:
            raise InputError(f"{where}.from_path: {entry['from_path']!r} does not match {path}")
        if {"repetition", "iteration"} <= {*fields}:
            raise InputError(f"{where}.from_path: {_ITERATION}")
        values = stated | {
            name.replace("iteration", "repetition"): int(text) if name in COUNTS else text
            for name, text in fields.items()
        }
        mapping = {
            name: {"value": value} for name, value in values.items() if name in FIELDS and name != "site"
        }
        files[path] = {"format": entry["format"], "mapping": {**mapping, **entry.get("mapping", {})}}
        if site := fields.get("site", entry.get("site")):
            files[path]["site"] = site
    return files


def _reads_logs(name: str) -> bool:
    """Return whether an application reads logs without a case."""
    return application(name).read_log([]) is not None
