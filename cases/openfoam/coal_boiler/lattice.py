"""A furnace: four burners in its front wall, an ash hopper below, and a nose below the outlet in the rear.

The x axis points from the front to the rear wall, z up.
"""

from collections.abc import Mapping
from itertools import pairwise

from workflows.applications.lattice import Lattice, Mesh, Point, between, spread

Y = (0.0, 0.65, 0.8, 1.0, 1.15, 1.85, 2.0, 2.2, 2.35, 3.0)
"""Metres: side walls, and the edges of two columns of burners with their primary part in the middle."""
Z = (0.0, 1.2, 2.15, 2.3, 2.5, 2.65, 3.35, 3.5, 3.7, 3.85, 5.2, 6.0, 6.8, 8.0)
"""Metres: bottom, hopper's top, two rows of burners, nose (from, tip, to), roof."""
FRONT = (1.2,) + (0.0,) * 13
REAR = (1.8,) + (3.0,) * 10 + (2.3, 3.0, 3.0)
"""x of front and rear wall at those heights."""
BURNERS = {1: "secondary", 2: "primary", 3: "secondary", 5: "secondary", 6: "primary", 7: "secondary"}
"""What a column of blocks may hold; rows have the same, one block higher."""
OUTLET = 12
"""The row of blocks at the outlet."""


def mesh(parameters: Mapping[str, float]) -> Mesh:
    """Mesh the furnace with about 0.13 `cells_up`^3 cells; `cells_up` is the number along z."""
    up = int(parameters["cells_up"])
    cells = ([round(3 / 8 * up)], spread(round(3 / 8 * up), _widths(Y)), spread(up, _widths(Z)))
    patches = {"primary": "patch", "secondary": "patch", "outlet": "patch", "walls": "wall"}
    return Mesh([Lattice(cells, _place, _patch)], patches)


def _widths(stations: tuple[float, ...]) -> list[float]:
    return [after - before for before, after in pairwise(stations)]


def _place(u: float, v: float, w: float) -> Point:
    front, rear = between(FRONT, w), between(REAR, w)
    return front + u * (rear - front), between(Y, v), between(Z, w)


def _patch(u: float, v: float, w: float) -> str:
    if u == 1 and w > OUTLET:
        return "outlet"
    parts = {BURNERS.get(int(v), "walls"), BURNERS.get(int(w) - 1, "walls")}
    if u != 0 or "walls" in parts:
        return "walls"
    return "primary" if parts == {"primary"} else "secondary"
