"""OpenFOAM: computational fluid dynamics.

A case's folder holds ``0``, ``constant`` and ``system`` in OpenFOAM's layout, without controlDict and
decomposeParDict. This module writes those two, so that no case adapts its time step or re-reads its
dictionaries while it is timed. Fields are written only if the size has a ``write_interval``.

- ``system/parameters`` holds the values of the case's size, for ``#include``.
- ``system/functions`` holds the case's functions for controlDict.
- A case whose ``settings.like`` names another case starts from that case's files.
- ``lattice.py`` makes the case's blockMeshDict: see `workflows.applications.lattice`.

A user's case (``settings.as_is``) keeps its controlDict and decomposeParDict. This module only adds the
settings of a timed run at their ends: see `workflows.applications.foam_case`.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import runpy
import shlex
import shutil
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path, PurePath
from typing import Any

from workflows.applications import foam_case, tools
from workflows.applications.base import Adopted, Application, Difference, LoggedRun, Steps
from workflows.applications.lattice import block_mesh_dict
from workflows.domain import Case, InputError, Line, Reading, Work
from workflows.launch.last_words import error_line

_WAYS_TRIED = 8
"""Number of ways to cut the mesh that are compared by their processor faces."""
DEBIAN_PROJECT_FOLDER = Path("/usr/share/openfoam")
DEBIAN_EXAMPLES = Path("/usr/share/doc/openfoam-examples/examples")
RUN_FUNCTIONS = Path(__file__).parent / "RunFunctions"
FACTS = "prepared.json"
"""File in a prepared folder with what is known of it."""
_CONTINUITY_FACTOR = 10
"""Largest continuity error of a user's case, as a multiple of the serial run's."""
_CONTINUITY_ITERATIONS = 10
"""Number of last iterations whose largest continuity error is compared.

In a converged case, the error of a single iteration is noise of the linear solver: it differs between runs by
a factor of 15, but the largest error of ten iterations by less than 1.2.
"""
_AVERAGES_ALLOWED = (0.01, 0.1)
"""Largest relative difference of a volume average from the serial run's, without and with spread."""

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
_ITERATION_BEGIN = re.compile(r"Time = \S")
_TIME = re.compile(r"^Time = (\d+(?:\.\d*)?(?:e[-+]?\d+)?)s?\s*$")
_LONGEST_STEP = 10
"""Largest step of Time in a whole log, as a multiple of the longer step before or after it."""
_LONGEST_LIST = 100_000
"""Lines of the header in which the list of hosts or processes ends."""
_ITERATION_END = re.compile(r"ExecutionTime = (\S+) s  ClockTime = \S+ s")
# A coupled solver prints the iterations of all components in each one's line: (3 3 3).
_EQUATION = re.compile(r"Solving for (\w+), Initial residual = ([^ ,]+), .*No Iterations \(?(\d+)")
_PROCESSES = r"^nProcs +: (\d+)$"
_FATAL = r"FOAM FATAL (IO )?ERROR|#\d+ +Foam::sig\w+::sigHandler"
_CLOCK = r"ClockTime = (\S+) s"
_WHOLE_CLOCK = re.compile(r"ExecutionTime = \S+ s +ClockTime = \S+ s")
_CLOCK_STEP = 2.0
"""Step of a difference of two times of this clock, seconds: each is truncated to whole seconds."""
_BLOCK = re.compile(r"\bhex\s*\([^)]*\)\s*\w*\s*\(\s*(\d+)\s+(\d+)\s+(\d+)\s*\)")
_CONTINUITY = r"continuity errors : sum local = ([^ ,]+)"
_COURANT = re.compile(r"Courant Number(?:s = \S+| mean: \S+ max:) (\S+)")


class OpenFOAM(Application):
    """Computational fluid dynamics with OpenFOAM."""

    steps = Steps(("ExecutionTime = ",), "iterations", 1)
    keys_of_steps = "endTime and deltaT in system/controlDict"
    variables = ("FOAM_", "WM_PROJECT")
    adopted = "an OpenFOAM folder with system/controlDict"
    log_mark = r"OpenFOAM|foam-extend|FOAM FATAL|^ExecutionTime = "

    def programs(self, case: Case) -> list[str]:
        """Return the meshing programs, ``checkMesh``, ``decomposePar`` and the solver."""
        mesh = [shlex.split(command)[0] for command in case.settings["mesh"]]
        return list(dict.fromkeys([*mesh, "checkMesh", "decomposePar", _program(case)[0]]))

    def inputs(self, case: Case) -> dict[str, bytes]:
        """Return the input files of the case and the dictionaries that this module writes.

        Raises
        ------
        InputError
            The case has a file that this module writes, or ``settings.like`` names a missing case.
        """
        if as_is := case.settings.get("as_is"):
            files = tools.case_files(case)
            described = {**as_is, "step": case.parameters["time_step"]}
            return foam_case.timed_files(files, case.folder, described, int(case.parameters["iterations"]))
        files = _case_files(case)
        for name in ("system/controlDict", "system/decomposeParDict", "system/parameters"):
            if name in files:
                raise InputError(f"{case.folder / name}: not for the case: it is written for every run")
        step = case.parameters.get("time_step", 1)
        iterations = case.parameters["iterations"]
        interval = case.parameters.get("write_interval", iterations + 1)  # nothing is written without
        program, *module = _program(case)
        solver = f"{program};\nsolver {module[-1]}" if module else program
        control = _HEADER.format("controlDict") + _CONTROL.format(
            solver=solver, step=step, end=iterations * step, interval=interval
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
        (folder / FACTS).write_text(json.dumps(facts, indent=1) + "\n")

    def stage(self, case: Case, prepared: Path, folder: Path) -> None:
        """Link the files of `prepared`.

        The ``processor*`` folders are real folders with links inside, so the solver writes its fields to
        `folder`.
        """
        tools.require_empty(folder)
        for path in prepared.iterdir():
            if path.name != FACTS and not path.name.startswith(("processor", ".", "log.")):
                (folder / path.name).symlink_to(path.absolute())
        for processor in prepared.glob("processor*"):
            tools.link_contents(processor, folder / processor.name)

    def command(self, case: Case, processes: int, threads: int = 1) -> list[str]:
        """Return the solver, with ``-parallel`` for several processes."""
        return [*_program(case), *(["-parallel"] if processes > 1 else [])]

    def environment(self, case: Case) -> dict[str, str]:
        """Return the environment of every rank.

        An OpenFOAM environment that is already set (a module, a sourced bashrc) stays as it is. Debian's
        package only needs the folder of its settings.
        """
        return _project_folder() | case.settings["environment"]

    def unthreaded(self, case: Case, program: str) -> str:
        """Return a reason in every case: OpenFOAM computes with processes only."""
        return "OpenFOAM has no threads"

    def read(self, case: Case, processes: int, lines: list[Line], threads: int = 1) -> Reading:
        """Read the output of one run.

        An iteration (or time step) ends with its ``ExecutionTime =`` line. ``seconds`` runs from the end of
        the first iteration, which also allocates memory and is not counted, to the end of the last. The
        start-up ends with the first ``Time =`` line. The output phase follows the last iteration and includes
        the functions that compute the answer.

        All times are arrival times of lines. OpenFOAM itself prints only CPU time (``ExecutionTime``) and
        whole seconds (``ClockTime``). If the time of the main loop contradicts these two, the time stamps are
        wrong and the run does not count.
        """
        iterations, limits = case.parameters["iterations"], case.settings["read"]
        begin = next((index for index, line in enumerate(lines) if _ITERATION_BEGIN.match(line.text)), None)
        ends = [index for index, line in enumerate(lines) if _ITERATION_END.match(line.text)]
        if begin is None or not ends or ends[0] < begin:
            startup = None if begin is None else lines[begin].seconds
            return Reading(
                None, startup, None, None, f"incomplete: 0 of {iterations} iterations", {"iterations": 0}
            )

        after = lines[ends[-1] + 1 :]
        value = tools.last_number(limits["answer"], after) if case.answer else None
        convergence = _convergence(lines, begin, ends)
        whole = len(ends) == iterations
        seconds = lines[ends[-1]].seconds - lines[ends[0]].seconds if whole else None
        problem = (
            _other_processes(lines, processes)
            or _incomplete(after, len(ends), iterations, processes)
            or _diverged(convergence, limits)
            or _out_of_range(after, limits["ranges"])
            or (tools.impossible(value, case.answer) if case.answer else None)
            or _clock(seconds, lines[ends[0]], lines[ends[-1]])
        )
        return Reading(
            seconds=seconds,
            startup_seconds=lines[begin].seconds,
            output_seconds=lines[-1].seconds - lines[ends[-1]].seconds if whole else None,
            answer=value,
            problem=problem,
            processes=tools.count(_PROCESSES, lines),
            details={
                "iterations": len(ends),
                "first_iteration_seconds": _gap(lines, begin, ends[0]),
                "iteration_seconds": [_gap(lines, start, end) for start, end in pairwise(ends)],
                "loop_seconds": _equation_seconds(lines[ends[0] : ends[-1] + 1]) if whole else {},
                "cpu_seconds_of_rank_0": tools.last_number(_ITERATION_END.pattern, lines[: ends[-1] + 1]),
                **convergence,
                **(_averages(lines) if "as_is" in case.settings else {}),
                "solver_iterations": {
                    name: count / len(ends) for name, count in convergence["linear_iterations"].items()
                },
            },
        )

    def read_log(self, lines: list[Line]) -> LoggedRun:
        """Read the time that passed on OpenFOAM's clock between the first and the last iteration.

        ``ClockTime`` has whole seconds, so the difference is up to 1 s off. ``ExecutionTime`` is the CPU time
        of rank 0, which lacks the time in which the rank sleeps.
        """
        ends = [index for index, line in enumerate(lines) if _ITERATION_END.match(line.text)]
        stopped, (damage, damaged) = tools.first_match(_FATAL, lines), _damage(lines, ends)
        processes = tools.count(_PROCESSES, lines)
        passed = _passed(_CLOCK, lines[ends[0]], lines[ends[-1]]) if ends else None
        seconds = passed if passed and passed >= _CLOCK_STEP else None
        finished = _unfinished(lines[ends[-1] + 1 :], processes or 1) if ends else _no_iteration(lines)
        date, time = (tools.last_text(rf"^{name} +: (.+)", lines) for name in ("Date", "Time"))
        problem = (
            (None if stopped is None else self.explain("\n".join(line.text for line in lines[stopped:])))
            or damage
            or finished
            or tools.several("'End'", tools.matches("^End$", lines))
            or _not_finite(lines, ends)
            or (None if seconds else f"whole seconds of ClockTime are too coarse; {tools.CHOOSE}")
        )
        return LoggedRun(
            seconds=seconds,
            resolution_seconds=_CLOCK_STEP if seconds else None,
            wall_seconds=tools.last_number(_CLOCK, lines) or None,
            processes=processes or (1 if ends else None),
            nodes=_nodes(lines),
            started=f"{date} {time}" if date and time else None,
            work=None if len(ends) < 2 or _is_excerpt(lines, ends) else Work(len(ends) - 1.0, "iterations"),
            problem=problem,
            line=next((place for place in (stopped, damaged, *ends[-1:]) if place is not None), None),
        )

    def work(self, prepared: Path, details: Mapping[str, Any]) -> Work | None:
        """Return cells times timed iterations: all but the first (see `read`)."""
        file = prepared / FACTS
        if not file.exists() or details.get("iterations", 0) < 2:
            return None
        cells = json.loads(file.read_text())["cells"]  # of each rank, in a decomposition
        amount = sum(cells) if isinstance(cells, list) else cells
        return Work(amount * (details["iterations"] - 1), "cell iterations")

    def untimed(self, prepared: Path) -> dict[str, float]:
        """Return the seconds of the mesh with its check, or of the decomposition."""
        file = prepared / FACTS
        if not file.exists():
            return {}
        facts = json.loads(file.read_text())
        step = "decomposition" if "processor_faces" in facts else "mesh"
        return {step: sum(facts["program_seconds"].values())}

    def explain(self, errors: str) -> str | None:
        """Return the line that names the error; None if none does: then the output explains more."""
        return error_line(errors)

    def version(self, lines: list[Line]) -> str | None:
        """Return the version after ``Build`` in the header; Debian's package leaves ``Version`` blank."""
        for line in lines:
            if match := re.match(r"Build +: (.+)", line.text):
                return match[1].strip()
        return None

    def adopts(self, source: Path) -> bool:
        """Return whether `source` is a folder with system/controlDict."""
        return foam_case.is_case(source)

    def input_files(self, source: Path) -> dict[str, Path]:
        """Return the files of a case without results of earlier runs."""
        left_out = foam_case.results_in(source)
        return {name: source / name for _, names in tools.input_folders(source, left_out) for name in names}

    def adopt(self, source: Path, folder: Path, run_scripts: bool, prepare: bool) -> Adopted:
        """Read a user's case; if programs may run, make mesh and first fields, and try its decomposition."""
        seen = foam_case.look(source, run_scripts)
        solver = seen.solver.split()[0]
        if prepare and not shutil.which(solver):
            where = source / foam_case.CONTROL
            raise InputError(f"{where}: application: {solver!r} is not installed here")
        for command in seen.mesh if prepare else ():
            if command == "setFields":
                foam_case.restore_fields(folder, seen.start)
            self._run(shlex.split(command), None, folder)
            for log in folder.glob("log.*"):
                log.unlink()
        foam_case.restore_fields(folder, seen.start)
        method, changes = self._method(folder, prepare)
        seen = replace(seen, cells=foam_case.cells_of(folder, seen.start))
        as_is = {
            "start": seen.start,
            "fields": seen.fields,
            "chaotic": seen.chaotic,
            "method": method,
        }
        mesh = [] if prepare else seen.mesh
        cells = f" ({seen.cells:,} cells)" if seen.cells else ""
        return Adopted(
            program=f"{seen.solver}{cells}",
            settings={"solver": seen.solver, "mesh": mesh, "as_is": as_is, "read": {}},
            parameters={"time_step": seen.step},
            changes=(*seen.changes, *changes),
            steps=seen.steps,
            steps_key="iterations",
            serial_seconds=seen.serial_seconds,
            memory_MB=seen.memory_MB,
            remarks=tuple(seen.remarks),
        )

    def variants(self, case: Case) -> list[Case]:
        """Return the case cut across x and across y."""
        if "as_is" not in case.settings:
            return []
        return [replace(case, parameters=case.parameters | {"cut": cut}) for cut in ("2 1 1", "1 2 1")]

    def differences(
        self, case: Case, details: Mapping[str, Any], serial: Mapping[str, Any]
    ) -> list[Difference]:
        """Compare continuity error and volume averages with those of the serial run.

        The components of an average differ relative to the serial average of the field's magnitude. A case
        that resolves turbulence is compared after its first step, and at its end by the averages of density
        and volume fractions.
        """
        found = []
        key = "recent_continuity_error"
        if (serial_error := serial.get(key)) and key in details:  # earlier versions did not record it
            ratio = (details[key] or math.inf) / serial_error
            most = _CONTINUITY_FACTOR
            found.append(Difference("continuity error", ratio, most, most, "times the serial value"))
        for key in ("averages", "conserved"):
            expected, values = serial.get(key, {}), details.get(key, {})
            for name in expected:
                if not name.startswith("mag("):
                    (magnitude,) = expected.get(f"mag({name})", [1.0])
                    value = foam_case.difference(values.get(name), expected[name], magnitude or 0.0)
                    found.append(Difference(f"volume average of {name}", value, *_AVERAGES_ALLOWED))
        return found

    def _method(self, folder: Path, prepare: bool) -> tuple[str | None, list[str]]:
        """Return the method of the user's decomposeParDict, tried if programs may run, with what changes.

        The method is None if the user names none or if it cannot be used here.
        """
        method = foam_case.method_of(folder)
        if method is None:
            return None, ["the case names no decomposition method: Nodeworth uses hierarchical"]
        if not prepare:
            return method, []
        trial = folder / "system/decomposeParDict.trial"
        parts = (2, 1, 1) if method in foam_case.CUTS else None
        trial.write_text(foam_case.with_method(folder, method, 2, parts))
        try:
            self._run(["decomposePar", "-dry-run", "-decomposeParDict", str(trial.absolute())], None, folder)
        except RuntimeError:
            return None, [f"decomposition method {method} is not installed here: hierarchical replaces it"]
        finally:
            trial.unlink()
            (folder / "log.decomposePar").unlink(missing_ok=True)
        given = foam_case.given_parts(folder, method) if method in foam_case.CUTS else None
        if given is None:
            return method, []
        stated = f"n ({' '.join(map(str, given))}) of {method}"
        count = math.prod(given)
        return method, [
            f"{stated} applies only to {count} processes, and Nodeworth chooses n for other counts"
        ]

    def _mesh(self, case: Case, folder: Path) -> dict[str, object]:
        tools.write_inputs(self.inputs(case), folder)
        seconds = {}
        for line in case.settings["mesh"]:
            argv = shlex.split(line)
            _, seconds[argv[0]] = self._run(argv, case, folder)
        checked, seconds["checkMesh"] = self._run(["checkMesh"], case, folder)
        cells = re.search(r"\bcells: +(\d+)", checked)
        box = re.search(r"domain bounding box \((.+?)\) \((.+?)\)", checked)
        if not (cells and box and ("\nMesh OK." in checked or "as_is" in case.settings)):
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
        for path in base.iterdir():
            if path.name not in ("system", FACTS) and not path.name.startswith((".", "log.")):
                (folder / path.name).symlink_to(os.path.relpath(path, folder))
        tools.link_contents(base / "system", folder / "system")
        method, parts = self._parts(case, processes, folder, base)
        output, seconds = self._decompose_by(case, folder, processes, method, parts)
        cells = [int(count) for count in re.findall(r"^ +Number of cells = (\d+)", output, re.M)]
        faces = [int(count) for count in re.findall(r"^ +Number of processor faces = (\d+)", output, re.M)]
        if len(cells) != processes or 0 in cells:
            raise RuntimeError(f"decomposePar: not {processes} parts with cells in each: {cells}")
        return {
            "method": method,
            "factors": parts,
            "cells": cells,
            "processor_faces": faces,
            "program_seconds": {"decomposePar": seconds},
        }

    def _parts(
        self, case: Case, processes: int, folder: Path, base: Path
    ) -> tuple[str, Sequence[int] | None]:
        """Return the method of the decomposition, and its parts along x, y and z if it cuts along the axes.

        If the user did not choose parts, choose the cut whose largest number of processor faces per rank is
        smallest.
        """
        method = case.settings.get("as_is", {}).get("method") or "hierarchical"
        if "cut" in case.parameters:
            return "hierarchical", [int(number) for number in case.parameters["cut"].split()]
        if method not in foam_case.CUTS:
            return method, None
        given = foam_case.given_parts(folder, method)
        if given and math.prod(given) == processes:
            return method, given
        extent = json.loads((base / FACTS).read_text())["extent_m"]
        ways = factors_by_area(processes, extent)[:_WAYS_TRIED]
        return method, min(ways, key=lambda way: self._largest_halo(case, folder, processes, method, way))

    def _largest_halo(
        self, case: Case, folder: Path, processes: int, method: str, parts: Sequence[int]
    ) -> int:
        """Return the largest number of processor faces of any rank, from a trial decomposition (dry run)."""
        output, _ = self._decompose_by(case, folder, processes, method, parts, "-dry-run")
        largest = re.search(r"^Faces min:\d+ max:(\d+)", output, re.M)
        if not largest:
            raise RuntimeError("decomposePar: no number of processor faces printed")
        return int(largest[1])

    def _decompose_by(
        self,
        case: Case,
        folder: Path,
        processes: int,
        method: str,
        parts: Sequence[int] | None,
        *options: str,
    ) -> tuple[str, float]:
        text = foam_case.with_method(folder, method, processes, parts)
        for name in (foam_case.DECOMPOSITION, f"{foam_case.DECOMPOSITION}.gz"):
            (folder / name).unlink(missing_ok=True)  # a link to the file of the base
        (folder / foam_case.DECOMPOSITION).write_text(text)
        return self._run(["decomposePar", *options], case, folder)

    def _run(self, argv: list[str], case: Case | None, folder: Path) -> tuple[str, float]:
        """Run a program of the preparation; `case` is None before the case is known."""
        environment = os.environ | _project_folder() | (case.settings["environment"] if case else {})
        with contextlib.ExitStack() as stack:
            if argv[0] == "sh":
                environment |= stack.enter_context(_for_scripts(Path(environment["WM_PROJECT_DIR"])))
            return tools.run_program(argv, folder, environment, self.explain)


APPLICATION = OpenFOAM()


def _project_folder() -> dict[str, str]:
    """Return the variable with Debian's folder of OpenFOAM, unless an environment of OpenFOAM is set."""
    return {} if "WM_PROJECT_DIR" in os.environ else {"WM_PROJECT_DIR": str(DEBIAN_PROJECT_FOLDER)}


@contextlib.contextmanager
def _for_scripts(project: Path) -> Iterator[dict[str, str]]:
    """Yield variables for a user's script, with RunFunctions of this project where OpenFOAM's are missing."""
    tutorials = {} if "FOAM_TUTORIALS" in os.environ else {"FOAM_TUTORIALS": str(DEBIAN_EXAMPLES)}
    if (project / "bin/tools/RunFunctions").is_file():
        yield tutorials
        return
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        tools.link_contents(project, folder)
        (folder / "bin").unlink(missing_ok=True)
        (folder / "bin/tools").mkdir(parents=True)
        (folder / "bin/tools/RunFunctions").symlink_to(RUN_FUNCTIONS)
        yield tutorials | {"WM_PROJECT_DIR": scratch}


def _averages(lines: Sequence[Line]) -> dict[str, Any]:
    """Return the volume averages that `workflows.applications.foam_case.timed_files` asks for."""
    texts = [line.text for line in lines]
    names = ("averages", "conserved")
    return {name: foam_case.averages(texts, f"nodeworth_{name}") for name in names}


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
    """Return the values to which the limits of a case apply.

    Residuals and ``continuity_error`` are those of the last iteration; ``recent_continuity_error`` is the
    largest of the last ten. Courant number and linear iterations cover all iterations. An equation that an
    iteration solves several times has the residual of the first solution.
    """
    loop = lines[begin : ends[-1] + 1]
    last = lines[ends[-2] + 1 : ends[-1] + 1] if len(ends) > 1 else loop
    linear: Counter[str] = Counter()
    for match in _matches(_EQUATION, loop):
        linear[match[1]] += int(match[3])
    residuals: dict[str, float | None] = {}
    for match in _matches(_EQUATION, last):
        residuals.setdefault(match[1], tools.number(match[2]))
    parts = [lines[start + 1 : end + 1] for start, end in pairwise([begin - 1, *ends])]
    recent = [tools.last_number(_CONTINUITY, part) for part in parts[-_CONTINUITY_ITERATIONS:]]
    continuity = [number for number in recent if number is not None]
    courant = [tools.number(match[1]) for match in _matches(_COURANT, loop)]
    finite = [number for number in courant if number is not None]
    return {
        "initial_residuals": residuals,
        "linear_iterations": dict(linear),
        "continuity_error": tools.last_number(_CONTINUITY, last),
        "recent_continuity_error": max(continuity) if len(continuity) == len(recent) else None,
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


def _program(case: Case) -> list[str]:
    """Return the words that start the solver: ``simpleFoam``, or ``foamRun -solver fluid``."""
    words: list[str] = case.settings["solver"].split()
    return words


def _other_processes(lines: Sequence[Line], processes: int) -> str | None:
    ran_on = tools.last_number(_PROCESSES, lines)
    return None if ran_on in (None, processes) else f"ran on {ran_on:g} processes, not {processes}"


def _incomplete(after: Sequence[Line], done: int, iterations: int, processes: int) -> str | None:
    if done != iterations:
        return f"incomplete: {done} of {iterations} iterations"
    return _unfinished(after, processes)


def _unfinished(after: Sequence[Line], processes: int) -> str | None:
    """Return which line is missing at the end of a finished run."""
    texts = {line.text.strip() for line in after}
    for text in ("End", *(["Finalising parallel run"] if processes > 1 else [])):
        if text not in texts:
            return f"incomplete: no '{text}' after the last iteration"
    return None


def _no_iteration(lines: Sequence[Line]) -> str:
    """Return why a log has no iteration: the run stopped, or the program is no solver."""
    if _unfinished(lines, tools.count(_PROCESSES, lines) or 1):
        return "incomplete: no iteration"
    program = PurePath(tools.last_text(r"^Exec +: (\S+)", lines) or "the program").name
    return f"{program} ended without an iteration, so it is no solver; {tools.CHOOSE}"


def _damage(lines: Sequence[Line], ends: Sequence[int]) -> tuple[str | None, int | None]:
    """Return how and where a log shows that two runs wrote into it: a mixed line, or a clock that falls."""
    for index, line in enumerate(lines[:-1]):
        if "ClockTime = " in line.text and not _WHOLE_CLOCK.fullmatch(line.text.strip()):
            return "damaged: other text is in a line of ClockTime; give each run a log of its own", index
    for start, end in pairwise(ends):
        if (_passed(_CLOCK, lines[start], lines[end]) or 0.0) < 0:
            return "holds two runs, since ClockTime falls; give each run a log of its own", end
    return None, None


def _not_finite(lines: Sequence[Line], ends: Sequence[int]) -> str | None:
    """Return which residual of the last iteration is no finite number."""
    residuals = _convergence(lines, 0, ends)["initial_residuals"]
    name = next((name for name, value in residuals.items() if value is None), None)
    return None if name is None else f"diverged: residual of {name} is no finite number"


def _nodes(lines: Sequence[Line]) -> int | None:
    """Return the number of nodes in the header's list of hosts; None if the list is not printed.

    Versions of openfoam.org list the other processes as "HOST.PID" under ``Slaves``.
    """
    begin = tools.first_match(r"^(Hosts|Slaves) +:", lines)
    if begin is None:
        return None
    text = "\n".join(line.text for line in lines[begin : begin + _LONGEST_LIST])
    if listed := re.match(r"Hosts +:\s*\d*\s*\((?:\s*\(\S+ \d+\))+\s*\)", text):
        return len(re.findall(r"\(\S+ \d+\)", listed[0]))
    first = tools.last_text(r'^Host +: "?(\w[^"\s]*)', lines[:begin])
    slaves = re.match(r'Slaves +:\s*\d*\s*\((?:\s*"\w[^"\s]*\.\d+")+\s*\)', text)
    return len({first, *re.findall(r'"(\S+)\.\d+"', slaves[0])}) if first and slaves else None


def _is_excerpt(lines: Sequence[Line], ends: Sequence[int]) -> bool:
    """Return whether iterations are left out: a line holds dots only, or one step of Time is far too long.

    An adaptive time step may be far shorter than its neighbours, but not far longer than both.
    """
    loop = lines[ends[0] : ends[-1]]
    if tools.first_match(r"^\s*(\.{3,}|…)\s*$", loop) is not None:
        return True
    begin = max(tools.matches(_ITERATION_BEGIN.pattern, lines[: ends[0]]), default=ends[0])
    times = [float(match[1]) for match in _matches(_TIME, lines[begin : ends[-1]])]
    steps = [later - earlier for earlier, later in pairwise(times)]
    neighbours = [
        max(steps[max(0, place - 1) : place] + steps[place + 1 : place + 2], default=math.inf)
        for place in range(len(steps))
    ]
    # Few printed digits make steps of 0.
    return any(step > _LONGEST_STEP * near > 0 for step, near in zip(steps, neighbours, strict=True))


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
    """Return which limit of the case the run exceeds. A missing or non-finite value exceeds its limit."""
    checks = []
    if "continuity" in limits:
        checks.append(("continuity error", convergence["continuity_error"], limits["continuity"]))
    if "courant" in limits:
        checks.append(("Courant number", convergence["largest_courant"], limits["courant"]))
    expected = dict.fromkeys(limits["residuals"])  # None for a residual that the run does not print
    for name, residual in (expected | convergence["initial_residuals"]).items():
        checks.append((f"residual of {name}", residual, limits["residuals"].get(name, math.inf)))
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
