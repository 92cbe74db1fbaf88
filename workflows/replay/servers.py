"""Tasks on a distributed array on a simulated interconnect: data servers, and the cores that they share.

Nothing is traced: in which order a server meets requests, and when it has its core, depends on the
interconnect. So the tasks are carried out in simulated time, with the messages of
`workflows.benchmarks.data_servers`. What a task computes is timed in serial runs of the case.
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
"""Of what each task computes, and of when the turns of each core begin."""


@dataclass(frozen=True)
class CoreSharing:
    """How ranks share a core, in seconds, and how tasks differ: measured on the machine of docs/figures.md.

    Attributes
    ----------
    turn : float
        For which a rank keeps its core while others would have it: Linux's tick of 250 Hz.
    change : float
        From one rank to another, both of which call ``sched_yield``.
    nap : float
        Until a rank is back that sleeps for `workflows.benchmarks.data_tasks.SLEEP_SECONDS`, its timer and
        wake-up included.
    look : float
        CPU time between two naps.
    spread : float
        Standard deviation of the CPU time of a task over its mean. Without it, processes that begin together
        would go on in step for ever.
    """

    turn: float = 4e-3
    change: float = 1.5e-6
    nap: float = 150e-6
    look: float = 14e-6
    spread: float = 0.04


def time_tasks(case: Case, prepared: Path, time_limit_seconds: float) -> dict[str, Any]:
    """Find the CPU time of all tasks of a case (`workflows.traffic.cases.has_array`) in serial runs.

    Returns
    -------
    dict
        ``cpu_seconds``: of all tasks, one number a run.

    Raises
    ------
    InputError
        A run that fails or gives a wrong answer: one line.
    """
    serial = Point(case.name, None, 1, 1, nodes=1, cores=1)
    reference = reference_answer(case, prepared, time_limit_seconds, ())
    seconds = []
    for _ in range(TIMED_RUNS):
        done = run(case, serial, prepared, None, (), time_limit_seconds)
        wrong = done.problem or compare_answer(case, done.reading.answer, reference)[1]
        if wrong:
            raise InputError(f"case {case.name}, serial: its tasks cannot be timed: {wrong}")
        seconds.append(done.reading.seconds * done.reading.details["busy_share"]["processes"])
    return {"cpu_seconds": seconds}


def way_to_wait(case: Case, point: Point) -> str:
    """How the ranks of a run wait: ``polling``, ``yielding`` or ``sleeping``; see docs/traffic.md."""
    option = case.option.environment if case.option and point.running > 1 else {}
    if option.get(WAITING) == "sleep":
        return "sleeping"
    return "yielding" if int(option.get(YIELD_WHEN_IDLE, point.running > point.cores)) else "polling"


def ranks_of(case: Case, point: Point) -> list[tuple[int, int, int]]:
    """Node, core of it, and whether it computes, of each rank, placed as a run places them."""
    placed = started_point(point, case.option)
    counts = zip(ranks_of_nodes(placed), cores_of_nodes(placed), strict=True)
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
    """Carry out the tasks of a case at a point.

    Parameters
    ----------
    program : Path
        `SOURCE`, built: see `workflows.simulation.programs.build`.
    case : Case
        See `workflows.traffic.cases.has_array`.
    task_seconds : float
        What a task computes, on average.
    draw : int, optional
        Which one of what each task computes (see `spread_out`), and of how long whoever has a core first
        keeps it: up to two turns, so that the turns of two cores have nothing to do with each other.

    Returns
    -------
    dict
        ``seconds``, ``rows``, ``servers``, ``waiting`` and ``busy_share`` as a run of the case gives them
        (see `workflows.benchmarks.data_servers.data_servers`); ``simulation_cpu_seconds``,
        ``simulation_memory_bytes``.

    Raises
    ------
    InputError
        The model's topology has fewer nodes, or whatever ends the simulation: one line.
    """
    blocks, block_bytes = case.parameters["blocks"], 8 * case.parameters["block_doubles"]
    way, ranks = way_to_wait(case, point), ranks_of(case, point)
    works = spread_out(task_seconds, case.parameters["tasks"], scheduler.spread, draw)
    first = np.random.default_rng(draw).uniform(0.0, 2 * scheduler.turn, (point.nodes, point.cores))
    tasks = [(*blocks_of_task(task, blocks), seconds) for task, seconds in enumerate(works)]
    with tempfile.TemporaryDirectory() as scratch:
        platform = Path(scratch) / "platform.xml"
        platform.write_text(platform_xml(model, point.nodes, 1.0))
        placed = [(*rank, first[rank[:2]]) for rank in ranks]
        lists = [_write(Path(scratch) / name, rows) for name, rows in (("ranks", placed), ("tasks", tasks))]
        size = (blocks, block_bytes, 8 * REQUEST_WORDS)
        times = (scheduler.turn, scheduler.change, scheduler.nap, scheduler.look)
        what = f"{point.case} on {point.in_words} over {point.interconnect}"
        arguments = (platform, *lists, *size, way, *times)
        done = programs.run(program, arguments, f"{what}: cannot be carried out")
    seconds: defaultdict[str, list[float]] = defaultdict(list)
    for operation, taken in done.of("operation"):
        seconds[operation].append(float(taken))
    servers = point.running - point.processes
    return {
        "seconds": float(done.of("tasks")[0][0]),
        "rows": operation_rows(seconds, block_bytes),
        "servers": servers,
        "waiting": ("sleep" if way == "sleeping" else "receive") if servers else None,
        "busy_share": {
            name: statistics.mean(shares) if shares else None
            for name, computes in (("processes", "1"), ("servers", "0"))
            for shares in [[float(share) for which, share in done.of("busy") if which == computes]]
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
    """Carry out the tasks of a case: each draw with the median of its serial times, one with the extremes.

    Parameters
    ----------
    serial_seconds : sequence of float (3,)
        What all tasks take on one core: at least, by the median, at most.
    threads : int
        Simulations that run at the same time.

    Returns
    -------
    dict
        ``seconds``: median of the draws; ``seconds_low``, ``seconds_high``: lowest and highest of all;
        ``details``: all else of `carry_out` of the median, and ``task_seconds``.
    """
    shortest, median, longest = (seconds / case.parameters["tasks"] for seconds in serial_seconds)
    wanted = [*((median, draw) for draw in range(DRAWS)), (shortest, 0), (longest, 0)]

    def carried(one: tuple[float, int]) -> dict[str, Any]:
        return carry_out(program, model, case, point, one[0], draw=one[1])

    with ThreadPoolExecutor(threads) as pool:
        all_told = list(pool.map(carried, wanted))
    told = sorted(all_told[:DRAWS], key=itemgetter("seconds"))[DRAWS // 2]
    all_seconds = [one["seconds"] for one in all_told]
    return {
        "seconds": told.pop("seconds"),
        "seconds_low": min(all_seconds),
        "seconds_high": max(all_seconds),
        "details": {"task_seconds": median} | told,
    }


def spread_out(task_seconds: float, tasks: int, spread: float, draw: int = 0) -> NDArray[np.float64]:
    """Draw what each task computes, seconds: the same for every interconnect, with the given mean.

    `spread` is the standard deviation over the mean.
    """
    drawn = np.maximum(np.random.default_rng(draw).normal(1.0, spread, tasks), 0.0)
    seconds: NDArray[np.float64] = task_seconds * drawn / drawn.mean()
    return seconds


def _write(file: Path, rows: Sequence[tuple[float, ...]]) -> Path:
    file.write_text("".join(" ".join(map(str, row)) + "\n" for row in rows))
    return file
