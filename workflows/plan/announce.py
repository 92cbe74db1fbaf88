"""The announcement of a study before it runs, and the lines that end it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

from analysis.runs.facts import Counts, outdated_runs
from workflows.applications import application
from workflows.domain import WITHDRAW, InputError, Point, Repetition, counted
from workflows.launch.cpu_quota import cpu_quota
from workflows.launch.emulation import usable_cores
from workflows.paths import ROOT, StudyPaths, shown
from workflows.plan import files
from workflows.plan.cost_table import cost_table
from workflows.plan.design import (
    OVERHEAD_SECONDS,
    PARALLEL_LOSS,
    Cost,
    describe,
    duration,
    expected_simulation,
    in_hours,
    stated_blocks,
)
from workflows.plan.forecast import forecast, forecast_lines
from workflows.plan.jobs import batches, in_jobs
from workflows.plan.plan import Plan
from workflows.plan.record import Record
from workflows.plan.records import attempts, read_record, record_files, recorded_block
from workflows.plan.run_times import check_run_times, check_time_lines, run_time_lines, short_run_lines
from workflows.study.default_blocks import decisive_blocks
from workflows.study.interconnects import KIND_TITLES, in_kinds
from workflows.study.sites import read_facts
from workflows.traffic.cases import is_pattern


def check_cost(plan: Plan) -> None:
    """Raise an `InputError` if the expected core hours exceed the study's ``limits.core_hours``."""
    study, cost = plan.asked.study, plan.design.cost
    allowed = study.limits.core_hours
    if cost.core_hours > allowed:
        raise InputError(
            f"{study.file}: limits.core_hours: {allowed:g} is too little: {cost.runs} runs will "
            f"take about {in_hours(cost.core_hours)} {plan.design.core_hours_unit}; raise it, or ask for less"
        )


def announce(plan: Plan, is_dry_run: bool = False) -> None:
    """Print the cost and the jobs of a study after checking the files that it imports; then check its limits.

    A dry run and a study above its core hours show the core hours of each case and process count.

    Raises
    ------
    InputError
        See `check_cost`, `workflows.plan.run_times.check_run_times` and
        `workflows.study.imports.check_imports`.
    """
    cluster = plan.here.cluster
    cluster_lines: list[str] = []
    if cluster and in_jobs(plan) and not plan.requested:
        cluster_lines = forecast_lines(forecast(plan), cluster, plan.design.cost.core_hours)
    if cluster and cluster.is_elsewhere:
        cluster_lines.append(
            f"planned without {cluster.scheduler.name}, by {cluster.file} alone: "
            "programs and modules are taken to be there"
        )
    if plan.asked.study.imported_files:
        from workflows.study.imports import check_imports  # takes seconds that other studies can spare

        kinds = {interconnect.kind for interconnect in plan.asked.interconnects.values()}
        check_imports(plan.asked.study, kinds)
    is_too_much = plan.design.cost.core_hours > plan.asked.study.limits.core_hours
    table = cost_table(plan) if is_too_much or (is_dry_run and not plan.requested) else []
    print("\n".join([announcement(plan), *cluster_lines, *table]), file=sys.stderr)
    check_cost(plan)
    check_run_times(plan)


def announcement(plan: Plan) -> str:
    """Return the lines that announce a study: its runs, its simulated points, and what is left out."""
    asked, design, study = plan.asked, plan.design, plan.asked.study
    cost = design.cost
    if not study.cases:
        return f"{study.name}: nothing is run; imported files: {len(study.imported_files)}"
    missing = [repetition for repetition, _ in plan.missing(design.repetitions)]
    if any(request.what != WITHDRAW for request in plan.requested):
        runs_again = [*_runs_again(plan, missing), *_earlier_versions(plan, missing)]
        return "\n".join([*runs_again, *_longest_wait(plan, len(missing))])
    amount = f"{counted(stated_blocks(study), 'block')}, {counted(cost.runs, 'run')}, {_shown(plan, cost)}"
    if study.until:
        most = design.highest_cost
        most_blocks = f"{counted(study.until.max_blocks, 'block')}, {most.runs} runs, {_shown(plan, most)}"
        amount = f"at least {amount}, at most {most_blocks}"
    unrecorded = len(plan.missing(design.repetitions, with_requests=False))
    progress = f"{len(design.repetitions) - unrecorded} recorded in {shown(plan.paths.results)}"
    if design.repetitions and not missing and not study.until:
        progress += ", nothing to measure"
    elif missing and unrecorded < len(design.repetitions):
        remaining = design.cost_of([repetition.point for repetition in missing], 1)
        progress += f", {remaining.runs} left: {_shown(plan, remaining)}"
    if further := _further_runs(plan):
        verb = "counts" if further == 1 else "count"
        progress += f"; {counted(further, 'repeated or added run')} {verb} too"
    first = f"{counted(len(design.points), 'point')}, {amount} in all; {progress}"
    if design.simulated and not design.points:
        first = "no runs, only simulated points"
    lines = [f"{study.name}: {first}"]
    if left := len(missing) - unrecorded:
        names = ", ".join(_open_requests(plan, missing))
        lines.append(
            f"again {names}: {counted(left, 'run')} left of earlier requests (--again none withdraws them)"
        )
    lines += _earlier_versions(plan, missing)
    lines += _further_look(plan, missing)
    lines += _longest_wait(plan, len(missing))
    if asked.untimed:
        lines.append(f"guessed times: {', '.join(sorted(asked.untimed))}; a trial run comes first")
    if asked.never_run:
        guesses = [
            f"{name} {duration(asked.cases[name].serial_seconds)} and {asked.cases[name].memory_MB:.0f} MB"
            for name in sorted(asked.never_run)
        ]
        lines += [
            f"rough guess of time and memory of a serial run, since no run was timed: {', '.join(guesses)}",
            "to measure both, type on a machine without a queue: ./run-study --case PATH --steps N "
            "--dry-run; then state both in the study as serial_seconds and memory_MB of the case",
        ]
    stated = [
        f"{given.name} {duration(seconds)} serially"
        for given in study.existing.values()
        if (seconds := given.serial_seconds) is not None
    ]
    if plan.here.cluster and stated:
        lines.append(f"time stated in the study: {', '.join(stated)}")
    if plan.here.cluster and any(point.computing > 1 for point in design.points):
        lines.append(
            f"assumed for every interconnect: a parallel run takes {PARALLEL_LOSS:g} times as long as at "
            f"ideal speedup, plus {OVERHEAD_SECONDS:g} s to start"
        )
    lines += run_time_lines(plan)
    lines += check_time_lines(plan) if missing else []
    lines += short_run_lines(plan)
    lines += _simulation_lines(plan)
    if asked.default_cases:
        cases, fewest = asked.default_cases, study.processes[0]
        sizes = ", ".join(f"{study.case_at(case, fewest)} of {cases[case].size}" for case in study.cases)
        lines.append(f"sizes at scale {study.scale:g}: {sizes}")
    lines += _interconnect_lines(plan)
    lines += _one_node(plan)
    lines += _separate_kinds(plan)
    lines += _few_blocks(plan) if missing else []
    if study.is_generated:
        shared = dict.fromkeys(
            (point.in_words, point.cores) for point in design.points if point.oversubscription > 1
        )
        lines += [f"oversubscribed: {count} share {counted(cores, 'core')}" for count, cores in shared]
    lines += _quota(plan)
    lines += _few_cells(plan)
    lines += [f"left out: {part.what}: {part.reason}" for part in design.left_out]
    return "\n".join(lines)


def _separate_kinds(plan: Plan) -> list[str]:
    """Return a line for each two kinds of interconnects that the study does not compare."""
    points = (*plan.design.points, *plan.design.simulated)
    used = {plan.asked.interconnects[point.interconnect].kind for point in points if point.interconnect}
    compared = [{*kinds_compared} for kinds_compared in plan.asked.study.compare_kinds]
    return [
        f"not compared: {first} with {second} interconnects; "
        f"compare_kinds: [[{first}, {second}]] in the study compares them"
        for first, second in combinations([kind for kind in KIND_TITLES if kind in used], 2)
        if {first, second} not in compared
    ]


def _open_requests(plan: Plan, missing: Sequence[Repetition]) -> list[str]:
    """Return what the requests ask for that some missing repetitions belong to."""
    names = dict[str, None]()
    for repetition in missing:
        records, inputs = attempts(plan.paths, repetition), plan.design.inputs(repetition.point)
        for request in plan.requests:
            if request.is_open(repetition, records, inputs):
                names[request.what] = None
    return list(names)


def _further_runs(plan: Plan) -> int:
    """Count the valid runs of the present inputs beyond those that the study asks for.

    They are repeated runs, and runs of blocks above the number of blocks that the study states.
    """
    inputs = {
        plan.paths.record(repetition, 1).parent: plan.design.inputs(repetition.point)
        for repetition in plan.design.repetitions
        if repetition.block == 1
    }
    of_blocks: dict[tuple[Path, int], list[Path]] = {}
    for file in record_files(plan.paths):
        of_blocks.setdefault((file.parent, recorded_block(file)), []).append(file)
    further = 0
    for (folder, block), of_block in of_blocks.items():
        is_planned = block <= plan.design.blocks
        if is_planned and len(of_block) == 1:
            continue
        records = map(read_record, of_block)
        valid = sum(record.valid and record.inputs == inputs.get(folder) for record in records)
        further += max(valid - is_planned, 0)
    return further


def _earlier_versions(plan: Plan, missing: Sequence[Repetition]) -> list[str]:
    """Return a line that names the changes after which recorded runs no longer count.

    Points with a run of the present version are left out: an earlier command announced their change, or the
    user undid it.
    """
    changed = dict[str, None]()
    points = {repetition.point for repetition in missing}
    records: dict[Point, list[Record]] = {}
    for repetition in plan.design.repetitions:
        if repetition.point in points:
            records.setdefault(repetition.point, []).extend(attempts(plan.paths, repetition))
    for point, of_point in records.items():
        inputs = plan.design.inputs(point)
        names = {"case": point.case, "interconnect": point.interconnect or "serial", "cluster": "cluster"}
        if not any(record.inputs == inputs for record in of_point):
            changed |= {
                name: None
                for record in of_point
                for key, name in names.items()
                if record.inputs.get(key) != inputs.get(key)
            }
    if not changed:
        return []
    lines = [f"{', '.join(changed)} changed: runs recorded before the change do not count (they are kept)"]
    if plan.paths.report.exists():
        lines.append(f"until the study ends, {plan.paths.report} shows the runs before the change")
    return lines


def _quota(plan: Plan) -> list[str]:
    """Return a line if a quota of CPU time leaves fewer cores here than the machine has."""
    quota = None if plan.here.cluster else cpu_quota()
    if quota is None or quota >= len(os.sched_getaffinity(0)):
        return []
    return [
        f"CPU quota: a control group (container) allows the CPU time of {quota:g} of "
        f"{len(os.sched_getaffinity(0))} cores; "
        f"Nodeworth uses {len(usable_cores())}. A quota may stop processes within a run"
    ]


def _simulation_lines(plan: Plan) -> list[str]:
    """Return a line for each way in which points are simulated, with the number of its points."""
    simulated, traced = plan.design.simulated, files.traced(plan)
    patterns = sum(is_pattern(plan.asked.cases[point.case]) for point in simulated)
    arrays = len(simulated) - len(traced) - patterns
    lines = []
    if traced:
        replayed = (
            f"{counted(len(traced), 'point')}, replayed from {counted(len(files.traces(plan)), 'trace')}"
        )
        lines.append(f"simulated: {replayed}, {duration(expected_simulation(traced))}")
    if patterns:
        lines.append(f"simulated: {counted(patterns, 'point')} of patterns of traffic, by their schedules")
    if arrays:
        lines.append(
            f"simulated: {counted(arrays, 'point')} of tasks on a distributed array, by serial times"
        )
    return lines


def _interconnect_lines(plan: Plan) -> list[str]:
    """Return the kinds of the interconnects in use, and the emulated links that are built as root."""
    launched = {point.interconnect for point in plan.design.points}
    used = launched | {point.interconnect for point in plan.design.simulated}
    interconnects = [each for name, each in plan.asked.interconnects.items() if name in used]
    kinds = {interconnect.name: interconnect.kind for interconnect in interconnects}
    lines = [f"interconnects: {in_kinds(kinds)}"] if kinds else []
    emulated = [each.name for each in interconnects if each.name in launched and each.emulate]
    if emulated and plan.here.cluster is None:
        lines.append(f"as root, for the time of the runs: network namespaces for {', '.join(emulated)}")
    return lines


def _one_node(plan: Plan) -> list[str]:
    """Return a line with the counts on a cluster whose processes send nothing between nodes."""
    interconnects = plan.asked.interconnects
    points = [
        point
        for point in plan.design.points
        if point.interconnect and interconnects[point.interconnect].joins_nodes
    ]
    spread = {point.processes for point in points if point.nodes > 1}
    one_node = sorted({point.processes for point in points if point.processes > 1} - spread)
    if plan.here.cluster is None or not one_node or len({point.interconnect for point in points}) < 2:
        return []
    result = ": interconnects are not compared there"
    if not spread:
        result = ", so interconnects between nodes cannot be compared"
    nodes = min(interconnects[point.interconnect].nodes for point in points if point.interconnect)
    counts = sorted({*one_node, *spread})
    return [
        f"{_listed(one_node)} processes fit into one node{result}{_how_to_spread(one_node, counts, nodes)}"
    ]


def _how_to_spread(one_node: Sequence[int], counts: Sequence[int], nodes: int) -> str:
    """Return the number of processes per node that fits the most counts, and of these spreads the most."""

    def fitting(per_node: int) -> set[int]:
        return {count for count in counts if count % per_node == 0 and count // per_node <= nodes}

    def spread(per_node: int) -> list[int]:
        return [count for count in one_node if count in fitting(per_node) and count > per_node]

    candidates = range(1, one_node[-1])
    per_node = max(candidates, key=lambda each: (len(fitting(each)), len(spread(each))))
    if not spread(per_node):
        return ""
    which = "them" if spread(per_node) == one_node else _listed(spread(per_node))
    too_large = [count for count in counts if count > per_node * nodes]
    more = (
        f", but {_listed(too_large)} processes then need more than {counted(nodes, 'node')}"
        if too_large
        else ""
    )
    return f" (processes_per_node: [{per_node}] spreads {which}{more})"


def _listed(counts: Sequence[int]) -> str:
    return ", ".join(map(str, counts))


def _few_blocks(plan: Plan) -> list[str]:
    """Return a line if the study has fewer blocks than verdicts on all planned comparisons need."""
    study, points = plan.asked.study, plan.design.points
    blocks = study.until.max_blocks if study.until else stated_blocks(study)
    cases = {study.case_of(point.case) for point in points}
    names = {point.interconnect for point in points}
    levels = {point.oversubscription for point in points if point.interconnect}
    planned = replace(
        study,
        cases=tuple(case for case in study.cases if case in cases),
        interconnects=tuple(name for name in study.interconnects if name in names),
        oversubscription=tuple(level for level in study.oversubscription if level in levels),
    )
    kinds = {name: interconnect.kind for name, interconnect in plan.asked.interconnects.items()}
    needed = decisive_blocks(planned, kinds)
    if blocks >= needed:
        return []
    return [f"the study states {counted(blocks, 'block')}; verdicts on all comparisons need {needed}"]


def _runs_again(plan: Plan, missing: Sequence[Repetition]) -> list[str]:
    """Return the lines that announce runs that are requested again, and list them."""
    study, points = plan.asked.study, [repetition.point for repetition in missing]
    names = ", ".join(request.what for request in plan.requested)
    cost = plan.design.cost_of(points, 1)
    runs = f"{counted(cost.runs, 'run')} of {len(plan.design.repetitions)}, {_shown(plan, cost)}"
    lines = [f"{study.name}: again {names}: {runs}"]
    if plan.here.cluster and in_jobs(plan):
        jobs = sum(not set(missing).isdisjoint(batch.repetitions) for batch in batches(plan).values())
        lines.append(f"jobs: {jobs} to measure")
    blocks: dict[Point, list[str]] = {}
    for repetition in missing:
        blocks.setdefault(repetition.point, []).append(str(repetition.block))
    lines += [
        f"  {describe(point)}: block{'s' if len(numbers) > 1 else ''} {', '.join(numbers)}"
        for point, numbers in blocks.items()
    ]
    return lines + _parts_of_cases(plan) + _further_look(plan, missing)


def _parts_of_cases(plan: Plan) -> list[str]:
    """Return a line for each requested part of a case, since comparisons use only runs made together."""
    return [
        f"--again {request.what} repeats only some interconnects or counts of {request.what.split('/')[0]}: "
        "comparisons use only runs that were made together, and speedups mix earlier and later runs; to "
        "avoid both effects, repeat the whole case instead"
        for request in plan.requested
        if "/" in request.what
    ]


def _further_look(plan: Plan, missing: Sequence[Repetition]) -> list[str]:
    """Return a line if the missing runs repeat cases or add blocks after a report: tests become stricter."""
    if not plan.paths.looks.exists():
        return []
    study, first_blocks = plan.asked.study, dict[str, int]()
    for repetition in missing:
        case = repetition.point.case
        first_blocks[case] = min(first_blocks.get(case, repetition.block), repetition.block)
    requested = {request.what for request in plan.requested}
    looks = dict.fromkeys(
        study.case_of(case)
        for case, block in first_blocks.items()
        if case in requested or (block > 1 and not requested)
    )
    if not looks:
        return []
    these = "this case" if len(looks) == 1 else "these cases"
    return [
        f"the next report is a further look at {', '.join(looks)}, and tests {these} more strictly "
        "(docs/statistics.md)"
    ]


def _longest_wait(plan: Plan, to_run: int) -> list[str]:
    """Return a line with the longest possible wait before runs on this machine."""
    wait = plan.asked.study.limits.idle_seconds
    if plan.here.cluster or not to_run or not wait:
        return []
    return [
        f"if the machine is busy: up to {wait:g} s of waiting before each run (limits.idle_seconds), "
        f"{duration(wait * to_run)} in all"
    ]


FEWEST_CELLS = 100
"""Cells per process below which Nodeworth prints a remark. In a cube of 100 cells, most cells lie at its
surface."""


def _few_cells(plan: Plan) -> list[str]:
    """Return a remark for each case that has too few cells for its highest process count."""
    most: dict[str, int] = {}
    for point in (*plan.design.points, *plan.design.simulated):
        most[point.case] = max(most.get(point.case, 1), point.processes)
    lines = []
    for name, processes in most.items():
        case = plan.asked.cases[name]
        cells = application(case.application).cells(case)
        if cells and cells < FEWEST_CELLS * processes:
            each = f"{cells / processes:.2g} per process on {processes} processes"
            lines.append(
                f"few cells: {name} has {cells:,}, {each}; below {FEWEST_CELLS}, most cells lie at the edge "
                "of their part, and communication decides the time"
            )
    return lines


def print_results(paths: StudyPaths) -> None:
    """Print which runs do not count, then the full path of the report.

    Raises
    ------
    SystemExit
        If no run over an interconnect is valid: the study cannot make its comparison.
    """
    runs = read_facts(paths.facts).runs
    invalid, outdated = _invalid_runs(runs), outdated_runs(runs.outdated) if runs.outdated else ""
    results = paths.results.absolute()
    report = results / "report.pdf"
    noun, path = ("report", report) if report.exists() else ("results", results)
    if runs.lost:
        lost = ", ".join(runs.lost)
        why = "; ".join(filter(None, (invalid, outdated)))
        sys.exit(f"nodeworth: no run over {lost} is valid; {why}; {noun} of the others: {path}")
    for line in filter(None, (invalid, outdated)):
        print(line, file=sys.stderr)
    print(f"done: {noun}: {path}", file=sys.stderr)


def closing_lines(paths: StudyPaths) -> list[str]:
    """Return remarks of the report: cases that are too short, and the offer of further blocks."""
    if not (paths.results / "report.pdf").exists():
        return []
    from analysis.pipeline import read_tables  # the analysis takes a second to import
    from analysis.presentation.contests import find_contests
    from analysis.presentation.labels import Labels
    from analysis.report.certainty import further_blocks
    from analysis.runs.runs import read_complete
    from analysis.topics.quality.sentences import short_sentences

    runs = read_complete(paths.results / "runs.parquet")
    facts, tables = read_facts(paths.facts), read_tables(paths.results / "tables")
    contests = find_contests(tables, Labels(facts).declared)
    offer = further_blocks(runs, tables, contests, facts)
    if Path.cwd() != ROOT:
        offer = offer.replace("./run-study", f"{ROOT}/run-study")
    lines = [*short_sentences(runs), *([f"undecided comparisons: {offer}"] if offer else [])]
    return [" ".join(line.split()) for line in lines]  # without the special spaces of the report


def _invalid_runs(runs: Counts) -> str:
    """Return the number of invalid runs with their most frequent reason; empty if no run is invalid."""
    if not runs.invalid:
        return ""
    verb = "is" if runs.invalid == 1 else "are"
    line = f"{runs.invalid} of {(runs.recorded or 0) - runs.outdated} runs {verb} invalid"
    if not runs.reason_runs:
        return line
    share = "" if runs.reason_runs == runs.invalid else f", {runs.reason_runs} of them"
    return f"{line}{share}: {runs.reason}"


def _shown(plan: Plan, cost: Cost) -> str:
    of_runs = " of run time" if in_jobs(plan) else ""  # jobs may run side by side, and wait in queues
    return f"{duration(cost.seconds)}{of_runs} and {in_hours(cost.core_hours)} {plan.design.core_hours_unit}"
