"""Half of a fighter aircraft: fuselage with sharp chines, swept wing and fin, in a box of air.

The x axis points to the tail, y along the wing, z up. The body is what lies between the height `_height`
above and below the plane of the wing; so the mesh is an upper and a lower lattice that meet where that is 0.
"""

import math
from collections.abc import Mapping

from workflows.applications.lattice import Lattice, Mesh, Point, between, spread

LENGTH = 13.0
BOX = (-14.0, 32.0, 16.0)
"""Ends of the box along x, and its extent along y and z, metres."""
HALF_HEIGHT, WING_HALF_THICKNESS, FIN_HALF_THICKNESS, FIN_HEIGHT = 0.8, 0.16, 0.1, 2.0
# Stations along u: inlet, nose, leading edge, middle and trailing edge of the wing, tail, outlet; at the
# plane of symmetry, the fuselage's side, the wing's tip and the end of the box (v = 0, 1, 2, 3).
X = (
    (BOX[0], 0.0, 4.5, 7.5, 10.5, LENGTH, BOX[1]),
    (BOX[0], 0.0, 4.5, 7.5, 10.5, LENGTH, BOX[1]),
    (BOX[0], 3.5, 8.3, 9.4, 10.5, LENGTH, BOX[1]),
    (BOX[0], 1.0, 6.5, 8.5, 10.5, LENGTH, BOX[1]),
)
SIDE = (0.4, 0.4, 0.8, 0.8, 0.8, 0.6, 0.6)
"""Half width of the fuselage at those stations."""
TIP = 3.5
NOSE, LEADING, TRAILING, TAIL = 1, 2, 4, 5


def mesh(parameters: Mapping[str, float]) -> Mesh:
    """Mesh the air with about 0.5 `cells_along`^3 cells; `cells_along` is the number along x."""
    along = int(parameters["cells_along"])
    x = spread(along, (16, 16, 14, 14, 10, 20))
    y = spread(round(0.6 * along), (11, 26, 18))
    z = spread(round(0.44 * along), (1, 1))
    towards = (0.04, 1, 1, 1, 1, 30)
    upper = Lattice((x, y, z), _upper, _upper_patch, growth=(towards, (1, 1, 15), (4, 8)))
    lower = Lattice((x, y, [sum(z)]), _lower, _lower_patch, growth=(towards, (1, 1, 15), (1 / 32,)))
    return Mesh([upper, lower], {"far": "patch", "symmetry": "symmetry", "aircraft": "wall"})


def _upper(u: float, v: float, w: float) -> Point:
    x, y, height = _surface(u, v)
    top = FIN_HEIGHT + (w - 1) * (BOX[2] - FIN_HEIGHT) if w > 1 else height + w * (FIN_HEIGHT - height)
    fin = 0.0
    if TRAILING < u < TAIL and w < 1:
        chord = u - TRAILING
        fin = FIN_HALF_THICKNESS * 4 * chord * (1 - chord) * (1 - w)
    return x, y + fin * max(0.0, 1 - v), top


def _lower(u: float, v: float, w: float) -> Point:
    x, y, height = _surface(u, v)
    return x, y, -BOX[2] + w * (BOX[2] - height)


def _surface(u: float, v: float) -> Point:
    x = between([between(stations, u) for stations in X], v)
    side = between(SIDE, u)
    return x, between((0.0, side, TIP, BOX[2]), v), _height(u, v, x)


def _height(u: float, v: float, x: float) -> float:
    """Half of the body's height at a place of the plane of the wing; 0 outside the body."""
    along = min(max(x / LENGTH, 0.0), 1.0)
    fuselage = HALF_HEIGHT * (1 - abs(2 * along - 1) ** 3) * math.cos(math.pi / 2 * min(v, 1.0)) ** 2
    chord = min(max((u - LEADING) / (TRAILING - LEADING), 0.0), 1.0)
    wing = WING_HALF_THICKNESS * 4 * chord * (1 - chord) * between((0.0, 1.0, 0.0, 0.0), v)
    return (fuselage if v < 1 else 0.0) + wing


def _upper_patch(u: float, v: float, w: float) -> str:
    fin = v == 0 and TRAILING < u < TAIL and w < 1
    return "aircraft" if w == 0 or fin else _outer_patch(v)


def _lower_patch(u: float, v: float, w: float) -> str:
    return "aircraft" if w == 1 else _outer_patch(v)


def _outer_patch(v: float) -> str:
    return "symmetry" if v == 0 else "far"
