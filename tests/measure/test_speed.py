"""The fixed piece of work of long repetitions: launched, read and recorded; none with short repetitions."""

import json
import shutil
from dataclasses import replace

import pytest
from study_files import study_file

from workflows.domain import Line, Point
from workflows.launch.execution import Execution
from workflows.measure import measure as measuring
from workflows.measure.measure import measure
from workflows.measure.prepare import prepare, reference_answer
from workflows.measure.speed import FROM_SECONDS, read_fixed_work, speed_of, time_fixed_work
from workflows.paths import ROOT
from workflows.plan.plan import make_plan
from workflows.plan.record import Speed
from workflows.plan.records import read_record

STUDY = f"""
name: timed
title: Timed
question: How fast is the machine?
cases_folder: {ROOT / "tests/cases"}
cases: [harmonic-smoke]
interconnects: [shared_memory]
processes: [1]
blocks: 1
limits: {{core_hours: 1, run_seconds: 60, idle_seconds: 0}}
"""


def printed(*texts, errors="", timed_out=False):
    lines = [Line(0.5, text) for text in texts]
    return Execution(lines, errors, False, 0, None, timed_out, 0.5, 0.2, 0.0, "2026-01-01T12:00:00.000+00:00")


def test_speed_is_that_of_the_slowest_core():
    done = printed("0.051 0.062", "a line of the launcher", "0.049 0.071")
    assert read_fixed_work(done, 2) == (0.051, 0.071, None)


def test_a_silent_core_is_a_problem():
    none = (None, None)
    assert read_fixed_work(printed("0.05 0.06"), 2) == (*none, "1 of 2 cores reported their speed")
    stopped = read_fixed_work(printed(timed_out=True), 1)
    assert stopped == (*none, "0 of 1 cores reported their speed: stopped after 30 s")


def test_a_record_has_the_mean_of_before_and_after():
    speed = speed_of((0.04, 0.06, None), (0.05, 0.07, None))
    assert speed == Speed(0.04, 0.06, 0.05, 0.07) and speed.seconds == pytest.approx(0.11)
    assert speed_of((0.04, 0.06, None), (None, None, "stopped")).seconds is None


def test_it_runs_on_every_core_of_a_point():
    compute, stream, problem = time_fixed_work(Point("harmonic", None, 1, 1, 1, 1), None, ())
    assert problem is None and compute > 0 and stream > 0


@pytest.fixture
def plan(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = make_plan(study_file(tmp_path, STUDY))
    case = made.asked.cases["harmonic-smoke"]
    prepare(case, 1, made.paths.prepared("harmonic-smoke", 1))
    made.paths.expected("harmonic-smoke").write_text(json.dumps(reference_answer(case, tmp_path, 60)))
    return made


def expecting(plan, seconds=0.1, **changes):
    case = replace(plan.asked.cases["harmonic-smoke"], serial_seconds=seconds, **changes)
    asked = replace(plan.asked, measured={"harmonic-smoke": case}, replayed={})
    return replace(plan, design=replace(plan.design, asked=asked))


def test_a_long_repetition_has_it_on_record_and_in_no_other_time(plan):
    long = expecting(plan, FROM_SECONDS)
    [repetition] = long.design.repetitions
    record = measure(long, repetition, 1, ())
    assert record.valid and record.speed.problem is None
    assert read_record(long.paths.record(repetition, 1)).speed == record.speed
    assert record.speed_probe_seconds == pytest.approx(record.speed.seconds)
    assert record.command[-1] == "1" and "harmonic.py" in record.command  # the run's own


def test_nothing_is_launched_with_a_short_one(plan, monkeypatch):
    monkeypatch.setattr(measuring, "time_fixed_work", None)
    [repetition] = plan.design.repetitions
    assert measure(plan, repetition, 1, ()).speed is None


def test_the_page_cache_is_dropped_before_a_case_that_asks_for_it(plan, monkeypatch):
    dropped = []
    monkeypatch.setattr(measuring, "drop_page_cache", lambda: dropped.append(True))
    [repetition] = plan.design.repetitions
    measure(plan, repetition, 1, ())
    assert not dropped
    changed, prepared = expecting(plan, drop_page_cache=True), plan.paths.prepared("harmonic-smoke", 1)
    shutil.rmtree(prepared)
    prepare(changed.asked.cases["harmonic-smoke"], 1, prepared)
    measure(changed, repetition, 2, ())
    assert dropped == [True]
