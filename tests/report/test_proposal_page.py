"""The page of a proposal: one curve per case, two pages for any study, and omissions are stated."""

import io
from dataclasses import replace

import docx
import numpy as np
import pandas as pd
import pypdf
import pytest
from made_tables import conform
from small_runs import rows, runs_table

from analysis.curves.curves import all_curves, ranking
from analysis.presentation.labels import Labels
from analysis.runs.facts import Facts
from analysis.runs.frames import stacked
from analysis.runs.settings import Limit, Rule, Settings
from analysis.topics.proposal.section import MOST_COUNTS, Choice, choose, page
from analysis.topics.proposal.sheets import sheets, to_latex, write_word
from analysis.topics.proposal.topic import proposal_columns
from workflows.report.pdf import write_proposal

RULE = Rule("d", "1.5 a doubling", "speedup_per_doubling", (Limit(1.5),), "here")
LABELS = Labels(
    Facts.of({"study": {"name": "s", "title": "A study"}, "cases": {"duct": {"title": "Duct"}}}), full=True
)
SETTINGS = Settings(draws=100)


def proposal(runs):
    rows = [
        proposal_columns(curve, RULE, SETTINGS, None)
        for curves in all_curves(runs, ranking(runs), SETTINGS)
        for curve in curves
    ]
    return conform("proposal", stacked(rows))


def two_curves(**more):
    return (
        rows("duct", None, {1: 12.0}, (1, 1)),
        rows("duct", "slow", {2: 8.0, 4: 6.0}, (1, 1), **more),
        rows("duct", "fast", {2: 7.0, 4: 4.0}, (1, 1), **more),
    )


def many(cases, interconnects, counts, name="case"):
    """Many points of two equal blocks each, as long as the longest table gets."""
    groups = []
    for case in range(cases):
        groups.append(rows(f"{name}_{case}", None, {1: 1000.0}, (0.9, 1.1)))
        for number in range(interconnects):
            times = {count: 1000 / count + number for count in counts}
            groups.append(rows(f"{name}_{case}", f"interconnect_{number}", times, (0.9, 1.1)))
    return runs_table(*groups)


def print_pages(table, labels, tmp_path):
    choice = choose(table, RULE, labels)
    file = tmp_path / "proposal.pdf"
    shown = write_proposal(lambda number: page(choice, number, labels), len(choice.sheets), file)
    reader = pypdf.PdfReader(io.BytesIO(file.read_bytes()))
    text = " ".join(" ".join(part.extract_text() for part in reader.pages).split())
    return len(reader.pages), shown, text


def titles(choice):
    return [sheet.title for sheet in choice.sheets]


class TestChoice:
    def test_the_highest_speedup(self):
        choice = choose(proposal(runs_table(*two_curves())), RULE, LABELS)
        assert titles(choice) == ["Duct over fast."]
        assert choice.curves == 2

    def test_the_studys_choice(self):
        choice = choose(proposal(runs_table(*two_curves())), RULE, LABELS, "slow")
        assert titles(choice) == ["Duct over slow."]
        assert (
            "the curve of slow. Cases without this curve show the curve with the highest speedup."
            in choice.introduction
        )

    def test_a_choice_that_a_case_lacks(self):
        runs = runs_table(*two_curves(), rows("wing", "fast", {2: 7.0, 4: 4.0}, (1, 1)))
        assert titles(choose(proposal(runs), RULE, LABELS, "slow")) == ["Duct over slow.", "wing over fast."]

    def test_kinds_are_not_compared(self):
        """The simulated curve is faster, and is not taken where there is a measured one."""
        quick = rows("duct", "quick", {2: 2.0, 4: 1.0}, (1,), kind="simulated")
        assert titles(choose(proposal(runs_table(*two_curves(), quick)), RULE, LABELS)) == ["Duct over fast."]

    def test_the_kind_comes_before_the_speedup(self):
        quick = rows("duct", "quick", {2: 2.0, 4: 1.0}, (1,), kind="simulated")
        choice = choose(proposal(runs_table(*two_curves(), quick)), RULE, LABELS)
        assert (
            "run: the curve with the highest speedup of its measured, else simulated runs."
            in choice.introduction
        )
        alone = choose(proposal(runs_table(*two_curves())), RULE, LABELS)
        assert "run: the curve with the highest speedup." in alone.introduction

    def test_the_lowest_oversubscription(self):
        doubled = rows("duct", "fast", {4: 3.0, 8: 2.0}, (1, 1), oversubscription=2)
        (sheet,) = choose(proposal(runs_table(*two_curves(), doubled)), RULE, LABELS).sheets
        assert [row[1] for row in sheet.rows] == ["1", "2", "4"]

    def test_many_counts_are_thinned_with_a_note(self):
        runs = many(1, 1, range(2, 40))
        choice = choose(proposal(runs), RULE, LABELS)
        ranks = [int(row[1]) for row in choice.sheets[0].rows]
        assert len(ranks) == MOST_COUNTS
        assert (ranks[0], ranks[-1]) == (1, 39)
        assert max(np.diff(ranks)) - min(np.diff(ranks)) <= 1
        assert "process counts beyond 12 per curve" in page(choice, 1, LABELS)["paragraphs"][1]

    def test_curves_that_do_not_fit_are_named(self):
        choice = choose(proposal(many(8, 2, (2, 4))), RULE, LABELS)
        paragraph = page(choice, 2, LABELS)["paragraphs"][1].replace("\xa0", " ")
        assert paragraph == (
            "This page leaves out 8 other curves and 6 cases without space (case 2, case 3, case 4, case 5 and 2 "
            "more). The whole table is in tables/proposal.csv, proposal.tex and proposal.docx."
        )
        assert len(page(choice, 2, LABELS)["sheets"]) == 2

    def test_nothing_is_left_out_of_a_small_study(self):
        runs = runs_table(rows("duct", "fast", {2: 7.0, 4: 4.0}, (1, 1)))
        assert len(page(choose(proposal(runs), RULE, LABELS), 1, LABELS)["paragraphs"]) == 1


class TestPdf:
    def test_eight_cases_ten_interconnects_eight_counts(self, tmp_path):
        table = proposal(many(8, 10, (2, 4, 8, 16, 32, 64, 128)))
        pages, shown, text = print_pages(table, LABELS, tmp_path)
        assert pages <= 2
        assert shown == 8
        assert (
            "The curve would pass up to 128 ranks (untested)." in text
            and "2.00 would pass (untested)" in text
        )
        for case in range(8):
            assert f"case {case} over interconnect_0." in text

    def test_more_cases_than_fit(self, tmp_path):
        pages, shown, text = print_pages(proposal(many(30, 1, range(2, 30))), LABELS, tmp_path)
        assert pages == 2
        assert 4 <= shown < 30
        assert f"{30 - shown} cases without space" in text

    def test_names_that_are_far_too_long(self, tmp_path):
        labels = Labels(Facts.of({"study": {"title": "word" * 500}}))
        pages, shown, _ = print_pages(proposal(many(2, 1, (2, 4), name="long_" * 200)), labels, tmp_path)
        assert (pages, shown) == (1, 2)

    def test_a_wide_sheet_ends_where_the_page_does(self, tmp_path):
        (sheet,) = choose(proposal(runs_table(rows("duct", "a", {2: 7.0}, (1, 1)))), RULE, LABELS).sheets
        cells = ("16", "32", "2", "0.621 [0.537, 0.721]", "–", "1.83 [1.39, 2.47]", "0.0573 [0.0435, 0.0771]",
                 "0.457 [0.360, 0.648]", "0.00276", "0.914 [0.720, 1.295]", "undecided")  # fmt: skip
        assert len(cells) == len(sheet.header)
        choice = Choice((replace(sheet, rows=(cells,)),), ("duct",), 1, False, "A rule.")
        file = tmp_path / "proposal.pdf"
        write_proposal(lambda number: page(choice, number, LABELS), 1, file)
        ends = []

        def visit(text, transformation, matrix, _, size):
            if "undecided" in text:
                ends.append(matrix[4] * transformation[0] + transformation[4] + len("undecided") * size * 0.4)

        (paper,) = pypdf.PdfReader(file).pages
        paper.extract_text(visitor_text=visit)
        margin = 18 * 72 / 25.4
        assert ends and max(ends) <= float(paper.mediabox.width) - margin

    def test_the_first_figure_of_all_cases_is_on_it(self, tmp_path):
        (tmp_path / "overview-1.svg").write_text(
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 20"><path d="M0 0L40 20" stroke="red"/></svg>'
        )
        choice = choose(proposal(runs_table(*two_curves())), RULE, LABELS)
        entries = [{"name": name, "topic": name.partition("-")[0], "caption": f"This is {name}.", "alt": "A line", "height_inches": 2}
                   for name in ("answer", "overview-1", "overview-2", "scaling")]  # fmt: skip
        file = tmp_path / "proposal.pdf"
        write_proposal(lambda number: page(choice, number, LABELS, entries), 1, file, tmp_path)
        (paper,) = pypdf.PdfReader(file).pages
        assert "This is overview-1." in paper.extract_text()

    def test_no_run_at_all(self, tmp_path):
        pages, shown, text = print_pages(conform("proposal", pd.DataFrame()), LABELS, tmp_path)
        assert (pages, shown) == (1, 0)
        assert "There is no run to judge." in text


def test_tables_to_paste_have_every_curve(tmp_path):
    pages = sheets(proposal(many(2, 3, (2, 4))), RULE, LABELS)
    text = to_latex(pages)
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") == 6
    write_word(pages, tmp_path / "proposal.docx", "A study")
    pasted = docx.Document(str(tmp_path / "proposal.docx")).tables
    assert len(pasted) == 6
    assert (
        pasted[0].rows[-1].cells[-1].text == "would pass (untested)" and r"& would pass (untested) \\" in text
    )


@pytest.mark.parametrize("letter", ["#", "$", "*", "_", "@", "\\", "<", '"', "]"])
def test_letters_that_mean_something_to_the_printer(letter, tmp_path):
    labels = Labels(Facts.of({"study": {"title": "A study"}, "cases": {"duct": {"title": f"a{letter}b"}}}))
    _, _, text = print_pages(proposal(runs_table(*two_curves())), labels, tmp_path)
    assert f"a{letter}b over fast." in text
