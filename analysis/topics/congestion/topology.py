"""Topologies: nodes, switches and the links between them."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.runs.errors import TableError

ENDS = ("start_level", "start", "end_level", "end")
"""Columns of a topology's links. Level 0 are the nodes, level 1 the switches they are attached to, higher
ones the switches above; `start` and `end` number the nodes or switches of their level from 0. A cable is
two links, one each way."""


@dataclass(frozen=True)
class Tree:
    """Generalised fat tree: XGFT(h; m1 ... mh; 1, w2 ... wh).

    Öhring, Ibel, Das, Kumar, On generalized fat trees, International Parallel Processing Symposium 1995. A
    switch of level i has m(i) links down and w(i+1) up. Switch (t, j) of level i is number t W(i) + j; it is
    above the nodes t M(i) ... (t + 1) M(i) − 1, where M(i) = m1 ... mi and W(i) = w1 ... wi.

    Attributes
    ----------
    down : tuple of int (levels,)
        Links of a switch to below, from the edge to the top.
    up : tuple of int (levels − 1,)
        Links of a switch to above, of the levels below the top.
    """

    down: tuple[int, ...]
    up: tuple[int, ...] = ()

    @property
    def nodes(self) -> int:
        """Nodes that it joins."""
        return prod(self.down)

    @property
    def levels(self) -> int:
        """Levels of switches."""
        return len(self.down)

    def below(self, level: int) -> int:
        """Nodes below a switch of a level, M(level); 1 for level 0, the node itself."""
        return prod(self.down[:level])

    def paths(self, level: int) -> int:
        """Switches of a level above each node, W(level)."""
        return prod(self.up[: max(level - 1, 0)])

    def switches(self) -> tuple[int, ...]:
        """Switches of each level, from the edge to the top."""
        return tuple(
            self.nodes // self.below(level) * self.paths(level) for level in range(1, self.levels + 1)
        )

    def links(self) -> pd.DataFrame:
        """`ENDS`; level by level from the nodes, all links up, then all down."""
        tables = []
        for level in range(self.levels):
            paths = self.paths(level + 1)
            subtree, path = np.divmod(np.arange(self.nodes // self.below(level) * paths), paths)
            lower = subtree * self.paths(level) + path % self.paths(level)
            upper = subtree // self.down[level] * paths + path
            tables += [_links(level, lower, level + 1, upper), _links(level + 1, upper, level, lower)]
        return pd.concat(tables, ignore_index=True)


@dataclass(frozen=True)
class Torus:
    """Torus of any number of dimensions, a switch at every node; of one dimension, a ring.

    Attributes
    ----------
    sizes : tuple of int
        Nodes along each dimension. Node numbers run along the last dimension first. Along a dimension of 2
        there is one cable between the two, along a dimension of 1 there is none.
    """

    sizes: tuple[int, ...]

    @property
    def nodes(self) -> int:
        """Nodes that it joins."""
        return prod(self.sizes)

    def ways(self) -> list[tuple[int, int]]:
        """Dimension and step (1 or −1) of the links that leave each switch."""
        return [
            (dimension, step)
            for dimension, size in enumerate(self.sizes)
            for step in (1, -1)
            if size > 2 or (size == 2 and step == 1)
        ]

    def links(self) -> pd.DataFrame:
        """`ENDS`; links from all nodes, to all nodes, then of all switches way by way, as `ways` has them."""
        node = np.arange(self.nodes)
        coordinates = np.unravel_index(node, self.sizes)
        tables = [_links(0, node, 1, node), _links(1, node, 0, node)]
        for dimension, step in self.ways():
            moved = [
                (coordinate + step) % self.sizes[dimension] if axis == dimension else coordinate
                for axis, coordinate in enumerate(coordinates)
            ]
            tables.append(_links(1, node, 1, np.ravel_multi_index(moved, self.sizes)))
        return pd.concat(tables, ignore_index=True)


Topology = Tree | Torus


def k_ary_n_tree(k: int, n: int) -> Tree:
    """Tree of k^n nodes and n k^(n−1) switches of 2k links, with the nodes' full bandwidth at every level.

    Petrini, Vanneschi, k-ary n-trees: high performance networks for massively parallel architectures,
    International Parallel Processing Symposium 1997. QsNet's is 4-ary; that of 64 nodes has 3 levels.
    """
    return Tree((k,) * n, (k,) * (n - 1))


def fat_tree(down: tuple[int, ...], blocking_ratio: float) -> Tree:
    """Tree whose switches have `blocking_ratio` links down for each link up.

    Parameters
    ----------
    down : tuple of int
        Links of a switch to below, from the edge to the top.
    blocking_ratio : float
        1 for a tree that does not block, 2 for one of half the bandwidth (2:1).

    Raises
    ------
    TableError
        Where `blocking_ratio` does not divide the links of a level.
    """
    up = [links / blocking_ratio for links in down[:-1]]
    odd = [links for links, number in zip(down, up, strict=False) if number < 1 or number != int(number)]
    if odd:
        raise TableError(
            f"blocking ratio {blocking_ratio}: does not divide the {odd[0]} links down of a switch"
        )
    return Tree(tuple(down), tuple(int(number) for number in up))


def star(nodes: int) -> Tree:
    """One switch that joins all nodes."""
    return Tree((nodes,))


def ring(nodes: int) -> Torus:
    """Torus of one dimension."""
    return Torus((nodes,))


def _links(
    start_level: int, start: NDArray[np.int64], end_level: int, end: NDArray[np.int64]
) -> pd.DataFrame:
    return pd.DataFrame(dict(zip(ENDS, (start_level, start, end_level, end), strict=True)))
