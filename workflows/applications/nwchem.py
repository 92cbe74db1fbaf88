"""NWChem: quantum chemistry.

A case's ``input.nw`` holds basis, theory and one ``task``. This module writes what makes a run repeatable:
``start`` (never ``restart``, which takes the orbitals of an earlier run), the memory, the geometry, and both
scratch folders inside the run's folder.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from workflows.applications import tools
from workflows.applications.base import Adopted, Application, Difference, LoggedRun
from workflows.applications.fullerene import fullerene
from workflows.applications.water import water_cluster
from workflows.domain import Case, InputError, Line, Reading

INPUT = "input.nw"

_HEAD = """\
start case
title "{title}"
memory total {memory} mb
permanent_dir .
scratch_dir .
geometry units angstroms noautosym nocenter noautoz noprint
{geometry}
end
"""
GENERATORS = {"water_cluster": ("waters", water_cluster), "fullerene": ("atoms", fullerene)}
"""Generated geometries: the parameter of the size with the number of molecules or atoms; the function."""
_NO_THREADS = "The OSC pt2pt component does not support MPI_THREAD_MULTIPLE"
_WRITTEN_HERE = ("start", "restart", "title", "memory", "permanent_dir", "scratch_dir", "geometry")
_FRESH = ("start case", "permanent_dir .", "scratch_dir .")
_REPLACED = (["start"], ["permanent_dir"], ["scratch_dir"])
_ENERGIES = ("SCF", "DFT", "MP2", "CCSD", "CCSD(T)", "PSPW", "MBPT(2)", "CCSD[T]", "CCSDT", "CCSDTQ")
"""Names of energies in the output, as the schema of a case lists them; the last four only of TCE."""
_THEORIES = {
    "scf": "SCF",
    "dft": "DFT",
    "mp2": "MP2",
    "ccsd": "CCSD",
    "ccsd(t)": "CCSD(T)",
    "tce": None,
    "pspw": "PSPW",
}
"""Theory of a task, and the name of its energy in the output. The block ``tce`` names the energy of TCE."""
_OPERATIONS = {
    "energy": tuple(_THEORIES),
    "gradient": ("scf", "dft", "mp2"),
    "optimize": ("scf", "dft", "mp2"),
    "freq": ("scf", "dft"),
    "frequencies": ("scf", "dft"),
}
"""Supported operations of a task, each with its theories: those with analytic derivatives."""
_FREQUENCIES = r"^ *(?:P\.Frequency|NWChem Finite-difference Hessian)"
_OPTIMISATION = r"^ +NWChem Geometry Optimization *$"
_OPTIMISED = r"^ +Optimization converged *$"
_TCE_MODEL = r"cc|lcc|qci|ci|mbpt|mp\d"
_ANY_ENERGY = r"^ *Total (?:SCF|DFT) energy *="
_ENERGY_ALLOWED = 1e-7
"""Largest relative difference of the energy of a user's input from that of the serial run."""
_SECONDS, _MEMORY_MB = 60.0, 1000.0
"""Rough time and memory of a user's input before a trial run."""
_TASK_BEGIN = r"^ +(NWChem (?!Input\b).*\bModule *$|\* +NWPW PSPW Calculation)"
_TASK_END = r"^ Task +times +cpu: +([\d.]+)s +wall: +([\d.]+)s"
_PROCESSES = r"^ +nproc += +(\d+)"
_INPUT_LINE = r"^ *current input line :"
_ABORTED = "Received an Error in Communication"
"""Last words of the Global Arrays, which may follow the total."""
_NO_TOTAL = "incomplete: no 'Total times' after the task"
_IN_ORDER = r"^ Total times +cpu: +[\d.]+s +wall: +([\d.]+)s"
_LOADED, _RESTARTED = "Loading old vectors from job", "Restarting from old vector in"
_PARTS = {
    "Hartree-Fock": r"^ +NWChem SCF Module",
    "DFT": r"^ +NWChem DFT Module",
    "MP2": r"^ +NWChem MP2 .*Module",
    "four-index transformation": r"^ +Four-Index Transformation *$",
    "many-electron theory": r"^ +NWChem Extensible Many-Electron Theory Module",
    "coupled cluster": r"^ +the segmented parallel ccsd program",
    "plane waves, set-up": r"^ +\* +NWPW PSPW Calculation",
    "plane waves": r"^ +=+ .* iteration =+ *$",
}
"""Pattern of the line that begins each part of a task. A part lasts until the next one begins."""
_ROW = r"^ *(?:d= *\d+,ls=[\d.]+,diis)? *(\d+)(?: +-?\d*\.\d+(?:[DE][-+]\d+)?){3,} *$"
"""Row of the iteration table that each theory prints: number, energy, change of the energy, ..."""
_NOT_CONVERGED = r"^ *\*\*\* arr?ived at the Maximum iteration"
"""Message of plane waves, which exit normally without convergence; NWChem prints it with one r."""


class NWChem(Application):
    """Quantum chemistry with NWChem."""

    variables = ("NWCHEM_",)
    adopted = "an input of NWChem (.nw)"
    log_mark = r"Northwest Computational Chemistry Package|^ Task  times "

    def programs(self, case: Case) -> list[str]:
        """Return ``nwchem``."""
        return ["nwchem"]

    def inputs(self, case: Case) -> dict[str, bytes]:
        """Return the complete input of the case's size.

        Raises
        ------
        InputError
            A parameter or a file is missing, or input.nw holds a directive that this module writes.
        """
        if "as_is" in case.settings:
            return tools.case_files(case)
        file = case.folder / INPUT
        text = _check_input(_text(file), file)
        text = tools.substitute(text, case.parameters, str(file))
        if problem := _unsupported(text):
            raise InputError(f"{file}: {problem}")
        memory = case.parameters.get("memory_limit_MB", case.settings["memory_limit_MB"])
        head = _HEAD.format(title=case.name, memory=memory, geometry=_geometry(case))
        return {INPUT: (head + text).encode()}

    def stage(self, case: Case, prepared: Path, folder: Path) -> None:
        """Link the input files into the folder of the run, which also receives all scratch files."""
        tools.require_empty(folder)
        for path in prepared.iterdir():
            if not path.name.startswith("."):
                (folder / path.name).symlink_to(path.absolute())

    def command(self, case: Case, processes: int, threads: int = 1) -> list[str]:
        """Return the command of one rank."""
        return ["nwchem", INPUT]

    def environment(self, case: Case) -> dict[str, str]:
        """Return the environment of every rank: one thread, unless the case sets another number."""
        return {"OMP_NUM_THREADS": "1"} | case.settings["environment"]

    def unthreaded(self, case: Case, program: str) -> str | None:
        """Look for OpenMP among the libraries that the program and its BLAS are linked to."""
        return tools.without_openmp(program)

    def read(self, case: Case, processes: int, lines: list[Line], threads: int = 1) -> Reading:
        """Read the output of one run.

        ``seconds`` is the time of the task: from the arrival of its module's heading to the arrival of its
        ``Task times`` line. NWChem prints that time as well, in steps of 0.1 s. If the two differ by more
        than 0.3 s and 5 %, the time stamps are wrong and the run does not count. The energy is read only if
        NWChem exited normally, because a failing run can print a plausible energy first.

        Returns
        -------
        Reading
            Its ``details`` hold:

            - ``loop_seconds``: seconds of each part of the task (`_PARTS`); they add up to ``seconds``.
            - ``iterations_of_parts``, ``iteration_seconds``: iterations of each part, and their mean time
              without the first iteration.
            - ``global_array_calls``, ``global_array_bytes``, ``global_array_remote_bytes``: calls, bytes, and
              bytes to other processes, of rank 0 by operation.
            - ``cpu_seconds_of_rank_0``, ``printed_seconds``: times that NWChem prints.
        """
        begin = tools.first_match(_TASK_BEGIN, lines)
        end = tools.first_match(_TASK_END, lines)
        exited_normally = tools.first_match(_IN_ORDER, lines) is not None
        seconds = lines[end].seconds - lines[begin].seconds if begin is not None and end is not None else None
        cpu, wall = (
            (None, None) if end is None else map(tools.number, re.findall(_TASK_END, lines[end].text)[0])
        )
        task = lines[begin : end + 1] if begin is not None and end is not None else []
        communication = _communication(lines)
        calls = communication.get("global_array_calls", {})
        energy = _energy(lines, [case.settings["read"]["theory"]]) if exited_normally else None
        problem = (
            _error(lines)
            or _start(lines, processes)
            or (None if exited_normally and seconds is not None else _NO_TOTAL)
            or _not_converged(lines)
            or (None if wall is None else tools.unsure(seconds, wall, wall, "NWChem"))
            or (tools.impossible(energy, case.answer) if case.answer else None)
        )
        return Reading(
            seconds=seconds,
            startup_seconds=None if begin is None else lines[begin].seconds,
            output_seconds=None if end is None else lines[-1].seconds - lines[end].seconds,
            answer=energy,
            problem=problem,
            processes=tools.count(_PROCESSES, lines),
            details={
                "cpu_seconds_of_rank_0": cpu,
                "printed_seconds": wall,
                **({} if case.answer else {"energy": energy}),
                **_parts(task),
                **communication,
            },
            one_sided=any(calls.get(operation) for operation in ("get", "put", "acc", "read&inc")),
        )

    def read_log(self, lines: list[Line]) -> LoggedRun:
        """Read the wall times that NWChem prints for its only task and for the whole run, and the energy.

        The energy of the highest theory is the last that is printed.
        """
        ends = tools.matches(_TASK_END, lines)
        printed = re.search(_TASK_END, lines[ends[-1]].text) if ends else None
        total = tools.last_text(_IN_ORDER, lines)
        processes = tools.count(_PROCESSES, lines)
        stopped = tools.first_match(f"{_INPUT_LINE}|{_ABORTED}", lines)
        problem = (
            _error(lines)
            or (None if processes is None else _start(lines, processes))
            or (None if printed or total else "incomplete: no 'Task  times'")
            or tools.several("'Task  times'", ends)
            or (None if total else _NO_TOTAL)
            or _not_converged(lines)
            or (None if printed else f"the run ended, but prints no 'Task  times'; {tools.CHOOSE}")
        )
        return LoggedRun(
            seconds=tools.number(printed[2]) if printed else None,
            wall_seconds=tools.number(total) if total else None,
            processes=processes,
            started=tools.last_text(r"^ +date += (.+)", lines),
            answer=_energy(lines, _ENERGIES) if total else None,
            problem=problem,
            line=stopped if stopped is not None else ends[-1] if ends else None,
        )

    def adopts(self, source: Path) -> bool:
        """Return whether `source` is an input, ``.nw``."""
        return source.suffix == ".nw" and source.is_file()

    def input_files(self, source: Path) -> dict[str, Path]:
        """Return the input, under the name that runs read, and the files next to it that it names."""
        return tools.named_files(source, INPUT)

    def adopt(self, source: Path, folder: Path, run_scripts: bool, prepare: bool) -> Adopted:
        """Change the copy of an input: no orbitals of an earlier run, and no files outside its folder.

        Raises
        ------
        InputError
            The input restarts a run, or it does not have exactly one task of a known theory.
        """
        text = (folder / INPUT).read_text(errors="replace")
        lines, words = text.splitlines(), _words(text)
        if ["restart"] in [line[:1] for line in words]:
            raise InputError(f"{source}: restarts an earlier run; timed runs must start")
        if problem := _unsupported(text):
            raise InputError(f"{source}: {problem}")
        theory = _THEORIES[_tasks(text)[0][0]] or _tce_energy(text)
        if theory not in _ENERGIES:
            known = ", ".join(_ENERGIES)
            raise InputError(
                f"{source}: tce: computes {theory or 'no model'}; energies that are read: {known}"
            )
        kept = [line for line, word in zip(lines, words, strict=True) if word[:1] not in _REPLACED]
        (folder / INPUT).write_text("\n".join([*_FRESH, *kept, ""]))
        return Adopted(
            program="NWChem",
            settings={"as_is": True, "read": {"theory": theory}},
            parameters={},
            changes=("start, permanent_dir and scratch_dir are those of each run's own folder",),
            steps=None,
            steps_key=None,
            serial_seconds=_SECONDS,
            memory_MB=_MEMORY_MB,
        )

    def differences(
        self, case: Case, details: Mapping[str, Any], serial: Mapping[str, Any]
    ) -> list[Difference]:
        """Compare the energy."""
        energy, expected = details.get("energy"), serial.get("energy")
        if expected is None:
            return []
        value = math.inf if energy is None else abs(energy - expected) / (abs(expected) or 1.0)
        return [Difference("energy", value, _ENERGY_ALLOWED, _ENERGY_ALLOWED)]

    def timed_part(self) -> tuple[str, ...]:
        """Return the headings of the modules and the line that ends a task."""
        modules = ("SCF", "DFT", "MP2", "Extensible Many-Electron Theory")
        return *(f"NWChem {module}" for module in modules), "NWPW PSPW Calculation", "Task  times  cpu:"

    def explain(self, errors: str) -> str | None:
        """Return the error of Open MPI or of ARMCI, the library below the Global Arrays."""
        if _NO_THREADS in errors:
            return "Open MPI's component pt2pt cannot be used with data servers (MPI_THREAD_MULTIPLE)"
        match = re.search(r"ARMCI Error: \d+:(.+?):?$", errors, re.M)
        return match[1] if match else None

    def version(self, lines: list[Line]) -> str | None:
        """Return the version, the revision of the Global Arrays, and folder and time of the build."""
        header = {}
        for line in lines:
            if match := re.match(r" +(nwchem branch|ga revision|source|compiled) += (\S+)", line.text):
                header[match[1]] = match[2]
        if "nwchem branch" not in header:
            return None
        details = [f"Global Arrays {header.get('ga revision', 'unknown')}"]
        if {"source", "compiled"} <= header.keys():
            details.append(f"{PurePath(header['source']).name} of {header['compiled'].replace('_', ' ')}")
        return f"{header['nwchem branch']} ({', '.join(details)})"


APPLICATION = NWChem()


def _geometry(case: Case) -> str:
    name = case.parameters.get("geometry", case.settings["geometry"])
    if name not in GENERATORS:
        return "\n".join(_text(case.folder / name).splitlines()[2:])
    parameter, generator = GENERATORS[name]
    where = f"{case.folder / 'case.yaml'}: sizes.{case.size}.parameters.{parameter}"
    if parameter not in case.parameters:
        raise InputError(f"{where}: missing")
    try:
        atoms = generator(case.parameters[parameter])
    except ValueError as error:
        raise InputError(f"{where}: {error}") from None
    return "\n".join(f"{element} {x:.6f} {y:.6f} {z:.6f}" for element, x, y, z in atoms)


def _check_input(text: str, file: Path) -> str:
    words = [
        (number, line.split()[0].lower()) for number, line in enumerate(text.splitlines(), 1) if line.split()
    ]
    for number, word in words:
        if word in _WRITTEN_HERE:
            raise InputError(f"{file}:{number}: '{word}' is not for the case: it is written for every run")
    tasks = [number for number, word in words if word == "task"]
    if len(tasks) != 1:
        raise InputError(f"{file}: {len(tasks)} tasks; there must be one, the one that is timed")
    return text


def _words(text: str) -> list[list[str]]:
    """Return the words of each line of an input, in small letters and without comments."""
    return [line.split("#")[0].lower().split() for line in text.splitlines()]


def _tasks(text: str) -> list[list[str]]:
    """Return the words of each task of an input, after ``task``."""
    return [words[1:] for words in _words(text) if words[:1] == ["task"]]


def _unsupported(text: str) -> str | None:
    """Return why the task of an input is not supported, with the supported tasks; None if it is."""
    tasks = _tasks(text)
    if len(tasks) == 1 and tasks[0]:
        theory, operation, *others = [*tasks[0], *(["energy"] if len(tasks[0]) == 1 else [])]
        is_numerical = operation.startswith("freq") and others in (["numerical"], ["analytic"])
        if theory in _OPERATIONS.get(operation, ()) and (not others or is_numerical):
            return None
    supported = "; ".join(f"{name} of {', '.join(theories)}" for name, theories in _OPERATIONS.items())
    given = " and ".join(f"'task {' '.join(words)}'" for words in tasks) or "no task"
    return f"{given}: needs exactly one task, one of these: {supported}"


def _tce_energy(text: str) -> str | None:
    """Return the name of the energy of TCE, by the model in its block; None without a model."""
    words = _words(text)
    begin = next((index for index, line in enumerate(words) if line[:1] == ["tce"]), len(words))
    end = next((index for index in range(begin, len(words)) if words[index][:1] == ["end"]), len(words))
    names = {name.lower(): name for name in _ENERGIES} | {"mbpt2": "MBPT(2)", "mp2": "MBPT(2)"}
    models = [line[0] for line in words[begin + 1 : end] if line and re.match(_TCE_MODEL, line[0])]
    return names.get(models[-1], models[-1].upper()) if models else None


def _energy(lines: Sequence[Line], names: Sequence[str]) -> float | None:
    """Return the last energy with one of these names; the first in a calculation of frequencies.

    Frequencies by differences compute displaced geometries after the one of the input.
    """
    name = "|".join(map(re.escape, names))
    pattern = rf"^ *(?:Total (?:{name}) energy *[:=]?|(?:{name}) total energy / hartree *=) *(\S+)"
    if tools.first_match(_FREQUENCIES, lines) is not None:
        first = tools.first_match(pattern, lines)
        return None if first is None else tools.last_number(pattern, lines[first : first + 1])
    return tools.last_number(pattern, lines)


def _not_converged(lines: Sequence[Line]) -> str | None:
    """Return which iteration ended without convergence; None if all converged."""
    if tools.first_match(_NOT_CONVERGED, lines) is not None:
        return "not converged"
    if tools.first_match(_OPTIMISATION, lines) is not None and tools.first_match(_OPTIMISED, lines) is None:
        return "geometry optimisation not converged"
    return None


def _text(file: Path) -> str:
    try:
        return file.read_text()
    except FileNotFoundError:
        raise InputError(f"{file}: no such file; an NWChem case needs it") from None


def _error(lines: Sequence[Line]) -> str | None:
    """Return the reason that NWChem prints between two rules, before the current input line.

    Without it, return the error of the Global Arrays.
    """
    index, aborted = (tools.first_match(mark, lines) for mark in (_INPUT_LINE, _ABORTED))
    if index is None:
        return None if aborted is None else f"NWChem stopped: {lines[aborted].text.strip()}"
    reasons = [text for line in lines[max(index - 4, 0) : index] if (text := line.text.strip(" -"))]
    return f"NWChem stopped: {re.sub(r' {2,}-?[0-9]+$', '', reasons[-1]) if reasons else 'no reason printed'}"


def _start(lines: Sequence[Line], processes: int) -> str | None:
    """Return how the start differs from a fresh start on `processes`."""
    for name, expected in (("status", "startup"), ("nproc", str(processes))):
        index = tools.first_match(rf"^ +{name} += ", lines)
        value = None if index is None else lines[index].text.split("=")[1].strip()
        if value is not None and value != expected:
            return f"not a fresh start: {name} is {value}, not {expected}"
    # Later steps of an optimisation load the orbitals of the step before.
    reused = tools.first_match(_LOADED, lines[: tools.first_match(_ANY_ENERGY, lines)])
    reused = tools.first_match(_RESTARTED, lines) if reused is None else reused
    return None if reused is None else f"not a fresh start: {' '.join(lines[reused].text.split())}"


def _communication(lines: Sequence[Line]) -> dict[str, dict[str, float | None]]:
    """Return calls and bytes of rank 0 by operation, from the statistics of the Global Arrays."""
    heading = tools.first_match(r"^ +create +destroy +get +put +acc", lines)
    if heading is None:
        return {}
    operations = lines[heading].text.split()
    rows = dict(line.text.split(":", 1) for line in lines[heading + 1 : heading + 5] if ":" in line.text)
    # The rows of bytes have no column for creating and destroying an array.
    columns = {"calls": operations, "bytes total": operations[2:], "bytes remote": operations[2:]}
    tables = [
        dict(zip(names, map(tools.number, rows.get(row, "").split()), strict=False))
        for row, names in columns.items()
    ]
    keys = ("global_array_calls", "global_array_bytes", "global_array_remote_bytes")
    return dict(zip(keys, tables, strict=True))


def _parts(task: Sequence[Line]) -> dict[str, Mapping[str, float]]:
    """Return time, iterations and time per iteration of each part of a task, from its time stamps."""
    seconds: dict[str, float] = {}
    iterations: dict[str, int] = {}
    timed: dict[str, tuple[float, int]] = {}
    part, before, row = None, None, None
    for line in task:
        if part is not None and before is not None:
            seconds[part] = seconds.get(part, 0.0) + line.seconds - before
        before = line.seconds
        if begun := next((name for name, mark in _PARTS.items() if re.search(mark, line.text)), None):
            part, row = begun, None
        elif part is not None and (match := re.match(_ROW, line.text)):
            count = int(match[1])
            done = count - row[0] if row and count > row[0] else count
            iterations[part] = iterations.get(part, 0) + done
            if row and count > row[0]:
                spent, counted = timed.get(part, (0.0, 0))
                timed[part] = (spent + line.seconds - row[1], counted + done)
            row = (count, line.seconds)
    return {
        "loop_seconds": seconds,
        "iterations_of_parts": iterations,
        # Lines that arrive together carry no time between them.
        "iteration_seconds": {part: spent / count for part, (spent, count) in timed.items() if spent > 0},
    }
