"""A study made ready to run: the request, what is possible here, the design, and the folders of results."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from workflows.domain import Case, InputError, Point, Repetition
from workflows.jobs.cluster import check_cluster, on_cluster, read_cluster, site_file
from workflows.launch.cluster_launch import check_launcher
from workflows.paths import RESULTS, StudyPaths
from workflows.plan.design import Design, design, stated_blocks
from workflows.plan.here import Here, look
from workflows.plan.records import (
    Rerun,
    attempts,
    is_missing,
    read_all,
    read_requests,
    record_files,
    recorded_block,
    with_withdrawals,
)
from workflows.study.asked import Asked, read_asked
from workflows.study.cases import digest, was_edited
from workflows.study.study import Study


@dataclass(frozen=True)
class Plan:
    """A study that is about to run: its design, and the folders of its results.

    Attributes
    ----------
    design : Design
    paths : StudyPaths
    requested : tuple of Rerun
        Requests to run something again that are not recorded yet; those of a dry run never are.
    """

    design: Design
    paths: StudyPaths
    requested: tuple[Rerun, ...] = ()

    @property
    def asked(self) -> Asked:
        """The study with its cases and interconnects."""
        return self.design.asked

    @property
    def here(self) -> Here:
        """Reasons why parts of the study cannot be run here."""
        return self.design.here

    @property
    def requests(self) -> list[Rerun]:
        """All requests to run something again, in their order."""
        return with_withdrawals([*read_requests(self.paths), *self.requested])

    def missing(
        self, repetitions: Sequence[Repetition], with_requests: bool = True
    ) -> list[tuple[Repetition, int]]:
        """Return the repetitions that still need a run, each with the number of its next attempt.

        Without requests, repetitions that only a request runs again are not missing.
        """
        requests, missing = self.requests if with_requests else [], []
        for repetition in repetitions:
            records = attempts(self.paths, repetition)
            if is_missing(repetition, records, self.design.inputs(repetition.point), requests):
                missing.append((repetition, len(records) + 1))
        return missing

    @property
    def repeats_left(self) -> int:
        """Number of runs that only requests to run something again still need."""
        repetitions = self.design.repetitions
        return len(self.missing(repetitions)) - len(self.missing(repetitions, with_requests=False))


def make_plan(
    file: Path,
    overrides: Mapping[str, Any] | None = None,
    has_program: Callable[[str], object] = shutil.which,
    is_dry_run: bool = False,
) -> Plan:
    """Read a study, find out what is possible here, and choose its runs.

    For the other arguments see `read_asked`. `has_program` returns whether a program of a name exists.

    Raises
    ------
    InputError
        One line for a study that is wrong, or that cannot be run here at all.
    """
    asked = read_asked(file, overrides, is_dry_run)
    study, cluster = asked.study, None
    if study.cluster:
        cluster = read_cluster(site_file(study.cluster, study.file))
        check_cluster(cluster, asked.interconnects)
        check_launcher(cluster)
        interconnects = {
            name: on_cluster(interconnect, cluster) for name, interconnect in asked.interconnects.items()
        }
        asked = replace(asked, interconnects=interconnects)
    paths = StudyPaths(RESULTS / study.name)
    asked = timed_by_trials(asked, paths)
    here = look(asked, cluster, has_program)
    chosen = design(asked, here, blocks_until_now(study, paths))
    chosen = replace(chosen, recorded_seconds=_seconds_of_points(chosen, paths))
    is_parallel = max(study.processes, default=1) > 1
    points = [point for point in chosen.points if point.interconnect or not is_parallel]
    is_empty = not (points or chosen.simulated or study.imported_files)
    if is_empty and not paths.records.exists():
        reasons = "; ".join(f"{left_out.what}: {left_out.reason}" for left_out in chosen.left_out)
        option = "--case" if study.existing else "--command"
        where = option if study.is_generated else study.file
        what = "none of the parallel runs" if chosen.points else "nothing"
        raise InputError(f"{where}: {what} of this study can be run here: {reasons}")
    return Plan(chosen, paths)


def _seconds_of_points(chosen: Design, paths: StudyPaths) -> dict[Point, float]:
    """Return the median wall time of the valid runs of each point of users' inputs and commands."""
    study, seconds = chosen.asked.study, dict[Point, list[float]]()
    of_users = {*study.existing, *study.inline}
    for repetition in chosen.repetitions if of_users and paths.records.exists() else ():
        point = repetition.point
        for record in attempts(paths, repetition) if point.case in of_users else ():
            wall_seconds = record.times.wall_seconds
            if record.valid and wall_seconds and record.inputs == chosen.inputs(point):
                seconds.setdefault(point, []).append(wall_seconds)
    return {point: median(times) for point, times in seconds.items()}


def timed_by_trials(asked: Asked, paths: StudyPaths) -> Asked:
    """Return the study with estimated serial times for cases that state no time.

    The estimate of a case is the time of its trial run, in seconds, multiplied by the processes of that run.
    Cases without a trial run so far stay in `Asked.untimed`, as do cases that were edited after their trial
    run: an edit may make a case much shorter, so the earlier time must not lead to a refusal. On a cluster,
    the estimate of a user's input is its valid run on the fewest processes; without such a run, the case
    stays in `Asked.never_run`.
    """
    times = {
        name: json.loads(file.read_text())["trial_seconds"] * asked.cases[name].trial_processes
        for name in asked.untimed
        if (file := paths.expected(name)).exists()
        and not was_edited(paths.prepared(name, 1), digest(asked.cases[name]))
    }
    times |= _recorded_times(asked, paths)

    def timed(cases: Mapping[str, Case]) -> dict[str, Case]:
        return {
            name: replace(case, serial_seconds=times[name]) if name in times else case
            for name, case in cases.items()
        }

    return replace(
        asked,
        measured=timed(asked.measured),
        replayed=timed(asked.replayed),
        untimed=asked.untimed - set(times),
        never_run=asked.never_run - set(times),
    )


def _recorded_times(asked: Asked, paths: StudyPaths) -> dict[str, float]:
    """Return the recorded serial time, or its estimate, of each case in `Asked.never_run` that has run."""
    digests = {name: digest(asked.cases[name]) for name in asked.never_run}
    runs: dict[str, list[tuple[int, float]]] = {}
    for _, record in read_all(paths) if digests else ():
        is_current = record.inputs.get("case") == digests.get(record.case)
        if record.valid and record.seconds is not None and is_current:
            runs.setdefault(record.case, []).append((record.processes, record.seconds))
    return {name: math.prod(min(recorded)) for name, recorded in runs.items()}


def blocks_until_now(study: Study, paths: StudyPaths) -> int:
    """Return the number of blocks, including added blocks: at least the highest recorded block."""
    if study.until is None:
        return stated_blocks(study)
    numbers = (recorded_block(path) for path in record_files(paths))
    return max(stated_blocks(study), min(max(numbers, default=0), study.until.max_blocks))
