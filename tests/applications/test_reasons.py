"""Every bad run of which there is a real log is caught, and for one clear reason."""

import pytest

from workflows.applications import application
from workflows.launch.execution import Execution
from workflows.measure.answers import compare_answer
from workflows.measure.running import problem_of

ELBOW, MELT, CCSD = "elbow_segregated-smoke", "lj_melt-smoke", "water_ccsd-smoke"
BAD = [
    # application, log, case, processes, exit status, signal, what the reason begins with
    (
        "openfoam",
        "elbow_more_viscous",
        ELBOW,
        2,
        0,
        None,
        "pressure_drop 150.3036323 differs from the golden",
    ),
    ("openfoam", "elbow_diverged", ELBOW, 1, 0, None, "diverged: continuity error 7.79e+30 above 0.01"),
    ("openfoam", "elbow_nan", ELBOW, 1, 0, None, "diverged: continuity error is not there or no finite"),
    ("openfoam", "fighter_hot", "fighter-smoke", 2, 0, None, "diverged: min(T) 586.5 outside 100 to 500"),
    ("openfoam", "cavity_fast_lid", "cavity-smoke", 1, 0, None, "diverged: Courant number 26 above 1"),
    (
        "openfoam",
        "elbow_cut_off",
        ELBOW,
        1,
        None,
        "SIGKILL",
        "ended by SIGKILL: incomplete: 39 of 60 iterations",
    ),
    ("openfoam", "elbow_cut_off", ELBOW, 1, 0, None, "incomplete: 39 of 60 iterations"),
    ("openfoam", "elbow_killed", ELBOW, 2, 137, None, "exit status 137: incomplete: 42 of 60 iterations"),
    ("openfoam", "elbow_stale_folder", ELBOW, 1, 0, None, "incomplete: 30 of 60 iterations"),
    (
        "openfoam",
        "burner_no_flame",
        "burner-smoke",
        2,
        0,
        None,
        "methane 4.440549249e-06 differs from the golden",
    ),
    (
        "openfoam",
        "coal_boiler_hot",
        "coal_boiler-smoke",
        1,
        0,
        None,
        "methane 0.001744007963 differs from the",
    ),
    # The answer is right; the main loop would have taken 1 ms.
    (
        "openfoam",
        "coal_boiler_late",
        "coal_boiler-smoke",
        2,
        0,
        None,
        "time unsure: 0.0 s by the arrival of the lines, 3.0 to 5.0 s by OpenFOAM",
    ),
    (
        "nwchem",
        "scf_other_basis",
        "water_scf-smoke",
        1,
        0,
        None,
        "energy -75.97484109 differs from the golden",
    ),
    # An energy is printed before it fails: neither the exit status nor the log alone would let it count.
    (
        "nwchem",
        "ccsd_not_converged",
        CCSD,
        1,
        255,
        None,
        "exit status 255: NWChem stopped: ccsd energy failed",
    ),
    ("nwchem", "ccsd_not_converged", CCSD, 1, 0, None, "NWChem stopped: ccsd energy failed"),
    ("nwchem", "ccsd_killed", CCSD, 2, 137, None, "exit status 137: incomplete: no 'Total times'"),
    ("nwchem", "ccsd_restarted", CCSD, 2, 0, None, "not a fresh start: status is restart, not startup"),
    ("nwchem", "ccsd_stale_scratch", CCSD, 2, 0, None, "not a fresh start: Restarting from old vector in"),
    ("lammps", "melt_other_seed", MELT, 1, 0, None, "potential_energy -5.742357971 differs from the golden"),
    ("lammps", "melt_drift", MELT, 1, 0, None, "diverged: TotEng -4.6318 at step 100 outside -4.63 to -4.61"),
    (
        "lammps",
        "melt_lost_atoms",
        MELT,
        2,
        1,
        None,
        "exit status 1: LAMMPS stopped: Lost atoms: original 4000",
    ),
    ("lammps", "melt_killed", MELT, 2, 137, None, "exit status 137: incomplete: 300 of 200 steps"),
]


def reason(case, lines, processes, status, signal):
    """What a record of the run would give as reason."""
    app = application(case.application)
    execution = Execution(lines, "", False, status, signal, False, 9.0, 1.0, 0.0, "2026-01-01T00:00:00+00:00")
    reading = app.read(case, processes, lines)
    golden = {"value": case.answer.golden, "source": "golden"}
    return problem_of(app, execution, reading, 60) or compare_answer(case, reading.answer, golden)[1]


@pytest.mark.parametrize(("app", "log", "name", "processes", "status", "signal", "said"), BAD)
def test_a_bad_run_has_one_reason(case, real_log, app, log, name, processes, status, signal, said):
    told = reason(case(name), list(real_log(app, log)), processes, status, signal)
    assert told.startswith(said)
    assert "\n" not in told


@pytest.mark.parametrize(
    ("app", "log", "name", "processes"),
    [("openfoam", "elbow_parallel", ELBOW, 2), ("lammps", "melt_parallel", MELT, 2)],
)
def test_a_good_run_has_none(case, real_log, app, log, name, processes):
    assert reason(case(name), list(real_log(app, log)), processes, 0, None) is None


def test_a_good_log_of_a_program_that_failed_does_not_count(case, real_log):
    told = reason(case(ELBOW), list(real_log("openfoam", "elbow_parallel")), 2, 1, None)
    assert told == "exit status 1"
