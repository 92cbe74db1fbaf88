"""Any program in one line: ``run-study --command`` in a folder of the user."""

import json
import sys

import pytest
from programs import ran

from workflows.paths import ROOT

pytestmark = pytest.mark.slow

PROGRAM = (
    "import sys\nopen('input.txt', 'a').write('changed by a run')\nprint('took 0.01 s', file=sys.stderr)\n"
)
COMMAND = [
    "--command",
    "python3 program.py",
    "--time",
    r"took (\S+) s",
    "--processes",
    "1,2",
    "--name",
    "mine",
]
OPTIONS = ["--config", "blocks=1", "limits={idle_seconds: 0}", "--", "results/mine/records.txt"]


def test_a_program_is_timed_and_its_edited_input_measured_again(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "input.txt").write_text("one")
    command = [sys.executable, "-P", "-m", "workflows.start", *COMMAND, *OPTIONS]
    for text, attempts in (("one", 1), ("one", 1), ("two", 2)):
        (tmp_path / "input.txt").write_text(text)
        done = ran(*command, cwd=tmp_path, timeout=500, PYTHONPATH=str(ROOT))
        assert done.returncode == 0, done.stderr
        records = sorted((tmp_path / "results/mine/records").rglob("*.json"))
        assert len(records) == 3 * attempts
        assert all(json.loads(record.read_text())["valid"] for record in records), done.stderr
        assert (tmp_path / "input.txt").read_text() == text
    visible = sorted(path.name for path in tmp_path.iterdir() if not path.name.startswith("."))
    assert visible == ["input.txt", "program.py", "results"]


def test_the_last_line_after_a_failed_trial_run_is_its_reason(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM.replace("took", "needed"))
    (tmp_path / "input.txt").write_text("one")
    command = [sys.executable, "-P", "-m", "workflows.start", *COMMAND, *OPTIONS]
    done = ran(*command, cwd=tmp_path, timeout=500, PYTHONPATH=str(ROOT))
    assert done.returncode != 0
    last = done.stderr.splitlines()[-1]
    assert last.startswith(
        "stopped; 0 of 1 block recorded; first mend this: case program: no line of the trial run"
    )
    assert "goes on from there" not in done.stderr
