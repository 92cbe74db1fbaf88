"""This machine while it measures: one study at a time, none without its Snakemake, and its page cache."""

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
"""The same file for all users and jobs, independent of their TMPDIR."""


@contextlib.contextmanager
def only_study_on_this_machine(
    say: Callable[[str], None], limit_seconds: float = 3600, lock: Path = LOCK
) -> Iterator[None]:
    """Hold the machine's lock, so that no two timed runs overlap: see `only_one`."""
    with only_one(lock, "another study that measures on this machine", say, limit_seconds):
        yield


@contextlib.contextmanager
def only_one(
    lock: Path, other: str, say: Callable[[str], None], limit_seconds: float = 3600
) -> Iterator[None]:
    """Hold a lock, after waiting for its holder.

    The kernel releases the lock when the process ends in any way.

    Parameters
    ----------
    other : str
        Name of the holder, for messages.
    say : callable
        Receives one line if the lock is taken.

    Raises
    ------
    InputError
        If the holder keeps it for longer than `limit_seconds`.
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
    os.umask(os.umask(0o077) | 0o022)


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
"""Words in the command lines of Snakemake processes."""


@contextlib.contextmanager
def end_with_snakemake(every_seconds: float = 0.5) -> Iterator[None]:
    """End this process in good order when the Snakemake that started it is gone.

    A killed Snakemake cannot end its jobs. SIGTERM and SIGHUP become `SystemExit`, so that context managers
    clean up.
    """
    parents = psutil.Process().parents()
    named = [[Path(word).name for word in _words(process)[:4]] for process in parents]
    snakemakes = [index for index, names in enumerate(named) if _SNAKEMAKES.intersection(names)]
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
    """Let SIGTERM also end the scripts of this Snakemake, which would wait for them.

    One script measures the whole study on one machine. See `end_with_snakemake` for how it ends.
    """
    snakemake_handler = signal.getsignal(signal.SIGTERM)

    def end(number: int, frame: FrameType | None) -> None:
        if callable(snakemake_handler):
            snakemake_handler(number, frame)
        for process in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):  # gone meanwhile
                # Python with a script of a rule, not the shell in which Snakemake starts that.
                if any("/.snakemake/scripts/" in word for word in _words(process)[1:2]):
                    process.terminate()

    signal.signal(signal.SIGTERM, end)


_interrupted = threading.Event()


def note_interruption() -> None:
    """Remember from now on that SIGINT came, and handle the first SIGINT as before.

    Further SIGINTs would interrupt Snakemake while it ends its jobs, so they have no effect. A process that
    ignores SIGINT, as under ``nohup``, goes on ignoring it.
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
    """Open the lock's file for reading, which every user may; a link is not followed."""
    how = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        return os.open(lock, how)
    except FileNotFoundError:
        descriptor = os.open(lock, how | os.O_CREAT, 0o644)
        os.fchmod(descriptor, 0o644)  # independent of the umask
        return descriptor


def _stop(number: int, _frame: object) -> None:
    raise SystemExit(128 + number)


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
