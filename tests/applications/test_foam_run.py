"""Solvers of OpenFOAM Foundation 11 and later, which are modules of foamRun. No such version was run."""

import dataclasses

import pytest

from workflows.applications import application, foam_case

openfoam = application("openfoam")


def with_solver(case, solver):
    elbow = case("elbow_segregated-smoke")
    return dataclasses.replace(elbow, settings=elbow.settings | {"solver": solver})


def test_a_module_of_foam_run_is_started(case):
    modular = with_solver(case, "foamRun -solver incompressibleFluid")
    assert openfoam.command(modular, 1) == ["foamRun", "-solver", "incompressibleFluid"]
    assert openfoam.command(modular, 4)[-1] == "-parallel"
    assert "foamRun" in openfoam.programs(modular)
    control = openfoam.inputs(modular)["system/controlDict"].decode()
    assert "application foamRun;\nsolver incompressibleFluid;" in control


def test_a_program_of_its_own_is_started_as_before(case):
    plain = with_solver(case, "simpleFoam")
    assert openfoam.command(plain, 1) == ["simpleFoam"]
    assert "application simpleFoam;\n" in openfoam.inputs(plain)["system/controlDict"].decode()


@pytest.mark.parametrize(
    ("control", "solver"),
    [
        ({"application": "icoFoam"}, "icoFoam"),
        ({"application": "foamRun", "solver": "fluid"}, "foamRun -solver fluid"),
        ({"solver": "fluid"}, "foamRun -solver fluid"),
        ({"application": "icoFoam", "solver": "fluid"}, "icoFoam"),
        ({}, None),
    ],
)
def test_the_solver_of_a_control_dict(control, solver):
    assert foam_case._solver(control) == solver
