"""Benchmarks of successive message sizes, in short batches. A program calls `main`.

A program is a generator of tasks that all ranks run in the same order. After a task, the generator receives
the row of the task, which is the same on every rank. Every decision depends on times that all ranks know. So
all ranks do the same, and no rank waits for ever. The seconds of a task limit its number of iterations. If
the network hangs, the time limit of the run ends the run. After an exception on a rank, ``python -m mpi4py``
ends the run.
"""

from __future__ import annotations

import functools
import gc
import math
import statistics
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

from mpi4py import MPI

from workflows.benchmarks import PERCENTILES, percentile
from workflows.benchmarks.program import Result, start

BATCH_SECONDS = 1e-4
"""Minimum duration of a batch, so that the cost of the clock does not matter."""

FEWEST_BATCHES = 3
MOST_BATCHES = 200
_WARM_UP_SHARE = 0.1
_AGREEMENTS = 10
"""How often during a task the ranks agree on whether its time is over."""

Row = dict[str, Any]
Tasks = Generator["Task", Row, None]


@dataclass(frozen=True)
class Task:
    """Measurement of a message size, on one rank.

    Attributes
    ----------
    labels : dict
        ``bytes`` (None without messages), and other values that distinguish the rows.
    iterate : callable
        Performs a number of iterations; returns the seconds that count, or None if all count.
    fill : callable
        Fills the sent message with the content of round 0 or 1.
    check : callable
        Counts the received bytes that differ from the content of the given round.
    seconds : float
        Duration of the task. The task takes longer only if `FEWEST_BATCHES` batches need more time.
    times_it : bool
        Whether the time of this rank counts.
    messages : int
        Number of successive messages in an iteration, by which times are divided (2 in a ping-pong).
    moved_bytes : int or None
        Bytes that all processes send in the time of a message; None for a collective operation.
    multiple : int
        The iterations of a batch are a multiple of this number.
    together : bool
        Whether ranks wait for each other before each batch.
    single_iterations : bool
        Whether a batch is a single iteration, and the shortest time of a rank counts instead of the mean. All
        ranks have the same value.
    """

    labels: Row
    iterate: Callable[[int], float | None]
    fill: Callable[[int], None]
    check: Callable[[int], int]
    seconds: float
    times_it: bool = True
    messages: int = 1
    moved_bytes: int | None = None
    multiple: int = 1
    together: bool = False
    single_iterations: bool = False


def main(program: Callable[..., Tasks]) -> None:
    """Run a benchmark of successive message sizes with the parameters of the case; print its rows.

    Parameters
    ----------
    program : callable
        Takes the communicator and the parameters; yields the tasks.
    """

    @functools.wraps(program)
    def sweep(comm: MPI.Comm, **parameters: Any) -> Result:
        rows, wrong_bytes = run(comm, program(comm, **parameters))
        seconds = summary([row["seconds_p50"] for row in rows if row["summary"]])
        return {"seconds": seconds, "answer": wrong_bytes, "rows": rows}

    start(sweep)


def run(comm: MPI.Comm, tasks: Tasks) -> tuple[list[Row], int]:
    """Measure tasks one after another; send the row of each back to the generator `tasks`.

    Returns
    -------
    rows : list of dict
        One row of results per task.
    wrong_bytes : int
        Received bytes, over all ranks, that differ from the sent bytes.
    """
    rows: list[Row] = []
    wrong_bytes = 0
    gc.disable()  # a collection would be part of a timed batch
    while True:
        try:
            task = tasks.send(rows[-1]) if rows else next(tasks)
        except StopIteration:
            return rows, wrong_bytes
        if not rows:
            task.iterate(task.multiple)  # makes connections, which may take longer than the task
        row, wrong = measure(comm, task)
        rows.append(row)
        wrong_bytes += wrong


def measure(comm: MPI.Comm, task: Task) -> tuple[Row, int]:
    """Warm up, time and check a task. Warm-up and timing send different contents.

    Returns
    -------
    dict
        The labels; ``n`` batches of ``iterations`` each; percentiles over the batches of the time of a
        message (mean over the ranks that time it, or the shortest); the lowest and the highest median of a
        rank; the share of a core that the ranks kept busy; whether the row counts for the summary time.
    int
        Number of wrong bytes on all ranks.
    """
    task.fill(0)
    comm.Barrier()
    seconds_per_iteration = _warm_up(comm, task)
    wrong = task.check(0)
    batch = 0.0 if task.single_iterations else BATCH_SECONDS
    iterations = task.multiple * max(1, round(batch / seconds_per_iteration / task.multiple))
    most = int(min(max(task.seconds / (iterations * seconds_per_iteration), FEWEST_BATCHES), MOST_BATCHES))
    task.fill(1)
    comm.Barrier()
    times, busy = _batches(comm, task, iterations, most)
    wrong += task.check(1)
    times_of_ranks = [rank for rank in comm.allgather(times if task.times_it else None) if rank]
    factor = 1 / (iterations * task.messages)
    combine = min if task.single_iterations else statistics.fmean
    batches = [factor * combine(batch) for batch in zip(*times_of_ranks, strict=True)]
    medians = [factor * statistics.median(times) for times in times_of_ranks]
    size = task.labels["bytes"]
    row = {
        **task.labels,
        "summary": not size or size & (size - 1) == 0,
        "n": len(times),
        "iterations": iterations,
        "moved_bytes": task.moved_bytes,
        **{f"seconds_p{share}": percentile(batches, share) for share in PERCENTILES},
        "seconds_lowest_rank": min(medians),
        "seconds_highest_rank": max(medians),
        "busy_share": comm.allreduce(busy) / comm.size,
    }
    return row, comm.allreduce(wrong)


def _warm_up(comm: MPI.Comm, task: Task) -> float:
    """Iterate until the warm-up's time is over; return the shortest seconds of an iteration.

    The first iterations also wait for connections. Their time counts only if the warm-up ends after them.
    """
    limit = min(_WARM_UP_SHARE * task.seconds, 10 * BATCH_SECONDS)
    iterations, least, spent = task.multiple, math.inf, 0.0
    while True:
        start = MPI.Wtime()
        task.iterate(iterations)
        seconds: float = comm.allreduce(MPI.Wtime() - start, MPI.MAX)
        first, spent, least = spent == 0, spent + seconds, min(least, seconds / iterations)
        if spent >= (task.seconds if first else limit):
            return least
        iterations *= 1 if first else 2


def _batches(comm: MPI.Comm, task: Task, iterations: int, most: int) -> tuple[list[float], float]:
    """Time at most `most` batches, fewer if the time of the task is over.

    Returns
    -------
    list of float
        Seconds of each batch on this rank. All ranks have the same number of batches.
    float
        Share of the time for which this rank kept its core busy.
    """
    times: list[float] = []
    elapsed = busy = 0.0
    iterate, clock = task.iterate, MPI.Wtime
    while len(times) < most and (not times or comm.allreduce(elapsed, MPI.MAX) < task.seconds):
        began, busy_before = clock(), time.process_time()
        for _ in range(min(max(most // _AGREEMENTS, FEWEST_BATCHES), most - len(times))):
            if task.together:
                comm.Barrier()
            start = clock()
            counted = iterate(iterations)
            times.append(clock() - start if counted is None else counted)
        elapsed += clock() - began
        busy += time.process_time() - busy_before
    return times, busy / elapsed


def summary(seconds: list[float]) -> float:
    """Return the geometric mean of times.

    The ratio of two geometric means is the geometric mean of the ratios. So each message size has the same
    weight in a comparison; in a sum, only the largest message would count.
    """
    return statistics.geometric_mean(seconds)
