"""Reading a trace: a complete trace is read, any other is refused in one line."""

import gzip
import json

import numpy as np
import pytest
from refused import refusal

from workflows.domain import InputError
from workflows.paths import CASES, INTERCONNECTS
from workflows.study.cases import load_case
from workflows.study.interconnects import load_interconnect
from workflows.tracing.alone import Alone, mean_at_once
from workflows.tracing.capture import INDICATIVE_INFLATION, capture, correction, corun, timed_alone
from workflows.tracing.lines import pack
from workflows.tracing.raw import Raw, whole
from workflows.tracing.recording import Traced
from workflows.tracing.request import TraceRequest
from workflows.tracing.trace import rank_file, read_trace, write_rank

LINES = [
    ["0 compute 700", "0 send 1 3 8", "0 allreduce 8 0"],
    ["1 recv 0 3 8", "1 allreduce 8 0", "1 put 0 16"],
]
LOAD = {"cores": 1, "processes_per_core": 1, "pressure_share": 0, "foreign_cores": 0, "stolen_cores": 0}
LOAD |= {"wall_seconds": 3.0, "cpu_seconds": 2.0}


def alone_of(seconds, serial_seconds=(), disturbed=0, **together):
    """What runs of ranks alone came to, of which nothing was sent otherwise."""
    return Alone([], seconds, np.array(serial_seconds), disturbed, 0, **together)


@pytest.fixture
def folder(tmp_path):
    for rank, lines in enumerate(LINES):
        write_rank(tmp_path, rank, lines)
    about = {
        "format": "SimGrid 3.32 time-independent, compute in nanoseconds",
        "case": "elbow_segregated-4k",
        "application": "openfoam",
        "size": "4k",
        "processes": 2,
        "program": ["simpleFoam", "-parallel"],
        "mpi_library": "Open MPI v4.1.4",
        "steps": 5,
        "timed_steps": 99,
        "skipped_steps": 2,
        "mark": ["ExecutionTime = "],
        "clock": "thread_cpu",
        "clock_cost": [391, 400],
        "ns_per_count": 1.0,
        **correction([0.6, 0.5], 1.0, polluted=True, reason="it was not asked for"),
        "log_bytes": 0,
        "load": LOAD | {"processes_per_core": 2, "pressure_share": None},
        **corun(alone_of(np.ones((3, 2)))),
        "cut_messages": 0,
        "operations": [{"operation": "send", "largest_bytes": 8, "calls": 1, "bytes": 8}],
        "made": "2026-01-01T00:00:00+00:00",
        "machine": {},
    }
    (tmp_path / "trace.json").write_text(json.dumps(about))
    return tmp_path


def change(folder, **values):
    file = folder / "trace.json"
    about = json.loads(file.read_text()) | values
    file.write_text(json.dumps({key: value for key, value in about.items() if value != "gone"}))


def test_a_complete_trace_is_read(folder):
    trace = read_trace(folder)
    assert (trace.processes, trace.steps, trace.timed_steps) == (2, 5, 99)
    assert trace.lines(0) == ["0 init", *LINES[0], "0 finalize"]
    assert trace.factors("corrected") == pytest.approx((1 / 1.1, 1 / 1.1))
    assert (trace.factors("low"), trace.factors("high")) == (trace.factors("corrected"), (1.0, 1.0))
    assert trace.summary().endswith(
        "5 steps, 1 calls, 1.1 s of computing, 1.10 times the serial run's; ranks timed together "
        "(it was not asked for); correction: serial_sum"
    )


def test_the_same_lines_make_the_same_bytes(tmp_path):
    contents = set()
    for _ in range(2):
        write_rank(tmp_path, 0, LINES[0])
        contents.add((tmp_path / rank_file(0)).read_bytes())
    assert len(contents) == 1


def refused(folder, *expected_words):
    message = refusal(InputError, read_trace, folder)
    assert [words for words in expected_words if words not in message] == [], message


def test_a_cut_off_file_is_refused(folder):
    path = folder / rank_file(1)
    path.write_bytes(path.read_bytes()[:-12])
    refused(folder, str(path), "cut off or damaged", "trace it again")


def test_a_damaged_file_is_refused(folder):
    path = folder / rank_file(1)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)
    refused(folder, str(path), "trace it again")


def test_a_file_that_is_not_compressed_is_refused(folder):
    (folder / rank_file(0)).write_text("0 init\n0 finalize\n")
    refused(folder, rank_file(0), "cannot be read")


def test_a_missing_rank_is_refused(folder):
    (folder / rank_file(1)).unlink()
    refused(folder, "rank-1.txt.gz: no such file, of a trace of 2 processes")


def test_a_rank_too_many_is_refused(folder):
    write_rank(folder, 2, [])
    refused(folder, "rank-2.txt.gz: does not belong to a trace of 2 processes")


@pytest.mark.parametrize(
    ("lines", "wrong"),
    [
        ("0 init\n0 dance 7\n0 finalize\n", "line 2: unknown action 'dance' in '0 dance 7'; known: accumulate,"),
        ("0 init\n0 compute 1\n0 send 1 3\n0 finalize\n", "line 3: send takes 3 whole numbers: '0 send 1 3'"),
        ("0 init\n0 compute 1.5\n0 finalize\n", "line 2: compute takes 1 whole numbers: '0 compute 1.5'"),
        ("0 init\n0 allreduce 8 x\n0 finalize\n", "line 2: allreduce takes only whole numbers: '0 allreduce 8 x'"),
        ("0 init\n\n0 finalize\n", "line 2: unknown action '' in ''"),
        ("0 init\n1 compute 5\n0 finalize\n", "line 2: is not of rank 0"),
        ("0 compute 5\n0 finalize\n", "line 1: must be '0 init'"),
        ("0 init\n0 compute 5\n", "cut off: must end with '0 finalize'"),
        ("", "line 1: must be '0 init'"),
    ],
)  # fmt: skip
def test_wrong_lines_are_refused(folder, lines, wrong):
    (folder / rank_file(0)).write_bytes(gzip.compress(lines.encode()))
    refused(folder, str(folder / rank_file(0)), wrong)


@pytest.mark.parametrize(
    ("values", "wrong"),
    [
        ({"processes": 0}, "processes: 0"),
        ({"steps": "gone"}, "steps"),
        ({"colour": "red"}, "colour"),
        ({"corrected_factor": [1.0]}, "corrected_factor: 1 numbers, not one for each of 2 processes"),
        ({"corrected_factor": [1.0, 0.0]}, "corrected_factor[1]"),
        ({"clock": "sundial"}, "clock"),
    ],
)
def test_a_description_that_breaks_its_schema_is_refused(folder, values, wrong):
    change(folder, **values)
    refused(folder, "trace.json", wrong)


def test_a_description_that_is_no_json_or_missing_is_refused(folder):
    (folder / "trace.json").write_text('{"case": ')
    refused(folder, "trace.json: damaged")
    (folder / "trace.json").unlink()
    refused(folder, "trace.json: cannot be read: No such file")


def test_correction_scales_the_sum_to_the_serial_run():
    made = correction([3.0, 1.0], 2.0, polluted=True)
    corrected = [s * f for s, f in zip(made["compute_seconds"], made["corrected_factor"], strict=True)]
    assert sum(corrected) == pytest.approx(2.0)
    assert corrected[0] == pytest.approx(3 * corrected[1])  # imbalance is kept
    assert (made["inflation"], made["correction"], made["indicative"]) == (2.0, "serial_sum", True)


@pytest.mark.parametrize(("computed", "polluted"), [([3.0, 1.0], False), ([1.0, 0.5], True)])
def test_ranks_with_cores_of_their_own_and_faster_ones_are_not_corrected(computed, polluted):
    made = correction(computed, 2.0, polluted)
    assert made["corrected_factor"] == [1.0, 1.0]
    assert made["correction"] == "none"
    assert made["indicative"] == (not 1 <= sum(computed) / 2 <= INDICATIVE_INFLATION)


def test_disturbed_or_too_fast_ranks_are_indicative():
    seconds_and_pressure = [(1.1, 0.2), (1.1, 1), (0.9, 0.2), (0.9, 1)]
    indicative = [
        correction([seconds, seconds], 2.0, True, pressure)["indicative"]
        for seconds, pressure in seconds_and_pressure
    ]
    assert indicative == [False, True, True, True]


def test_ranks_alone_are_compared_with_interleaved_serial_runs():
    """The machine was slower by half in the second repeat, and the third took a tenth longer than the first."""
    alone = alone_of(np.array([[2.0, 1.0], [3.0, 1.5], [2.2, 1.1]]), [[2.0], [3.0], [2.0]], disturbed=1)
    made = timed_alone([2.2, 1.1], 1.0, alone)
    assert made["corrected_factor"] == [0.5, 0.5] and made["inflation"] == pytest.approx(1.65)
    assert made["low_factor"] == pytest.approx([0.5 / 1.1] * 2)
    assert made["high_factor"] == pytest.approx([0.5, 0.5])
    less = timed_alone([1.9, 0.9], 1.0, alone)
    assert less["low_factor"] == less["corrected_factor"] == [0.5, 0.5]
    assert (made["timing"], made["correction"], made["disturbed_repeats"]) == ("alone", "serial_beside", 1)


def test_nine_tenths_of_many_repeats_are_in_the_band():
    seconds = np.array([[1.0], [9.0], [1.9], [2.1], *[[2.0]] * 16])
    made = timed_alone([2.0], 2.0, alone_of(seconds, np.full((20, 1), 2.0)))
    assert (made["repeats"], made["indicative"]) == (20, True)
    assert (made["low_factor"], made["high_factor"]) == ([0.95], [1.05])
    fewer = timed_alone([2.0], 2.0, alone_of(seconds[:19], np.full((19, 1), 2.0)))
    assert (fewer["low_factor"], fewer["high_factor"]) == ([0.5], [4.5])


def test_simultaneous_ranks_are_compared_with_ranks_alone():
    """Two at once take 10 % longer, four 54 %: a line of least squares has 17 % for each other rank."""
    alone = np.full((3, 2), 1.0)
    at_once = {1: alone, 2: 1.1 * alone, 4: 1.4 * alone * np.array([[1.0], [2.0], [1.1]])}
    made = corun(alone_of(alone, corun_seconds=at_once))
    assert made["corun_percent"] == pytest.approx((1 * 10 + 3 * 54) / (1 + 9))
    assert made["corun_percent_low"] == pytest.approx((1 * 10 + 3 * 40) / 10)
    assert made["corun_percent_high"] == pytest.approx((1 * 10 + 3 * 180) / 10)
    assert set(corun(alone_of(alone)).values()) == {None}
    nothing, faster = {1: 0 * alone, 2: 0.1 * alone}, {1: alone, 2: 0.9 * alone}
    for taken in (nothing, faster):
        assert corun(alone_of(alone, corun_seconds=taken))["corun_percent"] == 0


def test_times_of_simultaneous_ranks_are_corrected_to_ranks_alone():
    """Two at a time, of which each takes a quarter longer."""
    at_once = np.full((3, 2), 1.25)
    alone = alone_of(at_once, width=2, corun_seconds={2: at_once, 1: at_once / 1.25})
    made = timed_alone([1.25, 1.25], 2.0, alone)
    assert made["inflation"] == pytest.approx(1) and made["corrected_factor"] == pytest.approx([0.8, 0.8])


def test_a_smaller_last_batch_counts_with_its_size():
    """Two of three ranks on two cores share a core."""
    assert mean_at_once(3, 2) == pytest.approx(5 / 3)
    assert (mean_at_once(4, 2), mean_at_once(3, 8), mean_at_once(5, 1)) == (2, 3, 1)


def test_repeats_of_ranks_alone_that_differ_are_indicative():
    timings = [timed_alone([1.0], 1.0, alone_of(np.array([[1.0], [high], [high]]))) for high in (1.05, 1.2)]
    assert [timing["indicative"] for timing in timings] == [False, True]
    assert timings[1]["corrected_factor"] == [1.0] and timings[1]["high_factor"] == [1.2]
    assert timed_alone([1.0], 1.0, alone_of(np.array([[1.0]] * 2)))["indicative"]


def test_instructions_are_timed_by_the_serial_run(tmp_path, monkeypatch):
    """1 ms by a serial run of 4000 instructions; then 2 ranks of 8000 that cannot run alone."""

    def traced(amount, processes, alone):
        counted = processes, "instructions", 5, "", 1_000_000, 4000
        lines = [pack(rank, [f"{rank} compute {amount}"]) for rank in range(processes)]
        raws = [Raw(rank, *counted, of_rank) for rank, of_rank in enumerate(lines)]
        timed_ranks = Alone(raws, np.full((3, 1), 1e-3), np.array([]), 0, 0) if alone else None
        return Traced("2026-01-01", LOAD, raws, whole(raws), 1, timed_ranks, "" if alone else "a window", 0)

    case = load_case("lj_melt-smoke", CASES)
    interconnect = load_interconnect("shared_memory", INTERCONNECTS)
    done = [traced(1_000_000, 1, True), traced(8000, 2, False)]
    monkeypatch.setattr("workflows.tracing.capture.record", lambda *_: done.pop(0))
    requests = [TraceRequest(case, processes, tmp_path, interconnect, 1.0, 1) for processes in (1, 2)]
    serial = capture(requests[0], tmp_path / "1", None)
    trace = capture(requests[1], tmp_path / "2", tmp_path / "1")
    assert (serial.about["clock"], trace.about["clock"]) == ("thread_cpu", "instructions")
    assert serial.about["compute_seconds"] == pytest.approx([1e-3])
    assert trace.about["compute_seconds"] == pytest.approx([2e-3, 2e-3])
