"""Interconnects of this machine are checked once, and again after every relevant change."""

import shutil
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from programs import write_program

from workflows.errors import EmulationError
from workflows.launch.mpi.open_mpi import OpenMpi
from workflows.paths import INTERCONNECTS
from workflows.plan import here
from workflows.plan.here import unavailable_now
from workflows.study.interconnects import load_interconnect

GIGABIT = load_interconnect("emulated_gigabit", INTERCONNECTS)
SMALLER = replace(GIGABIT, emulate=GIGABIT.emulate | {"rate_mbps": 10})


@pytest.fixture
def looks(tmp_path, monkeypatch):
    """Nodes that are built, as far as the tests count; programs are those of a folder of the test's own."""
    built = []

    @contextmanager
    def emulated_nodes(emulate):
        built.append(emulate)
        if missing := [program for program in here.PROGRAMS if shutil.which(program) is None]:
            raise EmulationError(f"{missing[0]} not installed")
        yield ()

    (tmp_path / "bin").mkdir()
    for program in ("mpirun", "taskset", "setpriv", *here.PROGRAMS):
        write_program(tmp_path / "bin" / program, "#!/bin/sh\n")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(here, "emulated_nodes", emulated_nodes)
    monkeypatch.setattr(OpenMpi, "unknown_setting", lambda library, settings: None)
    return built


def test_nodes_are_built_once_for_all_processes(looks, tmp_path):
    assert [unavailable_now(GIGABIT, tmp_path / "kept") for _ in range(3)] == [None] * 3
    assert looks == [GIGABIT.emulate]


def test_a_changed_interconnect_is_looked_at(looks, tmp_path):
    for file in (GIGABIT, SMALLER, GIGABIT):
        assert unavailable_now(file, tmp_path / "kept") is None
    assert looks == [GIGABIT.emulate, SMALLER.emulate, GIGABIT.emulate]


@pytest.mark.parametrize("program", ["tc", "mpirun"])
def test_a_program_that_disappears_is_missed(looks, tmp_path, program):
    assert unavailable_now(GIGABIT, tmp_path / "kept") is None
    (tmp_path / "bin" / program).unlink()
    assert program in unavailable_now(GIGABIT, tmp_path / "kept")


def test_another_program_of_the_same_name_is_looked_at(looks, tmp_path):
    assert unavailable_now(GIGABIT, tmp_path / "kept") is None
    (tmp_path / "bin/ip").write_text("#!/bin/sh\nexit 1\n")
    unavailable_now(GIGABIT, tmp_path / "kept")
    assert len(looks) == 2


@pytest.mark.parametrize("change", ["kernel", "rights", "environment", "container"])
def test_a_machine_that_has_changed_is_looked_at(looks, tmp_path, monkeypatch, change):
    assert unavailable_now(GIGABIT, tmp_path / "kept") is None
    if change == "environment":
        monkeypatch.setenv("OMPI_MCA_btl", "self")
    elif change == "container":
        monkeypatch.setattr(here.os, "readlink", lambda name: "mnt:[1]")
    else:
        name, other = {"kernel": ("_KERNEL", "/proc/version"), "rights": ("_RIGHTS", "CapEff:")}[change]
        monkeypatch.setattr(f"workflows.plan.here.{name}", (other,))
    unavailable_now(GIGABIT, tmp_path / "kept")
    assert len(looks) == 2


def test_an_unusable_interconnect_is_tried_again(looks, tmp_path):
    (tmp_path / "bin/tc").rename(tmp_path / "tc")
    assert [unavailable_now(GIGABIT, tmp_path / "kept") for _ in range(2)] == ["tc not installed"] * 2
    (tmp_path / "tc").rename(tmp_path / "bin/tc")
    assert unavailable_now(GIGABIT, tmp_path / "kept") is None


def test_where_nothing_can_be_written_it_is_looked_at_each_time(looks):
    assert [unavailable_now(GIGABIT, Path("/proc/kept")) for _ in range(2)] == [None] * 2
    assert len(looks) == 2


def test_nothing_is_kept_of_a_model(tmp_path, monkeypatch):
    monkeypatch.setattr(here, "cannot_simulate", lambda: None)
    model = load_interconnect("gigabit_ethernet", INTERCONNECTS)
    gone = replace(model, simulate={"curve": {"file": "results/none/curve.csv"}})
    assert unavailable_now(model, tmp_path) is None
    assert unavailable_now(gone, tmp_path) == "there is no results/none/curve.csv: run the study none first"
    assert not list(tmp_path.iterdir())
