"""Logs of runs that Nodeworth did not start, read without a case and without arrival times."""

from pathlib import Path

import pytest
from stamped_logs import read_log

from workflows.applications import application, names
from workflows.domain import Line

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


@pytest.mark.parametrize(("total", "seconds"), [("0:00:21", 21.5), ("0:00:22", 22.0), ("0:00:20", None)])
def test_the_total_of_lammps_is_truncated(total, seconds):
    run = old_lammps(f"{OLD_LAMMPS}Total wall time: {total}\n")
    assert run.wall_seconds == seconds


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


def changed(name, *changes):
    """What the log `name` states about its run after changes, each of a text and its replacement."""
    file = LOGS / f"{name}.log.gz"
    text = "\n".join(line.text for line in read_log(file))
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    return application(file.parent.name).read_log([Line(0.0, line) for line in text.split("\n")])


# Rows of a public log of GROMACS 2019.3 (ARCHER benchmarks) on 24 and 8 ranks, with other times.
SEPARATE_RANKS = """\
 Force                  2    1        101       0.955          4.959  13.9
 PME mesh *             1    1        101       4.100         10.645  29.9
 PME wait for PP *                              2.755          7.153  20.1
"""
FORCE = SEPARATE_RANKS.splitlines(keepends=True)[0]


def test_separate_pme_ranks_work_alongside_the_others():
    run, alone = changed("gromacs/water_parallel", (FORCE, SEPARATE_RANKS)), logged("gromacs/water_parallel")
    assert run.problem is None and run.loop_seconds == alone.loop_seconds
    assert sum(run.loop_seconds.values()) == pytest.approx(run.seconds, abs=0.01)


def test_parts_that_overlap_are_left_out():
    wait = " Wait PME GPU gather    2    1        101       1.500          0.010   0.0\n"
    run = changed("gromacs/water_parallel", (FORCE, FORCE + wait))
    assert (run.problem, run.seconds, run.loop_seconds) == (None, 6.855, {})


def test_a_log_of_gromacs_4_names_nodes_and_lambda():
    run = changed(
        "gromacs/water_parallel",
        ("           Step           Time", "           Step           Time         Lambda"),
        ("100        0.20000", "100        0.20000        0.00000"),
        ("mdrun on rank 0", "mdrun on node 0"),
        (
            "Num   Num      Call    Wall time         Giga-Cycles",
            "Nodes     Number     G-Cycles    Seconds     %",
        ),
    )
    assert (run.problem, run.seconds, run.answer) == (None, 6.855, -79902.0)
    assert (run.work.amount, run.started, run.loop_seconds) == (0.2, "Sat Nov 28 18:29:39 2026", {})
    assert run.resolution_seconds is None


def test_work_after_a_reset_of_the_counters():
    (row,) = [
        line.text
        for line in read_log(LOGS / "gromacs/water_parallel.log.gz")
        if line.text.endswith(" 0.10000")
    ]
    reset = "step 60: resetting all time and cycle counters"
    run = changed("gromacs/water_parallel", (row, f"{row}\n{reset}"))
    assert run.work.amount == pytest.approx(0.08)


def test_work_of_a_restarted_run():
    lines = [line.text for line in read_log(LOGS / "gromacs/water_parallel.log.gz")]
    half = next(index for index, text in enumerate(lines) if text.endswith(" 0.10000"))
    again = [text.replace("0        0.00000", "50       0.10000") for text in lines]
    run = application("gromacs").read_log([Line(0.0, text) for text in [*lines[:half], *again]])
    assert (run.problem, run.work.amount) == (None, pytest.approx(0.1))


def test_gromacs_4_0_counts_whole_seconds():
    run = changed("gromacs/water_parallel", (":-) GROMACS - gmx mdrun, 2022.5", ":-)  VERSION 4.0.3"))
    assert run.resolution_seconds == 2.0


def test_a_minimisation_is_no_dynamics():
    run = changed("gromacs/water_parallel", ("= md\n", "= steep\n"))
    assert run.problem == "no molecular dynamics: integrator is steep; only dynamics is read"


# Form of LAMMPS 2013 and 1 Feb 2014: the parts have no table, and no total follows.
OLD_LAMMPS = """\
LAMMPS (1 Feb 2014)
Loop time of 21.5 on 8 procs (4 MPI x 2 OpenMP) for 100 steps with 32000 atoms

Pair  time (%) = 18.5 (86.0465)
Neigh time (%) = 2 (9.30233)
Other time (%) = 1 (4.65116)

Ave neighs/atom = 5.86476
Neighbor list builds = 5
Dangerous builds = 0
"""


def old_lammps(text):
    """What a log in `OLD_LAMMPS`'s form states."""
    return application("lammps").read_log([Line(0.0, line) for line in text.split("\n")])


def test_an_old_version_of_lammps_prints_no_total():
    run = old_lammps(OLD_LAMMPS)
    assert (run.problem, run.seconds, run.processes, run.threads) == (None, 21.5, 4, 2)
    assert run.work.amount == 100 * 32000


@pytest.mark.parametrize("cut", ["Ave neighs", "Neighbor list"])
def test_an_old_log_ends_with_its_statistics(cut):
    expected = "incomplete: neither 'Total wall time' nor 'Neighbor list builds' at the end"
    assert old_lammps(OLD_LAMMPS[: OLD_LAMMPS.index(cut)]).problem == expected
    assert old_lammps(f"{OLD_LAMMPS}\nSetting up run ...\n").problem == expected


def test_an_error_after_the_total_of_nwchem():
    error = "[1] Received an Error in Communication: (4) 1:pnga_copy_patch:0 != GA_stack_size:"
    (total,) = (
        line.text for line in read_log(LOGS / "nwchem/mp2_parallel.log.gz") if " Total times" in line.text
    )
    run = changed("nwchem/mp2_parallel", (total, f"{total}\n{error}\nMPI_ABORT was invoked on rank 1"))
    assert run.problem == f"NWChem stopped: {error}"


def foam_log():
    """Lines of the log of the coal boiler, and the indices of those that end an iteration."""
    lines = [line.text for line in read_log(LOGS / "openfoam/coal_boiler_parallel.log.gz")]
    ends = [index for index, text in enumerate(lines) if text.startswith("ExecutionTime")]
    return lines, ends


MESHER = """\
Build  : 9
Exec   : /opt/foam/bin/snappyHexMesh -parallel -overwrite
nProcs : 2
Finished meshing in = 61.5 s.
End

Finalising parallel run
"""


def test_a_mesher_is_no_solver():
    foam = application("openfoam")
    run = foam.read_log([Line(0.0, text) for text in MESHER.split("\n")])
    assert run.problem == (
        "snappyHexMesh ended without an iteration, so it is no solver; state read.seconds to choose a time"
    )
    cut = MESHER[: MESHER.index("End")]
    assert foam.read_log([Line(0.0, cut)]).problem == "incomplete: no iteration"


def test_a_task_of_nwchem_may_print_no_time():
    lines = [line for line in read_log(LOGS / "nwchem/scf_serial.log.gz") if "Task  times" not in line.text]
    run = application("nwchem").read_log(lines)
    assert run.problem == "the run ended, but prints no 'Task  times'; state read.seconds to choose a time"


def foam(lines):
    return application("openfoam").read_log([Line(0.0, text) for text in lines])


SLAVES = (
    """Host   : "node-1"\nPID    : 7\nnProcs : 4\nSlaves : \n3\n(\n"node-1.8"\n"node-2.7"\n"node-2.8"\n)"""
)


def test_slaves_name_the_nodes():
    assert foam(SLAVES.split("\n")).nodes == 2
    assert foam(SLAVES.removesuffix(")").split("\n")).nodes is None
    assert foam(SLAVES.replace("node-", "......").split("\n")).nodes is None


def test_an_excerpt_of_a_log_has_no_work():
    lines, ends = foam_log()
    assert foam(lines).work.amount == len(ends) - 1
    without = lines[: ends[1] + 1] + lines[ends[-3] + 1 :]
    dots = [*lines[: ends[1] + 1], "......", *lines[ends[1] + 1 :]]
    assert [(run.problem, run.work) for run in map(foam, (without, dots))] == [(None, None)] * 2


@pytest.mark.parametrize(
    "steps", [[1e-6, 1.2e-6, 4e-6, 1e-7, 4e-6, 4e-6], [1, 1, 1], [2, 8], [5], [1000] + [2e-3] * 9]
)
def test_an_adaptive_time_step_is_no_excerpt(steps):
    lines, time = [], 0.0
    for clock, step in enumerate(steps):
        time += step
        lines += [f"Time = {time:.6g}", f"ExecutionTime = {9 * clock} s  ClockTime = {9 * clock} s"]
    run = foam([*lines, "End"])
    assert (run.work.amount if run.work else 0) == len(steps) - 1


def test_two_runs_that_write_into_one_log_at_once():
    lines, ends = foam_log()
    lines[ends[3]] += "dedeltaT = 0.0001"
    run = application("openfoam").read_log([Line(0.0, text) for text in lines])
    assert run.problem == "damaged: other text is in a line of ClockTime; give each run a log of its own"
    assert run.line == ends[3]


def test_a_run_after_a_killed_one_in_the_same_log():
    lines, ends = foam_log()
    run = application("openfoam").read_log([Line(0.0, text) for text in lines[: ends[-2]] + lines])
    assert run.problem == "holds two runs, since ClockTime falls; give each run a log of its own"
    assert run.line == ends[-2] + ends[0]


def test_a_floating_point_exception_is_named():
    lines, ends = foam_log()
    frames = [
        f"#{n}  Foam::{name} at ??:?"
        for n, name in enumerate(("error::printStack()", "sigFpe::sigHandler(int)"))
    ]
    run = application("openfoam").read_log([Line(0.0, text) for text in [*lines[: ends[-1]], *frames]])
    assert run.problem == "floating point exception (Foam::sigFpe)"
    assert run.line == ends[-1] + 1


def test_every_prefix_of_a_log_can_be_read():
    for name in ("lammps/melt_serial", "gromacs/water_serial", "nwchem/scf_serial", "openfoam/burner_serial"):
        file = LOGS / f"{name}.log.gz"
        lines = read_log(file)
        for end in range(0, len(lines), max(1, len(lines) // 40)):
            assert application(file.parent.name).read_log(lines[:end]).problem


def test_applications_that_read_no_logs():
    readers = [name for name in names() if application(name).read_log([])]
    assert readers == ["gromacs", "lammps", "nwchem", "openfoam"]
