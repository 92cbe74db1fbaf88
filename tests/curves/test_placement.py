"""The same processes packed on few nodes or spread over many: curves, gains and their test."""

import numpy as np
import pytest
import small_runs
from made_tables import make_tables

from analysis.runs.settings import Settings

SETTINGS = Settings(draws=1_000)
PACKED = [4.0, 4.2, 4.1, 4.0, 4.4, 4.3, 4.1]
"""Two processes on one node, by block; spread they take a quarter longer."""


def rows(interconnect, processes, nodes, seconds):
    kind = "emulated" if interconnect else "measured"
    return small_runs.rows("duct", interconnect, {processes: 1.0}, seconds, kind, nodes=nodes)


def tables_of(*parts):
    return make_tables(small_runs.unplaced(*parts), SETTINGS)


SERIAL = rows(None, 1, 1, [8.0] * 7)
BOTH = [rows("gigabit", 2, 1, PACKED), rows("gigabit", 2, 2, [1.25 * time for time in PACKED])]


def test_spread_against_packed_by_hand():
    """Every block gives 1/1.25 - 1 = -20 %, so the interval is that point; 7 pairs: p = 2/2^7."""
    row = tables_of(SERIAL, *BOTH)["placement"].iloc[0]
    assert (row["interconnect"], row["kind"], row["processes"], row["cores"]) == ("gigabit", "emulated", 2, 2)
    assert (row["processes_per_node_of_baseline"], row["processes_per_node"]) == (2, 1)
    assert (row["nodes_of_baseline"], row["nodes"]) == (1, 2)
    assert (row["seconds_of_baseline"], row["seconds"]) == (4.1, pytest.approx(5.125))
    assert row[["gain_percent", "gain_low", "gain_high"]].tolist() == pytest.approx([-20, -20, -20])
    assert row["paired"] and row["blocks"] == 7
    assert row["p_value"] == row["p_adjusted"] == pytest.approx(2 / 2**7)
    assert row["distinguishable"]


def test_each_placement_has_a_curve_of_its_own_and_the_serial_run():
    scaling = tables_of(SERIAL, *BOTH)["scaling"]
    curves = {key: list(rows["processes"]) for key, rows in scaling.groupby("processes_per_node")}
    assert curves == {1.0: [1, 2], 2.0: [1, 2]}


def test_interconnects_are_compared_at_equal_placement_only():
    other = [rows("swift", 2, 1, PACKED), rows("swift", 2, 2, [1.1 * time for time in PACKED])]
    improvement = tables_of(SERIAL, *BOTH, *other)["improvement"]
    gains = improvement.set_index("processes_per_node")[["improvement_percent", "note"]]
    assert gains.loc[1.0, "improvement_percent"] == pytest.approx(100 * (1.25 / 1.1 - 1))
    assert gains.loc[2.0].isna().tolist() == [
        True,
        False,
    ]  # packed on one node, nothing is sent between nodes


def test_the_most_packed_is_the_baseline_of_all():
    times = {1: PACKED, 2: [1.25 * time for time in PACKED], 4: [2 * time for time in PACKED]}
    placement = tables_of(SERIAL, *(rows("gigabit", 4, nodes, times[nodes]) for nodes in times))["placement"]
    assert placement["processes_per_node_of_baseline"].tolist() == [4, 4]
    assert placement["processes_per_node"].tolist() == [2, 1]
    assert placement["gain_percent"].tolist() == pytest.approx([-20, -50])


def test_blocks_that_are_not_shared_are_not_paired():
    spread = [row | {"block": row["block"] + 100} for row in BOTH[1]]
    row = tables_of(SERIAL, BOTH[0], spread)["placement"].iloc[0]
    assert not row["paired"]
    assert row["p_value"] == pytest.approx(2 / 3432)  # 7 of 14 below all others: 2 of C(14, 7) patterns


def test_one_placement_gives_no_row():
    tables = tables_of(SERIAL, BOTH[0])
    assert tables["placement"].empty
    assert tables["scaling"]["processes_per_node"].isna().all()


def test_noise_that_a_block_shares_cancels():
    rng = np.random.default_rng(1)
    shared = np.exp(0.3 * rng.standard_normal(20))
    packed, spread = (4 * factor * shared * np.exp(0.002 * rng.standard_normal(20)) for factor in (1, 1.25))
    row = tables_of(SERIAL, rows("gigabit", 2, 1, packed), rows("gigabit", 2, 2, spread))["placement"].iloc[0]
    assert row["gain_low"] < -20 < row["gain_high"]
    assert row["gain_high"] - row["gain_low"] < 12
