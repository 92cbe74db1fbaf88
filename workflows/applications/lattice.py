"""Meshes of bent lattices of blocks, written as OpenFOAM's blockMeshDict.

A lattice is a box of blocks along u, v and w, some of which can be removed. A function maps the coordinates
of the lattice, in which block corners are whole numbers, to space. An edge that the function bends is written
with intermediate points. Lattices merge where their corners meet, so a mesh can have slits, wedges, rings and
bodies with sharp edges.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

Point = tuple[float, float, float]
Corner = tuple[int, int, int]

_POINTS_OF_AN_EDGE = 15
_DIGITS = 9
"""Decimals of a coordinate: corners that agree in all of them are the same corner."""

# Corners of a block as blockMesh counts them, and its faces with their normals outward.
_CORNERS = ((0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1))
_FACES = ((0, 4, 7, 3), (1, 2, 6, 5), (0, 1, 5, 4), (3, 7, 6, 2), (0, 3, 2, 1), (4, 5, 6, 7))
_EDGES = tuple(
    (a, b)
    for a, b in itertools.combinations(range(8), 2)
    if sum(abs(i - j) for i, j in zip(_CORNERS[a], _CORNERS[b], strict=True)) == 1
)


@dataclass(frozen=True)
class Lattice:
    """A box of blocks that a function maps to space.

    Attributes
    ----------
    cells : three sequences of int
        Cells of each block along u, v and w; their lengths are the numbers of blocks.
    place : callable
        Position in space, metres, of (u, v, w). The axes must be right-handed.
    patch : callable
        Name of the boundary patch of an outer face, from the (u, v, w) of its centre. The coordinate along
        the normal of the face is a whole number; the other two end in one half.
    removed : callable
        Whether the block with the lowest corner (i, j, k) is left out.
    growth : three sequences of float
        Length of the last cell divided by that of the first, for each block along u, v and w. An empty
        sequence means 1.
    zone : str
        Cell zone of all blocks; empty for none.
    """

    cells: tuple[Sequence[int], Sequence[int], Sequence[int]]
    place: Callable[[float, float, float], Point]
    patch: Callable[[float, float, float], str]
    removed: Callable[[int, int, int], bool] = lambda i, j, k: False
    growth: tuple[Sequence[float], Sequence[float], Sequence[float]] = ((), (), ())
    zone: str = ""

    def blocks(self) -> list[Corner]:
        """Return the lowest corners of the blocks that are not removed."""
        along_u, along_v, along_w = (range(len(along)) for along in self.cells)
        corners = itertools.product(along_u, along_v, along_w)
        return [corner for corner in corners if not self.removed(*corner)]


@dataclass(frozen=True)
class Mesh:
    """Lattices that merge where their corners meet, and the types of the patches by name."""

    lattices: Sequence[Lattice]
    patches: Mapping[str, str]


@dataclass
class _Written:
    vertices: dict[Point, int] = field(default_factory=dict)
    edges: dict[tuple[int, int], tuple[Point, ...]] = field(default_factory=dict)
    blocks: list[str] = field(default_factory=list)
    faces: dict[frozenset[int], list[tuple[tuple[int, ...], str]]] = field(default_factory=dict)


def block_mesh_dict(mesh: Mesh) -> str:
    """Write a mesh as the text of a blockMeshDict, without its FoamFile header.

    Raises
    ------
    ValueError
        `mesh.patches` lacks the patch of a face, a patch has no face, more than two blocks share a face, or
        two lattices bend the same edge differently.
    """
    written = _Written()
    for lattice in mesh.lattices:
        for corner in lattice.blocks():
            _add_block(written, lattice, corner)
    edges = [
        f"    polyLine {start} {end} ({' '.join(map(_vector, points))})"
        for (start, end), points in written.edges.items()
        if points
    ]
    sections = [
        ("vertices", [f"    {_vector(point)}" for point in written.vertices]),
        ("edges", edges),
        ("blocks", written.blocks),
        ("boundary", _boundary(written, mesh.patches)),
    ]
    lists = ["\n".join([name, "(", *lines, ");", ""]) for name, lines in sections]
    return "\n".join(lists)


def spread(count: int, weights: Sequence[float]) -> list[int]:
    """Divide `count` cells in proportion to weights, at least one cell each; rounding may change the sum."""
    return [max(1, round(count * weight / sum(weights))) for weight in weights]


def between(stations: Sequence[float], position: float) -> float:
    """Interpolate linearly between values at the positions 0, 1, 2, ...; extrapolate beyond the ends."""
    low = min(int(position), len(stations) - 2)
    return stations[low] + (position - low) * (stations[low + 1] - stations[low])


def _add_block(written: _Written, lattice: Lattice, corner: Corner) -> None:
    i, j, k = corner
    at: list[Point] = [(float(i + u), float(j + v), float(k + w)) for u, v, w in _CORNERS]
    numbers = [written.vertices.setdefault(_position(lattice, uvw), len(written.vertices)) for uvw in at]
    for a, b in _EDGES:
        if numbers[a] != numbers[b]:
            _add_edge(written, lattice, (numbers[a], at[a]), (numbers[b], at[b]))
    cells = [along[index] for along, index in zip(lattice.cells, corner, strict=True)]
    growth = [along[index] if along else 1 for along, index in zip(lattice.growth, corner, strict=True)]
    written.blocks.append(
        f"    hex ({_join(numbers)}) {lattice.zone} ({_join(cells)}) simpleGrading ({_join(growth)})"
    )
    for face in _FACES:
        loop = tuple(dict.fromkeys(numbers[index] for index in face))
        if len(loop) > 2:
            u, v, w = (sum(at[index][axis] for index in face) / 4 for axis in range(3))
            whole = tuple(numbers[index] for index in face)
            written.faces.setdefault(frozenset(loop), []).append((whole, lattice.patch(u, v, w)))


def _add_edge(written: _Written, lattice: Lattice, *ends: tuple[int, Point]) -> None:
    (start, first), (end, last) = sorted(ends)
    steps = [step / (_POINTS_OF_AN_EDGE + 1) for step in range(_POINTS_OF_AN_EDGE + 2)]
    u, v, w = first
    length_u, length_v, length_w = (b - a for a, b in zip(first, last, strict=True))
    points = [
        _position(lattice, (u + length_u * step, v + length_v * step, w + length_w * step)) for step in steps
    ]
    chord = math.dist(points[0], points[-1])
    bent = any(
        math.dist(points[0], point) + math.dist(point, points[-1]) > chord * (1 + 1e-9) for point in points
    )
    inner = tuple(points[1:-1]) if bent else ()
    written_points = written.edges.setdefault((start, end), inner)
    if len(written_points) != len(inner) or any(
        math.dist(a, b) > 1e-6 * chord for a, b in zip(written_points, inner, strict=True)
    ):
        raise ValueError(f"the edge from {_vector(points[0])} to {_vector(points[-1])} is bent in two ways")


def _boundary(written: _Written, types: Mapping[str, str]) -> list[str]:
    outer: dict[str, list[tuple[int, ...]]] = {name: [] for name in types}
    for shared in written.faces.values():
        if len(shared) > 2:
            raise ValueError(f"{len(shared)} blocks share the face {shared[0][0]}")
        if len(shared) == 1:
            face, name = shared[0]
            if name not in outer:
                raise ValueError(f"no type for the patch {name!r}; known: {', '.join(types)}")
            outer[name].append(face)
    if unused := [name for name, faces in outer.items() if not faces]:
        raise ValueError(f"no face belongs to the patch {unused[0]!r}")
    return [
        f"    {name} {{ type {types[name]}; faces ({' '.join(f'({_join(face)})' for face in faces)}); }}"
        for name, faces in outer.items()
    ]


def _position(lattice: Lattice, uvw: Point) -> Point:
    x, y, z = (round(value, _DIGITS) + 0.0 for value in lattice.place(*uvw))  # + 0.0: no minus zero
    return x, y, z


def _vector(point: Point) -> str:
    return f"({' '.join(f'{value:.{_DIGITS}g}' for value in point)})"


def _join(values: Sequence[float]) -> str:
    return " ".join(f"{value:g}" for value in values)
