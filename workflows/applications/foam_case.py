"""An OpenFOAM case of a user: the settings in its files, and the settings that a timed run changes."""

from __future__ import annotations

import gzip
import math
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workflows.applications import tools
from workflows.applications.foam_dictionary import Entries, file_of, read, text_of
from workflows.domain import InputError

CONTROL, SOLUTION, DECOMPOSITION = "system/controlDict", "system/fvSolution", "system/decomposeParDict"
CUTS = ("simple", "hierarchical")
"""Methods of decomposition that cut the mesh into a number of parts along each axis."""
SCRIPT = "Allrun.pre"

_RESULTS = re.compile(r"processor\w*|postProcessing|VTK|dynamicCode|log\..*|.*\.(log|foam|OpenFOAM)")
"""Names of files and folders in a case that runs write."""
_TIME = re.compile(r"\d+(\.\d+)?(e[-+]?\d+)?")
_SURFACE = re.compile(r"[\w./+-]+\.(obj|stl|stlb|vtk|vtp|ply|nas|off|tri|gts|ac|ftr)(\.gz)?", re.I)
"""Name of a file with a surface."""
_SURFACE_FOLDERS = ("constant/triSurface", "constant/geometry")
_ON = ("yes", "on", "true", "y", "t")
_CONSERVED = re.compile(r"rho|alpha\..+")
"""Fields whose volume averages are conserved, if nothing flows in or out."""
_DERIVED = re.compile(r"(nut|mut|alphat|nuSgs|muSgs|alphaSgs)(\..+)?")
_CELL_SECONDS, _CELL_MB = 3e-6, 0.002
"""Rough estimates until a trial run has been made: seconds per cell and step, and MB per cell."""
_LEAST_STEPS, _STEPS = 3, 100
"""Smallest number of steps that can be timed, and a number of steps for estimates."""
_NOTHING = 1e-12
"""Average up to which a field counts as zero if it is zero in the serial run."""
_COPY_SECONDS = 5.0
"""Longest time that a copy of a case takes, so that the times of its files differ by no more."""
_ESTIMATED_CELLS = 100_000
"""Number of cells that is assumed for a mesh that has not been made yet."""

_ENDING = """

// Settings of the timed run.
startFrom startTime;
startTime {start};
stopAt endTime;
endTime {end};
deltaT {step};
adjustTimeStep no;
writeControl timeStep;
writeInterval {interval};
runTimeModifiable no;
timePrecision 12;
functions
{{
{stops}
{averages}}}
"""
_HEADER = "FoamFile { version 2.0; format ascii; class dictionary; object decomposeParDict; }\n"
_MAGNITUDE = "nodeworth_mag_{field} {{ type mag; libs (fieldFunctionObjects); field {field}; {when} }}\n"
_AVERAGES = (
    "{name} {{ type volFieldValue; libs (fieldFunctionObjects); operation volAverage; writeFields no; "
    "fields ({fields}); {when} }}\n"
)
_AT_END = "executeControl onEnd; writeControl {write};"
_AT_FIRST = "executeControl timeStep; writeControl {write}; timeEnd {first};"
_PRINTED = r"volAverage\(region0\) of (\S+) = (.+)"


@dataclass(frozen=True)
class FoamCase:
    """Settings in the files of a case.

    Attributes
    ----------
    solver : str
    start : str
        Start time of the run, as the name of the folder with the fields at this time.
    step : float
        Length of a time step.
    steps : int or None
        Number of steps up to the end time; None if they are missing or too few to be timed.
    fields : list of str
        Names of the fields at the start time.
    chaotic : bool
        Whether the case resolves turbulence (LES). Rounding then makes runs differ after some steps.
    mesh : list of str
        Commands that make the mesh and the fields at the start time.
    cells : int or None
        Number of cells; None if the mesh has not been made yet.
    changes : list of str
        Phrases for the report: each names a setting that a timed run changes.
    remarks : list of str
        Sentences about a mesh that is older than its dictionary, and about a missing script.
    """

    solver: str
    start: str
    step: float
    steps: int | None
    fields: list[str]
    chaotic: bool
    mesh: list[str]
    cells: int | None
    changes: list[str]
    remarks: list[str]

    @property
    def serial_seconds(self) -> float:
        """Estimated time of a serial run, seconds."""
        return (self.cells or _ESTIMATED_CELLS) * (self.steps or _STEPS) * _CELL_SECONDS

    @property
    def memory_MB(self) -> float:  # noqa: N802
        """Estimated memory of a serial run, MB."""
        return 50 + (self.cells or _ESTIMATED_CELLS) * _CELL_MB


def is_case(path: Path) -> bool:
    """Return whether a folder holds a case, which is recognised by its controlDict."""
    return path.is_dir() and file_of(path, CONTROL) is not None


def results_in(source: Path) -> list[str]:
    """Return the names in the folder of a case that are results of runs, not part of its input."""
    start = _start(source, read(source, CONTROL))
    names = (path.name for path in source.iterdir())
    return [name for name in names if _RESULTS.fullmatch(name) or (_TIME.fullmatch(name) and name != start)]


def look(source: Path, run_scripts: bool) -> FoamCase:
    """Read the settings of a case, and check that it can be run.

    Parameters
    ----------
    source : Path
        Folder of the case.
    run_scripts : bool
        Whether the script Allrun.pre of the case runs.

    Raises
    ------
    InputError
        The case cannot be run: one line with the reason.
    """
    control = read(source, CONTROL)
    where = source / CONTROL
    if not file_of(source, SOLUTION):
        raise InputError(f"{source}: {SOLUTION}: missing")
    if file_of(source, "constant/regionProperties"):
        raise InputError(f"{source}: has several regions (constant/regionProperties); one region is needed")
    solver = _solver(control)
    if solver is None:
        raise InputError(f"{where}: application: missing; it names the solver")
    start, step = _start(source, control), _number(control, "deltaT", where)
    if step <= 0:
        raise InputError(f"{where}: deltaT: {step:g} is too small; must be above 0")
    steps = 0
    if "endTime" in control:
        steps = round((_number(control, "endTime", where) - float(start)) / step)
    script = source / SCRIPT
    commands = text_of(script) if run_scripts and script.is_file() else ""
    mesh = _mesh(source, start, commands)
    fields = _fields(source, start)
    if not fields and not commands:
        raise InputError(f"{source}: no fields in {start} or {start}.orig")
    turbulence = read(source, "constant/turbulenceProperties").get("simulationType", "")
    chaotic = turbulence == "LES"
    changes = [*_changes(source, control), *_preparations(mesh, script.is_file() and not commands)]
    return FoamCase(
        solver=solver,
        start=start,
        step=step,
        steps=steps if steps >= _LEAST_STEPS else None,
        fields=fields,
        chaotic=chaotic,
        mesh=mesh,
        cells=cells_of(source, start),
        changes=changes,
        remarks=[
            *_newer_than_mesh(source, start),
            *([f"there is no {SCRIPT} to run"] if run_scripts and not script.is_file() else []),
        ],
    )


def _solver(control: Entries) -> str | None:
    """Return the words that start the solver of a controlDict; None if it names none.

    From version 11 of the Foundation on, ``solver`` names a module that ``foamRun`` loads.
    """
    program, module = (str(control.get(key, "")).strip('"') for key in ("application", "solver"))
    if module and program in ("", "foamRun"):
        return f"foamRun -solver {module}"
    return program or None


def restore_fields(folder: Path, start: str) -> None:
    """Copy each missing field at the start time from its original.

    The original is a file in the folder ``0.orig``, or a file such as ``0/T.orig``.
    """
    originals = {file.name.removesuffix(".gz"): file for file in (folder / f"{start}.orig").glob("*")}
    originals |= {file.name.partition(".orig")[0]: file for file in (folder / start).glob("*.orig*")}
    for name, file in originals.items():
        target = folder / start / (name + (".gz" if file.suffix == ".gz" else ""))
        if file.is_dir():
            for inner in file.glob("*"):
                _copy_missing(inner, target / inner.name)
        elif file_of(folder, f"{start}/{name}") is None:
            _copy_missing(file, target)


def timed_files(
    files: Mapping[str, bytes], folder: Path, case: Mapping[str, Any], steps: int
) -> dict[str, bytes]:
    """Return the files of a case, with the settings of a timed run appended to its dictionaries.

    If a key occurs several times, OpenFOAM uses the last value; it merges sections. So all other settings
    stay as they are.

    Parameters
    ----------
    files : mapping of str to bytes
        Files of the case by path.
    folder : Path
        Folder of the case.
    case : mapping
        ``start``, ``step``, ``fields`` and ``chaotic``, as in `FoamCase`.
    steps : int
        Number of steps of the timed run.
    """
    start, step = case["start"], case["step"]
    first = f"{float(start) + step:.12g}"
    when = _AT_FIRST if case["chaotic"] else _AT_END
    fields = case["fields"]
    averages = "".join(
        _MAGNITUDE.format(field=field, when=when.format(write="none", first=first)) for field in fields
    )
    on_write = when.format(write="timeStep" if case["chaotic"] else "onEnd", first=first)
    listed = " ".join([*fields, *(f"mag({field})" for field in fields)])
    averages += _AVERAGES.format(name="nodeworth_averages", fields=listed, when=on_write)
    if case["chaotic"] and (conserved := list(filter(_CONSERVED.fullmatch, fields))):
        at_end = _AT_END.format(write="onEnd")
        averages += _AVERAGES.format(name="nodeworth_conserved", fields=" ".join(conserved), when=at_end)
    ending = _ENDING.format(
        start=start,
        end=f"{float(start) + steps * step:.12g}",
        step=f"{step:.12g}",
        interval=10 * steps,
        stops="\n".join(f"{name} {{ enabled no; }}" for name in _stopping(read(folder, CONTROL))),
        averages=averages,
    )
    criteria = "".join(
        f"{section} {{ residualControl {{ {' '.join(f'{key} 0;' for key in keys)} }} }}\n"
        for section, keys in _criteria(read(folder, SOLUTION)).items()
    )
    return appended(appended(files, CONTROL, ending), SOLUTION, f"\n{criteria}")


def appended(files: Mapping[str, bytes], name: str, ending: str) -> dict[str, bytes]:
    """Return the files, with the text `ending` appended to the file `name`. If it was gzipped, unpack it."""
    others = {path: content for path, content in files.items() if path not in (name, f"{name}.gz")}
    content = files[name] if name in files else gzip.decompress(files[f"{name}.gz"])
    return others | {name: content + ending.encode()}


def method_of(folder: Path) -> str | None:
    """Return the method of the user's decomposeParDict; None without one."""
    method = read(folder, DECOMPOSITION).get("method")
    return method.strip('"') if isinstance(method, str) else None


def with_method(folder: Path, method: str, processes: int, parts: Sequence[int] | None) -> str:
    """Return the text of a decomposeParDict for a number of processes.

    The text begins with the user's decomposeParDict, so its other entries stay valid.

    Parameters
    ----------
    parts : sequence of int or None
        Number of parts along x, y and z; only for the methods in `CUTS`.
    """
    given = read(folder, DECOMPOSITION)
    section = next((name for name in (f"{method}Coeffs", "coeffs") if name in given), f"{method}Coeffs")
    cut = f"{section} {{ n ({' '.join(map(str, parts))}); }}\n" if parts else ""
    file = file_of(folder, DECOMPOSITION)
    head = text_of(file) if file else _HEADER
    return f"{head}\nnumberOfSubdomains {processes};\nmethod {method};\n{cut}"


def given_parts(folder: Path, method: str) -> list[int] | None:
    """Return the user's number of parts along x, y and z; None if the case states none."""
    given = read(folder, DECOMPOSITION)
    for name in (f"{method}Coeffs", "coeffs"):
        parts = [int(number) for number in re.findall(r"\d+", given.get(name, {}).get("n", ""))]
        if len(parts) == 3:
            return parts
    return None


def averages(texts: Sequence[str], name: str) -> dict[str, list[float | None]]:
    """Return the volume averages that the OpenFOAM function `name` printed last.

    Parameters
    ----------
    texts : sequence of str
        Lines of the output.

    Returns
    -------
    dict of str to list of (float or None)
        Components of the average of each field. A component that is not a finite number is None.
    """
    heading = f"volFieldValue {name} write:"
    headings = [index for index, text in enumerate(texts) if text.strip() == heading]
    values: dict[str, list[float | None]] = {}
    if not headings:
        return values
    for text in texts[headings[-1] + 1 :]:
        if match := re.search(_PRINTED, text):
            values[match[1]] = [tools.number(word) for word in match[2].strip("() ").split()]
        elif not text.strip():
            break
    return values


def difference(value: Sequence[float | None] | None, serial: Sequence[float | None], scale: float) -> float:
    """Return the largest difference between the components of two averages, relative to `scale`.

    It is infinite if a component is missing or is not a finite number. If `scale` is 0, it is 0 for a
    difference of rounding size, else infinite.
    """
    if value is None or None in value or None in serial or len(value) != len(serial):
        return math.inf
    largest = max(abs(a - b) for a, b in zip(value, serial, strict=True))  # type: ignore[operator]
    if scale:
        return largest / scale
    return 0.0 if largest < _NOTHING else math.inf


def _copy_missing(source: Path, target: Path) -> None:
    if not target.exists():
        target.parent.mkdir(exist_ok=True)
        shutil.copyfile(source, target)


def _start(source: Path, control: Entries) -> str:
    """Return the start time of a case, as the name of the folder with the fields at this time."""
    times = {float(path.name): path.name for path in source.iterdir() if _TIME.fullmatch(path.name)}
    start: str = control.get("startTime", "0")
    match control.get("startFrom", "latestTime"):
        case "firstTime" if times:
            return times[min(times)]
        case "latestTime" if times:
            return times[max(times)]
    return times.get(float(start), start) if _TIME.fullmatch(start) else start


def _number(control: Entries, key: str, where: Path) -> float:
    text = control.get(key, "")
    try:
        return float(text)
    except ValueError:
        jammed = (name for name, value in control.items() if key in str(value).split()[1:])
        if before := next(jammed, None):
            raise InputError(f"{where}: {before}: a semicolon is missing at its end") from None
        if not text:
            raise InputError(f"{where}: {key}: missing") from None
        if " " in text:
            raise InputError(f"{where}: {key}: a semicolon is missing at its end: {text!r}") from None
        raise InputError(f"{where}: {key}: {text!r} is not a number") from None


def _owner_of(source: Path, start: str) -> Path | None:
    """Return the file of the mesh that states its number of cells; None without a mesh."""
    return file_of(source, "constant/polyMesh/owner") or file_of(source, f"{start}/polyMesh/owner")


def cells_of(source: Path, start: str) -> int | None:
    """Return the number of cells of the mesh; None without a mesh."""
    owner = _owner_of(source, start)
    count = re.search(r"nCells: *(\d+)", text_of(owner, 2000)) if owner else None
    return int(count[1]) if count else None


def _newer_than_mesh(source: Path, start: str) -> list[str]:
    """Return a sentence for each dictionary of the mesh that was changed after the mesh was made.

    All files of a copied or cloned folder are equally new, except for the time that the copy took.
    """
    owner = _owner_of(source, start)
    if owner is None:
        return []
    made, mesh = owner.stat().st_mtime, owner.parent.relative_to(source)
    programs = ("blockMesh", "snappyHexMesh")
    files = ((program, file_of(source, f"system/{program}Dict")) for program in programs)
    return [
        f"runs use the mesh in {mesh}, which is older than {file.relative_to(source)} ({program} would make "
        "it again)"
        for program, file in files
        if file and file.stat().st_mtime > made + _COPY_SECONDS
    ]


def _mesh(source: Path, start: str, script: str) -> list[str]:
    """Return the commands that make the mesh and the fields at the start time.

    Parameters
    ----------
    script : str
        Text of the script Allrun.pre, which runs first; empty if it does not run. It may make the mesh.
    """
    commands = [f"sh ./{SCRIPT}"] if script else []
    if _owner_of(source, start):
        return commands
    steps = {
        "surfaceFeatureExtract": "system/surfaceFeatureExtractDict",
        "blockMesh": "system/blockMeshDict",
        "snappyHexMesh -overwrite": "system/snappyHexMeshDict",
        "setFields": "system/setFieldsDict",
    }
    has_blocks = bool(
        file_of(source, steps["blockMesh"]) or file_of(source, "constant/polyMesh/blockMeshDict")
    )
    makes_mesh = "blockMesh" in script or "Mesh" in script
    if not has_blocks and not makes_mesh:
        hint = f" ({SCRIPT} is there; --run-scripts runs it)" if (source / SCRIPT).exists() else ""
        raise InputError(f"{source}: no mesh in constant/polyMesh and no system/blockMeshDict{hint}")
    for command, dictionary in steps.items():
        wanted = has_blocks if command == "blockMesh" else file_of(source, dictionary)
        if wanted and command.split()[0] not in script:
            commands.append(command)
            if not script:  # which may copy surfaces
                _check_surfaces(source, dictionary)
    return commands


def _check_surfaces(source: Path, dictionary: str) -> None:
    """Raise an `InputError` if a dictionary of the mesh names a surface that is missing."""
    for name in _surfaces(source, dictionary):
        places = [f"{folder}/{name}" for folder in _SURFACE_FOLDERS]
        if not any(file_of(source, place.removesuffix(".gz")) for place in (name, *places)):
            may_copy = (source / SCRIPT).exists()
            hint = f" ({SCRIPT} is there and may copy it; --run-scripts runs it)" if may_copy else ""
            folders = " or ".join(_SURFACE_FOLDERS)
            raise InputError(f"{source / dictionary}: {name}: no such file in {folders}{hint}")


def _surfaces(source: Path, dictionary: str) -> list[str]:
    """Return the surfaces of surfaceFeatureExtractDict or snappyHexMeshDict; none if they are uncertain."""
    file = file_of(source, dictionary)
    try:
        entries = read(source, dictionary)
        if file is None or re.search("#(if|remove)", text_of(file)):  # `read` ignores both
            return []
    except InputError:
        return []  # OpenFOAM may find the included file elsewhere
    sections = {key: entry for key, entry in entries.items() if isinstance(entry, dict)}
    names = [
        key for key, entry in sections.items() if "extractionMethod" in entry and "surfaces" not in entry
    ]
    for key, entry in sections.get("geometry", {}).items():
        if isinstance(entry, dict) and entry.get("type") == "triSurfaceMesh":
            names.append(str(entry.get("file", key)).strip('"'))
    return [name for name in names if _SURFACE.fullmatch(name) and not name.startswith("/")]


def _fields(source: Path, start: str) -> list[str]:
    """Return the names of the volume fields at the start time, without fields that follow from others."""
    names = set()
    for file in [*(source / start).glob("*"), *(source / f"{start}.orig").glob("*")]:
        if file.is_file() and re.search(r"class\s+vol\w+Field\s*;", text_of(file, 4000)):
            names.add(file.name.removesuffix(".gz").removesuffix(".orig"))
    return sorted(name for name in names if not _DERIVED.fullmatch(name))


def _stopping(control: Entries) -> list[str]:
    """Return the names of the functions in controlDict that can end a run before its end time."""
    functions = control.get("functions", {})
    types = {name: entry.get("type") for name, entry in functions.items() if isinstance(entry, dict)}
    return [name for name, kind in types.items() if kind in ("runTimeControl", "abort")]


def _criteria(solution: Entries) -> dict[str, list[str]]:
    """Return the fields whose residuals can end a run, by the section of fvSolution that lists them."""
    criteria: dict[str, list[str]] = {}
    for name in ("SIMPLE", "PIMPLE", "PISO"):
        section = solution.get(name)
        control = section.get("residualControl") if isinstance(section, dict) else None
        if isinstance(control, dict):
            # An entry that is a section ends only the loops within a time step.
            fields = [field for field, entry in control.items() if not isinstance(entry, dict)]
            if fields:
                criteria[name] = fields
    return criteria


def _changes(source: Path, control: Entries) -> list[str]:
    """Return a phrase for each setting that a timed run changes."""
    changes = []
    if (adjust := control.get("adjustTimeStep", "no")).lower() in _ON:
        changes.append(f"adjustTimeStep {adjust} is now no, so deltaT stays {control['deltaT']}")
    if control.get("stopAt", "endTime") != "endTime":
        changes.append(f"stopAt {control['stopAt']} is now endTime")
    if control.get("startFrom", "latestTime") != "startTime":
        changes.append(
            f"startFrom {control.get('startFrom', 'latestTime')} is now startTime {_start(source, control)}"
        )
    interval = f"{control.get('writeControl', 'timeStep')} {control.get('writeInterval', '')}".strip()
    changes.append(f"endTime {control.get('endTime', '')} is replaced: each run ends after the stated steps")
    changes.append(f"writeControl {interval} is replaced: no fields are written")
    if control.get("runTimeModifiable", "yes").lower() in _ON:
        changes.append("runTimeModifiable is now no")
    if (digits := control.get("timePrecision", "6")) != "12":
        changes.append(f"timePrecision {digits} is now 12")
    changes.append("functions are added that print averages of the fields")
    changes += [f"function {name} is switched off" for name in _stopping(control)]
    for section, keys in _criteria(read(source, SOLUTION)).items():
        changes.append(f"{section}.residualControl of {', '.join(keys)} is now 0")
    return changes


def _preparations(mesh: list[str], skipped_script: bool) -> list[str]:
    """Return phrases about the commands that prepared the case, and about a script that did not run."""
    phrases = [f"Nodeworth ran {', '.join(mesh)}"] if mesh else []
    return phrases + ([f"{SCRIPT} was not run (--run-scripts runs it)"] if skipped_script else [])
