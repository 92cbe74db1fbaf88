"""Actions that can be replayed, made of what the tracer wrote."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from workflows.domain import InputError
from workflows.tracing import subsets
from workflows.tracing.lines import COMPUTING, Lines
from workflows.tracing.raw import Raw

CUT_SHARE = 0.01
"""Share of the messages that may be cut in two by the first or last step; above, the steps overlap."""

Key = tuple[int, int, int]
"""Sender, receiver, tag: messages of one key are received in the order in which they were sent."""

_NOWHERE = np.empty(0, np.intp)


@dataclass(frozen=True)
class Actions:
    """What can be replayed.

    Attributes
    ----------
    ranks : sequence of _Rank
        What is wanted of each rank.
    ns_per_count : float
        Nanoseconds that a count of the clock stands for.
    cut_messages : int
        Messages that were left out because only one end of them is in the window.
    """

    ranks: Sequence[_Rank]
    ns_per_count: float
    cut_messages: int

    def lines(self, rank: int) -> Lines:
        """Lines of a rank, without ``init`` and ``finalize``; computing between two actions is one line."""
        own = self.ranks[rank]
        which, computing = own.lines.which, own.lines.which == COMPUTING
        amounts = np.zeros(len(which) + 1, np.int64)
        amounts[:-1][computing] = own.lines.amounts
        amounts[: own.begin] = 0
        calls = np.flatnonzero(own.wanted & ~computing)
        # Computing before each call, and after the last one.
        before = np.diff(np.cumsum(amounts)[np.append(calls, len(which))], prepend=0)
        pairs = np.full((len(before), 2), COMPUTING, np.int32)
        pairs[:-1, 1] = which[calls]
        there = np.column_stack([before > 0, np.arange(len(before)) < len(calls)])
        waits = len(own.lines.distinct) + np.arange(len(own.left), dtype=np.int32)
        return Lines(
            rank,
            [*own.lines.distinct, *own.left],
            np.append(pairs[there], waits),
            np.rint(before[before > 0] * self.ns_per_count).astype(np.int64),
        )


@dataclass(frozen=True)
class _Rank:
    """Actions of a rank from the beginning of the run to the end of the window.

    Filled in place while messages are put together.

    Attributes
    ----------
    lines : Lines
        Without notes.
    sizes : ndarray of int64
        By text of the lines as they were recorded: size of a message, bytes; 0 for others.
    begin : int
        First line of the window.
    wanted : ndarray of bool, shape (lines,)
        What is in the window, halves of messages and what waits for them left out.
    left : list of str
        What waits at the end for requests that nothing waited for in the window.
    """

    lines: Lines
    sizes: NDArray[np.int64]
    begin: int
    wanted: NDArray[np.bool_]
    left: list[str]


@dataclass(frozen=True)
class _Ends:
    """Ends of all messages of one key at one rank: their places among its lines, in order."""

    rank: _Rank
    places: NDArray[np.intp]

    def wanted(self) -> NDArray[np.bool_]:
        """By end: whether it is in the window."""
        return self.rank.wanted[self.places]

    def sizes(self) -> NDArray[np.int64]:
        """By end: size of the message as it was recorded there, bytes."""
        return self.rank.sizes[self.rank.lines.which[self.places]]

    def keep(self, kept: NDArray[np.bool_]) -> None:
        """Leave out ends that are not to be kept, and those beyond."""
        self.rank.wanted[self.places] = False
        self.rank.wanted[self.places[: len(kept)]] = kept


def replayable(raws: Sequence[Raw], window: Sequence[tuple[int, int]], ns_per_count: float = 1.0) -> Actions:
    """Cut the window out and make actions of it that can be replayed.

    Receives from anyone get the sender that they had, collectives of subsets become messages
    (`workflows.tracing.subsets`), receives get the size that was sent, and of a message that the window cuts
    in two both ends are left out, with what waits for it.

    Parameters
    ----------
    raws : sequence of Raw
        By rank.
    window : sequence of (int, int)
        By rank, from `workflows.tracing.raw.steps_window` or `workflows.tracing.raw.whole`.
    ns_per_count : float
        Nanoseconds that a count of the clock stands for.

    Raises
    ------
    InputError
        More than `CUT_SHARE` of the messages are cut in two: the window is no whole number of steps. A rank
        waits for what it has not begun.
    """
    ranks = [_resolved(raw, *span) for raw, span in zip(raws, window, strict=True)]
    sent, received = (
        {key: _Ends(rank, places) for rank in ranks for key, places in _grouped(rank.lines, key_of).items()}
        for key_of in (_sent, _received)
    )
    nobody = _Ends(ranks[0], _NOWHERE)
    cut = complete = 0
    for key in sent.keys() | received.keys():
        ends = sent.get(key, nobody), received.get(key, nobody)
        (begun, ended), pairs = (one.wanted() for one in ends), min(len(one.places) for one in ends)
        both = begun[:pairs] & ended[:pairs]
        complete += np.count_nonzero(both)
        cut += np.count_nonzero(begun) + np.count_nonzero(ended) - 2 * np.count_nonzero(both)
        for one in ends:
            one.keep(both)
        _give_sizes(*ends, pairs)
    if cut > CUT_SHARE * (cut + complete):
        raise InputError(f"{cut} of {cut + complete} messages are cut in two by the first or last step")
    for rank in ranks:
        _match_waits(rank)
    return Actions(ranks, ns_per_count, int(cut))


def _resolved(raw: Raw, begin: int, end: int) -> _Rank:
    """Replace the notes by actions."""
    notes = (line.split(" ") for line in raw.lines.distinct if line.startswith("# matched "))
    matched = {words[2]: f"{words[3]} {words[4]}" for words in notes}
    numbers: dict[str, int] = {}
    made = [
        [numbers.setdefault(action, len(numbers)) for action in _actions(line, raw.rank, matched)]
        for line in raw.lines.distinct
    ]
    made.append([COMPUTING])  # which is -1, the last one
    actions = np.fromiter(chain.from_iterable(made), np.int32)
    counts = np.fromiter(map(len, made), np.intp)
    which = raw.lines.which[:end]
    each = counts[which]
    first = (np.cumsum(counts) - counts)[which]  # of the actions that a line stands for
    shift = np.repeat(first - (np.cumsum(each) - each), each)
    resolved = actions[np.arange(len(shift)) + shift]
    begin = int(each[:begin].sum())
    amounts = raw.lines.amounts[: np.count_nonzero(which == COMPUTING)]
    lines = Lines(raw.rank, list(numbers), resolved, amounts)
    sizes = np.array([_size(line) for line in lines.distinct], np.int64)
    return _Rank(lines, sizes, begin, np.arange(len(lines)) >= begin, [])


def _actions(line: str, rank: int, matched: Mapping[str, str]) -> list[str]:
    """Actions that a line of a rank stands for.

    `matched` has sender and tag of what was received from anyone, by number of the receive.
    """
    kind, name, *words = line.split(" ")
    if kind != "#":
        return [] if name in ("init", "finalize") else [line]
    if name == "any" and words[0] in matched:  # one that never got anything is not waited for either
        return [f"{rank} irecv {matched[words[0]]} {words[1]}"]
    if name == "sub":
        members = [int(member) for member in words[0].split(",")]
        return subsets.messages(words[1], [int(word) for word in words[2:]], members, rank)
    return []


def _sent(line: str) -> Key | None:
    rank, name, *words = line.split(" ")
    return (int(rank), int(words[0]), int(words[1])) if name in ("send", "isend") else None


def _received(line: str) -> Key | None:
    rank, name, *words = line.split(" ")
    return (int(words[0]), int(rank), int(words[1])) if name in ("recv", "irecv") else None


def _size(line: str) -> int:
    return int(line.split(" ")[4]) if _sent(line) or _received(line) else 0


def _begun(line: str) -> Key | None:
    """Key of a message that is waited for later."""
    return (_sent(line) or _received(line)) if line.split(" ")[1] in ("isend", "irecv") else None


def _waited(line: str) -> Key | None:
    _, name, *words = line.split(" ")
    return (int(words[0]), int(words[1]), int(words[2])) if name == "wait" else None


def _grouped(lines: Lines, key_of: Callable[[str], Key | None]) -> dict[Key, NDArray[np.intp]]:
    """Places of the lines of each key, in order; keys in the order of their first lines."""
    keys = [key_of(line) for line in lines.distinct]
    numbers = {key: number for number, key in enumerate(dict.fromkeys(key for key in keys if key))}
    none = len(numbers)
    of_distinct = [*(numbers.get(key, none) for key in keys), none]  # the last one is COMPUTING
    of_lines = np.array(of_distinct)[lines.which]
    there = np.flatnonzero(of_lines != none)
    places = there[np.argsort(of_lines[there], kind="stable")]
    counts = np.bincount(of_lines[there], minlength=none)
    return dict(zip(numbers, np.split(places, np.cumsum(counts)[:-1]), strict=False))


def _give_sizes(sends: _Ends, receives: _Ends, pairs: int) -> None:
    """Let the first receives have the sizes that were sent."""
    sizes = sends.sizes()[:pairs]
    other = np.flatnonzero(receives.sizes()[:pairs] != sizes)
    if not len(other):
        return
    lines, places = receives.rank.lines, receives.places[other]
    kinds, kind = np.unique(np.stack([lines.which[places], sizes[other]]), axis=1, return_inverse=True)
    lines.which[places] = len(lines.distinct) + kind.ravel()
    begun = [lines.distinct[which].rpartition(" ")[0] for which in kinds[0].tolist()]
    lines.distinct.extend(f"{words} {size}" for words, size in zip(begun, kinds[1].tolist(), strict=True))


def _match_waits(rank: _Rank) -> None:
    """Leave out what waits for a message that is left out; find the messages that nothing waits for."""
    begun, waited = _grouped(rank.lines, _begun), _grouped(rank.lines, _waited)
    for key in dict.fromkeys([*begun, *waited]):
        begins, waits = begun.get(key, _NOWHERE), waited.get(key, _NOWHERE)
        message = "{} {} {}".format(*key)
        if len(waits) > len(begins) or np.any(waits < begins[: len(waits)]):
            raise InputError(f"rank {rank.lines.rank}: 'wait {message}' comes before what it waits for")
        rank.wanted[waits] &= rank.wanted[begins[: len(waits)]]
        unfinished = np.count_nonzero(rank.wanted[begins[len(waits) :]])
        rank.left.extend([f"{rank.lines.rank} wait {message}"] * unfinished)
