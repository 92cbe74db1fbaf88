"""The program that replays traces: running it, reading what it says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workflows.simulation import programs

SOURCE = Path(__file__).with_name("replayer.cpp")


@dataclass(frozen=True)
class Replay:
    """What one replay gave, in simulated seconds; the last two as in `workflows.simulation.programs.Output`.

    Attributes
    ----------
    seconds : float
        From the start until the last rank ended.
    rank_seconds, compute_seconds : tuple of float
        By rank: when it ended, and how long it computed.
    marks : tuple of float
        Times at which rank 0 came to a ``mark`` in its trace.
    """

    seconds: float
    rank_seconds: tuple[float, ...]
    compute_seconds: tuple[float, ...]
    marks: tuple[float, ...]
    cpu_seconds: float
    memory_bytes: int

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Replay:
        """Make it of its attributes as JSON has them."""
        return cls(**{name: tuple(one) if isinstance(one, list) else one for name, one in values.items()})


def replay(
    program: Path, platform: Path, traces: Path, factors: Sequence[float], processes_per_node: int, what: str
) -> Replay:
    """Replay unpacked traces on a platform.

    Parameters
    ----------
    program : Path
        `SOURCE`, built: see `workflows.simulation.programs.build`.
    platform : Path
        A file as `workflows.simulation.platform.platform_xml` writes it.
    traces : Path
        Folder with ``rank-<r>.txt``.
    factors : sequence of float
        One a rank, by which its compute times are multiplied.

    Raises
    ------
    InputError
        An operation that SimGrid does not know, a deadlock, or whatever else ends it: one line.
    """
    listed = ",".join(map(repr, map(float, factors)))
    arguments = (platform, traces, len(factors), processes_per_node, listed)
    done = programs.run(program, arguments, f"{what}: cannot be replayed")
    ranks = sorted((int(rank), float(ended), float(computed)) for rank, ended, computed in done.of("rank"))
    return Replay(
        seconds=done.seconds,
        rank_seconds=tuple(ended for _, ended, _ in ranks),
        compute_seconds=tuple(computed for _, _, computed in ranks),
        marks=tuple(float(time) for rank, time in done.of("mark") if rank == "0"),
        cpu_seconds=done.cpu_seconds,
        memory_bytes=done.memory_bytes,
    )
