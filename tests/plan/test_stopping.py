"""End of a study with a target: by hand, and with real runs of a tiny case."""

import json
from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from small_records import record
from study_files import study_file

from workflows.domain import InputError
from workflows.measure.measure import measure_study
from workflows.measure.prepare import prepare, reference_answer
from workflows.paths import ROOT
from workflows.plan.announce import announcement, check_cost
from workflows.plan.plan import make_plan
from workflows.plan.record import Times
from workflows.plan.records import record_files, recorded_block
from workflows.plan.stopping import core_hours, judge
from workflows.results.collect import runs_table
from workflows.results.facts import stopping
from workflows.results.partial import stopping_by_records
from workflows.study.study import Until, read_study

SMOKE = read_study(ROOT / "config/studies/smoke.yaml")
STUDY = replace(SMOKE, until=Until(5, 10), limits=replace(SMOKE.limits, core_hours=2))


@pytest.mark.parametrize(
    ("blocks", "widths", "hours", "reason"),
    [
        (6, [4.9, 5.0], 0.1, "the target was reached"),
        (6, [4.9, 5.1], 0.1, None),
        (6, [4.9, np.nan], 0.1, None),
        (10, [4.9, np.nan], 0.1, "10 blocks are the most that the study allows"),
        # 1.8 hours for 6 blocks are 0.3 for one: a seventh would make it 2.1.
        (6, [5.1], 1.8, "another block would have exceeded its 2 core hours"),
        (9, [5.1], 1.8, None),
        (6, [4.0], 1.8, "the target was reached"),
        (6, [], 0.1, "nothing was run that has an interval"),
    ],
)
def test_the_rule_by_hand(blocks, widths, hours, reason):
    judgement = judge(STUDY, blocks, pd.Series(widths, dtype=float), hours)
    assert judgement.reason == reason
    assert judgement.reached == (reason == "the target was reached")


def test_core_hours_by_hand():
    ran = [record(cores=2, times=Times(wall_seconds=900)), record(cores=1, times=Times(wall_seconds=1800))]
    assert core_hours([*ran, record(times=Times(), interrupted=True)]) == 1.0


STUDY_FILE = f"""
name: tiny
cases_folder: {ROOT / "tests/cases"}
cases: [harmonic-smoke]
interconnects: [shared_memory, tcp_loopback]
processes: [2]
blocks: 6
until: {{interval_percent: WIDTH, max_blocks: 7}}
limits: {{idle_seconds: 0, core_hours: HOURS}}
"""

ALL_RECORDED = sorted([*range(1, 8)] * 2)


def plan_of(folder, width, hours=2):
    text = STUDY_FILE.replace("WIDTH", str(width)).replace("HOURS", str(hours))
    return make_plan(study_file(folder, text))


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """A study whose target is out of reach, run to its end: its folder."""
    folder = tmp_path_factory.mktemp("until")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        plan = plan_of(folder, width=1e-9)
        case = plan.asked.cases["harmonic-smoke"]
        for processes in (1, 2):
            prepare(case, processes, plan.paths.prepared(case.name, processes))
        answer = reference_answer(case, plan.paths.prepared(case.name, 1), 60)
        plan.paths.expected(case.name).write_text(json.dumps(answer))
        reports = []
        measure_study(plan, StringIO(), stopping_by_records, report=lambda left, say: reports.append(left))
        assert reports == [None] * 7, "after each block, and nobody knows how many are to come"
    return folder


@pytest.fixture
def study_folder(ended, monkeypatch):
    monkeypatch.chdir(ended)
    return ended


def blocks_recorded(plan):
    return sorted(recorded_block(path) for path in record_files(plan.paths))


def test_it_continues_to_its_last_block_and_states_the_reason(study_folder):
    plan = plan_of(study_folder, width=1e-9)
    assert plan.design.blocks == 7 and blocks_recorded(plan) == ALL_RECORDED
    now = stopping(plan, *runs_table(plan))
    assert (now.reached, now.reason) == (False, "7 blocks are the most that the study allows")
    assert now.half_width_percent > 0
    assert now.core_hours > 0


def test_a_stopped_rule_adds_no_blocks(study_folder):
    plan = plan_of(study_folder, width=1e-9)
    before = {path: path.read_bytes() for path in record_files(plan.paths)}
    measured = measure_study(plan, StringIO(), stopping_by_records)
    assert {path: path.read_bytes() for path in record_files(plan.paths)} == before
    assert sorted(measured) == sorted(before)


def test_an_expected_answer_is_read_once_a_case(study_folder, monkeypatch):
    read, read_text = [], Path.read_text

    def counted(file, *args, **kwargs):
        read.append(file.name)
        return read_text(file, *args, **kwargs)

    monkeypatch.setattr(Path, "read_text", counted)
    runs, _ = runs_table(plan_of(study_folder, width=1e-9))
    assert len(runs) == 14 and read.count("reference.json") == 1


def test_a_block_that_was_broken_off_is_completed(study_folder):
    """As after a kill in the middle of the block that had been added."""
    plan = plan_of(study_folder, width=1e-9)
    lost, *kept = [path for path in record_files(plan.paths) if recorded_block(path) == 7]
    content = kept[0].read_bytes()
    lost.unlink()
    log = StringIO()
    measure_study(plan_of(study_folder, width=1e-9), log, stopping_by_records)
    assert blocks_recorded(plan) == ALL_RECORDED
    assert kept[0].read_bytes() == content
    assert log.getvalue().count("block 7") == 1


def test_a_reached_target_or_a_spent_budget_ends_the_study(study_folder):
    spent = "another block would have exceeded its 1e-09 core hours"
    for width, hours, reason in ((1e9, 2, "the target was reached"), (1e-9, 1e-9, spent)):
        plan = plan_of(study_folder, width, hours)
        plan = replace(plan, design=replace(plan.design, blocks=6))
        assert stopping(plan, *runs_table(plan)).reason == reason


def test_the_estimate_has_two_ends(study_folder):
    plan = plan_of(study_folder, width=5)
    assert (plan.design.cost.runs, plan.design.highest_cost.runs) == (12, 14)
    assert "at least 6 blocks, 12 runs, about" in announcement(plan)
    assert ", at most 7 blocks, 14 runs, about" in announcement(plan)
    with pytest.raises(InputError, match=r"limits\.core_hours: 1e-09 is too little: 12 runs"):
        check_cost(plan_of(study_folder, width=5, hours=1e-9))


def test_a_target_changes_the_missing_repetitions(study_folder):
    assert plan_of(study_folder, width=5).design.digest != plan_of(study_folder, width=6).design.digest
