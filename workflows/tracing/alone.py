"""Timing each rank of a traced run by itself: once more, on a core of its own, its calls answered from a log.

After J. Zhai, W. Chen, W. Zheng, "PHANTOM: predicting performance of parallel applications on large-scale
parallel machines using a single node", PPoPP 2010. Ranks that share cores disturb each other; a rank that
gets from a log what MPI brought into it computes the same, undisturbed.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from workflows.launch.emulation import usable_cores
from workflows.tracing.lines import COMPUTING
from workflows.tracing.raw import Raw, step_of

FEWEST_REPEATS, MOST_REPEATS, REPEATS_SECONDS = 3, 27, 20.0
"""How often each rank runs by itself, if nobody says; more than the fewest while all take no longer.

The middle one of a rank's repeats is taken, whole. The median of each burst would be of no run: it lacks what
varies from burst to burst, for which other ranks wait, and on two ranks said 0 to 9 % less.
"""

RANKS_A_SERIAL_RUN = 16
"""Within a repeat, the serial run is made again after so many ranks."""

DISTURBED_SHARE = 0.05
"""A repeat that waited longer for its core, as a share of its CPU time, is made again, once.

At most a quarter of them are: on a machine that is busy all the time that would not help.
"""

CORUN_RANKS = 4
"""Of so many ranks it is seen how much those disturb them that run at the same time."""

_ABOUT = 6
"""Numbers at the beginning of what a rank alone writes: see close_log in tracer/log.c."""

_TOLD = re.compile(r"rank (\d+), call (\d+): (.*)")
_ANOTHER = "sends something else than was recorded"
"""What is not said of a send that holds an address: that differs from process to process."""
_DISPLACED = "its memory cannot be where it was"
_STARTS = 4
"""A process draws its addresses: where one of a window is taken, it is started again; so often in all."""

Window = Sequence[tuple[int, int]]
"""By rank, first line and line after the last one."""


class UnrepeatableError(Exception):
    """Ranks cannot be run by themselves; the message is one line that says why."""


@dataclass(frozen=True)
class Alone:
    """What ranks took alone.

    Attributes
    ----------
    raws : list of Raw
        As recorded, with the amounts of computing alone, in nanoseconds: see `FEWEST_REPEATS`.
    seconds : ndarray, shape (repeats, ranks)
        Computing in the window.
    serial_seconds : ndarray, shape (repeats, serial runs in each)
        Computing of the serial runs; empty where there were none.
    disturbed : int
        Repeats that waited for their core longer than `DISTURBED_SHARE`.
    differing_sends : int
        Sends that differed: at its start a program may tell of its process, and later send an address.
    width : float
        Mean number of ranks that ran at the same time, each on a core.
    corun_seconds : dict of float to ndarray, shape (repeats, some ranks)
        By the mean number that ran at the same time, computing of the same ranks in the window; 1 among them.
    """

    raws: list[Raw]
    seconds: NDArray[np.float64]
    serial_seconds: NDArray[np.float64]
    disturbed: int
    differing_sends: int
    width: float = 1.0
    corun_seconds: dict[float, NDArray[np.float64]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Repeat:
    """A rank's run by itself: bursts of computing between its calls, ns, and whether it was disturbed."""

    bursts: NDArray[np.signedinteger]
    disturbed: bool


Cores = tuple[int, ...]
"""What a rank by itself has: a core for each of its threads."""

Start = Callable[[Sequence[tuple[int, Cores]], Path], str | None]
"""Runs ranks, each by itself on its cores, those on the same cores one after another; they write to a folder.

Says what went wrong.
"""


def cannot_repeat(written: Path) -> str | None:
    """Why the ranks of a recorded run cannot be run by themselves; None where they can."""
    for path in sorted(written.glob("unrepeatable-*")):
        return path.read_text(errors="replace").partition("\n")[0]
    return None


def run_alone(
    raws: Sequence[Raw],
    window: Window,
    written: Path,
    start: Start,
    serial: Callable[[int], float] | None,
    wanted: int | None = None,
    threads: int = 1,
) -> Alone:
    """Run each rank by itself, several times, and take the times of its computing.

    Half of the cores work at a time, so that a rank shares no cache or memory with many others. Serial runs
    are made among them, so that what the machine's speed does meanwhile shows in both; and some ranks run on
    more and more cores at once.

    Parameters
    ----------
    raws : sequence of Raw
        By rank, as recorded.
    window : Window
        What is wanted of each rank.
    written : Path
        What the tracer wrote of the ranks; a folder for each repeat is made there.
    serial : callable or None
        Runs the case on one process on a core, and gives the seconds that its window computed.
    wanted : int, optional
        Repeats; without it as many as `REPEATS_SECONDS` allow.
    threads : int
        Of each rank, which has as many cores; there are at least so many here.

    Raises
    ------
    UnrepeatableError
        A rank does not do the same by itself, or does not end.
    """
    cores = usable_cores()
    places = [tuple(cores[end - threads : end]) for end in range(len(cores), threads - 1, -threads)]
    width = min(len(raws), max(1, len(places) // 2))
    chunk = max(width, RANKS_A_SERIAL_RUN // width * width)
    spread = raws[:: max(1, len(raws) // max(CORUN_RANKS, len(places)))]
    some, widths = spread[:CORUN_RANKS], corun_widths(min(len(places), len(spread)), width)
    serial_seconds, repeats, coruns = [], [], {number: [] for number in widths}
    again, begun = max(1, len(raws) * (wanted or FEWEST_REPEATS) // 4), time.monotonic()

    def seconds_of(raw: Raw, run: _Repeat) -> float:
        """Computing of a run in the window."""
        return float(_amounts_of(raw, window[raw.rank], _points(written, raw), run.bursts).sum() * 1e-9)

    while _goes_on(len(repeats), wanted, time.monotonic() - begun):
        folder, beside, repeat = written / f"repeat-{len(repeats)}", [], {}
        for first in range(0, len(raws), chunk):
            beside += [serial(cores[-1])] if serial else []
            chosen = raws[first : first + chunk]
            made, again = _run_all(raws, chosen, window, written, folder, start, places[:width], again)
            repeat |= made
        serial_seconds.append(beside)
        repeats.append(repeat)
        for number in widths:
            chosen, at_once = spread[: max(number, len(some))], folder / f"at-once-{number}"
            made, _ = _run_all(raws, chosen, window, written, at_once, start, places[:number], 0)
            coruns[number].append([seconds_of(raw, made[raw.rank]) for raw in some])
    seconds = np.array([[seconds_of(raw, repeat[raw.rank]) for raw in raws] for repeat in repeats])
    corun_seconds = {
        mean_at_once(max(number, len(some)), number): np.array(times) for number, times in coruns.items()
    }
    mean_width = mean_at_once(len(raws), width)
    return Alone(
        [
            _as_in(repeats[middle_run(seconds[:, rank])][raw.rank], raw, _points(written, raw))
            for rank, raw in enumerate(raws)
        ],
        seconds,
        np.array(serial_seconds) if serial else np.empty((0, 0)),
        sum(rank.disturbed for repeat in repeats for rank in repeat.values()),
        sum(len(_lines(path)) for path in (written / "repeat-0").glob("differing-*")),
        mean_width,
        corun_seconds | {mean_width: seconds[:, [raw.rank for raw in some]]} if widths else {},
    )


def corun_widths(most: int, width: int) -> list[int]:
    """How many ranks run at once to see how they disturb each other; `width` at once are timed anyhow."""
    doubled = {2**power for power in range(most.bit_length())}
    return sorted((doubled | {most}) - {width}) if most > 1 else []


def _goes_on(done: int, wanted: int | None, seconds: float) -> bool:
    """Whether another repeat is made: those that are done took so long."""
    if wanted or done < FEWEST_REPEATS:
        return done < (wanted or FEWEST_REPEATS)
    return done < MOST_REPEATS and seconds * (done + 1) / done <= REPEATS_SECONDS


def _run_all(
    raws: Sequence[Raw],
    chosen: Sequence[Raw],
    window: Window,
    written: Path,
    folder: Path,
    start: Start,
    places: Sequence[Cores],
    again: int,
) -> tuple[dict[int, _Repeat], int]:
    """One repeat of the chosen ranks; up to `again` runs are made again, and what is left of that is told."""

    def ran(some: Sequence[Raw], own: Path) -> dict[int, _Repeat]:
        own.mkdir(parents=True, exist_ok=True)
        placed = [(raw.rank, cores) for raw, cores in zip(some, cycle(places), strict=False)]
        for _ in range(_STARTS):
            (own / "failed.txt").unlink(missing_ok=True)
            problem = start(placed, own)
            if not any(told.endswith(_DISPLACED) for told in _lines(own / "failed.txt")):
                break
        _check(raws, [raw.rank for raw in some], window, written, own)
        return {raw.rank: _read(own, raw, problem) for raw in some}

    found = ran(chosen, folder)
    if disturbed := [raw for raw in chosen if found[raw.rank].disturbed][:again]:
        found |= ran(disturbed, folder / "again")
    return found, again - len(disturbed)


def _check(raws: Sequence[Raw], ranks: Sequence[int], window: Window, written: Path, folder: Path) -> None:
    """Make sure that ranks did what was recorded; before the window they may say other things."""
    for rank in ranks:
        told = map(_TOLD.fullmatch, _lines(folder / f"differing-{rank}"))
        differing = [match for match in told if match and match[3].endswith(_ANOTHER)]
        calls = [int(match[2]) for match in differing]
        for match, line in zip(differing, _lines_of(raws[rank], written, calls), strict=True):
            if line >= window[rank][0]:
                raise UnrepeatableError(_diverged(raws, written, match))
    for told in _lines(folder / "failed.txt"):  # maybe of a later call of such a rank
        match = _TOLD.fullmatch(told)
        raise UnrepeatableError(_diverged(raws, written, match) if match else told)


def _diverged(raws: Sequence[Raw], written: Path, match: re.Match[str]) -> str:
    """One line with rank, step and call."""
    rank, call = int(match[1]), int(match[2])
    step = step_of(raws, rank, _lines_of(raws[rank], written, [call])[0])
    where = f"rank {rank}, step {step}, call {call}" if step else f"rank {rank}, call {call}"
    return f"{where}: {match[3]}"


def _lines_of(raw: Raw, written: Path, calls: Sequence[int]) -> list[int]:
    """Lines of computing that the rank wrote at calls, or next after them."""
    if not calls:
        return []
    lines = np.append(np.flatnonzero(raw.lines.which == COMPUTING), len(raw.lines))
    return lines[np.searchsorted(_points(written, raw)[1:], calls)].tolist()


def _points(written: Path, raw: Raw) -> NDArray[np.int64]:
    """Number of the call before which computing begins, and of the call that ends each line of it."""
    return np.fromfile(written / f"points-{raw.rank}", np.uint32).astype(np.int64)


def _read(folder: Path, raw: Raw, problem: str | None) -> _Repeat:
    """Read what a rank by itself wrote, and make room for the next."""
    path = folder / f"alone-{raw.rank}"
    try:
        told = path.read_bytes()
    except FileNotFoundError:
        raise UnrepeatableError(f"rank {raw.rank} by itself: {problem or 'did not end well'}") from None
    path.unlink()
    begin = _ABOUT * 8
    if len(told) < begin:
        raise UnrepeatableError(f"rank {raw.rank} by itself: what it wrote is cut off")
    rank, processes, calls, each, waited, cpu = np.frombuffer(told[:begin], np.int64).tolist()
    if (rank, processes, len(told)) != (raw.rank, raw.processes, begin + calls * each):
        raise UnrepeatableError(f"rank {raw.rank} by itself: what it wrote is cut off")
    bursts = np.frombuffer(told, np.dtype(f"i{each}"), offset=begin)
    return _Repeat(bursts, waited > DISTURBED_SHARE * cpu)


def middle_run(seconds: NDArray[np.float64]) -> int:
    """Choose the middle one of repeats; of an even number, the faster of two."""
    return int(np.argsort(seconds, kind="stable")[(len(seconds) - 1) // 2])


def mean_at_once(ranks: int, cores: int) -> float:
    """How many run at once beside a rank, itself among them, on average: at the end there may be fewer."""
    full, rest = divmod(ranks, cores)
    return (full * cores**2 + rest**2) / ranks


def _as_in(run: _Repeat, raw: Raw, points: NDArray[np.int64]) -> Raw:
    """The rank with the bursts of a run by itself."""
    amounts = np.maximum(_sums(run.bursts, points), 0).astype(np.int64)
    return replace(raw, lines=replace(raw.lines, amounts=amounts))


def _amounts_of(raw: Raw, span: tuple[int, int], points: NDArray[np.int64], bursts: NDArray) -> NDArray:
    """Amounts of computing within lines of a rank."""
    return _sums(bursts, points)[slice(*_amounts_in(raw, span))]


def _sums(bursts: NDArray, points: NDArray[np.int64]) -> NDArray:
    """Add up the bursts of each line."""
    return np.diff(np.concatenate([[0], np.cumsum(bursts)])[points])


def computing_in(raw: Raw, span: tuple[int, int]) -> float:
    """Add up the computing within lines of a rank, seconds; its clock tells nanoseconds."""
    return float(raw.lines.amounts[slice(*_amounts_in(raw, span))].sum() * 1e-9)


def _amounts_in(raw: Raw, span: tuple[int, int]) -> tuple[int, int]:
    """Amounts of computing that lie within lines."""
    first, last = (np.count_nonzero(raw.lines.which[:line] == COMPUTING) for line in span)
    return int(first), int(last)


def _lines(path: Path) -> list[str]:
    return path.read_text(errors="replace").splitlines() if path.exists() else []
