"""Passages of an axial fan: eight lens-shaped blades from hub to casing, along helices about the x axis."""

import math
from collections.abc import Mapping

from workflows.applications.lattice import Lattice, Mesh, Point, between, spread

BLADES = 8
HUB_RADIUS, TIP_RADIUS = 0.3, 0.5
STATIONS = (-0.25, 0.0, 0.08, 0.16, 0.45)
"""Axial positions, metres: inlet, leading edge, thickest place and trailing edge of the blades, outlet."""
TURNED = -0.42
"""Angle from leading to trailing edge, radians: less than the relative flow turns, so the blades do work."""
HALF_THICKNESS = 0.045
"""Half of a blade's greatest thickness, radians."""


def mesh(parameters: Mapping[str, float]) -> Mesh:
    """Mesh the ring with about 3.5 `cells_along`^3 cells; `cells_along` is the number along the axis."""
    axial = int(parameters["cells_along"])
    cells = (spread(axial, (3, 2, 2, 4)), (round(0.3 * axial),), (round(0.36 * axial),))

    def passage(number: int) -> Lattice:
        def place(u: float, v: float, w: float) -> Point:
            x = between(STATIONS, u)
            chord = min(max(x / STATIONS[3], 0.0), 1.0)
            thickness = 4 * HALF_THICKNESS * chord * (1 - chord)
            angle = 2 * math.pi / BLADES * (number + w) + TURNED * chord + (1 - 2 * w) * thickness
            radius = HUB_RADIUS + v * (TIP_RADIUS - HUB_RADIUS)
            return x, radius * math.cos(angle), radius * math.sin(angle)

        return Lattice(cells, place, _patch, growth=((0.4, 1, 1, 2.5), (), ()), zone="rotor")

    types = {"inlet": "patch", "outlet": "patch", "hub": "wall", "casing": "wall", "blades": "wall"}
    return Mesh([passage(number) for number in range(BLADES)], types)


def _patch(u: float, v: float, w: float) -> str:
    if w in (0, 1):
        return "blades"
    if v in (0, 1):
        return "hub" if v == 0 else "casing"
    return "inlet" if u == 0 else "outlet"
