import math

import pytest

from workflows.applications.water import water_cluster

HUNDRED = water_cluster(100)
OXYGENS = [atom[1:] for atom in HUNDRED[::3]]


def test_atoms_come_as_molecules():
    assert [atom[0] for atom in HUNDRED] == ["O", "H", "H"] * 100


@pytest.mark.parametrize("waters", [1, 2, 5, 6, 12, 18, 99])
def test_a_cluster_is_the_beginning_of_a_larger_one(waters):
    assert water_cluster(waters) == HUNDRED[: 3 * waters]


def test_bonds_and_angles_are_those_of_water():
    assert len(HUNDRED) == 3 * 100
    for oxygen, *hydrogens in zip(*[iter(atom[1:] for atom in HUNDRED)] * 3, strict=True):
        first, two = (math.dist(oxygen, hydrogen) for hydrogen in hydrogens)
        assert 0.94 < first < 1.07 and 0.94 < two < 1.07
        across = math.dist(*hydrogens)
        angle = math.degrees(math.acos((first**2 + two**2 - across**2) / (2 * first * two)))
        assert 104 < angle < 115


def test_oxygens_have_four_neighbours_at_the_distance_of_ice():
    inner = OXYGENS[:10]  # all their neighbours are in the cluster
    assert len(inner) == 10
    for oxygen in inner:
        near = sorted(math.dist(oxygen, other) for other in OXYGENS if other != oxygen)
        assert all(2.7 < distance < 2.85 for distance in near[:4])
        assert near[4] > 4


def test_every_hydrogen_of_an_inner_molecule_points_to_another_oxygen():
    for place in range(10):
        for hydrogen in (HUNDRED[3 * place + 1], HUNDRED[3 * place + 2]):
            others = [oxygen for oxygen in OXYGENS if oxygen != OXYGENS[place]]
            assert 1.6 < min(math.dist(hydrogen[1:], oxygen) for oxygen in others) < 1.9


def test_the_nearest_molecules_are_taken():
    inside = [math.dist(OXYGENS[0], oxygen) for oxygen in OXYGENS]
    assert inside[0] == 0
    assert [round(distance, 5) for distance in inside] == sorted(round(distance, 5) for distance in inside)
    density = 18.015 / 0.60221 / (4 / 3 * math.pi * inside[-1] ** 3 / 100)
    assert density == pytest.approx(0.92, rel=0.25)  # g/cm3 of ice; the cluster's surface is rough
