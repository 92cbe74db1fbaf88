"""Control of this machine while it measures: locks, signals, and the page cache.

Only one study measures at a time, and it ends together with its Snakemake.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shlex
import signal
import stat
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import TextIO

import psutil

from workflows.domain import InputError

LOCK = Path("/tmp/nodeworth-measuring.lock")
"""Lock file that all users and jobs of this machine share. It does not depend on their TMPDIR."""


LOCKS = Path("/proc/locks")
"""The kernel's list of locks on files."""
LONGEST_COMMAND = 120
"""Characters of a command line that a message shows."""


def say_in(log: TextIO) -> Callable[[str], None]:
    """Return a function that writes a line to a log and to standard error."""

    def say(line: str) -> None:
        for file in (log, sys.stderr):
            print(line, file=file, flush=True)

    return say


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
                        f"{other} has not ended for {limit_seconds:g} s; it holds {lock}{_holder(descriptor)}"
                    ) from None
                if not is_announced:
                    say(f"waiting for {other}{_holder(descriptor)}")
                    is_announced = True
                time.sleep(0.2)
        yield
    finally:
        os.close(descriptor)


def _holder(descriptor: int) -> str:
    """Return the process that holds a lock, with its command and folder; empty if the kernel hides it.

    For a script of a study, this is the Snakemake that runs the study: its command names the study.

    Parameters
    ----------
    descriptor : int
        Descriptor of the lock's file.
    """
    status = os.fstat(descriptor)
    device = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}"
    # "1: FLOCK  ADVISORY  WRITE 1234 fe:00:5678 0 EOF"; a process that waits has "->" after the number.
    locks = [line.split() for line in LOCKS.read_text().splitlines()] if LOCKS.exists() else []
    pids = [
        int(words[4]) for words in locks if words[1] == "FLOCK" and words[5] == f"{device}:{status.st_ino}"
    ]
    try:
        holder = psutil.Process(pids[0])
        snakemakes = [process for process in holder.parents() if _is_snakemake(process)]
        study = snakemakes[-1] if snakemakes else holder
        typed = textwrap.shorten(_as_typed(_words(study)), LONGEST_COMMAND, placeholder=" …")
        text = f": process {study.pid}, {typed}"
    except (IndexError, psutil.Error):  # gone meanwhile, or in another container
        return ""
    try:
        return f"{text}, in {study.cwd()}"
    except psutil.Error:  # only its user sees the folder
        return text


def _as_typed(words: Sequence[str]) -> str:
    """Return a command line, with ``./run-study`` for Python and the module that it starts."""
    starts = [index for index, word in enumerate(words) if word == "workflows.start"]
    return shlex.join(["./run-study", *words[starts[0] + 1 :]] if starts else words)


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


_SNAKEMAKES = {"snakemake", "workflows.start"}
"""Names of Snakemake in the command lines of its processes."""


@contextlib.contextmanager
def end_with_snakemake(every_seconds: float = 0.5) -> Iterator[None]:
    """Within the context, end this process when any process up to the Snakemake that started it is gone.

    A killed Snakemake cannot end its jobs, so this process watches Snakemake. SIGTERM and SIGHUP become
    `SystemExit`, and SIGINT becomes `KeyboardInterrupt`, so that context managers clean up. Further signals
    do not interrupt the clean-up.

    Parameters
    ----------
    every_seconds : float
        Time between two checks.
    """
    parents = psutil.Process().parents()
    snakemakes = [index for index, process in enumerate(parents) if _is_snakemake(process)]
    watched = parents[: snakemakes[-1] + 1] if snakemakes else []
    done, has_stopped = threading.Event(), threading.Event()

    def watch() -> None:
        # Signals are for the main thread, which holds them back while it cleans up.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
        while not done.wait(every_seconds):
            if not all(_lives(process) for process in watched):
                os.kill(os.getpid(), signal.SIGTERM)
                return

    def stop(number: int, _frame: object) -> None:
        if not has_stopped.is_set():
            has_stopped.set()
            raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)

    numbers = [signal.SIGTERM, signal.SIGHUP]
    numbers += [signal.SIGINT] if callable(signal.getsignal(signal.SIGINT)) else []
    previous = {number: signal.signal(number, stop) for number in numbers}
    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        done.set()
        for number, handler in previous.items():
            signal.signal(number, handler)


_signals: set[int] = set()
"""Signals that came to stop this Snakemake."""


def end_scripts_at_sigterm() -> None:
    """From now on, let a SIGTERM to this Snakemake also end the scripts that it runs: see `end_scripts`."""
    snakemake_handler = signal.getsignal(signal.SIGTERM)

    def end(number: int, frame: FrameType | None) -> None:
        _signals.add(number)
        if callable(snakemake_handler):
            snakemake_handler(number, frame)
        end_scripts()

    signal.signal(signal.SIGTERM, end)


def end_scripts() -> None:
    """Send SIGTERM to the scripts of this Snakemake.

    One script measures the whole study on one machine. See `end_with_snakemake` for how it ends.
    """
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):  # gone meanwhile
            # Python with a script of a rule, not the shell in which Snakemake starts that.
            if any("/.snakemake/scripts/" in word for word in _words(process)[1:2]):
                process.terminate()


def note_interruption() -> None:
    """From now on, remember that SIGINT came (see `is_interrupted`), and end the scripts when it comes.

    Only Ctrl-C on a terminal reaches the scripts by itself. The first SIGINT is then handled as before. Later
    SIGINTs have no effect: they would interrupt Snakemake while it ends its jobs. A process that ignores
    SIGINT, as a script's background job does, goes on ignoring SIGINT.
    """
    handle = signal.getsignal(signal.SIGINT)
    if not callable(handle):
        return

    def remember(number: int, frame: FrameType | None) -> None:
        if number not in _signals:
            _signals.add(number)
            end_scripts()
            handle(number, frame)

    signal.signal(signal.SIGINT, remember)


def is_interrupted() -> bool:
    """Whether SIGINT or SIGTERM has come."""
    return bool(_signals)


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
