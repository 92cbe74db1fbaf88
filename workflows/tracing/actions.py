"""Actions that can be replayed, made of what the tracer wrote."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from workflows.domain import InputError
from workflows.tracing import subsets
from workflows.tracing.raw import Raw

CUT_SHARE = 0.01
"""Share of the messages that may be cut in two by the first or last step; above, the steps overlap."""

Key = tuple[int, int, int]
"""Sender, receiver, tag: messages of one key are received in the order in which they were sent."""


@dataclass(frozen=True)
class Actions:
    """What can be replayed.

    Attributes
    ----------
    lines : list of list of str
        By rank, without ``init`` and ``finalize``.
    cut_messages : int
        Messages that were left out because only one end of them is in the window.
    """

    lines: list[list[str]]
    cut_messages: int


@dataclass(frozen=True)
class _Rank:
    """Lines of a rank without notes, and the first and the line after the last one that are wanted."""

    rank: int
    lines: list[str]
    begin: int
    end: int

    def messages(self) -> Iterator[tuple[int, str, Key, str]]:
        """Line, way (``send`` or ``recv``), key and size of every end of a message."""
        for place, line in enumerate(self.lines):
            if found := _message(self.rank, line):
                yield place, *found

    def wants(self, place: int) -> bool:
        """Whether a line is in the window."""
        return self.begin <= place < self.end


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
        More than `CUT_SHARE` of the messages are cut in two: the window is no whole number of steps.
    """
    ranks = [_resolved(raw, *span) for raw, span in zip(raws, window, strict=True)]
    ends: dict[str, dict[Key, list[tuple[bool, str]]]] = {
        "send": defaultdict(list),
        "recv": defaultdict(list),
    }
    for rank in ranks:
        for place, way, key, size in rank.messages():
            ends[way][key].append((rank.wants(place), size))
    sizes: dict[Key, list[str | None]] = {}
    counted: Counter[int] = Counter()
    for key in ends["send"].keys() | ends["recv"].keys():
        sent, received = ends["send"].get(key, []), ends["recv"].get(key, [])
        pairs = list(zip(sent, received, strict=False))
        sizes[key] = [size if begun and ended else None for (begun, size), (ended, _) in pairs]
        alone = sent[len(pairs) :] + received[len(pairs) :]
        counted.update(begun + ended for (begun, _), (ended, _) in pairs)
        counted.update(int(wanted) for wanted, _ in alone)
    cut, complete = counted[1], counted[2]
    if cut > CUT_SHARE * (cut + complete):
        raise InputError(f"{cut} of {cut + complete} messages are cut in two by the first or last step")
    return Actions([_kept(rank, sizes, ns_per_count) for rank in ranks], cut)


def _message(rank: int, line: str) -> tuple[str, Key, str] | None:
    """Way, key and size of a line that is an end of a message."""
    words = line.split(" ")
    if words[1] in ("send", "isend"):
        return "send", (rank, int(words[2]), int(words[3])), words[4]
    if words[1] in ("recv", "irecv"):
        return "recv", (int(words[2]), rank, int(words[3])), words[4]
    return None


def _resolved(raw: Raw, begin: int, end: int) -> _Rank:
    """Replace the notes by actions."""
    notes = (line.split() for line in raw.lines if line.startswith("# matched "))
    matched = {words[2]: f"{words[3]} {words[4]}" for words in notes}
    lines: list[str] = []
    places = []
    for line in raw.lines:
        places.append(len(lines))
        if line[0] != "#":
            lines.append(line)
            continue
        kind, *words = line[2:].split()
        if kind == "any" and words[0] in matched:  # one that never got anything is not waited for either
            lines.append(f"{raw.rank} irecv {matched[words[0]]} {words[1]}")
        elif kind == "sub":
            members = [int(rank) for rank in words[0].split(",")]
            lines += subsets.messages(words[1], [int(word) for word in words[2:]], members, raw.rank)
    places.append(len(lines))
    return _Rank(raw.rank, lines, places[begin], places[end])


def _kept(rank: _Rank, sizes: Mapping[Key, Sequence[str | None]], ns_per_count: float) -> list[str]:
    """Lines in the window without halves of messages, computing between two actions in one line.

    Parameters
    ----------
    rank : _Rank
    sizes : mapping
        By key, size of every message in order, None for one that is left out.
    ns_per_count : float
    """
    numbers: Counter[tuple[str, Key]] = Counter()
    waiting: dict[Key, deque[bool]] = defaultdict(deque)
    kept: list[str] = []
    computed = 0
    for place, line in enumerate(rank.lines[: rank.end]):
        wanted = rank.wants(place)
        _, name, *words = line.split(" ")
        if name == "compute":
            computed += int(words[0]) if wanted else 0
            continue
        if message := _message(rank.rank, line):
            way, key, _ = message
            known = sizes[key]
            size = known[numbers[way, key]] if numbers[way, key] < len(known) else None
            numbers[way, key] += 1
            wanted = wanted and size is not None
            line = f"{rank.rank} {name} {words[0]} {words[1]} {size}"
            if name.startswith("i"):
                waiting[key].append(wanted)
        elif name == "wait":
            posted = waiting[int(words[0]), int(words[1]), int(words[2])]
            wanted = bool(posted) and posted.popleft() and wanted
        elif name in ("init", "finalize"):
            wanted = False
        if wanted:
            if computed:
                kept.append(f"{rank.rank} compute {round(computed * ns_per_count)}")
                computed = 0
            kept.append(line)
    if computed:
        kept.append(f"{rank.rank} compute {round(computed * ns_per_count)}")
    left = [key for key, posted in waiting.items() for begun in posted if begun]
    return [*kept, *(f"{rank.rank} wait {sender} {receiver} {tag}" for sender, receiver, tag in left)]
