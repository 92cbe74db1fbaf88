"""The program that replays traces: building it, running it, reading what it says."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from workflows.domain import InputError

SOURCE = Path(__file__).with_name("replayer.cpp")
HEADERS = (Path("/usr/include/simgrid/s4u.hpp"), Path("/usr/local/include/simgrid/s4u.hpp"))
_PREFIX = re.compile(r"^\[[^\]]*\] (\S+:\d+: )?\[[\w/]+\] ")
_MEANINGS = (
    (re.compile(r"action (\S+) is unknown"), r"operation \1 is unknown"),
    (re.compile(r"Actor pid=-?\d+ is gone"), "a message to a rank that is not there"),
)


@dataclass(frozen=True)
class Replay:
    """What one replay gave, in simulated seconds.

    Attributes
    ----------
    seconds : float
        From the start until the last rank ended.
    rank_seconds, compute_seconds : tuple of float
        By rank: when it ended, and how long it computed.
    marks : tuple of float
        Times at which rank 0 came to a ``mark`` in its trace.
    cpu_seconds : float
        Processor time that the replay itself took.
    memory_bytes : int
        Most memory that it had.
    """

    seconds: float
    rank_seconds: tuple[float, ...]
    compute_seconds: tuple[float, ...]
    marks: tuple[float, ...]
    cpu_seconds: float
    memory_bytes: int


def cannot_replay() -> str | None:
    """Why nothing can be replayed on this machine, in one line; None where it can."""
    if shutil.which("g++") is None:
        return "g++ is not installed, which builds the replayer (Debian: g++)"
    include = Path(os.environ.get("CONDA_PREFIX", "/")) / "include/simgrid/s4u.hpp"
    if not any(path.exists() for path in (*HEADERS, include)):
        return "SimGrid is not installed (Debian: libsimgrid-dev)"
    return None


def build(folder: Path) -> Path:
    """Compile the replayer into `folder` unless it is there already, and give its path.

    Raises
    ------
    InputError
        If it cannot be compiled: one line.
    """
    digest = hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:16]
    program = folder / f"replayer-{digest}"
    if program.exists():
        return program
    if reason := cannot_replay():
        raise InputError(f"simulated interconnects: {reason}")
    folder.mkdir(parents=True, exist_ok=True)
    prefix = os.environ.get("CONDA_PREFIX")
    places = [f"-I{prefix}/include", f"-L{prefix}/lib", f"-Wl,-rpath,{prefix}/lib"] if prefix else []
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        draft = Path(scratch) / "replayer"
        command = ["g++", "-O2", "-std=c++17", str(SOURCE), "-o", str(draft), *places, "-lsimgrid"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            first = next((line for line in done.stderr.splitlines() if "error" in line), "no message")
            raise InputError(f"simulated interconnects: the replayer cannot be compiled: {first}")
        draft.replace(program)
    return program


def replay(
    program: Path, platform: Path, traces: Path, factors: Sequence[float], processes_per_node: int, what: str
) -> Replay:
    """Replay unpacked traces on a platform.

    Parameters
    ----------
    program : Path
        See `build`.
    platform : Path
        A file as `workflows.simulation.platform.platform_xml` writes it.
    traces : Path
        Folder with ``rank-<r>.txt``.
    factors : sequence of float
        One a rank, by which its compute times are multiplied.
    processes_per_node : int
    what : str
        What is replayed, for messages.

    Raises
    ------
    InputError
        An operation that SimGrid does not know, a deadlock, or whatever else ends it: one line.
    """
    words = [str(program), str(platform), str(traces), str(len(factors)), str(processes_per_node)]
    words += [",".join(map(repr, map(float, factors))), "--log=xbt_cfg.thresh:warning", "--log=no_loc"]
    with tempfile.TemporaryFile("w+") as said, tempfile.TemporaryFile("w+") as complained:
        process = subprocess.Popen(words, stdout=said, stderr=complained)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        complained.seek(0)
        rows = [line.split() for line in said]
        if process.returncode:
            raise InputError(f"{what}: cannot be replayed: {_reason(complained.read())}")
    ranks = sorted((int(row[1]), float(row[2]), float(row[3])) for row in rows if row[0] == "rank")
    return Replay(
        seconds=next(float(row[1]) for row in rows if row[0] == "end"),
        rank_seconds=tuple(ended for _, ended, _ in ranks),
        compute_seconds=tuple(computed for _, _, computed in ranks),
        marks=tuple(float(row[2]) for row in rows if row[:2] == ["mark", "0"]),
        cpu_seconds=usage.ru_utime + usage.ru_stime,
        memory_bytes=next(int(row[1]) for row in rows if row[0] == "memory") * 1024,
    )


def _reason(text: str) -> str:
    """The first line that says what is wrong, without SimGrid's own prefix."""
    lines = text.splitlines()
    told = next((line for line in lines if line.startswith("replayer: ")), None)
    told = told or next((line for line in lines if "CRITICAL" in line), lines[-1] if lines else "no message")
    for pattern, meaning in _MEANINGS:
        if found := pattern.search(told):
            return found.expand(meaning)
    return _PREFIX.sub("", told.removeprefix("replayer: "))
