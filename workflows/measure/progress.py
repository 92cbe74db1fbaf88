"""Progress of a study: runs done and left, time left, last result, noise of the machine."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from statistics import mean
from typing import Any, TextIO

import click

from workflows.domain import Case, Point, Repetition
from workflows.measure.noise import LONG_WAIT_SECONDS
from workflows.plan.design import describe, duration, expected_cost
from workflows.plan.record import Record

RECENT = 10
"""Number of runs over which the noise of the machine is averaged."""
BAR_WIDTH = 16
UNKNOWN_WIDTH = 80
"""Columns of a terminal that does not report its width."""


class Progress(AbstractContextManager):
    """Progress of a running study: a live line on each terminal, and a line per run in each other file.

    Nothing is drawn while a run is timed.

    Parameters
    ----------
    total : int
        Repetitions of the whole study, or of a request.
    missing : sequence of Point
        The point of each repetition that is about to run.
    files : sequence of text file
        Terminals and files that show the progress.
    seconds_afterwards : float
        Expected duration of the work that follows the runs.
    """

    def __init__(
        self,
        cases: Mapping[str, Case],
        total: int,
        missing: Sequence[Point],
        files: Sequence[TextIO],
        seconds_afterwards: float = 0.0,
    ) -> None:
        self._cases, self._total = cases, total
        self._files = files
        self._lines = [LiveLine(file, total, total - len(missing)) for file in files if file.isatty()]
        self._has_shown_wait = False
        self._started = time.monotonic()
        self._left = len(missing)
        self._expected_done = 0.0
        self._expected_left = self._expected(missing)
        self._seconds_afterwards = seconds_afterwards
        self._taken_by_others: deque[float] = deque(maxlen=RECENT)
        self.seconds_left = self._expected_left + seconds_afterwards

    def __exit__(self, *_: object) -> None:
        for line in self._lines:
            line.end()

    def begin(self) -> None:
        """Start the clock of the time left, after any wait for another study."""
        self._started = time.monotonic()

    def say(self, text: str) -> None:
        """Write one line."""
        say(text, self._files)

    def made(self, repetition: Repetition, record: Record) -> None:
        """Show a repetition that was just recorded, and the time left.

        The time left is the expected time of the missing runs, multiplied by the ratio of elapsed to expected
        time so far.
        """
        expected = self._expected([repetition.point])
        self._left -= 1
        self._expected_done += expected
        self._expected_left = max(self._expected_left - expected, 0.0)
        ratio = (time.monotonic() - self._started) / self._expected_done
        self.seconds_left = ratio * self._expected_left + self._seconds_afterwards
        name = f"{describe(repetition.point)}, block {repetition.block}"
        result = f"{record.seconds:.3g} s" if record.valid else f"INVALID, {record.reason}"
        left = f"{duration(self.seconds_left)} left"
        done = f"[{self._total - self._left}/{self._total}] {name}: {result}, {left}{_wait(record)}"
        say(done, [file for file in self._files if not (record.valid and file.isatty())])
        for line in self._lines:
            line.step(", ".join([left, f"{result} for {name}", *self._noise(record)]))

    def show_wait(self, busy_cores: float) -> None:
        """Show that the next run waits for an idle machine; in a file, only before the first such run."""
        text = f"waiting for an idle machine: {busy_cores:.1f} cores are busy with other work"
        for line in self._lines:
            line.label(text)
        if not self._has_shown_wait:
            say(text, [file for file in self._files if not file.isatty()])
        self._has_shown_wait = True

    def _noise(self, record: Record) -> list[str]:
        """Return the mean number of CPUs that others kept busy in recent runs, in words; empty if unknown."""
        if record.noise and record.noise.foreign_cores is not None:
            self._taken_by_others.append(record.noise.foreign_cores + (record.noise.stolen_cores or 0.0))
        return [f"noise {mean(self._taken_by_others):.2f} cores"] if self._taken_by_others else []

    def _expected(self, points: Sequence[Point]) -> float:
        return expected_cost(points, 1, self._cases).seconds


class LiveLine:
    """A progress bar and a text after it, on a line of a terminal that is drawn again and again."""

    def __init__(self, terminal: TextIO, length: int, done: int) -> None:
        self._terminal = terminal
        self._bar: Any = click.progressbar(
            length=length,
            file=terminal,
            width=BAR_WIDTH,
            show_pos=True,
            show_eta=False,
            bar_template="[%(bar)s] %(info)s  %(label)s",
        )
        self._bar.pos = done
        say("", [terminal], end="")
        self._bar.render_progress()

    def step(self, text: str) -> None:
        """Advance by one and show a text."""
        self._bar.pos += 1
        self.label(text)

    def label(self, text: str) -> None:
        """Show a text, cut at the end of the line."""
        self._bar.label = ""
        room = (os.get_terminal_size(self._terminal.fileno()).columns or UNKNOWN_WIDTH) - 1
        room -= len(self._bar.format_progress_line()) + 2
        self._bar.label = text if len(text) <= room else f"{text[: max(room - 1, 0)]}…"
        self._bar.render_progress()

    def end(self) -> None:
        """Leave the line as it is."""
        self._bar.render_finish()


def _wait(record: Record) -> str:
    """Return how long a run waited for an idle machine; empty for a short wait."""
    seconds = (record.noise and record.noise.idle_wait_seconds) or 0.0
    return f", after {seconds:.0f} s of waiting for an idle machine" if seconds >= LONG_WAIT_SECONDS else ""


def say(text: str, files: Sequence[TextIO], end: str = "\n") -> None:
    """Write one line to each file. On a terminal it replaces a live line, which is drawn again below."""
    for file in files:
        print(f"\r\033[K{text}" if file.isatty() else text, end=end, file=file, flush=True)
