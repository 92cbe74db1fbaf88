"""Sites are estimated separately, and two sites are compared point by point."""

import numpy as np
import pandas as pd
import pytest
from made_tables import make_tables
from refused import refusal
from small_runs import rows
from small_runs import unplaced as table

from analysis.curves.sites import with_distinct_interconnects
from analysis.presentation.labels import Labels
from analysis.runs.facts import Facts
from analysis.runs.runs import TableError
from analysis.runs.settings import Settings
from analysis.topics.changes.tables import make_changes

SETTINGS = Settings(draws=500, compare_sites=(("before", "after"),))


def at(site, listed):
    return [row | {"site": site} for row in listed]


@pytest.fixture
def runs():
    """The later site is twice as fast over the slow interconnect and has no run on 8 processes."""
    serial = rows("duct", None, {1: 12.0})
    before = serial + rows("duct", "slow", {2: 8.0, 4: 6.0, 8: 8.0}) + rows("duct", "swift", {2: 6.0})
    after = serial + rows("duct", "slow", {2: 4.0, 4: 3.0}) + rows("duct", "swift", {2: 6.0})
    return table(at("before", before), at("after", after))


def test_changes_by_hand(runs):
    changes = make_changes(runs, SETTINGS)["changes"].set_index(["interconnect", "processes"])
    twice = changes.loc[("slow", 4)]
    assert (twice["seconds_before"], twice["seconds_after"]) == (6.0, 3.0)
    assert twice["change_percent"] == pytest.approx(100)
    assert twice["change_low"] < 100 < twice["change_high"]
    # Six blocks a side that do not overlap: 2 of the 924 ways to divide them, and four tests in all.
    assert twice["p_value"] == pytest.approx(2 / 924)
    assert twice["p_adjusted"] == pytest.approx(4 * 2 / 924)
    assert twice["verdict"] == "faster"
    assert changes.loc[("swift", 2), "change_percent"] == 0
    assert changes.loc[("swift", 2), "verdict"] == "not distinguishable"


def test_points_of_one_site_alone_are_listed(runs):
    changes = make_changes(runs, SETTINGS)["changes"]
    alone = changes[changes["change_percent"].isna()]
    lines = alone[["interconnect", "processes", "verdict"]].to_numpy().tolist()
    assert lines == [["slow", 8, "only in before"]]
    assert alone["seconds_before"].item() == 8 and alone["seconds_after"].isna().all()


def test_the_summary_is_the_geometric_mean_over_points(runs):
    summary = make_changes(runs, SETTINGS)["changes_summary"]
    assert summary["case"].tolist() == ["duct"]
    # Twice as fast at two of four points: the serial run and the swift interconnect did not change.
    assert summary["change_percent"].item() == pytest.approx(100 * (2 ** (2 / 4) - 1))
    assert (summary["points"].item(), summary["faster"].item()) == (4, 2)
    assert summary["change_low"].item() < summary["change_percent"].item() < summary["change_high"].item()


def test_swapped_sites_give_the_inverse_change(runs):
    forth = make_changes(runs, SETTINGS)["changes"].dropna(subset="change_percent")
    back = make_changes(runs, Settings(draws=500, compare_sites=(("after", "before"),)))["changes"]
    back = back.dropna(subset="change_percent")
    product = (1 + forth["change_percent"].to_numpy() / 100) * (1 + back["change_percent"].to_numpy() / 100)
    assert product == pytest.approx(1)
    assert back["p_value"].to_numpy() == pytest.approx(forth["p_value"].to_numpy())


def test_the_draws_of_two_sites_are_independent():
    """The interval of a ratio of equal sites has the width for two independent medians."""
    same = rows("duct", "slow", {2: 8.0})
    changes = make_changes(table(at("before", same), at("after", same)), SETTINGS)["changes"]
    assert changes["change_percent"].item() == 0
    assert changes["change_low"].item() < -2 and changes["change_high"].item() > 2


def test_one_sample_is_not_tested():
    single = rows("duct", "slow", {2: 8.0}, blocks=[1.0])
    changes = make_changes(table(at("before", single), at("after", single)), SETTINGS)["changes"]
    assert changes["verdict"].tolist() == ["equal (a single value, untested)"]
    assert changes[["change_low", "p_value", "p_adjusted"]].isna().all(axis=None)


def test_placement_counts_where_one_site_varies_it():
    spread = rows("duct", "slow", {4: 8.0}, nodes=4) + rows("duct", "slow", {4: 6.0}, nodes=2, cores=4)
    packed = rows("duct", "slow", {4: 3.0}, nodes=2)
    changes = make_changes(table(at("before", spread), at("after", packed)), SETTINGS)["changes"]
    by_placement = changes.set_index("processes_per_node")[["verdict", "change_percent"]]
    assert by_placement.loc[2.0, "change_percent"] == pytest.approx(100)
    assert by_placement.loc[1.0, "verdict"] == "only in before"


def test_a_site_that_is_not_there_is_reported(runs):
    settings = Settings(draws=500, compare_sites=(("before", "later"),))
    with pytest.raises(TableError, match=r"^compare_sites: 'later' is no site of the runs; there are after"):
        make_changes(runs, settings)


def test_sites_without_a_common_point_are_reported():
    runs = table(at("before", rows("duct", "slow", {2: 8.0})), at("after", rows("wing", "slow", {2: 8.0})))
    with pytest.raises(TableError, match="have no point in common"):
        make_changes(runs, SETTINGS)


def test_sites_of_different_kinds_are_reported():
    later = rows("duct", "slow", {2: 8.0}, kind="published")
    runs = table(at("before", rows("duct", "slow", {2: 8.0})), at("after", later))
    message = refusal(TableError, make_changes, runs, SETTINGS)
    assert message.endswith("no point in common: runs of 'before' are measured, those of 'after' published")


def test_without_a_pair_there_is_no_table(runs):
    assert make_changes(runs, Settings(draws=500)) == {}


def test_each_site_has_a_reference_of_its_own(runs):
    slower = runs.assign(seconds=runs["seconds"].where(runs["site"] == "before", runs["seconds"] * 10))
    scaling = make_tables(slower, Settings(draws=500))["scaling"]
    references = scaling.groupby("site")["reference_seconds"].unique().to_dict()
    assert {site: list(seconds) for site, seconds in references.items()} == {"before": [12], "after": [120]}


def test_a_site_gets_the_numbers_that_it_has_alone(runs):
    together = make_tables(runs, Settings(draws=500))
    for site in ("before", "after"):
        alone = make_tables(runs[runs["site"] == site].reset_index(drop=True), Settings(draws=500))
        for name in ("scaling", "peaks", "node_equivalent"):
            of_site = together[name][together[name]["site"] == site].reset_index(drop=True)
            pd.testing.assert_frame_equal(of_site, alone[name])


def test_tests_are_corrected_over_all_sites(runs):
    improvement = make_tables(runs, Settings(draws=500))["improvement"]
    assert improvement["site"].tolist() == ["after", "before"]
    assert (improvement["baseline_interconnect"] != improvement["interconnect"]).all()
    tested = improvement.dropna(subset="p_value")
    assert len(tested) == 2
    assert tested["p_adjusted"].to_numpy() == pytest.approx(np.minimum(2 * tested["p_value"], 1))


def test_a_fault_names_its_site():
    twice = rows("duct", None, {1: 12.0}, nodes=1) + rows("duct", "slow", {2: 6.0}, nodes=1)
    twice += rows("duct", None, {1: 12.0}, nodes=2)
    runs = table(at("here", rows("duct", "slow", {2: 6.0})), at("there", twice))
    with pytest.raises(TableError, match=r"^site 'there': case 'duct'.*two references"):
        make_tables(runs, Settings(draws=500))


def test_interconnects_of_two_sites_have_distinct_names(runs):
    tables = make_tables(runs, Settings(draws=500)) | make_changes(runs, SETTINGS)
    about = {"slow": {"title": "Slow one", "kind": "measured"}}
    sites = {name: {"file": name} for name in ("before", "after")}
    facts = Facts.of({"interconnects": about, "sites": sites})
    runs, tables, facts = with_distinct_interconnects(runs, tables, facts)
    assert list(facts.interconnects)[:4] == ["slow@before", "slow@after", "swift@before", "swift@after"]
    labels = Labels(facts)
    assert labels.interconnect("slow@after", "measured") == "Slow one (after)"
    assert set(tables["scaling"]["interconnect"]) == set(runs["interconnect"].dropna())
    assert set(tables["changes"]["interconnect"].dropna()) == {"slow", "swift"}


def test_a_study_of_one_site_stays_as_it_is():
    runs = table(rows("duct", "slow", {2: 6.0}))
    tables = make_tables(runs, Settings(draws=500))
    assert tables["scaling"]["site"].isna().all()
    same, unchanged, facts = with_distinct_interconnects(runs, tables, Facts())
    assert same is runs and unchanged == tables and facts == Facts()
