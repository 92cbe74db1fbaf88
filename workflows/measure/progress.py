"""What is shown while a study runs: done, to do, time left, last result."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TextIO

from workflows.domain import Case, Point, Repetition
from workflows.plan.design import duration, expected_cost
from workflows.plan.record import Record


class Progress:
    """Lines about a running study.

    Parameters
    ----------
    total : int
        Repetitions of the whole study.
    missing : sequence of Point
        What is about to be run, once for every repetition.
    files : sequence of text file
        Where the lines go.
    """

    def __init__(
        self, cases: Mapping[str, Case], total: int, missing: Sequence[Point], files: Sequence[TextIO]
    ) -> None:
        self._cases, self._total = cases, total
        self._files = files
        self._started = time.monotonic()
        self._left = len(missing)
        self._expected_done = 0.0
        self._expected_left = self._expected(missing)

    def say(self, text: str) -> None:
        """Write one line."""
        say(text, self._files)

    def made(self, repetition: Repetition, record: Record) -> None:
        """Show a repetition that was just recorded, and how long the rest will take."""
        expected = self._expected([repetition.point])
        self._left -= 1
        self._expected_done += expected
        self._expected_left = max(self._expected_left - expected, 0.0)
        left = (time.monotonic() - self._started) / self._expected_done * self._expected_left
        done = f"[{self._total - self._left}/{self._total}]"
        which = f"{describe(repetition.point)}, block {repetition.block}"
        which += f", attempt {record.attempt}" if record.attempt > 1 else ""
        result = f"{record.seconds:.3g} s" if record.valid else f"INVALID, {record.reason}"
        self.say(f"{done} {which}: {result}, {duration(left)} left")

    def _expected(self, points: Sequence[Point]) -> float:
        return expected_cost(points, 1, self._cases).seconds


def say(text: str, files: Sequence[TextIO]) -> None:
    """Write one line to every file."""
    for file in files:
        print(text, file=file, flush=True)


def describe(point: Point) -> str:
    """Name a point in words."""
    if point.interconnect is None:
        return f"{point.case}, serial"
    oversubscribed = f", oversubscription {point.oversubscription}" if point.oversubscription > 1 else ""
    placed = f", {point.processes_per_node} a node" if point.processes_per_node else ""
    return f"{point.case}, {point.interconnect}, {point.processes} processes{placed}{oversubscribed}"
