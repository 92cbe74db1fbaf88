"""Simultaneous intervals: the exact ones at 1 - alpha / m."""

import numpy as np
import pandas as pd
import pytest
from made_tables import make_tables
from small_runs import rows, runs_table, unplaced

from analysis.curves.outcomes import corrected
from analysis.curves.point_comparison import Contrast, simultaneous
from analysis.curves.points import Sample
from analysis.runs.settings import Settings
from analysis.statistics.distributions import last_rank, signed_ranks
from analysis.statistics.shift import Shift, paired_shift, unpaired_shift

MIXED = np.array([5, 10, 1, 8, 3, 9, 2, 6, 4, 7])
ENDS = ["simultaneous_low", "simultaneous_high"]


def table_of(samples, candidates=1, factors=()):
    """A corrected table of comparisons of two samples of log times each, with their simultaneous intervals."""
    lines = []
    for first, second, paired in samples:
        shift = (
            Shift(*(row[0] for row in paired_shift((first - second)[None], 0.05)))
            if paired
            else unpaired_shift(first, second, 0.05)
        )
        first_and_second = (Sample(np.arange(len(logs)), np.exp(logs)) for logs in (first, second))
        p_value = min(candidates * shift.p_value, 1)
        lines.append(
            {
                "improvement_percent": 100 * np.expm1(shift.estimate),
                "improvement_low": 100 * np.expm1(shift.low),
                "improvement_high": 100 * np.expm1(shift.high),
                "p_value": p_value,
                "least_p": min(candidates * shift.least_p, 1),
                "tested": Contrast((*first_and_second, paired), candidates),
                "coverage": shift.coverage,
                "blocks": len(first),
                "kind": "measured",
                "paired": paired,
            }
        )
    table = corrected(pd.DataFrame(lines), factors)
    return table.assign(**simultaneous(table, factors))


def test_two_comparisons_have_the_ends_of_1_minus_a_40th():
    """Ten log ratios of 0.01 to 0.10: at 2.5 % the 9th smallest of the 55 means of two and the 9th largest."""
    assert last_rank(signed_ranks(10), 0.05) == 9 and last_rank(signed_ranks(10), 0.025) == 6
    ratios = MIXED / 100
    table = table_of([(ratios, np.zeros(10), True)] * 2)
    means = np.sort((ratios[:, None] + ratios)[np.triu_indices(10)] / 2)
    assert table["improvement_low"].iloc[0] == pytest.approx(100 * np.expm1(means[8]))
    assert table["simultaneous_low"].tolist() == pytest.approx([100 * np.expm1(means[5])] * 2)
    assert table["simultaneous_high"].tolist() == pytest.approx([100 * np.expm1(means[-6])] * 2)


def test_a_later_look_at_a_case_has_a_stricter_level():
    """Eight blocks attain p = 2/256. With two tests, 4 × 2/256 = 0.031 is too large for the first rejection.

    The other row with its 10 blocks is rejected first: 2 × 2/1024 = 0.0039. Then 0.031 suffices.
    """
    eight = np.arange(1, 9)[[4, 7, 0, 6, 2, 5, 1, 3]] / 100
    at_first_look = table_of([(eight, np.zeros(8), True)] * 2)
    assert at_first_look["p_adjusted"].tolist() == [2 * 2 / 256] * 2
    at_second_look = table_of([(eight, np.zeros(8), True)] * 2, factors=[4, 4])
    assert at_second_look["p_adjusted"].tolist() == [2 * 4 * 2 / 256] * 2
    assert at_second_look["verdict"].tolist() == ["untestable with 8 blocks"] * 2
    assert at_second_look["blocks_needed"].tolist() == [9, 9] and at_second_look[ENDS].isna().all(axis=None)
    mixed = table_of([(MIXED / 100, np.zeros(10), True), (eight, np.zeros(8), True)], factors=[1, 4])
    assert mixed["p_adjusted"].tolist() == [2 * 2 / 1024, 4 * 2 / 256]
    assert mixed["verdict"].tolist() == ["faster", "faster"] and mixed["blocks_needed"].tolist() == [7, 9]


def test_unattainable_levels_give_empty_intervals():
    """Six blocks attain 1 - 2/64: enough for one test, not for two."""
    ratios = MIXED[MIXED <= 6] / 100
    assert table_of([(ratios, np.zeros(6), True)])[ENDS].notna().all(axis=None)
    assert table_of([(ratios, np.zeros(6), True)] * 2)[ENDS].isna().all(axis=None)


@pytest.mark.parametrize("seed", range(20))
def test_an_interval_without_0_belongs_to_a_rejected_test(seed):
    rng = np.random.default_rng(seed)
    samples = [
        (rng.normal(shift, 0.05, blocks), rng.normal(0, 0.05, blocks), bool(rng.integers(2)))
        for shift, blocks in zip(rng.uniform(-0.2, 0.2, 6), rng.integers(6, 16, 6), strict=True)
    ]
    table = table_of(samples, candidates=int(rng.integers(1, 4)))
    bounded = table[ENDS].notna().all(axis=1)
    outside = (table["simultaneous_low"] > 0) | (table["simultaneous_high"] < 0)
    assert bounded.any()
    assert table.loc[outside & bounded, "distinguishable"].all()
    assert (table.loc[bounded, "simultaneous_low"] <= table.loc[bounded, "improvement_low"]).all()
    assert (table.loc[bounded, "simultaneous_high"] >= table.loc[bounded, "improvement_high"]).all()


def test_an_interval_at_a_given_count_yields_to_the_test_that_chose_the_count():
    table = table_of([(MIXED / 100, np.zeros(10), True)])
    doubted = table.assign(p_adjusted=0.06)
    assert simultaneous(doubted)["simultaneous_low"] == [0]


def test_the_tables_have_them():
    groups = [rows("duct", name, {2: 9.0 * at, 4: 5.0 * at}, (1, 1.01, 0.99, 1.02, 0.98, 1.03, 1, 1))
              for name, at in (("a", 1), ("b", 0.5), ("c", 0.8))]  # fmt: skip
    table = make_tables(runs_table(*groups), Settings(draws=100, baselines=("a",)))["improvement"]
    assert table["p_adjusted"].notna().sum() == 2 and table[ENDS].notna().all(axis=None)
    apart = [row | {"site": site} for group in groups for row in group for site in ("here", "there")]
    both = make_tables(unplaced(apart), Settings(draws=100, baselines=("a",)))["improvement"]
    assert len(both) == 4 and both["site"].notna().all() and both["p_adjusted"].min() == 4 * 2 / 2**8
    assert both[ENDS].notna().all(axis=None)
