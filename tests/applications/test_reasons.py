"""Every bad run of which there is a real log is caught, and for one clear reason."""

import pytest

from workflows.applications import application
from workflows.launch.execution import Execution
from workflows.measure.answers import compare_answer
from workflows.measure.running import problem_of

ELBOW, BOILER, MELT, CCSD = "elbow_segregated-smoke", "coal_boiler-smoke", "lj_melt-smoke", "water_ccsd-smoke"
BAD = [
    # log, case, processes, exit status or signal, what the reason begins with
    ("elbow_more_viscous", ELBOW, 2, 0, "pressure_drop 150.3036323 differs from the golden"),
    ("elbow_diverged", ELBOW, 1, 0, "diverged: continuity error 7.79e+30 above 0.01"),
    ("elbow_nan", ELBOW, 1, 0, "diverged: continuity error is not there or no finite"),
    ("fighter_hot", "fighter-smoke", 2, 0, "diverged: min(T) 586.5 outside 100 to 500"),
    ("cavity_fast_lid", "cavity-smoke", 1, 0, "diverged: Courant number 26 above 1"),
    ("elbow_cut_off", ELBOW, 1, "SIGKILL", "ended by SIGKILL: incomplete: 39 of 60 iterations"),
    ("elbow_cut_off", ELBOW, 1, 0, "incomplete: 39 of 60 iterations"),
    ("elbow_killed", ELBOW, 2, 137, "exit status 137: incomplete: 42 of 60 iterations"),
    ("elbow_stale_folder", ELBOW, 1, 0, "incomplete: 30 of 60 iterations"),
    ("burner_no_flame", "burner-smoke", 2, 0, "methane 4.440549249e-06 differs from the golden"),
    ("coal_boiler_hot", BOILER, 1, 0, "methane 0.001744007963 differs from the"),
    # The answer is right; the main loop would have taken 1 ms.
    ("coal_boiler_late", BOILER, 2, 0, "time unsure: 0.0 s by the arrival of the lines, 3.0 to 5.0 s by"),
    ("scf_other_basis", "water_scf-smoke", 1, 0, "energy -75.97484109 differs from the golden"),
    # An energy is printed before it fails: neither the exit status nor the log alone would let it count.
    ("ccsd_not_converged", CCSD, 1, 255, "exit status 255: NWChem stopped: ccsd energy failed"),
    ("ccsd_not_converged", CCSD, 1, 0, "NWChem stopped: ccsd energy failed"),
    ("ccsd_killed", CCSD, 2, 137, "exit status 137: incomplete: no 'Total times'"),
    ("ccsd_restarted", CCSD, 2, 0, "not a fresh start: status is restart, not startup"),
    ("ccsd_stale_scratch", CCSD, 2, 0, "not a fresh start: Restarting from old vector in"),
    ("melt_other_seed", MELT, 1, 0, "potential_energy -5.742357971 differs from the golden"),
    ("melt_drift", MELT, 1, 0, "diverged: TotEng -4.6318 at step 100 outside -4.63 to -4.61"),
    ("melt_lost_atoms", MELT, 2, 1, "exit status 1: LAMMPS stopped: Lost atoms: original 4000"),
    ("melt_killed", MELT, 2, 137, "exit status 137: incomplete: 300 of 200 steps"),
]


@pytest.fixture
def reason(case, real_log):
    """What a record of a run would give as reason."""

    def reason(log, name, processes, end):
        one = case(name)
        app, lines = application(one.application), list(real_log(one.application, log))
        status, signal = (None, end) if isinstance(end, str) else (end, None)
        ended = Execution(lines, "", False, status, signal, False, 9.0, 1.0, 0.0, "2026-01-01T00:00:00+00:00")
        reading = app.read(one, processes, lines)
        golden = {"value": one.answer.golden, "source": "golden"}
        return problem_of(app, ended, reading, 60) or compare_answer(one, reading.answer, golden)[1]

    return reason


@pytest.mark.parametrize(("log", "name", "processes", "end", "said"), BAD)
def test_a_bad_run_has_one_reason(reason, log, name, processes, end, said):
    told = reason(log, name, processes, end)
    assert told.startswith(said)
    assert "\n" not in told


@pytest.mark.parametrize(("log", "name"), [("elbow_parallel", ELBOW), ("melt_parallel", MELT)])
def test_a_good_run_has_none(reason, log, name):
    assert reason(log, name, 2, 0) is None


def test_a_good_log_of_a_program_that_failed_does_not_count(reason):
    assert reason("elbow_parallel", ELBOW, 2, 1) == "exit status 1"
