"""GROMACS: molecular dynamics of biomolecules and liquids.

A case's folder holds ``grompp.mdp``, without the keys that this module writes. It may also hold the system:
``conf.gro`` and ``topol.top``. Without them, the system is a box of water: GROMACS's equilibrated box of 216
molecules, repeated ``boxes_per_side`` times along each axis.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from workflows.applications import tools
from workflows.applications.base import Adopted, Application, Difference, LoggedRun
from workflows.domain import Case, InputError, Line, Reading, Work, counted
from workflows.launch.last_words import gromacs_error

PROGRAM = "gmx_mpi"
RUN_INPUT = "topol.tpr"

Row = dict[str, float | None]

_WATER_BOX = ("-cs", "spc216.gro", "-box", "1.86206")
"""Options of ``gmx solvate`` that return the equilibrated box itself: its file and its edge, nm."""
_WATERS_IN_BOX = 216
_TOPOLOGY = """\
#include "{force_field}.ff/forcefield.itp"
#include "{force_field}.ff/{water_model}.itp"
[ system ]
{waters} water molecules
[ molecules ]
SOL {waters}
"""
_WRITTEN_KEYS = {"nsteps", "gen-seed", "ld-seed"}
"""Keys of grompp.mdp that this module writes; GROMACS draws a missing seed at random."""
_HEADER, _HEADER_BYTES = b"VERSION", 16
"""Text near the beginning of every run input, and the number of bytes that hold the text."""
_COLUMN = 15
"""Characters of a column in the tables of energies."""
_ENERGY_ALLOWED = 1e-4
"""Largest difference of the energy of the first step, as a share of its largest term: single precision."""
_STEPS, _SECONDS, _MEMORY_MB = 10_000, 60.0, 200.0
"""Steps, rough time and memory of a user's run input before a trial run."""
_TIME = r"^ +Time: +\S+ +(\S+) +\S+$"
_PART = r"^ (\S.*?) +(?:\d+ +\d+ +(?:\d+ +)?)?([\d.]+) +[\d.]+ +[\d.]+$"
_PROCESSES = r"^Using (\d+) MPI (?:process|thread)"
_STEPS_REQUESTED = r"^(?: +nsteps += |Overriding nsteps with value passed on the command line:) *(-?\d+)"
_FIRST_STEP = r"^ +init[-_]step += +(\d+)"
_RESET = r"^step (\d+): resetting all time and cycle counters"
_THREADS = r"^Using (\d+) OpenMP thread"
_STARTED = r"^Started mdrun on (?:rank|node) 0 (.+)"
_FINISHED = r"^Finished mdrun on (?:rank|node) 0 "
"""Versions before 5.0 number nodes, not ranks."""
_NO_DYNAMICS = r"^ +integrator += (steep|cg|l-bfgs|nm|tpic?)$"
_FAULT = rf"^(?:Fatal error|Error):?|{_NO_DYNAMICS}"
_WHOLE_SECONDS = r":-\) +VERSION (?:3|4\.0)\."
"""Versions that take the time from a clock with whole seconds."""
_CLOCK_STEP = 2.0
"""Step of a difference of two times of such a clock, seconds: each is truncated."""
_OVERLAP = 0.01
"""Relative excess of the parts of the main loop over its time from which they are not kept."""


class GROMACS(Application):
    """Molecular dynamics with GROMACS."""

    variables = ("GMX", "GROMACS_")
    adopted = "a run input of GROMACS (.tpr)"
    log_mark = r":-\) +(?:GROMACS|G  R  O  M  A  C  S)|^GROMACS: |^(?:Started|Finished) mdrun on "

    def programs(self, case: Case) -> list[str]:
        """Return ``gmx_mpi``, which also prepares the run input."""
        return [PROGRAM]

    def inputs(self, case: Case) -> dict[str, bytes]:
        """Return the complete grompp.mdp and the topology, with the other files of the case's folder.

        Raises
        ------
        InputError
            grompp.mdp is missing or holds a key that this module writes, or one of conf.gro and topol.top is
            missing.
        """
        files, where = tools.case_files(case), case.folder / "grompp.mdp"
        if "as_is" in case.settings:
            return files
        if "grompp.mdp" not in files:
            raise InputError(f"{where}: no such file; a GROMACS case needs it")
        options = tools.substitute(files["grompp.mdp"].decode(), case.parameters, str(where))
        keys = re.findall(r"^[ \t]*([\w-]+)[ \t]*=", options, re.M)
        if twice := _WRITTEN_KEYS.intersection(key.lower().replace("_", "-") for key in keys):
            raise InputError(f"{where}: {min(twice)} is not for the case: it is written for every run")
        if ("conf.gro" in files) != ("topol.top" in files):
            raise InputError(f"{case.folder}: conf.gro and topol.top belong together; one is missing")
        written = f"{options}\nnsteps = {case.parameters['steps']}\ngen-seed = 1\nld-seed = 1\n"
        return {"topol.top": _water(case), **files, "grompp.mdp": written.encode()}

    def prepare(self, case: Case, processes: int, folder: Path, base: Path | None) -> None:
        """Make the run input, which is the same for all process counts.

        Raises
        ------
        RuntimeError
            A program of GROMACS fails.
        """
        if base is not None:
            folder.mkdir(parents=True, exist_ok=True)
            tools.require_empty(folder)
            (folder / RUN_INPUT).symlink_to(os.path.relpath(base / RUN_INPUT, folder))
            return
        files = self.inputs(case)
        tools.write_inputs(files, folder)
        if RUN_INPUT in files:
            return
        if "conf.gro" not in files:
            boxes = str(case.parameters["boxes_per_side"])
            self._run(case, folder, "solvate", *_WATER_BOX, "-o", "box.gro")
            self._run(
                case, folder, "genconf", "-f", "box.gro", "-nbox", boxes, boxes, boxes, "-o", "conf.gro"
            )
        self._run(case, folder, "grompp", "-o", RUN_INPUT)

    def stage(self, case: Case, prepared: Path, folder: Path) -> None:
        """Link the run input. Also link the log to standard output, so that its lines get time stamps."""
        tools.require_empty(folder)
        (folder / RUN_INPUT).symlink_to((prepared / RUN_INPUT).absolute())
        (folder / "md.log").symlink_to("/dev/stdout")

    def command(self, case: Case, processes: int, threads: int = 1) -> list[str]:
        """Return the command of each rank.

        Everything that adapts to the measured speed is off: the tuning of PME, dynamic load balancing and
        separate PME ranks. The launcher pins the ranks and threads.
        """
        repeatable = ["-reprod", "-notunepme", "-dlb", "no", "-npme", "0", "-nb", "cpu"]
        placement = ["-ntomp", str(threads), "-pin", "off"]
        steps = ["-nsteps", str(case.parameters["steps"])] if "as_is" in case.settings else []
        return [PROGRAM, "-nobackup", "mdrun", "-s", RUN_INPUT, "-noconfout", *repeatable, *placement, *steps]

    def unthreaded(self, case: Case, program: str) -> str | None:
        """Look for OpenMP among the libraries that the program is linked to."""
        return tools.without_openmp(program)

    def read(self, case: Case, processes: int, lines: list[Line], threads: int = 1) -> Reading:
        """Read the log of one run.

        ``seconds`` is the wall time that GROMACS prints for its main loop. The start-up ends with ``Started
        mdrun``. GROMACS prints the log's last part at once, so the output phase begins with the averages.

        Returns
        -------
        Reading
            Its ``details`` hold steps, atoms, simulated time, ns/day, load imbalance, and ``loop_seconds``:
            the wall time of each part of the main loop, averaged over the ranks.
        """
        limits, steps = case.settings["read"], case.parameters["steps"]
        start = tools.first_match(_STARTED, lines)
        averages = tools.first_match("A V E R A G E S", lines)
        rows = _rows(lines[:averages])
        printed = tools.last_text(_TIME, lines)
        finished = tools.first_match(_FINISHED, lines) is not None
        answer = rows[-1].get(limits["answer"]) if rows and case.answer else None
        problem = (
            gromacs_error(line.text for line in lines)
            or _other_counts(lines, processes, threads)
            or _out_of_range(rows, limits["ranges"])
            or _incomplete(rows, steps, finished and printed is not None)
            or (tools.impossible(answer, case.answer) if case.answer else None)
        )
        return Reading(
            seconds=None if printed is None else tools.number(printed),
            startup_seconds=None if start is None else lines[start].seconds,
            output_seconds=None if averages is None else lines[-1].seconds - lines[averages].seconds,
            answer=answer if finished else None,
            problem=problem,
            details={
                "steps": rows[-1]["Step"] if rows else None,
                "atoms": tools.last_number(r"^There are: (\d+) Atoms", lines),
                "simulated_ps": rows[-1]["Time"] if rows else None,
                "ns_per_day": tools.last_number(r"^Performance: +(\S+)", lines),
                "load_imbalance_percent": tools.last_number(r"^ Average load imbalance: ([\d.]+)%", lines),
                "loop_seconds": _parts(lines),
                **(
                    {
                        "first_energy": rows[0].get("Potential") if rows else None,
                        "largest_energy_term": _largest_term(rows[0]) if rows else None,
                    }
                    if case.answer is None
                    else {}
                ),
            },
            printed=printed,
            processes=tools.count(_PROCESSES, lines),
        )

    def read_log(self, lines: list[Line]) -> LoggedRun:
        """Read the wall time of the main loop, and the potential energy of the last step as answer."""
        times, starts = tools.matches(_TIME, lines), tools.matches(_STARTED, lines)
        begin = starts[-1] if starts else 0  # a restarted run continues the log
        rows = _rows(lines[begin : tools.first_match("A V E R A G E S", lines)])
        finished = tools.first_match(_FINISHED, lines) is not None
        answer = rows[-1].get("Potential") if rows else None
        simulated = _simulated(rows, lines[begin:])
        minimiser = tools.last_text(_NO_DYNAMICS, lines)
        problem = (
            gromacs_error(line.text for line in lines)
            or (minimiser and f"no molecular dynamics: integrator is {minimiser}; only dynamics is read")
            or (None if times else "incomplete: no table of times")
            or tools.several("'Time:'", times)
            or (None if finished else "incomplete: no 'Finished mdrun'")
            or _stopped_early(lines, rows)
            or ("diverged: the last energy is no finite number" if rows and answer is None else None)
        )
        printed = tools.last_text(_TIME, lines)
        return LoggedRun(
            seconds=tools.number(printed) if printed else None,
            processes=tools.count(_PROCESSES, lines),
            threads=tools.count(_THREADS, lines),
            nodes=tools.count(r"^Running on (\d+) nodes? ", lines),
            started=tools.last_text(_STARTED, lines),
            work=Work(simulated, "ps of simulated time") if simulated else None,
            answer=answer,
            problem=problem,
            resolution_seconds=_CLOCK_STEP if tools.first_match(_WHOLE_SECONDS, lines) is not None else None,
            loop_seconds=_parts(lines),
            line=times[-1] if times and not minimiser else tools.first_match(_FAULT, lines),
        )

    def adopts(self, source: Path) -> bool:
        """Return whether `source` is a run input, ``.tpr``."""
        return source.suffix == ".tpr" and source.is_file()

    def input_files(self, source: Path) -> dict[str, Path]:
        """Return the run input, under the name that runs read."""
        return {RUN_INPUT: source}

    def adopt(self, source: Path, folder: Path, run_scripts: bool, prepare: bool) -> Adopted:
        """Read the number of steps of a run input.

        Raises
        ------
        InputError
            The file is not a run input, or its run is no molecular dynamics.
        RuntimeError
            GROMACS cannot read the run input.
        """
        with source.open("rb") as file:
            # gmx dump crashes on some files of other kinds
            if _HEADER not in file.read(_HEADER_BYTES):
                raise InputError(f"{source}: not a run input of GROMACS; gmx grompp makes such files")
        steps = _STEPS
        if prepare:
            dump = [PROGRAM, "dump", "-s", RUN_INPUT]  # the banner lets `explain` recognise GROMACS
            try:
                printed, _ = tools.run_program(dump, folder, dict(os.environ), self.explain)
            except RuntimeError as error:  # GROMACS takes a cut file for a file of another version
                raise RuntimeError(f"{error} (or the file is damaged)") from None
            (folder / "log.gmx_mpi").unlink()
            if minimiser := re.search(_NO_DYNAMICS, printed, re.M):
                raise InputError(
                    f"{source}: no molecular dynamics: integrator is {minimiser[1]}; Nodeworth times only "
                    "dynamics"
                )
            number = re.search(r"^ *nsteps *= *(\d+)", printed, re.M)
            steps = int(number[1]) if number and int(number[1]) else _STEPS
        return Adopted(
            program="GROMACS",
            settings={"as_is": True, "read": {}},
            parameters={},
            changes=(
                "PME tuning, dynamic load balancing and separate PME ranks are off",
                "non-bonded forces are computed on CPUs, so that no GPU is used",
                "mdrun also has the options -reprod, -noconfout, -ntomp and -pin off",
            ),
            steps=steps,
            steps_key="steps",
            serial_seconds=_SECONDS,
            memory_MB=_MEMORY_MB,
        )

    def differences(
        self, case: Case, details: Mapping[str, Any], serial: Mapping[str, Any]
    ) -> list[Difference]:
        """Compare the potential energy of the first step: later steps differ, since the motion is chaotic."""
        first, expected = details.get("first_energy"), serial.get("first_energy")
        if expected is None:
            return []
        # Large terms of opposite sign cancel, so their rounding is compared with the largest term.
        scale = max(abs(expected), serial.get("largest_energy_term") or 0.0) or 1.0
        value = math.inf if first is None else abs(first - expected) / scale
        return [Difference("potential energy of the first step", value, _ENERGY_ALLOWED, _ENERGY_ALLOWED)]

    def work(self, prepared: Path, details: Mapping[str, Any]) -> Work | None:
        """Return the simulated time; 1 ps a second is 86.4 ns/day."""
        simulated = details.get("simulated_ps")
        return Work(simulated, "ps of simulated time") if simulated else None

    def explain(self, errors: str) -> str | None:
        """Return the first error of GROMACS, or a constraint that failed; else the launcher's reason.

        The banner and the progress that GROMACS prints on standard error are skipped.
        """
        if ":-) GROMACS" not in errors:
            return super().explain(errors)
        unsettled = re.search(r"^step \d+: .+ can not be settled\.$", errors, re.M)
        return gromacs_error(errors.splitlines()) or (unsettled[0] if unsettled else None)

    def version(self, lines: list[Line]) -> str | None:
        """Return the version in the log's header."""
        return tools.last_text(r"^GROMACS version: +(\S+)", lines)

    def _run(self, case: Case, folder: Path, *arguments: str) -> None:
        command = [PROGRAM, "-nobackup", *arguments]
        tools.run_program(command, folder, os.environ | self.environment(case), self.explain)


APPLICATION = GROMACS()


def _water(case: Case) -> bytes:
    """Return the topology of a box of water."""
    waters = _WATERS_IN_BOX * int(case.parameters.get("boxes_per_side", 1)) ** 3
    names = {name: case.settings[name] for name in ("force_field", "water_model")}
    return _TOPOLOGY.format(waters=waters, **names).encode()


def _rows(lines: Sequence[Line]) -> list[Row]:
    """Return step, time in ps and energies of each printed step."""
    rows: list[Row] = []
    names: list[str] | None = None
    for before, line in pairwise(lines):
        if before.text.split() in (["Step", "Time"], ["Step", "Time", "Lambda"]):  # Lambda until 5.0
            rows.append(dict(zip(("Step", "Time"), map(tools.number, line.text.split()), strict=False)))
        elif line.text.strip() in ("", "Energies (kJ/mol)"):
            names = [] if line.text.strip() and rows else None
        elif names is not None:
            texts = [line.text[at : at + _COLUMN].strip() for at in range(0, len(line.text), _COLUMN)]
            if names:
                rows[-1].update(zip(names, map(tools.number, texts), strict=False))
                names = []
            else:
                names = texts
    return [row for row in rows if {"Step", "Time"} <= row.keys()]


def _simulated(rows: Sequence[Row], lines: Sequence[Line]) -> float | None:
    """Return the simulated time that the time of the main loop covers: from the reset of the counters on."""
    printed = [row[name] for row in (*rows[:1], *rows[-1:]) for name in ("Step", "Time")]
    numbers = [number for number in printed if number is not None]
    if len(numbers) < 4 or numbers[2] <= numbers[0]:
        return None
    first, begin, last, end = numbers
    reset = tools.last_number(_RESET, lines)
    return (end - begin) * (last - (first if reset is None else reset)) / (last - first)


def _largest_term(row: Row) -> float | None:
    """Return the largest absolute term of the potential energy, whose terms precede it in the row."""
    terms: list[float] = []
    for name, value in row.items():
        if name == "Potential":
            return max(terms, default=None)
        if name not in ("Step", "Time") and value is not None:
            terms.append(abs(value))
    return None


def _parts(lines: Sequence[Line]) -> dict[str, float]:
    """Return the wall seconds of each part of the main loop, from GROMACS's table of cycles.

    Separate PME ranks work alongside the other ranks. Their rows, which end with an asterisk, are left out:
    the other rows add up to the main loop. All parts are left out if they overlap, as some waits for a GPU
    do. Versions before 4.6 print no wall times.
    """
    begin = tools.first_match("R E A L   C Y C L E", lines)
    if begin is None or tools.first_match(r"Wall t", lines[begin : begin + 8]) is None:
        return {}
    parts: dict[str, float] = {}
    total = math.inf
    for line in lines[begin:]:
        match = re.match(_PART, line.text)
        seconds = tools.number(match[2]) if match else None
        if match is None or seconds is None or match[1].endswith(" *"):
            continue
        if match[1] == "Total":
            total = seconds
            break
        parts[match[1]] = seconds
    return parts if sum(parts.values()) <= (1 + _OVERLAP) * total else {}


def _other_counts(lines: Sequence[Line], processes: int, threads: int) -> str | None:
    """Return how the counts of processes and threads differ from the requested ones."""
    ran_processes, ran_threads = (tools.last_number(pattern, lines) for pattern in (_PROCESSES, _THREADS))
    if ran_processes not in (None, processes):
        return f"ran on {counted(int(ran_processes), 'process')}, not {processes}"
    if ran_threads not in (None, threads):
        return f"ran with {counted(int(ran_threads), 'thread')} a process, not {threads}"
    return None


def _stopped_early(lines: Sequence[Line], rows: Sequence[Row]) -> str | None:
    """Return how many of the requested steps were run, if a signal or a time limit ended the run."""
    requested, first = (tools.last_number(pattern, lines) for pattern in (_STEPS_REQUESTED, _FIRST_STEP))
    done = rows[-1]["Step"] if rows else 0
    if requested is None or done is None or requested < 0 or done >= requested + (first or 0):
        return None
    return f"incomplete: {done:g} of {requested:g} steps"


def _incomplete(rows: Sequence[Row], steps: int, finished: bool) -> str | None:
    done = rows[-1]["Step"] if rows else 0
    if done != steps:
        return f"incomplete: {done or 0:g} of {steps} steps"
    return None if finished else "incomplete: no 'Finished mdrun' after the last step"


def _out_of_range(rows: Sequence[Row], ranges: Mapping[str, Sequence[float]]) -> str | None:
    """Return which energy term leaves its range first, and at which step."""
    for row in rows:
        step = row.get("Step")
        where = "a step without a number" if step is None else f"step {step:g}"
        for name, (low, high) in ranges.items():
            value = row.get(name)
            if value is None:
                return f"diverged: {name} at {where} is not there or no finite number"
            if not low <= value <= high:
                return f"diverged: {name} {value:.6g} at {where} outside {low:g} to {high:g}"
    return None
