"""Page one in words: whole processes, nodes, and no direction where there is none."""

import re

import pandas as pd
import pytest
from made_tables import make_tables
from report_parts import blocks as blocks_of
from report_parts import cells, part, plain
from small_runs import FACTORS, rows, runs_table
from synthetic_study import make_runs, make_study

from analysis.presentation.contests import direction, find_contests, nodes_of, whole_count
from analysis.presentation.labels import Labels
from analysis.report import certainty, make_report
from analysis.report.page_one_figure import figure_title
from analysis.runs.facts import Facts
from analysis.runs.settings import Settings
from analysis.topics import peaks
from analysis.topics.equivalents import nodes_saved
from analysis.topics.improvement import sentences as faster
from analysis.topics.money import headline as money

LABELS = Labels(Facts())
SLOW = {1: 100.0, 2: 52.0, 4: 28.0, 8: 16.0, 16: 12.0, 32: 14.0}
SWIFT = {1: 100.0, 2: 50.0, 4: 25.0, 8: 12.5, 16: 6.3, 32: 3.2}


@pytest.fixture(scope="module")
def duct():
    """Two processes a node; the slow one stops at 16 processes with a speedup of 8 1/3."""
    groups = [
        {"nodes": -(-row["processes"] // 2), **row}
        for name, times in (("gigabit_ethernet", SLOW), ("infiniband", SWIFT))
        for row in rows("duct", name, times, blocks=(1.0,), kind="published")
    ]
    runs = runs_table(groups)
    return runs, make_tables(runs, Settings(baselines=("gigabit_ethernet",)))


def test_a_count_between_two_counts_takes_whole_count():
    assert [whole_count(count) for count in (5.01, 5.0, 5 + 1e-12)] == [6, 5, 5]


def test_numbers_of_nodes_are_rounded_up_and_unknown_on_one_node():
    points = pd.DataFrame(
        {"processes": [1, 4, 8], "nodes": pd.array([1, 2, 4], "Int64"), "unit": "processes"}
    )
    assert [nodes_of(points, count) for count in (1, 5, 8)] == [1, 3, 4]
    assert nodes_of(points.assign(nodes=pd.array([1, 1, 1], "Int64")), 4) is None
    assert nodes_of(points.assign(nodes=pd.array([None] * 3, "Int64")), 4) is None


class TestDuct:
    """The speedup of 100/12 lies at 8 + 8 (8.333 - 8) / (15.873 - 8) = 8.34 processes: 9, on 5 nodes."""

    def test_saved_processes_and_nodes_are_whole_numbers(self, duct):
        sentences = plain(nodes_saved(find_contests(duct[1], []), LABELS))
        assert sentences == (
            "Nodes saved in duct: InfiniBand (pub) with about 9 processes on 5 nodes is as fast as GigE (pub) with "
            "16 processes on 8 nodes. InfiniBand (pub) saves 7 processes and 3 nodes."
        )

    def test_saved_processes_have_the_range_of_the_equivalent(self, duct):
        """9 to 11 processes on 5 or 6 nodes of 16 on 8."""
        equivalent = duct[1]["node_equivalent"].assign(equivalent_low=8.2, equivalent_high=10.1)
        sentences = plain(nodes_saved(find_contests({**duct[1], "node_equivalent": equivalent}, []), LABELS))
        assert sentences.endswith(". InfiniBand (pub) saves 7 [5, 7] processes and 3 [2, 3] nodes.")

    @pytest.mark.parametrize(
        ("swift", "needed", "saving"),
        [({4: 20.0, 8: 10.0}, "about 7", "1 process, but no whole node"), ({}, "8", "nothing")],
    )
    def test_a_flat_peak_is_also_compared_with_fewer_processes(self, swift, needed, saving):
        """Of 8 1/3, 8 processes reach 7.69: 4 + 4 (7.69 - 5) / 5 = 6.15 of the other, so 7; or 7.69, so 8."""
        groups = [
            {"nodes": -(-row["processes"] // 2), **row}
            for name, times in (("gigabit_ethernet", {**SLOW, 8: 13.0}), ("infiniband", {**SWIFT, **swift}))
            for row in rows("duct", name, times, blocks=(1.0,), kind="published")
        ]
        tables = make_tables(runs_table(groups), Settings(baselines=("gigabit_ethernet",)))
        sentences = plain(nodes_saved(find_contests(tables, []), LABELS))
        assert sentences.endswith(
            ". The speedup of GigE (pub) with 8 processes is only 7.7 % below the highest speedup of GigE (pub). "
            f"InfiniBand (pub) with {needed} processes on 4 nodes is as fast as GigE (pub) with 8 processes and "
            f"saves {saving}."
        )

    def test_where_more_processes_stop_paying(self, duct):
        contests = find_contests(duct[1], [])
        assert plain(peaks.how_far(contests, LABELS)) == (
            "Scaling of duct: GigE (pub) reaches its highest speedup, 8.33, with 16 processes. The speedup of "
            "InfiniBand (pub) is 31.2 with 32 processes, the largest process count of this interconnect. It rises "
            "up to this count (single runs)."
        )
        assert (
            plain(figure_title(contests[0], LABELS))
            == "GigE (pub) stops scaling at 16 processes (single runs)"
        )

    @pytest.mark.parametrize(
        ("seconds", "blocks", "kind", "speedup", "nearly"),
        [
            (13.0, 1, "published", "8.33", ". 8 processes reach 92 % of this speedup"),
            (13.5, 1, "published", "8.33", ""),
            (13.0, 6, "measured", "8.33 [8.33, 8.33]", ". 8 processes reach a speedup of 7.69 [7.69, 7.69]"),
        ],
    )
    def test_fewer_processes_that_do_nearly_as_much_are_named(self, seconds, blocks, kind, speedup, nearly):
        runs = runs_table(rows("duct", "slow", {**SLOW, 8: seconds}, (1.0,) * blocks, kind))
        sentences = plain(peaks.how_far(find_contests(make_tables(runs, Settings()), []), LABELS))
        assert f" reaches its highest speedup, {speedup}, with 16 processes{nearly}." in sentences

    def test_fewer_than_five_blocks_do_not_show_where_a_curve_stops(self):
        runs = runs_table(rows("duct", "slow", SLOW, (0.9, 1.0, 1.1, 1.2)))
        contests = find_contests(make_tables(runs, Settings()), [])
        assert plain(peaks.how_far(contests, LABELS)) == (
            "Scaling of duct: the speedup of slow is 8.33 with 16 processes. It is undecided whether it rises with "
            "more processes, because the results are from fewer than 5 blocks."
        )
        assert (
            plain(figure_title(contests[0], LABELS))
            == "Speedup 7.14 on 32 processes: the peak is undecided (fewer than 5 blocks)"
        )

    def test_many_curves_have_a_range_and_a_single_curve_has_its_interval(self):
        names = ("peak_speedup", "peak_speedup_low", "peak_speedup_high")
        lines = [
            dict(zip(names, values, strict=True)) for values in ((3, 2, 4), (5, 4.5, 6), (4, None, None))
        ]
        assert peaks._speedups(lines[:1]) == "3.00 [2.00, 4.00]"
        assert peaks._speedups(lines) == "3.00, 5.00 and 4.00"
        assert peaks._speedups([*lines, *lines]) == "3.00 to 5.00"

    def test_single_runs_have_a_direction_and_a_warning(self, duct):
        contests = find_contests(duct[1], [])
        assert plain(faster.which_is_faster(contests, Facts(), LABELS)) == (
            "Which is faster: InfiniBand (pub) is 90 % faster than GigE (pub) at 16 processes, the best "
            "count of GigE (pub) (a single run)."
        )
        assert "chance may explain the difference" in certainty.how_sure(duct[0], duct[1], contests, Facts())

    def test_a_band_across_zero_can_decide_if_computing_takes_equally_long(self, duct):
        ends = {"improvement_same_computing_low": 80.0, "improvement_same_computing_high": 95.0}
        columns = {"verdict": "faster or slower within the band"} | ends
        contests = find_contests({**duct[1], "improvement": duct[1]["improvement"].assign(**columns)}, [])
        assert plain(faster.which_is_faster(contests, Facts(), LABELS)) == (
            "Which is faster: in duct, InfiniBand (pub) is not clearly faster or slower than GigE (pub) at 16 "
            "processes, the best count of GigE (pub). Reason: the band includes both directions. If computing "
            "takes equally long over both, InfiniBand (pub) is 90 % faster than GigE (pub) at 16 processes, the "
            "best count of GigE (pub)."
        )
        undecided = find_contests(
            {
                **duct[1],
                "improvement": duct[1]["improvement"].assign(
                    **columns | {"improvement_same_computing_low": -1.0}
                ),
            },
            [],
        )
        assert "equally long" not in faster.which_is_faster(undecided, Facts(), LABELS)


@pytest.fixture(scope="module")
def study():
    """Three blocks of two cases: too few for any test of the table."""
    return make_study(make_runs(3, levels=(1,)), compare_kinds=[])


class TestOpenComparisons:
    def test_no_direction_and_no_number(self, study):
        _, tables, facts = study
        sentences = plain(faster.which_is_faster(find_contests(tables, []), facts, Labels(facts)))
        assert (
            sentences.startswith("Which is faster: no interconnect is clearly faster or slower than")
            and "%" not in sentences
        )
        needed = int(tables["improvement"]["blocks_needed"].max())
        assert f"Reason: too few blocks: 3 of at least {needed}" in sentences
        assert "Nodes saved: unknown. " in nodes_saved(find_contests(tables, []), Labels(facts))

    def test_blocks_needed_for_a_decision(self, study):
        runs, tables, facts = study
        precision = tables["improvement"].assign(
            blocks_wanted=9, target_percent=5.0, half_width_percent=6.0, reached=False
        )
        sentences = plain(
            certainty.how_sure(runs, {**tables, "precision": precision}, find_contests(tables, []), facts)
        )
        needed = int(tables["improvement"]["blocks_needed"].max())  # three blocks decide nothing, so no look
        assert needed > 5
        offer = "more blocks take about 2 minutes and could decide the first undecided comparison: "
        assert f"{needed - 3} {offer}" in sentences
        assert sentences.endswith(f": ./run-study config/studies/synthetic.yaml --config blocks={needed}.")

    def test_undecided_comparisons_are_named(self, study):
        runs, tables, facts = study
        sentences = plain(certainty.how_sure(runs, tables, find_contests(tables, []), facts))
        names = re.search(r" undecided\. (Undecided in .*)\.$", sentences).group(1)
        first = tables["improvement"].iloc[0]
        labels = Labels(facts)
        assert labels.compared(first) in names and f"Undecided in {labels.case(first['case'])}" in names

    def test_only_the_first_of_many_are_named(self):
        line = {"case": "duct", "baseline_interconnect": "a", "interconnect": "b", "kind": "measured",
                "oversubscription": 2, "processes_per_node": None}  # fmt: skip
        assert plain(certainty._list_undecided([line] * 5, [""] * 5, LABELS)) == (
            "Undecided in duct, 2 processes per core: b, b and b against a. 2 more comparisons are undecided"
        )

    def test_every_undecided_verdict_states_its_reason(self):
        line = {"kind": "measured", "note": None, "blocks": 4, "blocks_needed": 6, "paired": True}
        verdicts = {
            "untestable with 4 blocks": "too few blocks: 4 of at least 6",
            "not distinguishable": "the differences may be noise",
            "faster or slower within the band": "the band includes both directions",
            "slower": "the medians of all runs say the opposite",
            "faster (untested)": "the runs have no test",
        }
        rows = pd.DataFrame([{**line, "verdict": verdict} for verdict in verdicts])
        for (_, row), why in zip(rows.iterrows(), verdicts.values(), strict=True):
            assert plain(faster._why_undecided(row.to_frame().T)) == why
        assert (
            plain(faster._why_undecided(rows[:2]))
            == "too few blocks: 4 of at least 6, or the differences may be noise"
        )

    def test_a_verdict_without_a_test_is_no_headline(self):
        for verdict in ("untestable with 8 blocks", "not distinguishable", None):
            assert direction({"verdict": verdict, "note": None}) is None
        assert direction({"verdict": "slower over the whole band"}) == "slower"
        assert direction({"verdict": "faster", "note": "the medians of all runs say the opposite"}) is None


OPEN = {"case": "duct", "baseline_interconnect": "a", "interconnect": "b", "kind": "simulated",
        "oversubscription": 1, "processes_per_node": None, "threads": 1, "at_processes": 4, "blocks": 10, "blocks_needed": 9,
        "verdict": "faster or slower within the band", "improvement_same_computing_low": None,
        "improvement_same_computing_high": None}  # fmt: skip


class TestWhyOpen:
    """Why more blocks would not tell a comparison."""

    def why(self, precision=None, ranged=None, kind="simulated", **more):
        line = {**OPEN, "kind": kind, **more}
        host = {"host_speed": 0.15, "host_speed_range": ranged}
        model = {"source": "here", "host": host}
        facts = Facts.of({"interconnects": {name: {"model": model} for name in "ab"}})
        return plain(certainty._why_undecided(line, precision, facts))

    def test_a_simulated_pair_has_no_blocks(self):
        assert self.why() == self.why(ranged=[0.15, 0.15]) == "the band includes both directions"
        assert self.why(ranged=[0.13, 0.17]) == "only a narrower range of the cores' speed may decide"
        slower = {"improvement_same_computing_low": -9.0, "improvement_same_computing_high": -2.0}
        reason = "a verdict requires the assumption that computing takes equally long over both"
        assert self.why(ranged=[0.13, 0.17], **slower) == self.why(**slower) == reason

    @pytest.mark.parametrize(
        ("reached", "why"),
        [(True, "the difference is already known to ±4.2 points"), (False, ""), (None, "")],
    )
    def test_a_measured_pair_within_its_target(self, reached, why):
        row = {**OPEN, "kind": "measured", "reached": reached, "half_width_percent": 4.2005}
        precision = pd.DataFrame([row] if reached is not None else [], columns=list(row))
        assert self.why(kind="measured", precision=precision) == why
        assert self.why(kind="measured") == ""
        assert self.why(kind="measured", precision=precision, blocks_needed=12) == ""

    def test_page_one_asks_for_no_blocks_that_decide_nothing(self, study):
        runs, tables, facts = study
        tables = {**tables, "improvement": tables["improvement"].assign(blocks_needed=3)}
        tables["precision"] = tables["improvement"].assign(
            blocks_wanted=2, target_percent=5.0, half_width_percent=4.2, reached=True
        )
        sentences = plain(certainty.how_sure(runs, tables, find_contests(tables, []), facts))
        assert "comparisons are undecided. Undecided in " in sentences
        assert "Reason: the difference is already known to ±4.2 points" in sentences
        assert "more blocks" not in sentences


class TestDisturbedHeadline:
    """The headline begins with the disturbed runs if at least half of its runs were disturbed."""

    def test_a_headline_without_a_comparison_is_left_as_it_is(self, study):
        runs, tables, facts = study
        (first, *_) = find_contests({**tables, "improvement": tables["improvement"][:0]}, [])
        sentence = faster.which_is_faster([first], facts, Labels(facts))
        assert sentence == "Which is faster: unknown. No interconnects are compared."
        assert faster.with_disturbance(sentence, first, runs.assign(foreign_cores=0.9)) == sentence

    @pytest.mark.parametrize(("share", "starts"), [(1, True), (3, False)])
    def test_half_of_the_runs(self, study, share, starts):
        runs, tables, facts = study
        contests = find_contests(tables, [])
        busy = runs.assign(foreign_cores=[0.9 if index % share == 0 else 0.0 for index in range(len(runs))])
        case = busy[(busy["case"] == contests[0].case) & busy["kind"].isin(contests[0].kinds)]
        sentence = faster.which_is_faster(contests, facts, Labels(facts))
        headline = plain(faster.with_disturbance(sentence, contests[0], busy))
        number = int((case["foreign_cores"] > 0.5).sum())
        remark = f"Which is faster (other programs disturbed {number} of {len(case)} runs): "
        assert headline.startswith(remark) is starts
        assert headline.endswith(plain(sentence).partition(": ")[2])


class TestWhatCounts:
    """Page one counts valid runs, then invalid and disturbed ones."""

    def runs(self):
        runs = runs_table(
            rows("duct", None, {1: 16.0}),
            rows("duct", "memory", {2: 8.4, 4: 4.4}),
            rows("duct", "memory_model", {2: 8.0}, (1.0,), kind="simulated"),
        )
        return runs.assign(valid=runs["processes"] != 4)

    def test_invalid_runs_are_not_counted_as_measured(self):
        assert plain(certainty.count_runs(self.runs())) == (
            "12 measured runs and 1 simulated time. Simulated times are predictions from replayed traces. "
            "Simulated times have an uncertainty band, but no p-value. docs/validation.md states the errors of such "
            "predictions. "
            "6 of 19 runs are invalid and left out"
        )

    def test_imported_rows_without_a_kind_are_not_called_published(self):
        sentences = plain(certainty.count_runs(self.runs().assign(kind="published")))
        assert sentences.startswith("13 imported runs. ") and "published" not in sentences

    def test_runs_stopped_at_a_time_limit_are_a_lower_bound(self):
        runs = self.runs()
        sentences = plain(certainty.count_runs(runs.assign(censored=~runs["valid"])))
        assert sentences.endswith(
            ". 6 of 19 runs were stopped at their time limits and count as longer than the limit"
        )
        some = runs.assign(censored=~runs["valid"] & (runs.index % 2 == 0))
        number = int(some["censored"].sum())
        assert f"6 of 19 runs are invalid and left out, except {number} that were stopped at" in plain(
            certainty.count_runs(some)
        )

    def test_page_one_does_not_call_stopped_runs_left_out(self, duct):
        runs = self.runs()
        stopped = runs.assign(censored=~runs["valid"])
        assert "6 of 19 runs were stopped at their time limits" in plain(
            certainty.how_sure_in_short(stopped, find_contests(duct[1], []), LABELS)
        )

    @pytest.mark.parametrize(("again", "mixes"), [((), False), ((1, 2), False), ((2,), True)])
    def test_points_that_were_measured_again_are_named(self, again, mixes):
        first = [{**row, "origin": "run"} for row in rows("duct", "a", {1: 8.0, 2: 5.0})]
        further = [
            {**row, "block": row["block"] + len(first), "attempt": 2}
            for row in first
            if row["processes"] in again
        ]
        runs = runs_table([*first, *further])
        contests = find_contests(make_tables(runs, Settings(draws=200)), [])
        sentence = plain(certainty.how_sure_in_short(runs, contests, LABELS))
        assert ("In duct, some runs were made apart from the runs of other points." in sentence) == mixes
        assert ("use only blocks that contain both points" in sentence) == mixes

    def test_outdated_runs_are_no_invalid_runs(self):
        runs = self.runs()
        changed = runs.assign(loss=(~runs["valid"]).map({True: "outdated", False: None}))
        sentences = plain(certainty.count_runs(changed))
        assert sentences.endswith(
            ". 6 runs are outdated and left out: the case, the interconnect or the site file changed after them"
        )
        assert "invalid" not in sentences

    def test_disturbed_runs_are_counted_among_the_valid_ones(self):
        busy = self.runs().assign(foreign_cores=0.5)
        busy.loc[busy["kind"] == "simulated", "foreign_cores"] = None
        assert plain(certainty.count_runs(busy)).endswith(
            ". Other programs disturbed 12 of 12 valid runs. Other programs kept more than 0.2 cores busy during "
            "each disturbed run"
        )
        assert "disturbed" not in certainty.count_runs(busy.assign(foreign_cores=0.1))


class TestSharedCores:
    """Processes that share cores are no scaling: page one shows one process per core where that was run."""

    def contest_at(self, *levels):
        times = {1: {2: 8.0, 4: 5.0}, 2: {2: 9.0, 4: 3.0}}
        made = [
            rows("duct", name, {count: factor * seconds for count, seconds in times[level].items()},
                 oversubscription=level)
            for level in levels
            for name, factor in (("a", 1.0), ("b", 0.8))
        ]  # fmt: skip
        runs = runs_table(rows("duct", None, {1: 16.0}), *made)
        (contest,) = find_contests(make_tables(runs, Settings(baselines=("a",), draws=200)), [])
        return contest

    def test_the_lowest_of_several_levels_is_shown(self):
        contest = self.contest_at(1, 2)
        assert contest.level == 1 and set(contest.scaling["oversubscription"]) == {1}
        assert "per core" not in peaks.how_far([contest], LABELS) + figure_title(contest, LABELS)

    def test_processes_that_share_cores_are_called_so(self):
        contest = self.contest_at(2)
        assert plain(peaks.how_far([contest], LABELS)).startswith(
            "Scaling of duct, with 2 processes per core: "
        )
        assert plain(figure_title(contest, LABELS)).endswith(", with 2 processes per core")


class TestMissingEquivalents:
    """Reason of a missing node equivalent; it agrees with the faster interconnect."""

    def sentences(self, swift, per_node=2, slow=SLOW):
        groups = [
            {"nodes": -(-row["processes"] // per_node), **row}
            for name, times in (("slow", slow), ("swift", swift))
            for row in rows("duct", name, times, blocks=(1.0,))
        ]
        tables = make_tables(runs_table(groups), Settings(baselines=("slow",)))
        return plain(nodes_saved(find_contests(tables, []), LABELS)).partition("unknown. ")[2]

    def test_the_baseline_is_best_on_one_process(self):
        sentence = self.sentences(SWIFT, slow={1: 10.0, 2: 20.0, 4: 30.0})
        assert sentence == "The baseline is fastest on one process."

    def test_the_faster_one_needs_fewer_processes_than_use_the_interconnect(self):
        swift = {count: seconds / 20 for count, seconds in SWIFT.items()}
        assert self.sentences(swift) == (
            "The faster interconnect exceeds the baseline's highest speed at its smallest count already."
        )

    def test_nothing_is_compared_on_one_node(self):
        sentence = "No interconnects are compared at the best count of their baseline."
        assert self.sentences(SWIFT, per_node=64) == sentence


class TestSeveralCases:
    """InfiniBand is faster in one of two cases, and slower in the other."""

    def faster(self, **wing):
        times = {"gigabit_ethernet": SLOW, "infiniband": {**SLOW, **wing}}
        made = [
            row
            for case, curves in (("duct", {"gigabit_ethernet": SLOW, "infiniband": SWIFT}), ("wing", times))
            for name, curve in curves.items()
            for row in rows(case, name, curve, blocks=(1.0,))
        ]
        tables = make_tables(runs_table(made), Settings(baselines=("gigabit_ethernet",)))
        return plain(faster.which_is_faster(find_contests(tables, []), Facts(), LABELS))

    def test_one_case_is_named(self):
        slower = {str(count): 1.1 * seconds for count, seconds in SLOW.items()}
        sentences = self.faster(**slower)
        assert sentences == (
            "Which is faster: InfiniBand is 90 % faster than GigE in duct, 1 of the 2 measured cases, at 16 "
            "processes, the best count of GigE (a single run)."
        )


def test_advice_for_one_case_is_not_given_for_all():
    line = {"baseline_interconnect": "a", "kind": "simulated", "oversubscription": 1, "target_speedup": 2.0,
            "processes_per_node": None, "node_price": 2500.0, "currency": "USD"}  # fmt: skip
    verdicts = {
        "duct": ("pays", "undecided"),
        "wing": ("does not pay", "does not pay"),
        "roof": ("pays", None),
    }
    even = pd.DataFrame(
        [
            {**line, "case": case, "interconnect": name, "verdict": verdict}
            for case, verdicts_of_case in verdicts.items()
            for name, verdict in zip("bc", verdicts_of_case, strict=True)
        ]
    )
    runs = runs_table(rows("duct", "a", {1: 2.0, 2: 1.0}, blocks=(1.0,)))
    (headline,) = find_contests(make_tables(runs, Settings()), [])
    sentences = money._purchase_clauses({"break_even": even}, headline, LABELS)
    assert list(map(plain, sentences)) == [
        "at a node price of 2500 USD, b (sim) pays and it is undecided whether c (sim) pays in duct",
        "at least one interconnect pays in 1 other case",
        "no interconnect pays in 1 other case",
    ]
    _, sentence = money._purchase_clauses({"break_even": even[even["case"] != "roof"]}, headline, LABELS)
    assert plain(sentence) == "b (sim) and c (sim) do not pay in wing"


def test_single_runs_do_not_show_that_oversubscription_pays():
    """Two processes a core gain 10 / 8 - 1 on the same core, by a single run and by six blocks."""
    for blocks, expected in (
        ((1.0,), "What pays: 2 processes per core are 25 % faster at equal cores in the only comparison, from a single "
         "run."),
        (FACTORS, "What pays: 2 processes per core are 25 % faster at equal cores in the only comparison."),
    ):  # fmt: skip
        runs = runs_table(
            rows("duct", "a", {2: 10.0}, blocks=tuple(0.1 * factor + 0.9 for factor in blocks)),
            rows(
                "duct",
                "a",
                {4: 8.0},
                blocks=tuple(0.1 * factor + 0.9 for factor in blocks),
                oversubscription=2,
                nodes=2,
            ),
        )
        tables = make_tables(runs, Settings())
        assert plain(money.payoff_sentence(tables, find_contests(tables, []), LABELS)) == expected


class TestUnsureTops:
    """Whether a curve still rises is not known where its last count is one of several that may be its peak."""

    def study(self, blocks=FACTORS):
        flat = {1: 16.0, 2: 8.2, 4: 5.0, 8: 4.99}
        times = {
            "a": {1: 16.0, 2: 8.0, 4: 4.0, 8: 2.0},
            "b": flat,
            "c": {**flat, 8: 5.01},
        }
        noise = {"b": (1.0, 1.02, 0.98, 1.01, 0.99, 1.0), "c": (1.02, 0.99, 1.0, 1.0, 0.98, 1.01)}
        made = [
            {
                **row,
                "seconds": row["seconds"]
                * (noise[name][row["block"]] if name in noise and count == 8 else 1),
            }
            for case in ("duct", "other")
            for name, curve in times.items()
            for count, seconds in curve.items()
            for row in rows(case, name, {count: seconds}, blocks=blocks)
        ]
        runs = runs_table(made)
        return runs, make_tables(runs, Settings(baselines=("a",), draws=200))

    def test_how_far_it_scales(self):
        contests = find_contests(self.study()[1], [])
        assert plain(peaks.how_far(contests, LABELS)) == (
            "Scaling of duct: the speedup of a is 8.00 [8.00, 8.00] with 8 processes, the largest process count of "
            "this interconnect. It rises up to this count. c reaches its highest speedup, 3.20 [3.20, 3.20], with 4 "
            "processes, but larger counts may be as fast. The speedup of b is 3.22 [3.14, 3.27] with 8 processes, "
            "the largest process count of this interconnect. It is undecided whether it rises up to this count. In other, "
            "there are 3 speedup curves. 1 of them rises up to its largest count. 1 of them may rise or fall at "
            "its largest count: the results do not show which. 1 of them may peak before its largest count, but "
            "its runs are too few or too noisy to show this."
        )

    def test_counts_beyond_the_cores_follow(self):
        runs = runs_table(
            rows("duct", "a", {1: 8.0, 2: 4.0}),
            [{**row, "oversubscription": 2, "cores": 2} for row in rows("duct", "a", {4: 5.0})],
        )
        sentence = plain(peaks.how_far(find_contests(make_tables(runs, Settings()), []), LABELS))
        assert sentence.startswith(
            "Scaling of duct: the speedup of a is 2.00 [2.00, 2.00] with 2 processes, the largest process count "
            "with a core for each process. It rises up to this count."
        )
        assert sentence.endswith(". 4 processes at oversubscription 2 have a speedup of 1.60.")

    def test_the_largest_count_is_not_called_the_largest_that_was_run_if_larger_counts_share_cores(self):
        runs = runs_table(
            rows("duct", "a", {1: 8.0, 2: 4.0}),
            [{**row, "oversubscription": 2, "cores": 2} for row in rows("duct", "a", {4: 5.0})],
        )
        report = make_report(runs, make_tables(runs, Settings()), Facts(), [])
        assert plain(report["result"]).endswith(
            " 2 processes, the largest process count with a core for each process"
        )
        answer = part(report, "answer")
        (figures,) = blocks_of(answer, "key_figures")
        largest, end = figures["key_figures"]
        assert (plain(largest["label"]), largest["value"]) == ("Speedup on 2 processes", "2.00")
        assert plain(end["note"]) == "a: speedup 2.00; the largest process count with a core for each process"
        (table,) = blocks_of(answer, "table")
        assert "rises up to the largest process count with a core for each process." in table["caption"]

    def test_a_curve_below_its_serial_run_shows_its_speedup_at_the_largest_count(self):
        runs = runs_table(rows("duct", "a", {1: 8.0, 2: 16.0, 4: 20.0}, (0.9, 1.0, 1.1, 1.2)))
        report = make_report(runs, make_tables(runs, Settings()), Facts(), [])
        (figures,) = blocks_of(part(report, "answer"), "key_figures")
        largest, end = figures["key_figures"]
        assert (plain(largest["label"]), largest["value"]) == ("Speedup on 4 processes", "0.400")
        assert end["note"] == "a: no median time below the serial time"
        (table,) = blocks_of(part(report, "answer"), "table")
        assert "relative" not in table["caption"]  # the table has no speedup
        assert "a has no median time below the serial time. It is undecided whether the speedup rises" in (
            plain(peaks.how_far(find_contests(make_tables(runs, Settings()), []), LABELS))
        )

    @pytest.mark.parametrize(
        ("factors", "end", "speedup_cell"),
        [
            ((1.0, 1.01, 0.99, 1.0, 1.02, 0.98), "alone", "1 (1 node)"),
            ((1.0, 1.2, 0.8, 1.0, 1.25, 0.75), "falls", "1? (1 node)"),  # the speedup on 2: […, above 1]
        ],
    )
    def test_one_process_is_the_best_only_where_no_other_may_be(self, factors, end, speedup_cell):
        serial = rows("duct", "a", {1: 10.0}, (1.0,) * 6)
        two = rows("duct", "a", {2: 11.0}, factors)
        runs = runs_table([*serial, *two])
        tables = make_tables(runs, Settings(draws=200))
        (contest,) = find_contests(tables, [])
        (line,) = contest.peaks.to_dict("records")
        assert line["peak_processes"] == 1
        assert peaks._end_in_words(line, contest) == end
        (table,) = blocks_of(part(make_report(runs, tables, Facts(), []), "answer"), "table")
        assert cells(table)[0][1] == speedup_cell

    def test_the_figure_does_not_claim_a_rise(self):
        (contest, _) = find_contests(make_tables(*self.flat()), [])
        assert plain(figure_title(contest, LABELS)) == "Speedup up to 8 processes: the peak is undecided"

    def flat(self):
        runs, _ = self.study()
        return runs[runs["interconnect"] != "a"], Settings(baselines=("b",), draws=200)

    def test_few_blocks_give_the_point_estimate(self):
        contests = find_contests(self.study(blocks=(0.9, 1.0, 1.1))[1], [])
        sentences = plain(peaks.how_far(contests, LABELS))
        assert (
            "The speedups of a and c are 8.00 and 3.23 with 8 processes, the largest process count of these "
            "interconnects. It is undecided whether they rise up to this count, because the results are from fewer than 5 "
            "blocks." in sentences
        )
