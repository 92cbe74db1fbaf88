"""The HTML report used as a reader does, in a browser that has no network."""

import json
import re

import pytest
from page_reader import opened
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.actions.interaction import POINTER_TOUCH
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from workflows.report.html import write_html

pytestmark = pytest.mark.slow

SHARED = "#case-1 .mark[data-interconnect=shared_memory]"


class TestValues:
    def test_pointing_at_a_mark_shows_whose_it_is_and_its_interval(self, reader):
        reader.point_at(reader.element(SHARED))
        case, interconnect, point, value = reader.tip.split("\n")
        assert (case, interconnect) == ("Duct elbow", "Shared memory, measured")
        assert point == "2\u00a0processes, oversubscription 1"
        # 4 s serially, 2.04 s on two processes
        assert re.fullmatch(r"speedup 1\.9\d \[1\.9\d, \d\.\d\d\]", value)
        reader.point_at(reader.element("#case-1 h2"))
        assert reader.tip is None

    def test_the_nearest_of_several_within_reach_is_shown(self, reader):
        x, y = reader.centre(reader.element(SHARED))
        actions, mouse = reader.pointer()
        mouse.create_pointer_move(x=round(x) + 4, y=round(y) - 12)
        actions.perform()
        assert "Shared memory" in reader.tip

    def test_arrow_keys_step_through_points_and_curves(self, reader):
        svg = reader.element("#case-1 .drawing svg")
        reader.run("arguments[0].focus()", svg)
        tips = []
        for key in (Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ARROW_DOWN, Keys.ARROW_LEFT):
            reader.press(key)
            tips.append(reader.tip.split("\n")[1:3])
            focused = reader.driver.switch_to.active_element
            assert focused.get_attribute("aria-label") == reader.tip
        assert [name.split(",")[0] for name, _ in tips] == [
            "GigE (emu)", "GigE (emu)", "TCP loopback", "GigE (emu)",
        ]  # fmt: skip
        assert tips[0] != tips[1] == tips[3]
        reader.press(Keys.ESCAPE)
        assert reader.tip is None

    def test_a_touch_shows_values_until_another_place_is_touched(self, reader):
        for selector, shown in ((SHARED, True), ("#case-1 h2", False)):
            x, y = reader.centre(reader.element(selector))
            actions, finger = reader.pointer(POINTER_TOUCH)
            finger.create_pointer_move(x=round(x), y=round(y))
            finger.create_pointer_down(button=0)
            finger.create_pointer_up(button=0)
            actions.perform()
            assert (reader.tip is not None) == shown


class TestZoom:
    def test_buttons_zoom_in_and_out_and_show_the_whole(self, reader):
        svg = reader.element("#case-1 .drawing svg")
        whole = reader.view(svg)
        assert not reader.button(svg, "Zoom out").is_enabled()
        for _ in range(2):
            reader.button(svg, "Zoom in").click()
        assert reader.view(svg)[0] == pytest.approx(whole[0] / 1.5**2)
        reader.button(svg, "Zoom out").click()
        assert reader.view(svg)[0] == pytest.approx(whole[0] / 1.5)
        reader.button(svg, "Show the whole figure").click()
        assert reader.view(svg) == whole
        assert not reader.button(svg, "Show the whole figure").is_enabled()

    def test_keys_zoom_at_the_point_they_are_on_and_move(self, reader):
        svg = reader.element("#case-1 .drawing svg")
        whole = reader.view(svg)
        reader.run("arguments[0].focus()", svg)
        reader.press(Keys.ARROW_RIGHT)
        value = reader.tip
        before = reader.centre(reader.driver.switch_to.active_element)
        reader.press("+", "+")
        assert reader.view(svg)[0] == pytest.approx(whole[0] / 1.5**2)
        assert reader.tip == value
        assert reader.centre(reader.driver.switch_to.active_element) == pytest.approx(before, abs=3)
        width, left, _ = reader.view(svg)
        aside = ActionChains(reader.driver, duration=0).key_down(Keys.SHIFT).send_keys(Keys.ARROW_RIGHT)
        aside.key_up(Keys.SHIFT).perform()
        assert reader.view(svg)[1] == pytest.approx(left + width / 8)
        reader.press("0")
        assert reader.view(svg) == whole

    def test_a_double_click_zooms_where_it_is(self, reader):
        svg = reader.element("#case-1 .drawing svg")
        mark = reader.element(SHARED)
        whole, before = reader.view(svg), reader.centre(mark)
        ActionChains(reader.driver, duration=0).double_click(mark).perform()
        assert reader.view(svg)[0] == pytest.approx(whole[0] / 2)
        assert reader.centre(mark) == pytest.approx(before, abs=3)

    def test_the_wheel_zooms_with_control_and_else_scrolls(self, reader):
        svg = reader.element("#case-1 .drawing svg")
        whole = reader.view(svg)
        reader.wheel(svg, up=-40)
        assert reader.view(svg) == whole
        reader.wheel(svg, 200, Keys.CONTROL)
        assert reader.view(svg)[0] < 0.8 * whole[0]

    def test_dragging_moves_a_zoomed_figure_and_never_beyond_its_edge(self, reader):
        svg = reader.element("#case-1 .drawing svg")
        whole = reader.view(svg)
        for _ in range(3):
            reader.button(svg, "Zoom in").click()
        x, y = (round(place) for place in reader.centre(svg))
        edges = []
        for across in (60, 60, 300, 300, 300, 300):
            _, left, _ = reader.view(svg)
            actions, mouse = reader.pointer()
            mouse.create_pointer_move(x=x, y=y)
            mouse.create_pointer_down(button=0)
            mouse.create_pointer_move(x=x + across, y=y)
            mouse.create_pointer_up(button=0)
            actions.perform()
            edges.append(left - reader.view(svg)[1])
        assert edges[0] > 10 and edges[1] == pytest.approx(edges[0], abs=1e-4)  # of a pixel: layout rounds
        assert reader.view(svg)[1] == whole[1]

    def test_two_fingers_pinch(self, reader):
        svg = reader.element("#case-1 .drawing svg")
        whole = reader.view(svg)
        x, y = (round(place) for place in reader.centre(svg))
        points = [
            [{"x": x - apart, "y": y, "id": 0}, {"x": x + apart, "y": y, "id": 1}] for apart in (30, 45, 60)
        ]
        steps = [("touchStart", points[0][:1]), ("touchStart", points[0]), ("touchMove", points[1]),
                 ("touchMove", points[2]), ("touchEnd", [])]  # fmt: skip
        for kind, touches in steps:
            reader.driver.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touches})
        assert reader.view(svg)[0] == pytest.approx(whole[0] / 2, rel=0.1)

    def test_markers_letters_and_lines_keep_their_size_and_numbers_stay_in_view(self, reader):
        svg = reader.element("#case-1 .drawing svg")
        sizes = """
            const box = (e) => e.getBoundingClientRect();
            const svg = arguments[0], seen = box(svg);
            const across = (b) => b.left > seen.left && b.right < seen.right;
            const panels = [...svg.querySelectorAll('g:has(> [id*="matplotlib.axis_"])')].filter((panel) => {
              const b = box(panel.querySelector("path"));
              return b.left < seen.right && b.right > seen.left && b.top < seen.bottom && b.bottom > seen.top; });
            const numbers = panels.flatMap((panel) => [...panel.querySelectorAll('[id*="xtick_"] text')])
              .map(box).filter(across);
            return [box(svg.querySelector(".mark path")).width, box(svg.querySelector("text")).height,
                    numbers.filter((b) => b.bottom <= seen.bottom && b.top >= seen.top).length, numbers.length]"""
        marker, letter, *_ = reader.run(sizes, svg)
        reader.run("arguments[0].focus()", svg)
        reader.press(Keys.ARROW_RIGHT, *"++++")
        *then, inside, numbers = reader.run(sizes, svg)
        assert then == pytest.approx([marker, letter], rel=0.15)
        assert inside == numbers > 0


class TestFilters:
    def test_an_interconnect_leaves_tables_curves_and_legends(self, reader):
        mine = "[data-interconnect=loopback]"
        kinds = [
            f"tr{mine}",
            f"#case-1 svg .mark{mine}",
            f"#case-1 svg .part{mine} text",
            f"#overview-drawing .mark{mine}",
            f'[id^="improvement-"] [id*="ytick_"] .part{mine}',
            f'[id^="oversubscription-"] [id*="ytick_"] .part{mine}',
        ]
        before = [reader.seen(selector) for selector in kinds]
        others = reader.seen("[data-interconnect=shared_memory]")
        assert all(before)
        reader.tick("loopback")
        assert [reader.seen(selector) for selector in kinds] == [0] * len(kinds)
        assert reader.seen("[data-interconnect=shared_memory]") == others
        assert reader.element("#shown").text.startswith(
            "The page shows 2 of 2 cases and 2 of 3 interconnects"
        )
        reader.element('#filters button[type="reset"]').click()
        WebDriverWait(reader.driver, 10).until(lambda _: reader.element("#shown").text == "")
        assert [reader.seen(selector) for selector in kinds] == before

    def test_a_case_leaves_sections_tables_contents_and_panels(self, reader):
        mine = "[data-case=elbow]"
        kinds = ["#case-1", "nav a[href='#case-1']", f"tr{mine}", f"svg .panel{mine} .mark"]
        assert all(reader.seen(selector) for selector in kinds)
        others = reader.seen("svg .panel[data-case=cavity] .mark")
        assert others
        reader.tick("elbow")
        assert [reader.seen(selector) for selector in kinds] == [0, 0, 0, 0]
        assert reader.seen("#case-2") == 1
        assert reader.seen("svg .panel[data-case=cavity] .mark") == others
        # The panel that went carries the names for the whole row.
        assert reader.seen('svg .panel[data-case=elbow] [id*="ytick_"] text')

    def test_a_page_that_reloads_keeps_them(self, browser, printed, tmp_path):
        report = json.loads((printed / "report.json").read_text())
        (tmp_path / "part.json").write_text(
            json.dumps({**report, "unfinished": "2 of 8 blocks", "explore": None})
        )
        write_html(tmp_path / "part.json", printed / "figures", tmp_path / "part.html")
        with opened(browser, tmp_path / "part.html") as reader:
            reader.tick("loopback")
            reader.run("window.old = true; location.reload()")
            is_reloaded = "return !window.old && document.getElementById('shown')?.textContent"
            WebDriverWait(browser, 30).until(lambda _: reader.run(is_reloaded))
            assert not reader.element('#filters input[value="loopback"]').is_selected()
            assert reader.seen("tr[data-interconnect=loopback]") == 0 < reader.seen("tr[data-interconnect]")
            reader.tick("loopback")
            assert reader.element("#shown").text == ""

    def test_hidden_marks_show_no_values(self, reader):
        mark = reader.element(SHARED)
        reader.point_at(mark)
        assert "Shared memory" in reader.tip
        x, y = (round(place) for place in reader.centre(mark))
        reader.tick("shared_memory")
        actions, mouse = reader.pointer()
        mouse.create_pointer_move(x=x, y=y)
        actions.perform()
        assert "Shared memory" not in (reader.tip or "")

    def test_all_or_none_leaves_one_alone_in_two_clicks(self, reader):
        gigabit, loopback = (f"tr[data-interconnect={name}]" for name in ("gigabit", "loopback"))
        reader.element("button[data-all=interconnect]").click()
        assert reader.seen(gigabit) == reader.seen(loopback) == 0
        reader.tick("gigabit")
        assert reader.seen(gigabit) and not reader.seen(loopback)


def test_a_click_on_the_head_of_a_column_sorts_within_groups(reader):
    table = reader.element("#oversubscription table")
    column = """return [...arguments[0].tBodies].map((group) =>
        [...group.querySelectorAll("tr:not(.group)")].map((row) => parseFloat(row.cells[4].innerText)))"""
    before = reader.run(column, table)
    button = table.find_elements(By.CSS_SELECTOR, "thead th")[4].find_element(By.TAG_NAME, "button")
    for sign, order in ((1, "ascending"), (-1, "descending")):
        button.click()
        ordered = [sorted(group, key=lambda value: sign * value) for group in before]
        assert reader.run(column, table) == ordered
        assert table.find_elements(By.CSS_SELECTOR, "thead th")[4].get_attribute("aria-sort") == order


def test_every_control_has_a_name_and_every_figure_a_description(reader):
    reader.open_details()
    controls = reader.all("button, input, select, svg[tabindex]")
    assert len(controls) > 20
    for element in controls:
        assert element.accessible_name.strip(), element.get_attribute("outerHTML")[:200]
    assert {svg.get_attribute("tabindex") for svg in reader.all(".drawing svg")} == {"0"}


@pytest.mark.parametrize(("width", "folded"), [(375, True), (1280, False)])
def test_the_answer_is_the_first_screen(reader, width, folded):
    size = {"width": width, "height": 700, "deviceScaleFactor": 1, "mobile": folded}
    reader.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        reader.driver.refresh()
        top = "return document.querySelector('#answer .key-figures div').getBoundingClientRect().bottom + scrollY"
        assert reader.run(top) < 700
        assert [element.get_attribute("open") is None for element in reader.all("nav details")] == [
            folded
        ] * 2
    finally:
        reader.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.parametrize("width", [360, 820, 1400])
def test_the_page_never_scrolls_sideways(reader, width):
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
    reader.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        assert reader.run("return document.documentElement.scrollWidth") <= width
    finally:
        reader.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_print_shows_whole_figures_and_no_controls(reader):
    svg = reader.element("#case-1 .drawing svg")
    whole = reader.view(svg)
    reader.button(svg, "Zoom in").click()
    reader.driver.print_page()
    assert reader.view(svg) == whole
    reader.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        assert reader.seen("nav") == reader.seen(".tools") == 0 and reader.seen(".drawing svg")
    finally:
        reader.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_in_the_dark_letters_are_light_on_dark(reader):
    light = [{"name": "prefers-color-scheme", "value": "dark"}]
    reader.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": light})
    try:
        style = reader.run("const s = getComputedStyle(document.body); return [s.color, s.backgroundColor]")
        ink, paper = ([int(part) for part in re.findall(r"\d+", colour)][:3] for colour in style)
        assert min(ink) > 180 and max(paper) < 60
        figure = "document.querySelector('.drawing svg')"
        assert "invert" in reader.run(f"return getComputedStyle({figure}).filter")
    finally:
        reader.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
