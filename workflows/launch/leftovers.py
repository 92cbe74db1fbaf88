"""What a Nodeworth that was killed left behind: processes and scratch folders, marked by their owner."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

MARK = "NODEWORTH_OWNER"  # environment variable of every process of a run
PREFIX = "nodeworth-"  # of the name of every scratch folder, before the owner
END_SECONDS = 10.0  # a killed process that takes longer hangs in the kernel
SCRATCH_FOLDERS = (Path("/dev/shm"), Path("/var/tmp"), Path(tempfile.gettempdir()))


def owner(pid: int | None = None) -> str:
    """Name a process (by default this process) so that no later process of the same id is taken for it.

    ``<process id>-<clock ticks from the machine's start to the process's>``.
    An `OSError` where there is no such process.
    """
    pid = os.getpid() if pid is None else pid
    return f"{pid}-{_status(pid)[19]}"


def _status(pid: int) -> list[str]:
    """Give what /proc/PID/stat says of a process after its name: its state first (proc_pid_stat(5))."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def remove_stale(folders: Iterable[Path] = SCRATCH_FOLDERS) -> list[str]:
    """End the processes and remove the scratch folders of owners that are dead; a line for each.

    Touches nothing but processes that carry `MARK` in their environment and folders of this user that
    are named `PREFIX`, an owner, and anything after another ``-``. A process that does not end is a
    `TimeoutError`.
    """
    removed = [f"process {pid} of a run whose owner is dead" for pid in sorted(end_all(_stale_processes))]
    for found in (path for folder in folders for path in sorted(folder.glob(f"{PREFIX}*-*-*"))):
        mark = "-".join(found.name.removeprefix(PREFIX).split("-")[:2])
        ours = found.is_dir() and not found.is_symlink() and found.stat().st_uid == os.geteuid()
        if ours and _is_dead(mark):
            with contextlib.suppress(FileNotFoundError):  # somebody else removes it
                shutil.rmtree(found)
            removed.append(f"folder {found}")
    return removed


def end_all(find: Callable[[], Iterable[int]]) -> set[int]:
    """Kill the processes that `find` gives until it gives none, and give their ids.

    Raises
    ------
    TimeoutError
        If some are still there after `END_SECONDS`.
    """
    deadline = time.monotonic() + END_SECONDS
    ended: set[int] = set()
    while found := set(find()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"processes that do not end when killed: {', '.join(map(str, sorted(found)))}")
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        ended |= found
        time.sleep(0.01)
    return ended


def process_ids() -> Iterator[int]:
    """Ids of all processes of the machine."""
    return (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())


def _stale_processes() -> Iterator[int]:
    start, own = f"{MARK}=".encode(), Path("/proc/self/ns/pid").readlink()
    for pid in set(process_ids()) - {os.getpid()}:
        try:
            if Path(f"/proc/{pid}/ns/pid").readlink() != own:
                continue  # ids of processes mean something else there
            environment = Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:  # gone meanwhile, or somebody else's
            continue
        marks = [entry for entry in environment.split(b"\0") if entry.startswith(start)]
        if marks and _is_dead(marks[0].removeprefix(start).decode(errors="replace")):
            yield pid


def _is_dead(mark: str) -> bool:
    """Whether the process that `mark` names has ended, reaped or not; False for what is no mark."""
    pid, separator, ticks = mark.partition("-")
    if not (separator and pid.isdigit() and ticks.isdigit()):
        return False
    try:
        status = _status(int(pid))
    except OSError:
        return True
    return status[0] in "ZX" or status[19] != ticks
