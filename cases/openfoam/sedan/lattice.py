"""Half of a sedan on the road: body, slanted cabin and wheels, removed from a box of air.

The x axis points backward, y sideward, z up.
"""

import math
from collections.abc import Mapping

from workflows.applications.lattice import Lattice, Mesh, Point, between, spread

X = (-8.0, 0.0, 0.55, 1.2, 1.5, 3.05, 3.7, 4.5, 16.0)
"""Metres: inlet, front, front wheel (from, to), windscreen's foot, rear wheel (from, to), rear, outlet."""
AT_ROOF = (-8.0, 0.0, 0.55, 1.5, 2.2, 2.95, 3.2, 4.5, 16.0)
"""The same lines at the height of the roof: the two windows lean."""
WAIST = (0.65, 0.65, 0.78, 0.86, 0.9, 0.98, 1.0, 0.95, 0.95)
"""Height of bonnet, waist and boot at those stations."""
SIDE = (0.7, 0.7, 0.85, 0.88, 0.88, 0.88, 0.86, 0.78, 0.78)
"""Half width of the body at those stations."""
WHEEL = 0.7
"""Ratio of the wheels' inner side to the half width."""
ROOF_SIDE, FLOOR, ROOF, SIDEWARD, UPWARD = 0.74, 0.2, 1.38, 6.0, 6.0
FRONT, FRONT_WHEEL, SCREEN, REAR_WHEEL, WINDOW, REAR = 1, 2, 4, 5, 6, 7


def mesh(parameters: Mapping[str, float]) -> Mesh:
    """Mesh the air with about 0.15 `cells_along`^3 cells; `cells_along` is the number along x."""
    along = int(parameters["cells_along"])
    lattice = Lattice(
        (
            spread(along, (30, 14, 16, 8, 36, 16, 20, 60)),
            spread(round(0.37 * along), (24, 11, 39)),
            spread(round(0.46 * along), (10, 24, 18, 40)),
        ),
        _place,
        _patch,
        removed=_solid,
        growth=((0.04, 1, 1, 1, 1, 1, 1, 25), (1, 1, 25), (1, 1, 1, 25)),
    )
    walls = ("road", "car")
    return Mesh(
        [lattice],
        dict.fromkeys(("inlet", "outlet", "sides"), "patch")
        | {"symmetry": "symmetry"}
        | dict.fromkeys(walls, "wall"),
    )


def _solid(i: int, j: int, k: int) -> bool:
    body = k == 1 and FRONT <= i < REAR and j < 2
    cabin = k == 2 and SCREEN <= i < WINDOW and j < 2
    wheel = k == 0 and i in (FRONT_WHEEL, REAR_WHEEL) and j == 1
    return body or cabin or wheel


def _place(u: float, v: float, w: float) -> Point:
    lean = between((0.0, 0.0, 0.0, 1.0, 0.0), w)
    x = (1 - lean) * between(X, u) + lean * between(AT_ROOF, u)
    side = between(SIDE, u) * (1 - lean * (1 - ROOF_SIDE))
    y = between((0.0, WHEEL * side, side, SIDEWARD), v)
    cabin = min(max((u - SCREEN) / (WINDOW - SCREEN), 0.0), 1.0)
    roof = ROOF + 0.06 * math.sin(math.pi * cabin)
    return x, y, between((0.0, FLOOR, between(WAIST, u), roof, UPWARD), w)


def _patch(u: float, v: float, w: float) -> str:
    for name, outer in (
        ("inlet", u == 0),
        ("outlet", u == len(X) - 1),
        ("symmetry", v == 0),
        ("sides", v == 3 or w == 4),
        ("road", w == 0),
    ):
        if outer:
            return name
    return "car"
