"""Carry out the traffic patterns of a case on a simulated interconnect.

A client issues its next message when an earlier message has arrived. When that happens depends on the
interconnect, so a trace of another interconnect cannot show it. The simulated processes therefore follow the
schedule of `workflows.traffic.schedule`, by the rules that the measured MPI processes follow.
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

LINK_MESSAGES = 40
"""Messages per process that measure the rate of its link. A simulation repeats exactly, so few are enough."""


@dataclass(frozen=True)
class Carried:
    """Result of a simulated schedule.

    Attributes
    ----------
    arrived : array of float (messages,)
        Simulated time in seconds at which each message had arrived; NaN if it was never issued.
    cpu_seconds, memory_bytes
        Costs of the simulation: see `workflows.simulation.programs.Output`.
    """

    arrived: NDArray[np.float64]
    cpu_seconds: float
    memory_bytes: int


@dataclass(frozen=True)
class Network:
    """Processes on the nodes of a simulated interconnect. Process numbers fill one node after another.

    Attributes
    ----------
    program : Path
        `SOURCE`, or `workflows.simulation.packets.SOURCE`, as `workflows.simulation.programs.build` built it.
    platform : str
        Text of `workflows.simulation.platform.platform_xml` for `SOURCE`, or of
        `workflows.simulation.packets.network_text`.
    title : str
        Name of the simulation in error messages.
    """

    program: Path
    platform: str
    processes: int
    processes_per_node: int
    title: str

    def carry(self, messages: NDArray[np.void], seconds: float) -> Carried:
        """Carry out a schedule.

        Parameters
        ----------
        messages : structured array of `workflows.traffic.schedule.MESSAGE` (messages,)
            In ascending order of time for each process.
        seconds : float
            Time after which no message is issued.

        Raises
        ------
        InputError
            In one line, if the simulation fails.
        """
        with tempfile.TemporaryDirectory() as scratch:
            platform, schedule = Path(scratch) / "platform.xml", Path(scratch) / "schedule.txt"
            platform.write_text(self.platform)
            columns = [messages[name] for name in ("seconds", "process", "destination", "bytes", "write")]
            np.savetxt(schedule, np.column_stack(columns), "%.9g %d %d %d %d")
            arguments = (platform, schedule, self.processes, self.processes_per_node, repr(float(seconds)))
            protocol = (WINDOW, BUFFERS, HEAD_BYTES)
            output = programs.run(
                self.program, (*arguments, *protocol), f"{self.title}: cannot be carried out"
            )
        arrived = np.full(len(messages), np.nan)
        for index, time in output.lines("arrived"):
            arrived[int(index)] = float(time)
        return Carried(arrived, output.cpu_seconds, output.memory_bytes)


def simulate_traffic(network: Network, case: Case, pool: Executor) -> dict[str, Any]:
    """Carry out all phases of a case that is a traffic pattern: see `workflows.traffic.cases.is_pattern`.

    Parameters
    ----------
    pool : Executor
        Threads that simulate phases at the same time.

    Returns
    -------
    dict
        ``seconds`` (see `workflows.traffic.phases.seconds_of_a_megabyte`) and ``rows`` (see
        `workflows.traffic.phases.phase_rows`), as a measured run of the case returns them;
        ``simulation_cpu_seconds``, ``simulation_memory_bytes``.

    Raises
    ------
    InputError
        The pattern does not exist for this number of processes. See also `Network.carry`.
    """
    seconds, seed = case.parameters["seconds"], case.parameters["seed"]
    pattern = Path(case.settings["program"]).stem
    pattern_parameters = {key: value for key, value in case.parameters.items() if key not in EXECUTION}
    phases = PHASES[pattern](network.processes, **pattern_parameters)
    stated_rate = given_link_rate(case.parameters["link_MBps"])
    durations = seconds_by_size(phases, seconds)
    simulations: list[Carried] = []
    rates: dict[int, float] = {}
    for size, duration in durations.items():
        if stated_rate is None:
            rates[size], simulation = _measure_link_rate(network, size, duration)
            simulations.append(simulation)
        else:
            rates[size] = stated_rate
    phase_seconds = [durations[phase.link_bytes] for phase in phases]
    schedules = [
        make_schedule(phase.jobs, phase.demands, rates[phase.link_bytes], duration, seed)
        for phase, duration in zip(phases, phase_seconds, strict=True)
    ]
    simulated_phases = list(pool.map(network.carry, schedules, phase_seconds))
    rows: list[Row] = []
    for phase, messages, simulation, duration in zip(
        phases, schedules, simulated_phases, phase_seconds, strict=True
    ):
        rows += phase_rows(phase, messages, simulation.arrived, rates[phase.link_bytes], duration)
    add_slowdown(rows)
    simulations += simulated_phases
    return {
        "seconds": seconds_of_a_megabyte(rows),
        "rows": rows,
        "simulation_cpu_seconds": sum(simulation.cpu_seconds for simulation in simulations),
        "simulation_memory_bytes": max(simulation.memory_bytes for simulation in simulations),
    }


def _measure_link_rate(network: Network, mean_bytes: int, seconds: float) -> tuple[float, Carried]:
    """Return the bytes per second of a link at a load of 1, and the simulation that measured them."""
    by_rank = [
        link_messages(rank, network.processes, mean_bytes)[:LINK_MESSAGES]
        for rank in range(network.processes)
    ]
    messages = np.concatenate(by_rank)
    simulation = network.carry(messages, seconds)
    rates = [
        link_rate(mean_bytes, simulation.arrived[messages["process"] == rank])
        for rank in range(network.processes)
    ]
    return float(np.median([rate for rate in rates if rate is not None])), simulation
