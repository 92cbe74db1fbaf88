"""Reports that count as looks at a study, and complete blocks."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from refused import refusal
from small_records import record
from study_files import study_file

from analysis.runs.facts import AboutStudy, AboutTarget, Facts
from workflows.domain import InputError
from workflows.paths import ROOT
from workflows.plan.plan import make_plan
from workflows.plan.record import Record
from workflows.results.looks import looks, note_look, recorded_blocks, valid_starts

STUDY = f"""
name: small
cases: [harmonic-smoke]
cases_folder: {ROOT}/tests/cases
interconnects: [shared_memory]
processes: [1, 2]
blocks: 3
"""


@pytest.fixture
def design(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return make_plan(study_file(tmp_path, STUDY)).design


def records(design, *blocks):
    """A record of each point in some blocks."""
    kept = record(cluster=None)
    columns = {key: getattr(kept, key) for key in ("study", "application", "kind", "repetition", "attempt")}
    columns |= {"started": kept.started}
    return [
        Record.of_point(point, **columns, block=block, inputs=design.inputs(point))
        for block in blocks
        for point in design.points
    ]


def test_a_block_is_whole_once_all_of_its_points_are_recorded(design):
    assert recorded_blocks(design, []) == 0
    assert recorded_blocks(design, records(design, 1, 2)) == 2
    assert recorded_blocks(design, records(design, 1, 2, 3)[:-1]) == 2
    assert recorded_blocks(design, records(design, 1, 2, 3)) == 3


def test_recorded_blocks_beyond_the_study_count(design):
    """After blocks=5 on the command line, the study file asks for three blocks again."""
    assert recorded_blocks(design, records(design, 1, 2, 3, 4, 5)) == 5
    assert recorded_blocks(design, records(design, 1, 2, 3, 4, 5)[:-1]) == 4
    assert recorded_blocks(design, records(design, 1, 2, 4, 5)) == 2


def test_records_of_other_inputs_and_of_jobs_that_ended_do_not_make_a_block_whole(design):
    *others, last = records(design, 1, 2, 3)
    assert recorded_blocks(design, [*others, replace(last, inputs={"case": "old"})]) == 2
    assert recorded_blocks(design, [*others, replace(last, interrupted=True)]) == 2
    assert recorded_blocks(design, [*others, *[replace(last, interrupted=True)] * 3]) == 3


def test_points_that_cannot_be_run_here_count_by_their_records(design):
    nothing = replace(design, points=())
    assert recorded_blocks(nothing, []) is None
    assert recorded_blocks(nothing, records(design, 1, 2)) == 2


def facts(blocks, recorded=None, **study):
    recorded = blocks if recorded is None else recorded
    return Facts(study=AboutStudy(blocks=blocks, blocks_recorded=recorded, **study), made="2026-11-23")


def tables(verdict="not distinguishable", p_value=0.4, least_p=0.03):
    """A table with one comparison."""
    columns = {"p_value": p_value, "least_p": least_p, "verdict": verdict}
    return {"improvement": pd.DataFrame([columns]), "peaks": pd.DataFrame({"reached": [True]})}


@pytest.mark.parametrize(
    ("made", "names_baseline", "is_look"),
    [
        (tables(), True, True),
        (tables("untestable with 5 blocks", least_p=0.06), False, False),
        (tables("untestable with 6 blocks"), True, False),  # one of two comparisons
        (tables("untestable with 6 blocks"), False, True),  # the title tests it without correction
        (tables(None, np.nan, np.nan), True, False),
        ({}, True, False),
    ],
)
def test_a_report_that_could_not_decide_a_comparison_is_no_look(tmp_path, made, names_baseline, is_look):
    file = tmp_path / "looks.json"
    note_look(file, facts(6, names_baseline=names_baseline), made)
    assert looks(file, 8, whole=True) == ([6, 8] if is_look else [8])


def test_looks_are_whole_reports_of_more_blocks(tmp_path):
    file = tmp_path / "looks.json"
    assert looks(file, 6, whole=True) == [6] and looks(file, 6, whole=False) == []
    for study_facts in (facts(6, 2), facts(6), facts(6), facts(12, 7), facts(12)):
        note_look(file, study_facts, tables())
    assert [look["blocks"] for look in json.loads(file.read_text())["looks"]] == [6, 12]
    assert looks(file, 24, whole=True) == [6, 12, 24] and looks(file, 24, whole=False) == [6, 12]
    assert looks(file, 12, whole=True) == [6, 12]  # made again, it is the look that it was
    assert looks(file, 6, whole=True) == [
        6,
        12,
    ]  # a smaller number in the study hides no run that was looked at


def test_a_report_of_runs_that_no_longer_count_is_no_look(tmp_path):
    """The case was edited after the reports of 6 and 12 blocks, and then the edit was undone."""
    file = tmp_path / "looks.json"
    before, after = {"2026-11-20T12:00", "2026-11-20T12:01"}, {"2026-11-24T12:00"}
    for study_facts in (facts(6), facts(12)):
        note_look(file, study_facts, tables(), before)
    assert looks(file, 6, True, after) == [6] and looks(file, 9, True, after) == [9]
    for _ in range(2):
        note_look(file, replace(facts(8), made="2026-11-25"), tables(), after)
    assert [look["blocks"] for look in json.loads(file.read_text())["looks"]] == [6, 12, 8]
    assert looks(file, 9, True, after) == [8, 9]
    assert looks(file, 9, True, before) == [6, 12, 9]
    assert looks(file, 12, True, before | {"2026-11-26T12:00"}) == [6, 12]


def test_a_look_of_an_earlier_version_counts_if_its_report_is_younger_than_the_first_run(tmp_path):
    file = tmp_path / "looks.json"
    file.write_text('{"looks": [{"blocks": 6, "made": "2026-11-23"}]}')
    assert looks(file, 8, True, {"2026-11-22T12:00"}) == [6, 8]
    assert looks(file, 8, True, {"2026-11-24T12:00"}) == [8]


def test_runs_that_count_are_valid_runs_of_the_study():
    runs = pd.DataFrame({"started": list("acb"), "origin": "run", "valid": (False, True, True)})
    imported = runs.assign(started=list("def"), origin="import", valid=True)
    assert valid_starts(pd.concat([runs, imported])) == {"c", "b"}


def test_imports_alone_and_studies_with_a_target_have_no_looks(tmp_path):
    file = tmp_path / "looks.json"
    target = AboutTarget(5.0, 20, 6, 1.0, 4.0, 0.5, True, "the target was reached")
    note_look(file, facts(8, until=target), tables())
    note_look(file, Facts(study=AboutStudy(blocks=6)), tables())
    assert not file.exists()


def test_a_study_with_a_target_is_unfinished_until_it_stops():
    target = AboutTarget(5.0, 20, 6, 1.0, 7.0, 0.5, False, None)
    assert facts(8, until=target).study.unfinished
    assert not facts(8, until=replace(target, reason="20 blocks are the most")).study.unfinished


@pytest.mark.parametrize(
    ("look", "alpha"), [((), 0.05), ((6,), 0.05), ((6, 12), 0.0125), ((6, 12, 24), 0.00625)]
)
def test_each_look_halves_the_level(look, alpha):
    settings = facts(24, looks=look).all_settings()
    assert settings.alpha == alpha and not settings.unfinished


def test_mistakes_are_one_line(tmp_path):
    file = tmp_path / "looks.json"
    file.write_text('{"looks": [{"blocks": 0, "made": null}]}')
    assert refusal(InputError, looks, file, 6, True) == f"{file}: looks[0].blocks: 0 is too small; at least 1"
    file.write_text("[")
    assert "is no JSON" in refusal(InputError, looks, file, 6, True)
