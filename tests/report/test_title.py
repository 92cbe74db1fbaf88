"""The title and key figures of page one, worked by hand."""

import re

import pytest
from drawn import drawn
from made_tables import make_tables
from report_parts import blocks, cells, part, plain, sentences_of
from small_runs import FACTORS, rows, runs_table

from analysis.report import make_report
from analysis.report.page_one_figure import page_one_figure
from analysis.runs.facts import Facts
from analysis.runs.settings import Settings

SLOW = {1: 100.0, 2: 52.0, 4: 28.0, 8: 16.0, 16: 12.0, 32: 14.0}
SWIFT = {1: 100.0, 2: 50.0, 4: 25.0, 8: 12.5, 16: 6.3, 32: 3.2}


def report_of(
    curves, baseline="slow", named=True, blocks=(1.0,), foreign_cores=0.0, interconnects=None, **study
):
    runs = runs_table(
        row
        for name, times in curves.items()
        for row in rows("duct", None if name == "serial" else name, times, blocks=blocks)
    )
    runs = runs.assign(foreign_cores=foreign_cores)
    baselines = (baseline,)
    about = {"baselines": list(baselines), "names_baseline": named, **study}
    facts = Facts.of({"study": about, "interconnects": interconnects or {}})
    return make_report(runs, make_tables(runs, Settings(baselines=baselines, draws=200)), facts, [])


def figures_of(report):
    (block,) = blocks(part(report, "answer"), "key_figures")
    return {plain(figure["label"]): figure for figure in block["key_figures"]}


def test_the_title_states_the_saving_of_the_faster():
    """100/12 lies between 8 and 16 processes of the swift one at 8.34: 9 processes."""
    report = report_of({"slow": SLOW, "swift": SWIFT}, blocks=FACTORS)
    assert plain(report["result"]) == "swift with about 9 processes matches slow with 16 processes"
    figures = figures_of(report)
    assert list(figures) == [
        "Processes saved", "Speed at the peak, 16 processes", "Stops scaling at", "Highest speedup at",
    ]  # fmt: skip
    assert figures["Processes saved"]["value"] == "7"
    assert figures["Processes saved"]["interval"].startswith("[")
    assert {figure["kind"] for figure in figures.values()} == {"measured"}
    assert plain(figures["Speed at the peak, 16 processes"]["value"]) == "+90 %"
    assert plain(figures["Stops scaling at"]["value"]) == "16 processes"
    assert plain(figures["Highest speedup at"]["value"]) == "32 processes"


def test_every_place_rounds_the_same_count_up():
    """8.34 processes of the swift one are 9: in the title, the key figures and the table."""
    report = report_of({"slow": SLOW, "swift": SWIFT}, blocks=FACTORS)
    figure = figures_of(report)["Processes saved"]
    (table,) = blocks(part(report, "answer"), "table")
    assert " ".join(table["columns"][5]["title"]) == "Processes for the same speedup"
    (swift,) = [line for line in cells(table) if line[0] == "swift"]
    (exact,) = blocks(part(report, "equivalents"), "table")
    assert "swift with about 9 processes" in plain(report["result"])
    assert figure["value"] == str(16 - 9) and plain(figure["note"]).startswith("9 with swift instead of 16")
    assert re.search(r"; 9 is 8\.34 \[8\.\d+, 8\.\d+\], interpolated and rounded up$", plain(figure["note"]))
    assert re.fullmatch(r"9 \[9, 9\] \(9 nodes\), baseline 16", plain(swift[5]))
    assert any(cell.startswith("8.34 [") for line in cells(exact) for cell in line)
    assert "Where page one names such a number, Nodeworth rounds it up to whole" in exact["caption"]


@pytest.mark.parametrize(
    ("curves", "title", "cells_of_peaks"),
    [
        ({"slow": {2: 50.0}}, "the only count with results is 2 processes", ["1.00 at 2 (only count)"]),
        (
            {"slow": {2: 50.0}, "swift": {4: 30.0}},
            "each curve has only one count",
            ["1.00 at 2 (only count)", "1.67 at 4 (only count)"],
        ),
    ],
)
@pytest.mark.parametrize("blocks_of", [(1.0,), FACTORS])
def test_a_single_count_shows_nothing_about_scaling(curves, title, cells_of_peaks, blocks_of):
    report = report_of(curves, blocks=blocks_of)
    assert plain(report["result"]) == f"Scaling is unknown: {title}"
    (peaks,) = blocks(part(report, "peaks"), "table")
    assert [line[1] for line in cells(peaks)] == cells_of_peaks
    assert "2 processes, so scaling is unknown" in sentences_of(part(report, "words"))
    assert "rise" not in sentences_of(part(report, "words")) and part(report, "turnaround") is None


def test_a_single_count_of_a_comparison_is_no_peak():
    figures = figures_of(report_of({"slow": {2: 50.0}, "swift": {2: 30.0}}))
    assert list(figures) == ["Processes saved", "Speed at 2 processes", "Only count"]


@pytest.mark.parametrize(
    ("share", "panels", "end"),
    [
        (None, 2, "Nodeworth rounds each number up to whole processes."),
        (0.99, 1, "Grey lines show the ideal speedup."),
    ],
)
def test_the_figure_shows_counts_only_if_they_differ(share, panels, end):
    """One per cent faster, swift needs 15.7 processes instead of 16: a bar shows 16 for both."""
    swift = SWIFT if share is None else {count: share * seconds for count, seconds in SLOW.items()}
    runs = runs_table(
        row
        for name, times in {"slow": SLOW, "swift": swift}.items()
        for row in rows("duct", name, times, blocks=FACTORS)
    )
    facts = Facts.of({"study": {"baselines": ["slow"]}, "interconnects": {}})
    study = (runs, make_tables(runs, Settings(baselines=("slow",), draws=200)), facts)
    (figure,) = drawn(study, page_one_figure)
    assert len(figure.figure.axes) == panels and figure.caption.endswith(end)


@pytest.mark.parametrize(("other", "head"), [("c6i", "Interconnect"), ("c7i", "System")])
def test_rows_whose_nodes_differ_are_systems(other, head):
    nodes = {"slow": {"node_type": "c6i"}, "swift": {"node_type": other}}
    report = report_of({"slow": SLOW, "swift": SWIFT}, interconnects=nodes)
    for name in ("answer", "peaks", "improvement"):
        tables = blocks(part(report, name), "table")
        titles = [" ".join(column["title"]) for table in tables for column in table["columns"]]
        assert {"Interconnect", "System"} & {*titles} == {head}


def test_nodes_of_different_size_have_their_cores_stated():
    """16 nodes of 2 cores against 9 nodes of 8."""
    cores = {"slow": 2, "swift": 8}
    runs = runs_table(
        {**row, "nodes": row["processes"], "processes": row["processes"] * cores[name]}
        for name, times in {"slow": SLOW, "swift": SWIFT}.items()
        for row in rows("duct", name, times)
    )
    settings = Settings(baselines=("slow",), draws=200, compare_by="nodes")
    facts = Facts.of({"study": {"baselines": ["slow"], "names_baseline": True}})
    report = make_report(runs, make_tables(runs, settings), facts, [])
    assert plain(report["result"]) == "swift with about 9 nodes matches slow with 16 nodes"
    stated = (
        "A node has 8 cores with swift and 2 cores with slow. 9 nodes of swift have 72 cores and 16 nodes of "
        "slow have 32 cores."
    )
    assert stated in sentences_of(part(report, "answer"))


def test_a_slower_interconnect_that_never_reaches_its_baseline_is_named():
    """It reaches 100/12.5 of 8 processes between 8 and 16, at 8 + 8 (8 - 6.25)/(8.33 - 6.25) = 14.7."""
    report = report_of({"slow": SLOW, "swift": SWIFT}, baseline="swift", blocks=FACTORS)
    text = (
        "In duct, by median times, slow does not reach the highest speedup of swift, 31.2, with up to 32 "
        "processes."
    )
    reached = "With about 15 processes [15, 15], it matches swift with 8 processes."
    assert f"{text} {reached}" in sentences_of(part(report, "answer"))
    few = report_of({"slow": SLOW, "swift": SWIFT}, baseline="swift", blocks=FACTORS[:5])
    assert plain(few["result"]) == "Too few blocks to distinguish slow from swift"
    assert f"{text} {reached}" in sentences_of(part(few, "answer"))
    assert "does not reach" not in sentences_of(part(report_of({"slow": SLOW, "swift": SWIFT}), "answer"))


@pytest.mark.parametrize(("blocks", "remark"), [((1.0,), " (single runs)"), (FACTORS, "")])
def test_single_runs_are_stated_where_the_end_of_a_curve_is(blocks, remark):
    report = report_of({"swift": SWIFT}, baseline="swift", blocks=blocks)
    largest = "32 processes, the largest process count with results"
    assert plain(report["result"]) == f"Speedup rises up to {largest}{remark}"
    assert f"It rises up to this count{remark}." in sentences_of(part(report, "words"))
    stopped = report_of({"slow": SLOW}, blocks=blocks)
    assert plain(stopped["result"]) == f"slow stops scaling at 16 processes{remark}"


def test_a_faster_baseline_needs_fewer_for_the_best_of_the_other():
    report = report_of({"slow": SLOW, "swift": SWIFT}, baseline="swift", blocks=FACTORS)
    assert plain(report["result"]) == "swift with about 9 processes matches slow with 16 processes"
    (table,) = blocks(part(report, "answer"), "table")
    (slow,) = [line for line in cells(table) if line[0] == "slow"]
    assert slow[5].startswith("16, baseline 9 [")


def test_a_single_run_is_stated_in_the_title():
    report = report_of({"slow": SLOW, "swift": SWIFT})
    assert plain(report["result"]).endswith(" matches slow with 16 processes (a single run)")


@pytest.mark.parametrize(
    ("blocks", "title"),
    [
        ((0.9, 1.0), "Too few blocks to distinguish b from a"),
        ((0.9, 0.95, 1.0, 1.03, 1.05, 1.08, 1.1, 1.13), "No distinguishable difference between b and a"),
    ],
)
def test_without_a_distinguishable_difference_the_title_says_so(blocks, title):
    times = {1: 16.0, 2: 8.0, 4: 4.0}
    runs = runs_table(
        rows("duct", "a", times, blocks=blocks), rows("duct", "b", times, blocks=tuple(reversed(blocks)))
    )
    facts = Facts.of({"study": {"baselines": ["a"]}})
    report = make_report(runs, make_tables(runs, Settings(baselines=("a",), draws=200)), facts, [])
    assert report["result"] == title
    assert figures_of(report)["Processes saved"]["value"] == "undecided"


def test_without_a_baseline_each_interconnect_stands_next_to_the_fastest():
    """Slow at its best takes 12 s; swift takes 3.2 s at its best, and 12 s on 8.34 processes."""
    report = report_of({"slow": SLOW, "swift": SWIFT}, named=False, blocks=(1.0,) * 6)
    (table,) = blocks(part(report, "answer"), "table")
    assert cells(table)[0][4] == "is the fastest"
    assert cells(table)[1][4:] == ["-73 [-73, -73] %", "9 [9, 9] for 16"]
    assert plain(report["result"]) == "swift with about 9 processes matches slow with 16 processes"


@pytest.mark.parametrize("baseline", ["slow", "swift"])
def test_a_comparison_has_the_same_figures_in_the_table_as_in_the_key_figures(baseline):
    """One slow run widens the intervals of the times, which say nothing about the pairs of a block."""
    spread = (0.9, 0.95, 1.0, 1.02, 1.05, 1.1, 9.0)
    curves = {"serial": {1: 2.0}, "slow": {2: 1.35}, "swift": {2: 1.0}}
    report = report_of(curves, baseline, named=False, blocks=spread)
    figure = next(figure for name, figure in figures_of(report).items() if name.startswith("Speed at"))
    (table,) = blocks(part(report, "answer"), "table")
    (slow,) = [line for line in cells(table) if line[0] == "slow"]
    assert slow[4] == "-26 [-26, -26] %"
    if baseline == "swift":
        assert slow[4] == f"{plain(figure['value']).removesuffix(' %')} {plain(figure['interval'])} %"


@pytest.mark.parametrize("baseline", ["slow", "swift"])
def test_counts_of_the_fastest_are_those_of_the_node_equivalents(baseline):
    """Swift reaches 2/1.35 at 1.48 processes, slow does not reach 2; the times have wide intervals."""
    spread = (0.9, 0.95, 1.0, 1.02, 1.05, 1.1, 9.0)
    curves = {"serial": {1: 2.0}, "slow": {2: 1.35}, "swift": {2: 1.0}}
    report = report_of(curves, baseline, named=False, blocks=spread)
    (table,) = blocks(part(report, "answer"), "table")
    (slow,) = [line for line in cells(table) if line[0] == "slow"]
    assert slow[5] == "2 [2, 2] for 2"
    named = report_of(curves, "swift", blocks=spread)
    (slow,) = [line for line in cells(blocks(part(named, "answer"), "table")[0]) if line[0] == "slow"]
    assert slow[5] == "2, baseline 2 [2, 2]"


@pytest.mark.parametrize("named", [False, True])
def test_notes_explain_the_columns_that_the_table_has(named):
    report = report_of({"slow": SLOW, "swift": SWIFT}, named=named, blocks=FACTORS)
    (table,) = blocks(part(report, "answer"), "table")
    titles = [" ".join(column["title"]) for column in table["columns"]]
    words = sentences_of(part(report, "words"))
    for column in ("Against its baseline", "Next to the fastest"):
        is_column = any(title.startswith(column) for title in titles)
        assert is_column == (named == column.startswith("Against")) == (f"column “{column}” shows" in words)


@pytest.mark.parametrize("name", ["my_cloud-A", "gigabit_ethernet"])
def test_names_stand_as_the_user_gave_them(name):
    report = report_of({"slow": SLOW, name: SWIFT})
    assert plain(report["result"]).startswith(f"{name} with about 9 processes matches slow")


@pytest.mark.parametrize(
    ("swift", "note"), [(1.5, "serial, an estimate"), (0.8, "swift, 2 processes, an estimate")]
)
def test_the_shortest_time_includes_the_serial_run(swift, note):
    """The serial run takes 1.08 s, two processes 4.2 s over slow, and 1.5 or 0.8 s over swift."""
    curves = {"serial": {1: 1.08}, "slow": {2: 4.2, 4: 6.0}, "swift": {2: swift, 4: 2.0}}
    figure = figures_of(report_of(curves, named=False, blocks=FACTORS))["Shortest time"]
    assert plain(figure["value"]) == f"{min(swift, 1.08):.{2 if swift > 1 else 3}f} s"
    assert plain(figure["note"]) == note


def test_curves_that_are_best_serially_are_not_compared_at_their_best():
    report = report_of(
        {"serial": {1: 1.08}, "slow": {2: 4.2, 4: 6.0}, "swift": {2: 3.2, 4: 5.0}},
        named=False,
        blocks=FACTORS,
    )
    (table,) = blocks(part(report, "answer"), "table")
    assert [line[-1] for line in cells(table)] == ["same serial runs"] * 2


class TestOneInterconnect:
    """Nothing can be compared, so that no sentence is about a comparison."""

    def sentences(self, foreign_cores):
        report = report_of(
            {"shared": {1: 1.0, 2: 4.2}}, "shared", named=False, blocks=FACTORS, foreign_cores=foreign_cores
        )
        return [sentences_of(part(report, name)) for name in ("answer", "words")]

    def test_page_one_states_the_disturbed_runs(self):
        disturbed, quiet = self.sentences(0.9)[0], self.sentences(0.1)[0]
        assert disturbed == (
            "How sure: the results rest on 12 measured runs. Other programs disturbed 12 of 12 valid runs. "
            "No interconnects are compared."
        )
        assert quiet == "How sure: the results rest on 12 measured runs. No interconnects are compared."

    def test_no_sentence_asks_for_the_faster_one_or_for_saved_nodes(self):
        words = self.sentences(0.9)[1]
        assert words.startswith("Scaling of duct: ")
        assert "Which is faster" not in words and "saved" not in words


def test_page_one_of_a_comparison_states_the_disturbed_runs():
    report = report_of({"slow": SLOW, "swift": SWIFT}, blocks=FACTORS, foreign_cores=0.9)
    assert (
        ". Other programs disturbed 72 of 72 valid runs. The only comparison with a baseline has "
        in sentences_of(part(report, "answer"))
    )


def test_page_one_names_the_baseline_of_the_comparisons_that_it_counts():
    """The third shares no count with slow, so only the estimates of the table compare it with the others."""
    curves = {"slow": {1: 100.0, 2: 52.0, 4: 28.0}, "swift": {1: 100.0, 2: 50.0, 4: 25.0}, "third": {16: 3.0}}
    answer = part(report_of(curves, named=False, blocks=FACTORS), "answer")
    (table,) = blocks(answer, "table")
    assert [line[4].endswith(" %") for line in cells(table)] == [False, True, True]
    assert (
        ". The only comparison with a baseline has a verdict: faster or slower. The baseline is slow. "
        in sentences_of(answer)
    )


@pytest.mark.parametrize(("middle", "is_remarked"), [(1.0, False), (1.2, True)])
def test_page_one_explains_percentages_that_are_no_ratios_of_its_times(middle, is_remarked):
    """Only the fourth block, the median of slow, has another ratio: 1.2 times as large as the other six."""
    factors = (0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3)
    runs = runs_table(
        rows("duct", "slow", {2: 13.0}, factors),
        rows("duct", "swift", {2: 10.0}, (*factors[:3], 1 / middle, *factors[4:])),
    )
    facts = Facts.of({"study": {"baselines": ["slow"]}})
    tables = make_tables(runs, Settings(baselines=("slow",), draws=200))
    (table,) = blocks(part(make_report(runs, tables, facts, []), "answer"), "table")
    assert cells(table)[0][4].startswith("+30")
    assert ("Nodeworth divides times of single runs by each other" in table["caption"]) is is_remarked


class TestRunsWithoutAPair:
    """A point was repeated: the curves use its further runs, which a paired comparison cannot use."""

    def report(self, further, named=False):
        """Seven pairs in which swift takes 1.35 times as long, and seven further runs of slow."""
        pairs = (0.97, 0.98, 0.99, 1.0, 1.01, 1.02, 1.03)
        alone = [
            {**row, "block": row["block"] + len(pairs)} for row in rows("duct", "slow", {2: further}, pairs)
        ]
        runs = runs_table(
            rows("duct", None, {1: 2.0}, pairs),
            rows("duct", "slow", {2: 1.0}, pairs),
            rows("duct", "swift", {2: 1.35}, pairs),
            alone,
        )
        facts = Facts.of({"study": {"baselines": ["slow"], "names_baseline": named}})
        tables = make_tables(runs, Settings(baselines=("slow",), draws=200))
        return make_report(runs, tables, facts, [])

    @pytest.mark.parametrize("named", [False, True])
    def test_an_opposite_order_of_the_medians_is_stated_with_the_verdict(self, named):
        report = self.report(further=3.0, named=named)
        why = "the medians of all runs say the opposite"
        assert plain(report["result"]) == f"Undecided whether swift is faster than slow: {why}"
        note = figures_of(report)["Speed at the peak, 2 processes"]["note"]
        assert plain(note) == f"swift against slow, undecided: {why}"
        answer = sentences_of(part(report, "answer"))
        assert (
            "In duct, the comparison of swift with slow uses the 7 blocks that contain both at 2 processes. The curves use "
            "all runs: 7 blocks of swift and 14 blocks of slow."
        ) in answer
        if not named:
            assert f": p = 0.016. This comparison is undecided: {why}." in answer
        words = sentences_of(part(report, "words"))
        assert f"Undecided in duct: swift against slow. Reason: {why}." in words

    def test_medians_in_the_same_order_decide(self):
        report = self.report(further=1.0)
        assert plain(report["result"]) == "swift is 26 % slower than slow at 2 processes"
        assert "The curves use all runs: " in sentences_of(part(report, "answer"))

    def test_nothing_is_stated_if_all_runs_are_compared(self):
        report = report_of({"slow": SLOW, "swift": SWIFT}, blocks=FACTORS)
        assert "The curves use" not in sentences_of(part(report, "answer"))


def test_a_correction_that_leaves_a_comparison_open_is_stated():
    """Six blocks allow p = 0.031 for each of two comparisons, 0.062 after the correction."""
    curves = {"slow": SLOW, "swift": SWIFT, "swifter": {count: time / 1.1 for count, time in SWIFT.items()}}
    report = report_of(curves, blocks=FACTORS)
    note = figures_of(report)["Speed at the peak, 16 processes"]["note"]
    assert plain(note).endswith(" against slow, undecided: too few blocks: 6 of at least 7")


@pytest.mark.parametrize("named", [True, False])
def test_the_title_without_a_named_baseline_needs_no_correction(named):
    """Six blocks suffice for the comparison of the title alone, but not for both comparisons."""
    noisy = (0.8, 0.9, 1.0, 1.1, 1.2, 1.3)
    runs = runs_table(
        rows("duct", "slow", SLOW, noisy),
        rows("duct", "swift", SLOW, tuple(reversed(noisy))),
        rows("duct", "third", {16: 13.0}, noisy),
    )
    facts = Facts.of({"study": {"baselines": ["slow"], "names_baseline": named}})
    report = make_report(runs, make_tables(runs, Settings(baselines=("slow",), draws=200)), facts, [])
    note = plain(figures_of(report)["Speed at the peak, 16 processes"]["note"])
    title = plain(report["result"])
    if named:
        assert title.startswith("Too few blocks") and note.endswith("too few blocks: 6 of at least 7")
    else:
        assert title == "No distinguishable difference between swift and slow"
        assert note == "swift against slow, undecided"


@pytest.mark.parametrize(
    ("curves", "title"),
    [
        ({"shared": {1: 1.0, 2: 4.2}}, "shared stops scaling at 1 process"),
        ({"slow": SLOW, "swift": SWIFT}, "swift with about 9 processes matches slow with 16 processes"),
    ],
)
def test_title_and_key_figures_state_that_most_runs_were_disturbed(curves, title):
    named = len(curves) > 1
    quiet, disturbed = (
        report_of(curves, min(curves), named=named, blocks=FACTORS, foreign_cores=cores)
        for cores in (0.1, 0.9)
    )
    number = 6 * sum(map(len, curves.values()))
    remark = f"other programs disturbed {number} of {number} runs"
    assert plain(disturbed["result"]).endswith(f" ({remark})")
    before = figures_of(quiet)
    for name, figure in figures_of(disturbed).items():
        if name.startswith("May") or "may be" in name:  # where a curve ends is undecided
            assert name not in before
        elif name != "Processes saved":
            assert plain(figure["note"]).startswith(
                f"{plain(before[name]['note'])}; other programs disturbed "
            )


def test_only_the_disturbed_curve_is_called_so():
    runs = runs_table(rows("duct", "slow", SLOW), rows("duct", "swift", SWIFT))
    runs = runs.assign(foreign_cores=(runs["interconnect"] == "swift") * 0.9)
    facts = Facts.of({"study": {"baselines": ["slow"]}})
    report = make_report(runs, make_tables(runs, Settings(baselines=("slow",), draws=200)), facts, [])
    notes = [
        plain(figure["note"])
        for figure in figures_of(report).values()
        if "scal" in figure["label"].lower() or figure["label"].startswith("Highest")
    ]
    assert [note.endswith("; other programs disturbed 36 of 36 runs") for note in notes] == [False, True]


def test_the_title_names_a_baseline_that_is_fastest_on_one_process():
    """The comparison at the best count of swift is true, but nobody would run slow on 4 processes."""
    curves = {"slow": {1: 10.0, 2: 20.0, 4: 30.0}, "swift": {1: 10.0, 2: 6.0, 4: 4.0}}
    title = plain(report_of(curves, blocks=FACTORS)["result"])
    assert (
        title
        == "swift is 650 % faster than slow at 4 processes, but by median times slow is fastest on one process"
    )


def test_page_one_states_why_no_interconnects_are_compared():
    report = report_of({"slow": {32: 50.0, 64: 30.0}, "swift": {48: 20.0, 96: 12.0}}, blocks=FACTORS)
    reason = "No interconnects are compared. Reason: no common process count up to the baseline's peak."
    for name in ("answer", "words"):
        assert f"{reason} With a column nodes, Nodeworth can compare by nodes." in sentences_of(
            part(report, name)
        )
