"""The programs that simulate with SimGrid: building them, running them, what they say when they fail."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from workflows.domain import InputError, short_digest

COMMON = sorted(Path(__file__).parent.glob("*.hpp"))
HEADERS = (Path("/usr/include/simgrid/s4u.hpp"), Path("/usr/local/include/simgrid/s4u.hpp"))
_OWN = re.compile(r"(replayer|traffic|servers|packets): ")
_PREFIX = re.compile(r"^\[[^\]]*\] (\S+:\d+: )?\[[\w/]+\] ")
_MEANINGS = (
    (re.compile(r"action (\S+) is unknown"), r"operation \1 is unknown"),
    (re.compile(r"Actor pid=-?\d+ is gone"), "a message to a rank that is not there"),
)


@dataclass(frozen=True)
class Output:
    """What a program printed: its lines in words, one word before the others saying what a line is.

    Attributes
    ----------
    cpu_seconds : float
        Processor time that it took.
    """

    rows: list[list[str]]
    cpu_seconds: float

    def of(self, what: str) -> list[list[str]]:
        """Lines that begin with `what`, without it."""
        return [row[1:] for row in self.rows if row[0] == what]

    @property
    def memory_bytes(self) -> int:
        """Most memory that it had."""
        return int(self.of("memory")[0][0]) * 1024

    @property
    def seconds(self) -> float:
        """Simulated time at its end."""
        return float(self.of("end")[0][0])


def cannot_simulate() -> str | None:
    """Why nothing can be simulated on this machine, in one line; None where it can."""
    if shutil.which("g++") is None:
        return "g++ is not installed, which builds the replayer (Debian: g++)"
    include = Path(os.environ.get("CONDA_PREFIX", "/")) / "include/simgrid/s4u.hpp"
    if not any(path.exists() for path in (*HEADERS, include)):
        return "SimGrid is not installed (Debian: libsimgrid-dev)"
    return None


def build(source: Path, folder: Path) -> Path:
    """Compile a program into `folder` unless it is there already, and give its path.

    Parameters
    ----------
    source : Path
        In C++, in this package.

    Raises
    ------
    InputError
        If it cannot be compiled: one line.
    """
    digest = short_digest(b"".join(file.read_bytes() for file in (source, *COMMON)))
    program = folder / f"{source.stem}-{digest}"
    if program.exists():
        return program
    if reason := cannot_simulate():
        raise InputError(f"simulated interconnects: {reason}")
    folder.mkdir(parents=True, exist_ok=True)
    prefix = os.environ.get("CONDA_PREFIX")
    options = [f"-I{prefix}/include", f"-L{prefix}/lib", f"-Wl,-rpath,{prefix}/lib"] if prefix else []
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        draft = Path(scratch) / source.stem
        command = ["g++", "-O2", "-std=c++17", str(source), "-o", str(draft), *options, "-lsimgrid"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            first = next((line for line in done.stderr.splitlines() if "error" in line), "no message")
            raise InputError(f"simulated interconnects: {source.name} cannot be compiled: {first}")
        draft.replace(program)
    return program


def run(program: Path, arguments: Sequence[object], failed: str) -> Output:
    """Run a program to its end.

    Parameters
    ----------
    failed : str
        What to say before the reason where it fails.

    Raises
    ------
    InputError
        Whatever ends it before: one line.
    """
    words = [str(program), *map(str, arguments), "--log=xbt_cfg.thresh:warning", "--log=no_loc"]
    with tempfile.TemporaryFile("w+") as said, tempfile.TemporaryFile("w+") as complained:
        process = subprocess.Popen(words, stdout=said, stderr=complained)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        complained.seek(0)
        if process.returncode:
            raise InputError(f"{failed}: {_reason(complained.read())}")
        return Output([line.split() for line in said], usage.ru_utime + usage.ru_stime)


def _reason(text: str) -> str:
    """The first line that says what is wrong, without SimGrid's own prefix."""
    lines = text.splitlines()
    said = next((_OWN.sub("", line) for line in lines if _OWN.match(line)), None)
    said = said or next((line for line in lines if "CRITICAL" in line), lines[-1] if lines else "no message")
    for pattern, meaning in _MEANINGS:
        if found := pattern.search(said):
            return found.expand(meaning)
    return _PREFIX.sub("", said)
