"""Patterns of traffic on a simulated interconnect: the schedules of a case, carried out in simulated time.

Nothing is traced: what a client does next depends on when its messages arrive, which a trace of another
interconnect has wrong. So the processes follow the schedule itself, by the rules of
`workflows.traffic.schedule`, as those of MPI do.
"""

from __future__ import annotations

import tempfile
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workflows.domain import Case
from workflows.simulation import programs
from workflows.traffic.phases import (
    EXECUTION,
    PHASES,
    Row,
    add_slowdown,
    given_link_rate,
    link_messages,
    link_rate,
    phase_rows,
    seconds_by_size,
    seconds_of_a_megabyte,
)
from workflows.traffic.schedule import BUFFERS, HEAD_BYTES, WINDOW, make_schedule

SOURCE = Path(__file__).with_name("traffic.cpp")

ENOUGH = 40
"""Messages of a process that measure the rate of its link: each takes as long as the others."""


@dataclass(frozen=True)
class Carried:
    """What became of the messages of a schedule; the other two as in `workflows.simulation.programs.Output`.

    Attributes
    ----------
    arrived : array (messages,)
        When each message had arrived, in simulated seconds; NaN if it was never issued.
    packet_hops : int
        Links that packets were sent over; 0 where messages share links as fluids do.
    """

    arrived: NDArray[np.float64]
    cpu_seconds: float
    memory_bytes: int
    packet_hops: int


@dataclass(frozen=True)
class Network:
    """Processes on the nodes of a simulated interconnect, the first ones on the first node.

    Attributes
    ----------
    program : Path
        `SOURCE`, built: see `workflows.simulation.programs.build`.
    platform : str
        See `workflows.simulation.platform.platform_xml`.
    what : str
        What is simulated, for messages.
    """

    program: Path
    platform: str
    processes: int
    processes_per_node: int
    what: str

    def carry(self, messages: NDArray[np.void], seconds: float) -> Carried:
        """Carry out a schedule.

        Parameters
        ----------
        messages : structured array of `workflows.traffic.schedule.MESSAGE`
            Ascending in time for each process.
        seconds : float
            No message is issued later.

        Raises
        ------
        InputError
            Whatever ends the simulation: one line.
        """
        with tempfile.TemporaryDirectory() as scratch:
            platform, schedule = Path(scratch) / "platform.xml", Path(scratch) / "schedule.txt"
            platform.write_text(self.platform)
            columns = [messages[name] for name in ("seconds", "process", "destination", "bytes", "write")]
            np.savetxt(schedule, np.column_stack(columns), "%.9g %d %d %d %d")
            arguments = (platform, schedule, self.processes, self.processes_per_node, repr(float(seconds)))
            protocol = (WINDOW, BUFFERS, HEAD_BYTES)
            done = programs.run(self.program, (*arguments, *protocol), f"{self.what}: cannot be carried out")
        arrived = np.full(len(messages), np.nan)
        for index, time in done.of("arrived"):
            arrived[int(index)] = float(time)
        hops = sum(int(count) for (count,) in done.of("hops"))
        return Carried(arrived, done.cpu_seconds, done.memory_bytes, hops)


def simulate_traffic(network: Network, case: Case, pool: Executor) -> dict[str, Any]:
    """Carry out all phases of a case that is a pattern of traffic: see `workflows.traffic.cases.is_pattern`.

    Parameters
    ----------
    pool : Executor
        In which phases are simulated side by side.

    Returns
    -------
    dict
        ``seconds`` (see `workflows.traffic.phases.seconds_of_a_megabyte`) and ``rows`` (see `phase_rows`
        there), as a run of the case gives them; ``simulation_cpu_seconds``, ``simulation_memory_bytes``.

    Raises
    ------
    InputError
        The pattern does not exist for so many processes; or see `Network.carry`.
    """
    seconds, seed = case.parameters["seconds"], case.parameters["seed"]
    pattern = Path(case.settings["program"]).stem
    own = {key: value for key, value in case.parameters.items() if key not in EXECUTION}
    phases = PHASES[pattern](network.processes, **own)
    done: list[Carried] = []
    given = given_link_rate(case.parameters["link_MBps"])
    lasts = seconds_by_size(phases, seconds)
    links = dict.fromkeys(lasts, given)
    for size in lasts if given is None else ():
        links[size], measured = _measured_link(network, size, lasts[size])
        done.append(measured)
    times = [lasts[phase.link_bytes] for phase in phases]
    schedules = [
        make_schedule(phase.jobs, phase.demands, links[phase.link_bytes], lasting, seed)
        for phase, lasting in zip(phases, times, strict=True)
    ]
    carried = list(pool.map(network.carry, schedules, times))
    rows: list[Row] = []
    for phase, messages, outcome, lasting in zip(phases, schedules, carried, times, strict=True):
        rows += phase_rows(phase, messages, outcome.arrived, links[phase.link_bytes], lasting)
    add_slowdown(rows)
    done += carried
    return {
        "seconds": seconds_of_a_megabyte(rows),
        "rows": rows,
        "simulation_cpu_seconds": sum(outcome.cpu_seconds for outcome in done),
        "simulation_memory_bytes": max(outcome.memory_bytes for outcome in done),
    }


def _measured_link(network: Network, mean_bytes: int, seconds: float) -> tuple[float, Carried]:
    """Bytes per second that a load of 1 stands for."""
    own = [link_messages(rank, network.processes, mean_bytes)[:ENOUGH] for rank in range(network.processes)]
    messages = np.concatenate(own)
    done = network.carry(messages, seconds)
    rates = [link_rate(mean_bytes, done.arrived[messages["process"] == rank]) for rank in range(len(own))]
    return float(np.median([rate for rate in rates if rate is not None])), done
