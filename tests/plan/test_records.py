"""Records are written completely, never replaced, and decide which repetitions are missing."""

import json
import sys
from dataclasses import MISSING, fields, replace

import pytest
from programs import ran
from refused import refusal
from small_records import KNOWN_BEFORE, RECORD, record

from workflows import inputs
from workflows.domain import InputError, Point, Repetition
from workflows.launch.attesters import Probe
from workflows.paths import StudyPaths, record_name
from workflows.plan import records as kept
from workflows.plan.record import Record, RunNoise, SimulatedRecord, Times
from workflows.plan.records import (
    TRIES,
    Rerun,
    attempts,
    is_missing,
    read_record,
    with_withdrawals,
    write_record,
)
from workflows.results.collect import block_numbers

POINT = Point("duct", "gigabit", 4, 2, nodes=2, cores=2)
REPETITION = Repetition(POINT, 3, ("gigabit", "shared_memory"))
INPUTS = {"case": "a", "interconnect": "b"}
LATER, LATEST = "2026-01-01T13:00:00", "2026-01-01T14:00:00"


def made(started="2026-01-01T12:00:00", valid=True, inputs=INPUTS):
    return record(started=started, valid=valid, inputs=inputs)


def test_a_record_is_written_once(tmp_path):
    path = StudyPaths(tmp_path).record(REPETITION, 1)
    write_record(path, RECORD)
    with pytest.raises(FileExistsError):
        write_record(path, record(seconds=2.5))
    assert attempts(StudyPaths(tmp_path), REPETITION) == [RECORD]
    assert [file.name for file in path.parent.iterdir()] == ["block-3-attempt-1.json"]


def test_attempts_are_read_in_order(tmp_path):
    for attempt in range(1, 12):
        write_record(StudyPaths(tmp_path).record(REPETITION, attempt), record(attempt=attempt))
    assert [attempt.attempt for attempt in attempts(StudyPaths(tmp_path), REPETITION)] == list(range(1, 12))
    assert len(list(kept.read_all(StudyPaths(tmp_path)))) == 11


def test_one_look_finds_every_record_and_no_log_or_draft(tmp_path):
    paths, wide = StudyPaths(tmp_path), Repetition(replace(POINT, threads=2, processes_per_node=1), 10, ())
    names = {record_name(repetition, attempt) for repetition in (REPETITION, wide) for attempt in (1, 2)}
    assert kept.recorded(paths) == set()
    for name in names:
        write_record(paths.records / name, RECORD)
    (paths.record(wide, 1).with_suffix(".log.gz")).touch()
    (paths.record(wide, 1).with_name(".block-11-attempt-1.json.7")).touch()
    assert kept.recorded(paths) == names
    deep = (
        "duct/gigabit/processes-4/oversubscription-2/processes-per-node-1/threads-2/block-10-attempt-1.json"
    )
    assert record_name(wide, 1) == deep
    assert kept.record_files(paths) == sorted(paths.records.rglob("block-*.json"))


def test_a_damaged_record_is_named(tmp_path):
    path = StudyPaths(tmp_path).record(REPETITION, 1)
    path.parent.mkdir(parents=True)
    path.write_text('{"seconds": 1.')
    with pytest.raises(InputError, match=r"block-3-attempt-1\.json: damaged record"):
        attempts(StudyPaths(tmp_path), REPETITION)


def test_nothing_is_left_of_a_record_that_cannot_be_written(tmp_path):
    path = StudyPaths(tmp_path).record(REPETITION, 1)
    with pytest.raises(TypeError):
        write_record(path, record(details={"rows": object()}))
    assert list(path.parent.iterdir()) == []


def test_a_full_disk_leaves_earlier_records_whole(tmp_path):
    """The limit on the size of a file stands in for a full disk: the write fails in the middle."""
    first = StudyPaths(tmp_path).record(REPETITION, 1)
    write_record(first, RECORD)
    second = StudyPaths(tmp_path).record(REPETITION, 2)
    program = (
        "import resource; from pathlib import Path; from tests.small_records import record\n"
        "from workflows.plan.records import write_record\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        f"write_record(Path({str(second)!r}), record(details={{'rows': 'x' * 5000}}))"
    )
    assert "OSError" in ran(sys.executable, "-c", program).stderr
    assert [file.name for file in first.parent.iterdir()] == [first.name]
    assert attempts(StudyPaths(tmp_path), REPETITION) == [RECORD]


ENDED = {"valid": False, "reason": "job 7 ended", "problem": "job 7 ended", "interrupted": True}
UNKNOWN = dict.fromkeys(("seconds", "answer", "exit", "version", "probe"))
UNKNOWN |= {"times": Times(), "noise": RunNoise(), "placement": [], "command": (), "details": {}}
INTERRUPTED = record(**ENDED, **UNKNOWN, environment={}, one_sided_windows={})
SERIAL = record(interconnect=None, cluster=None, answer=None, probe=None, servers=0, processes_per_node=None)


@pytest.mark.parametrize("written", [RECORD, INTERRUPTED, SERIAL], ids=["whole", "interrupted", "serial"])
def test_a_record_is_read_as_it_was_written(written, tmp_path):
    path = tmp_path / "record.json"
    write_record(path, written)
    assert read_record(path) == written
    assert read_record(path).as_json() == json.loads(path.read_text())


def test_a_record_has_its_point():
    assert RECORD.point == Point("duct", "gigabit", 4, 2, 2, 4, processes_per_node=2, servers_per_process=1)
    assert Record.of_point(RECORD.point, **KNOWN_BEFORE).point == RECORD.point


def test_an_interrupted_run_has_no_unknown_keys():
    keys = INTERRUPTED.as_json()
    assert keys["interrupted"] and (keys["times"], keys["noise"], keys["placement"]) == ({}, {}, [])
    assert not {"exit", "command", "environment", "one_sided_windows", "probe"} & keys.keys()
    assert not {"interrupted", "cluster"} & SERIAL.as_json().keys()


@pytest.mark.parametrize(
    "default",
    [
        *({"processes_per_node": None}, {"servers": 0}, {"probe": None}, {"cluster": None}),
        {"mpi_library": None, "one_sided_windows": {}},
    ],
    ids=str,
)
def test_missing_keys_of_an_earlier_record_have_defaults(default, tmp_path):
    path = tmp_path / "record.json"
    path.write_text(json.dumps({key: value for key, value in RECORD.as_json().items() if key not in default}))
    assert read_record(path) == record(**default)


def test_machine_and_probe_of_an_earlier_version_have_fewer_keys(tmp_path):
    probe = {"ranks": [0, 1], "hosts": ["a", "b"], "cores": ["0", "0"], "seconds": 1.5, "problem": "none"}
    earlier = {"machine": {"host": "n1"}, "probe": probe}
    path = tmp_path / "record.json"
    path.write_text(json.dumps(RECORD.as_json() | earlier))
    assert read_record(path) == record(machine=earlier["machine"], probe=Probe(**probe))


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"processes": "four"}, "processes: 'four' is not a whole number"),
        ({"processes": 0}, "processes: 0 is too small; at least 1"),
        ({"kind": "guessed"}, "kind: no 'guessed' here; allowed: measured, emulated"),
        ({"valid": 1}, "valid: 1 is not true or false"),
        ({"zz": "red"}, "zz: unknown key; allowed: answer, application, attempt, block"),
        ({"companions": ["gigabit"]}, "companions: ['gigabit'] is not a section of keys"),
        ({"noise": {"pressure_share": 2}}, "noise.pressure_share: 2 is too large; at most 1"),
        ({"times": {"wall": 1}}, "times.wall: unknown key; allowed: cpu_seconds, output_seconds"),
        ({"probe": {"ranks": [0, "one"]}}, "probe.hosts: missing (Their nodes)"),
        ({"placement": [{"rank": 0, "host": 3, "cores": "0"}]}, "placement[0].host: 3 is not text"),
        ({"problem": ...}, "problem: missing (Why it was not valid"),
    ],
)
def test_a_wrong_record_is_one_line(changes, line, tmp_path):
    path = tmp_path / "record.json"
    wrong = RECORD.as_json() | changes
    path.write_text(json.dumps({key: value for key, value in wrong.items() if value is not ...}))
    assert refusal(InputError, read_record, path).startswith(f"{path}: {line}")


def test_the_record_of_a_simulated_point_is_another(tmp_path):
    path = tmp_path / "simulated/duct/gigabit/processes-4.json"
    path.parent.mkdir(parents=True)
    keys = KNOWN_BEFORE | {"kind": "simulated", "seconds": 2.0, "seconds_low": 1.0, "seconds_high": 3.0}
    simulated = SimulatedRecord.of_point(RECORD.point, **keys)
    path.write_text(json.dumps(simulated.as_json()))
    assert dict(kept.read_simulated(StudyPaths(tmp_path))) == {path: simulated}
    assert not {"machine", "times", "cluster", "interrupted"} & simulated.as_json().keys()
    path.write_text(json.dumps(simulated.as_json() | {"kind": "measured"}))
    with pytest.raises(InputError, match=r"processes-4.json: kind: no 'measured' here; allowed: simulated"):
        list(kept.read_simulated(StudyPaths(tmp_path)))


@pytest.mark.parametrize("kind", [Record, SimulatedRecord])
def test_the_schema_has_the_keys_of_the_type_and_optional_keys_have_defaults(kind):
    schema = inputs._validator(kind.schema).schema
    by_name = {field.name: field for field in fields(kind)}
    assert schema["properties"].keys() <= by_name.keys()
    assert kind is not Record or schema["properties"].keys() == by_name.keys()
    for name in schema["properties"].keys() - set(schema["required"]):
        assert by_name[name].default is not MISSING or by_name[name].default_factory is not MISSING


CUT_OFF = record(started="2026-01-01T12:00:00", inputs=INPUTS, **ENDED)


@pytest.mark.parametrize(
    ("records", "requests", "expected"),
    [
        ([], [], True),
        ([made()], [], False),
        ([made(valid=False)], [], False),
        ([made(inputs={"case": "changed", "interconnect": "b"})], [], True),
        ([made()], [Rerun("duct", LATER)], True),
        ([made()], [Rerun("duct/gigabit/4/2", LATER)], True),
        ([made()], [Rerun("duct/gigabit/4/1", LATER)], False),
        ([made()], [Rerun("duct/shared_memory", LATER)], False),
        ([made()], [Rerun("wing", LATER)], False),
        ([made()], [Rerun("duct", "2026-01-01T11:00:00")], False),
        ([made(), made(LATEST)], [Rerun("duct", LATER)], False),
        # The case was edited, repeated on request, and restored.
        (
            [made(), made(LATEST, inputs={"case": "changed", "interconnect": "b"})],
            [Rerun("duct", LATER)],
            False,
        ),
        ([made()], [Rerun("failed", LATER)], False),
        ([made(valid=False)], [Rerun("failed", LATER)], True),
        ([made(valid=False), made(LATEST, valid=False)], [Rerun("failed", LATER)], False),
        ([CUT_OFF], [], True),
        ([CUT_OFF] * TRIES, [], False),
        ([CUT_OFF] * TRIES, [Rerun("failed", LATER)], True),
    ],
)
def test_missing_repetitions(records, requests, expected):
    assert is_missing(REPETITION, records, INPUTS, requests) is expected


def planned(interconnect, block, companions, started, attempt=1, **changed):
    return record(
        interconnect=interconnect,
        block=block,
        companions=dict.fromkeys(companions, "digest") | changed,
        attempt=attempt,
        started=started,
    )


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
    assert block_numbers(records, []) == [1, 1, 2, 2, 3, 4]


def test_blocks_added_later_go_on_counting_and_stay_together():
    old, new = ["a", "b"], ["a", "b", "c"]
    records = [
        planned("a", 1, old, "2026-01-01T12:00:01"),
        planned("b", 1, old, "2026-01-01T12:00:00"),
        *(planned(name, 2, new, f"2026-01-02T12:00:0{place}") for place, name in enumerate("abc")),
    ]
    assert block_numbers(records, []) == [1, 1, 3, 3, 3]


def test_runs_of_an_edited_case_stay_together_if_only_a_part_was_measured_before():
    both = ["a", "b"]
    edited = {"inputs": INPUTS | {"case": "edited"}}
    records = [
        planned("a", 1, both, "2026-01-01T12:00:00"),
        replace(planned("a", 1, both, "2026-01-02T12:00:00", attempt=2), **edited),
        replace(planned("b", 1, both, "2026-01-02T12:00:01"), **edited),
        replace(planned("a", 2, both, "2026-01-02T12:00:02"), **edited),
        replace(planned("b", 2, both, "2026-01-02T12:00:03"), **edited),
    ]
    assert block_numbers(records, []) == [1, 2, 2, 3, 3]


def test_a_further_attempt_and_a_changed_interconnect_are_in_blocks_of_their_own():
    both = ["a", "b"]
    records = [
        planned("a", 1, both, "2026-01-01T12:00:01"),
        planned("b", 1, both, "2026-01-01T12:00:00"),
        planned("b", 1, both, "2026-01-02T12:00:00", attempt=2),
        planned("a", 1, both, "2026-01-03T12:00:00", attempt=3, b="another digest"),
    ]
    assert block_numbers(records, []) == [1, 1, 2, 3]


def repeated(what, day):
    return Rerun(what, f"2026-01-0{day}T00:00:00.000000+00:00")


def on_day(day, interconnect, block, attempt=1, **changes):
    both = dict.fromkeys("ab", "digest")
    started = f"2026-01-0{day}T12:00:0{block}.000+00:00"
    return record(
        interconnect=interconnect, block=block, companions=both, attempt=attempt, started=started, **changes
    )


def test_withdrawn_requests_still_separate_the_runs_that_were_made_apart():
    """Two requests, one for each interconnect; the second was withdrawn after one of two runs."""
    first = [on_day(1, name, block) for block in (1, 2) for name in "ab"]
    again = [on_day(2, "a", 1, attempt=2), on_day(2, "a", 2, attempt=2), on_day(3, "b", 1, attempt=2)]
    requests = [repeated("duct/a/4", 2), repeated("duct/b/4", 3), repeated("none", 4)]
    standing = with_withdrawals(requests)
    assert [request.is_withdrawn for request in standing] == [True, True]
    assert block_numbers([*first, *again], standing) == [1, 1, 2, 2, 3, 4, 5]
    later = with_withdrawals([*requests, repeated("duct", 5)])
    assert [request.is_withdrawn for request in later] == [True, True, False]


def test_a_case_repeated_after_one_of_its_points_is_paired_with_the_runs_of_its_own_pass():
    first = [on_day(1, name, block) for block in (1, 2) for name in "ab"]
    point = [on_day(2, "b", block, attempt=2) for block in (1, 2)]
    whole = [on_day(3, name, block, attempt=2 + (name == "b")) for block in (1, 2) for name in "ab"]
    requests = [repeated("duct/b/4", 2), repeated("duct", 3)]
    assert block_numbers([*first, *point, *whole], requests) == [1, 1, 2, 2, 3, 4, 5, 5, 6, 6]


def test_a_case_repeated_twice_has_the_blocks_of_each_pass():
    passes = [on_day(day, name, 1, attempt=day) for day in (1, 2, 3) for name in "ab"]
    requests = [repeated("duct", 2), repeated("duct", 3)]
    assert block_numbers(passes, requests) == [1, 1, 2, 2, 3, 3]


def test_failed_runs_repeated_together_are_paired():
    """Block 2 failed for both interconnects, block 1 for one interconnect only."""
    first = [on_day(1, name, block) for block in (1, 2) for name in "ab"]
    again = [on_day(2, "b", 1, attempt=2), *(on_day(2, name, 2, attempt=2) for name in "ab")]
    whole = [on_day(3, name, 1, attempt=2 + (name == "b")) for name in "ab"]
    requests = [repeated("failed", 2), repeated("duct", 3)]
    assert block_numbers([*first, *again, *whole], requests) == [1, 1, 2, 2, 3, 4, 4, 5, 5]


def test_blocks_of_an_edited_case_repeated_in_part_and_then_as_a_whole():
    edited = {"inputs": INPUTS | {"case": "edited"}}
    records = [
        *(on_day(1, name, 1) for name in "ab"),
        *(on_day(2, name, 1, attempt=2, **edited) for name in "ab"),
        on_day(3, "b", 1, attempt=3, **edited),
        *(on_day(4, name, 1, attempt=3 + (name == "b"), **edited) for name in "ab"),
    ]
    requests = [repeated("duct/b", 3), repeated("duct", 4)]
    assert block_numbers(records, requests) == [1, 1, 2, 2, 3, 4, 4]


def test_a_run_that_its_job_cut_off_stays_in_its_block():
    """The next job runs the rest of the block; so does a study that Ctrl-C stopped, without a record."""
    cut_off = on_day(1, "a", 1, interrupted=True)
    records = [cut_off, on_day(2, "a", 1, attempt=2), on_day(2, "b", 1)]
    assert block_numbers(records, []) == [1, 1, 1]


def test_a_pass_has_the_same_numbers_at_every_process_count():
    """The blocks of all counts are one sweep, although only one count has blocks of the repeated point."""
    counts = [{"processes": 4}, {"processes": 8}]
    records = [
        *(on_day(1, name, 1, **count) for count in counts for name in "ab"),
        on_day(2, "b", 1, attempt=2, **counts[0]),
        *(on_day(3, name, 1, attempt=3, **counts[0]) for name in "ab"),
        *(on_day(3, name, 1, attempt=2, **counts[1]) for name in "ab"),
    ]
    requests = [repeated("duct/b/4", 2), repeated("duct", 3)]
    assert block_numbers(records, requests) == [1, 1, 1, 1, 2, 3, 3, 3, 3]
