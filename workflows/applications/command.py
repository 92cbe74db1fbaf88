"""Any program, without a module of its own: the case holds its command line and patterns for its output.

A case.yaml describes the case, or a line of a study does (`workflows.study.inline`).
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from workflows.applications import tools
from workflows.applications.base import Application
from workflows.domain import Case, InputError, Line, Reading


class Command(Application):
    """Any MPI program; the files of the case's folder are its input."""

    reads_errors = True

    def programs(self, case: Case) -> list[str]:
        """Return the program; none if its name contains ``/`` or ``$``, as it may be a file of the case."""
        program = case.settings["program"][0]
        return [] if "/" in program or "$" in program else [program]

    def inputs(self, case: Case) -> dict[str, bytes]:
        """Return the files of the case's folder.

        Raises
        ------
        InputError
            The files are larger than `MOST_MB` together.
        """
        names = [name for _, names in _input_folders(case) for name in names]
        size = sum((case.folder / name).stat().st_size for name in names)
        if size > MOST_MB * 1e6:
            raise InputError(
                f"{case.folder}: holds {size / 1e6:,.0f} MB, and a run gets a copy of at most {MOST_MB} MB; "
                "use a folder with input files only, and name large files by their full path"
            )
        return {name: (case.folder / name).read_bytes() for name in names}

    def prepare(self, case: Case, processes: int, folder: Path, base: Path | None) -> None:
        """Copy the input files with their permissions, so that a script of the case can be the program.

        Raises
        ------
        InputError
            The command line names a parameter that the size does not have.
        """
        self.command(case, processes)  # refuses an unknown parameter
        files = self.inputs(case)
        tools.write_inputs(files, folder)
        for name in files:
            (folder / name).chmod((case.folder / name).stat().st_mode)
        for name, _ in _input_folders(case):
            (folder / name).mkdir(exist_ok=True)

    def stage(self, case: Case, prepared: Path, folder: Path) -> None:
        """Copy every input file, because the program may write to it."""
        tools.require_empty(folder)
        shutil.copytree(prepared, folder, dirs_exist_ok=True)

    def command(self, case: Case, processes: int, threads: int = 1) -> list[str]:
        """Return the case's command line with the parameters, ``$processes`` and ``$threads`` replaced."""
        values: dict[str, Any] = {**case.parameters, "processes": processes, "threads": threads}
        where = f"{case.folder / 'case.yaml'}: settings.program"
        return [tools.substitute(argument, values, where) for argument in case.settings["program"]]

    def unthreaded(self, case: Case, program: str) -> None:
        """Return None: threads are counted while the program runs, and too few make a run invalid."""

    def read(self, case: Case, processes: int, lines: list[Line], threads: int = 1) -> Reading:
        """Read the output of one run.

        Without a pattern for the seconds, the time from the launch to the last line counts. This time
        includes the start-up, so a pattern for a time that the program prints is more accurate.
        """
        patterns = case.settings["read"]
        unit = patterns.get("unit", "s")
        printed: str | None = None
        if "seconds" in patterns:
            printed = tools.last_text(patterns["seconds"], lines)
            seconds = None if printed is None else tools.duration(printed, unit)
        else:
            seconds = lines[-1].seconds if lines else None
        value = tools.last_number(patterns["answer"], lines) if "answer" in patterns else None
        counted = tools.count(patterns["processes"], lines) if "processes" in patterns else None
        return Reading(
            seconds=seconds,
            startup_seconds=None,
            output_seconds=None,
            answer=value,
            problem=(
                _incomplete(patterns, lines)
                or _cut(patterns, lines)
                or _time_problem(printed, seconds)
                or _other_processes(patterns, counted, processes)
                or (tools.impossible(value, case.answer) if case.answer else None)
            ),
            printed=printed,
            unit=unit,
            processes=counted,
            copies=_copies([patterns[name] for name in _PATTERNS if name in patterns], lines),
        )


APPLICATION = Command()
MOST_MB = 500
"""Largest total size of the input files of a case, in MB."""


def _input_folders(case: Case) -> Iterator[tuple[str, list[str]]]:
    """Return the folders of a case with their input files; see `tools.input_folders`."""
    return tools.input_folders(case.folder, case.settings.get("left_out", ["case.yaml"]))


def _copies(patterns: Collection[str], lines: Sequence[Line]) -> int | None:
    """Return in how many lines each pattern matches, if all patterns match equally often; else None.

    A number above 1 suggests that several processes printed the same output. A single pattern is no evidence,
    so the number is None.
    """
    counts = {sum(bool(re.search(pattern, line.text)) for line in lines) for pattern in patterns}
    return counts.pop() if len(counts) == 1 < len(patterns) else None


_PATTERNS = ("seconds", "answer", "processes", "complete")


def _incomplete(patterns: Mapping[str, str], lines: Sequence[Line]) -> str | None:
    """Return which pattern matches no line, with the lines that are most similar to it; None if all match."""
    for name, missing in (("complete", "no line like '{}'"), ("seconds", "no time printed")):
        pattern = patterns.get(name)
        if pattern and tools.first_match(pattern, lines) is None:
            similar = [repr(text[: tools.WIDTH]) for text in tools.similar_texts(pattern, lines)]
            nearest = f"; nearest to '{pattern}': {' and '.join(similar)}" if similar else ""
            return f"incomplete: {missing.format(pattern)}{nearest}"
    return None if lines else "incomplete: no output"


def _cut(patterns: Mapping[str, str], lines: Sequence[Line]) -> str | None:
    """Return which pattern takes only a part of a printed number; None if all take whole numbers."""
    for name in ("seconds", "answer", "processes"):
        if name in patterns and (whole := tools.cut_number(patterns[name], lines)):
            part = tools.last_text(patterns[name], lines)
            return f"{whole!r} is printed, of which the pattern read.{name} takes only {part!r}"
    return None


def _time_problem(printed: str | None, seconds: float | None) -> str | None:
    """Return why a printed time is no time; None if it is one, or if none is printed."""
    if seconds is None and printed is not None:
        return f"the time is printed as {printed!r}, which is no number of seconds"
    return None


def _other_processes(patterns: Mapping[str, str], counted: int | None, processes: int) -> str | None:
    """Return how the number of processes that the program printed differs from the started processes."""
    if "processes" not in patterns or counted == processes:
        return None
    if counted is None:
        return f"no number of processes printed: no line like '{patterns['processes']}'"
    return f"the program ran on {counted} processes, as it printed, not on {processes}"
