"""Any program: the generic way to study one's own code.

The case's folder is its input, the command line and what is read of the output are in case.yaml.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from workflows.applications import tools
from workflows.applications.defaults import environment, explain, timed_part, untimed, work  # noqa: F401
from workflows.domain import Case, Line, Reading


def programs(case: Case) -> list[str]:
    """Programs that must be on the machine; a program with a folder in its name may belong to the case."""
    program = case.settings["program"][0]
    return [] if "/" in program or "$" in program else [program]


def inputs(case: Case) -> dict[str, bytes]:
    """Files of the case's folder by relative path."""
    return tools.case_files(case)


def prepare(case: Case, processes: int, folder: Path, base: Path | None) -> None:
    """Copy the input files; permissions are kept, so that a script of the case can be the program.

    Raises
    ------
    InputError
        The command line names a parameter that the size does not have.
    """
    command(case, processes)
    tools.write_inputs(inputs(case), folder)
    for name in inputs(case):
        (folder / name).chmod((case.folder / name).stat().st_mode)


def stage(case: Case, prepared: Path, folder: Path) -> None:
    """Fill `folder` with links to the input files, in folders of its own that the program can write to."""
    tools.require_empty(folder)
    top = str(prepared.absolute())
    for where, folders, files in os.walk(top):
        own = f"{folder}{where.removeprefix(top)}"
        for name in folders:
            Path(own, name).mkdir()
        for name in files:
            Path(own, name).symlink_to(f"{where}/{name}")


def command(case: Case, processes: int, threads: int = 1) -> list[str]:
    """Program and arguments of one rank, with parameters and the counts of processes and threads put in."""
    values: dict[str, Any] = {**case.parameters, "processes": processes, "threads": threads}
    where = f"{case.folder / 'case.yaml'}: settings.program"
    return [tools.substitute(argument, values, where) for argument in case.settings["program"]]


def unthreaded(case: Case, program: str) -> None:
    """None: the framework does not know. A run whose processes compute with fewer threads is invalid."""


def read(case: Case, processes: int, lines: list[Line], threads: int = 1) -> Reading:
    """Read the output of one run.

    Without a pattern for the seconds, the time from the launch to the last line counts, start-up and all:
    a program that prints its own time gives a better time.
    """
    patterns = case.settings["read"]
    last = lines[-1].seconds if lines else None
    printed = tools.last_text(patterns["seconds"], lines) if "seconds" in patterns else None
    seconds = (printed and tools.number(printed)) if "seconds" in patterns else last
    value = tools.last_number(patterns["answer"], lines) if "answer" in patterns else None
    return Reading(
        seconds=seconds,
        startup_seconds=None,
        output_seconds=None,
        answer=value,
        problem=_problem(case, lines, seconds, value),
        printed=printed,
        copies=_copies(patterns.values(), lines),
    )


def version(lines: list[Line]) -> str | None:
    """None: the framework does not know how the program says its version."""
    return None


def _copies(patterns: Collection[str], lines: Sequence[Line]) -> int | None:
    """Count the lines that each pattern matches, if all of several patterns match equally many."""
    counts = {sum(bool(re.search(pattern, line.text)) for line in lines) for pattern in patterns}
    return counts.pop() if len(counts) == 1 < len(patterns) else None


def _problem(case: Case, lines: list[Line], seconds: float | None, value: float | None) -> str | None:
    complete = case.settings["read"].get("complete")
    if complete and tools.first_match(complete, lines) is None:
        return f"incomplete: no line like '{complete}'"
    if seconds is None:
        return (
            "incomplete: no time printed" if "seconds" in case.settings["read"] else "incomplete: no output"
        )
    return tools.impossible(value, case.answer) if case.answer else None
