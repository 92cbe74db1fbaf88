"""NWChem: writing the input, staging and starting a case; `nwchem_log` reads its output.

A case's ``input.nw`` holds basis, theory and one ``task``. What makes a run repeatable is written here:
``start`` (never ``restart``, which takes the orbitals of an earlier run), the memory, the geometry, and
both scratch folders inside the run's own folder.
"""

from __future__ import annotations

import re
from pathlib import Path

from workflows.applications import tools
from workflows.applications.defaults import untimed, work  # noqa: F401 - of the application
from workflows.applications.fullerene import fullerene
from workflows.applications.nwchem_log import read_output, read_version
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
"""Geometries that are made here: the parameter of the size that each takes, and the function."""
_NO_THREADS = "The OSC pt2pt component does not support MPI_THREAD_MULTIPLE"
_WRITTEN_HERE = ("start", "restart", "title", "memory", "permanent_dir", "scratch_dir", "geometry")


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


def prepare(case: Case, processes: int, folder: Path, base: Path | None) -> None:
    """Write the input: NWChem needs nothing else, and the same for any number of processes."""
    tools.write_inputs(inputs(case), folder)


def stage(case: Case, prepared: Path, folder: Path) -> None:
    """Link the input into the run's own folder, which also takes all scratch files."""
    tools.require_empty(folder)
    (folder / INPUT).symlink_to((prepared / INPUT).absolute())


def command(case: Case, processes: int) -> list[str]:
    """Program and arguments of one rank, started in the staged folder."""
    return ["nwchem", INPUT]


def environment(case: Case) -> dict[str, str]:
    """Environment of every rank: one thread, unless the case says otherwise."""
    return {"OMP_NUM_THREADS": "1"} | case.settings["environment"]


def read(case: Case, processes: int, lines: list[Line]) -> Reading:
    """Read the output of one run: see `nwchem_log.read_output`."""
    assert case.answer is not None  # the schema requires it
    return read_output(lines, processes, case.settings["read"]["theory"], case.answer)


def explain(errors: str) -> str | None:
    """Reason that Open MPI, or the library under the Global Arrays, gives on standard error."""
    if _NO_THREADS in errors:
        return "Open MPI's component pt2pt cannot be used with data servers (MPI_THREAD_MULTIPLE)"
    match = re.search(r"ARMCI Error: \d+:(.+?):?$", errors, re.M)
    return match[1] if match else None


def version(lines: list[Line]) -> str | None:
    """Version of NWChem as the output's header has it."""
    return read_version(lines)


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
