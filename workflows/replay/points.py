"""The simulated points of a study: traces replayed, patterns and tasks carried out, a record a point."""

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

from workflows.domain import Point, short_digest
from workflows.paths import RESULTS, ROOT
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

PROGRAMS = ROOT / RESULTS / ".programs"


@dataclass(frozen=True)
class Replays:
    """The replays of one point: the ends of its band, corrected, and on an ideal interconnect.

    Attributes
    ----------
    low, high : Replay
        Computing and interconnect both at their quickest, or both at their slowest.
    least_computing, most_computing : Replay
        The quickest computing over the slowest interconnect, and the other way round.
    """

    low: Replay
    high: Replay
    corrected: Replay
    ideal: Replay
    least_computing: Replay
    most_computing: Replay


def replay_study(plan: Plan, threads: int) -> None:
    """Simulate every simulated point of a study: replay its trace, or carry out its pattern or its tasks.

    What it makes goes where `plan.paths` says: how well each model repeats its curve (see `fit.fit_table`),
    and the records, ``<case>/<interconnect>/processes-<p>.json``. These are written once all is well; until
    then replays are kept beside them, and a study that was stopped goes on from there.

    Parameters
    ----------
    plan : Plan
        Its traces and serial times are there.
    threads : int
        Simulations that run at the same time.

    Raises
    ------
    InputError
        A bad curve or trace, or a simulation that fails: one line.
    """
    program = programs.build(replayer.SOURCE, PROGRAMS)
    used = {point.interconnect for point in plan.design.simulated if point.interconnect}
    ends = {
        name: {end: make_model(plan.asked.interconnects[name], ROOT, end) for end in ENDS} for name in used
    }
    models = {name: at["corrected"] for name, at in ends.items()}
    fits = {name: fit.fit_table(program, model) for name, model in models.items()}
    made: dict[Path, SimulatedRecord] = {}
    kept = plan.paths.simulated.with_name(".replays")
    kept.mkdir(parents=True, exist_ok=True)
    traced, cores = files.traced(plan), core_speed(plan.asked.study.simulation, plan.paths.processor)
    of_one_thread: dict[str, Trace] = {}
    trace_of = attrgetter("case", "threads", "processes")
    for (case, several, processes), group in groupby(sorted(traced, key=trace_of), key=trace_of):
        points = list(group)
        trace = read_trace(plan.paths.trace(case, processes, several))
        if several == 1:
            of_one_thread[case] = trace  # the one on the most processes comes last
        beside, stated = of_one_thread.get(case), plan.asked.study.simulation.get("corun_percent")
        corun = {end: corun_percent(trace, beside, stated, end) for end in ENDS}
        done = _replay_trace(program, trace, points, ends, corun, cores, threads, kept)
        for point, replays in zip(points, done, strict=True):
            told = _replayed(trace, replays, cores.speed, corun["corrected"])
            made[record_path(point)] = _record(plan, point, **told)
    for point in (point for point in plan.design.simulated if point not in traced):
        carry = _carried if is_pattern(plan.asked.cases[point.case]) else _served
        made[record_path(point)] = _record(plan, point, **carry(plan, point, models, cores, threads))
    for name, table in fits.items():
        path = plan.paths.fit(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        table.to_csv(path, index=False)
    for path, record in made.items():
        file = plan.paths.simulated / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(record.as_json(), indent=1) + "\n")
    shutil.rmtree(kept)


def record_path(point: Point) -> Path:
    """Path of the record of a simulated point in the folder of all of them."""
    placed = f"-per-node-{point.processes_per_node}" if point.processes_per_node else ""
    shared = f"-oversubscription-{point.oversubscription}" if point.oversubscription > 1 else ""
    several = f"-threads-{point.threads}" if point.threads > 1 else ""
    name = f"processes-{point.processes}{placed}{shared}{several}.json"
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
    kept: Path,
) -> list[Replays]:
    """Replays of one trace at all points that it serves, in their order."""
    anybody = next(iter(models.values()))["corrected"]  # a serial run has no messages, so any model serves
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(threads) as pool:
        unpack(trace, Path(scratch))
        begun: dict[tuple, Future[Replay]] = {}

        def replayed(point: Point, end: str, end_of_model: str, free: bool) -> Future[Replay]:
            """A replay that is under way; equal ones, as many without messages are, are made once."""
            model = models[point.interconnect][end_of_model] if point.interconnect else anybody
            per_node = point.processes_per_node or model.cores_per_node // point.threads
            factors, slower = trace.factors(end), corun[end] if min(per_node, point.processes) > 1 else 0.0
            if model.one_machine:  # taken to compute all at once
                beside, slower = 1 + corun[end] / 100 * (point.processes - 1), 0.0
                factors = tuple(factor * beside for factor in factors)
            text = platform_xml(ideal(model) if free else model, point.nodes, cores.at(end), slower)
            what = f"{trace.folder} over {point.interconnect or 'nothing'}"
            key = text, per_node, factors
            if key not in begun:
                platform = Path(scratch) / f"platform-{len(begun)}.xml"
                platform.write_text(text)
                of = json.dumps([str(program), what, trace.about, *key], sort_keys=True)
                file = kept / f"{short_digest(of.encode())}.json"
                arguments = program, platform, Path(scratch), factors, per_node, what
                begun[key] = pool.submit(_once, file, *arguments)
            return begun[key]

        ways = {
            "low": ("low", "low", False),
            "high": ("high", "high", False),
            "corrected": ("corrected", "corrected", False),
            "ideal": ("corrected", "corrected", True),
            "least_computing": ("low", "high", False),
            "most_computing": ("high", "low", False),
        }
        asked = [{name: replayed(point, *way) for name, way in ways.items()} for point in points]
        return [Replays(**{name: one.result() for name, one in those.items()}) for those in asked]


def _once(file: Path, *arguments: Any) -> Replay:
    """What `replay` gives, from where it is kept if it was made before."""
    if file.exists():
        return Replay.of(json.loads(file.read_text()))
    made = replay(*arguments)
    unfinished = file.with_suffix(".part")
    unfinished.write_text(json.dumps(vars(made)))
    unfinished.rename(file)
    return made


def corun_percent(trace: Trace, of_one_thread: Trace | None, stated: float | None, end: str) -> float:
    """How much longer a rank computes for each other of its node that does: stated, else as traced.

    Ranks that were timed together hold their disturbance already. Where there were too few cores for two
    ranks of several threads, it follows from ranks of one thread of the same case, if there are some: each
    busy core beside slows by the same, those of the rank's own threads among them.
    """
    if trace.about["timing"] == "together":
        return 0.0
    if stated is not None:
        return stated
    if trace.threads == 1 or of_one_thread is None or trace.about["corun_percent"] is not None:
        return trace.corun_percent(end)
    each = of_one_thread.corun_percent(end)
    return each * trace.threads / (1 + (trace.threads - 1) * each / 100)


def _replayed(trace: Trace, replays: Replays, speed: float, corun: float) -> dict[str, Any]:
    """What a record of a replayed point says beside what was asked."""
    scale = trace.timed_steps / trace.steps
    band = [one.seconds * scale for one in (replays.low, replays.high, replays.corrected)]
    return {
        "seconds": band[-1],
        "seconds_low": min(band),
        "seconds_high": max(band),
        "details": {
            "host_speed": speed,
            "steps": trace.steps,
            "timed_steps": trace.timed_steps,
            "timing": trace.about["timing"],
            "corun_percent": corun,
            "least_computing_seconds": [
                scale * one.seconds for one in (replays.low, replays.least_computing)
            ],
            "most_computing_seconds": [scale * one.seconds for one in (replays.most_computing, replays.high)],
            **split_times(replays, scale),
            "replay_memory_bytes": max(one.memory_bytes for one in vars(replays).values()),
        },
    }


def _carried(
    plan: Plan, point: Point, models: Mapping[str, InterconnectModel], _: CoreSpeed, threads: int
) -> dict[str, Any]:
    """What a record of a pattern of traffic says beside what was asked; nothing in it makes a band."""
    model = models[point.interconnect]
    source, described = (
        (packets.SOURCE, packets.network_text(model, point.nodes))
        if model.packets
        else (traffic.SOURCE, platform_xml(model, point.nodes, 1.0))
    )
    network = traffic.Network(
        programs.build(source, PROGRAMS),
        described,
        point.processes,
        point.processes_per_node or model.cores_per_node,
        f"{point.case} on {point.in_words} over {point.interconnect}",
    )
    with ThreadPoolExecutor(threads) as pool:
        told = traffic.simulate_traffic(network, plan.asked.cases[point.case], pool)
    told["contention"] = "packets" if model.packets else "fluid"
    seconds = told.pop("seconds")
    return {"seconds": seconds, "seconds_low": seconds, "seconds_high": seconds, "details": told}


def _served(
    plan: Plan, point: Point, models: Mapping[str, InterconnectModel], cores: CoreSpeed, threads: int
) -> dict[str, Any]:
    """What a record of tasks on a distributed array says; on one process nothing but their serial time."""
    taken = json.loads(plan.paths.times(point.case).read_text())["cpu_seconds"]
    ends = {"low": min(taken), "corrected": statistics.median(taken), "high": max(taken)}
    serial_seconds = [seconds / cores.at(end) for end, seconds in ends.items()]
    details = {"host_speed": cores.speed}
    if point.interconnect is None:
        shortest, median, longest = serial_seconds
        return {"seconds": median, "seconds_low": shortest, "seconds_high": longest, "details": details}
    program = programs.build(servers.SOURCE, PROGRAMS)
    model, case = models[point.interconnect], plan.asked.cases[point.case]
    told = servers.simulate_tasks(program, model, case, point, serial_seconds, threads)
    return told | {"details": details | told["details"]}


def _record(plan: Plan, point: Point, seconds: float | None, **told: Any) -> SimulatedRecord:
    """Record of a point that was simulated."""
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
        **told,
    )


def split_times(replays: Replays, scale: float) -> dict[str, Any]:
    """Where the time of each rank goes, from the corrected replay and the one in which messages cost nothing.

    Parameters
    ----------
    scale : float
        What replayed times are multiplied by.

    Returns
    -------
    dict
        By rank, in seconds: ``compute_seconds``; ``waiting_seconds``, for others where messages cost nothing;
        ``transfer_seconds``, what the interconnect adds. Their sum is the time at which the rank ended.
        And the factors of the parallel efficiency, as the POP centre of excellence defines them:
        ``load_balance`` (mean / largest compute time), ``serialisation_efficiency`` (largest compute time /
        time on the ideal interconnect), ``transfer_efficiency`` (that / time).
    """
    compute, free = replays.corrected.compute_seconds, replays.ideal.compute_seconds
    waiting = [end - own for end, own in zip(replays.ideal.rank_seconds, free, strict=True)]
    ended = zip(replays.corrected.rank_seconds, compute, waiting, strict=True)
    longest = max(free)
    return {
        "compute_seconds": [scale * seconds for seconds in compute],
        "waiting_seconds": [scale * seconds for seconds in waiting],
        "transfer_seconds": [scale * (end - own - waited) for end, own, waited in ended],
        "load_balance": sum(free) / len(free) / longest,
        "serialisation_efficiency": longest / replays.ideal.seconds,
        "transfer_efficiency": replays.ideal.seconds / replays.corrected.seconds,
    }
