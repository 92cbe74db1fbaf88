"""Conversion of the tracer's output to actions that can be replayed."""

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
"""Largest share of messages of which the window (the traced steps) may contain only one end. Above this
share, the steps overlap."""

Key = tuple[int, int, int]
"""Sender, receiver and tag. Messages of a key are received in the order in which they were sent."""

_NOWHERE = np.empty(0, np.intp)


@dataclass(frozen=True)
class Actions:
    """Actions of all ranks.

    Attributes
    ----------
    ranks : sequence of _Rank
        Actions of each rank.
    ns_per_count : float
        Nanoseconds per count of the clock.
    cut_messages : int
        Messages left out because only one of their ends is in the window.
    """

    ranks: Sequence[_Rank]
    ns_per_count: float
    cut_messages: int

    def lines(self, rank: int) -> Lines:
        """Return the lines of a rank without ``init`` and ``finalize``; computing between calls is merged."""
        actions = self.ranks[rank]
        which, computing = actions.lines.which, actions.lines.which == COMPUTING
        amounts = np.zeros(len(which) + 1, np.int64)
        amounts[:-1][computing] = actions.lines.amounts
        amounts[: actions.begin] = 0
        calls = np.flatnonzero(actions.kept & ~computing)
        # Computing before each call, and after the last call.
        before = np.diff(np.cumsum(amounts)[np.append(calls, len(which))], prepend=0)
        pairs = np.full((len(before), 2), COMPUTING, np.int32)
        pairs[:-1, 1] = which[calls]
        present = np.column_stack([before > 0, np.arange(len(before)) < len(calls)])
        waits = len(actions.lines.distinct) + np.arange(len(actions.final_waits), dtype=np.int32)
        return Lines(
            rank,
            [*actions.lines.distinct, *actions.final_waits],
            np.append(pairs[present], waits),
            np.rint(before[before > 0] * self.ns_per_count).astype(np.int64),
        )


@dataclass(frozen=True)
class _Rank:
    """Actions of a rank from the start of the run to the end of the window.

    Matching the messages of all ranks changes it in place.

    Attributes
    ----------
    lines : Lines
        Lines without notes.
    sizes : ndarray of int64
        Recorded message size of each distinct line, bytes; 0 for other lines.
    begin : int
        First line of the window.
    kept : ndarray of bool, shape (lines,)
        Whether each line is replayed: it is in the window, and belongs to no cut message.
    final_waits : list of str
        Waits added at the end for requests that are not waited for in the window.
    """

    lines: Lines
    sizes: NDArray[np.int64]
    begin: int
    kept: NDArray[np.bool_]
    final_waits: list[str]


@dataclass(frozen=True)
class _Ends:
    """Ends of all messages of a key at a rank: the indices of their lines, in order."""

    rank: _Rank
    places: NDArray[np.intp]

    def in_window(self) -> NDArray[np.bool_]:
        """Return whether each end is in the window."""
        return self.rank.kept[self.places]

    def sizes(self) -> NDArray[np.int64]:
        """Return the recorded message size at each end, bytes."""
        return self.rank.sizes[self.rank.lines.which[self.places]]

    def keep(self, kept: NDArray[np.bool_]) -> None:
        """Keep the first ends where `kept` is true; drop all others, including the ends beyond its length."""
        self.rank.kept[self.places] = False
        self.rank.kept[self.places[: len(kept)]] = kept


def replayable(raws: Sequence[Raw], window: Sequence[tuple[int, int]], ns_per_count: float = 1.0) -> Actions:
    """Convert the window, which is the part of a run to replay, to actions that can be replayed.

    - A receive from any source gets the actual sender.
    - A receive gets the size that was sent.
    - A collective call of some ranks becomes messages (`workflows.tracing.subsets`).
    - A message with only one end in the window is left out, together with its waits.

    Parameters
    ----------
    raws : sequence of Raw
        The recorded ranks, in order.
    window : sequence of (int, int)
        Lines of each rank, from `workflows.tracing.raw.steps_window` or `workflows.tracing.raw.whole`.
    ns_per_count : float
        Nanoseconds per count of the clock.

    Raises
    ------
    InputError
        More than `CUT_SHARE` of the messages have only one end in the window, so the window is no whole
        number of steps. Or a rank waits for a request that has not started.
    """
    ranks = [_rank_actions(raw, *span) for raw, span in zip(raws, window, strict=True)]
    sent, received = (
        {key: _Ends(rank, places) for rank in ranks for key, places in _grouped(rank.lines, key_of).items()}
        for key_of in (_sent, _received)
    )
    no_ends = _Ends(ranks[0], _NOWHERE)
    cut, complete = 0, 0
    for key in sent.keys() | received.keys():
        sends, receives = sent.get(key, no_ends), received.get(key, no_ends)
        pairs = min(len(sends.places), len(receives.places))
        send_inside, receive_inside = sends.in_window(), receives.in_window()
        both_inside = send_inside[:pairs] & receive_inside[:pairs]
        messages = np.count_nonzero(both_inside)
        complete += int(messages)
        cut += int(np.count_nonzero(send_inside) + np.count_nonzero(receive_inside) - 2 * messages)
        sends.keep(both_inside)
        receives.keep(both_inside)
        _give_sizes(sends, receives, pairs)
    if cut > CUT_SHARE * (cut + complete):
        raise InputError(f"{cut} of {cut + complete} messages are cut in two by the first or last step")
    for rank in ranks:
        _match_waits(rank)
    return Actions(ranks, ns_per_count, cut)


def _rank_actions(raw: Raw, begin: int, end: int) -> _Rank:
    """Convert the lines that the tracer recorded for a rank to actions, up to the end of the window.

    A line that begins with ``#`` is a note of the tracer. The note is replaced by the actions that it
    describes.

    Parameters
    ----------
    begin, end : int
        Number of the first recorded line of the window, and of the first line after the window.
    """
    notes = (line.split(" ") for line in raw.lines.distinct if line.startswith("# matched "))
    matched = {words[2]: f"{words[3]} {words[4]}" for words in notes}
    numbers: dict[str, int] = {}
    actions_by_line = [
        [numbers.setdefault(action, len(numbers)) for action in _actions(line, raw.rank, matched)]
        for line in raw.lines.distinct
    ]
    actions_by_line.append([COMPUTING])  # index -1
    actions = np.fromiter(chain.from_iterable(actions_by_line), np.int32)
    counts = np.fromiter(map(len, actions_by_line), np.intp)
    line_of = raw.lines.which[:end]
    actions_per_line = counts[line_of]
    first = (np.cumsum(counts) - counts)[line_of]  # index of the first action of each line
    # Offset from the position in the result to the position in `actions`.
    offset = np.repeat(first - (np.cumsum(actions_per_line) - actions_per_line), actions_per_line)
    in_order = actions[np.arange(len(offset)) + offset]
    first_action = int(actions_per_line[:begin].sum())
    amounts = raw.lines.amounts[: np.count_nonzero(line_of == COMPUTING)]
    lines = Lines(raw.rank, list(numbers), in_order, amounts)
    sizes = np.array([_size(line) for line in lines.distinct], np.int64)
    return _Rank(lines, sizes, first_action, np.arange(len(lines)) >= first_action, [])


def _actions(line: str, rank: int, matched: Mapping[str, str]) -> list[str]:
    """Return the actions that a recorded line stands for: none, the line itself, or several messages.

    Parameters
    ----------
    matched : mapping of str to str
        For each receive from any source, its number and then its actual sender and tag.
    """
    kind, name, *words = line.split(" ")
    if kind != "#":
        return [] if name in ("init", "finalize") else [line]
    if name == "any" and words[0] in matched:  # a receive without a message has no wait either
        return [f"{rank} irecv {matched[words[0]]} {words[1]}"]
    if name == "sub":
        members = [int(member) for member in words[0].split(",")]
        return subsets.messages(words[1], [int(word) for word in words[2:]], members, rank)
    return []


def _sent(line: str) -> Key | None:
    """Return the key of the message that a line sends; None for other lines."""
    rank, name, *words = line.split(" ")
    return (int(rank), int(words[0]), int(words[1])) if name in ("send", "isend") else None


def _received(line: str) -> Key | None:
    """Return the key of the message that a line receives; None for other lines."""
    rank, name, *words = line.split(" ")
    return (int(words[0]), int(rank), int(words[1])) if name in ("recv", "irecv") else None


def _size(line: str) -> int:
    """Return the bytes of the message that a line sends or receives; 0 for other lines."""
    return int(line.split(" ")[4]) if _sent(line) or _received(line) else 0


def _begun(line: str) -> Key | None:
    """Return the key of a nonblocking message, which has a wait; None for other lines."""
    return (_sent(line) or _received(line)) if line.split(" ")[1] in ("isend", "irecv") else None


def _waited(line: str) -> Key | None:
    """Return the key of the message that a line waits for; None for other lines."""
    _, name, *words = line.split(" ")
    return (int(words[0]), int(words[1]), int(words[2])) if name == "wait" else None


def _grouped(lines: Lines, key_of: Callable[[str], Key | None]) -> dict[Key, NDArray[np.intp]]:
    """Return the indices of the lines of each key, in order; keys in the order of their first lines."""
    keys = [key_of(line) for line in lines.distinct]
    numbers = {key: number for number, key in enumerate(dict.fromkeys(key for key in keys if key))}
    none = len(numbers)
    distinct_keys = [*(numbers.get(key, none) if key else none for key in keys), none]  # COMPUTING is last
    line_keys = np.array(distinct_keys)[lines.which]
    keyed = np.flatnonzero(line_keys != none)
    places = keyed[np.argsort(line_keys[keyed], kind="stable")]
    counts = np.bincount(line_keys[keyed], minlength=none)
    return dict(zip(numbers, np.split(places, np.cumsum(counts)[:-1]), strict=False))


def _give_sizes(sends: _Ends, receives: _Ends, pairs: int) -> None:
    """Set the sizes of the first `pairs` receives to the sizes of their sends."""
    sizes = sends.sizes()[:pairs]
    differing = np.flatnonzero(receives.sizes()[:pairs] != sizes)
    if not len(differing):
        return
    lines, places = receives.rank.lines, receives.places[differing]
    kinds, kind = np.unique(np.stack([lines.which[places], sizes[differing]]), axis=1, return_inverse=True)
    lines.which[places] = len(lines.distinct) + kind.ravel()
    begun = [lines.distinct[which].rpartition(" ")[0] for which in kinds[0].tolist()]
    lines.distinct.extend(f"{words} {size}" for words, size in zip(begun, kinds[1].tolist(), strict=True))


def _match_waits(rank: _Rank) -> None:
    """Drop the waits of dropped messages, and add final waits for messages without one."""
    begun, waited = _grouped(rank.lines, _begun), _grouped(rank.lines, _waited)
    for key in dict.fromkeys([*begun, *waited]):
        begins, waits = begun.get(key, _NOWHERE), waited.get(key, _NOWHERE)
        message = "{} {} {}".format(*key)
        if len(waits) > len(begins) or np.any(waits < begins[: len(waits)]):
            raise InputError(f"rank {rank.lines.rank}: 'wait {message}' comes before its request")
        rank.kept[waits] &= rank.kept[begins[: len(waits)]]
        unfinished = np.count_nonzero(rank.kept[begins[len(waits) :]])
        rank.final_waits.extend([f"{rank.lines.rank} wait {message}"] * unfinished)
