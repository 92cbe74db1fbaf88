"""How many ranks and cores each node of a run has, and the command line of a rank."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from workflows.domain import Point

PROGRAMS = Path(__file__).parent.resolve()
"""Folder of the scripts ``rank``, ``domains`` and ``enter-node``."""


def rank_command(point: Point, command: Sequence[str], scratch: Path) -> list[str]:
    """Make a command start one rank on its own cores; the rank describes itself in `scratch`."""
    cores = (str(point.processes_per_core), str(point.cores_per_process))
    return [f"{PROGRAMS}/rank", str(scratch), *cores, *command]


def cores_of_nodes(point: Point) -> list[int]:
    """Return the number of cores used on each node: equal, or the first nodes have one process more."""
    per_process = point.cores_per_process
    even, more = divmod(point.cores // per_process, point.nodes)
    return [(even + (node < more)) * per_process for node in range(point.nodes)]


def most_cores_of_a_node(point: Point) -> int:
    """Return the maximum of `cores_of_nodes`, without a list as long as the number of nodes."""
    per_process = point.cores_per_process
    return math.ceil(point.cores // per_process / point.nodes) * per_process


def ranks_of_nodes(point: Point) -> list[int]:
    """Return the number of ranks on each node. Ranks are numbered node by node."""
    per_process = point.running_per_process
    ranks = [cores * point.oversubscription // per_process for cores in cores_of_nodes(point)]
    ranks[-1] -= sum(ranks) - point.processes  # fewer if the processes do not divide
    return ranks
