"""Sections on money and turnaround, from studies whose numbers can be worked by hand."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from drawn import drawn
from matplotlib.collections import PathCollection
from report_parts import blocks, cells, plain
from small_runs import ROOT, rows, runs_table

from analysis.pipeline import make_all_tables
from analysis.presentation.content import Content
from analysis.presentation.contests import find_contests
from analysis.presentation.drawing import save
from analysis.presentation.labels import Labels
from analysis.runs.facts import AboutStudy, Economics, Facts
from analysis.runs.lifetime import Lifetime
from analysis.runs.settings import Mix, NodePrice, Settings
from analysis.topics.money.headline import payoff_sentence
from analysis.topics.money.market import Market
from analysis.topics.money.section import pays
from analysis.topics.money.sentences import amount, at_highest_target, comparable_size, link_prices
from analysis.topics.money.tornado_figures import tornado_figures
from analysis.topics.prices.books import read_book
from analysis.topics.topic import Request
from analysis.topics.turnaround.figures import pareto_figures, turnaround_figures
from analysis.topics.turnaround.section import turnaround

BOOK = "item,currency,year,nodes_from,nodes_to,per,price,price_low,price_high,max_nodes,source,note\n"
PRICES = (
    BOOK + "cheap,USD,2004,2,2,node,100,,,,a list,\n"
    "cheap,USD,2004,8,8,node,100,,,,a list,\n"
    "dear,USD,2004,2,8,node,500,,,,a list,\n"
    "huge,USD,2004,16,16,node,2000,,,,a list,\n"
)
FIGURES = {"value": pareto_figures, "packing": turnaround_figures}
EXACT = (1,) * 5  # five equal blocks: intervals are points


def study(
    tmp_path,
    *,
    node=None,
    mix=None,
    lifetime=None,
    kinds=("measured", "measured"),
    compare=(),
    prices=PRICES,
    factors=EXACT,
    **about,
):
    """One case on up to 8 nodes: gigabit peaks at 4 with 2.0, infiniband has that on 2 and reaches 4.0."""
    (tmp_path / "book.csv").write_text(prices)
    book = read_book(tmp_path / "book.csv")
    runs = runs_table(
        rows("duct", None, {1: 12.0}, factors, nodes=1),
        rows("duct", "gigabit", {2: 8.0, 4: 6.0, 8: 8.0}, factors, kind=kinds[0]),
        rows("duct", "infiniband", {2: 6.0, 4: 4.0, 8: 3.0}, factors, kind=kinds[1]),
        rows("duct", "elan", {2: 7.0}, factors, kind=kinds[1]),
    )
    node = node or NodePrice(1000.0, "USD", 2004)
    offers = {"gigabit": (book, "cheap"), "infiniband": (book, "dear"), "elan": (book, "huge")}
    unfinished = AboutStudy(**about).unfinished
    settings = Settings(draws=100, baselines=("gigabit",), compare_kinds=compare, unfinished=unfinished)
    request = Request(settings, market=Market(node, offers, mix, lifetime))
    entries = {
        "study": {"name": "duct", "compare_kinds": [list(pair) for pair in compare]} | about,
        "cases": {"duct": {"title": "Duct"}},
        "interconnects": {
            name: {"title": name.capitalize(), "kind": kind}
            for name, kind in zip(("gigabit", "infiniband", "elan"), (*kinds, kinds[1]), strict=True)
        },
        "study_keys": {"name": "duct", "queue": {"jobs": 8, "efficiency": 0.75}},
    }
    facts = replace(Facts.of(entries), economics=Economics(node, {}, mix, lifetime))
    return runs, make_all_tables(runs, request, facts=facts), facts


def content(runs, tables, facts):
    present = [(name, figures) for name, figures in FIGURES.items() if name in tables]
    drawings = [
        drawing for name, figures in present for drawing in drawn((runs, tables, facts), figures, name)
    ]
    return Content(runs, tables, facts, [drawing.entry() for drawing in drawings], {})


def paragraphs(section):
    return [plain(item) for block in blocks(section, "list") for item in block["items"]]


def table(section, start):
    """Cells of the table whose caption begins so."""
    (matching_table,) = (block for block in blocks(section, "table") if block["caption"].startswith(start))
    return cells(matching_table)


@pytest.fixture
def section(tmp_path):
    mix = Mix({"duct": 1.0}, (500.0, 3000.0, 20_000.0))
    return pays(content(*study(tmp_path, mix=mix)))


class TestMoney:
    def test_a_cluster_at_the_largest_size_that_can_be_compared(self, section):
        # 8 (1000 + 100) and 8 (1000 + 500); 100 of 1100 and 500 of 1500
        costs = {row[0]: row[-1] for row in table(section, "Price of a cluster in USD, and")}
        assert costs == {"Gigabit": "8800 (9.1 %)", "Infiniband": "12 000 (33 %)", "Elan": "–"}
        assert paragraphs(section)[0] == "Elan: no price below 16 nodes, the smallest published size."

    def test_interpolated_prices_are_marked(self, section):
        assert "These prices are interpolated between published sizes: Gigabit at 4 nodes." in paragraphs(
            section
        )
        first = table(section, "Price of a cluster")[0]
        assert first == ["Gigabit", "2200 (9.1 %)", "≈4400 (9.1 %)", "8800 (9.1 %)"]

    def test_the_break_even_price_of_a_node(self, section):
        """4 nodes over gigabit, 2 over infiniband: 2 (P + 500) = 4 (P + 100) at P = 300."""
        first, second = table(section, "Column “Equivalent nodes”")
        assert first[1:] == ["Infiniband", "4", "2", "from 300", "1400", "pays"]
        assert second[1:5] == ["Elan", "4", "–", "none"]  # the speedup is not attained

    def test_saving_a_cheap_node_does_not_pay(self, tmp_path):
        money_part = pays(content(*study(tmp_path, node=NodePrice(200.0, "USD", 2004))))
        assert table(money_part, "Column “Equivalent nodes”")[0][4:] == ["from 300", "-200", "does not pay"]

    def test_an_amount_without_a_lower_end_has_no_sign_of_infinity(self):
        line = {"saving": 0.0, "saving_low": -np.inf, "saving_high": 0.0}
        assert amount(line, "saving") == "0 [at most 0]"

    def test_price_per_unit_of_speedup(self, section):
        # 2 nodes: gigabit 2200 / 1.5, infiniband 3000 / 2; 8 nodes: 12000 / 4
        units = {(row[0], row[1]): row[5] for row in table(section, "The Pareto set of each case")}
        expected = {("Serial run", "1"): "1000", ("Gigabit", "2"): "1467", ("Infiniband", "8"): "3000"}
        assert units.items() >= expected.items()

    def test_advice_at_each_budget(self, section):
        advice = [text for text in paragraphs(section) if text.startswith("For ") and "at most" in text]
        assert advice == [
            "For at most 500 USD, you cannot buy a cluster that was run.",
            "For at most 3000 USD, buy 2 nodes with Infiniband for 3000 USD. The mean speedup is 2.00 [2.00, "
            "2.00].",
            "For at most 20 000 USD, buy 8 nodes with Infiniband for 12 000 USD. The mean speedup is 4.00 "
            "[4.00, 4.00].",
        ]

    def test_a_power_limit_is_stated_with_its_budget(self, tmp_path):
        """Four nodes of 300 W draw 1.2 kW, eight 2.4."""
        mix, lifetime = Mix({"duct": 1.0}, (20_000.0,), kilowatts=1.5), Lifetime.of(GIVEN)
        whole = content(*study(tmp_path, mix=mix, lifetime=lifetime, node=NodePrice(1000.0, "USD", 2004, 1)))
        money_part = pays(whole)
        budget = "20 000 USD and 1.5 kW"
        assert f"For at most {budget}, buy 4 nodes with Infiniband" in "\n".join(paragraphs(money_part))
        (bought,) = (
            block
            for block in blocks(money_part, "table")
            if block["caption"].startswith("The fastest cluster that each")
        )
        assert [plain(group["title"]) for group in bought["groups"]] == [budget]
        first = plain(payoff_sentence(whole.tables, find_contests(whole.tables, ()), whole.labels))
        assert f"buy 4 nodes with Infiniband for at most {budget}" in first

    def test_each_site_has_its_advice(self, tmp_path):
        runs, tables, facts = study(tmp_path, mix=Mix({"duct": 1.0}, (500.0, 3000.0)))
        bought = tables["purchase"]
        sites = [bought.assign(site=site, interconnect=bought["interconnect"] + f"@{site}") for site in "ab"]
        whole = content(runs, {**tables, "purchase": pd.concat(sites, ignore_index=True)}, facts)
        advice = [text for text in paragraphs(pays(whole)) if text.startswith("For ") and "at most" in text]
        assert advice[0] == "For at most 500 USD, you cannot buy a cluster that was run."
        assert [text.split(" for ")[0] for text in advice[1:]] == [
            f"For at most 3000 USD, buy 2 nodes with infiniband@{site}" for site in "ab"
        ]
        (budgets,) = (
            block
            for block in blocks(pays(whole), "table")
            if block["caption"].startswith("The fastest cluster that")
        )
        assert [plain(group["title"]) for group in budgets["groups"]] == ["3000 USD, a", "3000 USD, b"]

    def test_only_comparable_interconnects_may_be_equally_good(self, tmp_path):
        kinds = ("measured", "published")
        whole = content(*study(tmp_path, mix=Mix({"duct": 1.0}, (20_000.0,)), kinds=kinds))
        first = plain(payoff_sentence(whole.tables, find_contests(whole.tables, ()), whole.labels))
        # eight nodes with Gigabit run the job on four; none of the published ones counts
        advice = "buy 4 nodes with Gigabit for at most 20 000 USD. 1 other cluster may be as good"
        assert advice in first

    def test_money_of_two_years_is_never_mixed_silently(self, tmp_path):
        same = paragraphs(pays(content(*study(tmp_path))))
        assert "All prices are of 2004." in same
        other = paragraphs(
            pays(content(*study(tmp_path, node=NodePrice(1000.0, "USD", 2006, source="an offer"))))
        )
        assert (
            "Prices are of different years, not adjusted for inflation: a node (2006), Gigabit, Infiniband "
            "and Elan (2004)." in other
        )
        assert "Source of the price of a node: an offer." in other

    def test_a_size_at_which_most_have_a_price(self):
        rows = [(name, 1, 5.0, "none needed") for name in "ab"]
        rows += [("a", 4, 20.0, "published"), ("b", 4, 24.0, "published")]
        rows += [("a", 8, 40.0, "published"), ("b", 8, None, None)]
        cost = pd.DataFrame(rows, columns=["interconnect", "nodes", "cluster_price", "basis"])
        assert comparable_size(cost) == 4
        assert comparable_size(cost[cost["nodes"] == 1]) == 1

    def test_the_price_of_a_link_on_page_one(self, tmp_path):
        _, tables, facts = study(tmp_path)
        labels = Labels(facts)
        gigabit = "Gigabit costs 100 USD per node"
        assert list(map(plain, link_prices(tables["cost"], labels, 3))) == [
            gigabit,
            "Infiniband costs 500 USD per node",
        ]
        assert list(map(plain, link_prices(tables["cost"], labels, 1))) == [
            "an interconnect costs 100 to 500 USD per node, in clusters of 2 to 8 nodes"
        ]
        assert link_prices(tables["cost"].query("nodes == 1"), labels, 3) == []
        two = tables["cost"]["nodes"].eq(2) & tables["cost"]["interconnect"].eq("infiniband")
        dear = tables["cost"].assign(
            interconnect_price_per_node=tables["cost"]["interconnect_price_per_node"].where(~two, 900.0)
        )
        assert list(map(plain, link_prices(dear, labels, 3))) == [
            gigabit,
            "Infiniband costs 900 USD per node in a cluster of 2 nodes and 500 USD per node in a cluster of 8 nodes",
        ]

    def test_the_highest_target_of_the_lowest_level(self):
        rows = [("c", "g", "measured", level, target) for level in (1, 2) for target in (2.0, 3.0)]
        columns = ["case", "baseline_interconnect", "kind", "oversubscription", "target_speedup"]
        highest = at_highest_target(pd.DataFrame(rows, columns=columns))
        assert highest[["oversubscription", "target_speedup"]].to_numpy().tolist() == [[1, 3.0]]


class TestTurnaround:
    def test_advice_for_one_user_a_queue_and_many_jobs(self, tmp_path):
        runs, tables, facts = study(tmp_path)
        money_part = turnaround(content(runs, tables, facts))
        sentences = paragraphs(money_part)
        assert sentences[0] == (
            "One user: Gigabit takes 6.00 s per job with 4 processes. Infiniband takes 3.00 s per job with 8 "
            "processes. Elan takes 7.00 s per job with 2 processes."
        )
        # efficiencies of 0.75 and more: gigabit 2 (0.75), infiniband 2 (1) and 4 (0.75), elan 2 (0.857)
        assert sentences[2] == (
            "Shared machine: Gigabit takes 8.00 s per job with 2 processes. Infiniband takes 4.00 s per job with "
            "4 processes. Elan takes 7.00 s per job with 2 processes."
        )
        assert sentences[3].startswith("8 jobs: ")
        rows = table(money_part, "Column “Cores” shows")
        assert rows[1] == ["Infiniband", "8", "8: 3.00 s", "2: 57 600 per day", "4: 4.00 s", "12.0 s"]


class TestFigures:
    def drawn(self, tmp_path, table, **more):
        runs, tables, facts = study(tmp_path, **more)
        (drawing,) = drawn((runs, tables, facts), FIGURES[table], table)
        return drawing, tables

    def panels(self, drawing):
        return [axes.get_title(loc="left") for axes in drawing.figure.axes if axes.axison]

    def test_the_pareto_set_is_joined_and_the_rest_is_faint(self, tmp_path):
        drawing, tables = self.drawn(tmp_path, "value")
        value = tables["value"]
        members = value[value["pareto"].fillna(False)].drop_duplicates(["cluster_price", "speedup"])
        (axes,) = drawing.figure.axes
        steps = next(line for line in axes.lines if line.get_drawstyle() == "steps-post")
        assert list(steps.get_xdata()) == sorted(members["cluster_price"])
        assert list(steps.get_ydata()) == sorted(members["speedup"])
        points = {
            tuple(place): dots.get_alpha()
            for dots in axes.collections
            if isinstance(dots, PathCollection)
            for place in dots.get_offsets()
        }
        assert points[2200, 1.5] == points[12_000, 4.0] == 1.0
        assert points[8800, 1.5] < 1  # dearer than 2 nodes, and as fast
        labels = [text.get_text() for text in axes.texts]
        assert labels == ["1", "2", "2", "4", "8"]  # also both clusters of two nodes
        assert min(text.get_fontsize() for text in axes.texts) >= 7
        assert "Points without a price are not shown." in drawing.caption

    def test_kinds_share_a_panel_only_if_the_study_compares_them(self, tmp_path):
        kinds = ("measured", "published")
        apart, _ = self.drawn(tmp_path, "value", kinds=kinds)
        assert self.panels(apart) == ["Duct (measured)", "Duct (published)"]
        together, _ = self.drawn(tmp_path, "value", kinds=kinds, compare=(("measured", "published"),))
        assert self.panels(together) == ["Duct"]

    def test_a_point_shows_its_values(self, tmp_path):
        drawing, _ = self.drawn(tmp_path, "packing")
        tips = [plain(mark.text) for mark in drawing.marks.values()]
        (fast,) = (text for text in tips if text.startswith("Duct\nInfiniband, measured\n8 processes"))
        assert "Jobs per day 28 800" in fast
        serial = [text for text in tips if "Serial run" in text]
        assert len(serial) == 1
        save(drawing, tmp_path)
        assert (tmp_path / "turnaround.svg").exists()

    def test_many_cases_make_several_figures(self, tmp_path):
        runs, tables, facts = study(tmp_path)
        packing = tables["packing"]
        many = pd.concat([packing.assign(case=f"case_{number:02d}") for number in range(14)])
        drawings = drawn((runs, {"packing": many}, facts), turnaround_figures, "packing")
        assert [drawing.name for drawing in drawings] == ["turnaround-1", "turnaround-2"]


def test_the_published_study_has_money_from_end_to_end():
    """Every interconnect of the GAMESS table has an item of the book; the node's price says it is assumed."""
    from workflows.plan.plan import make_plan

    economics = make_plan(ROOT / "config/studies/published_gamess.yaml").asked.request.economics
    ran = pd.read_csv(ROOT / "analysis/published/gamess.csv")["interconnect"].unique()
    assert set(economics.offers) == set(ran)
    assert economics.node.source.startswith("assumption")


GIVEN = {
    "years": {"value": 4, "range": [3, 5]},
    "utilisation": 0.5,
    "node_idle_watts": 100,
    "node_loaded_watts": 300,
    "energy_price": {"value": 0.1, "year": 2004, "source": "a bill"},
    "licence_per_process": {"value": 0, "range": [0, 1000]},
}


class TestLifetime:
    @pytest.fixture
    def money_part(self, tmp_path):
        runs, tables, facts = study(
            tmp_path, node=NodePrice(100.0, "USD", 2004, 1, "an offer"), lifetime=Lifetime.of(GIVEN)
        )
        return pays(content(runs, tables, facts))

    def test_cost_over_the_years(self, money_part):
        # 8 (100 + 100), and 8 x 0.2 kW x 35,040 h x 0.1; in five years 8 licences of 1000 a year
        (sentence,) = (text for text in paragraphs(money_part) if " over 4 years: " in text)
        assert sentence.startswith(
            "8 nodes with Gigabit cost 7206 [5805, 48 608] USD over 4 years: 22 % purchase, 78 % energy and 2.40 kW "
            "under load. 8 nodes with Infiniband cost 10 406 ["
        )
        assert sentence.endswith(" Brackets contain the range of all inputs together.")

    def test_one_year_without_ranges(self, tmp_path):
        given = Lifetime.of({"years": 1, "utilisation": 1})
        sentences = paragraphs(pays(content(*study(tmp_path, lifetime=given))))
        assert (
            "8 nodes with Gigabit cost 8800 USD over 1 year: 100 % purchase. 8 nodes with Infiniband cost 12 000 USD "
            "over 1 year: 100 % purchase." in sentences
        )

    def test_sizes_without_a_price_have_a_reason(self, tmp_path):
        prices = PRICES.replace(",2,2,", ",32,32,").replace(",8,8,", ",64,64,").replace(",2,8,", ",32,64,")
        runs, tables, facts = study(
            tmp_path, lifetime=Lifetime.of({"years": 1, "utilisation": 1}), prices=prices
        )
        tables["cost"] = tables["cost"][tables["cost"]["nodes"] == 8]  # one node needs none, and was not run
        sentences = paragraphs(pays(content(runs, tables, facts)))
        assert sentences[0] == "Gigabit and Infiniband: no price below 32 nodes, the smallest published size."
        assert not [text for text in sentences if " over 1 year: " in text]

    def test_savings_and_the_deciding_input(self, money_part):
        (sentence,) = (text for text in paragraphs(money_part) if "Infiniband instead of Gigabit" in text)
        # 4 x 200 + 4 x 700.8 against 2 x 600 + 2 x 700.8; licences of 4 against 2 processes: 16,000 against 8,000
        assert sentence == (
            "Infiniband instead of Gigabit saves 28 % at equal speed. Infiniband pays. The saving depends most on "
            "the licence per process: +28 % at its minimum, +46 % at its maximum. No single input changes the sign "
            "of the saving."
        )

    def test_it_states_where_the_cost_of_a_job_is(self, money_part):
        last = blocks(money_part, "paragraph")[-1]["text"]
        assert last.startswith("tables/value.csv has cost, energy and CO₂ per job. tables/break_even.csv has")

    def test_inputs_have_their_ranges_and_sources(self, money_part):
        rows = table(money_part, "Assumptions about nodes and their years")
        assert rows[:2] == [
            ["Price of a node", "100 USD", "2004", "an offer"],
            ["Years", "4 [3, 5]", "", "not stated"],
        ]
        assert ["Price of energy", "0.1 USD/kWh", "2004", "a bill"] in rows

    def test_a_bar_an_input(self, tmp_path):
        runs, tables, facts = study(
            tmp_path, node=NodePrice(100.0, "USD", 2004, cores=1), lifetime=Lifetime.of(GIVEN)
        )
        (drawing,) = drawn((runs, tables, facts), tornado_figures, "tornado")
        (axes,) = drawing.figure.axes
        names = [plain(text.get_text()) for text in axes.get_yticklabels()]
        assert names[0] == "licence per process" and "years" in names
        assert plain(axes.texts[0].get_text()) == "+28 % to +46 %"  # as the sentence says
        save(drawing, tmp_path)
        assert (tmp_path / "tornado.svg").exists()

    def test_without_one_the_report_lists_missing_parts(self, tmp_path):
        section = pays(content(*study(tmp_path)))
        assert blocks(section, "paragraph")[-1]["text"].startswith(
            "Prices exclude power, space, staff and licences"
        )
        assert not [text for text in paragraphs(section) if " over " in text]


def test_a_point_estimate_gives_neither_verdict_nor_best_choice(tmp_path):
    report = content(*study(tmp_path, mix=Mix({"duct": 1.0}, (20_000.0,)), factors=(1,) * 4))
    verdicts = {line[-1] for line in table(pays(report), "Column “Equivalent nodes”")}
    assert verdicts == {"would pay (untested)", "would not pay (untested)"}
    (buy,) = [line for line in paragraphs(pays(report)) if ", buy " in line]
    assert buy.endswith(". The differences are not tested.")
    text = blocks(turnaround(report), "paragraph")[-1]["text"]
    assert "at least 5 blocks, this file also has the combinations that may be as good as" in text


def test_an_unfinished_study_states_costs_and_no_advice(tmp_path):
    mix = Mix({"duct": 1.0}, (20_000.0,))
    whole = content(*study(tmp_path, mix=mix))
    made = study(tmp_path, mix=mix, blocks=8, blocks_recorded=5)
    money_part = pays(content(*made))
    assert "buy" in "\n".join(paragraphs(pays(whole))) and turnaround(whole) is not None
    assert "buy" not in plain("\n".join(block["text"] for block in blocks(money_part, "paragraph")))
    assert not {"buy", "pays", "lowest"} & set(" ".join(paragraphs(money_part)).split())
    assert [block["caption"][:18] for block in blocks(money_part, "table")] == ["Price of a cluster"]
    assert turnaround(content(*made)) is None


def test_an_unfinished_study_has_no_lifetime_verdict(tmp_path):
    made = study(tmp_path, lifetime=Lifetime.of(GIVEN), node=NodePrice(100.0, "USD", 2004, cores=1))
    assert "tornado" in made[1]
    made = study(tmp_path, lifetime=Lifetime.of(GIVEN), node=NodePrice(100.0, "USD", 2004, cores=1),
                 blocks=8, blocks_recorded=5)  # fmt: skip
    money_part = pays(content(*made))
    assert "tornado" not in made[1] and any(" over 4 years: " in text for text in paragraphs(money_part))
    assert not {"pays", "saves", "decides"} & set(" ".join(paragraphs(money_part)).replace(":", " ").split())
