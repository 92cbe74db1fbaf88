"""LAMMPS: molecular dynamics.

A case's folder holds ``input.lmp``, which has one ``run``, and the files it reads. The parameters of the size
are LAMMPS variables (``-var``).
"""

from __future__ import annotations

import math
import mmap
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from workflows.applications import tools
from workflows.applications.base import Adopted, Application, Difference, LoggedRun
from workflows.domain import Case, InputError, Line, Reading, Work, counted
from workflows.launch.programs import shared_libraries

INPUT = "input.lmp"

Row = dict[str, float | None]

_FIX_OMP = b"LAMMPS_NS6FixOMPE"
"""Mangled name of a class that every style of the package OPENMP uses."""
_SETS_UP = rb"^\s*(atom_style|pair_style|units)\s"
_RUN = r"^\s*run\s+(\d+)\b"
_ENERGIES = ("PotEng", "E_pair", "TotEng")
_ENERGY_ALLOWED = 1e-6
"""Largest relative difference of the energy of the first step."""
_SECONDS, _MEMORY_MB = 60.0, 200.0
"""Rough time and memory of a user's input before a trial run."""
_LOOP = r"^Loop time of (\S+) on (\d+) procs (?:\(\d+ MPI x \d+ OpenMP\) )?for (\d+) steps with (\d+) atoms"
_TASKS = r"(?:CPU use with |^Loop time of \S+ on \d+ procs \()(\d+) MPI (?:tasks )?x (\d+) OpenMP"
_TOTAL = r"^Total wall time: (\d+:\d\d:\d\d)"
_ERROR = r"^ERROR(?: on proc \d+)?: (.+)"
_OLD_PARTS = r"^Pair +time \(%\) = "
"""First line of the parts of the main loop in old versions. Some of them (1 Feb 2014) print no total."""
_LAST_STATISTICS = r"(?:Neighbor list|Dangerous) builds = "
_PART = r"^(\w+) *\| *[\d.e+-]* *\| *([\d.e+-]+) *\|"


class LAMMPS(Application):
    """Molecular dynamics with LAMMPS."""

    adopted = "an input of LAMMPS (in.NAME, NAME.in or NAME.lmp)"
    log_mark = r"^LAMMPS \(|^Loop time of "

    def programs(self, case: Case) -> list[str]:
        """Return ``lmp``."""
        return ["lmp"]

    def inputs(self, case: Case) -> dict[str, bytes]:
        """Return the files of the case's folder.

        Raises
        ------
        InputError
            There is no input.lmp, or it does not have exactly one ``run``.
        """
        files, where = tools.case_files(case), case.folder / INPUT
        if INPUT not in files:
            raise InputError(f"{where}: no such file; a LAMMPS case needs it")
        runs = len(re.findall(rb"^\s*run\s", files[INPUT], re.M))
        if runs != 1:
            raise InputError(f"{where}: {runs} times run; there must be one, the one that is timed")
        return files

    def command(self, case: Case, processes: int, threads: int = 1) -> list[str]:
        """Return the command of one rank; several threads need the package OPENMP."""
        openmp = ["-sf", "omp", "-pk", "omp", str(threads)] if threads > 1 else []
        variables = [word for name, value in case.parameters.items() for word in ("-var", name, str(value))]
        return ["lmp", "-in", INPUT, "-log", "none", "-nocite", *openmp, *variables]

    def unthreaded(self, case: Case, program: str) -> str | None:
        """Look for the package OPENMP in the program, or in the LAMMPS library that it is linked to."""
        match = re.search(r"liblammps\S* => (/\S+)", shared_libraries(program))
        file = Path(match[1] if match else shutil.which(program) or program)
        if not file.is_file():
            return None
        with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as code:
            if code.find(_FIX_OMP) >= 0:
                return None
        return f"{program} was built without LAMMPS's package OPENMP"

    def read(self, case: Case, processes: int, lines: list[Line], threads: int = 1) -> Reading:
        """Read the output of one run.

        ``seconds`` is the ``Loop time`` that LAMMPS prints (wall time, six digits). The start-up ends with
        the first row of the thermodynamic output, printed just before the loop. The output phase begins with
        the line of the loop time.
        """
        limits, steps = case.settings["read"], case.parameters["steps"]
        rows = _thermodynamics(lines)
        end = tools.first_match(_LOOP, lines)
        loop = None if end is None else re.match(_LOOP, lines[end].text)
        answer = rows[-1][1].get(limits["answer"]) if rows and case.answer else None
        problem = (
            _error(lines)
            or _incomplete(lines, rows, loop, steps)
            or _other_counts(loop, lines, processes, threads)
            or _out_of_range(rows, limits["ranges"])
            or (tools.impossible(answer, case.answer) if case.answer else None)
        )
        return Reading(
            seconds=tools.number(loop[1]) if loop else None,
            startup_seconds=rows[0][0] if rows else None,
            output_seconds=None if end is None else lines[-1].seconds - lines[end].seconds,
            answer=answer if loop else None,
            problem=problem,
            details={
                "steps": int(loop[3]) if loop else None,
                "atoms": int(loop[4]) if loop else None,
                "loop_seconds": {} if end is None else _parts(lines[end:]),
                **({"first_energy": _energy(rows[0][1]) if rows else None} if case.answer is None else {}),
            },
            printed=loop[1] if loop else None,
            processes=processes if loop and problem is None else None,  # `_other_counts` compared them
        )

    def read_log(self, lines: list[Line]) -> LoggedRun:
        """Read the loop time, the total wall time, and the potential energy of the last step as answer.

        The total is truncated to whole seconds. The loop time replaces a total that is less than 1 s shorter;
        a smaller total is left out.
        """
        loops, rows = tools.matches(_LOOP, lines), _thermodynamics(lines)
        loop = re.match(_LOOP, lines[loops[-1]].text) if loops else None
        tasks = next(filter(None, (re.search(_TASKS, line.text) for line in lines)), None)
        stopped = tools.first_match(_ERROR, lines)
        total = tools.last_text(_TOTAL, lines)
        seconds, whole = tools.number(loop[1]) if loop else None, tools.duration(total) if total else None
        answer = _energy(rows[-1][1]) if rows else None
        problem = (
            _error(lines)
            or (None if loop else "incomplete: no 'Loop time'")
            or tools.several("'Loop time'", loops)
            or ("0 steps: no step was timed" if loop and int(loop[3]) == 0 else None)
            or (None if total else _without_total(lines))
            or ("diverged: the last energy is no finite number" if rows and answer is None else None)
        )
        return LoggedRun(
            seconds=seconds,
            wall_seconds=max(whole, seconds) if whole and seconds and whole + 1 > seconds else None,
            processes=int(tasks[1]) if tasks else int(loop[2]) if loop else None,
            threads=int(tasks[2]) if tasks else None,
            work=Work(float(loop[3]) * float(loop[4]), "atom steps") if loop else None,
            answer=answer,
            problem=problem,
            line=stopped if stopped is not None else loops[-1] if loops else None,
            loop_seconds=_parts(lines[loops[-1] :]) if loops else {},
        )

    def adopts(self, source: Path) -> bool:
        """Return whether `source` is named like an input and sets units, atom_style or pair_style."""
        named = source.name.startswith("in.") or source.suffix in (".in", ".lmp")
        return named and source.is_file() and re.search(_SETS_UP, source.read_bytes(), re.M) is not None

    def input_files(self, source: Path) -> dict[str, Path]:
        """Return the input, under the name that runs read, and the files next to it that it names."""
        return tools.named_files(source, INPUT)

    def adopt(self, source: Path, folder: Path, run_scripts: bool, prepare: bool) -> Adopted:
        """Let a variable hold the number of steps of the only ``run``.

        Raises
        ------
        InputError
            The input does not have exactly one ``run`` with a number of steps.
        """
        text = (folder / INPUT).read_text(errors="replace")
        runs = re.findall(_RUN, text, re.M)
        if len(runs) != 1 or len(re.findall(r"^\s*run\s", text, re.M)) != 1:
            raise InputError(f"{source}: needs exactly one run with a number of steps, the one that is timed")
        (folder / INPUT).write_text(re.sub(_RUN, r"run ${steps}", text, flags=re.M))
        return Adopted(
            program="LAMMPS",
            settings={"as_is": True, "read": {}},
            parameters={},
            changes=(f"command run {runs[0]} now has the number of timed steps", "no log file is written"),
            steps=int(runs[0]),
            steps_key="steps",
            serial_seconds=_SECONDS,
            memory_MB=_MEMORY_MB,
        )

    def differences(
        self, case: Case, details: Mapping[str, Any], serial: Mapping[str, Any]
    ) -> list[Difference]:
        """Compare the energy of the first step: later steps differ, since the motion is chaotic."""
        first, expected = details.get("first_energy"), serial.get("first_energy")
        if expected is None:
            return []
        value = math.inf if first is None else abs(first - expected) / (abs(expected) or 1.0)
        return [Difference("energy of the first step", value, _ENERGY_ALLOWED, _ENERGY_ALLOWED)]

    def timed_part(self) -> tuple[str, ...]:
        """Return the lines just before and after the main loop."""
        return "Per MPI rank memory allocation", "Loop time of"

    def work(self, prepared: Path, details: Mapping[str, Any]) -> Work | None:
        """Return atoms times steps."""
        amount = (details.get("atoms") or 0) * (details.get("steps") or 0)
        return Work(amount, "atom steps") if amount else None

    def explain(self, errors: str) -> str | None:
        """Return None: LAMMPS prints its errors on standard output."""
        return None

    def version(self, lines: list[Line]) -> str | None:
        """Return the version in the first line (``29 Sep 2021 - Update 2``)."""
        matches = (re.match(r"LAMMPS \((.+)\)", line.text) for line in lines)
        return next((match[1] for match in matches if match), None)


APPLICATION = LAMMPS()


def _thermodynamics(lines: Sequence[Line]) -> list[tuple[float, Row]]:
    """Return each row of the thermodynamic output by column, with its arrival time in seconds."""
    columns: list[str] = []
    rows = []
    for line in lines:
        words = line.text.split()
        if words[:1] == ["Step"]:
            columns = words
        elif words and len(words) == len(columns) and words[0].isdecimal():
            rows.append((line.seconds, dict(zip(columns, map(tools.number, words), strict=True))))
    return rows


def _energy(row: Row) -> float | None:
    """Return the potential energy of a row of the thermodynamic output, else its other energy."""
    return next((row[name] for name in _ENERGIES if name in row), None)


def _parts(lines: Sequence[Line]) -> dict[str, float]:
    """Return the seconds of each part of the main loop, averaged over the ranks."""
    matches = (re.match(_PART, line.text) for line in lines)
    parts = {match[1]: tools.number(match[2]) for match in matches if match}
    return {name: seconds for name, seconds in parts.items() if seconds is not None}


def _error(lines: Sequence[Line]) -> str | None:
    matches = (re.match(_ERROR, line.text) for line in lines)
    message = next((match[1] for match in matches if match), None)
    return None if message is None else f"LAMMPS stopped: {re.sub(r' [(][^ ()]+:[0-9]+[)]$', '', message)}"


def _incomplete(
    lines: Sequence[Line], rows: Sequence[tuple[float, Row]], loop: re.Match[str] | None, steps: int
) -> str | None:
    done = rows[-1][1]["Step"] if rows else 0
    if loop is None or done != steps or int(loop[3]) != steps:
        return f"incomplete: {done:g} of {steps} steps"
    if tools.first_match(_TOTAL, lines) is None:
        return "incomplete: no 'Total wall time' at the end"
    return None


def _without_total(lines: Sequence[Line]) -> str | None:
    """Return which line is missing at the end of a log without total; None if an old version finished."""
    if tools.first_match(_OLD_PARTS, lines) is None:
        return "incomplete: no 'Total wall time' at the end"
    last = next(line.text for line in reversed(lines) if line.text.strip())
    if re.match(_LAST_STATISTICS, last):
        return None
    return "incomplete: neither 'Total wall time' nor 'Neighbor list builds' at the end"


def _other_counts(
    loop: re.Match[str] | None, lines: Sequence[Line], processes: int, threads: int
) -> str | None:
    """Return how the counts of processes and threads differ from the requested ones.

    The line of the loop time counts the threads of all processes, so it is used only without `_TASKS`.
    """
    match = next(filter(None, (re.search(_TASKS, line.text) for line in lines)), None)
    ran_tasks, ran_threads = map(int, match.groups()) if match else (int(loop[2]) if loop else processes, 1)
    if ran_tasks != processes:
        return f"ran on {counted(ran_tasks, 'process')}, not {processes}"
    if loop and ran_threads != threads:
        return f"ran with {counted(ran_threads, 'thread')} a process, not {threads}"
    return None


def _out_of_range(rows: Sequence[tuple[float, Row]], ranges: Mapping[str, Sequence[float]]) -> str | None:
    """Return which column first leaves its range or has no finite value, and at which step."""
    for _, row in rows:
        for name, (low, high) in ranges.items():
            value = row.get(name)
            if value is None:
                return f"diverged: {name} at step {row['Step']:g} is not there or no finite number"
            if not low <= value <= high:
                return f"diverged: {name} {value:.6g} at step {row['Step']:g} outside {low:g} to {high:g}"
    return None
