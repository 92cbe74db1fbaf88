"""Run a program, stamp its lines of output with their times, and leave no process behind."""

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
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

import psutil

from workflows.domain import Line
from workflows.launch.leftovers import MARK, owner
from workflows.launch.printed import shown_lines

OUTPUT = "NODEWORTH_OUTPUT"
"""Environment variable with the path of a file to which ranks here print; this process reads the file."""

KEPT_BYTES = 64_000_000  # maximum size of standard output, and of standard error
GRACE_SECONDS = 5.0  # between SIGTERM and SIGKILL to the processes of a run
END_SECONDS = 20.0  # a killed process that takes longer to end hangs in the kernel

_CHUNK_BYTES = 1 << 16
_TICK_SECONDS = 0.2
_REST_SHARE, _LONGEST_REST_SECONDS = 1 / 40, 0.01
"""Pause after each read: a share of the time since the launch, and its maximum. Each read takes 30 µs or more
of CPU time from a rank, so reads must be rare. Output that arrives during a pause is stamped with its
middle."""
_URGENT_BYTES = 4096
"""Size of a read after which there is no pause: more output follows, and a full pipe stops the program."""
_LIBC = ctypes.CDLL(None)
_PR_SET_CHILD_SUBREAPER = 36  # of sys/prctl.h
_PR_GET_CHILD_SUBREAPER = 37
_IGNORED_HERE = (signal.SIGPIPE, signal.SIGXFSZ)  # by Python; programs must not inherit this
_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class Execution:
    """Result of a program.

    Attributes
    ----------
    lines : list of Line
        Standard output, as `workflows.launch.printed.shown_lines` divides it. The stamp of a line is the time
        when its end was read.
    errors : str
        Standard error.
    cut : bool
        Whether a stream was longer than `KEPT_BYTES`. The rest is lost; `errors` ends with a note.
    exit_status : int or None
        None if a signal ended the program.
    signal : str or None
        Name of the signal that ended the program (``SIGKILL``).
    timed_out : bool
        Whether the program was stopped at its time limit.
    wall_seconds : float
        From the launch to the end of the program.
    user_seconds, system_seconds : float
        CPU time of the program and its descendants.
    started : str
        ISO 8601, UTC.
    error_lines : list of Line
        Standard error, with the times of its lines.
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
    error_lines: list[Line] = field(default_factory=list)

    @property
    def cpu_seconds(self) -> float:
        """CPU time in user and system mode."""
        return self.user_seconds + self.system_seconds


def execute(argv: list[str], env: dict[str, str], cwd: Path, time_limit_seconds: float) -> Execution:
    """Run a program to its end; at its time limit, stop it and its descendants.

    The program gets its own session, no standard input, and SIGKILL when the calling thread ends. None of its
    processes is left after the call, whether the call returns or raises.

    Only one call may be active: other children that this process starts during the call count as processes of
    the program. This process changes to `cwd` while it starts the program.

    Parameters
    ----------
    env : dict
        The whole environment. The owner's mark is added, and `OUTPUT` gets its value if it is present.

    Raises
    ------
    FileNotFoundError
        There is no such program.
    TimeoutError
        A killed process does not end.
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
    """Return the path of a program, or raise a `FileNotFoundError`."""
    if file := shutil.which(name, path=path):
        return file
    raise FileNotFoundError(f"{name}: no such program")


class _Stream:
    """Output of the program through a pipe: chunks, each with its seconds since the launch."""

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
        """Return the lines; the last line may lack its end."""
        lines, rest = [], b""
        for seconds, data in self.chunks:
            *complete, rest = (rest + data).split(b"\n")
            lines += [Line(seconds, text) for line in complete for text in _texts(line)]
        if rest:
            lines += [Line(self.chunks[-1][0], text) for text in _texts(rest)]
        return lines


def _texts(line: bytes) -> list[str]:
    return shown_lines(line.decode(errors="replace"))


class _Run:
    """The processes of a program, with their output and their CPU time."""

    def __init__(self) -> None:
        self.unrelated = _children()  # children of this process that do not belong to the program
        self.start = time.monotonic()
        self.pid: int | None = None
        self.end: int | None = None  # descriptor that becomes readable when the program ends
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
            # This takes a third of the CPU time of `subprocess`, which processes each variable in Python.
            with contextlib.chdir(cwd):
                self.pid = os.posix_spawn(
                    stop_on_exit[0],
                    [*stop_on_exit, *argv],
                    env,
                    file_actions=streams,
                    setsid=True,
                    setsigdef=_IGNORED_HERE,
                )
            with contextlib.suppress(OSError):  # kernels before 5.3: the end is noticed at the next tick
                self.end = os.pidfd_open(self.pid)
                self.resources.callback(os.close, self.end)
                self.poll.register(self.end, select.POLLIN)
        finally:
            os.close(written)
            os.close(errors)

    def follow(self, time_limit_seconds: float) -> bool:
        """Read output until the program ends; return whether it ended before its time limit."""
        deadline = self.start + time_limit_seconds
        arrival: float | None = None
        while self.end is not None or not self._reap(self.pid):
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            self._read(0 if arrival else min(left, _TICK_SECONDS), arrival)
            arrival = None
            if self.end is not None and 0 < self.just_read < _URGENT_BYTES:
                rest_start = time.monotonic()
                time.sleep(min(_REST_SHARE * (rest_start - self.start), _LONGEST_REST_SECONDS))
                arrival = (rest_start + time.monotonic()) / 2
        return True

    def stop(self) -> None:
        """End all remaining processes after a grace period, and read their last output."""
        with self.resources, _signals_held():
            if self.status is None:
                _signal_all(_children() - self.unrelated, signal.SIGTERM)
            kill_from = time.monotonic() + GRACE_SECONDS
            # Repeat: when a child ends, its children become children of this process.
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
        """Return the result of the program, after `stop`."""
        if self.status is None:
            raise RuntimeError("the program has not ended")
        status = os.waitstatus_to_exitcode(self.status)
        cut = self.output.cut or self.errors.cut
        error_lines = self.errors.lines()
        errors = "".join(f"{line.text}\n" for line in error_lines)
        if cut:
            errors += f"nodeworth: output beyond {KEPT_BYTES // 1_000_000} MB was not kept\n"
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
            error_lines=error_lines,
        )

    def _read(self, limit_seconds: float, arrival: float | None = None) -> bool:
        """Wait for data, and read a chunk of each pipe that has data.

        Parameters
        ----------
        limit_seconds : float
            Longest wait.
        arrival : float, optional
            Time with which the chunks are stamped, on the monotonic clock. By default, the time of the read.

        Returns
        -------
        bool
            Whether any pipe had data or was closed, or the program ended.
        """
        self.just_read = 0
        if not self.open and self.end is None:  # both pipes are closed, so the program will end soon
            time.sleep(min(limit_seconds, 0.001))
            return False
        ready = self.poll.poll(limit_seconds * 1000)
        for descriptor, _ in ready:
            if descriptor == self.end:
                self.poll.unregister(descriptor)
                self.end = None
                continue
            data = os.read(descriptor, _CHUNK_BYTES)
            self.open[descriptor].add((arrival or time.monotonic()) - self.start, data)
            self.just_read += len(data)
            if not data:
                self.poll.unregister(descriptor)
                del self.open[descriptor]
        return bool(ready)

    def _children_left(self) -> set[int]:
        """Reap the program's processes that have ended, and return the ids of the others."""
        with contextlib.suppress(ChildProcessError):
            while (ended := _first_ended()) and ended not in self.unrelated:
                self._reap(ended)
        return _children() - self.unrelated

    def _reap(self, pid: int | None) -> bool:
        """Return whether a child has ended. If it has, reap it and add its CPU time."""
        if pid is None:
            return False
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
    """Return the ids of the children of this process, including ended children that are not reaped yet."""
    try:
        _first_ended()
    except ChildProcessError:  # no children: no need to look through all processes of the machine
        return set()
    return {child.pid for child in psutil.Process().children()}


def _first_ended() -> int | None:
    """Return the id of a child to reap, if any; `ChildProcessError` if this process has no children."""
    ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    return ended and ended.si_pid


def _signal_all(pids: set[int], number: signal.Signals) -> None:
    """Send a signal to processes and then to their descendants."""
    for pid in pids:
        with contextlib.suppress(psutil.NoSuchProcess):
            parent = psutil.Process(pid)
            for process in (parent, *parent.children(recursive=True)):
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.send_signal(number)


@contextlib.contextmanager
def _subreaper() -> Iterator[None]:
    """Within the context, make this process the parent of any descendant whose parent ends."""
    before = ctypes.c_int()
    _LIBC.prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(before), 0, 0, 0)
    _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, before.value, 0, 0, 0)


@contextlib.contextmanager
def _termination_raises() -> Iterator[None]:
    """Within the context, make SIGTERM and SIGHUP raise `SystemExit`, unless they have handlers."""
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
    """Within the context, block signals that would interrupt the clean-up."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _STOP_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
