"""Make the study for ``./run-study --command COMMAND``, which times any program on this machine."""

from __future__ import annotations

import os
import re
import shutil
import stat
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workflows.domain import InputError, counted
from workflows.inputs import has_group, read_yaml
from workflows.launch.emulation import usable_cores
from workflows.launch.mpi.registry import linked_library
from workflows.paths import RESULTS
from workflows.study.inline import LOGS, as_name, name_of, split_command

INTERCONNECTS = {
    "openmpi": ("shared_memory", "tcp_loopback"),
    "mpich": ("shared_memory_mpich", "tcp_loopback_mpich"),
}
"""Interconnects that every machine has, by the MPI library of the program."""


def command_study(
    command: str, time: str | None, processes: str | None, name: str | None, here: Path
) -> dict[str, Any]:
    """Make a study that times a program on this machine.

    Parameters
    ----------
    command : str
        Command line of the program, as the user typed it.
    time : str or None
        Regular expression for the time that the program prints. None: the time of the whole run counts.
    processes : str or None
        Process counts with commas between them. None: 1, 2, 4 and so on, up to the cores of this machine.
    name : str or None
        Name of the study. None: the program's name, followed by the folder's name.
    here : Path
        Folder in which the user typed the command; every run starts in a copy of it.

    Returns
    -------
    dict
        The study, for `workflows.study.written.write_study`.

    Raises
    ------
    InputError
        One line: the option, its value, and what is allowed.
    """
    program, _ = split_command(command, here, "--command")
    if shutil.which(program[0], path=None) is None and "/" not in program[0]:
        hint = f"; the file in this folder is ./{program[0]}" if (here / program[0]).is_file() else ""
        raise InputError(f"--command: {program[0]!r} is not installed here{hint}")
    case = name_of(program)
    study = as_name(f"{case}_{here.name}") if name is None else name
    if study != as_name(study):
        raise InputError(f"--name: {name!r} must be small letters, digits and _, such as {as_name(study)!r}")
    folder = RESULTS / study
    # An earlier --command left its study file here, and may be replaced. Results without one are of a study
    # whose file is elsewhere.
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
    return {
        "name": study,
        "title": f"{case} in {here.name}",
        "cases": [entry],
        "interconnects": list(INTERCONNECTS[library]),
        **counts_and_levels(process_counts(processes)),
    }


def _output_files(folder: Path) -> list[str]:
    """Return the names of files in a folder to which the output of this process is redirected.

    Such a file is not input of the program: it changes while the study runs.
    """
    standard_output, standard_error = os.fstat(1), os.fstat(2)
    redirected = [status for status in (standard_output, standard_error) if stat.S_ISREG(status.st_mode)]
    return [
        path.name
        for path in sorted(folder.iterdir())
        if path.is_file() and any(os.path.samestat(path.stat(), status) for status in redirected)
    ]


def _ignored_before(study: Path) -> list[str]:
    """Return the ``ignore`` list of the earlier study file, if any. It names files of earlier output."""
    if not study.exists():
        return []
    entries = [entry for entry in read_yaml(study).get("cases", ()) if isinstance(entry, dict)]
    return [name for entry in entries for name in entry.get("ignore", ())]


def _pattern(text: str) -> str:
    """Return the value of ``--time`` if it is a regular expression; else raise an `InputError`."""
    try:
        is_complete = has_group(text)
    except re.error as error:
        raise InputError(f"--time: '{text}' is no regular expression: {error}") from None
    if not is_complete:
        raise InputError(f"--time: '{text}' has no group ( ); put the seconds in parentheses: (\\S+)")
    return text


MOST_PER_CORE = 2
"""Most processes per core of ``--processes``. The key ``oversubscription`` of a study file allows more."""


def process_counts(text: str | None) -> list[int]:
    """Return the counts of ``--processes``; by default 1, 2, 4 and so on, up to the cores of this machine.

    Counts above `MOST_PER_CORE` processes per core, and counts that cannot share the cores evenly, are left
    out, which is printed.

    Raises
    ------
    InputError
        The text is no list of counts, or all counts are too large.
    """
    if text is None:
        return [2**power for power in range(len(usable_cores()).bit_length())]
    numbers = text.split(",")
    for index, number in enumerate(numbers):
        if not number.isdecimal() or not int(number):
            raise InputError(f"--processes: {number!r} is not a whole number from 1 on, as in 1,2,4")
        if number in numbers[:index]:
            raise InputError(f"--processes: {number} is there twice; each only once")
    counts, cores = sorted(map(int, numbers)), len(usable_cores())
    most, on_cores = MOST_PER_CORE * cores, counted(cores, "core")
    reasons = {
        f"at most {most} run on {on_cores} ({MOST_PER_CORE} per core); a study file with the key "
        "oversubscription allows more": [count for count in counts if count > most],
        f"cannot share {on_cores} evenly, with {MOST_PER_CORE} per core": [
            count for count in counts if cores < count <= most and count % MOST_PER_CORE
        ],
    }
    kept = [count for count in counts if not any(count in left_out for left_out in reasons.values())]
    lines = [
        f"{', '.join(map(str, left_out))} processes: {reason}"
        for reason, left_out in reasons.items()
        if left_out
    ]
    if not kept:
        raise InputError(f"--processes: {'; '.join(lines)}")
    for line in lines:
        print(f"left out: {line}", file=sys.stderr)
    return kept


def counts_and_levels(counts: Sequence[int]) -> dict[str, Any]:
    """Return the keys of a study in which each process count runs at a single oversubscription level.

    A count that exceeds the cores of this machine runs with as few processes per core as divide the count.

    Returns
    -------
    dict
        ``processes``, and ``oversubscription`` and ``exclude`` where a count exceeds the cores.
    """
    cores = len(usable_cores())
    level_of = {
        count: next(level for level in range(1, count + 1) if count <= level * cores and count % level == 0)
        for count in counts
    }
    levels = sorted({*level_of.values()})
    study: dict[str, Any] = {"processes": list(counts)}
    if levels != [1]:
        study["oversubscription"] = levels
        study["exclude"] = [
            {"processes": count, "oversubscription": level}
            for count in counts
            for level in levels
            if level != level_of[count]
        ]
    return study
