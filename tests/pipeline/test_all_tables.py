"""Every table of a study: presence, agreement, and reading back."""

import pandas as pd
import pytest
from made_tables import make_tables
from small_runs import rows, unplaced

from analysis.pipeline import REQUIRED, TABLE_SCHEMAS, make_all_tables, read_tables, write_tables
from analysis.runs.facts import Facts
from analysis.runs.lifetime import Lifetime
from analysis.runs.settings import Limit, Mix, NodePrice, Rule, Settings
from analysis.topics import node_loss, nodes
from analysis.topics.adjusted import ADJUSTED
from analysis.topics.censored import CENSORED
from analysis.topics.changes.tables import CHANGES
from analysis.topics.congestion.tables import CONGESTION_TABLES
from analysis.topics.core_hours import CORE_HOURS
from analysis.topics.data_servers import DATA_SERVER_TABLES
from analysis.topics.money.market import Market
from analysis.topics.network.tables import NETWORK_TABLES
from analysis.topics.parts_of_time.solver_work import SOLVER_WORK
from analysis.topics.parts_of_time.tables import PART_TABLES
from analysis.topics.prices.books import BOOK, read_book
from analysis.topics.quality.topic import TOPIC as QUALITY
from analysis.topics.run_cost.tables import RUN_COST_TABLES
from analysis.topics.simulated.tables import SIMULATED_TABLES
from analysis.topics.topic import Request
from analysis.topics.traffic.tables import TRAFFIC_TABLES
from analysis.topics.validation import VALIDATION

RULE = Rule("half", "half", "efficiency", (Limit(0.5),), "a test")
MODELS, TURNAROUND = {"models", "model_curves"}, {"packing", "advice"}


@pytest.fixture
def market(tmp_path):
    book, prices = tmp_path / "book.csv", {"slow": 100, "swift": 900}
    lines = [f"{name},EUR,2026,2,64,node,{price},,,,a test," for name, price in prices.items()]
    book.write_text("\n".join([",".join(BOOK.columns), *lines]) + "\n")
    offers = {name: (read_book(book), name) for name in prices}
    watts = {"node_idle_watts": 100, "node_loaded_watts": 300}
    lifetime = Lifetime.of(watts | {"years": {"range": [4, 6]}, "utilisation": 1, "maintenance_per_node": 50})
    return Market(NodePrice(1000, "EUR", 2026, cores=1), offers, Mix({"duct": 1}, (9000,)), lifetime)


def names(runs, request):
    return set(make_all_tables(runs, request))


def test_a_whole_study_has_every_table(runs, settings, market):
    tables = make_all_tables(runs, Request(settings, rule=RULE, market=market))
    # Of two sites, of runs that tell the parts of their time, of benchmarks of a network, of replayed traces, on
    # several nodes of a cluster.
    of_other_runs = {*CHANGES, *PART_TABLES, *NETWORK_TABLES, *CONGESTION_TABLES, *TRAFFIC_TABLES}
    of_other_runs |= {
        *SIMULATED_TABLES,
        *node_loss.SCHEMAS,
        *VALIDATION,
        *CENSORED,
        *ADJUSTED,
        *nodes.SCHEMAS,
        *CORE_HOURS,
        *SOLVER_WORK,
        "network_transports",
        "improvement_mean",
        *RUN_COST_TABLES,
        "hybrid",
        *DATA_SERVER_TABLES,
    }
    assert list(tables) == [name for name in TABLE_SCHEMAS if name not in of_other_runs]
    for name, table in tables.items():
        assert list(table) == list(TABLE_SCHEMAS[name].columns)


def test_tables_that_do_not_apply_are_absent(runs, settings):
    names_of_tables = names(runs, Request(settings))
    assert names_of_tables == {*REQUIRED, "fastest", *MODELS, *QUALITY.schemas, "precision", *TURNAROUND}
    weak = names(runs, Request(Settings(draws=100, scaling="weak")))
    assert not weak & TURNAROUND and weak > MODELS
    alone = runs[runs["interconnect"] != "swift"]
    assert "precision" not in names(alone, Request(settings))


def test_money_is_there_even_if_nothing_is_compared_or_a_case_of_the_mix_has_no_valid_run(runs, market):
    settings = Settings(draws=100)
    alone = make_all_tables(runs[runs["interconnect"] != "swift"], Request(settings, market=market))
    assert (
        {"cost", "value", "break_even"} < set(alone) and alone["break_even"].empty and len(alone["purchase"])
    )
    elsewhere = Market(market.node, market.offers, Mix({"duct": 1, "boiler": 1}, (9000,)))
    assert "purchase" not in names(runs, Request(settings, market=elsewhere))


def test_all_tables_stand_on_the_same_draws(runs, settings):
    tables = make_all_tables(runs, Request(settings, RULE), facts=Facts(study_keys={"queue": {"jobs": 1}}))
    for name, table in make_tables(runs, settings).items():
        pd.testing.assert_frame_equal(tables[name], table)
    keys = ["interconnect", "oversubscription", "processes"]
    scaling = tables["scaling"].set_index(keys)
    proposal = tables["proposal"].rename(columns={"ranks": "processes"}).set_index(keys)
    for column in ("speedup_low", "speedup_high", "efficiency_low", "efficiency_high"):
        pd.testing.assert_series_equal(proposal[column], scaling[column])
    packing = tables["packing"].set_index(keys)
    days = 86_400 * packing["jobs_at_once"] / packing["jobs_per_day"]
    assert days.to_dict() == pytest.approx(scaling["seconds"].to_dict())


@pytest.mark.parametrize("valid", [False, True])
def test_without_an_estimate_there_are_the_repetitions_and_empty_tables(valid, market):
    runs = unplaced(rows("duct", None, {1: 12}, valid=valid), rows("duct", "a", {2: 6}, valid=False))
    tables = make_all_tables(runs, Request(Settings(draws=100), rule=RULE, market=market))
    assert set(REQUIRED) < set(tables) <= {*REQUIRED, *QUALITY.schemas, "prices"}
    assert all(tables[name].empty for name in REQUIRED) and len(tables["repetitions"]) == 12


def test_tables_are_read_as_they_were_written(runs, settings, market, tmp_path):
    made = make_all_tables(runs, Request(settings, rule=RULE, market=market))
    write_tables(made, tmp_path / "tables")
    read = read_tables(tmp_path / "tables")
    assert list(read) == list(made)
    for name, table in made.items():
        pd.testing.assert_frame_equal(read[name], table, check_exact=True)


def test_the_target_of_the_precision_comes_from_the_settings(runs):
    precision = make_all_tables(runs, Request(Settings(draws=100, target_percent=3)))["precision"]
    assert precision["target_percent"].unique().tolist() == [3]
