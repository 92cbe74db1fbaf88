"""Cases, process counts and traces that the rules of a study read, and files of earlier runs.

The rule files in ``workflows/rules`` write the paths.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from workflows.domain import Point
from workflows.paths import StudyPaths, trace_name
from workflows.plan.plan import Plan
from workflows.plan.records import recorded
from workflows.traffic.cases import has_array, needs_trace


class Prepared(NamedTuple):
    """A case that is prepared for a process count."""

    case: str
    processes: int


class Traced(NamedTuple):
    """A case that is traced on a process count, with the threads of each process."""

    case: str
    processes: int
    threads: int

    @property
    def folder(self) -> str:
        """Folder of the trace within the folder of its case."""
        return trace_name(self.processes, self.threads)


def prepared(points: Iterable[Point]) -> list[Prepared]:
    """Return each case and process count that the points need."""
    return sorted({Prepared(point.case, point.processes) for point in points})


def cases(points: Iterable[Point]) -> list[str]:
    """Return the name of each case of the points."""
    return sorted({point.case for point in points})


def traced(plan: Plan) -> list[Point]:
    """Return the simulated points that are replayed from traces."""
    return [point for point in plan.design.simulated if needs_trace(plan.asked.cases[point.case])]


def traces(plan: Plan) -> list[Traced]:
    """Return each trace that is replayed."""
    return sorted({Traced(point.case, point.processes, point.threads) for point in traced(plan)})


def cases_with_arrays(plan: Plan) -> list[str]:
    """Return each simulated case with a distributed array, whose tasks are timed in serial runs."""
    return [case for case in cases(plan.design.simulated) if has_array(plan.asked.cases[case])]


def needs_processor(plan: Plan) -> bool:
    """Whether simulated cores are derived from the speed of a core of this machine."""
    return "processor" in plan.asked.study.simulation and bool(plan.design.simulated)


def needs_bandwidth(plan: Plan) -> bool:
    """Whether processes of one node are both measured and traced, so that the memory they share matters."""
    measured = {
        (point.case, point.processes) for point in plan.design.points if point.nodes == 1 < point.processes
    }
    return any((point.case, point.processes) in measured for point in traced(plan))


def measures_first_block(plan: Plan) -> bool:
    """Whether the first block is measured before anything is traced, so that there is a report soon."""
    return bool(plan.design.points) and bool(traces(plan)) and plan.design.blocks > 1


def kept(plan: Plan) -> list[str]:
    """Return what was prepared for records of points that cannot be run here now.

    The paths are absolute, so that Snakemake asks no rule to make what may be impossible to make here.
    """
    names = (name.split("/") for name in recorded(plan.paths))
    made = {Prepared(case, int(processes.split("-")[1])) for case, _, processes, *_ in names}
    here, cases_here = set(prepared(plan.design.points)), cases(plan.design.points)
    paths: set[Path] = set()
    for case, processes in made - here:
        folders = {Prepared(case, processes), Prepared(case, 1)} - here
        paths |= {plan.paths.prepared(*folder) for folder in folders}
        if case not in cases_here:
            paths.add(plan.paths.expected(case))
    return sorted(str(path.absolute()) for path in paths if path.exists())


def lost_records(listed: Path) -> list[str]:
    """Return the records that a list names and that are gone; they are made again."""
    made = listed.read_text().splitlines() if listed.exists() else []
    return [path for path in made if not os.path.exists(path)]  # noqa: PTH110 - a Path takes three times as long


def imports(plan: Plan) -> list[str]:
    """Return the existing imported results, with the files that their studies keep next to them.

    The last changed file of a folder stands for the folder.
    """
    files = plan.asked.study.imported_files
    existing = (path for path in dict.fromkeys((*files, *beside(plan.asked.study.imports))) if path.exists())
    return [str(newest(path) if path.is_dir() else path) for path in existing]


def beside(imports: Iterable[Path]) -> list[Path]:
    """Return the files next to an imported runs table that belong to its study."""
    folders = (StudyPaths(file.parent) for file in imports)
    return [path for paths in folders for path in (paths.facts, paths.records, paths.simulated)]


def newest(folder: Path) -> Path:
    """Return the visible file of a folder that changed last, or a folder that lost a file later."""
    paths = (path for path in folder.rglob("*") if not path.name.startswith("."))
    return max((folder, *paths), key=lambda path: (_changed(path), path))


def _changed(path: Path) -> int:
    """Time of the last change, in ns since 1970; 0 for a path that is gone by now."""
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return 0
