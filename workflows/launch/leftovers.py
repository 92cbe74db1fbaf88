"""Removal of processes and scratch folders that a killed Nodeworth left behind.

Processes and folders carry the mark of their owner: the Nodeworth process that made them.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

MARK = "NODEWORTH_OWNER"  # environment variable with the owner's mark, in each process of a run
PREFIX = "nodeworth-"  # beginning of the name of each scratch folder; the owner's mark follows
END_SECONDS = 10.0  # a killed process that takes longer to end hangs in the kernel
SCRATCH_FOLDERS = (Path("/dev/shm"), Path("/var/tmp"), Path(tempfile.gettempdir()))


def owner(pid: int | None = None) -> str:
    """Return the mark of a process, by default of this process. No later process has the same mark.

    The mark is ``<process id>-<start of the process in clock ticks after boot>``.

    Raises
    ------
    OSError
        There is no such process.
    """
    pid = os.getpid() if pid is None else pid
    return f"{pid}-{_status(pid)[19]}"


def _status(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat after the program's name, beginning with the state.

    The start of the process has index 19: see proc_pid_stat(5).
    """
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def remove_stale(folders: Iterable[Path] = SCRATCH_FOLDERS) -> list[str]:
    """End the processes and remove the scratch folders of dead owners.

    Only processes with `MARK` in their environment are ended. Only folders of this user are removed whose
    names consist of `PREFIX`, the owner's mark, ``-`` and more.

    Returns
    -------
    list of str
        One line for each process and folder.

    Raises
    ------
    TimeoutError
        A process does not end.
    """
    removed = [f"process {pid} of a run whose owner is dead" for pid in sorted(end_all(_stale_processes))]
    for scratch in (path for folder in folders for path in sorted(folder.glob(f"{PREFIX}*-*-*"))):
        mark = "-".join(scratch.name.removeprefix(PREFIX).split("-")[:2])
        is_ours = scratch.is_dir() and not scratch.is_symlink() and scratch.stat().st_uid == os.geteuid()
        if is_ours and _is_dead(mark):
            with contextlib.suppress(FileNotFoundError):  # another process removes it
                shutil.rmtree(scratch)
            removed.append(f"folder {scratch}")
    return removed


def end_all(find: Callable[[], Iterable[int]]) -> set[int]:
    """Kill the processes that `find` returns until `find` returns none; return the ids of all of them.

    Raises
    ------
    TimeoutError
        Processes are left after `END_SECONDS`.
    """
    deadline = time.monotonic() + END_SECONDS
    ended: set[int] = set()
    while pids := set(find()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"processes that do not end when killed: {', '.join(map(str, sorted(pids)))}")
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        ended |= pids
        time.sleep(0.01)
    return ended


def process_ids() -> Iterator[int]:
    """Return the ids of all processes of the machine."""
    return (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())


def _stale_processes() -> Iterator[int]:
    """Yield the ids of processes whose owner is dead."""
    start, namespace = f"{MARK}=".encode(), Path("/proc/self/ns/pid").readlink()
    for pid in set(process_ids()) - {os.getpid()}:
        try:
            if Path(f"/proc/{pid}/ns/pid").readlink() != namespace:
                continue  # process ids have another meaning there
            environment = Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:  # the process has ended, or belongs to another user
            continue
        marks = [entry for entry in environment.split(b"\0") if entry.startswith(start)]
        if marks and _is_dead(marks[0].removeprefix(start).decode(errors="replace")):
            yield pid


def _is_dead(mark: str) -> bool:
    """Whether the process of a mark has ended, reaped or not. False if the text is no mark."""
    pid, separator, ticks = mark.partition("-")
    if not (separator and pid.isdigit() and ticks.isdigit()):
        return False
    try:
        status = _status(int(pid))
    except OSError:
        return True
    return status[0] in "ZX" or status[19] != ticks
