"""Build and run the C++ programs that simulate, and read their output."""

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

COMMON_SOURCES = sorted(Path(__file__).parent.glob("*.hpp"))
SIMGRID_HEADERS = (Path("/usr/include/simgrid/s4u.hpp"), Path("/usr/local/include/simgrid/s4u.hpp"))

_OWN_ERROR = re.compile(r"(replayer|traffic|servers|packets): ")
_SIMGRID_PREFIX = re.compile(r"^\[[^\]]*\] (\S+:\d+: )?\[[\w/]+\] ")
_SIMGRID_ERRORS = (
    (re.compile(r"action (\S+) is unknown"), r"operation \1 is unknown"),
    (re.compile(r"Actor pid=-?\d+ is gone"), "a message to a rank that does not exist"),
)


@dataclass(frozen=True)
class Output:
    """Output of a program.

    Attributes
    ----------
    rows : list of list of str
        Words of each printed line. The first word names the kind of the line.
    cpu_seconds : float
        CPU time of the program, user and system.
    """

    rows: list[list[str]]
    cpu_seconds: float

    def lines(self, kind: str) -> list[list[str]]:
        """Return the words of each line of a kind, without the first word."""
        return [row[1:] for row in self.rows if row[0] == kind]

    @property
    def memory_bytes(self) -> int:
        """Peak resident memory of the program."""
        return int(self.lines("memory")[0][0]) * 1024

    @property
    def seconds(self) -> float:
        """Simulated time at the end of the simulation."""
        return float(self.lines("end")[0][0])


def cannot_simulate() -> str | None:
    """Return why this machine cannot simulate, in one line; None if it can."""
    if shutil.which("g++") is None:
        return "g++ is not installed (Debian: g++); Nodeworth compiles its replayer with g++"
    conda_header = Path(os.environ.get("CONDA_PREFIX", "/")) / "include/simgrid/s4u.hpp"
    if not any(header.exists() for header in (*SIMGRID_HEADERS, conda_header)):
        return "SimGrid is not installed (Debian: libsimgrid-dev)"
    return None


def build(source: Path, folder: Path) -> Path:
    """Compile a program into `folder`, unless the folder has it, and return its path.

    Parameters
    ----------
    source : Path
        C++ file of this package. The name of the program contains a digest of it and of all headers.

    Raises
    ------
    InputError
        In one line, if the compiler or SimGrid is missing, or the compilation fails.
    """
    digest = short_digest(b"".join(file.read_bytes() for file in (source, *COMMON_SOURCES)))
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
        compiler = subprocess.run(command, capture_output=True, text=True)
        if compiler.returncode:
            error = next((line for line in compiler.stderr.splitlines() if "error" in line), "no message")
            raise InputError(f"simulated interconnects: {source.name} cannot be compiled: {error}")
        draft.replace(program)
    return program


def run(program: Path, arguments: Sequence[object], failure: str) -> Output:
    """Run a program to its end.

    Parameters
    ----------
    failure : str
        Beginning of the error message. The reason follows.

    Raises
    ------
    InputError
        In one line, if the program fails.
    """
    words = [str(program), *map(str, arguments), "--log=xbt_cfg.thresh:warning", "--log=no_loc"]
    with tempfile.TemporaryFile("w+") as stdout, tempfile.TemporaryFile("w+") as stderr:
        process = subprocess.Popen(words, stdout=stdout, stderr=stderr)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        stdout.seek(0)
        stderr.seek(0)
        if process.returncode:
            raise InputError(f"{failure}: {_reason(stderr.read())}")
        return Output([line.split() for line in stdout], usage.ru_utime + usage.ru_stime)


def _reason(stderr: str) -> str:
    """Return the line that states the error, without the prefix of SimGrid or of the program."""
    lines = stderr.splitlines()
    own_errors = [_OWN_ERROR.sub("", line) for line in lines if _OWN_ERROR.match(line)]
    critical = [line for line in lines if "CRITICAL" in line]
    error = [*own_errors[:1], *critical[:1], *lines[-1:], "no message"][0]
    for pattern, meaning in _SIMGRID_ERRORS:
        if match := pattern.search(error):
            return match.expand(meaning)
    return _SIMGRID_PREFIX.sub("", error)
