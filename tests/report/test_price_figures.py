"""Key figures about prices, and the cases that the explorer leaves out, worked by hand."""

from dataclasses import replace

import pytest
from report_parts import blocks, part, plain
from small_runs import rows, runs_table

from analysis.pipeline import make_all_tables
from analysis.report import make_report
from analysis.runs.facts import Economics, Facts
from analysis.topics.topic import request_of

OFFER = {"currency": "USD", "year": 2004, "nodes_from": 2, "nodes_to": 16, "per": "node", "price_low": None,
         "price_high": None, "max_nodes": None, "source": "a list", "note": None}  # fmt: skip
SLOW = {2: 8.0, 4: 6.0, 8: 8.0}  # best on 4 nodes, with 6 s
SWIFT = {2: 6.0, 4: 4.0, 8: 3.0}  # 6 s on 2 nodes


def offered(item, price):
    row = {"item": item, **OFFER, "price": price}
    return {"source": "book", "file": "book.csv", "item": item, "rows": [row]}


def priced_report(swift_price):
    runs = runs_table(
        rows("duct", None, {1: 12.0}, nodes=1), rows("duct", "slow", SLOW), rows("duct", "swift", SWIFT)
    )
    about = {"study": {"baselines": ["slow"]}, "settings": {"draws": 200}}
    node = {"price": 1000.0, "currency": "USD", "year": 2004}
    offers = {"slow": offered("cheap", 100), "swift": offered("dear", swift_price)}
    facts = replace(Facts.of(about), economics=Economics.of({"node": node, "offers": offers}))
    return make_report(runs, make_all_tables(runs, request_of(facts)), facts, [])


@pytest.mark.parametrize(
    ("price", "value", "note"),
    [
        (500, "pays", "swift pays"),  # 4 x (1000 + 100) = 4400 USD against 2 x (1000 + 500) = 3000 USD
        (1500, "does not pay", "swift does not pay"),  # 4400 USD against 2 x (1000 + 1500) = 5000 USD
    ],
)
def test_page_one_states_whether_it_pays(price, value, note):
    (block,) = blocks(part(priced_report(price), "answer"), "key_figures")
    figure = {plain(figure["label"]): figure for figure in block["key_figures"]}["At 1000 USD per node"]
    assert (figure["value"], figure["note"], figure["kind"]) == (value, note, "measured")


def test_the_explorer_names_the_cases_that_are_compared_by_nodes():
    """The process counts of `box` differ, since its nodes have 2 and 3 cores; the nodes are the same."""
    of_box = [
        {
            **line,
            "nodes": line["processes"],
            "processes": line["processes"] * cores,
            "cores": line["processes"] * cores,
        }
        for name, times, cores in (("slow", SLOW, 2), ("swift", SWIFT, 3))
        for line in rows("box", name, times)
    ]
    of_duct = [*rows("duct", "slow", SLOW), *rows("duct", "swift", SWIFT)]
    facts = Facts.of({"study": {"baselines": ["slow"]}, "settings": {"draws": 200}})
    runs = runs_table(of_box, of_duct)
    explorer = make_report(runs, make_all_tables(runs, request_of(facts)), facts, [])["explore"]
    assert explorer["note"].endswith(
        "Cases that Nodeworth compares at equal numbers of nodes are not shown here: box."
    )
    assert [panel["name"] for panel in explorer["panels"]] == ["duct, measured"]
