"""OpenFOAM: meshing, decomposition, staging and starting a case; `openfoam_log` reads its output.

A case's folder holds ``0``, ``constant`` and ``system`` as OpenFOAM has them, without controlDict and
decomposeParDict: those are written here, so that no case can write fields, adapt its time step or re-read
its dictionaries while it is timed. ``system/parameters`` holds the values of the case's size, for
``#include``; ``system/functions`` has the case's own functions for controlDict. A case whose
``settings.like`` names another case starts from that case's files. ``lattice.py`` in a case's folder
makes its blockMeshDict: see `workflows.applications.lattice`.
"""

from __future__ import annotations

import json
import os
import re
import runpy
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from workflows.applications import tools
from workflows.applications.lattice import block_mesh_dict
from workflows.applications.openfoam_log import read_error, read_output, read_version
from workflows.domain import Case, InputError, Line, Reading, Work

_WAYS_TRIED = 8
"""Of the ways to cut the mesh, as many as are compared by their processor faces."""
DEBIAN_PROJECT_FOLDER = Path("/usr/share/openfoam")

_HEADER = "FoamFile {{ version 2.0; format ascii; class dictionary; object {}; }}\n\n"
_CONTROL = """\
application {solver};
startFrom startTime;
startTime 0;
stopAt endTime;
endTime {end};
deltaT {step};
adjustTimeStep no;
writeControl timeStep;
writeInterval {beyond};
writeFormat binary;
writePrecision 12;
timePrecision 12;
runTimeModifiable false;
functions {{ #include "functions" }}
"""
_DECOMPOSITION = """\
numberOfSubdomains {processes};
method hierarchical;
coeffs {{ n ({factors}); order xyz; }}
"""


def programs(case: Case) -> list[str]:
    """Programs that must be on the machine."""
    mesh = [shlex.split(command)[0] for command in case.settings["mesh"]]
    return list(dict.fromkeys([*mesh, "checkMesh", "decomposePar", case.settings["solver"]]))


def inputs(case: Case) -> dict[str, bytes]:
    """Input files of the case with those that are made here, by relative path.

    Raises
    ------
    InputError
        The case has a file that is written here, or is like a case that is not there.
    """
    own = _own_files(case)
    for name in ("system/controlDict", "system/decomposeParDict", "system/parameters"):
        if name in own:
            raise InputError(f"{case.folder / name}: not for the case: it is written for every run")
    step = case.parameters.get("time_step", 1)
    iterations = case.parameters["iterations"]
    control = _HEADER.format("controlDict") + _CONTROL.format(
        solver=case.settings["solver"], step=step, end=iterations * step, beyond=iterations + 1
    )
    parameters = "".join(f"{name} {value};\n" for name, value in case.parameters.items())
    return own | {
        "system/controlDict": control.encode(),
        "system/parameters": parameters.encode(),
    }


def prepare(case: Case, processes: int, folder: Path, base: Path | None) -> None:
    """Mesh the case (`base` None), or decompose the meshed case in `base` for `processes`.

    Leaves ``prepared.json``: of a mesh the cells and what each program took in seconds, of a
    decomposition the cells and the processor faces of each rank.

    Raises
    ------
    RuntimeError
        A program fails, or the mesh is not good.
    """
    folder.mkdir(parents=True, exist_ok=True)
    tools.require_empty(folder)
    facts = _mesh(case, folder) if base is None else _decompose(case, processes, folder, base)
    (folder / "prepared.json").write_text(json.dumps(facts, indent=1) + "\n")


def stage(case: Case, prepared: Path, folder: Path) -> None:
    """Fill `folder` with links to the dictionaries and meshes in `prepared`."""
    tools.require_empty(folder)
    for name in ("0", "constant", "system"):
        (folder / name).symlink_to((prepared / name).absolute())
    for processor in prepared.glob("processor*"):
        tools.link_contents(processor, folder / processor.name)


def command(case: Case, processes: int) -> list[str]:
    """Program and arguments of one rank, started in the staged folder."""
    return [case.settings["solver"], *(["-parallel"] if processes > 1 else [])]


def environment(case: Case) -> dict[str, str]:
    """Environment of every rank.

    An OpenFOAM environment that is already set (a module, a sourced bashrc) is left as it is; Debian's
    packages need no more than the folder of their settings.
    """
    own = {} if "WM_PROJECT_DIR" in os.environ else {"WM_PROJECT_DIR": str(DEBIAN_PROJECT_FOLDER)}
    return own | case.settings["environment"]


def read(case: Case, processes: int, lines: list[Line]) -> Reading:
    """Read the output of one run: see `openfoam_log.read_output`."""
    assert case.answer is not None  # the schema requires it
    return read_output(lines, case.parameters["iterations"], processes, case.settings["read"], case.answer)


def work(prepared: Path, details: Mapping[str, Any]) -> Work | None:
    """Cells times iterations; the first iteration is not timed (see `openfoam_log.read_output`)."""
    file = prepared / "prepared.json"
    if not file.exists() or details.get("iterations", 0) < 2:
        return None
    cells = json.loads(file.read_text())["cells"]  # of each rank, in a decomposition
    amount = sum(cells) if isinstance(cells, list) else cells
    return Work(amount * (details["iterations"] - 1), "cell iterations")


def untimed(prepared: Path) -> dict[str, float]:
    """Seconds of the programs that made a mesh with its check, or a decomposition."""
    file = prepared / "prepared.json"
    if not file.exists():
        return {}
    facts = json.loads(file.read_text())
    step = "decomposition" if "processor_faces" in facts else "mesh"
    return {step: sum(facts["program_seconds"].values())}


def explain(errors: str) -> str | None:
    """First line of what OpenFOAM says when it gives up."""
    return read_error(errors)


def version(lines: list[Line]) -> str | None:
    """Version of OpenFOAM as the log's header has it."""
    return read_version(lines)


def factors_by_area(processes: int, extent: Sequence[float]) -> list[tuple[int, int, int]]:
    """List the ways to cut a box into `processes` equal parts along x, y and z, least area of cuts first.

    Parameters
    ----------
    processes : int
    extent : sequence of float
        Lengths of the box.

    Returns
    -------
    list of (int, int, int)
        Parts along x, y and z; their product is `processes`.
    """
    divisors = [divisor for divisor in range(1, processes + 1) if processes % divisor == 0]
    ways = [(x, y, processes // x // y) for x in divisors for y in divisors if processes // x % y == 0]
    # A cut across an axis has the box's volume over its length along that axis as area.
    return sorted(ways, key=lambda way: sum((n - 1) / length for n, length in zip(way, extent, strict=True)))


def _own_files(case: Case) -> dict[str, bytes]:
    """Files of the case and of the case it is like; a lattice.py as the blockMeshDict that it makes."""
    folders = [case.folder.parent / other for other in [case.settings.get("like")] if other] + [case.folder]
    if not folders[0].is_dir():
        raise InputError(f"{case.folder / 'case.yaml'}: settings.like: there is no {folders[0]}")
    files: dict[str, bytes] = {}
    lattice = None
    for folder in folders:
        own = tools.case_files(replace(case, folder=folder))
        if own.pop("lattice.py", None):
            lattice = folder / "lattice.py"
        elif "system/blockMeshDict" in own:
            lattice = None
        files |= own
    if lattice:
        mesh = runpy.run_path(str(lattice))["mesh"](case.parameters)
        files["system/blockMeshDict"] = (_HEADER.format("blockMeshDict") + block_mesh_dict(mesh)).encode()
    return files


def _mesh(case: Case, folder: Path) -> dict[str, object]:
    tools.write_files(inputs(case), folder)
    seconds = {}
    for line in case.settings["mesh"]:
        argv = shlex.split(line)
        _, seconds[argv[0]] = _run(argv, case, folder)
    checked, seconds["checkMesh"] = _run(["checkMesh"], case, folder)
    cells = re.search(r"\bcells: +(\d+)", checked)
    box = re.search(r"domain bounding box \((.+?)\) \((.+?)\)", checked)
    if not (cells and box and "\nMesh OK." in checked):
        said = re.search(r"\*\*\*(.+)", checked)
        raise RuntimeError(f"checkMesh: the mesh is not good: {said[1] if said else 'no report printed'}")
    low, high = (map(float, corner.split()) for corner in box.groups())
    extent = [end - start for start, end in zip(low, high, strict=True)]
    return {"cells": int(cells[1]), "extent_m": extent, "program_seconds": seconds}


def _decompose(case: Case, processes: int, folder: Path, base: Path) -> dict[str, object]:
    for name in ("0", "constant"):
        (folder / name).symlink_to(os.path.relpath(base / name, folder))
    tools.link_contents(base / "system", folder / "system")
    extent = json.loads((base / "prepared.json").read_text())["extent_m"]
    ways = factors_by_area(processes, extent)[:_WAYS_TRIED]
    factors = min(ways, key=lambda way: _largest_halo(case, folder, processes, way))
    output, seconds = _decompose_by(case, folder, processes, factors)
    cells = [int(count) for count in re.findall(r"^ +Number of cells = (\d+)", output, re.M)]
    faces = [int(count) for count in re.findall(r"^ +Number of processor faces = (\d+)", output, re.M)]
    if len(cells) != processes or 0 in cells:
        raise RuntimeError(f"decomposePar: not {processes} parts with cells in each: {cells}")
    return {
        "factors": factors,
        "cells": cells,
        "processor_faces": faces,
        "program_seconds": {"decomposePar": seconds},
    }


def _largest_halo(case: Case, folder: Path, processes: int, factors: Sequence[int]) -> int:
    """Processor faces of the rank that has most, by a decomposition that is not written."""
    output, _ = _decompose_by(case, folder, processes, factors, "-dry-run")
    found = re.search(r"^Faces min:\d+ max:(\d+)", output, re.M)
    if not found:
        raise RuntimeError("decomposePar: no number of processor faces printed")
    return int(found[1])


def _decompose_by(
    case: Case, folder: Path, processes: int, factors: Sequence[int], *options: str
) -> tuple[str, float]:
    dictionary = _DECOMPOSITION.format(processes=processes, factors=" ".join(map(str, factors)))
    (folder / "system/decomposeParDict").write_text(_HEADER.format("decomposeParDict") + dictionary)
    return _run(["decomposePar", *options], case, folder)


def _run(argv: list[str], case: Case, folder: Path) -> tuple[str, float]:
    return tools.run_program(argv, folder, os.environ | environment(case), explain)
