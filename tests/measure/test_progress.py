"""Progress of a running study: one line per run in a log, one live line on a terminal."""

import io
import os
import re
import select
from dataclasses import replace

import pytest
from small_records import RECORD
from terminals import terminal

from workflows.domain import Point, Repetition
from workflows.measure import progress
from workflows.measure.progress import Progress
from workflows.paths import ROOT
from workflows.plan.record import RunNoise
from workflows.study.cases import load_case

CASE = load_case("cavity-smoke", ROOT / "cases")
OVER = Point("cavity-smoke", "shared_memory", 2, 1, nodes=1, cores=2)
SHOWN = "cavity-smoke, shared_memory, 2 processes, block"


def run_two(file, other_seconds=0.0):
    """Two of the four repetitions of a study: one is valid, one is not."""
    noise = RunNoise(0.0, 0.25, 0.05, 0.0, 0.0)
    records = [
        replace(RECORD, seconds=1.5, attempt=1, valid=True, reason=None, noise=noise),
        replace(RECORD, valid=False, reason="stopped", noise=replace(noise, foreign_cores=0.05)),
    ]
    with Progress({CASE.name: CASE}, 4, [OVER] * 3, [file], other_seconds) as progress:
        for block, record in enumerate(records, 2):
            progress.made(Repetition(OVER, block, ()), record)
        progress.say("report of 1 of 4 blocks")
    return progress.seconds_left


def test_a_log_has_a_line_a_run():
    log = io.StringIO()
    run_two(log)
    lines = log.getvalue().splitlines()
    assert re.fullmatch(rf"\[2/4\] {SHOWN} 2: 1.5 s, about \d+ s left", lines[0])
    assert re.fullmatch(rf"\[3/4\] {SHOWN} 3: INVALID, stopped, about \d+ s left", lines[1])
    assert lines[2:] == ["report of 1 of 4 blocks"]


def test_the_time_left_excludes_a_wait_for_another_study(monkeypatch):
    clock = iter([0.0, 1000.0, 1001.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    log = io.StringIO()
    with Progress({CASE.name: CASE}, 3, [OVER] * 3, [log]) as shown:
        shown.begin()
        shown.made(Repetition(OVER, 1, ()), replace(RECORD, seconds=0.5))
    assert log.getvalue().rstrip().endswith("about 2 s left")


def test_a_log_states_the_waits_for_an_idle_machine():
    log, waited = io.StringIO(), replace(RECORD, seconds=1.5, noise=RunNoise(0.0, 0.0, 0.0, 8.2, 0.7))
    with Progress({CASE.name: CASE}, 2, [OVER] * 2, [log]) as progress:
        progress.show_wait(0.74)
        progress.made(Repetition(OVER, 1, ()), waited)
        progress.show_wait(0.74)
        progress.made(Repetition(OVER, 2, ()), replace(waited, noise=RunNoise(0.0, 0.0, 0.0, 0.1, 0.0)))
    first, *runs = log.getvalue().splitlines()
    assert first == "waiting for an idle machine: 0.7 cores are busy with other work"
    assert [line.endswith(", after 8 s of waiting for an idle machine") for line in runs] == [True, False]


def test_a_terminal_shows_the_wait_for_an_idle_machine():
    with terminal(120) as (screen, shown):
        with Progress({CASE.name: CASE}, 2, [OVER], [screen]) as progress:
            progress.show_wait(1.26)
        written = b""
        while select.select([shown], [], [], 0.5)[0]:
            written += os.read(shown, 65536)
    assert "1/2  waiting for an idle machine: 1.3 cores are busy with other work" in written.decode()


@pytest.mark.parametrize("columns", [0, 60, 100, 200])
def test_a_terminal_has_one_live_line(columns, monkeypatch):
    monkeypatch.setattr(progress.time, "monotonic", lambda: 7.0)  # no time passes
    with terminal(columns) as (screen, shown):
        run_two(screen)
        written = b""
        while select.select([shown], [], [], 0.5)[0]:
            written += os.read(shown, 65536)
    drawn = written.decode()
    live = [re.sub(r"\x1b\[[?\d]*[a-zA-Z]", "", line).rstrip() for line in re.split(r"[\r\n]+", drawn)]
    bars = [line for line in live if line.startswith("[#")]
    assert bars[0] == "[####------------] 1/4"
    done = f"[########--------] 2/4  about 0 s left, 1.5 s for {SHOWN} 2, noise 0.30 cores"
    assert bars[1] == (done if columns > len(done) else f"{done[: (columns or 80) - 2]}…")
    assert bars[2].startswith("[############----] 3/4  about 0 s left, INVALID, stopped")
    assert columns < 200 or bars[2].endswith("noise 0.20 cores")  # the mean of 0.3 and 0.1
    kept = [line for line in live if line and not line.startswith("[#")]
    assert kept[-1] == "report of 1 of 4 blocks"
    assert kept[:-1] == [f"[3/4] {SHOWN} 3: INVALID, stopped, about 0 s left"]


def test_the_remaining_time_includes_work_outside_runs():
    assert run_two(io.StringIO(), other_seconds=500.0) >= 500
