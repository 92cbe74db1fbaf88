"""Timed runs, one after another: wait for an idle machine, run, check, record."""

from __future__ import annotations

import contextlib
import gzip
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any, TextIO

from workflows.applications import application
from workflows.domain import InputError, Line, Noise, Point, Repetition
from workflows.launch import provenance
from workflows.launch.cluster_launch import Node, is_this_machine
from workflows.launch.emulation import EmulatedNode, emulated_nodes
from workflows.launch.launch import program_of_build
from workflows.launch.leftovers import remove_stale
from workflows.launch.mpi.registry import library_of, linked_library
from workflows.measure.allocation import Allocation, pass_on, settle, this_allocation
from workflows.measure.answers import compare_answer, read_expected
from workflows.measure.attestation import attest_once, contradiction
from workflows.measure.energy import energy_of, meter_of
from workflows.measure.noise import noise_between, read_counters, wait_until_idle
from workflows.measure.progress import Progress, say
from workflows.measure.running import run, started_point
from workflows.measure.speed import FROM_SECONDS, NOT_TIMED, speed_of, time_fixed_work
from workflows.plan import records
from workflows.plan.design import expected_cost, expected_simulation
from workflows.plan.jobs import Batch, batches, cluster_of
from workflows.plan.machine import drop_page_cache, only_one, only_study_on_this_machine
from workflows.plan.plan import Plan, make_plan
from workflows.plan.record import Exit, Record, RunNoise, Times
from workflows.plan.stopping import Stopping
from workflows.study.cases import check_prepared
from workflows.traffic.cases import needs_trace

Report = Callable[[float | None, Callable[[str], None]], None]
"""Function that writes a report of the records so far. It takes the expected seconds until the study ends
(None: unknown) and a function that logs a line."""


def measure_study(
    plan: Plan,
    log: TextIO,
    stopping: Callable[[Plan], Stopping],
    report: Report | None = None,
    first_block: bool = False,
) -> list[Path]:
    """Run the missing repetitions of a study, block by block. Add blocks until a target is reached, if any.

    Only the records decide whether a block is added. So a study that was killed continues in the same way,
    and a complete study adds nothing.

    Parameters
    ----------
    log : text file
        Receives the lines of progress, which also go to standard error.
    stopping : callable
        Decides from the records whether a study has reached its target. Called only for studies with a
        target.
    report : callable, optional
        Called after each block except the last, while nothing is timed.
    first_block : bool
        Run only the first block, because simulated points come next.

    Returns
    -------
    list of Path
        The first record of every repetition.

    Raises
    ------
    InputError
        One line: a damaged record, another study on this machine, or a job without enough time.
    OSError
        A record that cannot be written.
    """
    files = (sys.stderr, log)
    measure_missing = partial(_measure_in_job if plan.here.cluster else _measure_missing, report=report)
    measure_missing(plan, files, first_block=first_block)
    if first_block:
        return [plan.paths.record(repetition, 1) for repetition in _of_first_block(plan.design.repetitions)]
    until = plan.asked.study.until
    while until and not (state := stopping(plan)).reason:
        plan = replace(plan, design=replace(plan.design, blocks=plan.design.blocks + 1))
        widest = "missing" if state.half_width_percent is None else f"±{state.half_width_percent:.3g} %"
        target = f"±{until.interval_percent:g} %"
        say(f"block {plan.design.blocks} is added: the widest interval is {widest}, wanted {target}", files)
        measure_missing(plan, files)
    return [plan.paths.record(repetition, 1) for repetition in plan.design.repetitions]


def measure_batch(plan: Plan, batch: Batch, log: TextIO) -> list[Path]:
    """Run the missing repetitions of a batch in the job of this process; see `measure_study`."""
    return _measure_in_job(plan, (sys.stderr, log), batch)


def measure_in_job(study: Path, config: Mapping[str, Any], name: str) -> None:
    """Run the missing repetitions of a batch, and write the list of its records. A job calls this.

    Parameters
    ----------
    study, config
        See `workflows.plan.plan.make_plan`.
    name : str
        Name of the batch.

    Raises
    ------
    InputError
        See `workflows.plan.plan.make_plan` and `measure_batch`; or the study no longer has the batch.
    """
    plan = make_plan(study, config)
    if name not in (planned := batches(plan)):
        raise InputError(
            f"{study}: no longer has the batch {name}: the study changed after the job was submitted"
        )
    batch_list, log = plan.paths.batch(name), plan.paths.results / f"logs/measured/{name}.log"
    batch_list.unlink(missing_ok=True)
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a") as file:
        measured = measure_batch(plan, planned[name], file)
    batch_list.write_text("".join(f"{path}\n" for path in measured))


def _measure_in_job(
    plan: Plan,
    files: Sequence[TextIO],
    batch: Batch | None = None,
    report: Report | None = None,
    first_block: bool = False,
) -> list[Path]:
    """Run the missing repetitions of a batch, or of the study, in the job of this process."""
    name = batch.name if batch else None
    repetitions = batch.repetitions if batch else plan.design.repetitions
    cluster, paths = cluster_of(plan), plan.paths
    notes = paths.notes(name)
    lock = notes.with_suffix(".lock")
    lock.parent.mkdir(parents=True, exist_ok=True)
    with only_one(lock, "another job that measures the same", lambda text: say(text, files)):
        interrupted = settle(cluster, paths, notes)
        for line in interrupted:
            say(line, files)
        if batch:
            pass_on(paths, interrupted)
        if missing := plan.missing(repetitions):
            with (
                _progress(plan, missing, files) as progress,
                this_allocation(cluster, paths, name) as allocation,
            ):

                def run_one(repetition: Repetition, attempt: int) -> Record:
                    expected = expected_cost([repetition.point], 1, plan.asked.cases).seconds
                    allocation.check_time(min(3 * expected, plan.asked.study.limits.run_seconds))
                    nodes = allocation.nodes_of(repetition, plan.asked.study.seed)
                    return measure(plan, repetition, attempt, nodes, allocation, progress.show_wait)

                _run_all(plan, missing, progress, run_one, report, first_block)
    return [plan.paths.record(repetition, 1) for repetition in repetitions]


def _measure_missing(
    plan: Plan, files: Sequence[TextIO], report: Report | None = None, first_block: bool = False
) -> None:
    """Run the missing repetitions of the plan on this machine."""
    if missing := plan.missing(plan.design.repetitions):
        with _progress(plan, missing, files) as progress, contextlib.ExitStack() as stack:
            stack.enter_context(only_study_on_this_machine(progress.say))
            for removed in remove_stale():
                progress.say(f"removed what a killed run left: {removed}")
            # Look again: the study that had the machine may have run some of them.
            missing = plan.missing([repetition for repetition, _ in missing])
            nodes = _emulated_nodes(plan, [repetition.point for repetition, _ in missing], stack)

            def run_one(repetition: Repetition, attempt: int) -> Record:
                run_nodes = nodes.get(_layout_of(repetition.point), ())
                return measure(plan, repetition, attempt, run_nodes, show_wait=progress.show_wait)

            _run_all(plan, missing, progress, run_one, report, first_block)


def _run_all(
    plan: Plan,
    missing: Sequence[tuple[Repetition, int]],
    progress: Progress,
    run_one: Callable[[Repetition, int], Record],
    report: Report | None,
    first_block: bool,
) -> None:
    """Run repetitions one after another, and make a report after each block.

    A study without a target gets no report after its last block: the final report follows.

    Parameters
    ----------
    missing : sequence of (Repetition, int)
        Repetitions in their order, each with the number of its attempt.
    run_one : callable
        Runs a repetition with the number of its attempt, and returns its record.
    first_block : bool
        Whether to stop after the first block.
    """
    progress.begin()
    has_target = plan.asked.study.until is not None
    for (repetition, attempt), following in zip_longest(missing, missing[1:]):
        if first_block and repetition.block > 1:
            return
        progress.made(repetition, run_one(repetition, attempt))
        block_ended = following is None or following[0].block > repetition.block
        if report and block_ended and (following or has_target):
            report(None if has_target else progress.seconds_left, progress.say)


def _progress(plan: Plan, missing: Sequence[tuple[Repetition, int]], files: Sequence[TextIO]) -> Progress:
    """Make the progress of a command: of the whole study, or of the runs of a request (``--again``)."""
    points = [repetition.point for repetition, _ in missing]
    only_requested = not plan.missing(plan.design.repetitions, with_requests=False)
    total = len(missing) if only_requested else len(plan.design.repetitions)
    return Progress(plan.asked.cases, total, points, files, _seconds_to_trace(plan))


def _seconds_to_trace(plan: Plan) -> float:
    """Return the expected seconds of missing traces and their replay."""
    traced = [point for point in plan.design.simulated if needs_trace(plan.asked.cases[point.case])]
    missing = [point for point in traced if not plan.paths.trace(point.case, point.processes).exists()]
    return expected_simulation(missing)


def _of_first_block(repetitions: Iterable[Repetition]) -> list[Repetition]:
    return [repetition for repetition in repetitions if repetition.block == 1]


def measure(
    plan: Plan,
    repetition: Repetition,
    attempt: int,
    nodes: Sequence[Node],
    allocation: Allocation | None = None,
    show_wait: Callable[[float], None] | None = None,
) -> Record:
    """Run a repetition, and write its record and its log.

    Parameters
    ----------
    attempt : int
        Number of the attempt, from 1. Its record must not exist yet.
    nodes : sequence of Node
        Nodes of an emulated interconnect, or nodes of the job.
    allocation : Allocation, optional
        The job, on a cluster.
    show_wait : callable, optional
        See `workflows.measure.noise.wait_until_idle`.

    Raises
    ------
    InputError
        The case changed after it was prepared: see `workflows.study.cases.check_prepared`.
    """
    point, limits = repetition.point, plan.asked.study.limits
    case = plan.asked.cases[point.case]
    interconnect = plan.asked.interconnects[point.interconnect] if point.interconnect else None
    app = application(case.application)
    path = plan.paths.record(repetition, attempt)
    planned = _planned(plan, repetition, attempt, allocation)
    prepared = plan.paths.prepared(case.name, point.processes)
    check_prepared(prepared, plan.asked.case_digests[case.name])
    with allocation.noted(path, planned) if allocation else contextlib.nullcontext():
        if case.drop_page_cache:
            drop_page_cache()
        busy_cores: float | None
        waited, busy_cores = wait_until_idle(limits.idle_seconds, show_wait=show_wait)
        is_long = expected_cost([point], 1, plan.asked.cases).seconds >= FROM_SECONDS
        speed_before = time_fixed_work(point, interconnect, nodes) if is_long else None
        meter = meter_of(allocation.nodes if allocation else ())
        before = read_counters()
        done = run(case, point, prepared, interconnect, nodes, limits.run_seconds, attest=True, meter=meter)
        if allocation and done.problem:
            allocation.check_failed(done.execution.errors)
        # In a job, the CPU time of the ranks is unknown here, so the CPU time of others is unknown as well.
        own_cpu_seconds = None if allocation else done.execution.cpu_seconds
        noise = noise_between(before, read_counters(), own_cpu_seconds)
        if allocation and not any(map(is_this_machine, nodes)):
            noise, busy_cores = Noise(), None  # the counters belong to another node
        speed_after = NOT_TIMED
        if is_long and not done.problem:
            speed_after = time_fixed_work(point, interconnect, nodes)
        attested = done.probe
        if interconnect and attested is None and done.problem is None and point.processes > 1:
            started = started_point(point, case.option)
            block = (plan.paths.results.resolve(), repetition.block)
            attested = attest_once(case, started, interconnect, nodes, done.placement, block)
        expected = read_expected(plan.paths.expected(case.name))
        answer, wrong_answer = compare_answer(case, done.reading.answer, expected, done.reading.details)
        problem = done.problem or (allocation.neighbour() if allocation else None)
        reason = problem or contradiction(attested, interconnect) or wrong_answer
        reading, ended = done.reading, done.execution
        record = replace(
            planned,
            seconds=reading.seconds,
            valid=reason is None,
            reason=reason,
            problem=problem,
            started=ended.started,
            times=Times(
                reading.startup_seconds, reading.output_seconds, ended.wall_seconds, ended.cpu_seconds
            ),
            answer=answer,
            noise=RunNoise(**vars(noise), idle_wait_seconds=waited, busy_cores_before=busy_cores),
            speed=speed_before and speed_of(speed_before, speed_after),
            energy=energy_of(meter, done.meter_readings, point.nodes if allocation else 1) if meter else None,
            exit=Exit(
                ended.exit_status, ended.signal, ended.timed_out, limits.run_seconds, ended.errors[-4000:]
            ),
            placement=done.placement,
            command=done.launch.argv,
            environment=provenance.relevant_environment(done.launch.env, app.variables),
            version=app.version(ended.lines),
            world_verified=done.world_verified,
            one_sided_windows=done.one_sided_windows,
            probe=attested,
            details=reading.details,
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        log = path.with_suffix(".log.gz")
        with contextlib.ExitStack() as unless_recorded:
            unless_recorded.callback(log.unlink, missing_ok=True)
            write_log(log, done.execution.lines)
            records.write_record(path, record)
            unless_recorded.pop_all()
    return record


def _planned(plan: Plan, repetition: Repetition, attempt: int, allocation: Allocation | None) -> Record:
    """Return the record with the values that are known before the run."""
    point = repetition.point
    case = plan.asked.cases[point.case]
    interconnect = plan.asked.interconnects[point.interconnect] if point.interconnect else None
    program = application(case.application).command(case, point.processes)[0]
    linked = linked_library(program_of_build(program, interconnect) or program)
    return Record.of_point(
        point,
        study=plan.asked.study.name,
        application=case.application,
        kind=interconnect.kind if interconnect else "measured",
        block=repetition.block,
        companions=plan.design.companions(repetition),
        repetition=1,  # each block runs a point once
        attempt=attempt,
        started=datetime.now(UTC).isoformat(timespec="milliseconds"),
        mpi=library_of(interconnect).version(),
        mpi_library=linked and linked[1],
        machine=provenance.machine(),
        inputs=plan.design.inputs(point),
        cluster=allocation.facts() if allocation else None,
    )


def write_log(path: Path, lines: Iterable[Line]) -> None:
    """Write the output of a run as a gzip file: for each line, its seconds since the launch and its text."""
    raw = "".join(f"{line.seconds:.6f} {line.text}\n" for line in lines).encode(errors="replace")
    # mtime=0: the same lines give the same bytes.
    path.write_bytes(gzip.compress(raw, compresslevel=6, mtime=0))


Layout = tuple[str | None, tuple[tuple[str, int], ...]]
"""Name of an interconnect, and the keys of its ``emulate`` that a placement changes, with their values."""


def _emulated_nodes(
    plan: Plan, missing: Sequence[Point], stack: contextlib.ExitStack
) -> dict[Layout, tuple[EmulatedNode, ...]]:
    """Build the emulated nodes for each interconnect and placement of the missing points.

    Closing `stack` removes the nodes.
    """
    nodes = {}
    for layout in dict.fromkeys(map(_layout_of, missing)):
        name, changes = layout
        if name and (emulate := plan.asked.interconnects[name].emulate):
            nodes[layout] = stack.enter_context(emulated_nodes(emulate | dict(changes)))
    return nodes


def _layout_of(point: Point) -> Layout:
    if point.processes_per_node is None:
        return point.interconnect, ()
    layout = {"nodes": point.nodes, "cores_per_node": point.cores // point.nodes}
    return point.interconnect, tuple(layout.items())
