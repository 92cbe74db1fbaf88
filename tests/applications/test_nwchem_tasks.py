"""Tasks of NWChem: the energy that is the answer of each, and the tasks that are refused before a run."""

import dataclasses
from pathlib import Path

import pytest
from refused import refusal

from workflows.applications import application
from workflows.domain import InputError

nwchem = application("nwchem")


def reading(case, real_log, log, theory):
    scf = case("water_scf-smoke")
    asked = dataclasses.replace(scf, settings=scf.settings | {"read": {"theory": theory}})
    return nwchem.read(asked, 1, list(real_log("nwchem", log)))


@pytest.mark.parametrize(
    ("log", "theory", "energy"),
    [
        ("scf_optimised", "SCF", -74.965901192366),  # of the last geometry
        ("scf_frequencies", "SCF", -74.962489105164),  # of the first geometry; the last is displaced
        ("ccsd_t", "SCF", -74.962489105521),
        ("ccsd_t", "MP2", -74.997774234717312),
        ("ccsd_t", "CCSD", -75.011574451374159),
        ("ccsd_t", "CCSD(T)", -75.011642893565025),
        ("tce_ccsd_t", "CCSD", -75.011574436029832),
        ("tce_ccsd_t", "CCSD(T)", -75.011642874495806),
        ("tce_ccsd_t", "CCSD[T]", -75.011652862724006),
    ],
)
def test_the_energy_of_a_task(case, real_log, log, theory, energy):
    result = reading(case, real_log, log, theory)
    assert result.problem is None
    assert result.answer == energy


def test_an_energy_that_a_task_does_not_print(case, real_log):
    assert reading(case, real_log, "scf_optimised", "CCSD").problem.startswith("no energy printed")


def test_an_optimisation_that_does_not_converge_does_not_count(case, real_log):
    scf = case("water_scf-smoke")
    lines = [
        line for line in real_log("nwchem", "scf_optimised") if "Optimization converged" not in line.text
    ]
    assert nwchem.read(scf, 1, lines).problem == "geometry optimisation not converged"


def test_orbitals_of_an_earlier_run_are_no_fresh_start(case, real_log):
    """Although later steps of the optimisation may begin with the orbitals of the step before."""
    lines = list(real_log("nwchem", "scf_optimised"))
    begin = next(place for place, line in enumerate(lines) if line.text.endswith("NWChem SCF Module"))
    lines.insert(
        begin + 9, dataclasses.replace(lines[begin], text=" Loading old vectors from job with title :")
    )
    assert nwchem.read(case("water_scf-smoke"), 1, lines).problem.startswith("not a fresh start: Loading old")


SUPPORTED = (
    "needs exactly one task, one of these: energy of scf, dft, mp2, ccsd, ccsd(t), tce, pspw; gradient of "
)


@pytest.mark.parametrize(
    "task",
    ["task scf saddle", "task ccsd optimize", "task tce gradient", "task mp2 freq", "task scf optimize numerical",
     "task scf energy ignore", "task qmd", "task", "task shell ls"],
)  # fmt: skip
def test_a_task_without_support_is_refused_before_a_run(case, tmp_path, task):
    (tmp_path / "input.nw").write_text(f"{task}\n")
    mine = dataclasses.replace(case("water_scf-smoke"), folder=tmp_path)
    assert f"input.nw: '{task.ljust(5)}': {SUPPORTED}" in refusal(InputError, nwchem.inputs, mine)


@pytest.mark.parametrize(
    ("text", "theory"),
    [
        ("task scf\n", "SCF"),
        ("task dft optimize # comment\n", "DFT"),
        ("TASK SCF FREQ numerical\n", "SCF"),
        ("task ccsd(t)\n", "CCSD(T)"),
        ("tce\n io ga\n ccsd(t)\nend\ntask tce energy\n", "CCSD(T)"),
        ("tce; ccsd; end\ntce\n mbpt2\nend\ntask tce\n", "MBPT(2)"),
    ],
)
def test_the_energy_of_an_input_of_a_user(tmp_path, text, theory):
    (tmp_path / "input.nw").write_text(text)
    adopted = nwchem.adopt(Path("mine.nw"), tmp_path, False, False)
    assert adopted.settings["read"] == {"theory": theory}


@pytest.mark.parametrize(
    ("text", "model"), [("task tce\n", "no model"), ("tce\n ccsdta\nend\ntask tce\n", "CCSDTA")]
)
def test_a_model_of_tce_that_is_not_read_is_refused(tmp_path, text, model):
    (tmp_path / "input.nw").write_text(text)
    line = refusal(InputError, nwchem.adopt, Path("mine.nw"), tmp_path, False, False)
    assert line.startswith(f"mine.nw: tce: computes {model}; energies that are read: SCF, DFT, ")
