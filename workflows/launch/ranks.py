"""Numbers of ranks and cores on each node of a run, and the command line of a rank."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from workflows.domain import Point

PROGRAMS = Path(__file__).parent.resolve()
"""Folder of the scripts ``rank``, ``domains`` and ``enter-node``."""


def rank_command(point: Point, command: Sequence[str], scratch: Path) -> list[str]:
    """Return the command line of a rank: the script ``rank``, followed by `command`.

    The script pins the rank to its own cores, and writes the rank's host and cores to `scratch`.
    """
    layout = (str(point.processes_per_core), str(point.cores_per_process))
    return [f"{PROGRAMS}/rank", str(scratch), *layout, *command]


def cores_of_nodes(point: Point) -> list[int]:
    """Return the number of cores used on each node.

    If the processes cannot be divided evenly, the first nodes have the cores of one process more.
    """
    per_process = point.cores_per_process
    everywhere, remaining = divmod(point.cores // per_process, point.nodes)
    return [(everywhere + (node < remaining)) * per_process for node in range(point.nodes)]


def most_cores_of_a_node(point: Point) -> int:
    """Return the maximum of `cores_of_nodes`, without making the list."""
    per_process = point.cores_per_process
    return math.ceil(point.cores // per_process / point.nodes) * per_process


def ranks_of_nodes(point: Point) -> list[int]:
    """Return the number of ranks on each node. Ranks are numbered node by node."""
    per_process = point.running_per_process
    ranks = [cores * point.oversubscription // per_process for cores in cores_of_nodes(point)]
    ranks[-1] -= sum(ranks) - point.processes  # the last core may have fewer ranks than the others
    return ranks
