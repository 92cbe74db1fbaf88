"""Replay a trace on the platform of a simulated interconnect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workflows.simulation import programs

SOURCE = Path(__file__).with_name("replayer.cpp")


@dataclass(frozen=True)
class Replay:
    """Result of a replay. All times except `cpu_seconds` are simulated.

    Attributes
    ----------
    seconds : float
        Time from the start until the last rank ended.
    rank_seconds, compute_seconds : tuple of float
        By rank: when the rank ended, and how long it computed.
    marks : tuple of float
        Times at which rank 0 reached each ``mark`` of its trace.
    cpu_seconds, memory_bytes
        Costs of the simulation: see `workflows.simulation.programs.Output`.
    """

    seconds: float
    rank_seconds: tuple[float, ...]
    compute_seconds: tuple[float, ...]
    marks: tuple[float, ...]
    cpu_seconds: float
    memory_bytes: int

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Replay:
        """Return the replay whose attributes were written as JSON, where tuples are lists."""
        return cls(
            seconds=values["seconds"],
            rank_seconds=tuple(values["rank_seconds"]),
            compute_seconds=tuple(values["compute_seconds"]),
            marks=tuple(values["marks"]),
            cpu_seconds=values["cpu_seconds"],
            memory_bytes=values["memory_bytes"],
        )


def replay(
    program: Path, platform: Path, traces: Path, factors: Sequence[float], processes_per_node: int, title: str
) -> Replay:
    """Replay unpacked traces on a platform.

    Parameters
    ----------
    program : Path
        `SOURCE` as `workflows.simulation.programs.build` built it.
    platform : Path
        File with the text of `workflows.simulation.platform.platform_xml`.
    traces : Path
        Folder with ``rank-<r>.txt``.
    factors : sequence of float (ranks,)
        Factor by which the compute times of each rank are multiplied.
    title : str
        Name of the replay in error messages.

    Raises
    ------
    InputError
        In one line, if the replay fails: for example at an operation that SimGrid does not know, or in a
        deadlock.
    """
    joined_factors = ",".join(repr(float(factor)) for factor in factors)
    arguments = (platform, traces, len(factors), processes_per_node, joined_factors)
    output = programs.run(program, arguments, f"{title}: cannot be replayed")
    ranks = sorted((int(rank), float(end), float(computing)) for rank, end, computing in output.lines("rank"))
    return Replay(
        seconds=output.seconds,
        rank_seconds=tuple(end for _, end, _ in ranks),
        compute_seconds=tuple(computing for _, _, computing in ranks),
        marks=tuple(float(time) for rank, time in output.lines("mark") if rank == "0"),
        cpu_seconds=output.cpu_seconds,
        memory_bytes=output.memory_bytes,
    )
