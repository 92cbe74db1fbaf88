"""Patterns of traffic over all offered loads: what the programs of the cases start."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from workflows.benchmarks.endpoint import Endpoint
from workflows.benchmarks.program import Told, start
from workflows.traffic import phases
from workflows.traffic.phases import Phase, Row
from workflows.traffic.schedule import messages_of


def start_pattern(name: str) -> None:
    """Run a pattern over all offered loads with the parameters of the case's size; print its rows.

    Parameters
    ----------
    name : str
        One of `workflows.traffic.phases.PHASES`, whose parameters a size has, and those of `EXECUTION`.
    """
    make = phases.PHASES[name]

    def program(comm: MPI.Comm, seconds: float, link_MBps: str | float, seed: int, **choices: Any) -> Told:  # noqa: N803
        wanted = make(comm.size, **choices)
        return carried(comm, wanted, seconds, link_MBps, seed)

    choices = list(inspect.signature(make).parameters)[1:]
    start(program, [*choices, *phases.EXECUTION])


def carried(
    comm: MPI.Comm,
    wanted: Sequence[Phase],
    seconds: float,
    link_MBps: str | float,  # noqa: N803
    seed: int,
) -> Told:
    """Carry out one phase after the other and sum them up.

    Parameters
    ----------
    seconds : float
        Of a phase: see `workflows.traffic.phases.seconds_by_size`.
    link_MBps : float or str
        What a load of 1 is, 10^6 bytes/s of a process; ``measured``: what a process sends while every one of
        the first half exchanges messages with one of the second half, median over the processes, for each
        mean size of messages that the phases have.

    Returns
    -------
    dict
        ``rows``, on rank 0: see `workflows.traffic.phases.phase_rows`; with a slowdown for combined jobs.
        ``answer``: wrong and lost bytes. ``seconds``: see `workflows.traffic.phases.seconds_of_a_megabyte`.
    """
    given, wrong = phases.given_link_rate(link_MBps), 0
    lasts = phases.seconds_by_size(wanted, seconds)
    links = dict.fromkeys(lasts, given)
    for size in lasts if given is None else ():
        links[size], odd = _link_rate(comm, size, lasts[size])
        wrong += odd
    times = [lasts[phase.link_bytes] for phase in wanted]
    own = [
        messages_of(comm.rank, phase.jobs, phase.demands, links[phase.link_bytes], lasting, seed)
        for phase, lasting in zip(wanted, times, strict=True)
    ]
    endpoint = Endpoint(comm, _largest(comm, own))
    rows: list[Row] = []
    for phase, messages, lasting in zip(wanted, own, times, strict=True):
        arrived = endpoint.carry(messages, lasting)
        of_ranks = comm.gather((messages, arrived))
        if of_ranks is not None:
            gathered = (np.concatenate(arrays) for arrays in zip(*of_ranks, strict=True))
            rows += phases.phase_rows(phase, *gathered, links[phase.link_bytes], lasting)
    endpoint.close()
    wrong += endpoint.wrong_bytes
    phases.add_slowdown(rows)
    return {"rows": rows, "answer": comm.allreduce(wrong), "seconds": phases.seconds_of_a_megabyte(rows)}


def _largest(comm: MPI.Comm, schedules: Iterable[NDArray[np.void]]) -> int:
    """Bytes of the largest message of all processes."""
    own = max((int(messages["bytes"].max(initial=1)) for messages in schedules), default=1)
    return comm.allreduce(own, MPI.MAX)


def _link_rate(comm: MPI.Comm, mean_bytes: int, seconds: float) -> tuple[float, int]:
    """Bytes per second that a load of 1 stands for, and wrong bytes while it was measured."""
    endpoint = Endpoint(comm, mean_bytes)
    arrived = endpoint.carry(phases.link_messages(comm.rank, comm.size, mean_bytes), seconds)
    endpoint.close()
    rates = comm.allgather(phases.link_rate(mean_bytes, arrived))
    return float(np.median([rate for rate in rates if rate is not None])), endpoint.wrong_bytes
