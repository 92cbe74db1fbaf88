"""Every bad run with a real log is rejected for one clear reason."""

from dataclasses import replace
from pathlib import Path

import pytest

from workflows.applications import application
from workflows.domain import Line
from workflows.launch.execution import Execution
from workflows.measure.answers import compare_answer
from workflows.measure.running import problem_of
from workflows.study.cases import load_case

CASES_OF_TESTS = Path(__file__).parents[1] / "cases"

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
    """Reason in the record of a run."""

    def reason(log, name, processes, end):
        logged_case = case(name)
        app, lines = application(logged_case.application), list(real_log(logged_case.application, log))
        status, signal = (None, end) if isinstance(end, str) else (end, None)
        ended = Execution(lines, "", False, status, signal, False, 9.0, 1.0, 0.0, "2026-01-01T00:00:00+00:00")
        reading = app.read(logged_case, processes, lines)
        golden = {"value": logged_case.answer.golden, "source": "golden"}
        return problem_of(app, ended, reading, 60) or compare_answer(logged_case, reading.answer, golden)[1]

    return reason


@pytest.mark.parametrize(("log", "name", "processes", "end", "start"), BAD)
def test_a_bad_run_has_one_reason(reason, log, name, processes, end, start):
    stated_reason = reason(log, name, processes, end)
    assert stated_reason.startswith(start)
    assert "\n" not in stated_reason


@pytest.mark.parametrize(("log", "name"), [("elbow_parallel", ELBOW), ("melt_parallel", MELT)])
def test_a_good_run_has_none(reason, log, name):
    assert reason(log, name, 2, 0) is None


def timed(case, lines, wall_seconds):
    """Why a run that ended well does not count, by the output and the wall time of its launch."""
    app = application(case.application)
    ended = Execution(lines, "", False, 0, None, False, wall_seconds, 1.0, 0.0, "2026-01-01T00:00:00+00:00")
    return problem_of(app, ended, app.read(case, 2, lines), 60)


@pytest.mark.parametrize(
    ("printed", "wall_seconds"),
    [
        ("300.0", 0.5712),  # milliseconds
        ("0.60", 0.5712),
        ("2", 0.5712),
        ("5.772e-01", 0.5712),
        ("0.3D+03", 12.0),
        ("4000", 3600),
    ],
)
def test_a_printed_time_beyond_the_wall_time_of_the_run_does_not_count(printed, wall_seconds):
    harmonic = load_case("harmonic-smoke", CASES_OF_TESTS)
    lines = [Line(0.4, f"took {printed} s"), Line(0.4, "sum = 1.6439345666815615"), Line(0.5, "done")]
    assert timed(harmonic, lines, wall_seconds) == (
        f"the program printed {printed} s, but the whole run took {wall_seconds:g} s: does it print seconds?"
    )


@pytest.mark.parametrize(
    ("printed", "wall_seconds"),
    [("0.571", 0.5712), ("0.576", 0.5712), ("0.58", 0.5712), ("1", 0.5712), ("3630", 3600), ("5e-1", 0.5)],
)
def test_a_printed_time_may_exceed_the_wall_time_by_a_percent_and_its_last_digit(printed, wall_seconds):
    harmonic = load_case("harmonic-smoke", CASES_OF_TESTS)
    lines = [Line(0.4, f"took {printed} s"), Line(0.4, "sum = 1.6439345666815615"), Line(0.5, "done")]
    assert timed(harmonic, lines, wall_seconds) is None


def test_no_application_may_print_a_time_beyond_the_wall_time(case, real_log):
    melt = timed(case(MELT), list(real_log("lammps", "melt_parallel")), 1.0)
    assert melt == "the program printed 3.27801 s, but the whole run took 1 s: does it print seconds?"
    started, finished = '{"started": {"mpi4py": "4"}}', '{"finished": {"seconds": 300.0, "answer": 0}}'
    lines = [Line(0.1, started), Line(0.2, finished)]
    assert timed(case("barrier-smoke"), lines, 0.3).startswith(
        "the program printed 300.0 s, but the whole run"
    )


def test_a_line_that_arrives_after_the_program_ended_is_no_printed_time():
    harmonic = load_case("harmonic-smoke", CASES_OF_TESTS)
    plain = replace(harmonic, settings=harmonic.settings | {"read": {}}, answer=None)
    assert timed(plain, [Line(0.2, "done")], 0.1) is None


def test_a_good_log_of_a_program_that_failed_does_not_count(reason):
    assert reason("elbow_parallel", ELBOW, 2, 1) == "exit status 1"
