"""Write the study for ``./run-study --command COMMAND``, which times any program on this machine."""

from __future__ import annotations

import os
import re
import shutil
import stat
from pathlib import Path
from typing import Any

from workflows.domain import InputError
from workflows.inputs import read_yaml
from workflows.launch.emulation import usable_cores
from workflows.launch.mpi.registry import linked_library
from workflows.paths import RESULTS
from workflows.study.inline import LOGS, as_name, name_of, split_command
from workflows.study.written import write_study

INTERCONNECTS = {
    "openmpi": ("shared_memory", "tcp_loopback"),
    "mpich": ("shared_memory_mpich", "tcp_loopback_mpich"),
}
"""Interconnects of any machine, by the MPI library of the program."""


def write_command_study(
    command: str, time: str | None, processes: str | None, name: str | None, here: Path
) -> Path:
    """Write a study of one program, with the folder in which the user typed the command.

    Parameters
    ----------
    time : str or None
        Pattern of the time; None: the time of the whole run counts.
    processes : str or None
        Process counts with commas between them. None: 1, 2, 4 and so on, up to the cores of this machine.
    name : str or None
        Name of the study. None: names of the program and the folder.

    Returns
    -------
    Path
        The study file, ``results/<name>/study.yaml``.

    Raises
    ------
    InputError
        One line: the option, its value, and what is allowed.
    """
    program, _ = split_command(command, here, "--command")
    case = name_of(program)
    study = as_name(f"{case}_{here.name}") if name is None else name
    if study != as_name(study):
        raise InputError(f"--name: {name!r} must be small letters, digits and _, such as {as_name(study)!r}")
    folder = RESULTS / study
    if folder.exists() and not (folder / "study.yaml").exists():
        raise InputError(f"--name: {folder} holds another study; give this study a name of its own")
    entry: dict[str, Any] = {"command": command, "folder": str(here)}
    if time is not None:
        entry["time"] = _pattern(time)
    if files := {*_output_files(here), *_ignored_before(folder / "study.yaml")}:
        entry["ignore"] = [*LOGS, *sorted(files - {*LOGS})]
    file = shutil.which(program[0], path=None) or str(here / program[0])
    linked = linked_library(file)
    library = linked[0].name if linked else "openmpi"
    if library not in INTERCONNECTS:
        raise InputError(f"--command: {file} uses {library}; write a study that names its interconnects")
    return write_study(
        {
            "name": study,
            "title": f"{case} in {here.name}",
            "cases": [entry],
            "interconnects": list(INTERCONNECTS[library]),
            "processes": process_counts(processes),
        }
    )


def _output_files(folder: Path) -> list[str]:
    """Return the files of a folder to which the output of this process is redirected: they are no input."""
    streams = [os.fstat(descriptor) for descriptor in (1, 2)]
    written = {(status.st_dev, status.st_ino) for status in streams if stat.S_ISREG(status.st_mode)}
    statuses = {path.name: path.stat() for path in sorted(folder.iterdir()) if path.is_file()}
    return [name for name, status in statuses.items() if (status.st_dev, status.st_ino) in written]


def _ignored_before(study: Path) -> list[str]:
    """Return the ``ignore`` of a study that was written before: files of earlier output stay no input."""
    if not study.exists():
        return []
    (entry,) = read_yaml(study)["cases"]
    return list(entry.get("ignore", ()))


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise InputError(f"--time: {text!r} is no regular expression: {error}") from None
    return text


def process_counts(text: str | None) -> list[int]:
    """Return the counts of ``--processes``; by default 1, 2, 4 and so on, up to the cores of this machine.

    Raises
    ------
    InputError
        The text is no list of counts.
    """
    if text is None:
        return [2**power for power in range(len(usable_cores()).bit_length())]
    numbers = text.split(",")
    if not all(number.isdecimal() and int(number) for number in numbers) or len(set(numbers)) < len(numbers):
        raise InputError(f"--processes: {text!r} is no list of different counts from 1 on, such as 1,2,4")
    return sorted(map(int, numbers))
