"""The further blocks that Nodeworth offers at the end of a study, on the terminal and on page one."""

import json
from pathlib import Path

import pytest
from report_parts import plain
from synthetic_study import make_runs, make_study

from analysis.pipeline import write_tables
from analysis.presentation.contests import find_contests
from analysis.report.certainty import how_sure
from analysis.topics.precision import make_precision
from workflows.paths import StudyPaths
from workflows.plan.announce import offer_of_blocks


@pytest.fixture(scope="module")
def study():
    """Three blocks of two cases: too few for any test of the table."""
    return wide(*make_study(make_runs(3, levels=(1,)), compare_kinds=[]))


def wide(runs, tables, facts):
    """The study with intervals that are wider than their target."""
    precision = make_precision(tables["improvement"], 5.0)
    return runs, {**tables, "precision": precision}, facts


def offered(folder: Path, study) -> str:
    """The offer on the terminal for the results of a study."""
    runs, tables, facts = study
    runs.to_parquet(folder / "runs.parquet", index=False)
    write_tables(tables, folder / "tables")
    (folder / "facts.json").write_text(json.dumps(facts.as_json()))
    (folder / "report.pdf").touch()
    return offer_of_blocks(StudyPaths(folder))


def test_terminal_and_page_one_offer_the_same_blocks_in_the_same_time(tmp_path, study):
    runs, tables, facts = study
    start, offer = offered(tmp_path, study).split(": ", 1)
    needed = int(tables["improvement"]["blocks_needed"].max())
    assert start == "open comparisons" and offer.startswith(f"{needed - 3} more blocks, about 2 minutes, ")
    assert offer.endswith(f"(./run-study {facts.study.file} --config blocks={needed})")
    page_one = plain(how_sure(runs, tables, find_contests(tables, []), facts))
    assert page_one.endswith(f": {offer}.")


def test_the_time_of_further_blocks_is_that_of_the_measured_blocks(tmp_path, study):
    runs, tables, facts = study
    slow = runs.assign(wall_seconds=runs["seconds"] * 60)
    assert "about 2 minutes" not in offered(tmp_path, (slow, tables, facts))


def test_results_without_a_report_get_no_offer(tmp_path):
    assert offer_of_blocks(StudyPaths(tmp_path)) == ""


def test_a_study_that_chooses_its_blocks_gets_no_offer(tmp_path):
    target = {"interval_percent": 5.0, "max_blocks": 9, "least_blocks": 3, "limit_core_hours": 1.0,
              "half_width_percent": 6.0, "core_hours": 0.1, "reached": False, "reason": "blocks"}  # fmt: skip
    stops = wide(*make_study(make_runs(3, levels=(1,)), compare_kinds=[], until=target))
    assert offered(tmp_path, stops) == ""
