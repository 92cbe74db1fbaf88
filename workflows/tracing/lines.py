"""Lines of a rank, each distinct one held once: a run repeats few calls very many times."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

COMPUTING = -1
"""What stands for a line of computing: of those only the amounts are held, as nearly each has its own."""


@dataclass(frozen=True)
class Lines:
    """Lines of a rank, in order.

    Attributes
    ----------
    rank : int
    distinct : list of str
        Texts of all lines that are no computing.
    which : ndarray of int32, shape (lines,)
        By line: its place in `distinct`, or `COMPUTING`.
    amounts : ndarray of int64, shape (lines of computing,)
        Amounts of the lines of computing, in order; in the clock's unit or in nanoseconds.
    """

    rank: int
    distinct: list[str]
    which: NDArray[np.int32]
    amounts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.which)

    def __iter__(self) -> Iterator[str]:
        texts = np.array([*self.distinct, ""], dtype=object)[self.which]  # the last one is COMPUTING
        start = _computing(self.rank)
        texts[self.which == COMPUTING] = [f"{start}{amount}" for amount in self.amounts.tolist()]
        return iter(texts.tolist())

    def counts(self) -> Counter[str]:
        """How often there is each line; all computing in one line, added up."""
        counts: Counter[str] = Counter()
        calls = np.bincount(self.which[self.which != COMPUTING], minlength=len(self.distinct)).tolist()
        for line, count in zip(self.distinct, calls, strict=True):
            counts[line] += count
        if computed := int(self.amounts.sum()):
            counts[f"{_computing(self.rank)}{computed}"] = 1
        return +counts


def pack(rank: int, lines: Sequence[str]) -> Lines:
    """Hold each distinct line once.

    Parameters
    ----------
    lines : sequence of str
        Lines of that rank. One that lacks a whole amount is not taken for computing.
    """
    places: defaultdict[str, int] = defaultdict(itertools.count().__next__)
    every = np.fromiter(map(places.__getitem__, lines), np.int32, len(lines))
    start = _computing(rank)
    amounts = np.fromiter((_amount(line, start) for line in places), np.int64, len(places))
    computing = amounts >= 0
    which = np.where(computing, COMPUTING, np.cumsum(~computing) - 1).astype(np.int32)[every]
    others = [line for line, amount in zip(places, amounts.tolist(), strict=True) if amount < 0]
    return Lines(rank, others, which, amounts[every[which == COMPUTING]])


def _computing(rank: int) -> str:
    return f"{rank} compute "


def _amount(line: str, start: str) -> int:
    """Amount of a line of computing; -1 for another line."""
    if not line.startswith(start):
        return -1
    amount = line.removeprefix(start)
    return int(amount) if amount.isdecimal() else -1
