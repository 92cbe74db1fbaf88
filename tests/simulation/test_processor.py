"""Speed of a core by two benchmarks that run here."""

import json

import pytest
from needs import need
from refused import refusal

from workflows.domain import InputError
from workflows.simulation import processor
from workflows.simulation.processor import (
    BENCHMARKS,
    bandwidth_MBps,
    core_speed,
    print_bandwidths,
    probe,
    probe_bandwidth,
)

need("cc")


def test_a_core_is_as_fast_as_itself(tmp_path):
    here = probe()
    assert here["cpu"] and all(here[name] > 50 for name in BENCHMARKS)
    (tmp_path / "processor.json").write_text(json.dumps(here))
    same = core_speed({"host_speed": 1, "processor": here}, tmp_path / "processor.json")
    assert (same.slowest, same.speed, same.fastest) == pytest.approx((1, 1, 1))


def test_a_stated_speed_needs_no_probe(tmp_path):
    cores = core_speed({"host_speed": 0.15, "host_speed_range": [0.13, 0.17]}, tmp_path / "none")
    assert [cores.at(end) for end in ("low", "corrected", "high")] == [0.17, 0.15, 0.13]


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("int main", "int main(", "the benchmark of the processor cannot be built: cc -O3: "),
        ("- 1) < 1e-8", "- 2) < 1e-8", "benchmark of the processor: LINPACK of order 100 is wrong: x[0] = 1"),
        ("2 + (double)", "3 + (double)", "benchmark of the processor: STREAM's triad is wrong: a[0] = 2"),
        ("return 0;", "abort();", "benchmark of the processor: exit status -6"),
    ],
)
def test_a_failing_probe_gives_one_line(tmp_path, monkeypatch, old, new, line):
    source = tmp_path / "processor.c"
    source.write_text(processor.SOURCE.read_text().replace(old, new, 1))
    monkeypatch.setattr(processor, "SOURCE", source)
    assert refusal(InputError, probe).startswith(line)


def test_cores_share_the_memory(monkeypatch):
    small = processor.SOURCE.read_text().replace("33554432", "1048576")
    monkeypatch.setattr(processor, "SOURCE", type("Source", (), {"read_text": lambda self: small})())
    rates = bandwidth_MBps([1, 2])
    assert list(rates) == [1, 2] and all(rate > 50 for rate in rates.values())
    monkeypatch.setattr(processor, "usable_cores", lambda: [0])
    (rounds,) = probe_bandwidth().values()
    assert len(rounds) == processor.BANDWIDTH_ROUNDS


@pytest.mark.parametrize(
    ("memories", "last"), [(1, "spread cores are not measured"), (2, "2 cores, spread: 1500")]
)
def test_printed_speeds_of_cores(tmp_path, monkeypatch, capsys, memories, last):
    for number in range(memories):
        (tmp_path / f"node{number}").mkdir()
    rates = {"packed": {1: 1000.0, 2: 1000.0}, "spread": {1: 1000.0, 2: 1500.0}}
    monkeypatch.setattr(processor, "usable_cores", lambda: [0, 1])
    monkeypatch.setattr(processor, "bandwidth_MBps", lambda cores, way: {n: rates[way][n] for n in cores})
    print_bandwidths(tmp_path)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [
        "1 core, packed: 1000 MB/s",
        "2 cores, packed: 1000 MB/s, 100 % longer per other core",
    ]
    assert lines[-1].startswith(last)
