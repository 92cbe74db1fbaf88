"""Which trace of a case is wanted, and where the steps of an application are."""

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
"""Interconnect that carries the messages of a traced run: computing does not depend on it, the wait does."""

SKIPPED_STEPS = 2


@dataclass(frozen=True)
class TraceRequest:
    """A trace that is wanted.

    Attributes
    ----------
    case : Case
    processes : int
        May be far more than there are cores.
    prepared : Path
        The case prepared for that many processes; not changed.
    interconnect : Interconnect
        What carries the messages meanwhile; it does not matter much, a fast one saves time.
    time_limit_seconds : float
        A run that takes longer is stopped.
    traced_steps : int
        At most, of an application with `steps`.
    beside : Path or None
        The case prepared for one process: it is run again among the repeats of ranks alone.
    alone : bool
        Whether each rank is timed by itself, if it can be.
    repeats : int or None
        How often each rank runs by itself; None: as often as there is time.
    threads : int
        Threads that each process computes with. No more than there are cores.
    """

    case: Case
    processes: int
    prepared: Path
    interconnect: Interconnect
    time_limit_seconds: float
    traced_steps: int
    beside: Path | None = None
    alone: bool = True
    repeats: int | None = None
    threads: int = 1

    @property
    def steps(self) -> Steps | None:
        """Where the steps of the application are; None where the whole run is traced."""
        return application(self.case.application).steps

    @property
    def marks(self) -> Sequence[str]:
        """Texts, one of which ends a step or what is traced; empty where the whole run is traced."""
        return self.steps.mark if self.steps else application(self.case.application).timed_part()

    @property
    def skipped(self) -> int:
        """Steps at the beginning that are not traced."""
        return SKIPPED_STEPS if self.steps else 0

    @property
    def short(self) -> Case:
        """The case with no more steps than are traced."""
        if not self.steps:
            return self.case
        name, most = self.steps.parameter, SKIPPED_STEPS + self.traced_steps + 1
        return replace(
            self.case, parameters=self.case.parameters | {name: min(self.case.parameters[name], most)}
        )

    def window(self, raws: Sequence[Raw]) -> tuple[Window, int]:
        """Lines that are wanted, and steps that they hold."""
        if self.steps:
            return steps_window(raws, self.skipped)
        return (steps_window(raws, 0)[0] if self.marks else whole(raws)), 1
