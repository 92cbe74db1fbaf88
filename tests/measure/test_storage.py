"""Cases that write during their timing, and the page cache that is dropped before them."""

from dataclasses import replace

import pytest

from workflows.applications import application
from workflows.measure.running import scratch_parent
from workflows.paths import CASES, INTERCONNECTS
from workflows.plan import here, machine
from workflows.study.cases import digest, load_case
from workflows.study.factors import factors
from workflows.study.interconnects import load_interconnect

openfoam = application("openfoam")

WRITING, SILENT = load_case("cavity-output", CASES), load_case("cavity", CASES)


def interval(case):
    control = openfoam.inputs(case)["system/controlDict"].decode()
    return int(control.partition("writeInterval ")[2].partition(";")[0])


def test_a_size_with_an_interval_writes_and_no_other():
    assert interval(WRITING) == 5
    assert interval(SILENT) > SILENT.parameters["iterations"]


def test_dropping_the_cache_makes_another_case_of_it():
    assert WRITING.drop_page_cache and not SILENT.drop_page_cache
    assert digest(WRITING) != digest(replace(WRITING, drop_page_cache=False))


@pytest.fixture
def switch(tmp_path, monkeypatch):
    """A file in place of the kernel's."""
    file = tmp_path / "drop_caches"
    file.touch()
    monkeypatch.setattr(machine, "DROP_CACHES", file)
    return file


def test_dirty_pages_are_written_before_the_cache_is_dropped(switch, monkeypatch):
    done = []
    monkeypatch.setattr(machine.os, "sync", lambda: done.append(switch.read_text()))
    machine.drop_page_cache()
    assert (done, switch.read_text()) == ([""], "1")


def test_without_the_right_to_the_case_is_left_out_with_a_line(switch, monkeypatch):
    assert here._cannot_drop(WRITING, None) is None
    monkeypatch.setattr(machine.os, "access", lambda *_: False)
    assert here._cannot_drop(WRITING, None).startswith(
        "the page cache is dropped before each repetition, which"
    )
    assert here._cannot_drop(SILENT, None) is None
    assert "on a cluster" in here._cannot_drop(WRITING, cluster=object())


def test_it_writes_to_a_disk_by_default(monkeypatch, tmp_path):
    monkeypatch.delenv("NODEWORTH_SCRATCH", raising=False)
    assert str(scratch_parent(on_disk=True)) == "/var/tmp"
    monkeypatch.setenv("NODEWORTH_SCRATCH", str(tmp_path))
    assert scratch_parent(on_disk=True) == tmp_path


def test_collated_files_are_a_factor():
    collated, plain = (
        load_interconnect(name, INTERCONNECTS) for name in ("shared_memory_collated", "shared_memory")
    )
    differing = factors(collated).items() ^ factors(plain).items()
    assert dict(differing) == {"storage": "collated files", "launch.env.FOAM_FILEHANDLER": "collated"}
