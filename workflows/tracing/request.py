"""Request for a trace of a case, with the steps to trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from workflows.applications import application
from workflows.applications.base import Steps
from workflows.domain import Case, Interconnect
from workflows.tracing.alone import Window
from workflows.tracing.raw import Raw, steps_window, whole

CARRIER = "shared_memory"
"""Interconnect of a traced run; it affects how long the run takes, but not the computing."""

SKIPPED_STEPS = 2


@dataclass(frozen=True)
class TraceRequest:
    """A trace to make.

    Attributes
    ----------
    case : Case
    processes : int
        Number of processes; may far exceed the number of cores.
    prepared : Path
        Folder with the case prepared for this number of processes; not changed.
    interconnect : Interconnect
        Interconnect of the traced run; a fast interconnect saves time.
    time_limit_seconds : float
        Time limit of a run.
    traced_steps : int
        Largest number of traced steps, for an application with `steps`.
    serial_prepared : Path or None
        Folder with the case prepared for one process, for the serial runs among repeats of ranks alone.
    alone : bool
        Whether to time each rank alone if possible.
    repeats : int or None
        Number of runs of each rank alone; None for as many as time allows.
    threads : int
        Threads of each process; at most the number of cores.
    """

    case: Case
    processes: int
    prepared: Path
    interconnect: Interconnect
    time_limit_seconds: float
    traced_steps: int
    serial_prepared: Path | None = None
    alone: bool = True
    repeats: int | None = None
    threads: int = 1

    @property
    def steps(self) -> Steps | None:
        """Steps of the application; None if the whole run is traced."""
        return application(self.case.application).steps

    @property
    def marks(self) -> Sequence[str]:
        """Texts that end a step, or delimit the traced part; empty if the whole run is traced."""
        return self.steps.mark if self.steps else application(self.case.application).timed_part()

    @property
    def skipped(self) -> int:
        """Number of initial steps that are not traced."""
        return SKIPPED_STEPS if self.steps else 0

    @property
    def short(self) -> Case:
        """The case with just enough steps for the trace."""
        if not self.steps:
            return self.case
        name, most = self.steps.parameter, SKIPPED_STEPS + self.traced_steps + 1
        return replace(
            self.case, parameters=self.case.parameters | {name: min(self.case.parameters[name], most)}
        )

    def window(self, raws: Sequence[Raw]) -> tuple[Window, int]:
        """Return the lines to trace, and the number of steps in them."""
        if self.steps:
            return steps_window(raws, self.skipped)
        return (steps_window(raws, 0)[0] if self.marks else whole(raws)), 1
