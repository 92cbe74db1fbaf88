"""Timing of each rank of a traced run alone, on its own core.

In the traced run, ranks that share cores disturb each other. So each rank runs again alone. A log of the
traced run answers its MPI calls: the rank receives the logged data, and does the same computation
undisturbed. The method follows J. Zhai, W. Chen, W. Zheng, "PHANTOM: predicting performance of parallel
applications on large-scale parallel machines using a single node", PPoPP 2010.
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

from analysis.runs.settings import FEWEST_REPEATS
from workflows.launch.emulation import usable_cores
from workflows.tracing.lines import COMPUTING
from workflows.tracing.raw import Raw, step_of

MOST_REPEATS, REPEATS_SECONDS = 27, 20.0
"""Default maximum of the repeats of each rank, and the time limit for more than `FEWEST_REPEATS`.

A burst is the computing between two MPI calls. All bursts of a rank are taken from its median repeat. The
median of each burst over the repeats would hide the variation between bursts, for which other ranks wait. On
two ranks, the resulting time was 0 to 9 % lower.
"""

RANKS_A_SERIAL_RUN = 16
"""In each repeat, the serial case runs once for this many ranks."""

DISTURBED_SHARE = 0.05
"""Wait for a core, as a share of CPU time, above which a run counts as disturbed. Such a run is repeated
once.

At most a quarter of the runs are repeated, since repeating does not help on a machine that is always busy.
"""

CORUN_RANKS = 4
"""Number of ranks for which the slowdown by ranks that run at the same time is measured."""

_HEADER_NUMBERS = 6
"""Numbers at the start of the file that a rank alone writes: see close_log in tracer/log.c."""

_DIFFERENCE = re.compile(r"rank (\d+), call (\d+): (.*)")
_OTHER_CONTENT = "sends something else than was recorded"
"""Difference that is tolerated before the window: a program may send data such as its process id."""
_DISPLACED = "its memory cannot be where it was"
"""End of the failure of a process whose random addresses collide with a recorded MPI window."""
_MAX_STARTS = 4
"""Attempts to start ranks, while a failure is `_DISPLACED`."""

Window = Sequence[tuple[int, int]]
"""First line and end (exclusive) of the traced lines, by rank."""


class UnrepeatableError(Exception):
    """Ranks cannot run alone; the message is one line with the reason."""


@dataclass(frozen=True)
class Alone:
    """Compute times of ranks that ran alone.

    Attributes
    ----------
    raws : list of Raw
        The recorded ranks, with the compute amounts of their median repeats, in nanoseconds.
    seconds : ndarray, shape (repeats, ranks)
        Compute time in the window.
    serial_seconds : ndarray, shape (repeats, serial runs per repeat)
        Compute time of the serial runs; empty if there were none.
    disturbed : int
        Number of runs that waited for their core longer than `DISTURBED_SHARE`.
    differing_sends : int
        Number of sends whose content differed from the recording, such as process ids and addresses.
    width : float
        Mean number of ranks that ran at the same time, each on its own core.
    corun_seconds : dict of float to ndarray, shape (repeats, sampled ranks)
        Compute time of the same ranks in the window, by mean number of ranks at the same time (1 included).
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
    """A run of a single rank: its compute bursts between calls, ns, and whether the run was disturbed."""

    bursts: NDArray[np.signedinteger]
    disturbed: bool


Cores = tuple[int, ...]
"""Cores of a rank that runs alone, one for each of its threads."""

Start = Callable[[Sequence[tuple[int, Cores]], Path], str | None]
"""Function that runs each rank alone on its cores, and ranks on the same cores in turn.

It receives the ranks with their cores and the output folder. It returns the error, or None.
"""


def cannot_repeat(written: Path) -> str | None:
    """Return why the ranks of a recorded run cannot run alone; None if they can."""
    for path in sorted(written.glob("unrepeatable-*")):
        return path.read_text(errors="replace").partition("\n")[0]
    return None


def run_alone(
    raws: Sequence[Raw],
    window: Window,
    written: Path,
    start: Start,
    serial: Callable[[int], float] | None,
    repeat_count: int | None = None,
    threads: int = 1,
) -> Alone:
    """Run each rank alone several times and measure its compute time.

    Only half of the cores work at a time, so that few ranks share caches and memory bandwidth. Serial runs
    are interleaved, so that changes of the machine's speed affect both. Some ranks also run on more and more
    cores at once.

    Parameters
    ----------
    raws : sequence of Raw
        The recorded ranks, in order.
    window : Window
        Traced lines of each rank.
    written : Path
        Folder with the tracer's output; each repeat adds a folder to it.
    start : Start
        Runs ranks.
    serial : callable or None
        Runs the case on one process on a given core, and returns the compute seconds of its window.
    repeat_count : int, optional
        Number of repeats; by default as many as `REPEATS_SECONDS` allows.
    threads : int
        Threads of each rank. Each has its own core, so the machine needs at least as many cores.

    Raises
    ------
    UnrepeatableError
        A rank deviates from the recording, or does not end.
    """
    cores = usable_cores()
    core_sets = [tuple(cores[end - threads : end]) for end in range(len(cores), threads - 1, -threads)]
    width = min(len(raws), max(1, len(core_sets) // 2))
    chunk = max(width, RANKS_A_SERIAL_RUN // width * width)
    spread = raws[:: max(1, len(raws) // max(CORUN_RANKS, len(core_sets)))]
    sampled, widths = spread[:CORUN_RANKS], corun_widths(min(len(core_sets), len(spread)), width)
    serial_seconds: list[list[float]] = []
    repeats: list[dict[int, _Repeat]] = []
    coruns: dict[int, list[list[float]]] = {number: [] for number in widths}
    reruns_left = max(1, len(raws) * (repeat_count or FEWEST_REPEATS) // 4)
    begun = time.monotonic()

    def seconds_of(raw: Raw, run: _Repeat) -> float:
        """Return the compute time of a run in the window."""
        return float(_amounts_of(raw, window[raw.rank], _points(written, raw), run.bursts).sum() * 1e-9)

    while _another_repeat(len(repeats), repeat_count, time.monotonic() - begun):
        folder = written / f"repeat-{len(repeats)}"
        interleaved: list[float] = []
        repeat: dict[int, _Repeat] = {}
        for first in range(0, len(raws), chunk):
            interleaved += [serial(cores[-1])] if serial else []
            chosen = raws[first : first + chunk]
            runs, reruns_left = _run_all(
                raws, chosen, window, written, folder, start, core_sets[:width], reruns_left
            )
            repeat |= runs
        serial_seconds.append(interleaved)
        repeats.append(repeat)
        for number in widths:
            chosen, at_once = spread[: max(number, len(sampled))], folder / f"at-once-{number}"
            runs, _ = _run_all(raws, chosen, window, written, at_once, start, core_sets[:number], 0)
            coruns[number].append([seconds_of(raw, runs[raw.rank]) for raw in sampled])
    seconds = np.array([[seconds_of(raw, repeat[raw.rank]) for raw in raws] for repeat in repeats])
    corun_seconds = {
        mean_at_once(max(number, len(sampled)), number): np.array(times) for number, times in coruns.items()
    }
    mean_width = mean_at_once(len(raws), width)
    return Alone(
        [
            _with_bursts(repeats[middle_run(seconds[:, rank])][raw.rank], raw, _points(written, raw))
            for rank, raw in enumerate(raws)
        ],
        seconds,
        np.array(serial_seconds) if serial else np.empty((0, 0)),
        sum(rank.disturbed for repeat in repeats for rank in repeat.values()),
        sum(len(_lines(path)) for path in (written / "repeat-0").glob("differing-*")),
        mean_width,
        corun_seconds | {mean_width: seconds[:, [raw.rank for raw in sampled]]} if widths else {},
    )


def corun_widths(most: int, width: int) -> list[int]:
    """Return the numbers of simultaneous ranks at which the slowdown is measured, in addition to `width`."""
    doubled = {2**power for power in range(most.bit_length())}
    return sorted((doubled | {most}) - {width}) if most > 1 else []


def _another_repeat(done: int, repeat_count: int | None, seconds: float) -> bool:
    """Return whether another repeat follows `done` repeats, which took `seconds` together."""
    if repeat_count or done < FEWEST_REPEATS:
        return done < (repeat_count or FEWEST_REPEATS)
    return done < MOST_REPEATS and seconds * (done + 1) / done <= REPEATS_SECONDS


def _run_all(
    raws: Sequence[Raw],
    chosen: Sequence[Raw],
    window: Window,
    written: Path,
    folder: Path,
    start: Start,
    core_sets: Sequence[Cores],
    reruns_left: int,
) -> tuple[dict[int, _Repeat], int]:
    """Run the chosen ranks alone, and repeat up to `reruns_left` of the disturbed runs.

    Parameters
    ----------
    written, folder : Path
        Folder with the tracer's output, and folder for the output of these runs.

    Returns
    -------
    dict of int to _Repeat
        Runs by rank.
    int
        Number of reruns that are left.
    """

    def run(ranks: Sequence[Raw], output: Path) -> dict[int, _Repeat]:
        output.mkdir(parents=True, exist_ok=True)
        rank_cores = [(raw.rank, cores) for raw, cores in zip(ranks, cycle(core_sets), strict=False)]
        for _ in range(_MAX_STARTS):
            (output / "failed.txt").unlink(missing_ok=True)
            start_error = start(rank_cores, output)
            failures = _lines(output / "failed.txt")
            if not any(failure.endswith(_DISPLACED) for failure in failures):
                break
        _check(raws, [raw.rank for raw in ranks], window, written, output)
        return {raw.rank: _read(output, raw, start_error) for raw in ranks}

    runs = run(chosen, folder)
    if disturbed := [raw for raw in chosen if runs[raw.rank].disturbed][:reruns_left]:
        runs |= run(disturbed, folder / "again")
    return runs, reruns_left - len(disturbed)


def _check(raws: Sequence[Raw], ranks: Sequence[int], window: Window, written: Path, folder: Path) -> None:
    """Raise an `UnrepeatableError` if ranks deviated from the recording.

    Sends before the window may have other content.
    """
    for rank in ranks:
        matches = map(_DIFFERENCE.fullmatch, _lines(folder / f"differing-{rank}"))
        differing = [match for match in matches if match and match[3].endswith(_OTHER_CONTENT)]
        calls = [int(match[2]) for match in differing]
        for match, line in zip(differing, _lines_of(raws[rank], written, calls), strict=True):
            if line >= window[rank][0]:
                raise UnrepeatableError(_diverged(raws, written, match))
    for failure in _lines(folder / "failed.txt"):  # possibly caused by an earlier tolerated difference
        failed_call = _DIFFERENCE.fullmatch(failure)
        raise UnrepeatableError(_diverged(raws, written, failed_call) if failed_call else failure)


def _diverged(raws: Sequence[Raw], written: Path, match: re.Match[str]) -> str:
    """Return one line with the rank, step and call of a difference."""
    rank, call = int(match[1]), int(match[2])
    step = step_of(raws, rank, _lines_of(raws[rank], written, [call])[0])
    where = f"rank {rank}, step {step}, call {call}" if step else f"rank {rank}, call {call}"
    return f"{where}: {match[3]}"


def _lines_of(raw: Raw, written: Path, calls: Sequence[int]) -> list[int]:
    """Return the first line of computing of the rank at or after each call."""
    if not calls:
        return []
    computing = np.append(np.flatnonzero(raw.lines.which == COMPUTING), len(raw.lines))
    lines: list[int] = computing[np.searchsorted(_points(written, raw)[1:], calls)].tolist()
    return lines


def _points(written: Path, raw: Raw) -> NDArray[np.int64]:
    """Return numbers of MPI calls: first the call before the computing, then the call that ends each line."""
    return np.fromfile(written / f"points-{raw.rank}", np.uint32).astype(np.int64)


def _read(folder: Path, raw: Raw, problem: str | None) -> _Repeat:
    """Read and delete the output of a rank that ran alone."""
    path = folder / f"alone-{raw.rank}"
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise UnrepeatableError(f"rank {raw.rank} by itself: {problem or 'did not end well'}") from None
    path.unlink()
    header_bytes = _HEADER_NUMBERS * 8
    if len(content) < header_bytes:
        raise UnrepeatableError(f"rank {raw.rank} by itself: its output is cut off")
    rank, processes, written, bytes_per_burst, waited, cpu = np.frombuffer(
        content[:header_bytes], np.int64
    ).tolist()
    size = header_bytes + written * bytes_per_burst
    if (rank, processes, len(content)) != (raw.rank, raw.processes, size):
        raise UnrepeatableError(f"rank {raw.rank} by itself: its output is cut off")
    bursts = np.frombuffer(content, np.dtype(f"i{bytes_per_burst}"), offset=header_bytes)
    return _Repeat(bursts, waited > DISTURBED_SHARE * cpu)


def middle_run(seconds: NDArray[np.float64]) -> int:
    """Return the index of the median repeat; the faster of the middle two if their number is even."""
    return int(np.argsort(seconds, kind="stable")[(len(seconds) - 1) // 2])


def mean_at_once(ranks: int, cores: int) -> float:
    """Return the number of ranks that run at the same time, averaged over all ranks.

    Batches have `cores` ranks; the last batch may be smaller.
    """
    full, rest = divmod(ranks, cores)
    return (full * cores**2 + rest**2) / ranks


def _with_bursts(run: _Repeat, raw: Raw, points: NDArray[np.int64]) -> Raw:
    """Return the rank with the compute amounts of a run alone."""
    amounts = np.maximum(_sums(run.bursts, points), 0).astype(np.int64)
    return replace(raw, lines=replace(raw.lines, amounts=amounts))


def _amounts_of(
    raw: Raw, span: tuple[int, int], points: NDArray[np.int64], bursts: NDArray[np.signedinteger]
) -> NDArray[np.signedinteger]:
    """Return the compute amounts of a run alone within a span of lines."""
    return _sums(bursts, points)[slice(*_amounts_in(raw, span))]


def _sums(bursts: NDArray[np.signedinteger], points: NDArray[np.int64]) -> NDArray[np.signedinteger]:
    """Return the sum of the bursts of each line of computing."""
    return np.diff(np.concatenate([[0], np.cumsum(bursts)])[points])


def computing_in(raw: Raw, span: tuple[int, int]) -> float:
    """Return the compute time within a span of lines, seconds; the clock must count nanoseconds."""
    return float(raw.lines.amounts[slice(*_amounts_in(raw, span))].sum() * 1e-9)


def _amounts_in(raw: Raw, span: tuple[int, int]) -> tuple[int, int]:
    """Return the range of compute amounts that lie in a span of lines."""
    first, last = (np.count_nonzero(raw.lines.which[:line] == COMPUTING) for line in span)
    return int(first), int(last)


def _lines(path: Path) -> list[str]:
    return path.read_text(errors="replace").splitlines() if path.exists() else []
