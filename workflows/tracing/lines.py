"""Compact storage of a rank's lines: a run repeats few distinct lines, and each is stored once."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

COMPUTING = -1
"""Index of a line of computing. Most of these lines are unique, so only their amounts are stored."""


@dataclass(frozen=True)
class Lines:
    """Lines of a rank, in order.

    Attributes
    ----------
    rank : int
    distinct : list of str
        Distinct texts of all lines other than computing.
    which : ndarray of int32, shape (lines,)
        Index into `distinct` for each line, or `COMPUTING`.
    amounts : ndarray of int64, shape (lines of computing,)
        Amounts of the lines of computing, in order, in the clock's unit or nanoseconds.
    """

    rank: int
    distinct: list[str]
    which: NDArray[np.int32]
    amounts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.which)

    def __iter__(self) -> Iterator[str]:
        # The last element stands for COMPUTING, which is -1.
        texts = np.array([*self.distinct, ""], dtype=object)[self.which]
        start = _computing(self.rank)
        texts[self.which == COMPUTING] = [f"{start}{amount}" for amount in self.amounts.tolist()]
        return iter(texts.tolist())

    def counts(self) -> Counter[str]:
        """Return the count of each distinct line. A single line holds the sum of all computing."""
        counts: Counter[str] = Counter()
        calls = np.bincount(self.which[self.which != COMPUTING], minlength=len(self.distinct)).tolist()
        for line, count in zip(self.distinct, calls, strict=True):
            counts[line] += count
        if computed := int(self.amounts.sum()):
            counts[f"{_computing(self.rank)}{computed}"] = 1
        return +counts


def pack(rank: int, lines: Sequence[str]) -> Lines:
    """Store each distinct line once.

    Parameters
    ----------
    lines : sequence of str
        Lines of the rank. A line of computing without an integer amount is kept as text.
    """
    indices: defaultdict[str, int] = defaultdict(itertools.count().__next__)
    index_of_line = np.fromiter(map(indices.__getitem__, lines), np.int32, len(lines))
    start = _computing(rank)
    amounts = np.fromiter((_amount(line, start) for line in indices), np.int64, len(indices))
    computing = amounts >= 0
    which = np.where(computing, COMPUTING, np.cumsum(~computing) - 1).astype(np.int32)[index_of_line]
    others = [line for line, amount in zip(indices, amounts.tolist(), strict=True) if amount < 0]
    return Lines(rank, others, which, amounts[index_of_line[which == COMPUTING]])


def _computing(rank: int) -> str:
    return f"{rank} compute "


def _amount(line: str, start: str) -> int:
    """Return the amount of a line of computing; -1 for other lines."""
    if not line.startswith(start):
        return -1
    amount = line.removeprefix(start)
    return int(amount) if amount.isdecimal() else -1
