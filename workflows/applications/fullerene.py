"""Carbon cages of icosahedral symmetry: the dodecahedron of 20 atoms, and cages of 60 n^2 atoms.

Each face of an icosahedron is divided into n^2 triangles. There are 30 n^2 edges of triangles in all. Two
atoms lie on each edge, at a third of its length from either end: 60 n^2 atoms. Each atom has three bonds. The
bonds form twelve pentagons and otherwise hexagons. All bonds have the same length, because the faces are
flat.
"""

from __future__ import annotations

import math
from itertools import combinations

from workflows.applications.water import Atom, Position

BOND = 1.44
"""Length of a bond, ångström: the mean over C60's 30 bonds of 1.401 and 60 bonds of 1.458 (Hedberg et al.,
Science 254, 410 (1991), electron diffraction of the gas)."""

_GOLDEN = (1 + math.sqrt(5)) / 2
_ICOSAHEDRON: tuple[Position, ...] = tuple(
    corner
    for short in (-1.0, 1.0)
    for long in (-_GOLDEN, _GOLDEN)
    for corner in ((0.0, short, long), (short, long, 0.0), (long, 0.0, short))
)
"""Corners of an icosahedron with edges of length 2."""
_EDGE = 2.0


def fullerene(atoms: int) -> list[Atom]:
    """Make a carbon cage around the origin.

    Parameters
    ----------
    atoms : int
        20, or 60 n^2 for a whole number n.

    Returns
    -------
    list of (str, float, float, float)
        Element and position in ångström of each atom.

    Raises
    ------
    ValueError
        `atoms` is neither 20 nor 60 n^2.
    """
    faces = [
        face
        for face in combinations(_ICOSAHEDRON, 3)
        if all(math.isclose(math.dist(*edge), _EDGE) for edge in combinations(face, 2))
    ]
    divisions = math.isqrt(atoms // 60)  # n
    if atoms == 20:
        positions = [_between(face, (1, 1, 1)) for face in faces]
    elif divisions > 0 and atoms == 60 * divisions**2:
        # Atoms on an edge of the icosahedron belong to two faces; rounding removes the duplicates.
        on_faces = [atom for face in faces for atom in _atoms_on(face, divisions)]
        positions = list({tuple(round(value, 6) for value in atom): atom for atom in on_faces}.values())
    else:
        raise ValueError(f"no cage of {atoms} atoms; there are cages of 20 atoms, and of 60 n^2")
    shortest = min(math.dist(positions[0], other) for other in positions[1:])
    scale = BOND / shortest
    return [("C", scale * x, scale * y, scale * z) for x, y, z in positions]


def _atoms_on(face: tuple[Position, ...], divisions: int) -> list[Position]:
    """Return the positions of the atoms on a face: two on each edge of its triangles.

    A face with n divisions has n (n + 1) / 2 upright triangles, whose edges include the edges of all others.
    Points are given by weights of the three corners of the face (barycentric coordinates).
    """
    atoms = []
    for a in range(divisions):
        for b in range(divisions - a):
            c = divisions - 1 - a - b
            triangle = ((a + 1, b, c), (a, b + 1, c), (a, b, c + 1))
            for first, second in combinations(triangle, 2):
                for near, far in ((first, second), (second, first)):
                    weights = tuple(2 * p + q for p, q in zip(near, far, strict=True))
                    atoms.append(_between(face, weights))
    return atoms


def _between(corners: tuple[Position, ...], weights: tuple[int, ...]) -> Position:
    """Return the weighted mean of the positions of corners."""
    total = sum(weights)
    x, y, z = (
        sum(weight * corner[axis] for weight, corner in zip(weights, corners, strict=True)) / total
        for axis in range(3)
    )
    return x, y, z
