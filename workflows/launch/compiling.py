"""Compiling C for an MPI library: what is preloaded into the ranks of a run."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence

from workflows.domain import InputError

PACKAGES = {"openmpi": "libopenmpi-dev", "mpich": "libmpich-dev"}


def compiler_of(library: str | None) -> str | None:
    """Name the compiler wrapper of an MPI library, or of whatever ``mpicc`` is for; None where there is none.

    Parameters
    ----------
    library : str or None
        ``openmpi``, or ``mpich`` for it and the libraries made of it.
    """
    for name in [f"mpicc.{library}", "mpicc"] if library else ["mpicc"]:
        if shutil.which(name) and library in (None, _library_of(name)):
            return name
    return None


def _library_of(compiler: str) -> str | None:
    """The MPI library whose mpi.h a compiler wrapper finds; None where it finds none."""
    try:
        macros = run_compiler([compiler, "-E", "-dM", "-x", "c", "-"], "#include <mpi.h>\n")
    except InputError:
        return None
    return "openmpi" if "#define OPEN_MPI " in macros else "mpich"


def run_compiler(command: Sequence[str], given: str = "", what: str = "the tracer") -> str:
    """Run a compiler on the source `given`, and give what it prints.

    Raises
    ------
    InputError
        It is not there, fails, or does not end, while `what` is built: one line.
    """
    try:
        done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=300)
    except FileNotFoundError:
        raise InputError(f"{command[0]}: no such program; it is needed to build {what}") from None
    except subprocess.TimeoutExpired:
        raise InputError(f"{command[0]}: not finished after 300 s while {what} is built") from None
    if done.returncode:
        said = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr.strip())
        raise InputError(f"{what} cannot be built: {' '.join(command[:2])}: {said}")
    return done.stdout
