"""Weak scaling, rates and placement are named in figures, tables and sentences."""

import pandas as pd
import pytest
from drawn import drawn
from made_tables import make_tables
from report_parts import blocks, cells, part, plain, sentences_of
from small_runs import rows, runs_table
from synthetic_study import make_runs, make_study, make_whole_study

from analysis.presentation.curve_panels import TIME, ideal_of, panels_of, speedup_of
from analysis.presentation.labels import Labels
from analysis.presentation.legend import legend_entries
from analysis.presentation.style import COLOURS, MARKERS, Look, placed
from analysis.report import make_report
from analysis.runs.facts import Facts
from analysis.runs.settings import Settings
from analysis.topics.models.figures import model_figures
from analysis.topics.scaling.figures import overview_figure, scaling_figures

COUNTS = (1, 2, 4, 8)


@pytest.fixture(scope="module")
def weak():
    return make_whole_study(make_runs(6, levels=(1,), counts=COUNTS, weak=True), scaling="weak")


@pytest.fixture(scope="module")
def weak_report(weak):
    return make_report(*weak, [])


@pytest.fixture(scope="module")
def placed_study():
    """The same counts packed on one node, and spread over as many nodes as processes."""
    packed, spread = (make_runs(6, levels=(1,), cases=("elbow",), serial=serial) for serial in (True, False))
    packed = packed[packed["processes"] != 2]
    spread = spread.assign(nodes=spread["processes"], seconds=spread["seconds"] * 1.1)
    return make_study(pd.concat([packed, spread], ignore_index=True))


def heads(table):
    return [" ".join(head["title"]) for head in table["columns"]]


class TestWeakScaling:
    def test_every_speedup_sentence_has_the_word_scaled(self, weak_report):
        case = sentences_of(part(weak_report, "case-1"))
        assert (
            "Scaling is weak: the size grows with the processes. Scaled speedup is relative to the serial"
            in case
        )
        lists = blocks(part(weak_report, "words"), "list")
        answer = [plain(item) for block in lists for item in block["items"]]
        assert any(
            " 8 processes, the largest process count of " in item and "scaled speedup" in item
            for item in answer
        )
        assert not any("peedup" in item and "caled speedup" not in item for item in answer)

    def test_the_method_defines_it(self, weak_report):
        assert "Scaling is weak: the problem size grows with the processes." in sentences_of(
            part(weak_report, "method")
        )
        assert "Karp" not in sentences_of(part(weak_report, "method"))

    def test_tables_name_it_and_have_no_serial_fraction(self, weak_report):
        (table,) = blocks(part(weak_report, "case-1"), "table")
        assert "Scaled speedup" in heads(table) and "Serial fraction" not in heads(table)

    def test_figures_name_it_on_axes_and_in_captions(self, weak):
        drawings = drawn(weak, overview_figure, "scaling") + drawn(weak, scaling_figures, "scaling")
        drawings += drawn(weak, model_figures)
        assert {drawing.topic for drawing in drawings} == {"scaling", "overview", "models"}
        for drawing in drawings:
            assert drawing.figure.axes[0].get_ylabel() == "Scaled speedup"
            assert "caled speedup" in drawing.caption and "caled speedup" in drawing.alt

    def test_the_ideal_time_is_the_time_of_the_reference(self, weak):
        _, tables, facts = weak
        (panel,) = panels_of(tables["scaling"].query("case == 'elbow'"), [["measured", "emulated"]])
        ((counts, speedups),) = ideal_of(panel.rows, speedup_of(Labels(facts)))
        ((_, seconds),) = ideal_of(panel.rows, TIME)
        assert speedups == pytest.approx(counts) == [1, 2, 4, 8]
        assert seconds == pytest.approx([4.0] * 4, rel=0.01)

    def test_strong_scaling_is_named_too(self, report):
        assert "Scaling is strong: the problem size is the same at all counts." in sentences_of(
            part(report, "method")
        )


class TestRates:
    def test_a_case_with_work_has_its_rate_with_the_time(self):
        runs = make_runs(2, levels=(1,), cases=("elbow",)).assign(work=4e6, work_unit="cell iterations")
        (table,) = blocks(part(make_report(*make_study(runs), []), "case-1"), "table")
        assert heads(table)[-2:] == ["Runs/day", "Rate (10⁶/s)"]
        assert "The rate is the work per second, in 10⁶ cell iterations." in table["caption"]
        # about 4 s serially: a million cell iterations a second, 21,600 runs a day
        serial = [float(plain(cell).replace(" ", "")) for cell in table["groups"][0]["rows"][0]["cells"][-2:]]
        assert serial == pytest.approx([21_600, 1.0], rel=0.03)

    @pytest.mark.parametrize(("work", "head"), [(160.0, "Rate (1/s)"), (0.2, "Rate (10⁻³/s)")])
    def test_the_unit_of_the_rate_fits_its_magnitude(self, work, head):
        runs = make_runs(2, levels=(1,), cases=("elbow",)).assign(work=work, work_unit="steps")
        (table,) = blocks(part(make_report(*make_study(runs), []), "case-1"), "table")
        assert heads(table)[-1] == head

    def test_the_speed_of_molecular_dynamics_is_in_nanoseconds_a_day(self):
        """20 ps in about 4 s serially: 432 ns/day."""
        runs = make_runs(2, levels=(1,), cases=("elbow",)).assign(work=20.0, work_unit="ps of simulated time")
        (table,) = blocks(part(make_report(*make_study(runs), []), "case-1"), "table")
        assert heads(table)[-1] == "ns/day" and "rate" not in table["caption"]
        assert float(table["groups"][0]["rows"][0]["cells"][-1]) == pytest.approx(432, rel=0.03)

    def test_a_case_without_has_runs_a_day_alone(self, report):
        (table,) = blocks(part(report, "case-1"), "table")
        assert heads(table)[-1] == "Runs/day" and "Rate" not in table["caption"]


class TestPlacement:
    def test_legends_name_placements(self, placed_study):
        _, tables, facts = placed_study
        entries = legend_entries(tables["scaling"], Labels(facts))
        assert len({entry.label for entry in entries}) == len(entries) == 6
        assert "Shared memory with 4 processes per node" in {entry.label for entry in entries}

    def test_every_doubling_of_the_processes_per_node_looks_otherwise(self):
        look = Look(COLOURS[0], MARKERS[-1])
        assert placed(look, None) == placed(look, 1.0) == look
        assert len({placed(look, 2.0**power).marker for power in range(8)}) == 8

    def test_figures_and_tables_name_them(self, placed_study):
        scaling = drawn(placed_study, scaling_figures, "scaling")[0]
        texts = {text.get_text() for text in scaling.figure.legends[0].get_texts()}
        assert {"Shared memory with 1 process per node", "Shared memory with 4 processes per node"} <= texts
        report = make_report(*placed_study, [])
        (table,) = blocks(part(report, "case-1"), "table")
        titles = [group["title"] for group in table["groups"]]
        assert "Shared memory with 4 processes per node" in titles and len(titles) == len(set(titles)) == 7

    def test_each_placement_has_its_own_last_count(self, placed_study):
        (table,) = blocks(part(make_report(*placed_study, []), "answer"), "table")
        last_counts = {line[0]: line[1] for line in cells(table)}
        assert last_counts["Shared memory with 1 process per node"].startswith("4+")
        assert "Shared memory with 4 processes per node" in last_counts


class TestEfficiencyAboveTheIdeal:
    """Page one explains an efficiency above 100 % by caches only where reference and point share an interconnect."""

    def notes(self, **times):
        runs = runs_table(row for name, curve in times.items() for row in rows("duct", name, curve))
        facts = Facts.of({"study": {"baselines": ["slow"], "name": "duct"}})
        settings = Settings(baselines=("slow",), draws=200)
        return sentences_of(part(make_report(runs, make_tables(runs, settings), facts, []), "words"))

    def test_a_reference_over_another_interconnect_is_named(self):
        """28 s on 4 of the slow one over 5.6 s on 16 of the swift one: 5 times as fast on 4 times the cores."""
        notes = self.notes(slow={4: 28.0, 8: 16.0, 16: 10.0}, swift={4: 23.0, 8: 11.6, 16: 5.6})
        assert (
            "The highest efficiency is 125 % [125, 125]: swift with 16 processes. The reference of this efficiency is "
            "slow with 4 processes. The efficiency therefore includes" in notes
        )
        assert "cache" not in notes

    def test_caches_explain_it_over_one_interconnect(self):
        notes = self.notes(slow={4: 28.0, 8: 11.2}, swift={4: 28.0, 8: 14.0})
        assert (
            "The highest efficiency is 125 % [125, 125]: slow with 8 processes. Efficiency above 100 % is superlinear "
            "speedup. A frequent cause is that the data of each process fit its cache." in notes
        )
