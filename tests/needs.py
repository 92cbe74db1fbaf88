"""Requirements of tests on the machine, and the reason of a skipped test."""

import functools
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from workflows.paths import ROOT

DEFAULT_SIGNALS = ["env", "--default-signal"]
"""Starts a program that is to be signalled: under nohup, tests and what they start ignore some signals."""

NAMESPACES = "namespaces"  # the right to make some, which root mostly has
SLURM = ("srun", "slurmctld", "slurmd", "munged", NAMESPACES)
ACCOUNTING = (*SLURM, ".cache/accounting/usr/sbin/slurmdbd")
GRID_ENGINE = (".cache/grid-engine/usr/sbin/sge_qmaster", NAMESPACES)
IMAGE = ".cache/image"
MPI_PROGRAM = "#include <mpi.h>\nint main(void) { return MPI_Init(0, 0); }\n"


def need(*programs: str) -> None:
    """Skip the test unless these programs are on the ``PATH``, compilers of MPI make a program, and rights are there."""
    for program in programs:
        if why := unmet(program):
            pytest.skip(why)


def need_success(*command: str) -> None:
    """Skip the test with the output of the command unless the command succeeds."""
    if why := _failure(command):
        pytest.skip(why)


def unmet(program: str) -> str | None:
    """Why a program or a right cannot be used here; None if it can."""
    if program == NAMESPACES:
        return _failure(("unshare", "--mount", "--net", "--pid", "--fork", "true"))
    if program.startswith(".cache/"):
        small = f"envs/make-image {IMAGE} openmpi-bin libopenmpi-dev gcc"
        how = small if program == IMAGE else "python -m tests.slurm.unpacked"
        return None if (ROOT / program).exists() else f"{program} is not there ({how} makes it)"
    if shutil.which(program) is None:
        package = _packages().get(program)
        return f"{program} not installed" + (f" (Debian: {package})" if package else "")
    return _compiler_error(program) if program.startswith("mpicc") else None


@functools.cache
def _failure(command: tuple[str, ...]) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except OSError as error:
        return f"{command[0]}: {error.strerror}"
    message = f"{' '.join(command)}: exit status {done.returncode}: {done.stderr.strip()}"
    return message if done.returncode else None


@functools.cache
def _compiler_error(compiler: str) -> str | None:
    with tempfile.TemporaryDirectory() as folder:
        command = [compiler, "-x", "c", "-", "-o", f"{folder}/program"]
        done = subprocess.run(command, input=MPI_PROGRAM, capture_output=True, text=True, timeout=120)
    return f"{compiler} makes no MPI program: {done.stderr.strip()}" if done.returncode else None


@functools.cache
def _packages() -> dict[str, str]:
    """Debian packages of programs, as envs/*.txt name them."""
    lines = [line.split() for file in Path(ROOT / "envs").glob("*.txt") for line in file.open()]
    return {words[0].partition(":")[0]: words[1] for words in lines if words and words[0] != "#"}
