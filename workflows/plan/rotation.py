"""Which nodes of its job a repetition runs on."""

from __future__ import annotations

import random

from workflows.domain import Repetition


def chosen_nodes(nodes: int, repetition: Repetition, seed: int) -> list[int]:
    """Choose the nodes of a repetition among those of its job: others in each block.

    Over as many blocks as there are nodes, a point is on each of them equally often, and beside others in the
    next as many. What is compared within a block has the same nodes.

    Returns
    -------
    list of int
        Their numbers among the `nodes` of the job, rising: what the scheduler lists side by side mostly is.
    """
    point = repetition.point
    turns, turn = divmod(repetition.block - 1, nodes)
    drawn = random.Random(f"{seed}/{point.case}/{point.computing}/{point.oversubscription}/nodes/{turns}")
    order = drawn.sample(range(nodes), nodes)
    return sorted(order[(turn + place) % nodes] for place in range(point.nodes))
