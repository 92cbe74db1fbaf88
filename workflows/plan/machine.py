"""Control of this machine while it measures: locks, signals, and the page cache.

Only one study measures at a time, and it ends together with its Snakemake.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import stat
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import psutil

from workflows.domain import InputError

LOCK = Path("/tmp/nodeworth-measuring.lock")
"""Lock file that all users and jobs of this machine share. It does not depend on their TMPDIR."""


@contextlib.contextmanager
def only_study_on_this_machine(
    say: Callable[[str], None], limit_seconds: float = 3600, lock: Path = LOCK
) -> Iterator[None]:
    """Hold the lock of this machine within the context, so that no two timed runs overlap: see `only_one`."""
    with only_one(lock, "another study that measures on this machine", say, limit_seconds):
        yield


@contextlib.contextmanager
def only_one(
    lock: Path, other: str, say: Callable[[str], None], limit_seconds: float = 3600
) -> Iterator[None]:
    """Hold a lock within the context. Wait first while another process holds the lock.

    The kernel releases the lock even if this process is killed.

    Parameters
    ----------
    lock : Path
        The lock file; it is made if it does not exist.
    other : str
        Name of the other process, for messages.
    say : callable
        Receives one line if another process holds the lock.

    Raises
    ------
    InputError
        If the other process keeps the lock for longer than `limit_seconds`.
    """
    descriptor = _open(lock)
    try:
        start, is_announced = time.monotonic(), False
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() - start > limit_seconds:
                    raise InputError(
                        f"{other} has not ended for {limit_seconds:g} s; it holds {lock}"
                    ) from None
                if not is_announced:
                    say(f"waiting for {other}")
                    is_announced = True
                time.sleep(0.2)
        yield
    finally:
        os.close(descriptor)


def keep_to_owner() -> None:
    """Let only the owner write to files that this process and its children make from now on."""
    umask = os.umask(0o077)  # the only way to read it is to set it
    os.umask(umask | 0o022)


def hold_study(results: Path) -> int:
    """Take the lock of a study for as long as this process lives.

    Returns
    -------
    int
        Descriptor of the lock's file; it must stay open.

    Raises
    ------
    InputError
        If another process runs the study, or if all users may write to its results.
    """
    results.mkdir(parents=True, exist_ok=True)
    if results.stat().st_mode & stat.S_IWOTH:
        raise InputError(f"{results}: all users may write to it; first: chmod o-w {results}")
    descriptor = _open(results / ".lock")
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise InputError(f"{results}: another process is running this study") from None
    return descriptor


_SNAKEMAKES = {"snakemake", "workflows.command"}
"""Names of Snakemake in the command lines of its processes."""


@contextlib.contextmanager
def end_with_snakemake(every_seconds: float = 0.5) -> Iterator[None]:
    """Within the context, end this process when any process up to the Snakemake that started it is gone.

    A killed Snakemake cannot end its jobs, so this process watches Snakemake. SIGTERM and SIGHUP become
    `SystemExit`, so that context managers clean up.

    Parameters
    ----------
    every_seconds : float
        Time between two checks.
    """
    parents = psutil.Process().parents()
    snakemakes = [index for index, process in enumerate(parents) if _is_snakemake(process)]
    watched = parents[: snakemakes[-1] + 1] if snakemakes else []
    done = threading.Event()

    def watch() -> None:
        # Signals are for the main thread, which holds them back while it cleans up.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
        while not done.wait(every_seconds):
            if not all(_lives(process) for process in watched):
                os.kill(os.getpid(), signal.SIGTERM)
                return

    previous = {number: signal.signal(number, _stop) for number in (signal.SIGTERM, signal.SIGHUP)}
    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        done.set()
        for number, handler in previous.items():
            signal.signal(number, handler)


def end_scripts_at_sigterm() -> None:
    """From now on, let a SIGTERM to this Snakemake also end the scripts that it runs.

    Snakemake itself waits until its scripts end, and the script that measures runs as long as the study. The
    script cleans up as described at `end_with_snakemake`.
    """
    snakemake_handler = signal.getsignal(signal.SIGTERM)

    def end(number: int, frame: FrameType | None) -> None:
        if callable(snakemake_handler):
            snakemake_handler(number, frame)
        for process in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):  # gone meanwhile
                # The second word is the script only for Python, not for the shell that starts Python.
                if any("/.snakemake/scripts/" in word for word in _words(process)[1:2]):
                    process.terminate()

    signal.signal(signal.SIGTERM, end)


_interrupted = threading.Event()


def note_interruption() -> None:
    """From now on, remember that SIGINT came (see `is_interrupted`).

    The first SIGINT is handled as before. Later SIGINTs have no effect: they would interrupt Snakemake while
    it ends its jobs. A process that ignores SIGINT, as under ``nohup``, goes on ignoring SIGINT.
    """
    handle = signal.getsignal(signal.SIGINT)
    if not callable(handle):
        return

    def remember(number: int, frame: FrameType | None) -> None:
        is_first = not _interrupted.is_set()
        _interrupted.set()
        if is_first:
            handle(number, frame)

    signal.signal(signal.SIGINT, remember)


def is_interrupted() -> bool:
    """Whether SIGINT has come."""
    return _interrupted.is_set()


def _open(lock: Path) -> int:
    """Open a lock file for reading, which every user may do; refuse a symbolic link.

    Returns
    -------
    int
        Descriptor of the file, which is made if it does not exist.
    """
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        return os.open(lock, flags)
    except FileNotFoundError:
        descriptor = os.open(lock, flags | os.O_CREAT, 0o644)
        os.fchmod(descriptor, 0o644)  # independent of the umask
        return descriptor


def _stop(number: int, _frame: object) -> None:
    raise SystemExit(128 + number)


def _is_snakemake(process: psutil.Process) -> bool:
    """Whether Snakemake's name is among the first words of a command line, which may begin with Python's."""
    return any(Path(word).name in _SNAKEMAKES for word in _words(process)[:4])


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:  # gone meanwhile
        return []


def _lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


DROP_CACHES = Path("/proc/sys/vm/drop_caches")
_PAGES_OF_FILES = "1"  # drops pages of files, and no other caches


def cannot_drop_page_cache() -> str | None:
    """Return why the page cache cannot be dropped here; None if it can."""
    if os.access(DROP_CACHES, os.W_OK):
        return None
    needs = "the page cache is dropped before each repetition, which takes root"
    return f"{needs} ({DROP_CACHES} cannot be written)"


def drop_page_cache() -> None:
    """Write modified pages to disk, and drop the pages of files.

    Raises
    ------
    OSError
        This user may not drop the page cache.
    """
    os.sync()
    DROP_CACHES.write_text(_PAGES_OF_FILES)
