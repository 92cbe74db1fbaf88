"""Figures: one look per interconnect, values on hover, honest marks, legible in print and in grey."""

import itertools
import math
import re
from dataclasses import replace
from itertools import cycle
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
import yaml
from drawn import drawn
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PathCollection
from matplotlib.colors import to_hex
from matplotlib.markers import MarkerStyle
from matplotlib.text import Text
from PIL import Image
from small_runs import rows, unplaced
from synthetic_study import make_runs, make_study

from analysis.pipeline import draw_figures
from analysis.presentation import style
from analysis.presentation.axes import log_ticks
from analysis.presentation.curve_panels import EFFICIENCY, SPEEDUP, TIME, curves_of, ideal_of, panels_of
from analysis.presentation.drawing import SVG, Drawing, distinct, file_stem, save, shortened
from analysis.presentation.labels import Labels
from analysis.runs.facts import AboutCase
from analysis.runs.kinds import comparable_sets
from analysis.topics.order import ordered_runs, shown_limit
from analysis.topics.scaling.figures import overview_figure, scaling_figures
from workflows.paths import INTERCONNECTS, STUDIES

# Machado, Oliveira, Fernandes, IEEE TVCG 15 (2009): full severity, for linear RGB.
BLINDNESS = {
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}  # fmt: skip


def linear(colour):
    channels = np.array([int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)])
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def luminance(colour):
    """CIELAB lightness, 0 to 100: what remains of a colour in grey print."""
    return lab(linear(colour))[0]


def lab(rgb):
    matrix = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    xyz = np.array(matrix) @ np.clip(rgb, 0, 1) / np.array([0.95047, 1.0, 1.08883])
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


class TestLooks:
    @pytest.mark.parametrize(("colours", "least"), [(style.COLOURS[:4], 14), (style.COLOURS, 6)])
    def test_colours_differ_in_grey_print(self, colours, least):
        pairs = itertools.combinations(colours, 2)
        assert min(abs(luminance(a) - luminance(b)) for a, b in pairs) >= least

    @pytest.mark.parametrize("kind", BLINDNESS)
    def test_all_colours_differ_for_colour_blind_readers(self, kind):
        seen = [lab(np.array(BLINDNESS[kind]) @ linear(colour)) for colour in style.COLOURS]
        assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) >= 10

    def test_all_colours_stand_out_from_paper(self):
        assert max(luminance(colour) for colour in style.COLOURS) <= 80

    def test_luminance_of_black_and_white(self):
        assert luminance("#000000") == pytest.approx(0, abs=1e-9)
        assert luminance("#ffffff") == pytest.approx(100, abs=0.01)

    @pytest.mark.parametrize("file", sorted(STUDIES.glob("*.yaml")), ids=lambda file: file.stem)
    def test_an_interconnect_looks_the_same_in_every_study(self, file):
        names = yaml.safe_load(file.read_text()).get("interconnects", [])
        together = style.looks(names, ["a_guest"])
        assert {name: style.looks([], [name])[name] for name in names} == {
            name: together[name] for name in names
        }
        kinds = {name: yaml.safe_load((INTERCONNECTS / f"{name}.yaml").read_text())["kind"] for name in names}
        assert len({(together[name].colour, kind) for name, kind in kinds.items()}) == len(names)

    def test_every_interconnect_of_the_project_has_a_look(self):
        listed = " ".join(style.NAMES_BY_COLOUR).split()
        assert (
            len(listed) == len(set(listed))
            and max(len(names.split()) for names in style.NAMES_BY_COLOUR) <= 11
        )
        assert {file.stem for file in INTERCONNECTS.glob("*.yaml")} <= set(listed)

    def test_sites_share_the_colour_and_no_mark(self):
        first, second = (
            style.looks([], ["infiniband@a", "infiniband@b"])[f"infiniband@{site}"] for site in "ab"
        )
        assert first.colour == second.colour == style.looks([], ["infiniband"])["infiniband"].colour
        assert first.marker != second.marker

    def test_the_same_fabric_of_two_kinds_shares_its_colour_but_no_mark(self):
        emulated, simulated = style.looks(["emulated_gigabit", "gigabit_ethernet"], []).values()
        assert emulated.colour == simulated.colour and emulated.marker != simulated.marker

    def test_interconnects_that_the_study_does_not_name_follow(self):
        assert list(style.looks(["z"], ["b", "a", "z"])) == ["z", "a", "b"]

    def test_the_systems_of_a_cloud_study_have_colours_of_their_own(self):
        names = yaml.safe_load((STUDIES / "published_clouds.yaml").read_text())["systems"]
        chosen = style.looks(names, []).values()
        assert len(chosen) == len({look.colour for look in chosen}) == len({look.marker for look in chosen})

    def test_a_hundred_interconnects_have_looks_of_their_own(self):
        names = [f"n{number}" for number in range(110)]
        assert len(set(style.looks([], names).values())) == 110

    def test_every_kind_has_a_line_of_its_own(self):
        kinds = ["measured", "emulated", "simulated", "published", "another"]
        assert len({str(style.line_of(kind)) for kind in kinds}) == len(kinds)


class TestPanels:
    def test_kinds_that_may_not_be_compared_share_no_panel(self, study):
        scaling = study[1]["scaling"]
        of_case = scaling[(scaling["case"] == "elbow") & (scaling["oversubscription"] == 1)]
        assert [panel.kinds for panel in panels_of(of_case, [])] == [("measured",), ("emulated",)]
        (both,) = panels_of(of_case, [["emulated", "measured"]])
        assert both.kinds == ("measured", "emulated")

    def test_two_pairs_of_kinds_imply_no_third(self):
        pairs = [["measured", "emulated"], ["measured", "simulated"]]
        sets = comparable_sets(["measured", "emulated", "simulated"], pairs)
        assert sets == [("measured", "emulated"), ("measured", "simulated")]

    def test_levels_are_never_joined_into_one_curve(self, study):
        scaling = study[1]["scaling"]
        panels = panels_of(scaling[scaling["case"] == "elbow"], [["measured", "emulated"]])
        assert {panel.level for panel in panels} == {1, 2}
        for panel in panels:
            curves = curves_of(panel, Labels(study[2]))
            assert len(curves) == 3
            for curve in curves:
                assert {row["oversubscription"] for row in curve.rows} == {panel.level}
                assert panel.level == 1 or not any(row["serial"] for row in curve.rows)

    def test_placements_of_the_same_counts_are_curves_of_their_own(self):
        packed, spread = make_runs(2, levels=(1,)), make_runs(2, levels=(1,), serial=False)
        packed["nodes"], spread["nodes"] = 1, spread["processes"]
        runs = pd.concat([packed[packed["case"] == "elbow"], spread[spread["case"] == "elbow"]])
        _, tables, facts = make_study(runs)
        (panel,) = panels_of(tables["scaling"], [["measured", "emulated"]])
        curves = curves_of(panel, Labels(facts))
        for curve in curves:
            counts = [row["processes"] for row in curve.rows]
            assert counts == sorted(set(counts))
        assert "Shared memory with 1 process per node" in {curve.title(Labels(facts)) for curve in curves}

    def test_the_ideal_has_an_efficiency_of_one(self, study):
        scaling = study[1]["scaling"]
        panels = panels_of(scaling[scaling["case"] == "elbow"], [["measured", "emulated"]])
        assert len(panels) == 2
        for panel in panels:
            ((counts, speedups),) = ideal_of(panel.rows, SPEEDUP)
            assert speedups == pytest.approx([count / panel.level for count in counts])
            ((_, seconds),) = ideal_of(panel.rows, TIME)
            assert seconds == pytest.approx([4.0 * panel.level / count for count in counts], rel=0.02)
            assert ideal_of(panel.rows, EFFICIENCY)[0][1] == [100] * len(counts)


class TestDrawings:
    def test_there_is_a_figure_for_every_topic_and_case(self, drawings):
        topics = [(drawing.topic, drawing.case) for drawing in drawings]
        assert topics == [
            ("answer", None),
            ("scaling", "elbow"),
            ("scaling", "cavity"),
            ("overview", None),
            # over the baseline and over the default of the other kind, two levels
            *[("improvement", None)] * 4,
            ("oversubscription", "elbow"),
            ("oversubscription", "cavity"),
            ("order", None),
        ]
        assert len({drawing.name for drawing in drawings}) == len(drawings)

    def test_all_text_is_legible_in_print(self, drawings):
        for drawing in drawings:
            sizes = [text.get_fontsize() for text in drawing.figure.findobj(Text) if text.get_text()]
            assert min(sizes) >= 7, drawing.name

    def test_figures_fit_the_page(self, drawings):
        for drawing in drawings:
            assert drawing.entry()["width_inches"] <= style.WIDTH
            assert drawing.entry()["height_inches"] < 9

    def test_no_texts_overlap(self, drawings):
        for drawing in drawings:
            assert_nothing_overlaps(drawing)

    def test_no_long_texts_overlap(self):
        study = make_study(make_runs(2, counts=(1, 2, 4, 8, 12, 16, 20, 24, 32, 48, 64), cases=("elbow",)))
        cases = {"elbow": AboutCase(title="A very long title of a case that goes on and on " * 4)}
        longer = {
            name: replace(about, title=f"{name}_without_any_space_" * 6)
            for name, about in study[2].interconnects.items()
        }
        study = (*study[:2], replace(study[2], cases=cases, interconnects=longer))
        for drawing in draw_figures(*study):
            assert_nothing_overlaps(drawing)

    def test_an_overview_of_many_cases_kinds_and_levels_fits_on_pages_without_overlap(self):
        elbow = make_runs(2, cases=("elbow",))
        names = ["a", "b", "c", "d", "e", "f", "of_one_level"]
        runs = pd.concat([elbow.assign(case=name) for name in names])
        runs = runs[(runs["case"] != "of_one_level") | (runs["oversubscription"] == 1)]
        pages = drawn(make_study(runs, compare_kinds=[]), overview_figure, "scaling")
        assert len(pages) == 2
        rows_of_page = {"speedup\nemulated\noversubscription 1", "speedup\nmeasured\noversubscription 2"}
        for drawing in pages:
            assert drawing.entry()["height_inches"] < 8.5
            assert rows_of_page < {axes.get_ylabel().lower() for axes in drawing.figure.axes}
            assert_nothing_overlaps(drawing)
        titles = [axes.get_title(loc="left") for drawing in pages for axes in drawing.figure.axes]
        assert sorted({*titles} - {""}) == [name.replace("_", " ") for name in names]

    def test_legends_or_curve_ends_name_the_kind(self, drawings):
        with_legend = [drawing for drawing in drawings if drawing.topic in ("scaling", "overview", "order")]
        assert len(with_legend) == 4
        for drawing in with_legend:
            labels = [text.get_text() for text in drawing.figure.legends[0].get_texts()]
            labels += [text.get_text() for axes in drawing.figure.axes for text in axes.texts]
            assert "GigE (emu)" in labels and "Shared memory" in labels

    def test_axes_name_their_units(self, drawings):
        scaling = next(drawing for drawing in drawings if drawing.topic == "scaling")
        labels = {axes.get_ylabel() for axes in scaling.figure.axes}
        assert labels == {"Speedup", "Efficiency (%)", "Time per run (s)"}
        assert scaling.figure.axes[-1].get_xlabel() == "Processes"

    def test_process_axes_have_ticks_at_the_counts_alone(self, drawings):
        scaling = next(drawing for drawing in drawings if drawing.topic == "scaling")
        assert len(scaling.figure.axes) > 2
        ticks = [list(axes.get_xticks()) for axes in scaling.figure.axes]
        assert ticks == [[1, 2, 4]] * 3 + [[2, 4]] * 3  # a row a level, the second without the serial run

    def test_an_interconnect_looks_the_same_in_every_figure(self, study, drawings):
        look = style.looks(study[2].interconnects, [])["shared_memory"]
        marker = MarkerStyle(look.marker)
        outline = marker.get_path().transformed(marker.get_transform()).vertices
        for drawing in drawings:
            dots = [
                (colour, path.vertices)
                for axes in drawing.figure.axes
                for points in axes.collections
                if isinstance(points, PathCollection)
                for colour, path, url in zip(
                    points.get_edgecolor(), cycle(points.get_paths()), points.get_urls(), strict=False
                )
                if drawing.marks[url].interconnect == "shared_memory"
            ]
            assert drawing.topic == "oversubscription" or dots
            assert {to_hex(colour) for colour, _ in dots} <= {look.colour}
            assert not dots or any(np.array_equal(shape, outline) for _, shape in dots)

    def test_hollow_means_without_interval(self):
        for blocks, hollow in ((1, True), (6, False)):
            scaling = drawn(make_study(make_runs(blocks)), scaling_figures, "scaling")[0]
            faces = {
                to_hex(face)
                for axes in scaling.figure.axes
                for points in axes.collections
                if isinstance(points, PathCollection)
                for face in points.get_facecolor()
            }
            assert (faces == {style.PAPER}) is hollow
            assert (
                "Hollow points have no interval. Each of these points is a single sample." in scaling.caption
            ) is hollow

    def test_captions_state_compared_kinds(self, drawings):
        improvement = next(drawing for drawing in drawings if drawing.topic == "improvement")
        assert (
            "Nodeworth compares emulated with measured interconnects, because the study file allows this."
            in improvement.caption
        )

    def test_a_study_without_comparison_or_levels_or_order_has_no_such_figures(self):
        runs = make_runs(2, levels=(1,), interconnects=("shared_memory",))
        runs["started"] = None
        drawings = draw_figures(*make_study(runs, baselines=[], compare_kinds=[]))
        assert {drawing.topic for drawing in drawings} == {"answer", "overview", "scaling"}


def assert_nothing_overlaps(drawing):
    """No two texts share room, and none is cut off at the figure's edge."""
    FigureCanvasAgg(drawing.figure)
    drawing.figure.draw_without_rendering()
    beyond = set(ticks_beyond(drawing.figure))
    boxes = [
        (text.get_text(), text.get_window_extent())
        for text in drawing.figure.findobj(Text)
        if text.get_text().strip() and text.get_visible() and text not in beyond
    ]
    for (first, box), (other, second) in itertools.combinations(boxes, 2):
        shared = box.intersection(box, second)
        assert shared is None or min(shared.width, shared.height) < 1, f"{drawing.name}: {first!r}, {other!r}"
    page = drawing.figure.bbox
    for text, box in boxes:
        inside = min(box.x0 - page.x0, page.x1 - box.x1, box.y0 - page.y0, page.y1 - box.y1)
        assert inside > -1, f"{drawing.name}: {text!r} is cut off"


def ticks_beyond(figure):
    """Texts that Matplotlib keeps and does not draw: ticks outside of the view, labels of axes turned off."""
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            if not axes.axison:
                yield axis.label
            low, high = sorted(axis.get_view_interval())
            for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
                if not (low <= tick.get_loc() <= high and axes.axison):
                    yield from (tick.label1, tick.label2)


@pytest.fixture(scope="module")
def svg(printed):
    trees = {file.stem: ElementTree.parse(file).getroot() for file in (printed / "figures").glob("*.svg")}
    assert len(trees) == 11
    return trees


class TestFiles:
    @pytest.mark.slow
    def test_every_figure_is_svg_and_png(self, printed):
        files = sorted(file.name for file in (printed / "figures").iterdir())
        stems = {name.rsplit(".", 1)[0] for name in files} - {"index"}
        assert files == sorted([f"{stem}.{end}" for stem in stems for end in ("png", "svg")] + ["index.json"])
        assert len(stems) == 11

    def test_a_png_has_the_size_and_the_ink_of_its_figure(self, printed, drawings):
        for drawing in drawings:
            with Image.open(printed / f"figures/{drawing.name}.png") as image:
                assert image.size == pytest.approx(200 * drawing.figure.get_size_inches(), abs=1)
                look = image.convert("RGB").getcolors(2**20)
            shares = {colour: count / math.prod(image.size) for count, colour in look}
            assert 0.5 < shares[255, 255, 255] < 0.99
            assert shares[0x1C, 0x1C, 0x1C] > 0.001

    def test_marks_show_their_values(self, svg):
        titles = [title.text for title in svg["scaling-elbow"].iter(f"{{{SVG}}}title")]
        # 4 s serial, 2 s + 0.04 s at 2 processes over shared memory: 1.96; two levels add (2, 4) x 3 x 3.
        assert len(titles) == 3 + 2 * 3 * 2 * 3
        whose = "Duct elbow\nShared memory, measured\n2\u00a0processes, oversubscription 1\nspeedup"
        mark_title = next(title for title in titles if title.startswith(whose))
        assert re.search(r"speedup 1\.9\d \[1\.9\d, \d\.\d\d\]$", mark_title)

    def test_elements_know_their_interconnect(self, svg):
        for name, root in svg.items():
            owners = {element.get("data-interconnect") for element in root.iter()} - {None}
            assert owners <= {"gigabit", "loopback", "shared_memory"}, name
            assert "shared_memory" in owners, name

    def test_identifiers_are_unique_over_all_figures_and_every_reference_has_its_target(self, svg):
        identifiers = [
            element.get("id") for root in svg.values() for element in root.iter() if element.get("id")
        ]
        assert len(identifiers) == len(set(identifiers))
        for root in svg.values():
            text = ElementTree.tostring(root, encoding="unicode")
            used = set(re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"', text))
            assert {first or second for first, second in used} <= set(identifiers)

    def test_the_same_study_gives_the_same_bytes(self, study, printed, tmp_path):
        (drawing,) = drawn(study, overview_figure, "scaling")
        svg = save(drawing, tmp_path, png=True)
        for file in (svg, svg.with_suffix(".png")):
            assert file.read_bytes() == (printed / "figures" / file.name).read_bytes()

    def test_nothing_in_them_is_nan(self, svg):
        for name, root in svg.items():
            text = ElementTree.tostring(root, encoding="unicode").lower()
            assert "nan" not in text.replace("nand", ""), name

    def test_file_names_are_safe_and_distinct(self):
        cases = ("../../etc/passwd", "a b", "a_b", "a/b", '"', "'", "ü")
        drawings = [Drawing(file_stem("scaling", case), "scaling", None, "", "") for case in cases]
        names = [drawing.name for drawing in distinct(drawings)]
        assert names[1:4] == ["scaling-a_b", "scaling-a_b-2", "scaling-a_b-3"]
        assert len(set(names)) == len(cases)
        assert all(re.fullmatch(r"[A-Za-z0-9_-]+", name) for name in names)


class TestOrder:
    def test_repetitions_are_ordered_by_their_start_and_compared_with_the_median_of_their_point(self):
        started = [*(f"2026-01-01T00:00:0{second}Z" for second in (3, 1, 2)), None]
        runs = unplaced(rows("duct", "swift", {2: 1.0}, [11.0, 10.0, 9.0, 99.0])).assign(started=started)
        ordered = ordered_runs(runs)
        assert list(ordered["seconds"]) == [10.0, 9.0, 11.0]
        assert list(ordered["deviation_percent"]) == pytest.approx([0, -10, 10])

    def test_simulated_points_are_not_in_the_order_of_execution(self, study):
        runs = study[0]
        replayed = runs[runs["interconnect"] == "shared_memory"].assign(kind="simulated")
        assert len(ordered_runs(pd.concat([runs, replayed], ignore_index=True))) == len(ordered_runs(runs))

    def test_invalid_repetitions_do_not_move_the_median(self, study):
        ordered = ordered_runs(study[0])
        valid = ordered[ordered["valid"]]
        keys = ["case", "interconnect", "processes", "oversubscription"]
        medians = valid.groupby(keys, dropna=False)["deviation_percent"].median()
        assert medians.to_list() == pytest.approx([0] * len(medians), abs=1e-9)

    def test_serial_runs_of_two_sites_are_two_points(self):
        times = {"old": [1.0, 1.01, 0.99, 1.0, 3.0], "new": [100.0, 101.0, 99.0, 100.5, 99.5]}
        of_sites = (rows("duct", None, {1: 1.0}, several, site=site) for site, several in times.items())
        runs = unplaced(*of_sites)
        ordered = ordered_runs(
            runs.assign(started=[f"2026-01-01T00:0{block}:00Z" for block in runs["block"]])
        )
        assert ordered.loc[ordered["outlier"], "seconds"].tolist() == [3.0]

    def test_one_outlier_does_not_squeeze_the_others(self):
        deviation = pd.Series([*np.linspace(-1, 1, 200), 300.0])
        limit = shown_limit(pd.DataFrame({"deviation_percent": deviation, "valid": True}))
        assert limit < 4


class TestAxes:
    @pytest.mark.parametrize(
        ("low", "high", "base"),
        [
            *((0.9, 70, 2), (0.5, 1.1, 2), (3.1, 5.2, 10), (0.01, 5e6, 10)),
            *((4.9, 5.1, 10), (1, 1.0001, 10), (900, 1e4, 10)),
        ],
    )
    def test_ticks_lie_within_and_are_few_and_distinct(self, low, high, base):
        ticks = log_ticks(low, high, base)
        assert all(low <= tick <= high for tick in ticks)
        assert 1 <= len(ticks) == len(set(ticks)) <= 7

    def test_long_labels_are_broken_and_cut(self):
        lines = shortened("AnEndlessName" * 30, 20, lines=2).split("\n")
        assert len(lines) == 2 and max(map(len, lines)) <= 20 and lines[-1].endswith("…")
        assert shortened("Short", 20) == "Short"
