"""What a study is about to do, said and checked before anything runs."""

from __future__ import annotations

import sys

from analysis.runs.facts import Counts
from workflows.domain import InputError
from workflows.paths import FACTS
from workflows.plan.design import Cost, duration, expected_simulation
from workflows.plan.plan import Plan
from workflows.plan.records import record_path
from workflows.study.sites import read_facts
from workflows.traffic.cases import is_pattern, needs_trace


def check_cost(plan: Plan) -> None:
    """Refuse a study that is expected to take more than it allows itself.

    Raises
    ------
    InputError
    """
    allowed = plan.study.limits.core_hours
    if plan.cost.core_hours > allowed:
        raise InputError(
            f"{plan.study.file}: limits.core_hours: {allowed:g} is too little: {plan.cost.runs} runs will "
            f"take about {plan.cost.core_hours:.2g} core hours; raise it, or ask for less"
        )


def announce(plan: Plan) -> None:
    """Say what is about to come, once that is found possible: its cost, and the files that it imports.

    Raises
    ------
    InputError
        See `check_cost` and `workflows.study.imports.check_imports`.
    """
    check_cost(plan)
    if plan.study.imports:
        from workflows.study.imports import (
            check_imports,  # here: it takes seconds that other studies can spare
        )

        check_imports(plan.study, {one.kind for one in plan.interconnects.values()})
    print(announcement(plan), file=sys.stderr)


def announcement(plan: Plan) -> str:
    """What is about to come, one line, and one for everything that is left out."""
    cost, study = plan.cost, plan.study
    if not study.cases:
        return f"{study.name}: nothing is run; imported files: {len(study.imports)}"
    recorded = sum(record_path(plan.results, one, 1).exists() for one in plan.repetitions)
    least = f"{study.blocks} blocks, {cost.runs} runs, {_told(cost)}"
    if study.until:
        most = plan.highest_cost
        least = f"at least {least}, at most {study.until.max_blocks} blocks, {most.runs} runs, {_told(most)}"
    lines = [
        f"{study.name}: {len(plan.points)} points, {least} in all; {recorded} recorded in {plan.results}"
    ]
    if plan.simulated:
        traced = [point for point in plan.simulated if needs_trace(plan.cases[point.case])]
        carried = sum(is_pattern(plan.cases[point.case]) for point in plan.simulated)
        servers = len(plan.simulated) - len(traced) - carried
        if traced:
            told = f"simulated: {len(traced)} points, replayed from {len(plan.traces())} traces"
            lines.append(f"{told}, {duration(expected_simulation(traced))} more")
        if carried:
            lines.append(f"simulated: {carried} points of patterns of traffic, by their schedules")
        if servers:
            lines.append(f"simulated: {servers} points of tasks on a distributed array, by serial times")
    if plan.own_cases:
        lines.append(
            f"sizes at scale {study.scale:g}: {', '.join(_told_size(plan, series) for series in study.cases)}"
        )
    used = {point.interconnect for point in plan.points}
    if emulated := [name for name, one in plan.interconnects.items() if one.emulate and name in used]:
        lines.append(f"as root, for the time of the runs: network namespaces for {', '.join(emulated)}")
    return "\n".join([*lines, *(f"left out: {one.what}: {one.reason}" for one in plan.left_out)])


def tell_done(plan: Plan) -> None:
    """Say where the results of a study are, and which runs do not count.

    Raises
    ------
    SystemExit
        An interconnect has lost all its runs: the study cannot compare what it was made to compare.
    """
    runs = read_facts(plan.results / FACTS).runs
    told = _told_invalid(runs)
    if runs.lost:
        of = ", ".join(runs.lost)
        sys.exit(
            f"nodeworth: no run over {of} is valid{told}; report and proposal of the others in {plan.results}"
        )
    print(f"done: report and proposal in {plan.results}{told}", file=sys.stderr)


def _told_invalid(runs: Counts) -> str:
    if not runs.invalid:
        return ""
    verb = "is" if runs.invalid == 1 else "are"
    some = "" if runs.reason_runs == runs.invalid else f", {runs.reason_runs} of them"
    why = f"{some}: {runs.reason}" if runs.reason_runs else ""
    return f"; {runs.invalid} of {runs.recorded} runs {verb} invalid{why}"


def _told(cost: Cost) -> str:
    return f"{duration(cost.seconds)} and {cost.core_hours:.2g} core hours"


def _told_size(plan: Plan, series: str) -> str:
    return f"{plan.study.case_at(series, plan.study.processes[0])} of {plan.own_cases[series].size}"
