"""Files that the rules of a study read, as Snakemake takes them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from workflows.domain import Point
from workflows.paths import StudyPaths
from workflows.plan.plan import Plan
from workflows.plan.records import recorded
from workflows.traffic.cases import has_array, needs_trace


def prepared(paths: StudyPaths, points: Iterable[Point]) -> list[str]:
    """Folders that are prepared for some points: one for each case and process count."""
    return _each(paths.prepared(point.case, point.processes) for point in points)


def expected(paths: StudyPaths, points: Iterable[Point]) -> list[str]:
    """Files with the answer that the runs of a case must give, one for each case."""
    return _each(paths.expected(point.case) for point in points)


def requests(paths: StudyPaths) -> list[str]:
    """File with the requests to run something again, if there are any."""
    return [str(paths.requests)] if paths.requests.exists() else []


def first_block(plan: Plan) -> list[str]:
    """List of what is measured before anything is traced: nothing where nothing is, or one block is all."""
    worth_it = plan.design.points and traces(plan) and plan.design.blocks > 1
    return [str(plan.paths.first_block)] if worth_it else []


def kept(plan: Plan) -> list[str]:
    """What was prepared for records of points that cannot be run here now.

    The paths are absolute: no rule is asked to make anew what may be impossible to make here.
    """
    paths, points = plan.paths, plan.design.points
    names = (name.split("/") for name in recorded(paths))
    made = {(case, int(processes.split("-")[1])) for case, _, processes, *_ in names}
    needed: set[Path] = set()
    for case, processes in made - {(point.case, point.processes) for point in points}:
        needed |= {paths.prepared(case, processes), paths.prepared(case, 1), paths.expected(case)}
    declared = {*prepared(paths, points), *expected(paths, points)}
    return _each(path.absolute() for path in needed if str(path) not in declared and path.exists())


def traces(plan: Plan) -> list[str]:
    """Traces that are replayed: one for each case, process count and threads; some cases need none."""
    return _each(plan.paths.trace(point.case, point.processes, point.threads) for point in traced(plan))


def traced(plan: Plan) -> list[Point]:
    """Simulated points that are replayed from traces."""
    return [point for point in plan.design.simulated if needs_trace(plan.asked.cases[point.case])]


def times(plan: Plan) -> list[str]:
    """Serial times that simulations need: one file for each case with a distributed array."""
    names = {point.case for point in plan.design.simulated if has_array(plan.asked.cases[point.case])}
    return _each(map(plan.paths.times, names))


def processor(plan: Plan) -> list[str]:
    """What is known of the core that traces, where simulated cores are told beside it."""
    derived = "processor" in plan.asked.study.simulation and plan.design.simulated
    return [str(plan.paths.processor)] if derived else []


def bandwidth(plan: Plan) -> list[str]:
    """What is known of the memory that cores share, where ranks of one node are both run and traced."""
    runs = {(one.case, one.processes) for one in plan.design.points if one.nodes == 1 < one.processes}
    both = any((one.case, one.processes) in runs for one in traced(plan))
    return [str(plan.paths.bandwidth)] if both else []


def replayed(plan: Plan) -> list[str]:
    """Folder of what was replayed, if anything is."""
    return [str(plan.paths.simulated)] if plan.design.simulated else []


def lost_records(listed: Path) -> list[str]:
    """Records that a list of what was made names and that are gone; they are made again."""
    made = listed.read_text().splitlines() if listed.exists() else []
    return [path for path in made if not os.path.exists(path)]  # noqa: PTH110 - a Path takes three times as long


def imports(plan: Plan) -> list[str]:
    """Imported results, and what studies of ours have beside them: facts, and records.

    Of a folder, what changed in it last stands for all.
    """
    files = plan.asked.study.imports
    there = (path for path in dict.fromkeys((*files, *beside(files))) if path.exists())
    return [str(newest(path) if path.is_dir() else path) for path in there]


def beside(imports: Iterable[Path]) -> list[Path]:
    """What a study of ours has beside its runs table that counts where the table is imported."""
    of_each = (StudyPaths(file.parent) for file in imports)
    return [path for paths in of_each for path in (paths.facts, paths.records, paths.simulated)]


def newest(folder: Path) -> Path:
    """What changed last in a folder: a file, or a folder from which something is gone; hidden ones apart."""
    seen = (path for path in folder.rglob("*") if not path.name.startswith("."))
    return max((folder, *seen), key=lambda path: (_changed(path), path))


def _changed(path: Path) -> int:
    """When a path was changed, in ns since 1970; 0 for what is gone by now."""
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def _each(paths: Iterable[Path]) -> list[str]:
    return sorted(set(map(str, paths)))
