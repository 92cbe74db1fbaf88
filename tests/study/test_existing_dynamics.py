"""Inputs of molecular dynamics and quantum chemistry of users, run as they are."""

import subprocess
from pathlib import Path

import pytest
from disturbed import undisturbed_run
from refused import refusal

from workflows.applications import application
from workflows.command import main
from workflows.domain import InputError, Point
from workflows.measure.answers import compare_answer
from workflows.measure.prepare import prepare, reference_answer
from workflows.paths import CASES, INTERCONNECTS
from workflows.study.cases import load_case
from workflows.study.existing import make_case, running_share
from workflows.study.inline import Existing
from workflows.study.interconnects import load_interconnect

WATER = """\
start water
scratch_dir /somewhere
geometry units angstroms
O 0 0 0
H 0 0.757 0.587
H 0 -0.757 0.587
end
basis
* library sto-3g
end
task scf energy
"""
MELT = """\
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 8 0 8 0 8
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287
pair_style lj/cut 2.5
include pair.txt
fix 1 all nve
thermo 20
run 60
"""


@pytest.mark.slow
@pytest.mark.needs("gmx_mpi", "mpirun.openmpi")
def test_a_run_input_runs_as_it_is_and_its_runs_agree(tmp_path):
    water = load_case("water_box-smoke", CASES)
    application("gromacs").prepare(water, 1, tmp_path / "user", None)
    source = (tmp_path / "user/topol.tpr").rename(tmp_path / "user/box.tpr")
    content = source.read_bytes()
    make_case(Existing("box", source, 30, False, Path("mine.yaml")), tmp_path / "cases", True, 300)
    case = load_case("box", tmp_path / "cases")
    assert source.read_bytes() == content and (case.folder / "topol.tpr").read_bytes() == content
    asked = water.parameters["steps"]
    assert f"Each timed run makes 30 steps. The input asks for {asked} steps." in case.description
    assert "non-bonded forces are computed on CPUs, so that no GPU is used" in case.description
    prepare(case, 1, tmp_path / "1")
    prepare(case, 2, tmp_path / "2", tmp_path / "1")
    expected = reference_answer(case, tmp_path / "1", 300)
    shared_memory = load_interconnect("shared_memory", INTERCONNECTS)
    point = Point(case.name, shared_memory.name, 2, 2, nodes=1, cores=1)
    done = undisturbed_run(case, point, tmp_path / "2", shared_memory, (), 300)
    assert done.problem is None
    assert compare_answer(case, None, expected, done.reading.details)[1] is None
    other = done.reading.details | {"first_energy": 1.01 * done.reading.details["first_energy"]}
    assert "potential energy of the first step" in compare_answer(case, None, expected, other)[1]


def test_a_file_of_another_kind_is_no_run_input(tmp_path):
    """`gmx dump` of such a file ends by a signal, without a message on its content."""
    junk = tmp_path / "junk.tpr"
    junk.write_bytes(bytes(range(256)))
    given = Existing("junk", junk, None, False, Path("mine.yaml"))
    line = refusal(InputError, make_case, given, tmp_path / "cases", False, 300)
    assert line == f"mine.yaml: cases: path: {junk}: not a run input of GROMACS; gmx grompp makes such files"


@pytest.mark.needs("gmx_mpi")
def test_a_damaged_run_input_is_refused_with_the_reason_of_gromacs(tmp_path):
    damaged = tmp_path / "damaged.tpr"
    damaged.write_bytes(b"\0\0\0\x08\0\0\0\x07VERSION\0" + bytes(100))
    given = Existing("damaged", damaged, None, False, Path("mine.yaml"))
    line = refusal(InputError, make_case, given, tmp_path / "cases", True, 300)
    assert line.startswith(f"mine.yaml: cases: path: {damaged}: gmx_mpi: exit status 1: GROMACS stopped: ")
    assert line.endswith(" (or the file is damaged)")
    assert "\n" not in line


@pytest.mark.needs("gmx_mpi")
def test_an_energy_minimisation_is_refused(tmp_path):
    application("gromacs").prepare(load_case("water_box-smoke", CASES), 1, tmp_path / "user", None)
    (tmp_path / "user/grompp.mdp").write_text("integrator = steep\nnsteps = 5\ndefine = -DFLEXIBLE\n")
    make = ["gmx_mpi", "-nobackup", "grompp", "-o", "minimise.tpr"]
    subprocess.run(make, cwd=tmp_path / "user", check=True, capture_output=True)
    source = tmp_path / "user/minimise.tpr"
    given = Existing("minimise", source, None, False, Path("mine.yaml"))
    line = refusal(InputError, make_case, given, tmp_path / "cases", True, 300)
    where = f"mine.yaml: cases: path: {source}"
    assert line == f"{where}: no molecular dynamics: integrator is steep; Nodeworth times only dynamics"


@pytest.mark.slow
@pytest.mark.needs("lmp", "mpirun.openmpi")
def test_an_input_with_its_files_runs_as_it_is_and_its_runs_agree(tmp_path):
    folder = tmp_path / "user"
    folder.mkdir()
    (folder / "pair.txt").write_text("pair_coeff 1 1 1.0 1.0 2.5\n")
    source = folder / "in.melt"
    source.write_text(MELT)
    make_case(Existing("melt", source, None, False, Path("mine.yaml")), tmp_path / "cases", True, 300)
    case = load_case("melt", tmp_path / "cases")
    assert source.read_text() == MELT and sorted(path.name for path in folder.iterdir()) == [
        "in.melt",
        "pair.txt",
    ]
    assert case.parameters["steps"] == 60
    assert "makes 60 steps. The input asks for 60 steps." in case.description
    prepare(case, 1, tmp_path / "1")
    prepare(case, 2, tmp_path / "2", tmp_path / "1")
    expected = reference_answer(case, tmp_path / "1", 300)
    assert expected["details"]["first_energy"] < 0
    shared_memory = load_interconnect("shared_memory", INTERCONNECTS)
    point = Point(case.name, shared_memory.name, 2, 2, nodes=1, cores=1)
    done = undisturbed_run(case, point, tmp_path / "2", shared_memory, (), 300)
    assert done.problem is None
    assert compare_answer(case, None, expected, done.reading.details)[1] is None
    lost = done.reading.details | {"first_energy": None}
    assert "energy of the first step: no finite number" in compare_answer(case, None, expected, lost)[1]


@pytest.mark.parametrize(
    ("wall", "cpu", "idle", "share"),
    [
        (4.0, 4.0, 0.0, 1.0),
        (4.0, 1.0, 0.0, 0.25),  # other programs keep all cores busy
        (4.0, 3.0, 1.0, 1.0),  # the run waits for its files, on a machine of one core
        (4.0, 3.0, 29.0, 1.0),  # the same, on a machine of eight cores
        (4.0, 4.1, 0.0, 1.0),  # clocks differ
    ],
)
def test_delays_by_other_programs_do_not_count_in_the_time_of_a_step(wall, cpu, idle, share):
    assert running_share(wall, cpu, idle) == pytest.approx(share)


def test_an_input_with_two_runs_is_refused(tmp_path):
    (tmp_path / "in.melt").write_text(f"{MELT}run 5\n")
    given = Existing("melt", tmp_path / "in.melt", None, False, Path("mine.yaml"))
    line = refusal(InputError, make_case, given, tmp_path / "cases", False, 300)
    where = f"mine.yaml: cases: path: {tmp_path}/in.melt"
    assert line == f"{where}: needs exactly one run with a number of steps, the one that is timed"


@pytest.mark.slow
@pytest.mark.needs("nwchem", "mpirun.openmpi")
def test_an_input_of_chemistry_runs_as_it_is_and_its_runs_agree(tmp_path):
    source = tmp_path / "water.nw"
    source.write_text(WATER)
    make_case(Existing("water", source, None, False, Path("mine.yaml")), tmp_path / "cases", True, 300)
    case = load_case("water", tmp_path / "cases")
    assert source.read_text() == WATER and "/somewhere" not in (case.folder / "input.nw").read_text()
    prepare(case, 1, tmp_path / "1")
    prepare(case, 2, tmp_path / "2", tmp_path / "1")
    expected = reference_answer(case, tmp_path / "1", 300)
    assert expected["details"]["energy"] == pytest.approx(-74.96, abs=0.01)
    shared_memory = load_interconnect("shared_memory", INTERCONNECTS)
    point = Point(case.name, shared_memory.name, 2, 2, nodes=1, cores=1)
    done = undisturbed_run(case, point, tmp_path / "2", shared_memory, (), 300)
    assert done.problem is None
    assert compare_answer(case, None, expected, done.reading.details)[1] is None
    assert "energy" in compare_answer(case, None, expected, done.reading.details | {"energy": -74.0})[1]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("restart x\ntask scf\n", "restarts an earlier run"),
        ("task scf saddle\n", "needs exactly one task, one of these: energy of scf, "),
    ],
)
def test_an_input_that_cannot_be_timed_is_refused(tmp_path, text, line):
    (tmp_path / "x.nw").write_text(text)
    given = Existing("x", tmp_path / "x.nw", None, False, Path("mine.yaml"))
    assert line in refusal(InputError, make_case, given, tmp_path / "cases", False, 300)


def test_a_refused_input_of_the_option_case_names_the_option(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.melt").write_text(f"{MELT}run 5\n")
    line = refusal(SystemExit, main, ["--case", "in.melt"])
    assert line.startswith(f"nodeworth: --case {tmp_path}/in.melt: needs exactly one run ")


@pytest.mark.parametrize("name", ["x.nw", "in.x"])
def test_a_binary_file_is_no_input(tmp_path, name):
    (tmp_path / name).write_bytes(b"units lj\n" + bytes(range(256)) * 200)
    given = Existing("x", tmp_path / name, None, False, Path("mine.yaml"))
    line = refusal(InputError, make_case, given, tmp_path / "cases", False, 300)
    assert line == f"mine.yaml: cases: path: {tmp_path}/{name}: is no text"
