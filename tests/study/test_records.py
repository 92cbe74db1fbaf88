"""Records are written whole, never replaced, and decide what is still to be run."""

import subprocess
import sys

import pytest

from workflows.domain import InputError, Point
from workflows.plan.design import Repetition
from workflows.plan.plan import ROOT
from workflows.plan.records import Request, attempts, read_all, record_path, wanted, write_record
from workflows.results.collect import block_numbers

POINT = Point("duct", "gigabit", 4, 2, nodes=2, cores=2)
REPETITION = Repetition(POINT, 3, ("gigabit", "shared_memory"))
INPUTS = {"case": "a", "interconnect": "b"}


def record(started="2026-01-01T12:00:00", valid=True, inputs=INPUTS, **more):
    return {"started": started, "valid": valid, "inputs": inputs} | more


def test_a_record_is_written_once(tmp_path):
    path = record_path(tmp_path, REPETITION, 1)
    write_record(path, {"seconds": 1.5})
    with pytest.raises(FileExistsError):
        write_record(path, {"seconds": 2.5})
    assert attempts(tmp_path, REPETITION) == [{"seconds": 1.5}]
    assert [file.name for file in path.parent.iterdir()] == ["block-3-attempt-1.json"]


def test_attempts_are_read_in_order(tmp_path):
    for attempt in range(1, 12):
        write_record(record_path(tmp_path, REPETITION, attempt), {"attempt": attempt})
    assert [one["attempt"] for one in attempts(tmp_path, REPETITION)] == list(range(1, 12))
    assert len(list(read_all(tmp_path))) == 11


def test_a_damaged_record_is_named(tmp_path):
    path = record_path(tmp_path, REPETITION, 1)
    path.parent.mkdir(parents=True)
    path.write_text('{"seconds": 1.')
    with pytest.raises(InputError, match=r"block-3-attempt-1\.json: damaged record"):
        attempts(tmp_path, REPETITION)


def test_nothing_is_left_of_a_record_that_cannot_be_written(tmp_path):
    path = record_path(tmp_path, REPETITION, 1)
    with pytest.raises(TypeError):
        write_record(path, {"seconds": object()})
    assert list(path.parent.iterdir()) == []


def test_a_full_disk_leaves_earlier_records_whole(tmp_path):
    """The limit on the size of a file stands in for a full disk: the write fails in the middle."""
    first = record_path(tmp_path, REPETITION, 1)
    write_record(first, {"seconds": 1.5})
    second = record_path(tmp_path, REPETITION, 2)
    program = (
        "import resource; from pathlib import Path; from workflows.plan.records import write_record\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        f"write_record(Path({str(second)!r}), {{'seconds': 'x' * 5000}})"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert "OSError" in done.stderr
    assert [file.name for file in first.parent.iterdir()] == [first.name]
    assert attempts(tmp_path, REPETITION) == [{"seconds": 1.5}]


@pytest.mark.parametrize(
    ("records", "requests", "expected"),
    [
        ([], [], True),
        ([record()], [], False),
        ([record(valid=False)], [], False),
        ([record(inputs={"case": "changed", "interconnect": "b"})], [], True),
        ([record()], [Request("duct", "2026-01-01T13:00:00")], True),
        ([record()], [Request("duct/gigabit/4/2", "2026-01-01T13:00:00")], True),
        ([record()], [Request("duct/gigabit/4/1", "2026-01-01T13:00:00")], False),
        ([record()], [Request("duct/shared_memory", "2026-01-01T13:00:00")], False),
        ([record()], [Request("wing", "2026-01-01T13:00:00")], False),
        ([record()], [Request("duct", "2026-01-01T11:00:00")], False),
        ([record(), record("2026-01-01T14:00:00")], [Request("duct", "2026-01-01T13:00:00")], False),
        ([record()], [Request("failed", "2026-01-01T13:00:00")], False),
        ([record(valid=False)], [Request("failed", "2026-01-01T13:00:00")], True),
        (
            [record(valid=False), record("2026-01-01T14:00:00", valid=False)],
            [Request("failed", "2026-01-01T13:00:00")],
            False,
        ),
    ],
)
def test_what_is_still_to_be_run(records, requests, expected):
    assert wanted(REPETITION, records, INPUTS, requests) is expected


def planned(interconnect, block, companions, started, attempt=1, **changed):
    return {
        "case": "duct",
        "processes": 2,
        "oversubscription": 1,
        "interconnect": interconnect,
        "block": block,
        "companions": dict.fromkeys(companions, "digest") | changed,
        "attempt": attempt,
        "started": started,
    }


def test_an_interconnect_added_later_is_in_blocks_of_its_own():
    old, new = ["a", "b"], ["a", "b", "c"]
    records = [
        planned("a", 1, old, "2026-01-01T12:00:01"),
        planned("b", 1, old, "2026-01-01T12:00:00"),
        planned("a", 2, old, "2026-01-01T12:00:02"),
        planned("b", 2, old, "2026-01-01T12:00:03"),
        planned("c", 1, new, "2026-01-02T12:00:00"),
        planned("c", 2, new, "2026-01-02T12:00:01"),
    ]
    assert block_numbers(records) == [1, 1, 2, 2, 3, 4]


def test_blocks_added_later_go_on_counting_and_stay_together():
    old, new = ["a", "b"], ["a", "b", "c"]
    records = [
        planned("a", 1, old, "2026-01-01T12:00:01"),
        planned("b", 1, old, "2026-01-01T12:00:00"),
        *(planned(name, 2, new, f"2026-01-02T12:00:0{place}") for place, name in enumerate("abc")),
    ]
    assert block_numbers(records) == [1, 1, 3, 3, 3]


def test_a_further_attempt_and_a_changed_interconnect_are_in_blocks_of_their_own():
    both = ["a", "b"]
    records = [
        planned("a", 1, both, "2026-01-01T12:00:01"),
        planned("b", 1, both, "2026-01-01T12:00:00"),
        planned("b", 1, both, "2026-01-02T12:00:00", attempt=2),
        planned("a", 1, both, "2026-01-03T12:00:00", attempt=3, b="another digest"),
    ]
    assert block_numbers(records) == [1, 1, 2, 3]
