"""Which cases are patterns of traffic."""

from __future__ import annotations

from workflows.domain import Case


def is_pattern(case: Case) -> bool:
    """Whether a case offers loads by a schedule, which can be carried out without running its program."""
    return case.application == "mpi4py" and "loads" in case.parameters
