"""What a trace communicates: calls and bytes by action and size, and by pair of ranks."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workflows.tracing.subsets import COLLECTIVES
from workflows.tracing.trace import ONE_SIDED

SIZE_CLASSES = (0, 8, 64, 512, 4096, 32768, 262144, 2097152)
"""Largest size of each class, bytes; what is larger is in a class without a largest size."""

OPERATION_COLUMNS = ("operation", "largest_bytes", "calls", "bytes")
PAIR_COLUMNS = ("source", "target", "messages", "bytes")


@dataclass(frozen=True)
class Profile:
    """What the ranks of a trace do.

    Attributes
    ----------
    compute_seconds : list of float
        By rank: computing, as it was taken.
    operations : list of dict
        Rows of ``profile.csv``, `OPERATION_COLUMNS`, by action and largest size of the class (None for the
        last one), in order. The size of a collective call is what a rank contributes (receives, in a
        scatter); ``wait`` and ``barrier`` have size 0.
    pairs : list of dict
        Rows of ``pairs.csv``, `PAIR_COLUMNS`, in order: messages, one-sided transfers included, and their
        bytes. What collective calls send is not in them: that is the MPI library's choice.
    """

    compute_seconds: list[float]
    operations: list[dict[str, Any]]
    pairs: list[dict[str, Any]]


def profile(ranks: Sequence[Mapping[str, int]]) -> Profile:
    """Sum up the lines of all ranks.

    Parameters
    ----------
    ranks : sequence of mapping of str to int
        By rank: how often there is each line; with or without ``init`` and ``finalize``.
    """
    computed = [0] * len(ranks)
    calls, volumes, messages, sent = (defaultdict(int) for _ in range(4))
    for rank, lines in enumerate(ranks):
        for line, count in lines.items():
            _, name, *words = line.split(" ")
            if name == "compute":
                computed[rank] += int(words[0]) * count
            elif name not in ("init", "finalize"):
                size = _size(name, words, len(ranks))
                of_class = name, bisect_left(SIZE_CLASSES, size)
                calls[of_class] += count
                volumes[of_class] += count * size
                if name in ("send", "isend", "put", "accumulate", "get", "fetch"):
                    other = int(words[0])
                    pair = (other, rank) if name in ("get", "fetch") else (rank, other)
                    messages[pair] += count
                    sent[pair] += count * size
    operations = [
        (name, (*SIZE_CLASSES, None)[place], calls[name, place], volumes[name, place])
        for name, place in sorted(calls)
    ]
    pairs = [(*pair, messages[pair], sent[pair]) for pair in sorted(messages)]
    return Profile(
        [nanoseconds * 1e-9 for nanoseconds in computed],
        [dict(zip(OPERATION_COLUMNS, row, strict=True)) for row in operations],
        [dict(zip(PAIR_COLUMNS, row, strict=True)) for row in pairs],
    )


def _size(name: str, words: Sequence[str], processes: int) -> int:
    if name in ("wait", "barrier", "flush", "window"):
        return 0
    if name in ONE_SIDED:
        return int(words[1])
    if name == "scatterv":
        return int(words[processes])
    if name == "reducescatter":
        return sum(map(int, words[:processes]))
    return int(words[0] if name in COLLECTIVES else words[2])
