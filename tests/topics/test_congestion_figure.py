"""The congestion matrix as a figure: a frame a switch, its numbers, its label."""

from xml.etree import ElementTree

import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.textpath import TextPath

from analysis.presentation.drawing import SVG, save
from analysis.topics.congestion.figures import MOST_COLUMNS, STRIPS, congestion_figure
from analysis.topics.congestion.loads import congestion_matrix, link_loads
from analysis.topics.congestion.topology import fat_tree, k_ary_n_tree


def matrix_of(tree, shift, routing="deterministic"):
    nodes = range(tree.nodes)
    destination = [(node + shift) % tree.nodes for node in nodes]
    flows = pd.DataFrame({"source": nodes, "destination": destination, "load": 1.0})
    return congestion_matrix(link_loads(tree, flows, routing))


def drawn(tree, *shifts):
    matrices = {f"shift by {shift}": matrix_of(tree, shift) for shift in shifts}
    drawing = congestion_figure(tree, matrices, "a tree")
    FigureCanvasAgg(drawing.figure)
    drawing.figure.draw_without_rendering()
    return drawing


@pytest.mark.parametrize("tree", [k_ary_n_tree(4, 3), fat_tree((16, 4), 2), k_ary_n_tree(4, 1)], ids=str)
def test_a_small_tree_has_its_numbers_and_a_frame_a_switch(tree):
    matrix = matrix_of(tree, 1)
    drawing = drawn(tree, 1)
    panel = drawing.figure.axes[0]
    written = [text.get_text() for text in panel.texts]
    assert sorted(written) == sorted(f"{100 * share:.0f}" for share in matrix["share"])
    assert len(drawing.marks) == sum(tree.switches())
    first = drawing.marks[f"mark{len(drawing.marks) - tree.switches()[0]}"]
    assert "Level 1, switch 0: route load " in first.text


def test_numbers_are_legible_and_their_ink_stays_inside_their_cells():
    drawing = drawn(k_ary_n_tree(4, 3), 16)
    panel = drawing.figure.axes[0]
    inches = panel.get_window_extent().transformed(drawing.figure.dpi_scale_trans.inverted())
    height_of_unit = 72 * inches.height / abs(panel.get_ylim()[0])
    assert panel.texts
    for text in panel.texts:
        assert text.get_fontsize() >= 7
        ink = TextPath((0, 0), text.get_text(), size=text.get_fontsize()).get_extents()
        sideways = text.get_rotation() == 90
        width, height = (ink.height, ink.width) if sideways else (ink.width, ink.height)
        assert width < 72 * inches.width / 64 * (1 if sideways else 4)
        assert height < height_of_unit * STRIPS["above" if sideways else "switch"]


def test_it_is_labelled_as_route_load_not_as_a_measurement():
    drawing = drawn(k_ary_n_tree(2, 3), 4)
    assert drawing.caption.startswith("Route load of a tree, 8 nodes")
    assert "No waiting time was measured" in drawing.caption
    assert "Route load" in drawing.figure.axes[-1].get_xlabel()


def test_a_panel_a_pattern_and_links_that_share_a_column_show_the_most_loaded():
    tree = k_ary_n_tree(4, 6)
    drawing = drawn(tree, 1, 1024)
    assert len(drawing.figure.axes) == 3
    assert not drawing.figure.axes[0].texts
    assert "share a column" in drawing.caption
    images = drawing.figure.axes[1].get_images()
    assert {image.get_array().shape[1] for image in images} == {MOST_COLUMNS}
    assert max(image.get_array().max() for image in images) == 1


def test_the_file_is_the_same_each_time(tmp_path):
    first, again = (save(drawn(k_ary_n_tree(2, 3), 4), tmp_path).read_bytes() for _ in range(2))
    assert first == again
    svg = ElementTree.fromstring(first)
    titles = [title.text for title in svg.iter(f"{{{SVG}}}title")]
    assert sum("most loaded switch" in title for title in titles) == 12
