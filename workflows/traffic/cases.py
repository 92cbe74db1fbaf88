"""Kinds of mpi4py cases that are simulated without a trace."""

from __future__ import annotations

from workflows.domain import Case


def is_pattern(case: Case) -> bool:
    """Whether a case sends the messages of a schedule, which a simulation can carry out."""
    return case.application == "mpi4py" and "loads" in case.parameters


def has_array(case: Case) -> bool:
    """Whether a case does tasks on a distributed array, with or without data servers."""
    return case.application == "mpi4py" and {"blocks", "tasks"} <= case.parameters.keys()


def sends_beside_mpi(case: Case) -> bool:
    """Whether a case opens sockets itself, which the tracer of MPI does not see."""
    return case.application == "mpi4py" and {"round_trip_bytes", "stream_bytes"} <= case.parameters.keys()


def needs_trace(case: Case) -> bool:
    """Whether a case can only be simulated by replaying a trace."""
    return not (is_pattern(case) or has_array(case))
