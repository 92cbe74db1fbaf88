"""Any program, without a plug-in: case.yaml holds the command line and the patterns that read the output."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from workflows.applications import tools
from workflows.applications.base import Application
from workflows.domain import Case, Line, Reading


class Command(Application):
    """Any MPI program, described by its case.yaml; the files of the case's folder are its input."""

    def programs(self, case: Case) -> list[str]:
        """Return the program, unless it may be a file of the case: a name with a folder or a parameter."""
        program = case.settings["program"][0]
        return [] if "/" in program or "$" in program else [program]

    def inputs(self, case: Case) -> dict[str, bytes]:
        """Return the files of the case's folder."""
        return tools.case_files(case)

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

    def stage(self, case: Case, prepared: Path, folder: Path) -> None:
        """Link every input file into new folders, which the program can write to."""
        tools.require_empty(folder)
        top = str(prepared.absolute())
        for where, folders, files in os.walk(top):
            target = f"{folder}{where.removeprefix(top)}"
            for name in folders:
                Path(target, name).mkdir()
            for name in files:
                Path(target, name).symlink_to(f"{where}/{name}")

    def command(self, case: Case, processes: int, threads: int = 1) -> list[str]:
        """Return the case's command line with the parameters, ``$processes`` and ``$threads`` replaced."""
        values: dict[str, Any] = {**case.parameters, "processes": processes, "threads": threads}
        where = f"{case.folder / 'case.yaml'}: settings.program"
        return [tools.substitute(argument, values, where) for argument in case.settings["program"]]

    def unthreaded(self, case: Case, program: str) -> None:
        """Return None: threads are counted while the program runs, and too few make a run invalid."""

    def read(self, case: Case, processes: int, lines: list[Line], threads: int = 1) -> Reading:
        """Read the output of one run.

        Without a pattern for the seconds, the time from the launch to the last line counts. It includes the
        start-up: a program that prints its own time is timed more accurately.
        """
        patterns = case.settings["read"]
        last = lines[-1].seconds if lines else None
        printed = tools.last_text(patterns["seconds"], lines) if "seconds" in patterns else None
        seconds = tools.number(printed) if printed is not None else None if "seconds" in patterns else last
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


APPLICATION = Command()


def _copies(patterns: Collection[str], lines: Sequence[Line]) -> int | None:
    """Return how often every pattern matches; None for a single pattern or unequal counts."""
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
