import math
from collections import Counter

import pytest

from workflows.applications.fullerene import BOND, fullerene


def neighbours(atoms):
    return [
        [other for other, position in enumerate(atoms) if 0 < math.dist(here[1:], position[1:]) < 1.2 * BOND]
        for here in atoms
    ]


def rings(bonds):
    """Number of shortest rings by their size: with three bonds each, two of them begin one ring."""
    sizes = set()
    for atom, near in enumerate(bonds):
        for first in near:
            for last in near:
                if first < last:
                    sizes.add(shortest_ring(bonds, atom, first, last))
    return Counter(map(len, sizes))


def shortest_ring(bonds, atom, first, last):
    paths = [(first,)]
    while True:
        paths = [(*path, step) for path in paths for step in bonds[path[-1]] if step not in (atom, *path)]
        for path in paths:
            if path[-1] == last:
                return frozenset((atom, *path))


@pytest.mark.parametrize(
    ("number", "hexagons", "radius"),
    # By hand, in bonds: sqrt(3) x golden ratio / 2 of a dodecahedron. The icosahedron that the others are cut from has
    # edges of 3 and 6 and a radius R of 0.951057 of that; an atom one bond from a corner is at sqrt(R^2 + 1 - edge).
    [(20, 0, 1.401259), (60, 20, 2.478019), (240, 110, 5.249981)],
)
def test_cages_have_twelve_pentagons_and_three_equal_bonds_an_atom(number, hexagons, radius):
    atoms = fullerene(number)
    assert [atom[0] for atom in atoms] == ["C"] * number
    bonds = neighbours(atoms)
    assert {len(near) for near in bonds} == {3}
    for here, near in enumerate(bonds):
        for other in near:
            assert math.dist(atoms[here][1:], atoms[other][1:]) == pytest.approx(BOND)
    assert rings(bonds) == Counter({5: 12, 6: hexagons})
    assert max(math.hypot(*atom[1:]) for atom in atoms) / BOND == pytest.approx(radius, rel=1e-5)


@pytest.mark.parametrize("number", [0, 12, 59, 70, 120, 180])
def test_other_numbers_of_atoms_are_refused(number):
    with pytest.raises(ValueError, match=f"no cage of {number} atoms"):
        fullerene(number)
