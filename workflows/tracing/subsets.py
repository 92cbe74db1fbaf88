"""Conversion of the collective calls of a subset of ranks to point-to-point messages.

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


def _barrier(me: int, n_members: int) -> Iterator[Step]:
    distance = 1
    while distance < n_members:  # dissemination
        yield from _swap((me + distance) % n_members, (me - distance) % n_members, 0, 0)
        distance *= 2


def _bcast(me: int, n_members: int, size_bytes: int, root: int = 0) -> Iterator[Step]:
    """Binomial tree: receive from the parent, which lacks the lowest set bit; then send to the children."""
    relative, lowest_bit = (me - root) % n_members, 1
    while lowest_bit < n_members and not relative & lowest_bit:
        lowest_bit *= 2
    if relative:
        yield "recv", (relative - lowest_bit + root) % n_members, size_bytes
    distance = lowest_bit // 2
    while distance:
        if relative + distance < n_members:
            yield "send", (relative + distance + root) % n_members, size_bytes
        distance //= 2


def _reduce(me: int, n_members: int, size_bytes: int, _computed: int = 0, root: int = 0) -> Iterator[Step]:
    upwards = reversed(list(_bcast(me, n_members, size_bytes, root)))
    for action, partner, amount in upwards:
        yield "recv" if action == "send" else "send", partner, amount


def _allreduce(me: int, n_members: int, size_bytes: int, _computed: int = 0) -> Iterator[Step]:
    if n_members & (n_members - 1):  # no power of two
        yield from _reduce(me, n_members, size_bytes)
        yield from _bcast(me, n_members, size_bytes)
        return
    distance = 1
    while distance < n_members:
        yield from _swap(me ^ distance, me ^ distance, size_bytes, size_bytes)
        distance *= 2


def _gather(me: int, n_members: int, size_bytes: int, _received: int, root: int = 0) -> Iterator[Step]:
    yield from _gatherv(me, n_members, size_bytes, *[size_bytes] * n_members, root)


def _gatherv(me: int, n_members: int, size_bytes: int, *counts_and_root: int) -> Iterator[Step]:
    *counts, root = counts_and_root
    if me != root:
        yield "send", root, size_bytes
        return
    for place in range(n_members):
        if place != root:
            yield "recv", place, counts[place]


def _scatter(me: int, n_members: int, size_bytes: int, _received: int, root: int = 0) -> Iterator[Step]:
    yield from _scatterv(me, n_members, *[size_bytes] * n_members, size_bytes, root)


def _scatterv(me: int, n_members: int, *counts_size_root: int) -> Iterator[Step]:
    *counts, size_bytes, root = counts_size_root
    if me != root:
        yield "recv", root, size_bytes
        return
    for place in range(n_members):
        if place != root:
            yield "send", place, counts[place]


def _allgather(me: int, n_members: int, size_bytes: int, _received: int) -> Iterator[Step]:
    yield from _allgatherv(me, n_members, size_bytes, *[size_bytes] * n_members)


def _allgatherv(me: int, n_members: int, _size: int, *counts: int) -> Iterator[Step]:
    for step in range(n_members - 1):  # a ring: forward the last received part
        sent, received = counts[(me - step) % n_members], counts[(me - step - 1) % n_members]
        yield from _swap((me + 1) % n_members, (me - 1) % n_members, sent, received)


def _alltoall(me: int, n_members: int, size_bytes: int, _received: int) -> Iterator[Step]:
    for step in range(1, n_members):
        yield from _swap((me + step) % n_members, (me - step) % n_members, size_bytes, size_bytes)


def _alltoallv(me: int, n_members: int, _sent: int, *rest: int) -> Iterator[Step]:
    sent, received = rest[:n_members], rest[n_members + 1 :]
    for step in range(1, n_members):
        target, source = (me + step) % n_members, (me - step) % n_members
        yield from _swap(target, source, sent[target], received[source])


def _reducescatter(me: int, n_members: int, *counts_and_computed: int) -> Iterator[Step]:
    counts = counts_and_computed[:n_members]
    yield from _reduce(me, n_members, sum(counts))
    yield from _scatterv(me, n_members, *counts, counts[me], 0)


def _scan(me: int, n_members: int, size_bytes: int, _computed: int = 0) -> Iterator[Step]:
    if me > 0:
        yield "recv", me - 1, size_bytes
    if me < n_members - 1:
        yield "send", me + 1, size_bytes


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
