"""Measuring a benchmark message size by message size, in short batches; `main` is what a program calls.

A program is a generator of tasks that all ranks run alike. What it is sent for a task is the task's row, the
same on every rank. Whatever is decided while measuring is decided from times that all ranks know, so no rank
can wait for a rank that does something else. Every count is bounded by the seconds of its task; a network
that hangs is ended by the time limit of the run, and an exception on one rank by ``python -m mpi4py``.
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
from workflows.benchmarks.program import Told, start

BATCH_SECONDS = 1e-4
"""A batch is at least one message, and as many as take this long: the clock's own cost is then nothing."""

FEWEST_BATCHES = 3
MOST_BATCHES = 200
_WARM_UP_SHARE = 0.1
_AGREEMENTS = 10
"""Times that the ranks agree during a task on whether its time is over."""

Row = dict[str, Any]
Tasks = Generator["Task", Row, None]


@dataclass(frozen=True)
class Task:
    """A message size of a benchmark, on one rank.

    Attributes
    ----------
    labels : dict
        What the row is of: ``bytes`` (None where there is no message), and how else it differs from others.
    iterate : callable
        Does so many iterations; gives the seconds of them that count, or None where all do.
    fill : callable
        Fills what is sent with the content of round 0 or 1.
    check : callable
        Counts the bytes received that are not of that round.
    seconds : float
        What the task may take; more only where even `FEWEST_BATCHES` messages do.
    times_it : bool
        Whether the time of this rank counts.
    messages : int
        Messages one after the other in an iteration: a time is divided by it (2 in a ping-pong).
    moved_bytes : int or None
        Bytes that all processes together send in the time of one message; None for a collective.
    multiple : int
        Iterations of a batch are a multiple of it.
    together : bool
        Whether ranks wait for each other before each batch.
    one_by_one : bool
        Whether a batch is one iteration, of which the shortest time of a rank counts, not the mean: the
        same on all ranks, since batches are counted by it.
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
    one_by_one: bool = False


def main(program: Callable[..., Tasks]) -> None:
    """Run a benchmark message size by message size with the parameters of the case's size; print its rows.

    Parameters
    ----------
    program : callable
        Takes the communicator and the parameters; gives the tasks.
    """

    @functools.wraps(program)
    def sweep(comm: MPI.Comm, **parameters: Any) -> Told:
        rows, wrong_bytes = run(comm, program(comm, **parameters))
        seconds = summary([row["seconds_p50"] for row in rows if row["summary"]])
        return {"seconds": seconds, "answer": wrong_bytes, "rows": rows}

    start(sweep)


def run(comm: MPI.Comm, tasks: Tasks) -> tuple[list[Row], int]:
    """Measure one task after the other: their rows, and wrong bytes on all ranks."""
    rows: list[Row] = []
    wrong_bytes = 0
    gc.disable()
    while True:
        try:
            task = tasks.send(rows[-1] if rows else None)
        except StopIteration:
            return rows, wrong_bytes
        if not rows:
            task.iterate(task.multiple)  # makes the connections, which may take longer than the task
        row, wrong = measure(comm, task)
        rows.append(row)
        wrong_bytes += wrong


def measure(comm: MPI.Comm, task: Task) -> tuple[Row, int]:
    """Warm up, time and check one task; a different content is sent in each of the two.

    Returns
    -------
    dict
        The labels, ``n`` batches of ``iterations`` each, percentiles over the batches of the time of one
        message (mean over the ranks that time it, or the shortest), the lowest and highest rank's median, the
        share of a core that the ranks were busy for, and whether the row counts for the summary time.
    int
        Wrong bytes on all ranks.
    """
    task.fill(0)
    comm.Barrier()
    each = _warm_up(comm, task)
    wrong = task.check(0)
    batch = 0.0 if task.one_by_one else BATCH_SECONDS
    iterations = task.multiple * max(1, round(batch / each / task.multiple))
    most = int(min(max(task.seconds / (iterations * each), FEWEST_BATCHES), MOST_BATCHES))
    task.fill(1)
    comm.Barrier()
    times, busy = _batches(comm, task, iterations, most)
    wrong += task.check(1)
    of_ranks = [of_rank for of_rank in comm.allgather(times if task.times_it else None) if of_rank]
    factor = 1 / (iterations * task.messages)
    of_batch = min if task.one_by_one else statistics.fmean
    batches = [factor * of_batch(batch) for batch in zip(*of_ranks, strict=True)]
    medians = [factor * statistics.median(times) for times in of_ranks]
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
    """Iterate until the warm-up's time is over; gives the least seconds of one iteration.

    What comes first also waits for connections to be made; its time counts only where there is no other.
    """
    limit = min(_WARM_UP_SHARE * task.seconds, 10 * BATCH_SECONDS)
    iterations, least, spent = task.multiple, math.inf, 0.0
    while True:
        start = MPI.Wtime()
        task.iterate(iterations)
        seconds = comm.allreduce(MPI.Wtime() - start, MPI.MAX)
        first, spent, least = spent == 0, spent + seconds, min(least, seconds / iterations)
        if spent >= (task.seconds if first else limit):
            return least
        iterations *= 1 if first else 2


def _batches(comm: MPI.Comm, task: Task, iterations: int, most: int) -> tuple[list[float], float]:
    """Time up to so many batches, fewer where they take longer than the task may.

    Returns
    -------
    list of float
        Seconds of each batch on this rank, as many on every rank.
    float
        Share of the time that this rank's core was busy for it.
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
    """Geometric mean of times.

    The ratio of two such means is the geometric mean of the ratios, so that each message size counts alike
    in a comparison; in a sum, the largest message would be all that counts.
    """
    return math.exp(statistics.fmean(math.log(value) for value in seconds))
