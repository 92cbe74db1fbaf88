"""Which cases are carried out in simulated time, without a trace."""

from __future__ import annotations

from workflows.domain import Case


def is_pattern(case: Case) -> bool:
    """Whether a case offers loads by a schedule, which can be carried out without running its program."""
    return case.application == "mpi4py" and "loads" in case.parameters


def has_array(case: Case) -> bool:
    """Whether a case does tasks on a distributed array, with data servers or without."""
    return case.application == "mpi4py" and {"blocks", "tasks"} <= case.parameters.keys()


def sends_beside_mpi(case: Case) -> bool:
    """Whether a case opens connections of its own, of which a tracer of MPI sees nothing."""
    return case.application == "mpi4py" and {"round_trip_bytes", "stream_bytes"} <= case.parameters.keys()


def needs_trace(case: Case) -> bool:
    """Whether a case can be simulated by replaying a trace alone."""
    return not (is_pattern(case) or has_array(case))
