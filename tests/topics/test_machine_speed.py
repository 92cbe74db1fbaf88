"""Effect of the machine's speed: by hand, and on noise that the fixed work sees or does not see."""

import numpy as np
import pandas as pd
import pytest

from analysis.pipeline import make_all_tables
from analysis.runs.runs import complete_runs
from analysis.runs.settings import Settings
from analysis.statistics.shift import paired_shift
from analysis.topics.adjusted import EXPLAINS, Ratios, adjusted_times, make_adjusted, speed_effect
from analysis.topics.topic import Request

BY_HAND = Ratios(np.array([3, 4, 7]), np.array([0.1, 0.2, 0.6]), np.array([0.0, 0.1, 0.2]))


def test_the_slope_its_test_and_the_slopes_without_a_block():
    # Deviations of the times -0.2, -0.1, 0.3, of the fixed work -0.1, 0, 0.1: products 0.05, squares 0.02.
    effect = speed_effect([BY_HAND])
    assert effect.slope == pytest.approx(2.5)
    assert effect.p_value == pytest.approx(1 / 6)  # no other order of three blocks has products of 0.05
    assert effect.explained == pytest.approx(0.05**2 / 0.02 / 0.14)
    assert effect.without == {3: pytest.approx(4), 4: pytest.approx(2.5), 7: pytest.approx(1)}


def test_every_block_is_adjusted_by_the_others_and_spread_by_the_error_of_the_slope():
    steady = np.array([0.1 - 4 * 0.0, 0.2 - 2.5 * 0.1, 0.6 - 1 * 0.2])  # their median is 0.1
    wider = np.sqrt(1 + 3 * 0.1**2 / 0.02)
    assert adjusted_times(BY_HAND, speed_effect([BY_HAND])) == pytest.approx(0.1 + (steady - 0.1) * wider)


def test_several_pairs_have_one_slope_each_about_its_own_mean():
    other = Ratios(BY_HAND.blocks[:2], np.array([5.0, 5.1]), np.array([0.3, 0.1]))
    # Products 0.05 - 0.01, squares 0.02 + 0.02. Without block 3 the second has one block, and no part in it.
    effect = speed_effect([BY_HAND, other])
    assert effect.slope == pytest.approx(0.04 / 0.04)
    assert effect.without[3] == pytest.approx(4)


def test_where_nothing_varies_there_is_no_effect():
    assert speed_effect([BY_HAND._replace(speeds=np.zeros(3))]) is None
    assert speed_effect([BY_HAND._replace(times=np.full(3, 0.2))]) is None


def drawn(rng, blocks, seen):
    """Ratios of two interconnects that are alike, under 15 % of noise, of which the fixed work sees a share."""
    noise, fixed, rest = rng.normal(0, 0.15, (3, blocks))
    times = np.sqrt(seen) * noise + np.sqrt(1 - seen) * rest
    return Ratios(np.arange(blocks), times, noise if seen else fixed)


def studies(blocks, seen, number=400):
    rng = np.random.default_rng([blocks, int(100 * seen)])
    for _ in range(number):
        ratios = drawn(rng, blocks, seen)
        yield ratios, speed_effect([ratios])


@pytest.mark.parametrize("blocks", [6, 10, 30])
def test_noise_that_it_does_not_see_is_taken_for_seen_in_a_twentieth(blocks):
    wrong = [effect.p_value <= EXPLAINS for _, effect in studies(blocks, 0)]
    assert np.mean(wrong) < 0.05 + 2.5 * np.sqrt(0.05 * 0.95 / 400)


@pytest.mark.parametrize("blocks", [6, 10, 30])
def test_adjusted_intervals_hold_the_truth_and_are_narrower(blocks):
    covered, widths = [], []
    for ratios, effect in studies(blocks, 0.8):
        if effect.p_value <= EXPLAINS:
            plain = paired_shift(ratios.times[None], 0.05)
            shift = paired_shift(adjusted_times(ratios, effect)[None], 0.05)
            covered.append(shift.low[0] <= 0 <= shift.high[0])
            widths.append((shift.high[0] - shift.low[0]) / (plain.high[0] - plain.low[0]))
    assert len(covered) > 250  # the test finds it
    assert np.mean(covered) > 0.93
    assert np.median(widths) < 0.6


def runs(blocks=10, effect=1.0, **changes):
    """Two interconnects, 1.2 apart, on a machine whose speed varies by 15 % from run to run."""
    rng = np.random.default_rng(5)
    rows = [
        {
            "case": "duct",
            "interconnect": name,
            "kind": "measured",
            "processes": processes,
            "block": block,
            "seconds": seconds / processes * np.exp(effect * speed + rest),
            "speed_probe_seconds": 0.1 * np.exp(speed),
        }
        for block in range(1, blocks + 1)
        for name, seconds in (("slow", 12.0), ("fast", 10.0))
        for processes in (2, 4)
        for speed, rest in [rng.normal(0, (0.15, 0.02))]
    ]
    return complete_runs(pd.DataFrame([row | changes for row in rows]))


def adjusted(table):
    request = Request(Settings(draws=200, baselines=("slow",)))
    return make_all_tables(table, request).get("adjusted")


def test_a_study_gets_the_adjusted_and_the_plain_comparison():
    (row,) = adjusted(runs()).to_dict("records")
    assert row["at_processes"] == 4 and row["blocks"] == 10
    assert row["slope"] == pytest.approx(1, abs=0.15) and row["probe_p_value"] < 0.001
    assert row["improvement_low"] <= row["adjusted_percent"] <= row["improvement_high"]
    assert row["adjusted_low"] < 20 < row["adjusted_high"]
    assert row["narrower_percent"] > 60


def test_unexplained_variation_is_not_adjusted():
    (row,) = adjusted(runs(effect=0)).to_dict("records")
    assert np.isnan(row["adjusted_percent"]) and row["note"] == "the speed does not explain the times"


def test_too_few_blocks_or_no_fixed_work_give_no_table():
    assert adjusted(runs(blocks=4)) is None
    assert adjusted(runs(speed_probe_seconds=None)) is None
    assert adjusted(runs().drop(columns="speed_probe_seconds")) is None


def test_a_block_without_it_leaves_the_comparison_as_it_is():
    table = runs()
    table.loc[0, "speed_probe_seconds"] = np.nan  # of slow on 2 processes
    assert adjusted(table).loc[0, "adjusted_percent"] > 0
    table.loc[1, "speed_probe_seconds"] = np.nan  # on 4, where they are compared
    assert (
        adjusted(table).loc[0, "note"] == "the speed is missing in some block, or the blocks are fewer than 5"
    )


def test_an_adjustment_that_leaves_the_interval_is_not_given():
    improvement = make_all_tables(runs(), Request(Settings(draws=200, baselines=("slow",))))["improvement"]
    elsewhere = improvement.assign(improvement_low=90.0, improvement_percent=95.0, improvement_high=99.0)
    (row,) = make_adjusted(runs(), elsewhere)["adjusted"].to_dict("records")
    assert np.isnan(row["adjusted_percent"]) and row["note"].startswith("not given: it would move")


def test_fixed_work_that_differs_between_the_two_is_not_used():
    table = runs()
    slow = table["interconnect"] == "slow"
    table.loc[slow, "speed_probe_seconds"] *= 3
    assert adjusted(table).loc[0, "note"] == "the fixed work itself differs between the two interconnects"
