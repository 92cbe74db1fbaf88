"""The table for computing centres, its rules, and its forms for LaTeX and Word."""

import docx
import numpy as np
import pytest
from made_tables import finished
from refused import refusal
from small_runs import ROOT, curves, rows, runs_table

from analysis.presentation.labels import Labels
from analysis.runs.facts import Facts
from analysis.runs.runs import TableError
from analysis.runs.settings import Limit, Rule, Settings
from analysis.topics.proposal.rules import read_rule
from analysis.topics.proposal.sheets import latex_text, outcome_text, sheets, to_latex, write_word
from analysis.topics.proposal.topic import UNTESTED, judge, proposal_columns

SETTINGS = Settings(draws=300)
RULES = ROOT / "config/proposals"
DOUBLING = Rule("d", "1.5 a doubling", "speedup_per_doubling", (Limit(1.5),), "here")
LABELS = Labels(Facts.of({"cases": {"duct": {"title": "Duct_1 & 50 %"}}}))


def table(runs, rule=DOUBLING, chosen=SETTINGS, **more):
    cores_per_node = more.get("cores_per_node")
    rows = [proposal_columns(curve, rule, chosen, cores_per_node) for curve in curves(runs, chosen)]
    return finished("proposal", rows)


@pytest.fixture
def exact_runs():
    """Five equal blocks, so that intervals are points."""
    return runs_table(
        rows("duct", None, {1: 12.0}, (1,) * 5), rows("duct", "gigabit", {2: 8.0, 8: 2.0, 16: 1.6}, (1,) * 5)
    )


def test_the_columns_by_hand(exact_runs):
    judged = table(exact_runs).set_index("ranks")
    assert judged["speedup"].tolist() == pytest.approx([1, 1.5, 6, 7.5])
    assert judged["efficiency"].tolist() == pytest.approx([1, 0.75, 0.75, 7.5 / 16])
    assert judged["incremental_efficiency"].iloc[1:].tolist() == pytest.approx([0.75, 1, 0.625])
    assert judged["node_hours"].tolist() == pytest.approx([12 / 3600, 16 / 3600, 16 / 3600, 25.6 / 3600])
    assert judged["ranks_per_node"].tolist() == [1, 1, 1, 1]
    assert judged["n"].tolist() == [5, 5, 5, 5]
    # from 2 to 8 processes 4 times faster in two doublings, from 8 to 16 1.25 times in one
    assert judged["value"].iloc[1:].tolist() == pytest.approx([1.5, 2, 1.25])
    assert judged["verdict"].iloc[1:].tolist() == ["pass", "pass", "fail"]
    assert judged.loc[1, "note"] == "reference"
    assert np.isnan(judged.loc[1, "value"])


def test_one_and_a_half_times_a_doubling_is_a_power_of_the_ratio():
    """T(2) / T(6) >= 1.5^log2(3) = 1.902: 8 s pass with 4.2 s and fail with 4.21 s."""
    for seconds, verdict in ((4.2, "pass"), (4.21, "fail")):
        runs = runs_table(rows("duct", "gigabit", {2: 8.0, 6: seconds}, (1,) * 5))
        assert table(runs)["verdict"].iloc[-1] == verdict
        assert (8 / seconds >= 1.5 ** np.log2(3)) == (verdict == "pass")


@pytest.mark.parametrize("quantity", ["efficiency", "incremental_efficiency"])
def test_other_quantities(exact_runs, quantity):
    rule = Rule("e", "75 %", quantity, (Limit(0.75),), "here")
    assert table(exact_runs, rule)["verdict"].iloc[1:].tolist() == ["pass", "pass", "fail"]


def test_an_interval_across_the_limit_is_undecided():
    outcomes = judge(
        *np.array([[1.6, 1.6, 1.4, 1.6, 1.4], [1.5, 1.4, 1.2, np.nan, np.nan]]),
        *np.array([[1.7, 1.7, 1.45, np.nan, np.nan], [1.5] * 5]),
    )
    assert outcomes.tolist() == ["pass", "undecided", "fail", *UNTESTED]
    noisy = (0.8, 0.9, 1.0, 1.0, 1.1, 1.2)
    runs = runs_table(rows("duct", None, {1: 12.0}), rows("duct", "gigabit", {2: 8.0}, noisy))
    row = table(runs).iloc[-1]
    assert row["value_low"] < 1.5 < row["value_high"]
    assert row["verdict"] == "undecided"


@pytest.mark.parametrize("blocks", [1, 2, 4])
def test_too_few_blocks_for_an_interval_decide_nothing(blocks):
    runs = runs_table(
        rows("duct", None, {1: 12.0}, (1,) * blocks), rows("duct", "gigabit", {2: 6.0, 4: 5.0}, (1,) * blocks)
    )
    assert table(runs)["verdict"].iloc[1:].tolist() == list(UNTESTED)


def test_limits_by_the_number_of_cores(exact_runs):
    rule = Rule("n", "n", "speedup_per_doubling", (Limit(1.6, 2), Limit(1.2, 8)), "here")
    judged = table(exact_runs, rule).set_index("ranks")
    assert judged["at_least"].iloc[1:3].tolist() == [1.6, 1.2]
    assert judged["verdict"].iloc[1:3].tolist() == ["fail", "pass"]
    assert judged.loc[16, "note"] == "the rule has no minimum for this number of cores"
    assert judged["verdict"].isna().tolist() == [True, False, False, True]


def test_the_smallest_count_is_the_reference_where_there_is_no_serial_run():
    runs = runs_table(rows("duct", "gigabit", {2: 8.0, 4: 4.0}, (1, 1), nodes=None))
    judged = table(runs, cores_per_node=2)
    assert judged["reference_interconnect"].tolist() == ["gigabit", "gigabit"]
    assert judged["reference_processes"].tolist() == [2, 2]
    assert judged["note"].iloc[0] == "reference"
    assert judged["nodes"].tolist() == [1, 2]
    assert table(runs)["nodes"].isna().all()


def test_weak_scaling_is_judged_by_work_a_second():
    runs = runs_table(
        rows("duct", None, {1: 10.0}, (1, 1)), rows("duct", "gigabit", {2: 10.0, 4: 20.0}, (1, 1))
    )
    judged = table(runs, chosen=Settings(draws=100, scaling="weak"))
    assert judged["value"].iloc[1:].tolist() == [2, 1]
    assert judged["efficiency"].tolist() == [1, 1, 0.5]


def test_the_outcome_in_a_sentence(exact_runs):
    judged = table(exact_runs)
    assert outcome_text(judged) == "The curve passes up to 8 ranks and fails at 16 ranks."
    assert outcome_text(judged[judged["ranks"] <= 8]) == "The curve passes up to 8 ranks."
    assert (
        outcome_text(judged[judged["ranks"] > 8])
        == "The curve passes at no number of ranks and fails at 16 ranks."
    )
    assert outcome_text(judged[judged["ranks"] == 1]) == "The rule judges none of these runs."
    judged.loc[judged["ranks"] == 16, "verdict"] = UNTESTED[1]
    assert outcome_text(judged) == "The curve passes up to 8 ranks and would fail at 16 ranks (untested)."
    judged.loc[judged["ranks"] == 8, "verdict"] = UNTESTED[0]
    assert outcome_text(judged) == (
        "The curve passes up to 2 ranks, would pass up to 8 ranks (untested) and would fail at 16 ranks "
        "(untested)."
    )
    assert outcome_text(judged[judged["ranks"] == 8]) == "The curve would pass up to 8 ranks (untested)."
    assert outcome_text(judged[judged["ranks"] == 16]) == (
        "The curve passes at no number of ranks and would fail at 16 ranks (untested)."
    )


@pytest.mark.parametrize("file", sorted(RULES.glob("*.yaml")), ids=lambda file: file.stem)
def test_the_rules_that_come_with_the_project(file, exact_runs):
    rule = read_rule(file)
    assert rule.name == file.stem
    assert table(exact_runs, rule)["rule"].unique().tolist() == [rule.name]


def test_a_rule_by_size():
    rule = read_rule(RULES / "notur_hexagon.yaml")
    assert [rule.at_least(cores) for cores in (2, 512, 513, 1024, 2048)] == [1.5, 1.5, 1.4, 1.4, 1.3]
    assert np.isnan(rule.at_least(2049))


GOOD = "name: mine\ntitle: Mine\nquantity: efficiency\nlimits: [{at_least: 0.5}]\nsource: me\n"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("quantity: efficiency", "quantity: speed", "key 'quantity': 'speed' is not one of"),
        ("0.5", "-1", "key 'limits[0].at_least': -1 is less than or equal to the minimum of 0"),
        ("source: me", "colour: red", "'colour'"),
        ("[{at_least: 0.5}]", "[]", "key 'limits': "),
        ("0.5}", "1}, {at_least: 2}", "key 'limits': up_to_cores must increase"),
        ("title", "name", "line 2: key 'name' is there twice"),
        ("[", "{", "line 4"),
        (GOOD, "", "is not of type 'object'"),
    ],
)
def test_a_bad_rule_is_reported_in_one_line(tmp_path, old, new, message):
    file = tmp_path / "rule.yaml"
    file.write_text(GOOD.replace(old, new))
    refused = refusal(TableError, read_rule, file)
    assert refused.startswith(str(file)) and message in refused


def test_a_missing_rule(tmp_path):
    with pytest.raises(TableError, match="there is no such file"):
        read_rule(tmp_path / "none.yaml")


def test_latex(exact_runs):
    text = to_latex(sheets(table(exact_runs), DOUBLING, LABELS))
    assert r"\caption{Duct\_1 \& 50 \% over Gigabit." in text
    assert "the serial run of 12.0" in text
    assert r"2 & 2 & 1 & 8.00 & 5 & 1.50 & 0.750 & 0.750 & 0.00444 & 1.50 & pass \\" in text
    for name in ("table", "tabular"):
        assert text.count(rf"\begin{{{name}}}") == text.count(rf"\end{{{name}}}") == 1
    assert [text.count(rule) for rule in (r"\toprule", r"\midrule", r"\bottomrule")] == [1, 1, 1]
    lines = [line for line in text.splitlines() if line.endswith(r" \\")]
    assert {line.count(" & ") for line in lines} == {10}
    assert text.isascii()


def test_the_caption_explains_times_and_brackets(exact_runs):
    (few,) = sheets(table(exact_runs), DOUBLING, LABELS)
    assert "Times are medians over n blocks. " in few.caption
    assert (
        "95\u202f% intervals. Intervals of times have a confidence of 93.8\u202f% instead of 95\u202f%."
        in few.caption
    )  # five blocks cover no more
    band = {"kind": "simulated", "seconds_low": 3.9, "seconds_high": 4.1}
    simulated = runs_table(rows("duct", "gigabit", {2: 4.0, 4: 4.0}, (1,), **band))
    (sheet,) = sheets(table(simulated), DOUBLING, LABELS)
    assert "Times are simulated. " in sheet.caption
    assert "Brackets contain the uncertainty band of the simulation." in sheet.caption
    assert sheet.rows[0][3:5] == ("4.00 [3.90, 4.10]", "–")


def test_unknown_values_are_dashes():
    runs = runs_table(rows("duct", "gigabit", {2: 8.0, 4: 4.0}, (1,), nodes=None))
    (sheet,) = sheets(table(runs), DOUBLING, LABELS)
    assert sheet.rows[1] == ("–", "4", "–", "4.00", "1", "2.00", "1.00", "1.00", "–", "2.00", UNTESTED[0])


def test_latex_escapes():
    assert latex_text("a_b & 5 % {x} ~ ^ \\ $ #") == (
        r"a\_b \& 5 \% \{x\} \textasciitilde{} \textasciicircum{} \textbackslash{} \$ \#"
    )
    assert latex_text("−1 × ∞ –") == r"$-$1 $\times$ $\infty$ --"


def test_word(tmp_path, exact_runs):
    file = tmp_path / "table.docx"
    pages = sheets(table(exact_runs), DOUBLING, LABELS)
    write_word(pages, file, "Scaling of \x0bmine")
    document = docx.Document(str(file))
    assert document.paragraphs[0].text == "Scaling of mine"
    assert document.paragraphs[1].text == pages[0].caption
    cells = [[cell.text for cell in row.cells] for row in document.tables[0].rows]
    assert cells == [list(pages[0].header), *(list(row) for row in pages[0].rows)]
    assert [path.name for path in tmp_path.iterdir()] == ["table.docx"]


def test_one_sheet_a_curve():
    runs = runs_table(
        rows("duct", None, {1: 12.0}), rows("duct", "gigabit", {2: 8.0}), rows("duct", "infiniband", {2: 6.0})
    )
    rule = Rule("e", "75 %", "efficiency", (Limit(0.75),), "here", "A note.")
    pages = sheets(table(runs, rule), rule, LABELS)
    assert ["Gigabit" in pages[0].caption, "InfiniBand" in pages[1].caption] == [True, True]
    assert all(len(row) == len(sheet.header) == 10 for sheet in pages for row in sheet.rows)
    assert "Rule: 75 % (here). A note." in pages[0].caption
