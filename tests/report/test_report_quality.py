"""Section on the quality of measurements: disturbances, outliers, drift, spread and missing blocks."""

import numpy as np
import pandas as pd
import pytest
from report_parts import blocks, cells, part, plain, sentences_of
from synthetic_study import make_facts, make_runs, make_whole_study

from analysis.presentation.contests import find_contests
from analysis.presentation.labels import Labels
from analysis.presentation.style import FigureLabels
from analysis.report import make_report
from analysis.report.certainty import how_sure_in_short
from analysis.runs.runs import complete_runs
from analysis.topics.order import order_figure, ordered_runs
from analysis.topics.quality.figures import spread_figure
from analysis.topics.quality.sentences import drift_sentences, precision_sentences, spread_sentences
from analysis.topics.quality.tables import POINT, run_names


def runs_of(interconnect, runs):
    return (runs["interconnect"] == interconnect) & (runs["processes"] == 2) & (runs["case"] == "elbow")


def section(study, drawings=()):
    return part(make_report(*study, [drawing.entry() for drawing in drawings]), "quality")


def spread_of(study):
    labels = FigureLabels.of(study[2])
    return spread_figure(study[1]["variability"], labels)


def steady(**changes):
    return make_runs(12, levels=(1,), **changes)


class TestOutliers:
    @pytest.fixture(scope="class")
    @staticmethod
    def runs():
        runs = steady()
        rows = runs.index[runs_of("loopback", runs) & (runs["block"] == 5)]
        runs.loc[rows, "seconds"] *= 3
        return runs.assign(foreign_cores=np.where(runs.index.isin(rows), 1.0, 0.0))

    def test_an_outlier_is_named_with_its_rule_and_stays(self, runs):
        study = make_whole_study(runs)
        text = sentences_of(section(study))
        assert "Points with at least 4 runs have 168 valid runs. Of these runs, 1 is an outlier by " in text
        (record,) = runs.loc[runs["foreign_cores"] == 1, "record"]
        point = "“Duct elbow” over TCP loopback on 2 processes"
        assert f"The outlier is run “{record.removeprefix('records/')}” of {point}." in text
        assert "above the median of its point." in text
        assert "Estimates include outliers." in text
        assert "Other programs disturbed this run." in text
        assert study[1]["scaling"]["n"].eq(12).all()

    @pytest.mark.parametrize(
        ("columns", "name"),
        [
            ({"record": "records/duct/block-4-attempt-2.json"}, "block-4-attempt-2.json"),
            ({"order_from": None}, "block 10"),
            ({"order_from": "block of file 1"}, "block 10"),
            ({"order_from": "repetition of file 1"}, "repetition 3"),
            ({"order_from": "started of file 1"}, "start 2026-05-03T10:00:00"),
            ({"order_from": "row of file 1"}, "row 2 of its point"),
            ({"order_from": "unknown of file 1"}, "1.75 s"),
        ],
    )
    def test_a_run_has_the_name_that_its_source_gives_it(self, columns, name):
        """The last of two runs; the number of an imported run without block is no block."""
        run = dict.fromkeys(POINT, 1) | {"seconds": 1.75, "started": "2026-05-03T10:00:00", "repetition": 3}
        run |= {"record": None, "order_from": None, **columns}
        runs = pd.DataFrame([{**run, "block": 9}, {**run, "block": 10}])
        assert run_names(runs).iloc[1] == name

    def test_it_is_ringed_in_the_order_of_execution(self, runs):
        complete = complete_runs(runs)
        assert ordered_runs(complete)["outlier"].sum() == 1
        facts = make_facts(runs)
        labels = FigureLabels.of(facts)
        (order,) = order_figure(complete, labels)
        assert "Rings are outliers by Tukey's fences" in order.caption
        assert sum(", outlier" in mark.text for mark in order.marks.values()) == 1

    def test_too_few_repetitions_for_fences(self):
        text = sentences_of(section(make_whole_study(make_runs(3, levels=(1,)))))
        assert "outliers only at points with at least 4 runs. This study has no such point." in text
        assert "drift only at points with at least 4 blocks. This study has no such point." in text


class TestDrift:
    def test_a_point_that_slows_down_is_named(self):
        runs = steady()
        rows = runs_of("loopback", runs)
        runs.loc[rows, "seconds"] *= 1 + 0.05 * runs.loc[rows, "block"]
        whole, tables, facts = make_whole_study(runs)
        (text,) = map(plain, drift_sentences(tables["drift"], Labels(facts)))
        assert text.startswith("1 of 14 points drifts from the first run to the last. The test is Kendall's")
        assert "The largest drift is at “Duct elbow” over TCP loopback on 2 processes: +" in text
        contests = find_contests(tables, [])
        page_one = plain(how_sure_in_short(whole, contests, Labels(facts), drift=tables["drift"]))
        assert ". The time of 1 of 14 tested points drifts during the study. " in page_one

    def test_no_drift_is_reported_with_the_largest_change(self):
        _, tables, facts = make_whole_study(steady())
        (text,) = map(plain, drift_sentences(tables["drift"], Labels(facts)))
        assert text.startswith("Nodeworth tested 14 points and found no significant drift of the times from ")
        assert "The largest change from the first run to the last is at " in text

    def test_points_of_five_blocks_cannot_show_a_drift(self):
        """The smallest p of five blocks is 2 / 5! = 1 / 60; 14 points times 1 / 60 is above 5 %."""
        runs = steady()
        _, tables, facts = make_whole_study(runs[runs["block"].isna() | (runs["block"] <= 5)])
        (text,) = map(plain, drift_sentences(tables["drift"], Labels(facts)))
        assert text.startswith(
            "Nodeworth cannot detect drift at 14 points, because each point has at most 5 blocks. Kendall's test"
        )


class TestSpread:
    def test_a_noisy_interconnect_differs_from_the_baseline(self):
        runs = steady(cases=("elbow",), counts=(1, 2))
        noisy = runs["interconnect"] == "loopback"
        runs.loc[noisy, "seconds"] *= np.where(runs.loc[noisy, "block"] % 2, 1.4, 0.7)
        study = make_whole_study(runs, baselines=["gigabit", "shared_memory"], compare_kinds=[])
        (text,) = map(plain, spread_sentences(study[1]["variability"], Labels(study[2])))
        assert "The spread differs from the spread of the baseline in 1 of 1 comparison" in text
        assert "The test is the signed-rank test of absolute deviations with Holm's correction" in text
        assert "of Shared memory, p" in text
        medians = {row[0]: float(row[1]) for row in cells(blocks(section(study), "table")[0])}
        assert 1 <= medians["Shared memory"] < 2 < medians["TCP loopback"]

    def test_a_figure_with_a_panel_a_case(self):
        study = make_whole_study(steady())
        (drawing,) = spread_of(study)
        titles = [axes.get_title(loc="left") for axes in drawing.figure.axes]
        assert titles == ["Duct elbow", "Lid-driven cavity"]
        (figure,) = blocks(section(study, [drawing]), "figure")
        assert figure["name"] == drawing.name

    def test_one_block_has_neither_spread_nor_figure(self):
        study = make_whole_study(make_runs(1, levels=(1,)))
        assert spread_of(study) == []
        sentences = sentences_of(section(study))
        assert "The run-to-run spread is unknown, because no point has two blocks." in sentences


class TestPrecision:
    @pytest.fixture(scope="class")
    @staticmethod
    def precision():
        runs = steady(cases=("elbow",))
        loopback = runs["interconnect"] == "loopback"
        runs.loc[loopback, "seconds"] *= np.where(runs.loc[loopback, "block"] % 2, 1.12, 0.9)
        return make_whole_study(runs)

    def test_missing_blocks_are_reported(self, precision):
        table = precision[1]["precision"]
        wide = table[~table["reached"] & (table["half_width_percent"] > 0)]
        # 12 blocks, and intervals that narrow with the square root of the blocks
        expected = np.ceil(12 * (wide["half_width_percent"] / wide["target_percent"]) ** 2).astype(int)
        assert len(wide) == 2 and set(wide["interconnect"]) == {"loopback", "shared_memory"}
        (text,) = map(plain, precision_sentences(table))
        assert "2 of 3 improvements have wider intervals. Column blocks_wanted of" in text
        *_, on_screen = blocks(section(precision), "table")
        assert not on_screen["printed"]
        assert sorted(int(line[-1]) for line in cells(on_screen)) == sorted(expected)

    def test_far_too_many_blocks_are_no_remedy(self, precision):
        table = precision[1]["precision"]
        wide = ~table["reached"] & (table["half_width_percent"] > 0)
        far = table.assign(blocks_wanted=table["blocks_wanted"].where(~wide, 34_694))
        (text,) = map(plain, precision_sentences(far))
        assert "For 2 of these intervals, the estimate is more than 10 times the present number" in text
        assert text.endswith("More steps per run or an idle machine would also narrow the intervals.")
        first = far.index[wide][0]
        (text,) = map(
            plain,
            precision_sentences(far.assign(blocks_wanted=far["blocks_wanted"].where(far.index != first, 99))),
        )
        assert "For 1 of these intervals, the estimate is more than 10 times the present number" in text

    def test_all_narrow_is_one_sentence(self):
        _, tables, _ = make_whole_study(steady(cases=("elbow",)))
        (text,) = map(plain, precision_sentences(tables["precision"].assign(reached=True)))
        assert text.endswith("The intervals of all 3 improvements are narrow enough.")


def test_the_pdf_has_the_table_of_spreads_that_its_sentences_need():
    report = make_report(*make_whole_study(make_runs(8)), [])
    spreads = blocks(part(report, "quality"), "table")[0]
    assert spreads["printed"] and "Spread is exp(1.48 × the median absolute deviation" in spreads["caption"]
