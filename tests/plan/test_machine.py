"""One study at a time on a machine, noise as the kernel counts it, and no job without its Snakemake."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from needs import DEFAULT_SIGNALS
from waiting import wait_until

from workflows.domain import InputError
from workflows.measure.noise import Counters, noise_between, read_counters, wait_until_idle
from workflows.paths import ROOT
from workflows.plan import machine
from workflows.plan.machine import end_scripts_at_sigterm, hold_study, only_study_on_this_machine

PYTHON = sys.executable


def test_noise_by_hand():
    before = Counters(clock=10.0, pressure=1.0, busy=5.0, steal=0.0)
    after = Counters(clock=14.0, pressure=2.0, busy=12.0, steal=0.4)
    noise = noise_between(before, after, own_cpu_seconds=6.0)
    assert (noise.pressure_share, noise.foreign_cores, noise.stolen_cores) == (0.25, 0.25, 0.1)


def test_no_pressure_accounting_is_no_zero():
    bare = Counters(clock=1.0, pressure=None, busy=0.0, steal=0.0)
    assert noise_between(bare, Counters(2.0, None, 0.0, 0.0), 0.0).pressure_share is None


def test_the_work_of_another_process_shows():
    with subprocess.Popen([PYTHON, "-c", "while True: pass"]) as busy:
        try:
            before = read_counters()
            time.sleep(1)
            seen = noise_between(before, read_counters(), own_cpu_seconds=0.0)
            waited, cores = wait_until_idle(limit_seconds=0.3, idle_cores=0.0)
            shown: list[float] = []
            wait_until_idle(limit_seconds=1.3, idle_cores=0.0, show_wait=shown.append)
        finally:
            busy.kill()
    assert len(shown) == 1 and shown[0] > 0.0
    assert seen.foreign_cores > 0.3
    assert waited >= 0.3
    assert cores > 0.0


def test_the_machine_is_not_shared(tmp_path):
    lock, messages = tmp_path / "lock", []
    with (
        only_study_on_this_machine(messages.append, lock=lock),
        pytest.raises(InputError, match="another study"),
        only_study_on_this_machine(messages.append, limit_seconds=0.3, lock=lock),
    ):
        pytest.fail("two studies at once")
    (message,) = messages
    assert message.startswith(
        f"waiting for another study that measures on this machine: process {os.getpid()}, "
    )
    assert message.endswith(f", in {Path.cwd()}")
    with only_study_on_this_machine(messages.append, lock=lock):
        pass
    assert len(messages) == 1


def test_a_study_that_waits_names_the_command_and_the_folder_of_the_other_study(tmp_path):
    """The script that measures holds the lock; the Snakemake above it was started in the user's folder."""
    script = (
        "import time; from pathlib import Path; from workflows.plan.machine import *\n"
        "with only_study_on_this_machine(print, lock=Path('lock')):\n"
        "    print('held', flush=True); time.sleep(60)"
    )
    snakemake = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {script!r}])"
    typed = [PYTHON, "-c", snakemake, "workflows.start", "--case", "my case", "--processes", "1,2", "x" * 99]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    lines = []
    with subprocess.Popen(typed, stdout=subprocess.PIPE, text=True, cwd=tmp_path, env=environment) as process:
        try:
            assert process.stdout.readline() == "held\n"
            with (
                pytest.raises(InputError, match=f"lock: process {process.pid}, ./run-study --case "),
                only_study_on_this_machine(lines.append, limit_seconds=0.1, lock=tmp_path / "lock"),
            ):
                pytest.fail("two studies at once")
        finally:
            for each in [*psutil.Process(process.pid).children(recursive=True), process]:
                each.kill()
    command = f"process {process.pid}, ./run-study --case 'my case' --processes 1,2 …, in {tmp_path}"
    assert lines == [f"waiting for another study that measures on this machine: {command}"]


def test_a_study_is_run_by_one_process(tmp_path):
    lock = hold_study(tmp_path / "results/mine")
    with pytest.raises(InputError, match=r"results/mine: another process is running this study"):
        hold_study(tmp_path / "results/mine")
    os.close(lock)
    os.close(hold_study(tmp_path / "results/mine"))


def test_the_lock_of_a_killed_study_is_free(tmp_path):
    lock = tmp_path / "lock"
    holder = (
        "import sys, time; from pathlib import Path; from workflows.plan.machine import *\n"
        f"with only_study_on_this_machine(print, lock=Path({str(lock)!r})):\n"
        "    print('held', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([PYTHON, "-c", holder], stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout.readline() == "held\n"
        process.kill()
    with only_study_on_this_machine(print, limit_seconds=5, lock=lock):
        pass


def test_a_script_that_ends_by_itself_at_sigterm_is_no_error(monkeypatch):
    def gone():
        raise psutil.NoSuchProcess(1)

    script = SimpleNamespace(cmdline=lambda: [PYTHON, "/x/.snakemake/scripts/measure.py"], terminate=gone)
    monkeypatch.setattr(psutil.Process, "children", lambda *_, **__: [script])
    monkeypatch.setattr(machine, "_signals", set())
    signals = []
    before = signal.signal(signal.SIGTERM, lambda number, _: signals.append(number))
    try:
        end_scripts_at_sigterm()
        os.kill(os.getpid(), signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert signals == [signal.SIGTERM], "Snakemake's own handler is called, too"


def test_a_job_ends_in_good_order_when_its_snakemake_is_killed(tmp_path):
    """The parent is a real process whose command line says snakemake; the job is its grandchild."""
    job = tmp_path / "job.py"
    job.write_text(
        "import os, time; from pathlib import Path; from workflows.plan.machine import end_with_snakemake\n"
        f"folder = Path({str(tmp_path)!r})\n"
        "with end_with_snakemake(every_seconds=0.1):\n"
        "    (folder / 'pid.new').write_text(str(os.getpid())); (folder / 'pid.new').rename(folder / 'pid')\n"
        "    try:\n"
        "        time.sleep(60)\n"
        "    finally:\n"
        "        (folder / 'cleaned').touch()\n"
    )
    snakemake = tmp_path / "snakemake"
    snakemake.write_text(f"import subprocess; subprocess.run(['bash', '-c', '{PYTHON} {job}; true'])\n")
    with subprocess.Popen([PYTHON, snakemake], env=os.environ | {"PYTHONPATH": str(ROOT)}) as parent:
        wait_until((tmp_path / "pid").exists)
        process = psutil.Process(int((tmp_path / "pid").read_text()))
        parent.kill()
    process.wait(timeout=20)
    assert (tmp_path / "cleaned").exists()


INTERRUPTED_TWICE = """
import os, signal, time
from workflows.plan.machine import is_interrupted, note_interruption
note_interruption()
try:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)
except KeyboardInterrupt:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.1)
    print("ended in order", is_interrupted())
"""


def test_a_second_ctrl_c_does_not_interrupt_the_end():
    done = subprocess.run(
        [*DEFAULT_SIGNALS, PYTHON, "-c", INTERRUPTED_TWICE],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.stdout, done.stderr, done.returncode) == ("ended in order True\n", "", 0)


INTERRUPTED_IMPORT = """
import runpy, sys
from unittest.mock import MagicMock

class Interrupted:
    def find_spec(self, name, path, target=None):
        if name == sys.argv[2]:
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupted())
runpy.run_path(sys.argv[1], {"snakemake": MagicMock()}, "__main__")
"""


@pytest.mark.parametrize(
    ("script", "module"),
    [
        ("analyse", "analysis.pipeline"),
        ("collect", "workflows.results.collect"),
        ("report", "analysis.pipeline"),
    ],
)
def test_ctrl_c_during_the_imports_of_a_script_is_one_line(script, module):
    command = [PYTHON, "-c", INTERRUPTED_IMPORT, ROOT / f"workflows/scripts/{script}.py", module]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 130
    assert done.stderr == "nodeworth: interrupted; what is recorded is kept\n"
