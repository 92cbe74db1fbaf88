"""The key ``run_costs`` of a study: its way to the analysis, and every mistake in one line."""

import json

import pytest
from refused import refusal
from study_files import study_file

from analysis.runs.facts import Facts
from workflows.domain import InputError
from workflows.paths import ROOT
from workflows.study.imports import check_imports
from workflows.study.request import request_facts
from workflows.study.study import read_study

STUDY = "name: mine\nimport: [runs.csv]\n"
RUNS = "case,interconnect,processes,nodes,seconds,site\nduct,eks,96,1,9,here\nduct,eks,192,2,5,here\n"
BOOK = (
    "systems,instance,terms,currency,price,price_low,price_high,date,source,note\n"
    "eks; gce,hpc6a,on_demand,EUR,2.5,2.4,3.1,2026-11,offer,\n"
    "eks,hpc6a,spot,EUR,1.1,,,2026-11,offer,\n"
)


@pytest.fixture
def asked(tmp_path):
    """Prices and questions of a study with a section, as they reach the analysis."""
    (tmp_path / "book.csv").write_text(BOOK)

    def read(section):
        study = read_study(study_file(tmp_path, f"{STUDY}{section}\n"))
        made = request_facts(study, {}, ROOT / "config")
        return Facts.of(json.loads(json.dumps(made.as_json()))).run_costs

    return read


def test_a_book_and_stated_prices_reach_the_analysis(asked, tmp_path):
    costs = asked(
        "run_costs: {book: book.csv, prices: {here: {price_range: [1, 3], source: bill}}, deadlines: [60]}"
    )
    assert (costs.currency, costs.deadlines, costs.budgets) == ("EUR", (60,), ())
    assert costs.prices.keys() == {"eks", "gce", "here"}
    assert costs.prices["eks"].prices == (2.5, 2.4, 3.1)
    assert (costs.prices["eks"].terms, costs.prices["eks"].date) == ("on_demand", "2026-11")
    assert costs.prices["eks"].source == "hpc6a: offer"
    assert costs.prices["here"].prices == (2, 1, 3) and costs.prices["here"].source == "bill"
    assert costs.file == str(tmp_path / "book.csv")


def test_terms_choose_the_rows_of_a_book_and_a_stated_price_replaces_them(asked):
    costs = asked("run_costs: {book: book.csv, terms: spot, prices: {eks: 2}}")
    assert {name: price.price for name, price in costs.prices.items()} == {"eks": 2}
    assert asked("run_costs: {book: book.csv, terms: spot}").prices["eks"].price == 1.1


def test_prices_of_the_project_and_prices_without_a_book(asked):
    costs = asked("run_costs: {book: clouds_2024, terms: cost_table, budgets: [5]}")
    assert costs.prices["aws_eks"].price == 2.88 and costs.currency == "USD"
    assert costs.file == "config/prices/node_hours/clouds_2024.csv"
    assert asked("run_costs: {prices: {eks: 2}, currency: EUR}").file is None
    assert asked("") is None and asked("run_costs: {}") is None


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ("{deadlines: [60]}", "run_costs: needs book, prices or both"),
        ("{prices: {eks: 2}}", "run_costs.currency: missing, since prices are given without a book"),
        ("{book: cloud_2024}", "run_costs.book: no price book 'cloud_2024', did you mean 'clouds_2024'?"),
        ("{book: none.csv}", "run_costs.book: "),
        ("{book: book.csv, terms: spott}", "run_costs.terms: book book.csv: no terms 'spott'"),
        ("{book: book.csv, currency: USD}", "run_costs.currency: USD, but book.csv has prices in EUR"),
        ("{book: book.csv, deadlines: [0]}", "run_costs.deadlines[0]: 0"),
        ("{book: book.csv, budgets: [5, 5]}", "run_costs.budgets: 5 is there twice"),
        ("{book: book.csv, deadline: [5]}", "run_costs.deadline: unknown key, did you mean 'deadlines'?"),
        ("{prices: {eks: 0}, currency: EUR}", "run_costs.prices.eks: 0"),
        ("{prices: {eks: much}, currency: EUR}", "run_costs.prices.eks: 'much' is not a number or a section"),
        (
            "{prices: {eks: {price: 2, date: 2026-11-03}}, currency: EUR}",
            "run_costs.prices.eks.date: 2026-11-03 is not text; put it in quotes",
        ),
        ("{prices: {eks: {source: me}}, currency: EUR}", "run_costs.prices.eks: needs price or price_range"),
        (
            "{prices: {eks: {price: 5, price_range: [1, 3]}}, currency: EUR}",
            "run_costs.prices.eks.price_range: 1 to 3 does not hold the price 5",
        ),
    ],
)
def test_a_mistake_is_refused_in_one_line(asked, tmp_path, section, message):
    line = refusal(InputError, asked, f"run_costs: {section}")
    assert line.startswith(f"{tmp_path}/mine.yaml: ") and message in line


@pytest.mark.parametrize(("name", "allowed"), [("eks", True), ("here", True), ("gke", False)])
def test_prices_name_interconnects_and_sites_of_the_imports(tmp_path, name, allowed):
    (tmp_path / "runs.csv").write_text(RUNS)
    study = read_study(study_file(tmp_path, f"{STUDY}run_costs: {{prices: {{{name}: 2}}, currency: EUR}}\n"))
    if allowed:
        check_imports(study, [])
    else:
        line = refusal(InputError, check_imports, study, [])
        assert "run_costs.prices: no interconnect or site of the study 'gke'" in line and "eks, here" in line
