"""Expected times of single runs: beyond the study's ``limits.run_seconds``, or too short to be compared."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass

from analysis.runs.settings import SHORT_SECONDS_OF_USERS
from workflows.applications import application
from workflows.domain import InputError, Point, Repetition, counted
from workflows.plan import files
from workflows.plan.design import duration, expected_seconds
from workflows.plan.plan import Plan
from workflows.plan.record import Record
from workflows.plan.records import attempts
from workflows.study.existing import trial_of

REFUSED_FACTOR = 2.0
"""Ratio of the expected time to the limit from which a study is refused. Runs of several processes reach it
even at perfect speedup: see `workflows.plan.design.PARALLEL_LOSS`."""


@dataclass(frozen=True)
class LongRuns:
    """Runs of a case that are expected to exceed the limit.

    Attributes
    ----------
    what : str
        The runs in words.
    seconds : float
        Expected time of the longest of the runs.
    is_guess : bool
        Whether the expected time is a guess.
    remedy : str
        What the user can do if the limit is to stay.
    """

    what: str
    seconds: float
    is_guess: bool
    remedy: str


def long_runs(plan: Plan) -> list[LongRuns]:
    """Return the runs that are expected to exceed the limit, in one entry per case.

    Points with a recorded run are left out: their recorded times are better than the expectation. A case
    without such points has an entry if the serial run that gives its expected answer is too long.
    """
    asked, limit = plan.asked, plan.asked.study.limits.run_seconds
    too_long: dict[str, list[Point]] = {}
    for point in plan.design.points:
        if expected_seconds(point, asked.cases[point.case]) > limit and not _is_recorded(plan, point):
            too_long.setdefault(point.case, []).append(point)
    entries = []
    for name in files.cases(plan.design.points):
        case, is_guess = asked.cases[name], name in asked.untimed | asked.never_run
        is_answer_too_long = (
            case.serial_seconds > limit and case.needs_serial_run and not plan.paths.expected(name).exists()
        )
        if points := too_long.get(name):
            counts = sorted({point.processes for point in points})
            noun = "process" if counts == [1] else "processes"
            what = f"the longest run of {name} ({', '.join(map(str, counts))} {noun})"
            longest = max(expected_seconds(point, case) for point in points)
            remedy = "leave out the count" if len(counts) == 1 else "leave out the counts"
            remedy = "make the case smaller" if is_answer_too_long else remedy
            entries.append(LongRuns(what, longest, is_guess, remedy))
        elif is_answer_too_long:
            what = f"the serial run of {name} that gives the expected answer"
            entries.append(LongRuns(what, case.serial_seconds, is_guess, "make the case smaller"))
    return entries


def _is_recorded(plan: Plan, point: Point) -> bool:
    """Whether a run of a point with its present inputs is recorded."""
    return any(
        _records(plan, repetition) for repetition in plan.design.repetitions if repetition.point == point
    )


def _records(plan: Plan, repetition: Repetition) -> list[Record]:
    """Return the records of a repetition with its present inputs."""
    inputs = plan.design.inputs(repetition.point)
    return [record for record in attempts(plan.paths, repetition) if record.inputs == inputs]


def run_time_lines(plan: Plan) -> list[str]:
    """Return a line for each case with runs that are expected to exceed the limit."""
    limit = plan.asked.study.limits.run_seconds
    return [
        f"{runs.what} takes {duration(runs.seconds)}{' (a guess)' if runs.is_guess else ''}, above "
        f"limits.run_seconds {limit:g}: Nodeworth stops such runs; raise the limit or {runs.remedy}"
        for runs in long_runs(plan)
    ]


def check_run_times(plan: Plan) -> None:
    """Raise an `InputError` if runs are expected to take at least `REFUSED_FACTOR` times the limit.

    A guessed time is no reason to refuse a study.
    """
    study = plan.asked.study
    limit = study.limits.run_seconds
    for runs in long_runs(plan):
        if runs.seconds >= REFUSED_FACTOR * limit and not runs.is_guess:
            raise InputError(
                f"{study.file}: limits.run_seconds: {limit:g} is too little: {runs.what} takes "
                f"{duration(runs.seconds)}; raise the limit, or {runs.remedy}"
            )


def check_time_lines(plan: Plan) -> list[str]:
    """Return a line with the time of the checks before the first run, and with their cases.

    The runs of a check solve the whole case: serially, and once for each variant, on one core. On a cluster,
    jobs make the checks, and the forecast counts them.
    """
    if plan.here.cluster:
        return []
    seconds = {}
    for name in files.cases(plan.design.points):
        case = plan.asked.cases[name]
        if case.needs_serial_run and not files.kept_answer(plan, name).exists():
            seconds[name] = (1 + len(application(case.application).variants(case))) * case.serial_seconds
    if not seconds:
        return []
    total = duration(sum(seconds.values()))
    return [f"checks before the first run take {total} in addition: {', '.join(seconds)}"]


SHORT_SECONDS = 0.5
"""Time of the timed part of a ready case, in seconds, below which the plan suggests more steps."""
ENOUGH_SECONDS = 10
"""Time of the timed part, in seconds, for which the plan suggests a number of steps."""


def short_run_lines(plan: Plan) -> list[str]:
    """Return a line for each case whose timed part is known to be too short: by records or a trial run.

    Smoke sizes are meant to be short, and benchmarks (application mpi4py) time many repeated messages.
    """
    lines = []
    for name in files.cases(plan.design.points):
        case = plan.asked.cases[name]
        if case.size == "smoke" or case.application == "mpi4py":
            continue
        is_of_user = name in plan.asked.study.existing or case.application == "command"
        limit = SHORT_SECONDS_OF_USERS if is_of_user else SHORT_SECONDS
        recorded = _recorded_seconds(plan, name)
        point = (min if is_of_user else max)(recorded, key=recorded.__getitem__) if recorded else None
        seconds = recorded[point] if point else _trial_seconds(plan, name)
        if seconds is None or seconds >= limit:
            continue
        more = "a larger input" if is_of_user else "a larger size"
        most = max(point.processes for point in plan.design.points if point.case == name)
        steps, _ = trial_of(case) if name in plan.asked.study.existing else (None, None)
        if steps:
            cores = max(point.cores for point in plan.design.points if point.case == name)
            at_once = 1 if recorded else min(most, cores)
            needed = _rounded_up(steps * ENOUGH_SECONDS / seconds * at_once)
            more = f"about {needed} steps (--steps {needed}, or steps in the study) or {more}"
        where = f" on {counted(point.processes, 'process')}" if point else " serially"
        at_most = f" on {counted(most, 'process')}" if is_of_user and not point else ""
        lines.append(
            f"short runs: the timed part of {name} takes about {seconds:.2g} s{where}, so noise matters: "
            f"use {more}, so that it takes at least {ENOUGH_SECONDS} s{at_most}"
        )
    return lines


def _recorded_seconds(plan: Plan, name: str) -> dict[Point, float]:
    """Return the median time of the valid runs of each point of a case that has valid runs."""
    times: dict[Point, list[float]] = {}
    for repetition in plan.design.repetitions:
        if repetition.point.case == name:
            times.setdefault(repetition.point, []).extend(
                record.seconds
                for record in _records(plan, repetition)
                if record.valid and record.seconds is not None
            )
    return {point: statistics.median(of_point) for point, of_point in times.items() if of_point}


def _trial_seconds(plan: Plan, name: str) -> float | None:
    """Return the time of the trial run of a user's input; None without a trial run."""
    if name not in plan.asked.study.existing or name in plan.asked.never_run:
        return None
    case = plan.asked.cases[name]
    _, seconds = trial_of(case)
    return case.serial_seconds if seconds is None else seconds


def _rounded_up(number: float) -> int:
    """Round up to two significant digits."""
    unit = 10 ** max(math.floor(math.log10(number)) - 1, 0)
    return math.ceil(number / unit) * unit
