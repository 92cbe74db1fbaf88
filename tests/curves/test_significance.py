"""Exact distributions, tests with the intervals that follow from them, Holm's correction and verdicts."""

from itertools import combinations, product
from math import comb

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from made_tables import make_tables
from scipy import stats

from analysis.curves.outcomes import corrected
from analysis.runs.runs import complete_runs
from analysis.runs.settings import Settings
from analysis.statistics import distributions
from analysis.statistics.multiple_tests import blocks_needed, chosen_p, holm
from analysis.statistics.shift import paired_shift, plainly_asymmetric, unpaired_shift


def paired(ratios, alpha=0.05):
    """Shift of one row, its values as floats."""
    return paired_shift(np.array([ratios], float), alpha)._make(
        float(part[0]) for part in paired_shift(np.array([ratios], float), alpha)
    )


class TestDistributions:
    @pytest.mark.parametrize("blocks", [1, 2, 3, 6])
    def test_signed_ranks_are_all_counted(self, blocks):
        sums = [sum(np.arange(1, blocks + 1)[list(signs)]) for signs in product((False, True), repeat=blocks)]
        shares = np.cumsum(np.bincount(sums)) / 2**blocks
        assert distributions.signed_ranks(blocks) == pytest.approx(shares)

    @pytest.mark.parametrize(("first", "second"), [(2, 3), (3, 3), (1, 5), (4, 5)])
    def test_rank_sums_are_all_counted(self, first, second):
        above = [
            sum(ranks) - first * (first - 1) // 2 for ranks in combinations(range(first + second), first)
        ]
        shares = np.cumsum(np.bincount(above, minlength=first * second + 1)) / comb(first + second, first)
        either_side = np.minimum(2 * np.minimum(shares, shares[::-1]), 1)
        p_values = [distributions.rank_sum_p(first, second, pairs) for pairs in range(first * second + 1)]
        assert p_values == pytest.approx(either_side)

    def test_large_rank_sums_go_by_the_normal_distribution(self):
        first, second = np.arange(300.0), np.arange(300.0) + 20.5
        above = int((first[:, None] > second).sum())
        expected = stats.mannwhitneyu(first, second, method="asymptotic").pvalue
        assert distributions.rank_sum_p(300, 300, above) == pytest.approx(expected)


class TestPaired:
    def test_faster_in_eight_of_ten_is_faster(self):
        """The medians say 5 % slower, since both blocks of 10 s are in the middle."""
        fast = np.array([1, 2, 3, 4, 10, 10, 20, 30, 40, 50.0])
        slow = fast * np.where(fast == 10, 0.95, 1.2)
        assert np.median(slow) < np.median(fast)
        shift = paired(np.log(slow / fast))
        assert np.exp(shift.estimate) == pytest.approx(1.2)
        # of the 55 means of two, 3 are below 0: P(W <= 3) = 5 of 1,024, twice; the ninth is sqrt(1.2 x 0.95)
        assert shift.p_value == pytest.approx(10 / 1024)
        assert np.exp([shift.low, shift.high]) == pytest.approx([(1.2 * 0.95) ** 0.5, 1.2])

    @given(st.lists(st.integers(1, 10**6), min_size=3, max_size=15, unique=True), st.randoms())
    def test_p_values_equal_those_of_scipy(self, sizes, random):
        ratios = np.array([size * random.choice((-1, 1)) for size in sizes], float)
        if not plainly_asymmetric(ratios[None]).any():
            expected = stats.wilcoxon(ratios, method="exact").pvalue
            assert paired(ratios).p_value == pytest.approx(expected)

    @given(st.lists(st.floats(-1, 1), min_size=6, max_size=12), st.sampled_from([0.05, 0.01]))
    def test_the_interval_leaves_out_0_where_the_test_rejects(self, ratios, alpha):
        shift = paired(ratios, alpha)
        if not np.isnan(shift.low):
            assert (shift.p_value <= alpha) == (shift.low > 1e-12 or shift.high < -1e-12)
            assert shift.low <= shift.estimate <= shift.high and shift.coverage >= 1 - alpha

    def test_five_blocks_have_no_interval_and_six_have(self):
        five, six = paired([0.1] * 5), paired([0.1] * 6)
        assert np.isnan([five.low, five.high, five.coverage]).all() and five.p_value == 2 / 32
        assert (six.low, six.high, six.p_value) == (0.1, 0.1, 2 / 64)

    def test_thirty_blocks_are_exact(self):
        assert paired([0.1] * 30).p_value == pytest.approx(2 / 2**30)

    def test_equal_times_are_not_distinguishable(self):
        shift = paired([0.0] * 8)
        assert (shift.estimate, shift.low, shift.high, shift.p_value) == (0, 0, 0, 1)

    def test_plainly_asymmetric_ratios_go_by_their_median(self):
        """Most blocks gain nothing and a few a lot: the signed ranks would call that faster."""
        rng = np.random.default_rng(0)
        skewed = rng.exponential(size=120) ** 2
        skewed -= np.median(skewed)
        assert plainly_asymmetric(skewed[None]).all()
        shift = paired(skewed)
        assert shift.estimate == pytest.approx(0) and shift.p_value == 1
        assert shift.low < 0 < shift.high
        assert stats.wilcoxon(skewed).pvalue < 0.05

    def test_long_tails_are_not_asymmetric(self):
        tails = np.random.default_rng(1).standard_t(2, (500, 12))
        assert plainly_asymmetric(tails).mean() < 0.01
        assert not plainly_asymmetric(tails[:, :9]).any()

    def test_of_more_than_a_thousand_blocks_groups_count(self):
        assert distributions.thinned(np.arange(2_000.0))[:2].tolist() == [0.5, 2.5]


class TestUnpaired:
    def test_apart_by_hand(self):
        """Of the 70 ways to divide eight, two are as far apart; so all differences are in the interval."""
        shift = unpaired_shift(np.arange(4.0), np.arange(4.0) + 10, 0.05)
        assert (shift.estimate, shift.low, shift.high) == (-10, -13, -7)
        assert [shift.p_value, shift.least_p] == pytest.approx([2 / 70] * 2)

    @pytest.mark.parametrize(("fewer", "more"), [(4, 4), (4, 11), (5, 5), (5, 20)])
    def test_few_blocks_may_all_fall_on_one_side_of_a_narrow_sample(self, fewer, more):
        """A wide sample of n blocks lies on one side of the centre of a narrow one with probability 2 / 2^n."""
        shift = unpaired_shift(np.arange(float(fewer)), np.arange(float(more)) + 100, 0.05)
        assert shift.coverage == 1 - 2 / 2**fewer

    def test_three_against_three_have_no_interval(self):
        shift = unpaired_shift(np.arange(3.0), np.arange(3.0) + 10, 0.05)
        assert np.isnan(shift.low) and shift.p_value == 2 / 20

    @pytest.mark.filterwarnings("ignore:.*(divide|invalid|be estimated).*:RuntimeWarning")
    @pytest.mark.parametrize(("first", "second"), [(4, 4), (3, 5)])
    def test_divisions_are_all_enumerated(self, first, second):
        rng = np.random.default_rng(first)
        values, division = rng.normal(size=first + second), set(range(first))

        def statistic(chosen):
            inside = np.isin(np.arange(len(values)), list(chosen))
            plain = stats.brunnermunzel(values[inside], values[~inside]).statistic
            share = (values[inside][:, None] < values[~inside]).mean()
            probit = stats.norm.ppf(share)
            return 0 if share == 0.5 else abs(plain * probit * stats.norm.pdf(probit) / (share - 0.5))

        far = [statistic(chosen) for chosen in combinations(range(first + second), first)]
        far = np.nan_to_num(far, nan=np.inf)
        expected = np.mean(far >= np.nan_to_num(statistic(division), nan=np.inf) * (1 - 1e-9))
        p_value = unpaired_shift(values[:first], values[first:], 0.05).p_value
        assert p_value == pytest.approx(expected)

    @given(st.integers(0, 10**6), st.sampled_from([(5, 6), (8, 8), (9, 20), (14, 14)]))
    @hypothesis_settings(max_examples=30)
    @example(49, (8, 8))  # farther out the probit grows by less than its standard error
    def test_the_interval_leaves_out_0_where_the_test_rejects(self, seed, sizes):
        rng = np.random.default_rng(seed)
        first, second = (
            rng.normal(where, 1 + where, size) for where, size in zip((0, 1), sizes, strict=True)
        )
        shift = unpaired_shift(first, second, 0.05)
        assert (shift.p_value <= 0.05) == (shift.low > 0 or shift.high < 0)
        assert shift.low <= shift.estimate <= shift.high
        turned = unpaired_shift(second, first, 0.05)
        assert [turned.estimate, turned.low, turned.high] == [-shift.estimate, -shift.high, -shift.low]

    def test_ties_take_nothing_for_granted(self):
        assert unpaired_shift(np.ones(6), np.ones(6), 0.05).p_value == 1
        # were they counted as apart, this would be complete separation
        touching = unpaired_shift(np.array([1.0, 2, 3, 4]), np.array([4.0, 5, 6, 7]), 0.05)
        assert touching.p_value > 2 / 70

    def test_many_blocks_apart_are_not_bounded_by_a_number_of_draws(self):
        shift = unpaired_shift(np.arange(20.0), np.arange(20.0) + 100, 0.05)
        assert shift.p_value == pytest.approx(2 / comb(40, 20))
        near = unpaired_shift(np.arange(20.0), np.arange(20.0) + 18.5, 0.05)
        assert 2 / comb(40, 20) < near.p_value < 1e-8

    def test_one_disturbed_repetition_does_not_hide_a_difference(self):
        quiet = np.array([3.55, 3.41, 3.52, 3.60, 3.49, 3.57, 3.44, 27.8])
        slower = np.array([5.12, 4.90, 5.20, 5.05, 5.31, 5.00, 5.15, 12.7])
        assert unpaired_shift(np.log(quiet), np.log(slower), 0.05).p_value < 0.05

    def test_unequal_spread_and_size_keep_the_level(self):
        """Five blocks that scatter five times as much beside 20: rank sums call too many of them different."""
        rng = np.random.default_rng(3)
        samples = [(rng.normal(0, 1, 20), rng.normal(0, 5, 5)) for _ in range(150)]
        studentised = [unpaired_shift(*pair, 0.05).p_value <= 0.05 for pair in samples]
        by_ranks = [stats.mannwhitneyu(*pair, method="exact").pvalue <= 0.05 for pair in samples]
        assert np.mean(studentised) <= 0.06 < 0.1 < np.mean(by_ranks)

    @pytest.mark.parametrize("sizes", [(7, 7), (10, 7), (8, 8)])
    def test_seven_or_eight_wide_blocks_keep_the_level(self, sizes):
        """On the share itself, 7.8, 7.7 and 6.5 % of such samples come out as different."""
        rng = np.random.default_rng(8)
        samples = [(rng.normal(0, 1, sizes[0]), rng.normal(0, 5, sizes[1])) for _ in range(4_000)]
        assert np.mean([unpaired_shift(*pair, 0.05).p_value <= 0.05 for pair in samples]) < 0.06


class TestChosen:
    @staticmethod
    def by_hand(chooser, other):
        statistics = []
        for flips in product((False, True), repeat=chooser.shape[1]):
            mine, theirs = np.where(flips, other, chooser), np.where(flips, chooser, other)
            at = np.median(mine, axis=1).argmin()
            ratios = theirs[at] - mine[at]
            ranks = stats.rankdata(np.abs(ratios)) * np.sign(ratios)
            statistics.append(abs(ranks.sum()) / np.sqrt((ranks**2).sum()))
        return np.mean(np.array(statistics) >= statistics[0] * (1 - 1e-9))

    @hypothesis_settings(max_examples=25)
    @given(st.integers(1, 5), st.integers(3, 7), st.integers(0, 10**6))
    @example(1, 7, 2)  # ranks that add up to nothing
    def test_the_choice_is_repeated_for_every_sign_pattern(self, counts, sweeps, seed):
        chooser, other = np.random.default_rng(seed).normal(0, 1, (2, counts, sweeps))
        p_value = chosen_p(chooser, other, False)
        assume(not np.isnan(p_value))
        assert p_value == pytest.approx(self.by_hand(chooser, other))

    def test_of_one_count_it_is_the_signed_rank_test(self):
        chooser, other = np.random.default_rng(4).normal(0, 1, (2, 1, 9))
        assert chosen_p(chooser, other, False) == pytest.approx(paired((other - chooser)[0]).p_value)

    def test_a_count_of_fewer_blocks_takes_part(self):
        chooser, other = np.random.default_rng(5).normal(0, 1, (2, 3, 7))
        chooser[1, :2] = other[1, :2] = np.nan
        assert 0 < chosen_p(chooser, other, False) <= 1

    def test_dependent_blocks_allow_no_sign_pattern(self):
        chooser, other = np.random.default_rng(7).normal(0, 0.01, (2, 2, 3, 12))
        other[0, 1] += np.linspace(-0.1, 0.1, 12)  # a ratio that wanders, at a count that may be chosen
        assert np.isnan([chosen_p(*pair, False) for pair in zip(chooser, other, strict=True)]).tolist() == [
            True,
            False,
        ]
        chooser[:, 1], other[:, 1] = chooser[:, 1] + 9, other[:, 1] + 9  # at one that no pattern chooses
        assert not np.isnan([chosen_p(*pair, False) for pair in zip(chooser, other, strict=True)]).any()

    def test_each_candidate_is_tested_as_if_it_were_given(self):
        """Two counts that are alike; at the other one, ratios rise from block to block."""
        swift = {
            2: np.array([5, 5.2, 5.1, 5.3, 5.15, 5.05, 5.25, 5.12, 5.22, 5.02]),
            4: 5.3 * np.linspace(0.95, 1.05, 10),
        }
        steady = 1 + np.array([0, 2, 1, 3, 1.5, 0.5, 2.5, 1.2, 2.2, 0.2]) / 100
        lines = [
            {"case": "duct", "interconnect": name, "processes": count, "block": block, "seconds": value}
            for name, times in (("slow", dict.fromkeys((2, 4), 5.6 * steady)), ("swift", swift))
            for count, seconds in times.items()
            for block, value in enumerate(seconds)
        ]
        runs = complete_runs(pd.DataFrame(lines))
        row = make_tables(runs, Settings(draws=100, baselines=("slow",)))["improvement"].iloc[0]
        assert (row["at_processes"], row["effective_blocks"]) == (2, 10)
        given = paired_shift(np.log(5.6 * steady / swift[2])[None], 0.05)
        assert row["p_value"] == pytest.approx(2 * given.p_value[0])
        assert row["least_p"] == pytest.approx(2 * given.least_p[0])

    def test_a_flat_top_keeps_the_level(self):
        """Two interconnects that do not differ, 16 counts: tested as if given, every seventh differs."""
        chooser, other = np.random.default_rng(6).normal(0, 0.05, (2, 400, 16, 8))
        p_values = [chosen_p(*pair, False) for pair in zip(chooser, other, strict=True)]
        assert np.mean(np.array(p_values) <= 0.05) < 0.08
        at = np.median(chooser, axis=2).argmin(axis=1)
        ratios = np.take_along_axis(other - chooser, at[:, None, None], axis=1)[:, 0]
        assert np.mean(paired_shift(ratios, 0.05).p_value <= 0.05) > 0.09


class TestHolm:
    def test_holm_by_hand(self):
        assert holm(np.array([0.01, 0.04, 0.03])) == pytest.approx([0.03, 0.06, 0.06])
        assert holm(np.array([0.04, np.nan, 0.9])) == pytest.approx([0.08, np.nan, 0.9], nan_ok=True)

    @given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
    def test_holm_keeps_the_order_and_lowers_nothing(self, p_values):
        p_values = np.array(p_values)
        adjusted = holm(p_values)
        order = np.argsort(p_values, kind="stable")
        assert (np.diff(adjusted[order]) >= 0).all()
        assert (adjusted >= p_values).all() and (adjusted <= 1).all()
        assert (adjusted <= np.minimum(1, p_values * len(p_values)) + 1e-12).all()

    def test_blocks_needed(self):
        assert [blocks_needed(tests, paired=True) for tests in (1, 2, 16)] == [6, 7, 10]
        assert [blocks_needed(tests, paired=False) for tests in (1, 16)] == [4, 6]


def judged(*rows, blocks=6):
    """Verdicts of rows of estimate, ends, p, least p."""
    names = ["improvement_percent", "improvement_low", "improvement_high", "p_value", "least_p"]
    table = pd.DataFrame(rows, columns=names, dtype=float)
    table = table.assign(blocks=blocks, kind="measured", paired=True, coverage=0.95)
    return corrected(table.assign(coverage=table["coverage"].where(table["improvement_low"].notna())))[
        "verdict"
    ].tolist()


class TestVerdicts:
    def test_a_direction_needs_sign_interval_and_test(self):
        assert judged((5, 3, 7, 1e-9, 1e-9)) == ["faster"]
        assert judged((-5, -7, -3, 1e-9, 1e-9)) == ["slower"]
        assert judged((5, -1, 7, 1e-9, 1e-9)) == ["not distinguishable"]
        assert judged((-5, 3, 7, 1e-9, 1e-9)) == ["not distinguishable"]
        assert judged((5, 3, 7, 0.2, 1e-9)) == ["not distinguishable"]

    @pytest.mark.slow
    def test_six_hundred_doublings_over_twenty_blocks_are_all_significant(self):
        noise = np.exp(np.random.default_rng(1).normal(0, 0.02, (600, 2, 20)))
        case, which, block = (index.ravel() for index in np.indices(noise.shape))
        seconds = (noise * np.array([[8], [4]])).ravel()
        columns = {
            "case": case.astype(str),
            "interconnect": np.array(["slow", "swift"])[which],
            "seconds": seconds,
        }
        runs = complete_runs(pd.DataFrame(columns | {"processes": 2, "block": block}))
        table = make_tables(runs, Settings(draws=100, baselines=("slow",)))["improvement"]
        assert len(table) == 600 and (table["verdict"] == "faster").all()

    def test_one_of_four_that_is_short_is_untestable_alone(self):
        rows = [(5, 3, 7, 1e-3, 2**-9)] * 3 + [(5, np.nan, np.nan, 2**-3, 2**-3)]
        assert judged(*rows) == ["faster"] * 3 + ["untestable with 6 blocks"]

    def test_an_interval_that_cannot_be_had_is_untestable(self):
        assert judged((5, np.nan, np.nan, 0.03, 0.03)) == ["untestable with 6 blocks"]

    def test_more_counts_that_may_be_the_peak_need_more_blocks(self):
        """Its interval is at 5 % / 3: of six blocks 2/64 is too much, of seven 2/128 is not."""
        several = np.exp(np.random.default_rng(2).normal(0, 0.02, (2, 3, 7)))
        for blocks, verdict in ((6, "untestable with 6 blocks"), (7, "faster")):
            seconds = several[:, :, :blocks] * np.array([5, 3])[:, None, None]
            which, count, block = (index.ravel() for index in np.indices(seconds.shape))
            names = {
                "interconnect": np.array(["slow", "swift"])[which],
                "processes": np.array([2, 4, 8])[count],
            }
            runs = complete_runs(
                pd.DataFrame(names | {"case": "flat", "seconds": seconds.ravel(), "block": block})
            )
            row = make_tables(runs, Settings(draws=100, baselines=("slow",)))["improvement"].iloc[0]
            assert (row["verdict"], row["blocks_needed"]) == (verdict, 7)
        assert (row["candidates"], row["coverage"]) == (3, 1 - 3 * 2 / 128)

    def test_a_serial_run_that_may_be_the_best_adds_no_count_to_compare_at(self):
        """The baseline may be best at 1 or 2 processes: both lead to the comparison at 2, the only one."""
        noise = np.exp(np.random.default_rng(3).normal(0, 0.02, (3, 6)))
        seconds = noise * np.array([1.005, 1, 1.35])[:, None]
        which, block = (index.ravel() for index in np.indices(seconds.shape))
        columns = {
            "interconnect": np.array([None, "slow", "swift"])[which],
            "processes": np.array([1, 2, 2])[which],
            "block": block,
            "seconds": seconds.ravel(),
        }
        runs = complete_runs(pd.DataFrame(columns | {"case": "flat"}))
        tables = make_tables(runs, Settings(draws=100, baselines=("slow",)))
        peaks = tables["peaks"].set_index("interconnect")
        assert peaks.loc["slow", "peak_set"] == "1 2"
        row = tables["improvement"].iloc[0]
        assert (row["candidates"], row["verdict"], row["blocks_needed"]) == (1, "slower", 6)

    def test_what_is_distinguishable_has_a_verdict(self):
        """A test may reject where no interval can be had; the row is then not called distinguishable."""
        table = pd.DataFrame(
            {
                "improvement_percent": -26.0,
                "improvement_low": [np.nan, -31.0, np.nan],
                "improvement_high": [np.nan, -17.0, np.nan],
                "p_value": [0.001, 0.001, np.nan],
                "least_p": [0.001, 0.001, np.nan],
                "coverage": [np.nan, 0.96, np.nan],
                "blocks": 6,
                "kind": "measured",
                "paired": True,
            }
        )
        judged = corrected(table)
        assert judged["verdict"].tolist() == ["untestable with 6 blocks", "slower", "slower (untested)"]
        assert judged["distinguishable"].tolist() == [False, True, pd.NA]

    def test_the_interval_to_a_chosen_fastest_is_a_lower_bound(self):
        """Of three that may be it, at 5 % / 3: eight blocks attain 1 - 4/256 for each."""
        noise = np.exp(np.random.default_rng(2).normal(0, 0.02, (3, 8)))
        which, block = (index.ravel() for index in np.indices(noise.shape))
        columns = {"interconnect": np.array(["a", "b", "c"])[which], "block": block, "seconds": noise.ravel()}
        runs = complete_runs(pd.DataFrame(columns | {"case": "alike", "processes": 2}))
        fastest = make_tables(runs, Settings(draws=100))["fastest"]
        assert fastest["may_be_fastest"].all()
        assert fastest["coverage"].dropna().tolist() == [1 - 3 * 4 / 256] * 2

    def test_a_single_figure_keeps_its_direction_without_a_test(self):
        nothing = [np.nan] * 4
        assert judged((5, *nothing), (-5, *nothing), blocks=1) == [
            "faster (a single value, untested)",
            "slower (a single value, untested)",
        ]
        assert judged((5, *nothing)) == ["faster (untested)"]
