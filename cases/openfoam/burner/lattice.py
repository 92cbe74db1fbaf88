"""A gas burner: fuel tube, ring of air, combustion chamber and contracting nozzle, about the x axis."""

import math
from collections.abc import Callable, Mapping

from workflows.applications.lattice import Lattice, Mesh, Point, between, spread

RADII = (0.01, 0.014, 0.03, 0.06)
"""Fuel tube, its outer wall, ring of air, chamber, metres."""
CORE = 0.005
"""Half the side of the square of cells around the axis, metres."""
STATIONS = (0.0, 0.3, 0.4)
"""Metres along the axis: burner, begin of the nozzle, outlet."""
NOZZLE = 0.5
"""Radius of the nozzle's end over that of the chamber."""
SIDES = 4


def mesh(parameters: Mapping[str, float]) -> Mesh:
    """Mesh the burner with about 125 `cells_across`^3 cells; `cells_across` is the side of the square."""
    across = int(parameters["cells_across"])
    radial = spread(round(2.5 * across), (0.7, 0.5, 1, 1))
    axial = spread(round(11.7 * across), (3, 1.4))
    square = Lattice(
        (axial, [across], [across]),
        _shaped(lambda v, w: (CORE * (2 * v - 1), CORE * (2 * w - 1))),
        lambda u, v, w: "fuel" if u == 0 else "outlet",
        growth=((6, 1), (), ()),
    )
    rings = [
        Lattice(
            (axial, radial, [across]),
            _shaped(lambda v, w, side=side: _ring(v, w, side)),
            _patch,
            growth=((6, 1), (1, 1, 1, 3), ()),
        )
        for side in range(SIDES)
    ]
    return Mesh([square, *rings], {"fuel": "patch", "air": "patch", "outlet": "patch", "walls": "wall"})


def _ring(v: float, w: float, side: int) -> tuple[float, float]:
    """Place in the cross-section: v counts the radii, 0 on the square, w goes along one of its sides."""
    angle = math.pi / 2 * (w - 0.5)
    radius = between((0.0, *RADII), v)
    if v < 1:
        y = (1 - v) * CORE + v * RADII[0] * math.cos(angle)
        z = (1 - v) * CORE * (2 * w - 1) + v * RADII[0] * math.sin(angle)
    else:
        y, z = radius * math.cos(angle), radius * math.sin(angle)
    for _ in range(side):
        y, z = -z, y
    return y, z


def _shaped(across: Callable[[float, float], tuple[float, float]]) -> Callable[[float, float, float], Point]:
    def place(u: float, v: float, w: float) -> Point:
        y, z = across(v, w)
        narrowed = 1 - (1 - NOZZLE) * math.sin(math.pi / 2 * max(u - 1, 0)) ** 2
        return between(STATIONS, u), narrowed * y, narrowed * z

    return place


def _patch(u: float, v: float, w: float) -> str:
    if u == 0 and v != len(RADII):
        return {0: "fuel", 2: "air"}.get(int(v), "walls")
    return "outlet" if u == len(STATIONS) - 1 else "walls"
