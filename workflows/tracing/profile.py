"""Profile of a trace: calls and bytes by action and size, and by pair of ranks."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workflows.tracing.subsets import COLLECTIVES
from workflows.tracing.trace import ONE_SIDED

SIZE_CLASSES = (0, 8, 64, 512, 4096, 32768, 262144, 2097152)
"""Upper limit of each size class, bytes; larger sizes are in a class without a limit."""

OPERATION_COLUMNS = ("operation", "largest_bytes", "calls", "bytes")
PAIR_COLUMNS = ("source", "target", "messages", "bytes")


@dataclass(frozen=True)
class Profile:
    """Computing and communication of the ranks of a trace.

    Attributes
    ----------
    compute_seconds : list of float
        Uncorrected compute time by rank.
    operations : list of dict
        Rows of ``profile.csv`` with `OPERATION_COLUMNS`, sorted by action and size class. The limit of the
        last class is None. The size of a collective call is the bytes that the rank contributes, or receives
        in a scatter; ``wait`` and ``barrier`` have size 0.
    pairs : list of dict
        Rows of ``pairs.csv`` with `PAIR_COLUMNS`, sorted by pair: messages and one-sided transfers with their
        bytes. Messages of collective calls are excluded: the MPI library chooses their number.
    """

    compute_seconds: list[float]
    operations: list[dict[str, Any]]
    pairs: list[dict[str, Any]]


def profile(ranks: Sequence[Mapping[str, int]]) -> Profile:
    """Sum up the lines of all ranks.

    Parameters
    ----------
    ranks : sequence of mapping of str to int
        Count of each distinct line, by rank; ``init`` and ``finalize`` are ignored.
    """
    computed = [0] * len(ranks)
    calls: defaultdict[tuple[str, int], int] = defaultdict(int)
    volumes: defaultdict[tuple[str, int], int] = defaultdict(int)
    messages: defaultdict[tuple[int, int], int] = defaultdict(int)
    sent: defaultdict[tuple[int, int], int] = defaultdict(int)
    for rank, lines in enumerate(ranks):
        for line, count in lines.items():
            _, name, *words = line.split(" ")
            if name == "compute":
                computed[rank] += int(words[0]) * count
            elif name not in ("init", "finalize"):
                size = _size(name, words, len(ranks))
                operation = name, bisect_left(SIZE_CLASSES, size)
                calls[operation] += count
                volumes[operation] += count * size
                if name in ("send", "isend", "put", "accumulate", "get", "fetch"):
                    other = int(words[0])
                    pair = (other, rank) if name in ("get", "fetch") else (rank, other)
                    messages[pair] += count
                    sent[pair] += count * size
    operations = [
        (name, (*SIZE_CLASSES, None)[size_class], calls[name, size_class], volumes[name, size_class])
        for name, size_class in sorted(calls)
    ]
    pairs = [(*pair, messages[pair], sent[pair]) for pair in sorted(messages)]
    return Profile(
        [nanoseconds * 1e-9 for nanoseconds in computed],
        [dict(zip(OPERATION_COLUMNS, row, strict=True)) for row in operations],
        [dict(zip(PAIR_COLUMNS, row, strict=True)) for row in pairs],
    )


def _size(name: str, words: Sequence[str], processes: int) -> int:
    """Return the bytes of an action, as `Profile.operations` counts them; `words` are its arguments."""
    if name in ("wait", "barrier", "flush", "window"):
        return 0
    if name in ONE_SIDED:
        return int(words[1])
    if name == "scatterv":
        return int(words[processes])
    if name == "reducescatter":
        return sum(map(int, words[:processes]))
    return int(words[0] if name in COLLECTIVES else words[2])
