"""Topologies: nodes, switches, and the links between them."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.runs.errors import TableError

ENDS = ("start_level", "start", "end_level", "end")
"""Columns of the links of a topology.

Level 0 holds the nodes, level 1 the switches attached to them, and higher levels the switches above. `start`
and `end` number the nodes or switches of their level from 0. A cable is two links, one per direction.
"""


@dataclass(frozen=True)
class Tree:
    """Generalised fat tree: XGFT(h; m1 ... mh; 1, w2 ... wh).

    Öhring, Ibel, Das, Kumar, On generalized fat trees, International Parallel Processing Symposium 1995. A
    switch of level i has m(i) links down and w(i+1) links up. Switch (t, j) of level i has number t W(i) + j.
    It is above the nodes t M(i) ... (t + 1) M(i) − 1, where M(i) = m1 ... mi and W(i) = w1 ... wi.

    Attributes
    ----------
    down : tuple of int (levels,)
        Links down per switch of each level, from the edge to the top.
    up : tuple of int (levels − 1,)
        Links up per switch of each level below the top.
    """

    down: tuple[int, ...]
    up: tuple[int, ...] = ()

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return prod(self.down)

    @property
    def levels(self) -> int:
        """Number of levels of switches."""
        return len(self.down)

    def below(self, level: int) -> int:
        """Return the number of nodes below a switch of a level, M(level); 1 for level 0."""
        return prod(self.down[:level])

    def paths(self, level: int) -> int:
        """Return the number of switches of a level that are above each node, W(level)."""
        return prod(self.up[: max(level - 1, 0)])

    def switches(self) -> tuple[int, ...]:
        """Return the number of switches of each level, from the edge to the top."""
        return tuple(
            self.nodes // self.below(level) * self.paths(level) for level in range(1, self.levels + 1)
        )

    def links(self) -> pd.DataFrame:
        """Return the links (`ENDS`) level by level from the nodes: links up, then links down."""
        tables = []
        for level in range(self.levels):
            # Each subtree below a level has a link to every switch above it; `path` numbers these switches.
            subtrees, paths = self.nodes // self.below(level), self.paths(level + 1)
            subtree, path = np.divmod(np.arange(subtrees * paths), paths)
            lower = subtree * self.paths(level) + path % self.paths(level)
            upper = subtree // self.down[level] * paths + path
            tables += [_links(level, lower, level + 1, upper), _links(level + 1, upper, level, lower)]
        return pd.concat(tables, ignore_index=True)


@dataclass(frozen=True)
class Torus:
    """Torus of any number of dimensions, with a switch at every node. A torus of one dimension is a ring.

    Attributes
    ----------
    sizes : tuple of int
        Nodes along each dimension. Node numbers run along the last dimension first. A dimension of two nodes
        has one cable between them; a dimension of one node has none.
    """

    sizes: tuple[int, ...]

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return prod(self.sizes)

    def directions(self) -> list[tuple[int, int]]:
        """Return dimension and step (1 or −1) of the links that leave each switch, in order."""
        return [
            (dimension, step)
            for dimension, size in enumerate(self.sizes)
            for step in (1, -1)
            if size > 2 or (size == 2 and step == 1)
        ]

    def links(self) -> pd.DataFrame:
        """Return the links (`ENDS`): from nodes, to nodes, then between switches in order of `directions`."""
        node = np.arange(self.nodes)
        coordinates = np.unravel_index(node, self.sizes)
        tables = [_links(0, node, 1, node), _links(1, node, 0, node)]
        for dimension, step in self.directions():
            moved = [
                (coordinate + step) % self.sizes[dimension] if axis == dimension else coordinate
                for axis, coordinate in enumerate(coordinates)
            ]
            tables.append(_links(1, node, 1, np.ravel_multi_index(moved, self.sizes)))
        return pd.concat(tables, ignore_index=True)


Topology = Tree | Torus


def k_ary_n_tree(k: int, n: int) -> Tree:
    """Make a tree of k^n nodes and n k^(n−1) switches of 2k links, with full bandwidth at every level.

    Petrini, Vanneschi, k-ary n-trees: high performance networks for massively parallel architectures,
    International Parallel Processing Symposium 1997. QsNet is a 4-ary tree; 64 nodes have 3 levels.
    """
    return Tree((k,) * n, (k,) * (n - 1))


def fat_tree(down: tuple[int, ...], blocking_ratio: float) -> Tree:
    """Make a tree whose switches have `blocking_ratio` links down for each link up.

    Parameters
    ----------
    down : tuple of int
        Links down per switch of each level, from the edge to the top.
    blocking_ratio : float
        1 for a non-blocking tree, 2 for half the bandwidth (2:1).

    Raises
    ------
    TableError
        If `blocking_ratio` does not divide the links of a level.
    """
    up = [links / blocking_ratio for links in down[:-1]]
    for links_down, links_up in zip(down, up, strict=False):
        if links_up < 1 or links_up != int(links_up):
            raise TableError(
                f"blocking ratio {blocking_ratio}: does not divide the {links_down} links down of a switch"
            )
    return Tree(tuple(down), tuple(int(number) for number in up))


def star(nodes: int) -> Tree:
    """Make a tree of one switch that joins all nodes."""
    return Tree((nodes,))


def ring(nodes: int) -> Torus:
    """Make a torus of one dimension."""
    return Torus((nodes,))


def _links(
    start_level: int, start: NDArray[np.int64], end_level: int, end: NDArray[np.int64]
) -> pd.DataFrame:
    return pd.DataFrame(dict(zip(ENDS, (start_level, start, end_level, end), strict=True)))
