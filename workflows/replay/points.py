"""Simulate the points of a study: replay traces, or run patterns and tasks, and write a record per point."""

from __future__ import annotations

import datetime
import gzip
import json
import shutil
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

from workflows.domain import Case, Point, short_digest
from workflows.paths import BUILT, ROOT
from workflows.plan import files
from workflows.plan.plan import Plan
from workflows.plan.record import SimulatedRecord
from workflows.replay import servers
from workflows.simulation import fit, packets, programs, replayer, traffic
from workflows.simulation.model import ENDS, InterconnectModel, make_model
from workflows.simulation.platform import ideal, platform_xml
from workflows.simulation.processor import CoreSpeed, core_speed
from workflows.simulation.replayer import Replay, replay
from workflows.tracing.trace import Trace, rank_file, read_trace
from workflows.traffic.cases import is_pattern

PROGRAMS = BUILT / ".programs"
"""Folder of the compiled simulators."""


@dataclass(frozen=True)
class Replays:
    """Replays of a point, with compute times and models at different ends of their bands.

    Attributes
    ----------
    low : Replay
        Shortest compute times over the fastest model of the interconnect: lower end of the band.
    high : Replay
        Longest compute times over the slowest model: upper end of the band.
    corrected : Replay
        Corrected compute times over the model as it is.
    ideal : Replay
        Corrected compute times over an interconnect on which messages take no time.
    least_computing : Replay
        Shortest compute times over the slowest model.
    most_computing : Replay
        Longest compute times over the fastest model.
    """

    low: Replay
    high: Replay
    corrected: Replay
    ideal: Replay
    least_computing: Replay
    most_computing: Replay


def replay_study(plan: Plan, threads: int) -> None:
    """Simulate every simulated point of a study: replay its trace, or run its pattern or its tasks.

    `plan.paths` names the files to write: the fit of each model to its curve (`fit.fit_table`), and the
    records, ``<case>/<interconnect>/processes-<p>.json``. Records are written after all simulations have
    succeeded. Until then a folder keeps the replays, from which a stopped study continues.

    Parameters
    ----------
    plan : Plan
        Traces and serial times must exist.
    threads : int
        Number of simulations that run at the same time.

    Raises
    ------
    InputError
        In one line, if a curve or trace is damaged or a simulation fails.
    """
    program = programs.build(replayer.SOURCE, PROGRAMS)
    interconnects = {point.interconnect for point in plan.design.simulated if point.interconnect}
    models_by_end = {
        name: {end: make_model(plan.asked.interconnects[name], ROOT, end) for end in ENDS}
        for name in interconnects
    }
    models = {name: by_end["corrected"] for name, by_end in models_by_end.items()}
    fits = {name: fit.fit_table(program, model) for name, model in models.items()}
    records: dict[Path, SimulatedRecord] = {}
    cache = plan.paths.simulated.with_name(".replays")
    cache.mkdir(parents=True, exist_ok=True)
    traced_points = files.traced(plan)
    cores = core_speed(plan.asked.study.simulation, plan.paths.processor)
    single_threaded_traces: dict[str, Trace] = {}
    trace_key = attrgetter("case", "threads", "processes")
    for (case, threads_per_process, processes), group in groupby(
        sorted(traced_points, key=trace_key), key=trace_key
    ):
        points = list(group)
        trace = read_trace(plan.paths.trace(case, processes, threads_per_process))
        if threads_per_process == 1:
            single_threaded_traces[case] = trace  # the last is the trace on the most processes
        stated = plan.asked.study.simulation.get("corun_percent")
        corun = {end: corun_percent(trace, single_threaded_traces.get(case), stated, end) for end in ENDS}
        all_replays = _replay_trace(program, trace, points, models_by_end, corun, cores, threads, cache)
        for point, replays in zip(points, all_replays, strict=True):
            values = _replayed_values(trace, replays, cores.speed, corun["corrected"])
            records[record_path(point)] = _record(plan, point, **values)
    for point in (point for point in plan.design.simulated if point not in traced_points):
        case = plan.asked.cases[point.case]
        model = models[point.interconnect] if point.interconnect else None
        if model and is_pattern(case):
            values = _pattern_values(case, point, model, threads)
        else:
            values = _task_values(case, point, model, plan.paths.times(point.case), cores, threads)
        records[record_path(point)] = _record(plan, point, **values)
    for name, table in fits.items():
        path = plan.paths.fit(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        table.to_csv(path, index=False)
    for path, record in records.items():
        file = plan.paths.simulated / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(record.as_json(), indent=1) + "\n")
    shutil.rmtree(cache)


def record_path(point: Point) -> Path:
    """Return the path of the record of a simulated point below the folder of simulated records."""
    placement = f"-per-node-{point.processes_per_node}" if point.processes_per_node else ""
    level = f"-oversubscription-{point.oversubscription}" if point.oversubscription > 1 else ""
    threads = f"-threads-{point.threads}" if point.threads > 1 else ""
    name = f"processes-{point.processes}{placement}{level}{threads}.json"
    return Path(point.case) / (point.interconnect or "serial") / name


def unpack(trace: Trace, folder: Path) -> None:
    """Write ``rank-<r>.txt`` of every rank of a checked trace into an empty folder."""
    for rank in range(trace.processes):
        target = folder / f"rank-{rank}.txt"
        with gzip.open(trace.folder / rank_file(rank), "rb") as packed, target.open("wb") as unpacked:
            shutil.copyfileobj(packed, unpacked, 1 << 20)


def _replay_trace(
    program: Path,
    trace: Trace,
    points: Sequence[Point],
    models: Mapping[str, Mapping[str, InterconnectModel]],
    corun: Mapping[str, float],
    cores: CoreSpeed,
    threads: int,
    cache: Path,
) -> list[Replays]:
    """Replay a trace at each point.

    Equal replays run only once. The folder `cache` keeps the results, so that a stopped study can continue.

    Parameters
    ----------
    models : mapping
        Models by the name of the interconnect, then by the end of the band.
    corun : mapping
        Result of `corun_percent` by the end of the band.
    threads : int
        Number of replays at the same time.
    """
    any_model = next(iter(models.values()))["corrected"]  # for a serial run, which sends no messages
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(threads) as pool:
        unpack(trace, Path(scratch))
        started: dict[tuple[object, ...], Future[Replay]] = {}

        def start(point: Point, end: str, end_of_model: str, is_ideal: bool) -> Future[Replay]:
            """Start a replay with compute times at `end` of their band, and the model at `end_of_model`."""
            model = models[point.interconnect][end_of_model] if point.interconnect else any_model
            per_node = point.processes_per_node or model.cores_per_node // point.threads
            factors = trace.factors(end)
            slowdown = corun[end] if min(per_node, point.processes) > 1 else 0.0
            if model.one_machine:  # all processes share the memory of this machine, on whatever node they are
                slowdown_by_others = 1 + corun[end] / 100 * (point.processes - 1)
                factors = tuple(factor * slowdown_by_others for factor in factors)
                slowdown = 0.0
            text = platform_xml(ideal(model) if is_ideal else model, point.nodes, cores.at(end), slowdown)
            title = f"{trace.folder} over {point.interconnect or 'nothing'}"
            key = text, per_node, factors
            if key not in started:
                platform = Path(scratch) / f"platform-{len(started)}.xml"
                platform.write_text(text)
                inputs = json.dumps([str(program), title, trace.about, *key], sort_keys=True)
                file = cache / f"{short_digest(inputs.encode())}.json"
                arguments = program, platform, Path(scratch), factors, per_node, title
                started[key] = pool.submit(_cached_replay, file, *arguments)
            return started[key]

        arguments_of = {
            "low": ("low", "low", False),
            "high": ("high", "high", False),
            "corrected": ("corrected", "corrected", False),
            "ideal": ("corrected", "corrected", True),
            "least_computing": ("low", "high", False),
            "most_computing": ("high", "low", False),
        }
        futures = [
            {name: start(point, *arguments) for name, arguments in arguments_of.items()} for point in points
        ]
        return [
            Replays(**{name: future.result() for name, future in of_point.items()}) for of_point in futures
        ]


def _cached_replay(file: Path, *arguments: Any) -> Replay:
    """Return the result of `replay`, from its file if an earlier run wrote it."""
    if file.exists():
        return Replay.from_json(json.loads(file.read_text()))
    result = replay(*arguments)
    draft = file.with_suffix(".part")
    draft.write_text(json.dumps(vars(result)))
    draft.rename(file)
    return result


def corun_percent(trace: Trace, single_threaded: Trace | None, stated: float | None, end: str) -> float:
    """Return the percentage by which each other rank that computes on its node slows a rank down.

    - If the ranks were timed together, their times include the slowdown: 0.
    - If the study states the slowdown, that value.
    - If the machine had enough cores to run two ranks side by side, the value that the trace measured.
    - Otherwise (ranks of several threads) it follows from single-threaded ranks of the same case. Each busy
    core
      is assumed to slow a rank by the same share; the threads of the rank itself count as busy cores.

    Parameters
    ----------
    single_threaded : Trace or None
        Trace of the case with single-threaded processes, if it exists.
    stated : float or None
        ``simulation.corun_percent`` of the study.
    end : str
        End of the band: ``low``, ``corrected`` or ``high``.
    """
    if trace.about["timing"] == "together":
        return 0.0
    if stated is not None:
        return stated
    if trace.threads == 1 or single_threaded is None or trace.about["corun_percent"] is not None:
        return trace.corun_percent(end)
    each = single_threaded.corun_percent(end)
    return each * trace.threads / (1 + (trace.threads - 1) * each / 100)


def _replayed_values(trace: Trace, replays: Replays, speed: float, corun: float) -> dict[str, Any]:
    """Return the times and details of a replayed point."""
    scale = trace.timed_steps / trace.steps
    corrected = scale * replays.corrected.seconds
    band = [scale * replays.low.seconds, scale * replays.high.seconds, corrected]
    return {
        "seconds": corrected,
        "seconds_low": min(band),
        "seconds_high": max(band),
        "details": {
            "host_speed": speed,
            "steps": trace.steps,
            "timed_steps": trace.timed_steps,
            "timing": trace.about["timing"],
            "corun_percent": corun,
            "least_computing_seconds": [
                scale * end.seconds for end in (replays.low, replays.least_computing)
            ],
            "most_computing_seconds": [scale * end.seconds for end in (replays.most_computing, replays.high)],
            **split_times(replays, scale),
            "replay_memory_bytes": max(result.memory_bytes for result in vars(replays).values()),
        },
    }


def _pattern_values(case: Case, point: Point, model: InterconnectModel, threads: int) -> dict[str, Any]:
    """Return the times and details of a pattern of traffic, which has no band."""
    source, platform = (
        (packets.SOURCE, packets.network_text(model, point.nodes))
        if model.packets
        else (traffic.SOURCE, platform_xml(model, point.nodes, 1.0))
    )
    network = traffic.Network(
        programs.build(source, PROGRAMS),
        platform,
        point.processes,
        point.processes_per_node or model.cores_per_node,
        f"{point.case} on {point.in_words} over {point.interconnect}",
    )
    with ThreadPoolExecutor(threads) as pool:
        details = traffic.simulate_traffic(network, case, pool)
    details["contention"] = "packets" if model.packets else "fluid"
    seconds = details.pop("seconds")
    return {"seconds": seconds, "seconds_low": seconds, "seconds_high": seconds, "details": details}


def _task_values(
    case: Case, point: Point, model: InterconnectModel | None, times: Path, cores: CoreSpeed, threads: int
) -> dict[str, Any]:
    """Return the times and details of tasks on a distributed array.

    Parameters
    ----------
    model : InterconnectModel or None
        None for a serial point, which has the serial time of the tasks.
    times : Path
        File with the result of `workflows.replay.servers.time_tasks`.
    """
    seconds_of_tasks = json.loads(times.read_text())["cpu_seconds"]
    ends = {
        "low": min(seconds_of_tasks),
        "corrected": statistics.median(seconds_of_tasks),
        "high": max(seconds_of_tasks),
    }
    serial_seconds = [seconds / cores.at(end) for end, seconds in ends.items()]
    details = {"host_speed": cores.speed}
    if model is None:
        shortest, median, longest = serial_seconds
        return {"seconds": median, "seconds_low": shortest, "seconds_high": longest, "details": details}
    program = programs.build(servers.SOURCE, PROGRAMS)
    values = servers.simulate_tasks(program, model, case, point, serial_seconds, threads)
    return values | {"details": details | values["details"]}


def _record(plan: Plan, point: Point, seconds: float | None, **values: Any) -> SimulatedRecord:
    """Make the record of a simulated point."""
    return SimulatedRecord.of_point(
        point,
        study=plan.asked.study.name,
        application=plan.asked.cases[point.case].application,
        kind="simulated",
        block=1,
        repetition=1,
        attempt=1,
        seconds=seconds,
        valid=seconds is not None,
        reason=None if seconds is not None else "nothing was accepted at the highest load",
        started=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        inputs=plan.design.inputs(point),
        **values,
    )


def split_times(replays: Replays, scale: float) -> dict[str, Any]:
    """Split the time of each rank into computing, waiting and transfer.

    Parameters
    ----------
    scale : float
        Factor from replayed times to times of the run.

    Returns
    -------
    dict
        Three lists by rank, in seconds, whose sum is the time at which the rank ends:

        - ``compute_seconds``
        - ``waiting_seconds``: wait for other ranks on the ideal interconnect
        - ``transfer_seconds``: time that the modelled interconnect adds

        Three factors of the parallel efficiency, as the POP centre of excellence defines them:

        - ``load_balance``: mean compute time / largest compute time
        - ``serialisation_efficiency``: largest compute time / time on the ideal interconnect
        - ``transfer_efficiency``: time on the ideal interconnect / time on the modelled interconnect
    """
    compute, ideal_compute = replays.corrected.compute_seconds, replays.ideal.compute_seconds
    ideal_ends = zip(replays.ideal.rank_seconds, ideal_compute, strict=True)
    waiting = [end - computing for end, computing in ideal_ends]
    ends = zip(replays.corrected.rank_seconds, compute, waiting, strict=True)
    longest = max(ideal_compute)
    return {
        "compute_seconds": [scale * seconds for seconds in compute],
        "waiting_seconds": [scale * seconds for seconds in waiting],
        "transfer_seconds": [scale * (end - computing - wait) for end, computing, wait in ends],
        "load_balance": sum(ideal_compute) / len(ideal_compute) / longest,
        "serialisation_efficiency": longest / replays.ideal.seconds,
        "transfer_efficiency": replays.ideal.seconds / replays.corrected.seconds,
    }
