import json
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflows.applications import application
from workflows.applications.lattice import Lattice, Mesh, between, block_mesh_dict, spread
from workflows.domain import InputError
from workflows.paths import CASES
from workflows.study.cases import case_files, load_case

openfoam = application("openfoam")

WALLS = {"walls": "wall"}
LATTICE_CASES = [
    file.parent
    for files in case_files(CASES).values()
    for file in files
    if (file.parent / "lattice.py").exists()
]


def straight(u, v, w):
    return u, v, w


def walls(u, v, w):
    return "walls"


def box(cells, **more):
    return Lattice(cells, more.pop("place", straight), more.pop("patch", walls), **more)


def section(text, name):
    return re.search(rf"^{name}\n\(\n(.*?)\);$", text, re.S | re.M)[1].splitlines()


def test_one_block():
    text = block_mesh_dict(Mesh([box(([2], [3], [4]))], WALLS))
    assert section(text, "vertices")[:2] == ["    (0 0 0)", "    (1 0 0)"]
    assert section(text, "edges") == []
    assert section(text, "blocks") == ["    hex (0 1 2 3 4 5 6 7)  (2 3 4) simpleGrading (1 1 1)"]
    assert section(text, "boundary")[0].count("(") == 1 + 6


def test_neighbours_share_corners_and_have_no_wall_between():
    text = block_mesh_dict(Mesh([box(([2, 2], [1], [1]))], WALLS))
    assert len(section(text, "vertices")) == 12
    assert section(text, "boundary")[0].count("(") == 1 + 10


def test_a_removed_block_leaves_walls():
    around = box(
        ([1] * 3, [1] * 3, [1]),
        removed=lambda i, j, k: i == j == 1,
        patch=lambda u, v, w: "hole" if 1 <= u <= 2 and 1 <= v <= 2 and w not in (0, 1) else "walls",
    )
    text = block_mesh_dict(Mesh([around], WALLS | {"hole": "wall"}))
    outer, hole = section(text, "boundary")
    assert len(section(text, "blocks")) == 8
    assert (outer.count("("), hole.count("(")) == (1 + 12 + 16, 1 + 4)


def test_lattices_meet_at_equal_corners_and_part_where_they_differ():
    def upper(u, v, w):
        return u, v, w + (1 - w) * bump(u)

    def lower(u, v, w):
        return u, v, w - 1 - w * bump(u)

    def bump(u):
        return 0.1 * math.sin(math.pi * (u - 1) / 2) if 1 < u < 3 else 0.0

    cells = ([2] * 4, [1], [1])
    text = block_mesh_dict(Mesh([box(cells, place=upper), box(cells, place=lower)], WALLS))
    # A lens over the two blocks in the middle: one corner each side more than without it, seen twice along v.
    assert len(section(text, "vertices")) == 5 * 2 * 3 + 2
    assert len(section(text, "edges")) == 2 * 2 * 2
    # The four faces of the lens beside the box's 2 * (4 + 4) + 2 * 2 + 2 * (4 + 4) / 2.
    assert section(text, "boundary")[0].count("(") == 1 + (2 * 8 + 4 + 8) + 4


def test_a_wedge_at_an_axis_has_fewer_corners():
    def ring(u, v, w):
        return u * math.cos(v), u * math.sin(v), w

    text = block_mesh_dict(Mesh([box(([1], [1], [1]), place=ring)], WALLS))
    assert len(section(text, "vertices")) == 6
    assert section(text, "boundary")[0].count("(") == 1 + 5
    assert len(section(text, "edges")) == 2  # the two arcs


ONE = box(([1], [1], [1]))
BENT = box(([1], [1], [1]), place=lambda u, v, w: (u, v, -w + 0.1 * math.sin(math.pi * u)))


@pytest.mark.parametrize(
    ("lattices", "patches", "message"),
    [
        ([ONE], {"wall": "wall"}, "no type for the patch 'walls'; known: wall"),
        ([ONE], WALLS | {"lid": "wall"}, "no face belongs to the patch 'lid'"),
        ([ONE] * 3, WALLS, "3 blocks share the face"),
        ([ONE, BENT], WALLS, "is bent in two ways"),
    ],
)
def test_impossible_lattices_are_refused(lattices, patches, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        block_mesh_dict(Mesh(lattices, patches))


@given(st.integers(1, 500), st.lists(st.floats(0.1, 10), min_size=1, max_size=8))
def test_spread_divides_in_proportion(count, weights):
    cells = spread(count, weights)
    for cell, weight in zip(cells, weights, strict=True):
        assert cell == max(1, round(count * weight / sum(weights)))
    assert abs(sum(cells) - count) <= len(weights)


def test_between_stations():
    assert [between((1.0, 3.0, 4.0), place) for place in (0, 0.5, 1, 1.5, 2)] == [1, 2, 3, 3.5, 4]


@pytest.mark.parametrize("folder", LATTICE_CASES, ids=lambda folder: folder.name)
def test_more_cells_make_a_case_of_the_same_shape(folder):
    """The blocks and their corners depend on the size's parameters by their numbers of cells alone."""
    both = (load_case(name, CASES) for name in (folder.name, f"{folder.name}-smoke"))
    full, smoke = (openfoam.inputs(sized)["system/blockMeshDict"].decode() for sized in both)
    assert full != smoke
    for name in ("vertices", "edges", "boundary"):
        assert section(full, name) == section(smoke, name)


CASE = """\
application: openfoam
title: Ring
description: Two quarters of a ring.
stands_for: Nothing.
size: one
sizes: {one: {parameters: {iterations: 3, cells: 5}, serial_seconds: 1, memory_MB: 1}}
answer: {quantity: number, unit: m, possible: [0, 10], tolerance: 1.0e-6, reason: Guessed.}
settings: {solver: icoFoam, like: cavity, read: {answer: (x), continuity: 1}}
"""
RING = """
import json
import math
from workflows.applications.lattice import Lattice, Mesh

def place(u, v, w):
    return (2 + v) * math.sin(u), (2 + v) * math.cos(u), w

def mesh(parameters):
    cells = ([4, 3], [parameters["cells"]], [2])
    return Mesh([Lattice(cells, place, lambda u, v, w: "lid", growth=([2, 1], [], []))], {"lid": "wall"})
"""


@pytest.fixture
def ring(tmp_path):
    folder = tmp_path / "openfoam/ring"
    folder.mkdir(parents=True)
    (folder / "case.yaml").write_text(CASE)
    (folder / "lattice.py").write_text(RING)
    return load_case("ring", tmp_path)


def test_a_case_starts_from_the_files_of_the_one_it_is_like(ring):
    with pytest.raises(InputError, match=r"case.yaml: settings.like: there is no .*/openfoam/cavity"):
        openfoam.inputs(ring)
    (ring.folder.parent / "cavity").symlink_to(CASES / "openfoam/cavity")
    files, cavity = openfoam.inputs(ring), openfoam.inputs(load_case("cavity", CASES))
    assert sorted(files) == sorted(cavity)
    changed = {name for name in files if files[name] != cavity[name]}
    assert changed == {"system/blockMeshDict", "system/controlDict", "system/parameters"}


@pytest.mark.slow
def test_block_mesh_follows_the_lattice(ring, tmp_path):
    (ring.folder.parent / "cavity").symlink_to(CASES / "openfoam/cavity")
    openfoam.prepare(ring, 1, tmp_path / "1", None)
    assert json.loads((tmp_path / "1/prepared.json").read_text())["cells"] == 7 * 5 * 2
