"""Cases, process counts and traces that the rules of a study read, and files of earlier runs.

The rule files in ``workflows/rules`` write the paths.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from workflows.domain import Point, short_digest
from workflows.paths import StudyPaths, trace_name
from workflows.plan.plan import Plan
from workflows.plan.records import recorded
from workflows.plan.sources import source_digest
from workflows.study.cases import answer_digest
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


def kept_answer(plan: Plan, case: str) -> Path:
    """Return the file that keeps the expected answer of the present version of a case.

    If the user undoes an edit, Nodeworth finds the earlier answer, and makes no second serial run.
    """
    version = (
        plan.asked.case_digests[case],
        answer_digest(plan.asked.cases[case]),
        source_digest("reference"),
    )
    return plan.paths.expected(case).parent / "answers" / f"{short_digest(repr(version).encode())}.json"


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
    """Whether the simulation scales its cores from the measured speed of a core of this machine."""
    return "processor" in plan.asked.study.simulation and bool(plan.design.simulated)


def needs_bandwidth(plan: Plan) -> bool:
    """Whether a case is both measured on one node and traced with the same process count.

    Processes of a node share its memory bandwidth. The simulation needs that bandwidth for such points.
    """
    measured = {
        (point.case, point.processes) for point in plan.design.points if point.nodes == 1 < point.processes
    }
    return any((point.case, point.processes) in measured for point in traced(plan))


def measures_first_block(plan: Plan) -> bool:
    """Whether the study measures its first block before it traces, so that a first report comes early."""
    return bool(plan.design.points) and bool(traces(plan)) and plan.design.blocks > 1


def kept(plan: Plan) -> list[str]:
    """Return the prepared folders and expected answers of recorded points that cannot be run here now.

    The paths are absolute. Snakemake then finds no rule for them, and does not try to make them again: this
    machine may be unable to.
    """
    names = (name.split("/") for name in recorded(plan.paths))
    recorded_cases = {Prepared(case, int(processes.split("-")[1])) for case, _, processes, *_ in names}
    planned = set(prepared(plan.design.points))
    planned_names = cases(plan.design.points)
    paths: set[Path] = set()
    for case, processes in recorded_cases - planned:
        folders = {Prepared(case, processes), Prepared(case, 1)} - planned
        paths |= {plan.paths.prepared(*folder) for folder in folders}
        if case not in planned_names:
            paths.add(plan.paths.expected(case))
    return sorted(str(path.absolute()) for path in paths if path.exists())


def lost_records(listed: Path) -> list[str]:
    """Return the paths in a job's list of records whose files no longer exist; the job runs them again.

    Parameters
    ----------
    listed : Path
        File with the path of one record per line; it need not exist.
    """
    paths = listed.read_text().splitlines() if listed.exists() else []
    return [path for path in paths if not os.path.exists(path)]  # noqa: PTH110 - Path.exists takes three times as long


def requested_records(plan: Plan) -> list[str]:
    """Return the first records of the repetitions that a dry run would run again; else nothing."""
    missing = plan.missing(plan.design.repetitions) if plan.requested else []
    return [str(plan.paths.record(repetition, 1)) for repetition, _ in missing]


def imports(plan: Plan) -> list[str]:
    """Return the existing imported files, and the files of their studies next to them.

    A folder is represented by the file in it that changed last.
    """
    files = (*plan.asked.study.imported_files, *study_files(plan.asked.study.imports))
    existing = (path for path in dict.fromkeys(files) if path.exists())
    return [str(newest(path) if path.is_dir() else path) for path in existing]


def study_files(imports: Iterable[Path]) -> list[Path]:
    """Return the facts and records that may lie next to each imported runs table."""
    folders = (StudyPaths(file.parent) for file in imports)
    return [path for paths in folders for path in (paths.facts, paths.records, paths.simulated)]


def newest(folder: Path) -> Path:
    """Return the visible file or folder that changed last: a folder also changes if it loses a file."""
    paths = (path for path in folder.rglob("*") if not path.name.startswith("."))
    return max((folder, *paths), key=lambda path: (_changed(path), path))


def _changed(path: Path) -> int:
    """Return the time of the last change, in ns since 1970; 0 for a path that no longer exists."""
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return 0
