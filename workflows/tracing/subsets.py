"""Collective calls of a subset of ranks as point-to-point messages.

The replay has only collective calls of all ranks.

The algorithms are the usual binomial trees, recursive doubling, rings and chains. As for collectives of all
ranks, a trace does not contain the algorithm that the MPI library used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

TAG = 1 << 30
"""Tag of these messages; programs use smaller tags."""

Step = tuple[str, int, int]
"""Action, index of the partner in the subset, and bytes."""


def messages(name: str, arguments: Sequence[int], members: Sequence[int], rank: int) -> list[str]:
    """Return the trace lines of a rank for a collective call of a subset.

    Parameters
    ----------
    name : str
        Name of the collective action, such as ``allreduce``; other names raise `KeyError`.
    arguments : sequence of int
        Arguments of the action; a root is an index in the subset.
    members : sequence of int
        World ranks of the subset, in its order.
    rank : int
        World rank whose lines are returned.
    """
    lines = []
    for action, place, size in _STEPS[name](members.index(rank), len(members), *arguments):
        other = members[place]
        if action == "wait":
            lines.append(f"{rank} wait {rank} {other} {TAG}")
        else:
            lines.append(f"{rank} {action} {other} {TAG} {size}")
    return lines


def _swap(target: int, source: int, sent: int, received: int) -> Iterator[Step]:
    """Send to the `target` member while receiving from the `source` member."""
    yield "isend", target, sent
    yield "recv", source, received
    yield "wait", target, 0


def _barrier(me: int, count: int) -> Iterator[Step]:
    distance = 1
    while distance < count:  # dissemination
        yield from _swap((me + distance) % count, (me - distance) % count, 0, 0)
        distance *= 2


def _bcast(me: int, count: int, size: int, root: int = 0) -> Iterator[Step]:
    relative, bit = (me - root) % count, 1
    while bit < count and not relative & bit:
        bit *= 2
    if relative:
        yield "recv", (relative - bit + root) % count, size
    while bit > 1:
        bit //= 2
        if relative + bit < count:
            yield "send", (relative + bit + root) % count, size


def _reduce(me: int, count: int, size: int, _computed: int = 0, root: int = 0) -> Iterator[Step]:
    for action, partner, amount in reversed(list(_bcast(me, count, size, root))):  # the tree, upwards
        yield "recv" if action == "send" else "send", partner, amount


def _allreduce(me: int, count: int, size: int, _computed: int = 0) -> Iterator[Step]:
    if count & (count - 1):  # no power of two
        yield from _reduce(me, count, size)
        yield from _bcast(me, count, size)
        return
    distance = 1
    while distance < count:
        yield from _swap(me ^ distance, me ^ distance, size, size)
        distance *= 2


def _gather(me: int, count: int, size: int, _received: int, root: int = 0) -> Iterator[Step]:
    yield from _gatherv(me, count, size, *[size] * count, root)


def _gatherv(me: int, count: int, size: int, *counts_and_root: int) -> Iterator[Step]:
    *counts, root = counts_and_root
    if me != root:
        yield "send", root, size
        return
    for place in range(count):
        if place != root:
            yield "recv", place, counts[place]


def _scatter(me: int, count: int, size: int, _received: int, root: int = 0) -> Iterator[Step]:
    yield from _scatterv(me, count, *[size] * count, size, root)


def _scatterv(me: int, count: int, *counts_size_root: int) -> Iterator[Step]:
    *counts, size, root = counts_size_root
    if me != root:
        yield "recv", root, size
        return
    for place in range(count):
        if place != root:
            yield "send", place, counts[place]


def _allgather(me: int, count: int, size: int, _received: int) -> Iterator[Step]:
    yield from _allgatherv(me, count, size, *[size] * count)


def _allgatherv(me: int, count: int, _size: int, *counts: int) -> Iterator[Step]:
    for step in range(count - 1):  # a ring: forward the last received part
        sent, received = counts[(me - step) % count], counts[(me - step - 1) % count]
        yield from _swap((me + 1) % count, (me - 1) % count, sent, received)


def _alltoall(me: int, count: int, size: int, _received: int) -> Iterator[Step]:
    for step in range(1, count):
        yield from _swap((me + step) % count, (me - step) % count, size, size)


def _alltoallv(me: int, count: int, _sent: int, *rest: int) -> Iterator[Step]:
    sent, received = rest[:count], rest[count + 1 :]
    for step in range(1, count):
        target, source = (me + step) % count, (me - step) % count
        yield from _swap(target, source, sent[target], received[source])


def _reducescatter(me: int, count: int, *counts_and_computed: int) -> Iterator[Step]:
    counts = counts_and_computed[:count]
    yield from _reduce(me, count, sum(counts))
    yield from _scatterv(me, count, *counts, counts[me], 0)


def _scan(me: int, count: int, size: int, _computed: int = 0) -> Iterator[Step]:
    if me > 0:
        yield "recv", me - 1, size
    if me < count - 1:
        yield "send", me + 1, size


_STEPS: dict[str, Callable[..., Iterator[Step]]] = {
    "barrier": _barrier,
    "bcast": _bcast,
    "reduce": _reduce,
    "allreduce": _allreduce,
    "gather": _gather,
    "gatherv": _gatherv,
    "scatter": _scatter,
    "scatterv": _scatterv,
    "allgather": _allgather,
    "allgatherv": _allgatherv,
    "alltoall": _alltoall,
    "alltoallv": _alltoallv,
    "reducescatter": _reducescatter,
    "scan": _scan,
    "exscan": _scan,
}

COLLECTIVES = frozenset(_STEPS)
"""Names of collective actions."""
