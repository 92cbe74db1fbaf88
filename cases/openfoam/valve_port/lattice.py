"""A straight intake port with its valve, open, above a cylinder: a profile revolved about the z axis."""

import math
from collections.abc import Mapping

from workflows.applications.lattice import Lattice, Mesh, Point, between, spread

SECTORS = 8
STEM, THROAT, HEAD, CYLINDER = 0.004, 0.014, 0.017, 0.04
"""Radii of the stem, of the port, of the valve's head and of the cylinder, metres."""
HEIGHTS = (-0.06, -0.012, -0.010, 0.0, 0.06)
"""Metres: cylinder's bottom, lower and upper side of the valve's rim, cylinder head, inlet of the port."""
CONE = 0.007
"""How much higher the head's upper side is at the stem than at its rim."""
# Blocks along the radius: stem, port, rim, outer part; along z: cylinder, head, gap, port.
INNER, PORT, RIM, OUTER = range(4)
BELOW, VALVE, GAP, ABOVE = range(4)


def mesh(parameters: Mapping[str, float]) -> Mesh:
    """Mesh the port with about 1.1 `cells_around`^3 cells."""
    around = int(parameters["cells_around"])
    radial = spread(round(0.8 * around), (1, 3, 1, 4))
    axial = spread(round(1.8 * around), (4, 0.5, 2, 3.5))
    return Mesh(
        [
            Lattice(
                (radial, [round(around / SECTORS)] * SECTORS, axial),
                _place,
                _patch,
                removed=lambda i, j, k: _solid(i, k),
                growth=((1, 1, 1, 2), (), (0.25, 1, 1, 2)),
            )
        ],
        {"inlet": "patch", "outlet": "patch", "walls": "wall"},
    )


def _solid(i: int, k: int) -> bool:
    stem = i == INNER and k >= VALVE
    head = k == VALVE and i <= RIM
    return stem or head or (k == ABOVE and i >= RIM)


def _place(u: float, v: float, w: float) -> Point:
    radius = between((0.0, STEM, THROAT, HEAD, CYLINDER), u)
    cone = CONE * min(1.0, max(0.0, (HEAD - radius) / (HEAD - STEM)))
    z = between((*HEIGHTS[:2], HEIGHTS[2] + cone, *HEIGHTS[3:]), w)
    angle = 2 * math.pi * v / SECTORS
    return radius * math.cos(angle), radius * math.sin(angle), z


def _patch(u: float, v: float, w: float) -> str:
    return {0.0: "outlet", 4.0: "inlet"}.get(w, "walls")
