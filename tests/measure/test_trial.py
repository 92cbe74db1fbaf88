"""The trial run of a program: both streams are searched, and it must pass before anything is measured."""

import json

import pytest
from needs import need
from programs import ran
from refused import refusal

from workflows.applications.tools import nearest_lines
from workflows.domain import InputError, Line
from workflows.measure.prepare import prepare, reference_answer
from workflows.measure.trial import trial_seconds
from workflows.plan.announce import announcement, check_cost
from workflows.plan.plan import make_plan
from workflows.study.asked import read_asked

PROGRAM = """
import sys
print("step 1")
print("       Core t (s)   Wall t (s)", file=sys.stderr)
print("       Time:        0.020        0.010", file=sys.stderr)
print("finished")
"""


def tried(folder, time, processes="[1, 2]", program=PROGRAM, output=None):
    (folder / "program.py").write_text(program)
    (folder / "mine.yaml").write_text(
        f"name: mine\ncases: [{{command: python3 program.py, time: '{time}'}}]\n"
        f"interconnects: [shared_memory]\nprocesses: {processes}\nblocks: 1\n"
    )
    (case,) = read_asked(folder / "mine.yaml").cases.values()
    prepare(case, 1, folder / "prepared")
    return reference_answer(case, folder / "prepared", 30, output=output)


@pytest.mark.parametrize("processes", ["[1, 2]", "[4]"])
def test_the_time_may_stand_in_standard_error(tmp_path, processes):
    expected = tried(tmp_path, r"Time:\s+\S+\s+(\S+)", processes)
    assert expected["value"] is None and 0 < expected["trial_seconds"] < 30


def test_a_pattern_that_matches_nowhere_shows_the_nearest_lines_of_both_streams(tmp_path):
    message = refusal(InputError, tried, tmp_path, r"Wall time:\s+(\S+)")
    assert message == (
        r"case program: no line of the trial run matches 'Wall time:\s+(\S+)'; nearest lines of standard output: "
        "'step 1' and 'finished'; of standard error: 'Core t (s)   Wall t (s)' and "
        "'Time:        0.020        0.010'"
    )


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("import sys; sys.exit('no topol.tpr here')", "exit status 1: "),
        (
            "print('ERROR: row 3 is singular\\nsee manual'); exit(2)",
            "exit status 2: incomplete: no time printed; ERROR: row 3",
        ),
        (
            "import sys; print('--> FOAM FATAL ERROR:\\nno patch\\n\\n    From x', file=sys.stderr); exit(1)",
            "exit status 1: FOAM FATAL ERROR: no patch",
        ),
        ("print('Time: soon')", "the time is printed as 'soon', which is no number of seconds"),
        ("print('Time: 5000')", "the program printed 5000 s, but the whole run took "),
    ],
)
def test_a_failed_trial_run_is_one_line(tmp_path, program, reason):
    message = refusal(InputError, tried, tmp_path, r"Time: (\S+)|here", program=program)
    assert message.startswith(f"case program: the trial run failed on 1 process: {reason}")


@pytest.mark.parametrize(
    ("ending", "reason"), [("exit(2)", "failed on 1 process"), ("exit(0)", "nearest lines")]
)
def test_the_whole_output_of_a_failed_trial_run_is_kept(tmp_path, ending, reason):
    program, output = f"print('first')\nprint('second')\n{ending}", tmp_path / "output.txt"
    message = refusal(InputError, tried, tmp_path, "Time: (.*)", program=program, output=output)
    assert reason in message and message.endswith(f"; all output: {output}")
    assert output.read_text().startswith("first\nsecond\n")


WATER = """\
#include "oplsaa.ff/forcefield.itp"
#include "oplsaa.ff/spc.itp"
[ system ]
Water
[ molecules ]
"""
STEPS = "nsteps = 3\ndt = 0.00001\ncoulombtype = PME\n"


def test_gromacs_prints_its_time_to_standard_error(tmp_path):
    """A box of water by GROMACS's own tools; three short steps."""
    need("gmx_mpi")
    (tmp_path / "water.top").write_text(WATER)
    (tmp_path / "steps.mdp").write_text(STEPS)
    solvate = "solvate -cs spc216.gro -box 3 3 3 -p water.top -o box.gro"
    for words in (solvate, "grompp -f steps.mdp -c box.gro -p water.top -o topol.tpr -maxwarn 1"):
        done = ran("gmx_mpi", *words.split(), cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    (tmp_path / "mine.yaml").write_text(
        "name: mine\ninterconnects: [shared_memory]\nprocesses: [1]\ncases:\n"
        "- {command: gmx_mpi mdrun -s topol.tpr -ntomp 1, time: 'Time:\\s+\\S+\\s+(\\S+)'}\n"
    )
    (case,) = read_asked(tmp_path / "mine.yaml").cases.values()
    prepare(case, 1, tmp_path / "prepared")
    assert trial_seconds(case, 1, tmp_path / "prepared", 100) > 0


def test_a_trial_run_gives_the_time_for_planning(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.yaml").write_text(
        "name: mine\ncases: [{command: python3 -c pass}]\ninterconnects: [shared_memory]\nprocesses: [2]\nblocks: 1\n"
    )
    before = make_plan(tmp_path / "mine.yaml")
    assert "guessed times: pass" in announcement(before)
    expected = before.paths.expected("pass")
    expected.parent.mkdir(parents=True)
    expected.write_text(json.dumps({"value": None, "source": "none", "trial_seconds": 4000.0}))
    plan = make_plan(tmp_path / "mine.yaml")
    assert plan.asked.cases["pass"].serial_seconds == 8000 and "guessed" not in announcement(plan)
    assert "limits.core_hours: 2 is too little" in refusal(InputError, check_cost, plan)


def test_the_trial_run_of_a_case_that_was_edited_gives_no_time(tmp_path, monkeypatch):
    """Else a study that is refused since its case takes too long would stay refused with a smaller case."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "case"
    folder.mkdir()
    (folder / "size.txt").write_text("large")
    (tmp_path / "mine.yaml").write_text(
        "name: mine\ncases: [{command: python3 -c pass, folder: case}]\ninterconnects: [shared_memory]\n"
        "processes: [2]\nblocks: 1\n"
    )
    before = make_plan(tmp_path / "mine.yaml")
    prepare(before.asked.cases["pass"], 1, before.paths.prepared("pass", 1))
    expected = {"value": None, "source": "none", "trial_seconds": 4000.0}
    before.paths.expected("pass").write_text(json.dumps(expected))
    refusal(InputError, check_cost, make_plan(tmp_path / "mine.yaml"))
    (folder / "size.txt").write_text("small")
    plan = make_plan(tmp_path / "mine.yaml")
    assert "guessed times: pass; a trial run comes first" in announcement(plan)
    check_cost(plan)


def test_nothing_was_printed():
    assert nearest_lines("Time: (.*)", [Line(0.1, " ")]) == "nothing was printed"
