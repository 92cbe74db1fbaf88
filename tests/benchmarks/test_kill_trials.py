"""Kill trials count runs that are duplicated, missing, or timed at the same time as another."""

import os
import random
import subprocess
import sys

from tests.benchmarks import kill_trials
from tests.benchmarks.kill_trials import Beats, count, strike

NOON = 1_767_268_800.0  # 2026-01-01T12:00:00Z


def ran(block, begins, process, attempt=1, interrupted=False):
    """A record of a serial run that begins so many seconds after noon, as its file holds it."""
    return {
        **{"case": "clock", "interconnect": None, "processes": 1, "oversubscription": 1, "block": block},
        "started": f"2026-01-01T12:00:{begins:02d}.000+00:00",
        "times": {"wall_seconds": 2.0},
        "placement": [{"host": "n1", "process": process}],
        "seconds": None if interrupted else 0.1,
        "valid": not interrupted,
        "attempt": attempt,
        **({"interrupted": True} if interrupted else {}),
    }


def beats(host, process, first, last):
    return Beats(host, process, NOON + first, NOON + last)


def test_a_sound_study_has_nothing_wrong():
    all_beats = [
        beats("n1", 7, 0.5, 0.9),
        beats("n1", 8, 5.5, 5.9),
        beats("n1", 7, 9.0, 9.5),
    ]  # the last is a later 7
    assert count([ran(1, 0, 7), ran(2, 5, 8)], all_beats, 2, False) == (2, 2, 0, 0, 0, 0, 0)


def test_duplicate_and_missing_runs_are_counted_without_interrupted_attempts():
    all_beats = [
        beats("n1", process, begins + 0.5, begins + 0.9) for process, begins in ((7, 0), (8, 5), (9, 10))
    ]
    records = [ran(1, 0, 7), ran(1, 5, 8, attempt=2), ran(2, 9, 9, interrupted=True)]
    assert count(records, all_beats, 2, False)._asdict() == {
        **{
            "records": 3,
            "valid": 2,
            "interrupted": 1,
            "given_up": 0,
            "missing": 1,
            "twice": 1,
            "contaminated": 0,
        }
    }


def test_a_repetition_whose_jobs_ended_each_time_is_given_up_and_not_missing():
    attempts = [ran(1, 0, 7, attempt=number, interrupted=True) for number in (1, 2, 3)]
    assert count(attempts, [], 1, False)._asdict() == {
        **{
            "records": 3,
            "valid": 0,
            "interrupted": 3,
            "given_up": 1,
            "missing": 0,
            "twice": 0,
            "contaminated": 0,
        }
    }


def test_a_leftover_process_contaminates_runs_at_the_same_time():
    all_beats = [
        beats("n1", 7, 0.5, 0.9),
        beats("n1", 8, 5.5, 5.9),
        beats("n1", 6, 0.0, 0.6),
        beats("n2", 9, 5.0, 7.0),
    ]
    records = [ran(1, 0, 7), ran(2, 5, 8)]
    assert count(records, all_beats, 2, whole_machine=False).contaminated == 1
    assert count(records, all_beats, 2, whole_machine=True).contaminated == 2


def test_a_strike_waits_for_its_target_and_counts_it(monkeypatch):
    monkeypatch.setattr(kill_trials, "LINGER_SECONDS", 0.0)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        comes_late = iter([[], [], [process.pid], [process.pid]])
        assert strike(lambda: next(comes_late), random.Random(1)) == 1
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert kill_trials._kill([process.pid]) == 0  # it has ended, and was not waited for
        assert process.wait() == -9


def test_a_strike_gives_up_if_its_target_does_not_come(monkeypatch):
    monkeypatch.setattr(kill_trials, "STRIKE_SECONDS", 0.1)
    assert strike(list, random.Random(1)) == 0
