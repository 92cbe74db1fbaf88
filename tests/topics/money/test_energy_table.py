"""Energy of runs by hand: counted, or by a model of the study's node."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given as given_values
from hypothesis import strategies as st
from small_runs import FACTORS, rows, runs_table
from test_lifetime import EXACT, GIVEN, NODE, made  # noqa: F401

from analysis.pipeline import make_all_tables
from analysis.runs.frames import is_missing
from analysis.runs.settings import Settings
from analysis.topics.energy import speedup_per_extra_joule
from analysis.topics.topic import Request


def counted(watts, *groups, source="RAPL: package-0"):
    """Rows whose energy was counted: so many watts while they ran."""
    return [
        {**row, "energy_joules": watts * row["seconds"], "energy_source": source}
        for group in groups
        for row in group
    ]


def energy(runs, scaling="strong"):
    return make_all_tables(runs, Request(Settings(draws=200, scaling=scaling)))["energy"]


def row(table, interconnect, processes):
    [match] = table[(table["interconnect"] == interconnect) & (table["processes"] == processes)].to_dict(
        "records"
    )
    return match


def test_energy_to_solution_by_hand():
    serial = counted(100, rows("duct", None, {1: 12.0}, EXACT))  # 1200 J
    two = counted(150, rows("duct", "gigabit", {2: 8.0}, EXACT))  # 1200 J
    four = counted(450, rows("duct", "gigabit", {4: 4.0}, EXACT))  # 1800 J
    table = energy(runs_table(serial, two, four))
    last = row(table, "gigabit", 4)
    assert (last["basis"], last["source"], last["n"]) == ("counted", "RAPL: package-0", 5)
    assert (last["energy_joules"], last["reference_joules"]) == (1800, 1200)
    assert last["greenup"] == pytest.approx(2 / 3) and last["energy_delay_joule_seconds"] == 7200
    assert last["speedup_per_extra_joule"] == pytest.approx(2 / 600)  # three times as fast for 600 J more
    assert last["speedup_per_extra_joule_low"] == pytest.approx(2 / 600)  # equal blocks
    free = row(table, "gigabit", 2)
    assert free["greenup"] == 1 and is_missing(free["speedup_per_extra_joule"])
    assert free["note"] == "faster without a joule more"
    first = row(table, "gigabit", 1)
    assert first["serial"] and is_missing(first["speedup_per_extra_joule"]) and is_missing(first["note"])


def test_energy_and_time_are_drawn_together():
    """Power is the same in each run, so energy has the time's interval, and greenup the speedup's."""
    serial = counted(100, rows("duct", None, {1: 12.0}))
    four = counted(300, rows("duct", "gigabit", {4: 4.0}, FACTORS[::-1]))
    tables = make_all_tables(runs_table(serial, four), Request(Settings(draws=500)))
    line, scaling = row(tables["energy"], "gigabit", 4), row(tables["scaling"], "gigabit", 4)
    for end in ("", "_low", "_high"):
        assert line[f"energy_joules{end}"] == pytest.approx(300 * scaling[f"seconds{end}"])
        assert line[f"greenup{end}"] == pytest.approx(scaling[f"speedup{end}"] / 3)
        assert line[f"speedup{end}"] == pytest.approx(scaling[f"speedup{end}"])
    assert line["coverage"] == scaling["coverage"]
    # Energy and delay rise together: the product's ends are those of the squared time
    low, high = (line[f"energy_delay_joule_seconds_{end}"] for end in ("low", "high"))
    factors = sorted(np.sqrt(end / 4800) for end in (low, high))
    assert set(np.round(factors, 3)) <= {0.9, 0.925, 0.95, 0.975, 1.0, 1.025, 1.05, 1.075, 1.1}


def test_energy_of_dependent_sweeps_is_drawn_as_their_times_are():
    """Of times that drift fewer sweeps are drawn, and of the same energies as many as of the times."""
    drifting = tuple(np.linspace(0.8, 1.2, 20))
    level = [
        {**run, "energy_joules": 600.0 + number}
        for number, run in enumerate(rows("a", "x", {2: 6.0}, drifting))
    ]
    serial = counted(100, rows("a", None, {1: 12.0}, drifting))
    steady = make_all_tables(runs_table(serial, level), Request(Settings(draws=500)))["energy"]
    line = row(steady, "x", 2)
    independent = [{**run, "seconds": 6.0 + number % 2 / 10} for number, run in enumerate(level)]
    even = [{**run, "seconds": 12.0 + number % 2 / 10} for number, run in enumerate(serial)]
    other = row(energy(runs_table(even, independent)), "x", 2)
    assert line["energy_joules"] == other["energy_joules"] == 609.5

    def width(line):
        return line["greenup_high"] / line["greenup_low"]

    assert width(line) > 1.05 * width(other)


def test_in_weak_scaling_greenup_is_of_equal_work():
    first = counted(100, rows("duct", "gigabit", {1: 10.0}, EXACT))
    twice = counted(220, rows("duct", "gigabit", {2: 10.0}, EXACT))
    line = row(energy(runs_table(first, twice), "weak"), "gigabit", 2)
    assert line["greenup"] == pytest.approx(2 * 1000 / 2200)
    assert is_missing(line["speedup_per_extra_joule"])


def test_runs_without_energy_and_invalid_ones_are_no_zeroes():
    serial = counted(100, rows("duct", None, {1: 12.0}, EXACT))
    none = [{**run, "energy_joules": None} for run in rows("duct", "gigabit", {2: 8.0}, EXACT)]
    bad = [{**run, "valid": False} for run in counted(9, rows("duct", "gigabit", {4: 8.0}, EXACT))]
    good = counted(300, rows("duct", "gigabit", {8: 4.0}, EXACT), source=None)
    table = energy(runs_table(serial, none, bad, good))
    assert list(table["processes"]) == [1, 8] and set(table["source"]) == {"RAPL: package-0; imported"}


def test_a_model_by_hand(made):  # noqa: F811
    tables = made(GIVEN)
    line = row(tables["energy"], "infiniband", 4)  # 4 nodes of two cores, one of each computes; 4 s
    watts = 4 * (100 + 200 / 2 + 60)
    assert (line["basis"], line["energy_joules"]) == ("model", pytest.approx(watts * 4))
    assert is_missing(line["n"]) and is_missing(line["coverage"])
    assert line["reference_joules"] == pytest.approx(200 * 12)  # alone a node has no port
    assert line["greenup"] == pytest.approx(2400 / (watts * 4))
    assert line["speedup_per_extra_joule"] == pytest.approx(2 / (watts * 4 - 2400))


def test_the_ranges_of_a_model_are_carried_through(made):  # noqa: F811
    loaded = {"node_idle_watts": 200, "node_loaded_watts": {"value": 300, "range": [250, 400]}}
    given = {name: value for name, value in GIVEN.items() if name != "ports"}
    line = row(made(given | loaded)["energy"], "gigabit", 4)  # 6 s on 4 nodes
    assert line["energy_joules"] == pytest.approx(4 * 250 * 6)
    assert line["energy_joules_low"] == pytest.approx(4 * 225 * 6)
    assert line["energy_joules_high"] == pytest.approx(4 * 300 * 6)
    assert line["greenup_low"] == line["greenup_high"] == pytest.approx(12 / (4 * 6))  # the same node in both
    assert line["note"] == "without the ports of gigabit"


def test_one_sample_has_the_ranges_of_a_model(made):  # noqa: F811
    single = runs_table(rows("duct", None, {1: 12.0}, (1,), nodes=1), rows("duct", "gigabit", {2: 8.0}, (1,)))
    ranged = GIVEN | {"node_loaded_watts": {"range": [200, 400]}}
    line = row(made(ranged, runs=single)["energy"], "gigabit", 2)
    assert line["energy_joules"] == pytest.approx(2 * (200 + 30) * 8)
    assert line["energy_joules_low"] == pytest.approx(2 * (150 + 30) * 8)


def test_each_point_of_a_model_has_the_interval_that_its_own_blocks_allow(made):  # noqa: F811
    """Six blocks join their times with the watts; one has these alone, and no interval of its speedup."""
    runs = runs_table(
        rows("duct", None, {1: 12.0}, nodes=1),
        rows("duct", "gigabit", {2: 8.0}),
        rows("duct", "gigabit", {4: 6.0}, (1,)),
    )
    given = {name: value for name, value in GIVEN.items() if name != "ports"}
    table = made(given | {"node_loaded_watts": {"value": 300, "range": [250, 400]}}, runs=runs)["energy"]
    drawn, alone = row(table, "gigabit", 2), row(table, "gigabit", 4)
    assert drawn["energy_joules"] == pytest.approx(2 * 200 * 8)
    assert (
        drawn["energy_joules_low"] < 0.96 * 2 * 175 * 8 and drawn["energy_joules_high"] > 1.04 * 2 * 250 * 8
    )
    assert (alone["energy_joules_low"], alone["energy_joules_high"]) == (4 * 175 * 6, 4 * 250 * 6)
    bought = [1 / (4 * watts * 6 - watts * 12) for watts in (250, 200, 175)]
    columns = [f"speedup_per_extra_joule{end}" for end in ("_low", "", "_high")]
    assert [alone[name] for name in columns] == pytest.approx(bought)
    assert all(
        is_missing(alone[name]) for name in ("speedup_low", "speedup_high", "greenup_low", "greenup_high")
    )


def test_counted_and_modelled_energy_share_no_curve(made):  # noqa: F811
    runs = runs_table(
        counted(100, rows("duct", None, {1: 12.0}, EXACT, nodes=1)),
        counted(400, rows("duct", "gigabit", {2: 8.0}, EXACT)),
        rows("duct", "gigabit", {4: 6.0}, EXACT),
        rows("duct", "infiniband", {2: 6.0}, EXACT),
    )
    table = made(GIVEN, runs=runs)["energy"]
    assert list(table[["interconnect", "processes", "basis"]].itertuples(index=False, name=None)) == [
        ("gigabit", 1, "counted"),
        ("gigabit", 2, "counted"),
        ("infiniband", 1, "model"),
        ("infiniband", 2, "model"),
    ]


@given_values(st.floats(0.1, 50), st.floats(1, 1e6), st.floats(1, 1e6))
def test_speedup_per_extra_joule(speedup, joules, reference):
    value = float(speedup_per_extra_joule(speedup, joules, reference))
    if joules > reference:
        assert value == pytest.approx((speedup - 1) / (joules - reference))
    else:
        assert value == float("inf") if speedup > 1 else pd.isna(value)
