"""The precision that further blocks would bring, which Nodeworth states at the end of a study."""

from pathlib import Path

import pytest
from study_files import study_file

from workflows.plan.announce import offer_of_blocks
from workflows.plan.plan import Plan, make_plan

STUDY = """
name: of_a_test
title: Of a test
question: Which?
cases: [cavity-4k]
interconnects: [tcp_loopback, shared_memory]
processes: [1, 2]
blocks: 8
limits: {core_hours: 10}
"""


def plan_with(folder: Path, rows: str, study: str = STUDY) -> Plan:
    plan = make_plan(study_file(folder, study))
    plan.paths.results.joinpath("tables").mkdir(parents=True, exist_ok=True)
    table = plan.paths.results / "tables/precision.csv"
    table.write_text(f"case,half_width_percent,target_percent\n{rows}")
    return plan


def test_twenty_minutes_narrow_the_widest_interval(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plan = plan_with(tmp_path, "cavity-4k,3,5\ncavity-4k,6,5\ncavity-4k,,5\n")
    per_block = plan.design.cost.seconds / 8
    further = round(1200 / per_block)
    width = 6 * (8 / (8 + further)) ** 0.5
    assert offer_of_blocks(plan) == (
        f"the widest interval is ±6 %; {further} more blocks (about 20 min) narrow it to about ±{width:.2g} %: "
        f"--config blocks={8 + further}"
    )


def test_a_wide_interval_is_a_plain_number(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    line = offer_of_blocks(plan_with(tmp_path, "cavity-4k,130.4,5\n"))
    assert line and line.startswith("the widest interval is ±130 %; ") and "e+" not in line


@pytest.mark.parametrize("rows", ["cavity-4k,4.9,5\n", "cavity-4k,,5\n", ""])
def test_narrow_or_missing_intervals_get_no_offer(tmp_path, monkeypatch, rows):
    monkeypatch.chdir(tmp_path)
    assert offer_of_blocks(plan_with(tmp_path, rows)) is None


def test_no_offer_beyond_the_core_hours_of_the_study(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    study = STUDY.replace("core_hours: 10", "core_hours: 0.1")
    assert offer_of_blocks(plan_with(tmp_path, "cavity-4k,6,5\n", study)) is None
