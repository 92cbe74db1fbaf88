"""Reports of an unfinished study, and of a study that was extended after a report."""

from dataclasses import replace

import pandas as pd
import pytest
from made_tables import make_tables
from report_parts import blocks, cells, part, plain, sayings, sentences_of
from small_runs import rows, runs_table
from synthetic_study import make_runs, make_settings, make_whole_study

from analysis.pipeline import draw_figures
from analysis.report import make_report
from analysis.runs.columns import P_VALUES
from analysis.runs.facts import Facts
from analysis.topics.registry import TOPICS


def reported(**study):
    """Tables and report of the same runs, as a study of these facts."""
    made = make_whole_study(make_runs(blocks=8, cases=("elbow",)), **study)
    return made[1], make_report(*made, [drawing.entry() for drawing in draw_figures(*made)])


@pytest.fixture(scope="module")
def unfinished():
    return reported(blocks=20, blocks_recorded=8)


def test_an_unfinished_study_states_no_direction(unfinished):
    tables, report = unfinished
    assert [name for topic in TOPICS for name in topic.directions if len(tables.get(name, ()))] == []
    assert len(tables["scaling"]) and len(tables["peaks"]) and len(tables["precision"])
    assert tables["variability"]["spread_percent"].notna().any()
    for name, table in tables.items():
        assert table[[column for column in table if column in P_VALUES]].isna().all(axis=None), name
    text = plain("\n".join(sayings(report)))
    assert (
        "8 of 20 blocks. Before the last block, Nodeworth shows curves but states no direction."
        in sentences_of(part(report, "answer"))
    )
    for word in ("faster", "slower", "Fastest", "fastest", "distinguishable", "p-value of at most", "p = ", "p < ",
                 "rises up to", "fastest with", "drift", "The spread", "the spread differs"):  # fmt: skip
        assert word not in text
    (figure,) = [block for block in part(report, "answer")["blocks"] if block["type"] == "figure"]
    assert plain(figure["alt"]).startswith("Speedup up to 4 processes, so far. ")
    assert not {"+", "?"} & set(
        "".join(line[1] for line in cells(blocks(part(report, "answer"), "table")[0]))
    )
    assert {"improvement", "equivalents", "fastest", "oversubscription", "turnaround", "money"}.isdisjoint(
        section["id"] for section in report["sections"]
    )
    assert part(report, "case-1") is not None or part(report, "case") is not None


def test_an_interim_page_states_its_progress_and_hides_decisions(unfinished):
    assert plain(unfinished[1]["unfinished"]).startswith("8 of 20 blocks. Before the last block")
    assert unfinished[1]["explore"] is None
    _, left = reported(blocks=20, blocks_recorded=8, seconds_left=1090.0)
    assert plain(left["unfinished"]).startswith("8 of 20 blocks, 18 minutes to go. Before")


def test_a_study_with_repeats_left_states_no_direction():
    """The planned blocks are complete, but a request by --again is not."""
    tables, report = reported(blocks_recorded=8, repeats_left=3)
    assert plain(report["result"]) == "8 of 8 blocks recorded, 3 runs of --again left: no result yet"
    assert plain(report["unfinished"]).startswith(
        "8 of 8 blocks, 3 runs of --again left. Before the last run"
    )
    assert "improvement" not in tables or tables["improvement"].empty


def test_a_complete_study_states_directions():
    tables, report = reported(blocks_recorded=8, looks={"elbow": 1})
    assert report["unfinished"] == "" and report["explore"]
    assert "faster" in set(tables["improvement"]["verdict"])
    assert "states no direction" not in plain("\n".join(sayings(report)))
    assert "p-value of at most 0.05 after" in sentences_of(part(report, "words"))


def test_a_later_look_tests_at_a_smaller_level():
    first, earlier = reported(looks={"elbow": 1})
    second, report = reported(looks={"elbow": 2})
    text = sentences_of(part(report, "answer"))
    assert (
        "were added after an earlier report. Each report with other runs is a look, and makes chance" in text
    )
    assert "This is look 2 at this case, so Nodeworth multiplies the p-values by 2²." in text
    factor = "Holm's correction and a factor for earlier reports"
    assert factor in plain("\n".join(sayings(report))) and factor not in plain("\n".join(sayings(earlier)))
    assert "p-value of at most 0.05 after" in sentences_of(part(report, "words"))
    pd.testing.assert_series_equal(
        (4 * first["improvement"]["p_adjusted"]).clip(upper=1), second["improvement"]["p_adjusted"]
    )
    significant = second["improvement"]["p_adjusted"] <= 0.05
    assert second["improvement"]["distinguishable"].tolist() == significant.tolist()
    assert (second["improvement"]["blocks_needed"] > first["improvement"]["blocks_needed"]).all()


def test_the_title_of_a_later_look_is_tested_at_a_smaller_level():
    """Six blocks reach p = 0.031 for the comparison of the title, and four times as much at look 2."""
    times = {1: 16.0, 2: 8.0, 4: 4.0}
    runs = runs_table(
        rows("duct", "a", times, blocks=(1.0, 1.01, 0.99, 1.02, 0.98, 1.03)),
        rows("duct", "b", times, blocks=(1.4, 1.42, 1.45, 1.39, 1.37, 1.44)),
    )
    titles = []
    for looks in ({"duct": 1}, {"duct": 2}, {"other": 2}):
        study = {"baselines": ["a"], "names_baseline": False, "looks": looks}
        facts = Facts.of({"study": study})
        settings = replace(facts.all_settings(), draws=200)
        titles.append(plain(make_report(runs, make_tables(runs, settings), facts, [])["result"]))
    assert titles[0] == titles[2] == "a with about 3 processes matches b with 4 processes"
    assert titles[1] == "Too few blocks to distinguish b from a"


def test_interim_reports_show_models_and_published_figures():
    runs = make_runs(blocks=8, cases=("elbow",)).assign(kind="published")
    facts_of = make_whole_study(runs, blocks=20, blocks_recorded=8)
    assert make_settings(facts_of[2]).unfinished and len(facts_of[1]["improvement"])
