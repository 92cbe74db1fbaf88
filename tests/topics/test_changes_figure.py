"""The figure of changes between two sites: the looks of the report, and a star at significant changes."""

import pytest
from matplotlib.collections import PathCollection
from matplotlib.colors import to_hex
from small_runs import rows, unplaced

from analysis.presentation import style
from analysis.runs.facts import Facts
from analysis.runs.settings import Settings
from analysis.topics.changes.figures import changes_figures
from analysis.topics.changes.tables import make_changes

LOOKS = style.looks({}, ["slow", "swift"])


@pytest.fixture
def drawing():
    before = rows("duct", None, {1: 12.0}) + rows("duct", "slow", {4: 6.0}) + rows("duct", "swift", {4: 6.0})
    after = rows("duct", None, {1: 12.0}) + rows("duct", "slow", {4: 3.0}) + rows("duct", "swift", {4: 6.0})
    sites = ([row | {"site": site} for row in rows] for site, rows in (("before", before), ("after", after)))
    settings = Settings(draws=200, compare_sites=(("before", "after"),))
    changes = make_changes(unplaced(*sites), settings)["changes"]
    (drawing,) = changes_figures(changes, style.FigureLabels.of(Facts(), LOOKS))
    return drawing


def dots(drawing):
    """Place along the axis and colour of each point, by its row."""
    (axes,) = drawing.figure.axes
    (points,) = (points for points in axes.collections if isinstance(points, PathCollection))
    places = zip(points.get_offsets(), points.get_edgecolor(), strict=True)
    return {round(y): (x, to_hex(colour)) for (x, y), colour in places}


def test_an_interconnect_looks_as_in_every_other_figure(drawing):
    (axes,) = drawing.figure.axes
    names = [tick.get_text() for tick in axes.get_yticklabels()]
    looks = [style.SERIAL_LOOK, LOOKS["slow"], LOOKS["swift"]]
    assert [name.split(",")[0].split(" (")[0] for name in names[1:]] == ["slow", "swift"]
    assert [dots(drawing)[place][1] for place in range(3)] == [look.colour for look in looks]


def test_a_star_marks_only_significant_differences(drawing):
    (axes,) = drawing.figure.axes
    stars = {text.xy[1] for text in axes.texts if text.get_text() == "*"}
    assert stars == {1}
    assert dots(drawing)[1][0] == pytest.approx(100)
    assert dots(drawing)[2][0] == pytest.approx(0)
