"""OpenFOAM: computational fluid dynamics.

A case's folder holds ``0``, ``constant`` and ``system`` in OpenFOAM's layout, without controlDict and
decomposeParDict. This module writes those two, so that no case adapts its time step or re-reads its
dictionaries while it is timed. Fields are written only if the size has a ``write_interval``.

- ``system/parameters`` holds the values of the case's size, for ``#include``.
- ``system/functions`` holds the case's functions for controlDict.
- A case whose ``settings.like`` names another case starts from that case's files.
- ``lattice.py`` makes the case's blockMeshDict: see `workflows.applications.lattice`.
"""

from __future__ import annotations

import json
import math
import os
import re
import runpy
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from workflows.applications import tools
from workflows.applications.base import Application, Steps
from workflows.applications.lattice import block_mesh_dict
from workflows.domain import Case, InputError, Line, Reading, Work

_WAYS_TRIED = 8
"""Number of ways to cut the mesh that are compared by their processor faces."""
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
writeInterval {interval};
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

_ITERATION_BEGIN = re.compile(r"Time = \S")
_ITERATION_END = re.compile(r"ExecutionTime = (\S+) s  ClockTime = \S+ s")
# A coupled solver prints the iterations of all components in each one's line: (3 3 3).
_EQUATION = re.compile(r"Solving for (\w+), Initial residual = ([^ ,]+), .*No Iterations \(?(\d+)")
_CLOCK = r"ClockTime = (\S+) s"
_BLOCK = re.compile(r"\bhex\s*\([^)]*\)\s*\w*\s*\(\s*(\d+)\s+(\d+)\s+(\d+)\s*\)")
_CONTINUITY = r"continuity errors : sum local = ([^ ,]+)"
_COURANT = re.compile(r"Courant Number(?:s = \S+| mean: \S+ max:) (\S+)")


class OpenFOAM(Application):
    """Computational fluid dynamics with OpenFOAM."""

    steps = Steps(("ExecutionTime = ",), "iterations", 1)
    variables = ("FOAM_", "WM_PROJECT")

    def programs(self, case: Case) -> list[str]:
        """Return the meshing programs, ``checkMesh``, ``decomposePar`` and the solver."""
        mesh = [shlex.split(command)[0] for command in case.settings["mesh"]]
        return list(dict.fromkeys([*mesh, "checkMesh", "decomposePar", case.settings["solver"]]))

    def inputs(self, case: Case) -> dict[str, bytes]:
        """Return the input files of the case and the dictionaries that this module writes.

        Raises
        ------
        InputError
            The case has a file that this module writes, or ``settings.like`` names a missing case.
        """
        files = _case_files(case)
        for name in ("system/controlDict", "system/decomposeParDict", "system/parameters"):
            if name in files:
                raise InputError(f"{case.folder / name}: not for the case: it is written for every run")
        step = case.parameters.get("time_step", 1)
        iterations = case.parameters["iterations"]
        interval = case.parameters.get("write_interval", iterations + 1)  # nothing is written without
        control = _HEADER.format("controlDict") + _CONTROL.format(
            solver=case.settings["solver"], step=step, end=iterations * step, interval=interval
        )
        parameters = "".join(f"{name} {value};\n" for name, value in case.parameters.items())
        return files | {"system/controlDict": control.encode(), "system/parameters": parameters.encode()}

    def cells(self, case: Case) -> int | None:
        """Return the cells of the blocks of blockMeshDict; None if another program makes the mesh."""
        if case.settings["mesh"] != ["blockMesh"]:
            return None
        text = self.inputs(case).get("system/blockMeshDict", b"").decode(errors="replace")
        text = re.sub(r"\$(\w+)", lambda match: str(case.parameters.get(match[1], match[0])), text)
        blocks, counts = re.findall(r"\bhex\b", text), _BLOCK.findall(text)
        if not blocks or len(counts) < len(blocks):
            return None
        return sum(math.prod(map(int, block)) for block in counts)

    def prepare(self, case: Case, processes: int, folder: Path, base: Path | None) -> None:
        """Mesh the case if `base` is None; else decompose the meshed case in `base` for `processes`.

        Writes ``prepared.json``: the cells, and the seconds of each program; for a decomposition, the cells
        and processor faces of each rank.

        Raises
        ------
        RuntimeError
            A program fails, or checkMesh rejects the mesh.
        """
        facts = self._mesh(case, folder) if base is None else self._decompose(case, processes, folder, base)
        (folder / "prepared.json").write_text(json.dumps(facts, indent=1) + "\n")

    def stage(self, case: Case, prepared: Path, folder: Path) -> None:
        """Link the dictionaries and meshes; each processor folder is new, for the fields of the run."""
        tools.require_empty(folder)
        for name in ("0", "constant", "system"):
            (folder / name).symlink_to((prepared / name).absolute())
        for processor in prepared.glob("processor*"):
            tools.link_contents(processor, folder / processor.name)

    def command(self, case: Case, processes: int, threads: int = 1) -> list[str]:
        """Return the solver, with ``-parallel`` for several processes."""
        return [case.settings["solver"], *(["-parallel"] if processes > 1 else [])]

    def environment(self, case: Case) -> dict[str, str]:
        """Return the environment of every rank.

        An OpenFOAM environment that is already set (a module, a sourced bashrc) stays as it is. Debian's
        package only needs the folder of its settings.
        """
        folder = {} if "WM_PROJECT_DIR" in os.environ else {"WM_PROJECT_DIR": str(DEBIAN_PROJECT_FOLDER)}
        return folder | case.settings["environment"]

    def unthreaded(self, case: Case, program: str) -> str:
        """Return a reason in every case: OpenFOAM computes with processes only."""
        return "OpenFOAM has no threads"

    def read(self, case: Case, processes: int, lines: list[Line], threads: int = 1) -> Reading:
        """Read the output of one run.

        An iteration (or time step) ends with its ``ExecutionTime =`` line. ``seconds`` runs from the end of
        the first iteration, which also allocates memory and is not counted, to the end of the last. The
        start-up ends with the first ``Time =`` line. The output phase follows the last iteration and includes
        the functions that compute the answer.

        All times are arrival times of lines, because of OpenFOAM's times one is CPU time and the other
        (``ClockTime``) whole seconds. If the main loop does not fit those two, the time stamps are wrong and
        the run does not count.
        """
        assert case.answer is not None  # the schema requires it
        iterations, limits = case.parameters["iterations"], case.settings["read"]
        begin = next((index for index, line in enumerate(lines) if _ITERATION_BEGIN.match(line.text)), None)
        ends = [index for index, line in enumerate(lines) if _ITERATION_END.match(line.text)]
        if begin is None or not ends or ends[0] < begin:
            startup = None if begin is None else lines[begin].seconds
            return Reading(
                None, startup, None, None, f"incomplete: 0 of {iterations} iterations", {"iterations": 0}
            )

        after = lines[ends[-1] + 1 :]
        value = tools.last_number(limits["answer"], after)
        convergence = _convergence(lines, begin, ends)
        whole = len(ends) == iterations
        seconds = lines[ends[-1]].seconds - lines[ends[0]].seconds if whole else None
        problem = (
            _other_processes(lines, processes)
            or _incomplete(after, len(ends), iterations, processes)
            or _diverged(convergence, limits)
            or _out_of_range(after, limits["ranges"])
            or tools.impossible(value, case.answer)
            or _clock(seconds, lines[ends[0]], lines[ends[-1]])
        )
        return Reading(
            seconds=seconds,
            startup_seconds=lines[begin].seconds,
            output_seconds=lines[-1].seconds - lines[ends[-1]].seconds if whole else None,
            answer=value,
            problem=problem,
            details={
                "iterations": len(ends),
                "first_iteration_seconds": _gap(lines, begin, ends[0]),
                "iteration_seconds": [_gap(lines, start, end) for start, end in pairwise(ends)],
                "loop_seconds": _equation_seconds(lines[ends[0] : ends[-1] + 1]) if whole else {},
                "cpu_seconds_of_rank_0": tools.last_number(_ITERATION_END.pattern, lines[: ends[-1] + 1]),
                **convergence,
                "solver_iterations": {
                    name: count / len(ends) for name, count in convergence["linear_iterations"].items()
                },
            },
        )

    def work(self, prepared: Path, details: Mapping[str, Any]) -> Work | None:
        """Return cells times timed iterations: all but the first (see `read`)."""
        file = prepared / "prepared.json"
        if not file.exists() or details.get("iterations", 0) < 2:
            return None
        cells = json.loads(file.read_text())["cells"]  # of each rank, in a decomposition
        amount = sum(cells) if isinstance(cells, list) else cells
        return Work(amount * (details["iterations"] - 1), "cell iterations")

    def untimed(self, prepared: Path) -> dict[str, float]:
        """Return the seconds of the mesh with its check, or of the decomposition."""
        file = prepared / "prepared.json"
        if not file.exists():
            return {}
        facts = json.loads(file.read_text())
        step = "decomposition" if "processor_faces" in facts else "mesh"
        return {step: sum(facts["program_seconds"].values())}

    def explain(self, errors: str) -> str | None:
        """Return the first line of OpenFOAM's fatal error."""
        texts = [re.sub(r"^\[\d+\] *", "", text).strip() for text in errors.splitlines()]
        heading = next((index for index, text in enumerate(texts) if text.startswith("--> FOAM FATAL")), None)
        return None if heading is None else next(filter(None, texts[heading + 1 :]), texts[heading])

    def version(self, lines: list[Line]) -> str | None:
        """Return the version after ``Build`` in the header; Debian's package leaves ``Version`` blank."""
        for line in lines:
            if match := re.match(r"Build +: (.+)", line.text):
                return match[1].strip()
        return None

    def _mesh(self, case: Case, folder: Path) -> dict[str, object]:
        tools.write_inputs(self.inputs(case), folder)
        seconds = {}
        for line in case.settings["mesh"]:
            argv = shlex.split(line)
            _, seconds[argv[0]] = self._run(argv, case, folder)
        checked, seconds["checkMesh"] = self._run(["checkMesh"], case, folder)
        cells = re.search(r"\bcells: +(\d+)", checked)
        box = re.search(r"domain bounding box \((.+?)\) \((.+?)\)", checked)
        if not (cells and box and "\nMesh OK." in checked):
            fault = re.search(r"\*\*\*(.+)", checked)
            raise RuntimeError(
                f"checkMesh: the mesh is not good: {fault[1] if fault else 'no report printed'}"
            )
        low, high = (map(float, corner.split()) for corner in box.groups())
        extent = [end - start for start, end in zip(low, high, strict=True)]
        return {"cells": int(cells[1]), "extent_m": extent, "program_seconds": seconds}

    def _decompose(self, case: Case, processes: int, folder: Path, base: Path) -> dict[str, object]:
        folder.mkdir(parents=True, exist_ok=True)
        tools.require_empty(folder)
        for name in ("0", "constant"):
            (folder / name).symlink_to(os.path.relpath(base / name, folder))
        tools.link_contents(base / "system", folder / "system")
        extent = json.loads((base / "prepared.json").read_text())["extent_m"]
        ways = factors_by_area(processes, extent)[:_WAYS_TRIED]
        factors = min(ways, key=lambda way: self._largest_halo(case, folder, processes, way))
        output, seconds = self._decompose_by(case, folder, processes, factors)
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

    def _largest_halo(self, case: Case, folder: Path, processes: int, factors: Sequence[int]) -> int:
        """Return the most processor faces of a rank, from a decomposition that is not written."""
        output, _ = self._decompose_by(case, folder, processes, factors, "-dry-run")
        largest = re.search(r"^Faces min:\d+ max:(\d+)", output, re.M)
        if not largest:
            raise RuntimeError("decomposePar: no number of processor faces printed")
        return int(largest[1])

    def _decompose_by(
        self, case: Case, folder: Path, processes: int, factors: Sequence[int], *options: str
    ) -> tuple[str, float]:
        dictionary = _DECOMPOSITION.format(processes=processes, factors=" ".join(map(str, factors)))
        (folder / "system/decomposeParDict").write_text(_HEADER.format("decomposeParDict") + dictionary)
        return self._run(["decomposePar", *options], case, folder)

    def _run(self, argv: list[str], case: Case, folder: Path) -> tuple[str, float]:
        return tools.run_program(argv, folder, os.environ | self.environment(case), self.explain)


APPLICATION = OpenFOAM()


def factors_by_area(processes: int, extent: Sequence[float]) -> list[tuple[int, int, int]]:
    """List the ways to cut a box into equal parts, sorted by the area of the cuts.

    Parameters
    ----------
    extent : sequence of float
        Lengths of the box along x, y and z.

    Returns
    -------
    list of (int, int, int)
        Parts along x, y and z; their product is `processes`.
    """
    divisors = [divisor for divisor in range(1, processes + 1) if processes % divisor == 0]
    ways = [(x, y, processes // x // y) for x in divisors for y in divisors if processes // x % y == 0]
    # The area of a cut across an axis is the volume of the box divided by its length along that axis.
    return sorted(ways, key=lambda way: sum((n - 1) / length for n, length in zip(way, extent, strict=True)))


def _case_files(case: Case) -> dict[str, bytes]:
    """Return the files of the case and of the case it is like; a lattice.py becomes a blockMeshDict."""
    folders = [case.folder.parent / other for other in [case.settings.get("like")] if other] + [case.folder]
    if not folders[0].is_dir():
        raise InputError(f"{case.folder / 'case.yaml'}: settings.like: there is no {folders[0]}")
    files: dict[str, bytes] = {}
    lattice = None
    for folder in folders:
        files_here = tools.case_files(replace(case, folder=folder))
        if files_here.pop("lattice.py", None):
            lattice = folder / "lattice.py"
        elif "system/blockMeshDict" in files_here:
            lattice = None
        files |= files_here
    if lattice:
        mesh = runpy.run_path(str(lattice))["mesh"](case.parameters)
        files["system/blockMeshDict"] = (_HEADER.format("blockMeshDict") + block_mesh_dict(mesh)).encode()
    return files


def _convergence(lines: Sequence[Line], begin: int, ends: Sequence[int]) -> dict[str, Any]:
    """Return what the limits of a case apply to.

    Residuals and continuity error are those of the last iteration; Courant number and linear iterations cover
    all iterations. An equation that an iteration solves several times has the residual of the first solution.
    """
    loop = lines[begin : ends[-1] + 1]
    last = lines[ends[-2] + 1 : ends[-1] + 1] if len(ends) > 1 else loop
    linear: Counter[str] = Counter()
    for match in _matches(_EQUATION, loop):
        linear[match[1]] += int(match[3])
    residuals: dict[str, float | None] = {}
    for match in _matches(_EQUATION, last):
        residuals.setdefault(match[1], tools.number(match[2]))
    courant = [tools.number(match[1]) for match in _matches(_COURANT, loop)]
    finite = [number for number in courant if number is not None]
    return {
        "initial_residuals": residuals,
        "linear_iterations": dict(linear),
        "continuity_error": tools.last_number(_CONTINUITY, last),
        "largest_courant": max(finite, default=None) if len(finite) == len(courant) else None,
    }


def _equation_seconds(loop: Sequence[Line]) -> dict[str, float]:
    """Return the seconds of each equation in the main loop.

    An equation takes from the arrival of the previous line to the arrival of its own, which covers assembly
    and solution. The components of a vector count as one equation. All other lines count as ``other``.
    """
    seconds: defaultdict[str, float] = defaultdict(float)
    for before, line in pairwise(loop):
        match = _EQUATION.search(line.text)
        name = re.sub(r"(?<=[A-Z])[xyz]$", "", match[1]) if match else "other"
        seconds[name] += line.seconds - before.seconds
    return {name: round(value, 6) for name, value in seconds.items()}


def _other_processes(lines: Sequence[Line], processes: int) -> str | None:
    ran_on = tools.last_number(r"^nProcs +: (\d+)$", lines)
    return None if ran_on in (None, processes) else f"ran on {ran_on:g} processes, not {processes}"


def _incomplete(after: Sequence[Line], done: int, iterations: int, processes: int) -> str | None:
    if done != iterations:
        return f"incomplete: {done} of {iterations} iterations"
    texts = {line.text.strip() for line in after}
    for text in ("End", *(["Finalising parallel run"] if processes > 1 else [])):
        if text not in texts:
            return f"incomplete: no '{text}' after the last iteration"
    return None


def _clock(seconds: float | None, first: Line, last: Line) -> str | None:
    """Compare the time of the main loop with OpenFOAM's clock and with the CPU time of rank 0.

    The clock is truncated to whole seconds. CPU time beyond the clock comes from additional threads and is
    then no lower limit.
    """
    passed, cpu = (_passed(pattern, first, last) for pattern in (_CLOCK, _ITERATION_END.pattern))
    if passed is None or cpu is None:
        return f"{tools.TIME_UNSURE}: no number in OpenFOAM's ExecutionTime or ClockTime"
    least, most = passed - 1, passed + 1
    return tools.unsure(seconds, max(least, cpu) if cpu <= most else least, most, "OpenFOAM")


def _passed(pattern: str, first: Line, last: Line) -> float | None:
    begun, ended = (tools.last_number(pattern, [line]) for line in (first, last))
    return None if begun is None or ended is None else ended - begun


def _diverged(convergence: dict[str, Any], limits: dict[str, Any]) -> str | None:
    """Return which limit of the case the run breaks; a missing or non-finite value breaks its limit."""
    residuals = dict.fromkeys(limits["residuals"]) | convergence["initial_residuals"]
    single = (
        ("continuity error", "continuity_error", "continuity"),
        ("Courant number", "largest_courant", "courant"),
    )
    checks = [
        *((label, convergence[key], limits[limit]) for label, key, limit in single if limit in limits),
        *(
            (f"residual of {name}", value, limits["residuals"].get(name, math.inf))
            for name, value in residuals.items()
        ),
    ]
    for label, value, limit in checks:
        if value is None:
            return f"diverged: {label} is not there or no finite number"
        if value > limit:
            return f"diverged: {label} {value:.3g} above {limit:g}"
    return None


def _out_of_range(after: Sequence[Line], ranges: dict[str, Sequence[float]]) -> str | None:
    """Return which field ends outside its range, from the extremes that volFieldValue prints."""
    for name, (low, high) in ranges.items():
        for which in ("min", "max"):
            value = tools.last_number(rf"\b{which}\(\w+\) of {re.escape(name)} = (\S+)", after)
            if value is None:
                return f"diverged: {which}({name}) is not there or no finite number"
            if not low <= value <= high:
                return f"diverged: {which}({name}) {value:.4g} outside {low:g} to {high:g}"
    return None


def _matches(pattern: re.Pattern[str], lines: Iterable[Line]) -> Iterable[re.Match[str]]:
    return (match for line in lines if (match := pattern.search(line.text)))


def _gap(lines: Sequence[Line], start: int, end: int) -> float:
    return round(lines[end].seconds - lines[start].seconds, 6)
