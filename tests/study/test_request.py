"""Keys of a study about the analysis: defaults, their way to the analysis, and every mistake in one line."""

import json
from dataclasses import fields, replace
from pathlib import Path

import pytest
from refused import refusal
from study_files import study_file

from analysis.runs.facts import AboutStudy, Facts
from analysis.runs.settings import Limit, Settings
from analysis.topics.topic import request_of
from analysis.topics.turnaround.packing import Queue
from workflows import inputs
from workflows.domain import InputError, Interconnect
from workflows.paths import ROOT
from workflows.plan.plan import make_plan
from workflows.study.request import check_names, request_facts
from workflows.study.study import read_study

GOOD = """
name: mine
cases: [cavity]
interconnects: [shared_memory, tcp_loopback]
processes: [1, 2]
"""
MONEY = """
economics:
  node: {price: 2500, currency: USD, year: 2004}
  interconnects:
    tcp_loopback: {book: ames_2004, item: gigabit_ethernet}
    shared_memory: {parts: sandia_2004, item: infiniband_4x_24_port}
  mix: {weights: {cavity: 1}, budgets: [10000]}
"""
YEARS = (
    MONEY
    + """
  lifetime:
    years: {value: 5, range: [4, 6], year: 2026, source: a plan}
    utilisation: 0.8
    node_idle_watts: 100
    node_loaded_watts: 300
    ports:
      tcp_loopback: {idle_watts: 5, loaded_watts: 5}
      shared_memory: {idle_watts: 0, loaded_watts: 0}
"""
)
STUDY = AboutStudy(name="mine", seed=3, baselines=["tcp_loopback"], compare_kinds=[["measured", "emulated"]])


TCP, MEMORY = "interconnects.tcp_loopback", "interconnects.shared_memory"


def facts(folder: Path, extra: str = "", interconnects=None):
    study = read_study(study_file(folder, GOOD + extra))
    made = replace(request_facts(study, interconnects or {}, ROOT / "config"), study=STUDY)
    return Facts.of(json.loads(json.dumps(made.as_json())))  # as they reach the analysis


@pytest.mark.parametrize(("key", "made"), [("analysis", Settings), ("queue", Queue)])
def test_the_schema_states_the_defaults_of_the_analysis(key, made):
    defaults = {field.name: field.default for field in fields(made)}
    stated = inputs.defaults("study", key)
    assert {name: tuple(value) if value == [] else value for name, value in stated.items()} == {
        name: defaults[name] for name in stated
    }


def test_without_a_word_the_analysis_has_its_defaults(tmp_path):
    read = facts(tmp_path)
    request = request_of(read)
    given = {"baselines": ("tcp_loopback",), "compare_kinds": (("measured", "emulated"),)}
    assert request.settings == Settings(study="mine", seed=3, **given)
    assert request.rule.name == "doubling_1_5" and request.rule.limits == (Limit(1.5),)
    assert request.market is None
    assert read.study_section("queue", Queue) == Queue()


def test_every_key_reaches_the_analysis(tmp_path):
    extra = """
analysis: {draws: 500, level: 0.9, target_speedups: [4, 8], reference_interconnect: tcp_loopback,
           extrapolation: 2, target_percent: 3}
queue: {jobs: 7, cores: 32, efficiency: 0.5}
proposal: {rule: notur_hexagon}
"""
    read = facts(tmp_path, extra + MONEY)
    request = request_of(read)
    assert (request.settings.draws, request.settings.level, request.settings.extrapolation) == (500, 0.9, 2)
    assert request.settings.target_speedups == (4, 8) and request.settings.target_percent == 3
    assert request.settings.reference_interconnect == "tcp_loopback"
    assert read.study_section("queue", Queue) == Queue(7, 0.5, 32)
    assert [limit.at_least for limit in request.rule.limits] == [1.5, 1.4, 1.3]
    market = request.market
    assert (market.node.price, market.node.currency, market.node.cores) == (2500, "USD", None)
    assert market.mix.budgets == (10_000,) and market.mix.weights == {"cavity": 1}
    book, item = market.offers["tcp_loopback"]
    assert item == "gigabit_ethernet" and set(book["item"]) == {item} and "per" in book
    assert "part" in market.offers["shared_memory"][0]


def test_the_target_of_the_study_is_the_target_of_the_report(tmp_path):
    extra = "analysis: {target_percent: 3}\nuntil: {interval_percent: 2, max_blocks: 9}\n"
    assert facts(tmp_path, extra).settings.target_percent == 2


def test_files_next_to_the_study_are_found(tmp_path):
    book = (ROOT / "config/prices/ames_2004.csv").read_text().replace("gigabit_ethernet,USD", "mine,USD")
    (tmp_path / "mine.csv").write_text(book)
    (tmp_path / "rule.yaml").write_text((ROOT / "config/proposals/efficiency_75.yaml").read_text())
    extra = MONEY.replace("book: ames_2004, item: gigabit_ethernet", "book: mine.csv, item: mine")
    made = facts(tmp_path, extra + "proposal: {rule: rule.yaml}\n")
    mine, ours = made.economics.offers["tcp_loopback"], facts(tmp_path, MONEY).economics.offers
    assert (mine.item, mine.file) == ("mine", str(tmp_path / "mine.csv"))
    assert ours["tcp_loopback"].file == "config/prices/ames_2004.csv"  # wherever the project is
    assert made.proposal.name == "efficiency_75"


def priced(item):
    price = {"book": "ames_2004", "item": item}
    return Interconnect("tcp_loopback", "measured", "TCP", {}, None, 1, 2, price=price)


def test_a_price_in_the_study_replaces_that_of_the_interconnect_file(tmp_path):
    node = "economics: {node: {price: 1, currency: USD, year: 2004}}\n"
    interconnects = {"tcp_loopback": priced("myrinet_single_port")}
    assert facts(tmp_path, node, interconnects).economics.offers["tcp_loopback"].item == "myrinet_single_port"
    assert facts(tmp_path, MONEY, interconnects).economics.offers["tcp_loopback"].item == "gigabit_ethernet"
    message = refusal(InputError, facts, tmp_path, node, {"tcp_loopback": priced("mirinet")})
    assert "interconnects/tcp_loopback.yaml: price.item: book ames_2004: no item 'mirinet'" in message


def test_without_the_price_of_a_node_there_are_no_costs(tmp_path):
    assert facts(tmp_path, "", {"tcp_loopback": priced("myrinet_single_port")}).economics is None


@pytest.mark.parametrize(
    ("extra", "line"),
    [
        ("analysis: {draws: 10}", "analysis.draws: 10 is too small; at least 100"),
        ("analysis: {level: 95}", "analysis.level: 95 is too large; at most 0.999"),
        ("analysis: {drws: 500}", "analysis.drws: unknown key, did you mean 'draws'?"),
        (
            "analysis: {reference_interconnect: tcp}",
            "analysis.reference_interconnect: no interconnect of the study 'tcp'",
        ),
        ("queue: {jobs: 0}", "queue.jobs: 0 is too small; at least 1"),
        ("queue: {efficiency: 75}", "queue.efficiency: 75 is too large; at most 1"),
        ("proposal: {rule: doubling}", "proposal.rule: no rule 'doubling', did you mean 'doubling_1_5'?"),
        ("proposal: {rule: mine.yaml}", "proposal.rule: "),
    ],
)
def test_one_line_for_mistakes(tmp_path, extra, line):
    assert refusal(InputError, facts, tmp_path, f"{extra}\n").startswith(f"{tmp_path}/mine.yaml: {line}")


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("cavity: 1", "cavty: 1", "mix.weights: no case of the study 'cavty'"),
        ("cavity: 1", "cavity: 0", "mix.weights.cavity: 0 is too small; must be above 0"),
        ("tcp_loopback:", "infiniband:", "interconnects: no interconnect of the study 'infiniband'"),
        ("ames_2004", "ames_2005", f"{TCP}.book: no price book 'ames_2005', did you mean 'ames_2004'?"),
        ("sandia_2004", "sandia", f"{MEMORY}.parts: no part list 'sandia'"),
        ("item: gigabit_ethernet", "item: gigabit", f"{TCP}.item: book ames_2004: no item 'gigabit'"),
        ("book: ames_2004, ", "", f"{TCP}: needs either book or parts"),
        ("parts:", "book: ames_2004, parts:", f"{MEMORY}: needs either book or parts"),
        ("ames_2004", "mine.csv", f"{TCP}.book: "),
        ("USD", "EUR", "node.currency: EUR, but 'gigabit_ethernet' of"),
        ("price: 2500, ", "", "node.price: missing (Price of a node)"),
        (MONEY, "economics: {mix: {weights: {cavity: 1}, budgets: [1]}}\n", "node: missing, since mix is given"),
        (MONEY, "economics: {interconnects: {tcp_loopback: {book: ames_2004, item: gigabit_ethernet}}}\n",
         "node: missing, since interconnects is given"),
        (MONEY, "economics: {node: {price: 1, currency: USD, year: 2004}}\n",
         "interconnects: missing; no interconnect has a price"),
    ],
)  # fmt: skip
def test_one_line_for_mistakes_about_money(tmp_path, old, new, line):
    assert old in MONEY
    message = refusal(InputError, facts, tmp_path, MONEY.replace(old, new))
    assert message.startswith(f"{tmp_path}/mine.yaml: economics.{line}")


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("utilisation: 0.8", "utilisation: 1.5", "lifetime.utilisation: 1.5; above 0, at most 1"),
        ("utilisation: 0.8", "utilisation: often", "lifetime.utilisation: 'often' is not a number or a section"),
        ("utilisation: 0.8\n", "\n", "lifetime.utilisation: missing (Share of the time that nodes compute"),
        ("range: [4, 6]", "range: [6, 8]", "lifetime.years: range: 6 to 8 does not hold 5"),
        ("source: a plan", "origin: a plan", "lifetime.years.origin: unknown key"),
        ("    node_idle_watts: 100\n", "", "lifetime.node_idle_watts: missing, since power is counted"),
        ("      shared_memory: {idle_watts: 0, loaded_watts: 0}\n", "",
         "lifetime.ports.shared_memory: missing; all interconnects with a price, or none"),
        ("shared_memory: {idle", "infiniband: {idle", "lifetime.ports: no interconnect with a price 'infiniband'"),
        ("    node_idle_watts: 100\n", "    node_idle_watts: 100\n    licence_per_core: 9\n",
         "node.cores: missing, since licences are counted"),
        ("year: 2004}", "year: 2004, price_range: [1, 2]}", "node.price_range: 1 to 2 does not hold 2500"),
        ("price: 2500", "price: 0", "node.price: 0 is too small; must be above 0"),
        ("node_loaded_watts: 300", "node_loaded_watts: 0", "lifetime.node_loaded_watts: 0; above 0"),
        ("year: 2004}", "year: 2004, price_range: [3000, 2000]}", "node.price_range: 3000 to 2000; the least first"),
    ],
)  # fmt: skip
def test_one_line_for_mistakes_about_the_years(tmp_path, old, new, line):
    assert old in YEARS
    message = refusal(InputError, facts, tmp_path, YEARS.replace(old, new))
    assert message.startswith(f"{tmp_path}/mine.yaml: economics.{line}")


def test_the_years_reach_the_analysis(tmp_path):
    lifetime = request_of(facts(tmp_path, YEARS)).market.lifetime
    assert (lifetime.years.ends, lifetime.years.year, lifetime.years.source) == ((4, 6), 2026, "a plan")
    assert lifetime.ports["tcp_loopback"].loaded_watts.value == 5 and not lifetime.licensed
    assert request_of(facts(tmp_path, MONEY)).market.lifetime is None


def test_a_limit_of_power_needs_the_power_of_a_node(tmp_path):
    limited = MONEY.replace("budgets: [10000]", "budgets: [10000], kilowatts: 5")
    message = refusal(InputError, facts, tmp_path, limited)
    assert message.endswith(
        "economics.lifetime.node_loaded_watts: missing, since economics.mix.kilowatts is given"
    )


def test_names_of_an_importing_study_come_from_its_files(tmp_path):
    text = f"name: mine\nimport: [theirs.csv]\nbaselines: [gigabit]\n{MONEY}"
    study = read_study(study_file(tmp_path, text))
    names = {"gigabit", "tcp_loopback", "shared_memory"}
    check_names(study, {"cavity"}, names)
    with pytest.raises(InputError, match="baselines: no interconnect of the study 'gigabit'"):
        check_names(study, {"cavity"}, names - {"gigabit"})
    with pytest.raises(InputError, match=r"economics\.mix\.weights: no case of the study 'cavity'"):
        check_names(study, {"duct"}, names)
    named = read_study(
        study_file(tmp_path, "name: mine\nimport: [theirs.csv]\nsystems: {efa: {title: EKS}}\n")
    )
    with pytest.raises(InputError, match="systems: no interconnect of the study 'efa'"):
        check_names(named, {"cavity"}, names)


def test_keys_of_the_analysis_rerun_no_measurement(tmp_path):
    def plan(extra="", **overrides):
        return make_plan(study_file(tmp_path, GOOD + extra), overrides)

    plain = plan()
    sections = ["analysis: {draws: 500}\n", "queue: {jobs: 9}\n", "proposal: {rule: notur_stallo}\n", MONEY]
    others = [plan(extra) for extra in sections] + [plan(analysis={"draws": 500})]
    assert {other.design.digest for other in others} == {plain.design.digest}
    assert len({plain.design.description, *(other.design.description for other in others)}) == 1 + len(
        sections
    )
