"""Simulate tasks on a distributed array, with data servers that share cores with the processes.

A trace would not help: the order in which a server meets requests, and the times at which it has its core,
depend on the interconnect. So the program `SOURCE` carries out the tasks in simulated time, with the messages
of `workflows.benchmarks.data_servers`. Serial runs of the case give the computing time of a task.
"""

from __future__ import annotations

import statistics
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workflows.benchmarks.data_tasks import REQUEST_WORDS, WAITING, blocks_of_task, operation_rows
from workflows.domain import Case, InputError, Point
from workflows.launch.mpi.open_mpi import YIELD_WHEN_IDLE
from workflows.launch.ranks import cores_of_nodes, ranks_of_nodes
from workflows.measure.answers import compare_answer
from workflows.measure.prepare import reference_answer
from workflows.measure.running import run, started_point
from workflows.paths import ROOT
from workflows.simulation import programs
from workflows.simulation.model import InterconnectModel
from workflows.simulation.platform import platform_xml

SOURCE = ROOT / "workflows/simulation/servers.cpp"

TIMED_RUNS = 5
DRAWS = 9
"""Number of random draws of the computing time of each task and of the start of the turns of each core."""


@dataclass(frozen=True)
class CoreSharing:
    """Seconds that sharing a core costs, and spread of tasks, from the machine of docs/figures.md.

    Attributes
    ----------
    turn : float
        Time that a rank keeps its core while other ranks are runnable: a tick of Linux at 250 Hz.
    change : float
        Switch between two ranks that both call ``sched_yield``.
    nap : float
        Duration of a sleep of `workflows.benchmarks.data_tasks.SLEEP_SECONDS` with its timer and wake-up.
    look : float
        CPU time between two sleeps.
    spread : float
        Standard deviation of the CPU time of a task, divided by its mean. With 0, processes that begin
        together would stay in step forever.
    """

    turn: float = 4e-3
    change: float = 1.5e-6
    nap: float = 150e-6
    look: float = 14e-6
    spread: float = 0.04


def time_tasks(case: Case, prepared: Path, time_limit_seconds: float) -> dict[str, Any]:
    """Measure the CPU time of all tasks of a case with an array (`has_array`) in serial runs.

    Returns
    -------
    dict
        ``cpu_seconds``: list of the CPU time of all tasks in each run.

    Raises
    ------
    InputError
        A run fails or gives a wrong answer: one line.
    """
    serial = Point(case.name, None, 1, 1, nodes=1, cores=1)
    reference = reference_answer(case, prepared, time_limit_seconds, ())
    seconds = []
    for _ in range(TIMED_RUNS):
        done = run(case, serial, prepared, None, (), time_limit_seconds)
        wrong = done.problem or compare_answer(case, done.reading.answer, reference, done.reading.details)[1]
        if wrong:
            raise InputError(f"case {case.name}, serial: its tasks cannot be timed: {wrong}")
        seconds.append(done.reading.seconds * done.reading.details["busy_share"]["processes"])
    return {"cpu_seconds": seconds}


def way_to_wait(case: Case, point: Point) -> str:
    """Return how ranks of a run wait: ``polling``, ``yielding`` or ``sleeping`` (docs/data-servers.md)."""
    option = case.option.environment if case.option and point.running > 1 else {}
    if option.get(WAITING) == "sleep":
        return "sleeping"
    return "yielding" if int(option.get(YIELD_WHEN_IDLE, point.running > point.cores)) else "polling"


def ranks_of(case: Case, point: Point) -> list[tuple[int, int, int]]:
    """Return the node, the core in that node, and 1 for a computing rank, of each rank of a real run."""
    started = started_point(point, case.option)
    counts = zip(ranks_of_nodes(started), cores_of_nodes(started), strict=True)
    share = 1 + point.servers_per_process
    return [
        (node, rank % cores, int(rank < count // share))
        for node, (count, cores) in enumerate(counts)
        for rank in range(count)
    ]


def carry_out(
    program: Path,
    model: InterconnectModel,
    case: Case,
    point: Point,
    task_seconds: float,
    scheduler: CoreSharing = CoreSharing(),
    draw: int = 0,
) -> dict[str, Any]:
    """Simulate the tasks of a case at a point.

    Parameters
    ----------
    program : Path
        `SOURCE`, compiled by `workflows.simulation.programs.build`.
    case : Case
        A case with an array (`has_array`).
    task_seconds : float
        Mean computing time of a task.
    draw : int, optional
        Seed of the computing times (see `spread_out`) and of the first turn on each core. The first turn
        lasts up to two turns, so that the turns of two cores are independent.

    Returns
    -------
    dict
        ``seconds``, ``rows``, ``servers``, ``waiting`` and ``busy_share`` as in the result of a run (see
        `workflows.benchmarks.data_servers.data_servers`); ``simulation_cpu_seconds``,
        ``simulation_memory_bytes``.

    Raises
    ------
    InputError
        The topology of the model has too few nodes, or the simulation fails: one line.
    """
    blocks, block_bytes = case.parameters["blocks"], 8 * case.parameters["block_doubles"]
    way, ranks = way_to_wait(case, point), ranks_of(case, point)
    works = spread_out(task_seconds, case.parameters["tasks"], scheduler.spread, draw)
    first_turns = np.random.default_rng(draw).uniform(0.0, 2 * scheduler.turn, (point.nodes, point.cores))
    tasks = [(*blocks_of_task(task, blocks), seconds) for task, seconds in enumerate(works)]
    with tempfile.TemporaryDirectory() as scratch:
        platform = Path(scratch) / "platform.xml"
        platform.write_text(platform_xml(model, point.nodes, 1.0))
        started = [(*rank, first_turns[rank[:2]]) for rank in ranks]
        lists = [_write(Path(scratch) / name, rows) for name, rows in (("ranks", started), ("tasks", tasks))]
        size = (blocks, block_bytes, 8 * REQUEST_WORDS)
        times = (scheduler.turn, scheduler.change, scheduler.nap, scheduler.look)
        arguments = (platform, *lists, *size, way, *times)
        title = f"{point.case} on {point.in_words} over {point.interconnect}"
        done = programs.run(program, arguments, f"{title}: cannot be simulated")
    seconds: defaultdict[str, list[float]] = defaultdict(list)
    for operation, taken in done.lines("operation"):
        seconds[operation].append(float(taken))
    servers = point.running - point.processes
    return {
        "seconds": float(done.lines("tasks")[0][0]),
        "rows": operation_rows(seconds, block_bytes),
        "servers": servers,
        "waiting": ("sleep" if way == "sleeping" else "receive") if servers else None,
        "busy_share": {
            name: statistics.mean(shares) if shares else None
            for name, computes in (("processes", "1"), ("servers", "0"))
            for shares in [[float(share) for which, share in done.lines("busy") if which == computes]]
        },
        "simulation_cpu_seconds": done.cpu_seconds,
        "simulation_memory_bytes": done.memory_bytes,
    }


def simulate_tasks(
    program: Path,
    model: InterconnectModel,
    case: Case,
    point: Point,
    serial_seconds: Sequence[float],
    threads: int,
) -> dict[str, Any]:
    """Simulate the tasks of a case: every draw at the median serial time, one draw at each extreme.

    Parameters
    ----------
    serial_seconds : sequence of float (3,)
        Shortest, median and longest time of all tasks on one core.
    threads : int
        Number of simulations at the same time.

    Returns
    -------
    dict
        ``seconds``: median of the draws; ``seconds_low``, ``seconds_high``: shortest and longest of all
        simulations; ``details``: ``task_seconds`` and the other results of the median draw.
    """
    shortest, median, longest = (seconds / case.parameters["tasks"] for seconds in serial_seconds)
    inputs = [*((median, draw) for draw in range(DRAWS)), (shortest, 0), (longest, 0)]

    def simulate(task_seconds_and_draw: tuple[float, int]) -> dict[str, Any]:
        task_seconds, draw = task_seconds_and_draw
        return carry_out(program, model, case, point, task_seconds, draw=draw)

    with ThreadPoolExecutor(threads) as pool:
        results = list(pool.map(simulate, inputs))
    median_result = sorted(results[:DRAWS], key=itemgetter("seconds"))[DRAWS // 2]
    all_seconds = [result["seconds"] for result in results]
    return {
        "seconds": median_result.pop("seconds"),
        "seconds_low": min(all_seconds),
        "seconds_high": max(all_seconds),
        "details": {"task_seconds": median} | median_result,
    }


def spread_out(task_seconds: float, tasks: int, spread: float, draw: int = 0) -> NDArray[np.float64]:
    """Draw the computing time of each task.

    Parameters
    ----------
    task_seconds : float
        Mean of the times.
    spread : float
        Standard deviation of the normal distribution, divided by its mean.
    draw : int
        Seed; the same for every interconnect.

    Returns
    -------
    array (tasks,)
        Seconds of each task.
    """
    drawn = np.maximum(np.random.default_rng(draw).normal(1.0, spread, tasks), 0.0)
    seconds: NDArray[np.float64] = task_seconds * drawn / drawn.mean()
    return seconds


def _write(file: Path, rows: Sequence[tuple[float, ...]]) -> Path:
    file.write_text("".join(" ".join(map(str, row)) + "\n" for row in rows))
    return file
