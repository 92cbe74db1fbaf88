"""Patterns of traffic over all offered loads."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from workflows.benchmarks.endpoint import Endpoint
from workflows.benchmarks.program import Result, start
from workflows.traffic import phases
from workflows.traffic.phases import Phase, Row
from workflows.traffic.schedule import messages_of


def start_pattern(name: str) -> None:
    """Run a pattern over all offered loads with the parameters of the case, and print its rows.

    Parameters
    ----------
    name : str
        Key of `workflows.traffic.phases.PHASES`. A case has its parameters and `EXECUTION`.
    """
    make = phases.PHASES[name]

    def program(comm: MPI.Comm, seconds: float, link_MBps: str | float, seed: int, **choices: Any) -> Result:  # noqa: N803
        return carry_out(comm, make(comm.size, **choices), seconds, link_MBps, seed)

    choices = list(inspect.signature(make).parameters)[1:]
    start(program, [*choices, *phases.EXECUTION])


def carry_out(
    comm: MPI.Comm,
    pattern_phases: Sequence[Phase],
    seconds: float,
    link_MBps: str | float,  # noqa: N803
    seed: int,
) -> Result:
    """Carry out phases one after another, and summarize them.

    Parameters
    ----------
    seconds : float
        Duration of a phase: see `workflows.traffic.phases.seconds_by_size`.
    link_MBps : float or str
        Rate of a process at a load of 1, in 10^6 bytes/s. ``measured``: median over the processes, while each
        process of the first half exchanges messages with a process of the second half; measured for each mean
        size of messages.

    Returns
    -------
    dict
        ``rows``, on rank 0: see `workflows.traffic.phases.phase_rows`, with a slowdown for combined jobs.
        ``answer``: number of wrong and lost bytes.
        ``seconds``: see `workflows.traffic.phases.seconds_of_a_megabyte`.
    """
    rate, wrong = phases.given_link_rate(link_MBps), 0
    duration_of_size = phases.seconds_by_size(pattern_phases, seconds)
    link_rates: dict[int, float] = {}
    for size, duration in duration_of_size.items():
        if rate is None:
            link_rates[size], wrong_while_measuring = _link_rate(comm, size, duration)
            wrong += wrong_while_measuring
        else:
            link_rates[size] = rate
    durations = [duration_of_size[phase.link_bytes] for phase in pattern_phases]
    schedules = [
        messages_of(comm.rank, phase.jobs, phase.demands, link_rates[phase.link_bytes], duration, seed)
        for phase, duration in zip(pattern_phases, durations, strict=True)
    ]
    endpoint = Endpoint(comm, _largest(comm, schedules))
    rows: list[Row] = []
    for phase, messages, duration in zip(pattern_phases, schedules, durations, strict=True):
        arrived = endpoint.carry(messages, duration)
        all_messages, all_arrived = comm.gather(messages), comm.gather(arrived)
        if all_messages is not None and all_arrived is not None:
            rows += phases.phase_rows(
                phase,
                np.concatenate(all_messages),
                np.concatenate(all_arrived),
                link_rates[phase.link_bytes],
                duration,
            )
    endpoint.close()
    wrong += endpoint.wrong_bytes
    phases.add_slowdown(rows)
    return {"rows": rows, "answer": comm.allreduce(wrong), "seconds": phases.seconds_of_a_megabyte(rows)}


def _largest(comm: MPI.Comm, schedules: Iterable[NDArray[np.void]]) -> int:
    """Return the bytes of the largest message of all processes."""
    largest_here = max((int(messages["bytes"].max(initial=1)) for messages in schedules), default=1)
    largest: int = comm.allreduce(largest_here, MPI.MAX)
    return largest


def _link_rate(comm: MPI.Comm, mean_bytes: int, seconds: float) -> tuple[float, int]:
    """Return the bytes per second at a load of 1, and the wrong bytes during its measurement."""
    endpoint = Endpoint(comm, mean_bytes)
    arrived = endpoint.carry(phases.link_messages(comm.rank, comm.size, mean_bytes), seconds)
    endpoint.close()
    rates = comm.allgather(phases.link_rate(mean_bytes, arrived))
    return float(np.median([rate for rate in rates if rate is not None])), endpoint.wrong_bytes
