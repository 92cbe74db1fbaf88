"""The page for exploring: its answers equal the tables."""

import json
import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from axe import violations
from page_reader import opened
from report_parts import plain
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select
from small_runs import rows, runs_table
from synthetic_study import make_runs, make_study

from analysis.curves.equivalence import equivalent_counts
from analysis.pipeline import make_all_tables
from analysis.report import make_report
from analysis.report.explore import POINT
from analysis.runs.facts import Economics, Facts
from analysis.topics.topic import request_of
from workflows.report.html import write_html

EXACT = (1,) * 5  # five equal blocks: intervals are points
ROW = {"currency": "USD", "year": 2004, "nodes_to": 8, "per": "node", "price_low": None, "price_high": None,
       "max_nodes": None, "source": "a list", "note": None}  # fmt: skip


def offer(item, *prices):
    listed = [{"item": item, **ROW, "nodes_from": nodes, "price": price} for nodes, price in prices]
    for row, after in pairwise(listed):
        row["nodes_to"] = after["nodes_from"] - 1
    return {"source": "book", "file": "book.csv", "item": item, "rows": listed}


def duct(priced=True, **infiniband):
    """Gigabit peaks on 4 nodes with 2.0; infiniband has that on 2, 3.0 on 4, 4.0 on 8; elan has 12/7 on 2."""
    runs = runs_table(
        rows("duct", None, {1: 12.0}, EXACT, nodes=1),
        rows("duct", "gigabit", {2: 8.0, 4: 6.0, 8: 8.0}, EXACT),
        rows("duct", "infiniband", {2: 6.0, 4: 4.0, 8: 3.0}, EXACT, **infiniband),
        rows("duct", "elan", {2: 7.0}, EXACT),
        rows("duct", "modelled", {1: 24.0, 4: 8.0}, (1,), kind="simulated"),
    )
    about = {
        "study": {"name": "duct", "baselines": ["gigabit"]},
        "cases": {"duct": {"title": "Duct"}},
        "interconnects": {
            name: {"title": name.capitalize(), "kind": "simulated" if name == "modelled" else "measured"}
            for name in ("gigabit", "infiniband", "elan", "modelled")
        },
        "settings": {"draws": 100},
    }
    facts = Facts.of(about)
    if priced:
        node = {"price": 1000.0, "currency": "USD", "year": 2004}
        offers = {"gigabit": offer("cheap", (2, 100)), "infiniband": offer("dear", (2, 500), (8, 400))}
        facts = replace(facts, economics=Economics.of({"node": node, "offers": offers}))
    return runs, make_all_tables(runs, request_of(facts)), facts


def explored(study):
    return make_report(*study, [])["explore"]


class TestData:
    def test_points_equal_the_table(self, study, report):
        data, scaling = report["explore"], study[1]["scaling"]
        points = [point for panel in data["panels"] for curve in panel["curves"] for point in curve["points"]]
        assert len(points) == len(scaling)
        rounded = {tuple(float(f"{value:.7g}") for value in row) for row in scaling[POINT].to_numpy()}
        assert {tuple(point[name] for name in POINT) for point in points} == rounded
        assert data["node"] is None and data["ports"] == {}

    def test_kinds_share_a_panel_only_if_the_study_declares_it(self, report):
        kinds = [{curve["kind"] for curve in panel["curves"]} for panel in report["explore"]["panels"]]
        assert kinds == [{"measured", "emulated"}] * 4  # two cases, two levels
        names = [panel["name"] for panel in explored(duct())["panels"]]
        assert names == ["Duct, measured", "Duct, simulated"]

    def test_sites_share_no_panel(self):
        runs = runs_table(
            *(
                rows("duct", name, {2: 8.0, 4: 6.0}, EXACT, site=site)
                for name, site in (("a", "x"), ("b", "y"))
            ),
            rows("duct", "c", {2: 8.0, 4: 6.0}, EXACT, site="y"),
        )
        facts = Facts.of({"study": {"name": "duct"}, "settings": {"draws": 100}})
        data = explored((runs, make_all_tables(runs, request_of(facts)), facts))
        curves_of_panels = [(panel["name"], len(panel["curves"])) for panel in data["panels"]]
        assert curves_of_panels == [("duct, measured, x", 1), ("duct, measured, y", 2)] and data["first"] == 1

    def test_prices_stand_from_the_size_on_at_which_they_change(self):
        data = explored(duct())
        assert list(data["ports"]) == ["gigabit", "infiniband"]  # the same page each time
        assert data["ports"]["gigabit"] == [[1, 0, 0, 0], [2, 100, 100, 100]]
        assert data["ports"]["infiniband"] == [[1, 0, 0, 0], [2, 500, 500, 500], [8, 400, 400, 400]]
        assert (data["node"], data["currency"]) == (1000, "USD")

    def test_equivalents_equal_the_table(self):
        (panel,) = (drawn for drawn in explored(duct())["panels"] if drawn["name"] == "Duct, measured")
        names = [curve["interconnect"] for curve in panel["curves"]]
        equivalents = {
            (names[baseline], names[other], at): ends for baseline, other, at, *ends in panel["equivalents"]
        }
        assert equivalents["gigabit", "infiniband", 4] == [2, 2]

    def test_counts_on_one_node_do_not_use_an_interconnect_between_nodes(self):
        (panel,) = (drawn for drawn in explored(duct(nodes=1))["panels"] if drawn["name"] == "Duct, measured")
        unused = {curve["interconnect"]: curve["unused"] for curve in panel["curves"]}
        assert unused == {"gigabit": 1, "infiniband": 8, "elan": 1}

    def test_counts_inside_a_node_use_its_interconnect(self, report):
        unused = {
            curve["interconnect"]: curve["unused"]
            for panel in report["explore"]["panels"]
            for curve in panel["curves"]
        }
        assert unused["shared_memory"] == unused["loopback"] == 0

    def test_weak_scaling_is_asked_for_speedup_alone(self):
        data = explored(make_study(make_runs(weak=True), scaling="weak"))
        assert list(data["targets"]) == ["speedup"]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("duct")
    for name, study in (("priced", duct()), ("free", duct(False)), ("one_node", duct(nodes=1))):
        (folder / f"{name}.json").write_text(json.dumps(make_report(*study, [])))
        write_html(folder / f"{name}.json", folder, folder / f"{name}.html")
    return folder


@pytest.fixture
def priced(browser, page):
    with opened(browser, page / "priced.html") as reader:
        yield reader


def needed(reader):
    """Cells of the table by interconnect and column."""
    table = reader.element("#explore-needed")
    lines = [
        [plain(cell.text) for cell in row.find_elements(By.CSS_SELECTOR, ":is(th, td):not([hidden])")]
        for row in table.find_elements(By.TAG_NAME, "tr")
        if row.is_displayed()
    ]
    head, *body = lines
    return {re.sub(r"^\d+ +", "", line[0]): dict(zip(head[1:], line[1:], strict=True)) for line in body}


def enter(reader, name, text):
    reader.open_details()
    box = reader.element(f'#explore-choice [name="{name}"]')
    box.clear()
    box.send_keys(text)


def choose(reader, name, value):
    Select(reader.element(f'#explore-choice [name="{name}"]')).select_by_value(value)


@pytest.mark.slow
class TestPage:
    def test_runs_on_one_node_save_nothing_by_their_interconnect(self, browser, page):
        with opened(browser, page / "one_node.html") as reader:
            answers = needed(reader)
        assert answers["Infiniband"]["Processes"] == "2 [2, 2]"
        assert all("saved" not in column.lower() for column in answers["Infiniband"])

    def test_the_first_view_shows_equivalents_of_the_baseline(self, priced):
        answers = needed(priced)
        assert answers["Gigabit"] | answers["Infiniband"] == answers["Infiniband"]
        assert answers["Gigabit"]["Processes"] == "4 [4, 4]"
        # 4 (1000 + 100) and 2 (1000 + 500)
        assert answers["Gigabit"]["Price of the cluster"] == "4 400 [4 400, 4 400]"
        assert answers["Infiniband"] == {
            "Processes": "2 [2, 2]", "Nodes": "2 [2, 2]", "Price of the cluster": "3 000 [3 000, 3 000]",
            "Processes saved": "2 [2, 2]", "Nodes saved": "2 [2, 2]", "Saved": "1 400 [1 400, 1 400]",
        }  # fmt: skip
        assert answers["Elan"]["Processes"] == "not reached, at most 1.71 on 2"
        assert "Modelled (sim)" not in answers
        assert plain(priced.element("#explore-asked").text).startswith(
            "Duct, measured: a speedup of at least 2. "
        )

    @pytest.mark.parametrize(
        ("target", "value"), [("speedup", "3.5"), ("seconds", str(24 / 7)), ("runs", "25200")]
    )
    def test_a_target_between_two_counts(self, priced, target, value):
        choose(priced, "target", target)
        enter(priced, "value", value)
        answers = needed(priced)
        assert answers["Gigabit"]["Processes"] == "not reached, at most 2 on 4"
        assert answers["Infiniband"]["Processes"] == "6 [6, 6]"
        assert answers["Infiniband"]["Price of the cluster"] == "9 000 [9 000, 9 000]"
        assert "Saved" not in answers["Infiniband"]
        assert plain(priced.element("#explore-asked").text).endswith(
            "a speedup of 3.5. A run takes 3.43 s. 25 200 consecutive runs fit in a day."
        )

    def test_nodes_at_hand_and_prices_of_the_reader(self, priced):
        enter(priced, "hand", "6")
        enter(priced, "node", "200")
        enter(priced, "port infiniband", "50")
        answers = needed(priced)
        assert answers["Infiniband"]["Speedup on available nodes"] == "3.5 [3.5, 3.5] on 6"
        assert answers["Gigabit"]["Speedup on available nodes"] == "2 [2, 2] on 4"
        assert answers["Infiniband"]["Price of the cluster"] == "500 [500, 500]"
        assert answers["Infiniband"]["Saved"] == "700 [700, 700]"  # of 4 (200 + 100)
        enter(priced, "hand", "3")
        assert needed(priced)["Gigabit"]["Nodes"] == "4 [4, 4] (too many)"

    def test_a_price_a_run(self, priced):
        for name, text in (("years", "1"), ("watts", "500"), ("energy", "3")):
            enter(priced, name, text)
        hourly = 2 * 1500 / 8766 + 2 * 0.5 * 3
        price = needed(priced)["Infiniband"]["Price per run"]
        assert float(price.split()[0]) == pytest.approx(hourly * 6 / 3600, rel=0.01)
        choose(priced, "target", "price")
        enter(priced, "value", f"{1.001 * hourly * 6 / 3600}")
        price = needed(priced)
        assert price["Infiniband"]["Processes"] == "2" and price["Infiniband"]["Speedup"] == "2 [2, 2]"
        assert "Saved" not in price["Infiniband"]

    def test_without_prices_there_are_no_costs(self, browser, page):
        with opened(browser, page / "free.html") as reader:
            enter(reader, "hand", "8")
            assert list(needed(reader)["Infiniband"]) == [
                "Processes", "Nodes", "Processes saved", "Nodes saved", "Speedup on available nodes",
            ]  # fmt: skip
            enter(reader, "node", "1000")
            enter(reader, "port gigabit", "100")
            answers = needed(reader)
            assert answers["Gigabit"]["Price of the cluster"] == "4 400 [4 400, 4 400]"
            assert answers["Infiniband"]["Price of the cluster"] == ""

    def test_the_address_holds_the_choice(self, priced):
        enter(priced, "value", "3.5")
        enter(priced, "node", "200")
        choose(priced, "baseline", "1")
        priced.tick("elan")
        answers, address = needed(priced), priced.driver.current_url
        assert "Elan" not in answers
        assert priced.element("#explore-sent").get_attribute("href") == address
        priced.driver.get("about:blank")
        priced.driver.get(address)
        assert needed(priced) == answers
        priced.element('#explore-choice button[type="reset"]').click()
        priced.element('#filters button[type="reset"]').click()
        priced.driver.execute_async_script("setTimeout(arguments[0], 50)")
        assert priced.driver.current_url.endswith("#explore?")
        assert needed(priced)["Gigabit"]["Processes"] == "4 [4, 4]"

    def test_kinds_are_explored_apart(self, priced):
        choose(priced, "panel", "1")
        assert list(needed(priced)) == ["Modelled (sim)"]

    def test_it_is_used_by_keyboard(self, priced):
        priced.run("document.querySelector('#explore-choice select').focus()")
        priced.press(Keys.TAB, Keys.TAB, "3")
        assert priced.driver.switch_to.active_element.get_attribute("name") == "value"
        assert needed(priced)["Infiniband"]["Processes"] == "4 [4, 4]"
        priced.press(Keys.TAB, Keys.TAB, "2", Keys.ENTER)
        assert needed(priced)["Infiniband"]["Speedup on available nodes"] == "2 [2, 2] on 2"

    def test_the_chart_marks_the_answer_where_it_is(self, priced):
        """Processes from 1 to 8 lie evenly on the axis by their logarithm: 4 at two thirds."""
        places = """const at = (one) => one.getBoundingClientRect().x + one.getBoundingClientRect().width / 2;
            const mine = '#explore-chart [data-interconnect=gigabit] ';
            return [...document.querySelectorAll(mine + 'circle')].map(at).concat(
                at(document.querySelector(mine + '.needed')))"""
        *points, square = priced.run(places)
        assert points[2] - points[0] == pytest.approx(2 / 3 * (points[3] - points[0]), abs=0.5)
        assert square == pytest.approx(points[2], abs=0.5)
        priced.tick("gigabit")
        assert priced.seen("#explore-chart [data-interconnect=gigabit] circle") == 0

    def test_letters_of_the_chart_keep_their_size_on_a_phone(self, priced):
        size = {"width": 375, "height": 800, "deviceScaleFactor": 1, "mobile": True}
        priced.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        try:
            priced.driver.execute_async_script("setTimeout(arguments[0], 200)")
            scale = "return document.querySelector('#explore-chart svg').getScreenCTM().a"
            assert priced.run(scale) == pytest.approx(1, abs=0.01)
            assert priced.run("return document.documentElement.scrollWidth") <= 375
        finally:
            priced.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

    def test_equivalents_equal_those_of_the_analysis(self, priced):
        random = np.random.default_rng(5)
        for _ in range(40):
            counts = np.cumsum(random.integers(1, 9, random.integers(2, 7)))
            speedups = np.round(random.uniform(0.5, 8, len(counts)), 1)  # ties occur
            targets = [*speedups, *random.uniform(0.3, 9, 4)]
            expected = equivalent_counts(counts, speedups, np.array(targets))
            equivalents = priced.run(
                "return arguments[2].map((target) => String(reaches(arguments[0], arguments[1], target)))",
                counts.tolist(), speedups.tolist(), targets,
            )  # fmt: skip
            assert [float(value) for value in equivalents] == pytest.approx(expected.tolist(), rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [375, 1280])
def test_nothing_keeps_people_from_using_the_page(reader, width, scheme):
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
    reader.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    reader.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    try:
        reader.open_details()
        assert violations(reader) == []
    finally:
        reader.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        reader.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
