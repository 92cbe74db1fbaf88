"""Start a program, stamp its output as it comes, and leave no process behind."""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

import psutil

from workflows.domain import Line
from workflows.launch.leftovers import MARK, owner

OUTPUT = "NODEWORTH_OUTPUT"
"""Variable that a launcher asks for: where ranks on this machine write what they print, to be read here."""

KEPT_BYTES = 64_000_000  # of each of the two streams
GRACE_SECONDS = 5.0  # between asking the processes of a run to end and killing them
END_SECONDS = 20.0  # a killed process that takes longer hangs in the kernel

_CHUNK_BYTES = 1 << 16
_TICK_SECONDS = 0.2
_REST_SHARE, _LONGEST_REST_SECONDS = 1 / 40, 0.01
"""How long nothing is read after a line, relative to the time since the launch, and at most: each read takes
30 µs and more from a rank. What came meanwhile is stamped with the middle of the rest."""
_PRESSING_BYTES = 4096  # of one read: more is coming, and the program would wait for a full pipe
_LIBC = ctypes.CDLL(None)
_PR_SET_CHILD_SUBREAPER = 36  # of sys/prctl.h
_PR_GET_CHILD_SUBREAPER = 37
_IGNORED_HERE = (signal.SIGPIPE, signal.SIGXFSZ)  # by Python, not by what it starts
_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class Execution:
    """What a program did.

    Attributes
    ----------
    lines : list of Line
        Standard output; a line is stamped when its end is read.
    errors : str
        Standard error.
    cut : bool
        Whether a stream was longer than `KEPT_BYTES`; the rest of it is lost, and `errors` says so.
    exit_status : int or None
        None where a signal ended the program.
    signal : str or None
        Name of that signal (``SIGKILL``).
    timed_out : bool
        Whether it was stopped at its time limit.
    wall_seconds : float
        From the launch to the end of the program.
    user_seconds, system_seconds : float
        CPU time of the program and all its descendants.
    started : str
        ISO 8601, UTC.
    """

    lines: list[Line]
    errors: str
    cut: bool
    exit_status: int | None
    signal: str | None
    timed_out: bool
    wall_seconds: float
    user_seconds: float
    system_seconds: float
    started: str

    @property
    def cpu_seconds(self) -> float:
        """CPU time, user and system."""
        return self.user_seconds + self.system_seconds


def execute(argv: list[str], env: dict[str, str], cwd: Path, time_limit_seconds: float) -> Execution:
    """Run a program to its end, or stop it and everything it started at its time limit.

    The program gets its own session, no standard input, and SIGKILL when the calling thread ends.
    When the call is left, by return or by an exception, none of its processes is left, wherever they
    went. One call at a time: children that this process starts meanwhile are taken for the program's, and
    this process is in `cwd` itself while it starts it.

    Parameters
    ----------
    env : dict
        The whole environment; the owner's mark is added, and `OUTPUT` gets its value where it is in it.

    Raises
    ------
    FileNotFoundError
        If there is no such program.
    TimeoutError
        If a process stays although it was killed.
    """
    _program(argv[0], env.get("PATH"))
    with _subreaper(), _termination_raises():
        run = _Run()
        started = datetime.now(UTC).isoformat(timespec="milliseconds")
        try:
            run.begin(argv, env | {MARK: owner()}, cwd)
            timed_out = not run.follow(time_limit_seconds)
        finally:
            run.stop()
    return run.result(started, timed_out)


def _program(name: str, path: str | None) -> str:
    """Find where a program is."""
    if found := shutil.which(name, path=path):
        return found
    raise FileNotFoundError(f"{name}: no such program")


class _Stream:
    """What came through one pipe from the program, and when."""

    def __init__(self) -> None:
        self.chunks: list[tuple[float, bytes]] = []
        self.kept_bytes = 0
        self.cut = False

    def add(self, seconds: float, data: bytes) -> None:
        self.cut |= self.kept_bytes + len(data) > KEPT_BYTES
        if not self.cut:
            self.chunks.append((seconds, data))
            self.kept_bytes += len(data)

    def lines(self) -> list[Line]:
        """Split into lines; the last line may lack its end."""
        lines, begun = [], b""
        for seconds, data in self.chunks:
            *ended, begun = (begun + data).split(b"\n")
            lines += [Line(seconds, line.decode(errors="replace").removesuffix("\r")) for line in ended]
        if begun:
            lines.append(Line(self.chunks[-1][0], begun.decode(errors="replace")))
        return lines


class _Run:
    """The processes of one program, what they print and what they took."""

    def __init__(self) -> None:
        self.others = _children()
        self.start = time.monotonic()
        self.pid: int | None = None
        self.end: int | None = None  # readable once the program has ended
        self.status: int | None = None
        self.wall_seconds = self.user_seconds = self.system_seconds = 0.0
        self.output, self.errors = _Stream(), _Stream()
        self.open: dict[int, _Stream] = {}
        self.just_read = 0  # bytes
        self.poll = select.poll()
        self.resources = contextlib.ExitStack()

    def begin(self, argv: list[str], env: dict[str, str], cwd: Path) -> None:
        """Start the program."""
        pipes = [os.pipe(), os.pipe()]
        for (read, _), stream in zip(pipes, (self.output, self.errors), strict=True):
            self.resources.callback(os.close, read)
            self.open[read] = stream
            self.poll.register(read, select.POLLIN)
        (output, written), (_, errors) = pipes
        if OUTPUT in env:
            env = env | {OUTPUT: f"/proc/{os.getpid()}/fd/{output}"}
        stop_on_exit = [_program("setpriv", env.get("PATH")), "--pdeathsig", "KILL", "--"]
        streams = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, written, 1),
            (os.POSIX_SPAWN_DUP2, errors, 2),
        ]
        try:
            # A third of the CPU time of `subprocess`, which has each variable go through Python.
            with contextlib.chdir(cwd):
                self.pid = os.posix_spawn(
                    stop_on_exit[0],
                    [*stop_on_exit, *argv],
                    env,
                    file_actions=streams,
                    setsid=True,
                    setsigdef=_IGNORED_HERE,
                )
            with contextlib.suppress(OSError):  # a kernel before 5.3: then its end is seen at the next look
                self.end = os.pidfd_open(self.pid)
                self.resources.callback(os.close, self.end)
                self.poll.register(self.end, select.POLLIN)
        finally:
            os.close(written)
            os.close(errors)

    def follow(self, time_limit_seconds: float) -> bool:
        """Read until the program ends; False if it does not within its time limit."""
        deadline, came = self.start + time_limit_seconds, None
        while self.end is not None or not self._reap(self.pid):
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            self._read(0 if came else min(left, _TICK_SECONDS), came)
            came = None
            if self.end is not None and 0 < self.just_read < _PRESSING_BYTES:
                begun = time.monotonic()
                time.sleep(min(_REST_SHARE * (begun - self.start), _LONGEST_REST_SECONDS))
                came = (begun + time.monotonic()) / 2
        return True

    def stop(self) -> None:
        """End every process that is left, with a grace, and read what they still print."""
        with self.resources, _signals_held():
            if self.status is None:
                _signal_all(_children() - self.others, signal.SIGTERM)
            kill_from = time.monotonic() + GRACE_SECONDS
            # Until none is seen: whoever ends after it was listed leaves us its own children, unlisted.
            while children := self._children_left():
                left = {pid for pid in children if not self._reap(pid)}
                if time.monotonic() > kill_from + END_SECONDS:
                    raise TimeoutError(f"processes that do not end when killed: {sorted(left)}")
                if time.monotonic() > kill_from:
                    _signal_all(left, signal.SIGKILL)
                self._read(0.005)
            while self._read(0):
                pass

    def result(self, started: str, timed_out: bool) -> Execution:
        """Everything about the run, once it is stopped."""
        status = os.waitstatus_to_exitcode(self.status)
        cut = self.output.cut or self.errors.cut
        errors = b"".join(data for _, data in self.errors.chunks).decode(errors="replace")
        if cut:
            errors += f"\nnodeworth: output beyond {KEPT_BYTES // 1_000_000} MB was not kept\n"
        return Execution(
            lines=self.output.lines(),
            errors=errors,
            cut=cut,
            exit_status=status if status >= 0 else None,
            signal=signal.Signals(-status).name if status < 0 else None,
            timed_out=timed_out,
            wall_seconds=self.wall_seconds,
            user_seconds=self.user_seconds,
            system_seconds=self.system_seconds,
            started=started,
        )

    def _read(self, limit_seconds: float, came: float | None = None) -> bool:
        """Read one chunk of pipes that has some, waiting at most `limit_seconds`; it came now, or as told."""
        self.just_read = 0
        if not self.open and self.end is None:  # both pipes are closed: the program is about to end
            time.sleep(min(limit_seconds, 0.001))
            return False
        ready = self.poll.poll(limit_seconds * 1000)
        for descriptor, _ in ready:
            if descriptor == self.end:
                self.poll.unregister(descriptor)
                self.end = None
                continue
            data = os.read(descriptor, _CHUNK_BYTES)
            self.open[descriptor].add((came or time.monotonic()) - self.start, data)
            self.just_read += len(data)
            if not data:
                self.poll.unregister(descriptor)
                del self.open[descriptor]
        return bool(ready)

    def _children_left(self) -> set[int]:
        """Children that the program left; those that have ended are reaped before all are listed."""
        with contextlib.suppress(ChildProcessError):
            while (ended := _first_ended()) and ended not in self.others:
                self._reap(ended)
        return _children() - self.others

    def _reap(self, pid: int) -> bool:
        """Whether a child has ended; adds up what it took."""
        reaped, status, used = os.wait4(pid, os.WNOHANG)
        if not reaped:
            return False
        self.user_seconds += used.ru_utime
        self.system_seconds += used.ru_stime
        if pid == self.pid:
            self.status = status
            self.wall_seconds = time.monotonic() - self.start
        return True


def _children() -> set[int]:
    """Children of this process, ended but not yet reaped ones included."""
    try:
        _first_ended()
    except ChildProcessError:  # has none: saves looking through all processes of the machine
        return set()
    return {child.pid for child in psutil.Process().children()}


def _first_ended() -> int | None:
    """Id of an ended child that is not yet reaped; `ChildProcessError` where there is no child at all."""
    ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    return ended and ended.si_pid


def _signal_all(pids: set[int], number: signal.Signals) -> None:
    """Send a signal to processes, then to their descendants: a process that ends may take others along."""
    for pid in pids:
        with contextlib.suppress(psutil.NoSuchProcess):
            parent = psutil.Process(pid)
            for process in (parent, *parent.children(recursive=True)):
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.send_signal(number)


@contextlib.contextmanager
def _subreaper() -> Iterator[None]:
    """Become the parent of descendants whose own parent ends."""
    before = ctypes.c_int()
    _LIBC.prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(before), 0, 0, 0)
    _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, before.value, 0, 0, 0)


@contextlib.contextmanager
def _termination_raises() -> Iterator[None]:
    """Let SIGTERM and SIGHUP raise `SystemExit` where nothing else was arranged."""
    before = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) == signal.SIG_DFL:
                before[number] = signal.signal(number, _exit)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _exit(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


@contextlib.contextmanager
def _signals_held() -> Iterator[None]:
    """Hold back signals that would interrupt the cleaning up."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _STOP_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
