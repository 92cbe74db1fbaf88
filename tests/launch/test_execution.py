"""Running a program: its output with time stamps, its end, and the end of all its processes."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from needs import DEFAULT_SIGNALS
from waiting import wait_until

from workflows.launch import execution, leftovers
from workflows.launch.execution import execute


def sh(script: str, folder: Path, limit: float = 60.0, **env: str) -> execution.Execution:
    return execute(["sh", "-c", script], dict(os.environ) | env, folder, limit)


@pytest.fixture
def nap() -> str:
    """Give a duration that no other process of this machine sleeps for."""
    return f"{random.randrange(300, 400)}.{random.randrange(10**9):09}"


def sleepers(nap: str) -> list[psutil.Process]:
    processes = psutil.process_iter(["cmdline"])
    return [process for process in processes if (process.info["cmdline"] or [])[:2] == ["sleep", nap]]


def test_lines_are_stamped_as_they_arrive_and_errors_kept_apart(tmp_path):
    done = sh("echo one; echo wrong >&2; sleep 1; echo two; printf three", tmp_path)
    assert [line.text for line in done.lines] == ["one", "two", "three"]
    first, two, three = (line.seconds for line in done.lines)
    assert 0 < first < two - 0.25 and 0.25 < two <= three
    assert (done.errors, done.exit_status, done.signal, done.timed_out) == ("wrong\n", 0, None, False)


def test_lines_that_come_together_are_read_together(tmp_path):
    """Each read takes a core from a rank."""
    lines = "import time; time.sleep(1)\nfor n in range(400): time.sleep(0.0005); print(n, flush=True)"
    done = execute([sys.executable, "-c", lines], dict(os.environ), tmp_path, 60)
    assert [line.text for line in done.lines] == list(map(str, range(400)))
    stamps = [line.seconds for line in done.lines]
    assert len(set(stamps)) < 200 and stamps == sorted(stamps)


def test_lines_that_arrive_unread_are_stamped_with_the_middle_of_the_gap(tmp_path, monkeypatch):
    monkeypatch.setattr(execution, "_REST_SHARE", 1e6)
    monkeypatch.setattr(execution, "_LONGEST_REST_SECONDS", 1.0)
    first, two, three = (
        line.seconds for line in sh("echo 1; sleep 0.1; echo 2; sleep 1.5; echo 3", tmp_path).lines
    )
    assert 0.4 < two - first < 0.8 and three - two > 0.7


def test_a_program_that_prints_much_is_not_kept_waiting(tmp_path, monkeypatch):
    rests = []
    monkeypatch.setattr(execution.time, "sleep", rests.append)
    sh("head -c 5000000 /dev/zero", tmp_path)
    assert len(rests) < 20


def test_a_line_that_comes_in_pieces_is_stamped_with_its_end(tmp_path):
    done = sh("printf be; sleep 0.3; printf 'gun\\r\\n\\377\\n'", tmp_path)
    assert [line.text for line in done.lines] == ["begun", "\ufffd"]
    assert done.lines[0].seconds > 0.25


def test_the_program_gets_the_given_environment_and_folder_and_no_input(tmp_path):
    done = sh('cat; echo "$COLOUR"; pwd', tmp_path, COLOUR="grey")
    assert [line.text for line in done.lines] == ["grey", str(tmp_path)]


def test_the_end_of_a_program_is_seen_without_pidfd(tmp_path, monkeypatch):
    """As before Linux 5.3. What it leaves keeps its pipes open."""

    def unknown(_pid):
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(os, "pidfd_open", unknown)
    done = sh("sleep 60 & echo begun; exit 3", tmp_path)
    assert ([line.text for line in done.lines], done.exit_status) == (["begun"], 3)


@pytest.mark.parametrize(
    ("script", "status", "name"),
    [("exit 3", 3, None), ("kill -KILL $$", None, "SIGKILL"), ("kill -SEGV $$", None, "SIGSEGV")],
)
def test_the_end_is_an_exit_status_or_the_name_of_a_signal(tmp_path, script, status, name):
    done = sh(script, tmp_path)
    assert (done.exit_status, done.signal, done.timed_out) == (status, name, False)


def test_a_program_that_is_not_there_is_reported(tmp_path):
    with pytest.raises(FileNotFoundError, match="no-such-solver: no such program"):
        execute(["no-such-solver"], dict(os.environ), tmp_path, 1)


def test_output_is_bounded_and_the_program_still_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(execution, "KEPT_BYTES", 1_000_000)
    done = sh("yes | head -c 5000000; echo end", tmp_path)
    assert (done.exit_status, done.cut) == (0, True)
    assert sum(len(line.text) + 1 for line in done.lines) <= 1_000_000
    assert "nodeworth: output beyond 1 MB was not kept" in done.errors


BURN = "import time\nwhile time.process_time() < 0.3: pass"


@pytest.mark.parametrize("how", ["", "setsid "], ids=["child", "orphan"])
def test_cpu_time_includes_all_descendants(tmp_path, how):
    burn = f'{how}"{sys.executable}" -c "{BURN}"'
    done = sh(f"({burn} &) ; {burn}; sleep 0.1", tmp_path)
    assert done.cpu_seconds >= 0.6
    assert done.cpu_seconds == done.user_seconds + done.system_seconds


def test_at_its_time_limit_a_program_is_stopped_with_all_it_started(tmp_path, nap, monkeypatch):
    monkeypatch.setattr(execution, "GRACE_SECONDS", 0.3)
    stubborn = f"trap '' TERM; sleep {nap} & setsid sleep {nap} & (setsid sleep {nap} &) ; echo on; wait"
    done = sh(stubborn, tmp_path, limit=2.0)
    assert (done.timed_out, done.signal) == (True, "SIGKILL")
    assert [line.text for line in done.lines] == ["on"]
    assert not sleepers(nap)


def test_a_program_that_ends_when_asked_is_not_killed(tmp_path, nap):
    done = sh(f"trap 'echo asked; exit 5' TERM; sleep {nap} & wait", tmp_path, limit=2.0)
    assert (done.timed_out, done.exit_status, done.lines[0].text) == (True, 5, "asked")
    assert not sleepers(nap)


def test_orphans_that_appear_during_the_end_are_ended_too(tmp_path, nap, monkeypatch):
    """The program is listed, then ends: only the next list has what it started."""
    listed = execution._children

    def slowly():
        pids = listed()
        time.sleep(0.3)
        return pids

    monkeypatch.setattr(execution, "_children", slowly)
    monkeypatch.setattr(execution, "GRACE_SECONDS", 2.0)
    done = sh(f"trap 'sleep 0.1; exit 5' TERM; (trap '' TERM; exec sleep {nap}) & wait", tmp_path, limit=2.0)
    assert (done.timed_out, done.exit_status) == (True, 5)
    assert not sleepers(nap)


def test_processes_left_by_a_program_are_ended(tmp_path, nap, monkeypatch):
    monkeypatch.setattr(execution, "GRACE_SECONDS", 0.3)
    done = sh(f"(setsid sleep {nap} &) ; echo done", tmp_path)
    assert (done.exit_status, done.timed_out) == (0, False)
    assert not sleepers(nap)


def test_other_children_of_this_process_are_left_alone(tmp_path, nap):
    with subprocess.Popen(["sleep", nap]) as other:
        done = sh("(setsid true &) ; echo done", tmp_path)
        assert other.poll() is None
        other.terminate()
    assert (done.exit_status, other.returncode) == (0, -signal.SIGTERM)


def test_the_process_is_afterwards_as_it_was(tmp_path):
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    descriptors = len(list(Path("/proc/self/fd").iterdir()))
    sh("true", tmp_path)
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == set()
    assert len(list(Path("/proc/self/fd").iterdir())) == descriptors


OWNER = """
import os, sys
from pathlib import Path
from workflows.launch.execution import execute
execute(["sh", "-c", sys.argv[1]], dict(os.environ), Path.cwd(), 600)
"""


@contextmanager
def started_owner(script: str) -> Iterator[subprocess.Popen]:
    command = [*DEFAULT_SIGNALS, sys.executable, "-c", OWNER, script]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as owner:
        try:
            yield owner
        finally:
            owner.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_the_owner_ends_all(nap, number):
    with started_owner(f"sleep {nap} & setsid sleep {nap} & wait") as owner:
        assert wait_until(lambda: len(sleepers(nap)) == 2)
        owner.send_signal(number)
        assert owner.wait(timeout=30) in (-signal.SIGINT, 128 + number)
    assert not sleepers(nap)


def test_a_program_dies_with_its_owner(nap):
    with started_owner(f"exec sleep {nap}") as owner:
        assert wait_until(lambda: len(sleepers(nap)) == 1)
        owner.kill()
    assert wait_until(lambda: not sleepers(nap))


def test_processes_of_a_killed_owner_are_ended_by_the_next_start(nap):
    with started_owner(f"sleep {nap} & setsid sleep {nap} & wait") as owner:
        assert wait_until(lambda: len(sleepers(nap)) == 2)
        leftovers.remove_stale([])
        assert len(sleepers(nap)) == 2  # the owner lives
        owner.kill()
    left = {f"process {process.pid} of a run whose owner is dead" for process in sleepers(nap)}
    assert len(left) == 2
    assert left <= set(leftovers.remove_stale([]))
    assert not sleepers(nap)


def test_only_folders_of_dead_owners_are_removed(tmp_path):
    ended = subprocess.Popen(["true"])
    ended.wait()
    killed = subprocess.Popen(["sleep", "600"])
    unreaped = leftovers.owner(killed.pid)
    killed.kill()
    os.waitid(os.P_PID, killed.pid, os.WEXITED | os.WNOWAIT)
    living = leftovers.owner()
    names = {
        "dead": f"nodeworth-{ended.pid}-17-x1",
        "unreaped": f"nodeworth-{unreaped}-x4",  # some first processes of a container never reap
        "reused": f"nodeworth-{os.getpid()}-17-x2",  # the id is taken again, by this process
        "living": f"nodeworth-{living}-x3",
        "foreign": "nodeworth-results-of-mine",
        "other": "else",
    }
    for name in names.values():
        (tmp_path / name / "inner").mkdir(parents=True)
    (tmp_path / f"nodeworth-{ended.pid}-17-link").symlink_to(tmp_path / "else")
    removed = leftovers.remove_stale([tmp_path])
    killed.wait()
    gone = sorted(names[key] for key in ("dead", "unreaped", "reused"))
    assert removed == [f"folder {tmp_path / name}" for name in gone]
    assert {path.name for path in tmp_path.iterdir()} == {
        *(names[key] for key in ("living", "foreign", "other")),
        f"nodeworth-{ended.pid}-17-link",
    }
