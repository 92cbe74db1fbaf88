"""The further blocks that Nodeworth offers at the end of a study, on the terminal and on page one."""

import json
from pathlib import Path

import numpy as np
import pytest
from report_parts import plain
from synthetic_study import make_runs, make_study

from analysis.pipeline import write_tables
from analysis.presentation.content import Content
from analysis.presentation.contests import find_contests
from analysis.report.certainty import how_sure
from analysis.report.page_one import page_one
from analysis.runs.settings import SIZE_OF_USERS
from analysis.topics.precision import make_precision
from analysis.topics.quality.section import quality
from analysis.topics.quality.sentences import short_sentences
from workflows.paths import StudyPaths
from workflows.plan.announce import closing_lines


@pytest.fixture(scope="module")
def study():
    """Three blocks of two cases: too few for any test of the table."""
    return wide(*make_study(make_runs(3, levels=(1,)), compare_kinds=[]))


def wide(runs, tables, facts):
    """The study with intervals that are wider than their target."""
    precision = make_precision(tables["improvement"], 5.0)
    return runs, {**tables, "precision": precision}, facts


def closing(folder: Path, study) -> list[str]:
    """The last lines on the terminal for the results of a study."""
    runs, tables, facts = study
    runs.to_parquet(folder / "runs.parquet", index=False)
    write_tables(tables, folder / "tables")
    (folder / "facts.json").write_text(json.dumps(facts.as_json()))
    (folder / "report.pdf").touch()
    return closing_lines(StudyPaths(folder))


def test_terminal_and_page_one_offer_the_same_blocks_in_the_same_time(tmp_path, study):
    runs, tables, facts = study
    (line,) = closing(tmp_path, study)
    start, offer = line.split(": ", 1)
    needed = int(tables["improvement"]["blocks_needed"].max())  # three blocks decide nothing: no look
    assert start == "undecided comparisons"
    assert offer.startswith(f"{needed - 3} more blocks take about 2 minutes and ")
    assert offer.endswith(f": ./run-study {facts.study.file} --config blocks={needed}")
    page_one = plain(how_sure(runs, tables, find_contests(tables, []), facts))
    assert page_one.endswith(f". {offer}.")


def test_the_time_of_further_blocks_is_that_of_the_measured_blocks(tmp_path, study):
    runs, tables, facts = study
    slow = runs.assign(wall_seconds=runs["seconds"] * 60)
    (line,) = closing(tmp_path, (slow, tables, facts))
    assert "more blocks" in line and "about 2 minutes" not in line


@pytest.fixture(scope="module")
def scattered():
    """Twelve blocks of a case with an undecided comparison whose interval is wide."""
    runs = make_runs(12, levels=(1,), cases=("elbow",))
    loopback = runs["interconnect"] == "loopback"
    runs.loc[loopback, "seconds"] *= np.where(runs.loc[loopback, "block"] % 2, 1.5, 0.6)
    return wide(*make_study(runs, compare_kinds=[]))


def wanting(study, blocks):
    runs, tables, facts = study
    precision = tables["precision"].assign(reached=False, blocks_wanted=blocks)
    return runs, {**tables, "precision": precision}, facts


def test_blocks_up_to_ten_times_the_present_blocks_are_offered(tmp_path, scattered):
    (line,) = closing(tmp_path, wanting(scattered, 120))
    assert "undecided comparisons: 108 more blocks take about " in line
    assert "would narrow the intervals of undecided comparisons" in line


def test_absurdly_many_blocks_are_not_offered(tmp_path, scattered):
    runs, tables, facts = wanting(scattered, 34_694)
    width = f"±{tables['precision']['target_percent'].max():g} points"
    excess = f"intervals of {width} would need more than 10 times the present blocks"
    remedy = "Runs with more steps would also narrow the intervals"
    assert closing(tmp_path, (runs, tables, facts)) == [f"undecided comparisons: {excess}. {remedy}"]
    disturbed = runs.assign(foreign_cores=np.where(runs["block"] == 2, 1.0, 0.0))
    number, (line,) = int((runs["block"] == 2).sum()), closing(tmp_path, (disturbed, tables, facts))
    assert line == (
        f"undecided comparisons: {excess}. Runs with more steps and an idle machine would also narrow the "
        f"intervals. Other programs disturbed {number} of {len(runs)} runs"
    )


def test_blocks_of_more_than_a_day_are_not_offered(tmp_path, scattered):
    runs, tables, facts = wanting(scattered, 24)
    runs = runs.assign(wall_seconds=24 * 3600 / (runs["block"] == 1).sum() / 11)
    (line,) = closing(tmp_path, (runs, tables, facts))
    assert "would need more than 24 hours of further blocks. Runs with more steps would also narrow" in line


def test_results_without_a_report_get_no_offer(tmp_path):
    assert closing_lines(StudyPaths(tmp_path)) == []


def test_a_study_that_chooses_its_blocks_gets_no_offer(tmp_path):
    target = {"interval_percent": 5.0, "max_blocks": 9, "least_blocks": 3, "limit_core_hours": 1.0,
              "half_width_percent": 6.0, "core_hours": 0.1, "reached": False, "reason": "blocks"}  # fmt: skip
    stops = wide(*make_study(make_runs(3, levels=(1,)), compare_kinds=[], until=target))
    assert closing(tmp_path, stops) == []


def test_a_main_loop_below_a_second_is_a_remark_on_the_terminal_and_in_the_report(tmp_path, study):
    runs, tables, facts = study
    assert short_sentences(runs) == []
    short = runs.assign(seconds=runs["seconds"].where(runs["case"] != "elbow", 0.4), origin="run")
    (sentence,) = short_sentences(short)
    assert "main loop of elbow takes less than 1 s" in sentence
    first, *_ = closing(tmp_path, (short, tables, facts))
    assert first == plain(sentence)
    section = quality(Content(short, tables, facts, []))
    assert sentence in str(section)
    assert sentence in str(page_one(Content(short, tables, facts, [])))


def test_a_short_run_of_a_users_input_is_a_remark_with_the_range_of_times(study):
    """The other runs are long enough. Users choose the steps, so the limit is higher than for other cases."""
    runs, *_ = study
    is_elbow = runs["case"] == "elbow"
    times = np.where(runs["processes"] == runs["processes"].max(), 0.61, 12.0)
    short = runs.assign(seconds=runs["seconds"].where(~is_elbow, times), origin="run")
    assert short_sentences(short) == []
    (sentence,) = short_sentences(short.assign(size=np.where(is_elbow, SIZE_OF_USERS, "full")))
    assert sentence == (
        "Noise matters in short runs: the timed part of elbow takes 0.61 to 12 s. Use more steps (--steps N) or a "
        "larger input. The timed part should take at least 10 s."
    )
    without_steps = sentence.replace("more steps (--steps N) or ", "")
    assert short_sentences(short.assign(application=np.where(is_elbow, "command", "openfoam"))) == [
        without_steps
    ]
