"""NWChem: writing the input, staging and starting a case, and what its output says.

A case's ``input.nw`` holds basis, theory and one ``task``. What makes a run repeatable is written here:
``start`` (never ``restart``, which takes the orbitals of an earlier run), the memory, the geometry, and
both scratch folders inside the run's own folder.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path, PurePath

from workflows.applications import tools
from workflows.applications.defaults import prepare, untimed, work  # noqa: F401 - of the application
from workflows.applications.fullerene import fullerene
from workflows.applications.water import water_cluster
from workflows.domain import Case, InputError, Line, Reading
from workflows.launch.provenance import libraries

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
"""Geometries that are made here: the parameter of the size that each takes, and the function."""
_NO_THREADS = "The OSC pt2pt component does not support MPI_THREAD_MULTIPLE"
OPENMP = r"lib(gomp|iomp5|omp)\b"
_WRITTEN_HERE = ("start", "restart", "title", "memory", "permanent_dir", "scratch_dir", "geometry")
_TASK_BEGIN = r"^ +(NWChem (?!Input\b).*\bModule *$|\* +NWPW PSPW Calculation)"
_TASK_END = r"^ Task +times +cpu: +([\d.]+)s +wall: +([\d.]+)s"
_IN_ORDER = r"^ Total times +cpu: +[\d.]+s +wall: +[\d.]+s"
_REUSED = r"(Loading old vectors from job|Restarting from old vector in)"
_PARTS = {
    "Hartree-Fock": r"^ +NWChem SCF Module",
    "DFT": r"^ +NWChem DFT Module",
    "MP2": r"^ +NWChem MP2 .*Module",
    "four-index transformation": r"^ +Four-Index Transformation *$",
    "coupled cluster": r"^ +the segmented parallel ccsd program",
    "plane waves, set-up": r"^ +\* +NWPW PSPW Calculation",
    "plane waves": r"^ +=+ .* iteration =+ *$",
}
"""Parts of a task by the line with which each begins; it lasts until another one begins."""
_ROW = r"^ *(?:d= *\d+,ls=[\d.]+,diis)? *(\d+)(?: +-?\d*\.\d+(?:[DE][-+]\d+)?){3,} *$"
"""A row of the tables in which each theory shows its iterations: number, energy, how it changed, ..."""
_NOT_CONVERGED = r"^ *\*\*\* arr?ived at the Maximum iteration"
"""Plane waves end in order without having converged, the other theories fail. NWChem writes it with one r."""


def programs(case: Case) -> list[str]:
    """Programs that must be on the machine."""
    return ["nwchem"]


def inputs(case: Case) -> dict[str, bytes]:
    """Complete NWChem input of the case's size.

    Raises
    ------
    InputError
        A parameter or a file is missing, or input.nw says what is written here.
    """
    file = case.folder / INPUT
    own = _check_input(_text(file), file)
    memory = case.parameters.get("memory_limit_MB", case.settings["memory_limit_MB"])
    head = _HEAD.format(title=case.name, memory=memory, geometry=_geometry(case))
    return {INPUT: (head + tools.substitute(own, case.parameters, str(file))).encode()}


def stage(case: Case, prepared: Path, folder: Path) -> None:
    """Link the input into the run's own folder, which also takes all scratch files."""
    tools.require_empty(folder)
    (folder / INPUT).symlink_to((prepared / INPUT).absolute())


def command(case: Case, processes: int, threads: int = 1) -> list[str]:
    """Program and arguments of one rank, started in the staged folder."""
    return ["nwchem", INPUT]


def environment(case: Case) -> dict[str, str]:
    """Environment of every rank: one thread, unless the case says otherwise."""
    return {"OMP_NUM_THREADS": "1"} | case.settings["environment"]


def unthreaded(case: Case, program: str) -> str | None:
    """Whether the program, or the BLAS that it is bound to, was built with OpenMP."""
    found = libraries(program)
    return f"{program} was built without OpenMP" if found and not re.search(OPENMP, found) else None


def read(case: Case, processes: int, lines: list[Line], threads: int = 1) -> Reading:
    """Read the output of one run.

    The main loop is the task: from the heading of its module to its ``Task times`` line, as they arrived.
    NWChem prints that time too, in steps of 0.1 s: where the two differ by more than 0.3 s and 5 %, the
    stamps are wrong and the run does not count. The energy is read only where NWChem ended in order: a run
    that fails can print a plausible answer before.

    Returns
    -------
    Reading
        With ``details``: ``loop_seconds``, the time of each part of the task (`_PARTS`), which add up to
        ``seconds``; ``iterations_of_parts`` and ``iteration_seconds``, their iterations and the mean time of
        one, the first left out, by part; ``global_array_calls``, ``global_array_bytes`` and
        ``global_array_remote_bytes`` (to other processes) of rank 0 by operation; NWChem's own times.
    """
    assert case.answer is not None  # the schema requires it
    theory = re.escape(case.settings["read"]["theory"])
    begin = tools.first_match(_TASK_BEGIN, lines)
    end = tools.first_match(_TASK_END, lines)
    in_order = tools.first_match(_IN_ORDER, lines) is not None
    seconds = lines[end].seconds - lines[begin].seconds if begin is not None and end is not None else None
    cpu, wall = (None, None) if end is None else map(tools.number, re.findall(_TASK_END, lines[end].text)[0])
    task = lines[begin : end + 1] if begin is not None and end is not None else []
    communication = _communication(lines)
    calls = communication.get("global_array_calls", {})
    energy = tools.last_number(rf"^ *Total {theory} energy *[:=]? *(\S+)", lines) if in_order else None
    problem = (
        _error(lines)
        or _start(lines, processes)
        or (None if in_order and seconds is not None else "incomplete: no 'Total times' after the task")
        or ("not converged" if tools.first_match(_NOT_CONVERGED, lines) is not None else None)
        or (None if wall is None else tools.unsure(seconds, wall, wall, "NWChem"))
        or tools.impossible(energy, case.answer)
    )
    return Reading(
        seconds=seconds,
        startup_seconds=None if begin is None else lines[begin].seconds,
        output_seconds=None if end is None else lines[-1].seconds - lines[end].seconds,
        answer=energy,
        problem=problem,
        details={"cpu_seconds_of_rank_0": cpu, "printed_seconds": wall, **_parts(task), **communication},
        one_sided=any(calls.get(operation) for operation in ("get", "put", "acc", "read&inc")),
    )


def timed_part() -> tuple[str, ...]:
    """Headings of modules, and what ends a task."""
    modules = ("SCF", "DFT", "MP2", "Extensible Many-Electron Theory")
    return *(f"NWChem {module}" for module in modules), "NWPW PSPW Calculation", "Task  times  cpu:"


def explain(errors: str) -> str | None:
    """Reason that Open MPI, or the library under the Global Arrays, gives on standard error."""
    if _NO_THREADS in errors:
        return "Open MPI's component pt2pt cannot be used with data servers (MPI_THREAD_MULTIPLE)"
    match = re.search(r"ARMCI Error: \d+:(.+?):?$", errors, re.M)
    return match[1] if match else None


def version(lines: list[Line]) -> str | None:
    """Version in the output's header, with that of the Global Arrays and the build: its folder and time."""
    found = {}
    for line in lines:
        if match := re.match(r" +(nwchem branch|ga revision|source|compiled) += (\S+)", line.text):
            found[match[1]] = match[2]
    if "nwchem branch" not in found:
        return None
    details = [f"Global Arrays {found.get('ga revision', 'unknown')}"]
    if {"source", "compiled"} <= found.keys():
        details.append(f"{PurePath(found['source']).name} of {found['compiled'].replace('_', ' ')}")
    return f"{found['nwchem branch']} ({', '.join(details)})"


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


def _text(file: Path) -> str:
    try:
        return file.read_text()
    except FileNotFoundError:
        raise InputError(f"{file}: no such file; an NWChem case needs it") from None


def _error(lines: Sequence[Line]) -> str | None:
    """What NWChem says between two rules when it gives up, before the input line that it was at."""
    index = tools.first_match(r"^ *current input line :", lines)
    if index is None:
        return None
    said = [text for line in lines[max(index - 4, 0) : index] if (text := line.text.strip(" -"))]
    return f"NWChem stopped: {re.sub(r' {2,}-?[0-9]+$', '', said[-1]) if said else 'no reason printed'}"


def _start(lines: Sequence[Line], processes: int) -> str | None:
    """Say whether the run started from anything but its input, or on another number of processes."""
    for name, wanted in (("status", "startup"), ("nproc", str(processes))):
        index = tools.first_match(rf"^ +{name} += ", lines)
        value = None if index is None else lines[index].text.split("=")[1].strip()
        if value is not None and value != wanted:
            return f"not a fresh start: {name} is {value}, not {wanted}"
    reused = tools.first_match(_REUSED, lines)
    return None if reused is None else f"not a fresh start: {' '.join(lines[reused].text.split())}"


def _communication(lines: Sequence[Line]) -> dict[str, dict[str, float | None]]:
    """Calls and bytes of rank 0 by operation, from the Global Arrays' statistics at the end."""
    heading = tools.first_match(r"^ +create +destroy +get +put +acc", lines)
    if heading is None:
        return {}
    operations = lines[heading].text.split()
    rows = dict(line.text.split(":", 1) for line in lines[heading + 1 : heading + 5] if ":" in line.text)
    # Creating and destroying an array has no column of bytes.
    columns = {"calls": operations, "bytes total": operations[2:], "bytes remote": operations[2:]}
    tables = [
        dict(zip(names, map(tools.number, rows.get(row, "").split()), strict=False))
        for row, names in columns.items()
    ]
    keys = ("global_array_calls", "global_array_bytes", "global_array_remote_bytes")
    return dict(zip(keys, tables, strict=True))


def _parts(task: Sequence[Line]) -> dict[str, dict[str, float]]:
    """Time, iterations and time of an iteration of each part of a task, from the arrival of its lines."""
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
                spent, of = timed.get(part, (0.0, 0))
                timed[part] = (spent + line.seconds - row[1], of + done)
            row = (count, line.seconds)
    return {
        "loop_seconds": seconds,
        "iterations_of_parts": iterations,
        # Lines that arrive all at once say nothing of the time between them.
        "iteration_seconds": {part: spent / of for part, (spent, of) in timed.items() if spent > 0},
    }
