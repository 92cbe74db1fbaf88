"""Logs of runs that Nodeworth did not start, read without a case and without arrival times."""

from pathlib import Path

import pytest
from stamped_logs import read_log

from workflows.applications import application, names

LOGS = Path(__file__).parents[1] / "logs"


def logged(name):
    """What the log `name` (application/file) states about its run."""
    file = LOGS / f"{name}.log.gz"
    return application(file.parent.name).read_log(read_log(file))


SOUND = [
    ("lammps/melt_parallel", {"seconds": 3.27801, "processes": 2, "threads": 1, "answer": -5.75009237256}),
    ("lammps/melt_threads", {"seconds": 2.33241, "processes": 1, "threads": 2}),
    ("gromacs/water_parallel", {"seconds": 6.855, "processes": 2, "nodes": 1, "answer": -79902.0}),
    ("gromacs/water_threads", {"processes": 1, "threads": 2, "started": "Sat Nov 28 18:29:48 2026"}),
    ("nwchem/mp2_parallel", {"seconds": 2.9, "wall_seconds": 3.0, "processes": 2}),
    ("nwchem/scf_serial", {"processes": 1, "started": "Sat Nov 21 01:25:26 2026"}),
    ("openfoam/coal_boiler_parallel", {"seconds": 22.0, "wall_seconds": 23.0, "processes": 2, "nodes": 1}),
    ("openfoam/coal_boiler_parallel", {"resolution_seconds": 2.0, "started": "Nov 21 2026 08:40:38"}),
]


@pytest.mark.parametrize(("name", "values"), SOUND)
def test_a_sound_run(name, values):
    run = logged(name)
    assert run.problem is None
    assert {key: getattr(run, key) for key in values} == values


def test_work_of_a_run():
    lammps, gromacs, foam = (
        logged(name).work
        for name in ("lammps/melt_parallel", "gromacs/water_parallel", "openfoam/burner_serial")
    )
    assert (lammps.amount, lammps.unit) == (4000 * 200, "atom steps")
    assert (gromacs.amount, gromacs.unit) == (0.2, "ps of simulated time")
    assert (foam.amount, foam.unit) == (39, "iterations")


BAD = [
    ("lammps/melt_killed", "incomplete: no 'Loop time'"),
    ("lammps/melt_lost_atoms", "LAMMPS stopped: Lost atoms: original 4000 current 976"),
    ("gromacs/water_killed", "incomplete: no table of times"),
    ("gromacs/water_cut_off", "incomplete: 410 of 20000 steps"),
    ("gromacs/water_prime_ranks", "GROMACS stopped: The number of ranks selected"),
    ("nwchem/ccsd_killed", "incomplete: no 'Task  times'"),
    ("nwchem/ccsd_restarted", "not a fresh start: status is restart"),
    ("nwchem/pspw_not_converged", "not converged"),
    ("nwchem/out_of_memory", "NWChem stopped: guess_dens: ma_push failed"),
    ("openfoam/elbow_cut_off", "incomplete: no 'End' after the last iteration"),
    ("openfoam/elbow_no_scheme", "incomplete: no iteration"),
    ("openfoam/elbow_nan", "diverged: residual of Ux is no finite number"),
    ("openfoam/cavity_serial", "whole seconds of ClockTime are too coarse"),
]


@pytest.mark.parametrize(("name", "reason"), BAD)
def test_a_run_that_does_not_count(name, reason):
    assert logged(name).problem.startswith(reason)


@pytest.mark.parametrize("name", ["lammps/melt_serial", "gromacs/water_serial", "nwchem/scf_serial"])
def test_a_log_of_two_runs_does_not_choose_one(name):
    file = LOGS / f"{name}.log.gz"
    lines = read_log(file)
    problem = application(file.parent.name).read_log(lines + lines).problem
    assert problem.startswith("prints 2 times ") and "state read.seconds" in problem


def test_every_prefix_of_a_log_can_be_read():
    for name in ("lammps/melt_serial", "gromacs/water_serial", "nwchem/scf_serial", "openfoam/burner_serial"):
        file = LOGS / f"{name}.log.gz"
        lines = read_log(file)
        for end in range(0, len(lines), max(1, len(lines) // 40)):
            assert application(file.parent.name).read_log(lines[:end]).problem


def test_applications_that_read_no_logs():
    readers = [name for name in names() if application(name).read_log([])]
    assert readers == ["gromacs", "lammps", "nwchem", "openfoam"]
