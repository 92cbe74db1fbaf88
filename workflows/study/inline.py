"""Cases that a study describes itself: by the command of any program, or by the path of a user's input."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workflows.applications.tools import substitute
from workflows.domain import Case, InputError
from workflows.inputs import is_there
from workflows.paths import absolute

_CASE_NAME = r"[A-Za-z0-9][A-Za-z0-9_.+-]*"
LAUNCHERS = ("mpirun", "mpiexec", "mpiexec.hydra", "orterun", "srun", "prterun")
"""Programs that start MPI processes. Nodeworth starts the processes itself."""
SHELL = re.compile(r"[\d&]?[<>].*|[|&;]+")
"""Words of a command that only a shell understands: redirections, pipes and separators."""
INTERPRETERS = ("python", "bash", "sh", "perl", "julia")
"""Beginnings of the names of programs that run a script."""
LOGS = ("*.log", "nohup.out", "slurm-*.out")
"""Patterns of files that hold the output of a command; they are no input."""
GUESSED_SECONDS, GUESSED_MB = 10.0, 100.0
"""Assumed time (s) and memory (MB) of a program that has not run yet, for planning."""


@dataclass(frozen=True)
class Existing:
    """An input of a user that a study runs as it is.

    Attributes
    ----------
    name : str
        Name of the case.
    path : Path
        File or folder of the input.
    steps : int or None
        Number of steps of every run.
    run_scripts : bool
        Whether scripts in the input may run.
    file : Path
        The study file, for messages.
    serial_seconds, memory_MB : float or None
        Time and memory of a serial run, for the plan of a study that cannot run the input before its jobs.
    """

    name: str
    path: Path
    steps: int | None
    run_scripts: bool
    file: Path
    serial_seconds: float | None = None
    memory_MB: float | None = None  # noqa: N815 - the key of the study


def existing_cases(entries: Sequence[Any], file: Path) -> dict[str, Existing]:
    """Return the inputs of users among the ``cases`` of a study, by the name of the case.

    Raises
    ------
    InputError
        See `existing_case`; or two inputs have the same name.
    """
    existing = {}
    for index, entry in enumerate(entries):
        if isinstance(entry, str) or "path" not in entry:
            continue
        case = existing_case(entry, file, f"{file}: cases[{index}]")
        if case.name in existing:
            raise InputError(
                f"{file}: cases: {case.name!r} is there twice; give one another name with the key name"
            )
        existing[case.name] = case
    return existing


def existing_case(
    entry: Mapping[str, Any], file: Path, where: str, name_key: str = "the key name"
) -> Existing:
    """Return an input of a user.

    Parameters
    ----------
    entry : mapping
        Entry of the ``cases`` of a study.
    file : Path
        The study file; paths are relative to its folder.
    where : str
        Place of the entry, for messages.
    name_key : str
        What gives the case another name, for messages.

    Raises
    ------
    InputError
        The name of a file or folder cannot name a case, or the results would go into the folder: one line.
    """
    path = Path(os.path.abspath(file.parent / Path(entry["path"]).expanduser()))  # noqa: PTH100 - keeps links
    if Path.cwd().is_relative_to(path.resolve()):
        raise InputError(
            f"{where}: path: {path}: the results would go into this folder, which is only "
            "read: start in another folder, or give run-study --results FOLDER"
        )
    name = entry.get("name", path.stem if path.is_file() else path.name)
    if not re.fullmatch(_CASE_NAME, name):
        raise InputError(
            f"{where}: {name!r} cannot name a case; give another with {name_key}: letters, digits and _ . + -"
        )
    planned = (entry.get("serial_seconds"), entry.get("memory_MB"))
    return Existing(name, path, entry.get("steps"), entry.get("run_scripts", False), file, *planned)


def inline_cases(
    entries: Sequence[Any], file: Path, left_out: Sequence[Path], processes: Sequence[int]
) -> dict[str, dict[str, Any]]:
    """Return the settings of the cases that a study describes by a command, by the name of the case.

    Parameters
    ----------
    entries : sequence
        ``cases`` of the study: names, and sections with the keys of ``workflows/schemas/study.yaml``.
    file : Path
        The study file.
    left_out : sequence of Path
        Files and folders that are no input even if they lie in a case's folder: the study, its results.
    processes : sequence of int
        Process counts of the study. The smallest is used for the trial run.

    Raises
    ------
    InputError
        One line: a command that cannot be run as it is, a missing folder, or two cases of one name.
    """
    cases: dict[str, dict[str, Any]] = {}
    for index, entry in enumerate(entries):
        if isinstance(entry, str) or "command" not in entry:
            continue
        where = f"{file}: cases[{index}]"
        folder = (file.parent / Path(entry.get("folder", ".")).expanduser()).absolute()
        if not (is_there(folder) and folder.is_dir()):
            raise InputError(f"{where}.folder: {folder}: no such folder")
        program, outside = split_command(entry["command"], folder, f"{where}.command")
        name = entry.get("name", name_of(program))
        if name in cases or name in entries:
            raise InputError(f"{where}.name: {name!r} is there twice; give each case a name of its own")
        cases[name] = {
            **{key: entry[key] for key in ("time", "unit", "serial_seconds", "memory_MB") if key in entry},
            "program": program,
            "folder": str(folder),
            "left_out": [
                *entry.get("ignore", LOGS),
                *(
                    absolute(path).relative_to(folder).as_posix()
                    for path in left_out
                    if folder in absolute(path).parents
                ),
            ],
            "outside": outside,
            "trial_processes": min(processes, default=1),
        }
    return cases


def name_of(program: Sequence[str]) -> str:
    """Return the name of a case: the name of its program, or of the script that an interpreter runs.

    `program` holds the words of the command.
    """
    script = next((word for word in program[1:] if not word.startswith("-")), None)
    is_interpreted = Path(program[0]).name.startswith(INTERPRETERS)
    return as_name(Path(script if script and is_interpreted else program[0]).stem)


def as_name(text: str) -> str:
    """Return a text in the form of the name of a study or a case: small letters, digits and ``_``."""
    name = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
    return name if name[:1].isalpha() else f"run_{name}".rstrip("_")


def split_command(command: str, folder: Path, where: str) -> tuple[list[str], dict[str, str]]:
    """Return the words of a command, and the files outside its folder that it names.

    Returns
    -------
    list of str
        Words of the command. A relative path to an existing file outside the folder is made absolute.
    dict of str to str
        Size and time of change of each file outside the folder, by its path.

    Raises
    ------
    InputError
        One line: a launcher, words for a shell, a name without a value, or a missing program.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InputError(f"{where}: {command!r}: {str(error).lower()}") from None
    if not words:
        raise InputError(f"{where}: names no program")
    if Path(words[0]).name in LAUNCHERS:
        raise InputError(
            f"{where}: {words[0]}: leave it out with its options; Nodeworth starts the processes itself"
        )
    if shell := next(filter(SHELL.fullmatch, words), None):
        raise InputError(
            f"{where}: {shell!r}: no shell reads the command; use an option of the program, or a script"
        )
    for word in words:
        substitute(word, {"processes": 1, "threads": 1}, where)
    if "/" in words[0] and "$" not in words[0] and not (folder / words[0]).is_file():
        raise InputError(f"{where}: {words[0]}: no such file in {folder}")
    outside: dict[str, str] = {}
    for index, word in enumerate(words):
        path = folder / word
        if "/" not in word or not is_there(path) or folder in path.resolve().parents:
            continue
        words[index] = word if word.startswith("/") else str(path.resolve())
        if path.is_file():
            status = path.stat()
            outside[words[index]] = f"{status.st_size} bytes, {status.st_mtime_ns}"
    return words, outside


def inline_case(name: str, entry: Mapping[str, Any]) -> Case:
    """Make a case of the application ``command`` from an entry of `inline_cases`.

    The pattern of the time is part of the settings, and so of the digest. After a change of the pattern,
    earlier records do not count, because their times were read with the earlier pattern.
    """
    settings = {key: entry[key] for key in ("program", "left_out", "outside")}
    time = entry.get("time")
    read = {} if time is None else {"seconds": time, "unit": entry.get("unit", "s")}
    return Case(
        name=name,
        application="command",
        size="one",
        title=name,
        folder=Path(entry["folder"]),
        parameters={},
        settings=settings | {"environment": {}, "time": time, "read": read},
        answer=None,
        serial_seconds=entry.get("serial_seconds", GUESSED_SECONDS),
        description=f"{' '.join(entry['program'])}, in {entry['folder']}.",
        memory_MB=entry.get("memory_MB", GUESSED_MB),
        trial_processes=entry["trial_processes"],
    )
