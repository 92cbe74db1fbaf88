"""What a trace communicates: calls and bytes by action and size, and by pair of ranks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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
    calls, bytes : Counter
        By action and largest size of the class (None for the last one). The size of a collective call is
        what a rank contributes (receives, in a scatter); ``wait`` and ``barrier`` have size 0.
    messages, volume : Counter
        By pair (from, to): messages, one-sided transfers included, and their bytes. What collective calls
        send is not in it: that is the MPI library's choice.
    """

    compute_seconds: list[float]
    calls: Counter[tuple[str, int | None]]
    bytes: Counter[tuple[str, int | None]]
    messages: Counter[tuple[int, int]]
    volume: Counter[tuple[int, int]]

    def operations(self) -> list[dict[str, int | str | None]]:
        """Rows of ``profile.csv``, `OPERATION_COLUMNS`, in order."""
        order = sorted(self.calls, key=lambda key: (key[0], key[1] is None, key[1] or 0))
        return [
            {"operation": name, "largest_bytes": largest, "calls": self.calls[name, largest]}
            | {"bytes": self.bytes[name, largest]}
            for name, largest in order
        ]

    def pairs(self) -> list[dict[str, int]]:
        """Rows of ``pairs.csv``, `PAIR_COLUMNS`, in order."""
        return [
            {"source": source, "target": target, "messages": count, "bytes": self.volume[source, target]}
            for (source, target), count in sorted(self.messages.items())
        ]


def profile(ranks: Sequence[Mapping[str, int]]) -> Profile:
    """Sum up the lines of all ranks.

    Parameters
    ----------
    ranks : sequence of mapping of str to int
        By rank: how often there is each line; with or without ``init`` and ``finalize``.
    """
    computed = [0] * len(ranks)
    sizes: Counter[tuple[str, int]] = Counter()
    sent: Counter[tuple[int, int, int]] = Counter()
    for rank, lines in enumerate(ranks):
        for line, count in lines.items():
            _, name, *words = line.split(" ")
            if name == "compute":
                computed[rank] += int(words[0]) * count
            elif name not in ("init", "finalize"):
                size = _size(name, words, len(ranks))
                sizes[name, size] += count
                if name in ("send", "isend", "put", "accumulate"):
                    sent[rank, int(words[0]), size] += count
                elif name in ("get", "fetch"):
                    sent[int(words[0]), rank, size] += count
    calls, volumes = Counter(), Counter()
    for (name, size), count in sizes.items():
        largest = next((largest for largest in SIZE_CLASSES if size <= largest), None)
        calls[name, largest] += count
        volumes[name, largest] += count * size
    messages, volume = Counter(), Counter()
    for (source, target, size), count in sent.items():
        messages[source, target] += count
        volume[source, target] += count * size
    return Profile([nanoseconds * 1e-9 for nanoseconds in computed], calls, volumes, messages, volume)


def _size(name: str, words: Sequence[str], processes: int) -> int:
    if name in ("wait", "barrier"):
        return 0
    if name in ONE_SIDED:
        return int(words[1])
    if name == "scatterv":
        return int(words[processes])
    if name == "reducescatter":
        return sum(map(int, words[:processes]))
    return int(words[0] if name in COLLECTIVES else words[2])
