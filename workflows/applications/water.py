"""Clusters of water molecules of any size, cut from a crystal of ice XI.

Ice XI is the proton-ordered form of ordinary ice, so its unit cell also fixes the hydrogens. Space group
Cmc2_1; cell and positions from Leadbetter et al., J. Chem. Phys. 82, 424 (1985).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

Position = tuple[float, float, float]
Atom = tuple[str, float, float, float]

_CELL = (4.465, 7.859, 7.292)
"""Edges of the orthorhombic cell, ångström."""
_MOLECULES: tuple[tuple[Position, Position, Position], ...] = (
    ((0.0, 0.6648, 0.0631), (0.0, 0.6636, 0.1963), (0.0, 0.5363, 0.0183)),
    ((0.5, 0.8255, -0.0631), (0.6766, 0.7748, -0.0183), (0.3234, 0.7748, -0.0183)),
)
"""Oxygen and two hydrogens of the two molecules that symmetry does not relate, in fractions of the edges."""


def water_cluster(waters: int) -> list[Atom]:
    """Cut a cluster from ice XI: a molecule and the molecules nearest to it.

    Returns
    -------
    list of (str, float, float, float)
        Element and position in ångström of each atom. Molecules are sorted by distance; each is O, H, H. A
        smaller cluster is the beginning of a larger one.
    """
    volume_of_molecule = math.prod(_CELL) / 8
    radius = (3 * waters * volume_of_molecule / (4 * math.pi)) ** (1 / 3) + max(_CELL)
    reach = [range(-math.ceil(radius / edge), math.ceil(radius / edge) + 1) for edge in _CELL]
    centre = _absolute(_MOLECULES[0][0])
    molecules = [
        [_shifted(atom, [n * edge for n, edge in zip(cell, _CELL, strict=True)]) for atom in molecule]
        for molecule in _unit_cell()
        for cell in product(*reach)
    ]
    # Rounded distances give molecules at the same distance the same order on every machine.
    molecules.sort(key=lambda molecule: (round(math.dist(molecule[0], centre), 6), molecule[0]))
    return [
        (element, *_shifted(atom, [-c for c in centre]))
        for molecule in molecules[:waters]
        for element, atom in zip("OHH", molecule, strict=True)
    ]


def _unit_cell() -> list[list[Position]]:
    """Return the positions, in ångström, of the atoms of the eight molecules in the unit cell.

    Two molecules are independent. Each lies on a mirror plane, so the screw axis and the centring of the cell
    give four molecules of each.
    """
    return [
        [_absolute((shift + sign * x, shift + sign * y, z + (1 - sign) / 4)) for x, y, z in molecule]
        for molecule in _MOLECULES
        for sign in (1, -1)
        for shift in (0, 0.5)
    ]


def _shifted(atom: Position, by: Sequence[float]) -> Position:
    x, y, z = (a + shift for a, shift in zip(atom, by, strict=True))
    return x, y, z


def _absolute(fraction: Position) -> Position:
    x, y, z = (f * edge for f, edge in zip(fraction, _CELL, strict=True))
    return x, y, z
