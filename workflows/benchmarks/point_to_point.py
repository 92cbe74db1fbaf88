"""Messages between two processes: in turn, at the same time, during work, and in many pairs at once.

Persistent requests keep the overhead of Python low: each message only calls ``Start`` and ``Wait``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import combinations, cycle, repeat

from mpi4py import MPI

from workflows.benchmarks.messages import content, netpipe_sizes, pages, powers, wrong_bytes
from workflows.benchmarks.sweep import FEWEST_BATCHES, Row, Task, Tasks

_LOOPS = 20_000
"""Number of loops with which the duration of a loop of work is measured."""

_PIECE_BYTES = 4096
"""Memory that work copies between two readings of the clock, in about 0.3 µs."""


class Side:
    """A rank's side of a pair, with memory for a message to the partner and a message from the partner."""

    def __init__(self, comm: MPI.Comm, largest: int) -> None:
        self.comm = comm
        self.sent, self.received = pages(largest), pages(largest)

    def fill(self, size: int) -> Callable[[int], None]:
        """Return a function that fills the message to send with the content of a round."""

        def fill(number: int) -> None:
            self.sent[:size] = content(2 * self.comm.rank + number, size)

        return fill

    def check(self, size: int, partner: int) -> Callable[[int], int]:
        """Return a function that counts wrong bytes in the received message."""
        return lambda number: wrong_bytes(self.received[:size], content(2 * partner + number, size))

    @contextmanager
    def requests(self, size: int, partner: int) -> Iterator[tuple[MPI.Prequest, MPI.Prequest]]:
        """Yield persistent requests to send and to receive `size` bytes."""
        send = self.comm.Send_init([self.sent, size, MPI.BYTE], partner)
        receive = self.comm.Recv_init([self.received, size, MPI.BYTE], partner)
        try:
            yield send, receive
        finally:
            send.Free()
            receive.Free()


def ping_pong(side: Side, first: int, last: int, size: int, seconds: float) -> Tasks:
    """Yield the task that times half a round trip between two ranks, by the clock of the first rank.

    A single rank sends to itself. Other ranks get a task in which they wait.
    """
    if first == last:
        yield from exchange(side, first, size, seconds, {})
        return
    rank = side.comm.rank
    if rank not in (first, last):
        yield _idle({"bytes": size}, seconds, moved=size, messages=2)
        return
    partner = last if rank == first else first
    with side.requests(size, partner) as (send, receive):
        yield Task(
            {"bytes": size},
            _in_turn(send, receive) if rank == first else _in_turn(receive, send),
            side.fill(size),
            side.check(size, partner),
            seconds,
            times_it=rank == first,
            messages=2,
            moved_bytes=size,
        )


def _in_turn(earlier: MPI.Prequest, later: MPI.Prequest) -> Callable[[int], None]:
    start_earlier, end_earlier = earlier.Start, earlier.Wait
    start_later, end_later = later.Start, later.Wait

    def iterate(count: int) -> None:
        for _ in repeat(None, count):
            start_earlier()
            end_earlier()
            start_later()
            end_later()

    return iterate


def exchange(
    side: Side, partner: int | None, size: int, seconds: float, labels: Row, loops: int = 0
) -> Generator[Task, Row, Row]:
    """Yield the task that times an exchange, in which both partners send at the same time; return its row.

    Parameters
    ----------
    partner : int or None
        None for a rank that only waits.
    loops : int
        Number of loops of work that each rank does during an exchange.
    """
    labels = {"bytes": size, **labels}
    moved = 2 * size * labels.get("pairs", 1)
    together = "pairs" in labels
    if partner is None:
        return (yield _idle(labels, seconds, moved, together=together))
    with side.requests(size, partner) as (send, receive):
        start_send, end_send, start, end = send.Start, send.Wait, receive.Start, receive.Wait

        def iterate(count: int) -> None:
            for _ in repeat(None, count):
                start()
                start_send()
                for _ in repeat(None, loops):
                    pass
                end()
                end_send()

        return (
            yield Task(
                labels,
                iterate,
                side.fill(size),
                side.check(size, partner),
                seconds,
                moved_bytes=moved,
                together=together,
            )
        )


def _partner(comm: MPI.Comm) -> int | None:
    """Return the partner of this rank: the first and the last rank are partners. None for other ranks."""
    return {0: comm.size - 1, comm.size - 1: 0}.get(comm.rank)


def _idle(labels: Row, seconds: float, moved: int, messages: int = 1, together: bool = False) -> Task:
    """Return the task of a rank that only waits."""
    return Task(
        labels,
        iterate=lambda count: None,
        fill=lambda number: None,
        check=lambda number: 0,
        seconds=seconds,
        times_it=False,
        messages=messages,
        moved_bytes=moved,
        together=together,
    )


def pingpong_sweep(
    comm: MPI.Comm, largest_bytes: int, perturbation_bytes: int, seconds: float, between: int
) -> Tasks:
    """Time a ping-pong between the first and the last rank over all sizes."""
    side, sizes = Side(comm, largest_bytes), netpipe_sizes(largest_bytes, perturbation_bytes, between)
    for size in sizes:
        yield from ping_pong(side, 0, comm.size - 1, size, seconds / len(sizes))


def sendrecv_sweep(
    comm: MPI.Comm, largest_bytes: int, perturbation_bytes: int, seconds: float, between: int
) -> Tasks:
    """Time an exchange between the first and the last rank over all sizes."""
    side, sizes = Side(comm, largest_bytes), netpipe_sizes(largest_bytes, perturbation_bytes, between)
    partner = _partner(comm)
    for size in sizes:
        yield from exchange(side, partner, size, seconds / len(sizes), {})


def pair_matrix(comm: MPI.Comm, small_bytes: int, large_bytes: int, seconds: float) -> Tasks:
    """Time ping-pongs of a small and a large message between all pairs of ranks, one pair at a time."""
    side = Side(comm, max(small_bytes, large_bytes))
    couples = list(combinations(range(comm.size), 2)) or [(0, 0)]
    for first, last in couples:
        for size in (small_bytes, large_bytes):
            for task in ping_pong(side, first, last, size, seconds / len(couples) / 2):
                task.labels.update(source=first, target=last)
                yield task


def simultaneous_pairs(comm: MPI.Comm, largest_bytes: int, seconds: float) -> Tasks:
    """Time exchanges in 1, 2, 4 ... pairs at the same time.

    Rank r of the first half of the ranks and rank r of the second half form a pair. Ranks are numbered node
    by node. So on two nodes, all pairs share the two adapters.
    """
    side, half = Side(comm, largest_bytes), comm.size // 2
    sizes = [0, *powers(largest_bytes, smallest=8)]
    counts = sorted({*powers(half), half}) if half else [1]
    for pairs in counts:
        partner: int | None = 0
        if half:
            is_active = comm.rank < 2 * half and comm.rank % half < pairs
            partner = (comm.rank + half) % (2 * half) if is_active else None
        for size in sizes:
            share = seconds / len(sizes) / len(counts)
            yield from exchange(side, partner, size, share, {"pairs": pairs})


def availability_sweep(comm: MPI.Comm, largest_bytes: int, seconds: float) -> Tasks:
    """Time an exchange, work, and work during an exchange, over all sizes.

    The work takes twice as long as the exchange. The time that the exchange adds to the work is overhead of
    the processor. The rest of the time of the exchange is available to the application.
    """
    side, sizes, partner = Side(comm, largest_bytes), [0, *powers(largest_bytes)], _partner(comm)
    loop_seconds = _seconds_of_a_loop(comm)
    for size in sizes:
        share = seconds / len(sizes) / 5
        alone = yield from exchange(side, partner, size, share, {"part": "exchange"})
        loops = math.ceil(2 * alone["seconds_p50"] / loop_seconds)
        yield _work(size, loops, 2 * share, partner is not None)
        yield from exchange(side, partner, size, 2 * share, {"part": "exchange_and_work"}, loops)


def after_work_sweep(comm: MPI.Comm, longest_us: int, seconds: float, memory_bytes: int) -> Tasks:
    """Time exchanges of empty messages, without work and after work of 8 µs and more.

    During the work, caches and branch predictors lose the code that sends and receives.
    """
    side, partner, lengths = Side(comm, 1), _partner(comm), [0, *powers(longest_us, smallest=8)]
    work = _memory_work(memory_bytes)
    for us in lengths:
        labels = {"part": f"after_{us}_us"}
        for task in exchange(side, partner, 0, seconds / len(lengths), labels):
            yield _after(work, us, task)


def _memory_work(memory_bytes: int) -> Callable[[float], None]:
    """Return a function that works for a number of µs by copying pieces of memory.

    The copies leave the caches in a state like that after an application's computing.
    """
    clock = MPI.Wtime
    memory, half = memoryview(pages(memory_bytes)), memory_bytes // 2
    starts = range(0, half, _PIECE_BYTES)
    pieces = cycle([(memory[at : at + _PIECE_BYTES], memory[half + at :][:_PIECE_BYTES]) for at in starts])

    def work(us: float) -> None:
        end = clock() + us * 1e-6
        while clock() < end:
            target, source = next(pieces)
            target[:] = source

    return work


def _after(work: Callable[[float], None], us: float, task: Task) -> Task:
    """Return a task with `us` microseconds of untimed work before each exchange.

    The rank that ends its work first waits for its partner. So the shorter time of the two ranks is the time
    of the exchange.
    """
    clock, communicate = MPI.Wtime, task.iterate

    def iterate(count: int) -> float:
        seconds = 0.0
        for _ in repeat(None, count):
            work(us)
            seconds -= clock()
            communicate(1)
            seconds += clock()
        return seconds

    return replace(task, iterate=iterate if task.times_it else task.iterate, single_iterations=True)


def flush_sweep(comm: MPI.Intracomm, seconds: float) -> Tasks:
    """Time a flush from the first rank to the last when no one-sided call is under way."""
    window, last = MPI.Win.Allocate(1, comm=comm), comm.size - 1
    window.Lock_all()

    def iterate(count: int) -> None:
        for _ in repeat(None, count):
            window.Flush(last)

    idle = _idle({"bytes": None}, seconds, moved=0)
    yield replace(idle, iterate=iterate, times_it=True) if comm.rank == 0 else idle
    window.Unlock_all()
    window.Free()


def window_sweep(comm: MPI.Intracomm, seconds: float) -> Tasks:
    """Time making and freeing a window for one-sided calls."""

    def iterate(count: int) -> None:
        for _ in repeat(None, count):
            MPI.Win.Allocate(1, comm=comm).Free()

    yield replace(_idle({"bytes": None}, seconds, moved=0), iterate=iterate, times_it=True)


def _seconds_of_a_loop(comm: MPI.Comm) -> float:
    """Return the seconds that a loop of work takes on the fastest rank."""

    def loops_seconds() -> float:
        start = MPI.Wtime()
        for _ in repeat(None, _LOOPS):
            pass
        return MPI.Wtime() - start

    seconds: float = comm.allreduce(min(loops_seconds() for _ in range(FEWEST_BATCHES)), MPI.MIN)
    return seconds / _LOOPS


def _work(size: int, loops: int, seconds: float, is_active: bool) -> Task:
    """Return the task that times work without messages."""

    def iterate(count: int) -> None:
        for _ in repeat(None, count):
            for _ in repeat(None, loops):
                pass

    idle = _idle({"bytes": size, "part": "work"}, seconds, moved=0)
    return idle if not is_active else Task(idle.labels, iterate, idle.fill, idle.check, seconds)
