"""Building the tracer for the MPI library that a program is bound to."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

from workflows.domain import InputError
from workflows.provenance import mpi_library
from workflows.tracing.wrappers import CALLS, generate

SOURCE = Path(__file__).parent / "tracer"
_WARNINGS = ("-Wall", "-Wno-unused-variable", "-Wno-deprecated-declarations")


def compiler_for(program: str) -> str:
    """Name the compiler wrapper of the MPI library that a program is bound to.

    Parameters
    ----------
    program : str
        Name on the ``PATH`` or path. A program that is bound to none by itself (a script, a serial program)
        gets the one of ``mpicc``.

    Raises
    ------
    InputError
        There is no such compiler: one line with what to install.
    """
    library = mpi_library(program)
    kind = None if library is None else "mpich" if "libmpich" in library else "openmpi"
    names = [f"mpicc.{kind}", "mpicc"] if kind else ["mpicc"]
    for name in names:
        if shutil.which(name) and (kind is None or _is_of(name, kind)):
            return name
    package = "libmpich-dev" if kind == "mpich" else "libopenmpi-dev"
    raise InputError(f"{program}: tracing it needs {names[0]} (Debian: {package}), which is not there")


def build(compiler: str, folder: Path) -> Path:
    """Build the tracer, unless `folder` has it already.

    Parameters
    ----------
    compiler : str
        An MPI compiler wrapper.
    folder : Path
        Made where it is missing.

    Returns
    -------
    Path
        The library, to be given in ``LD_PRELOAD``.

    Raises
    ------
    InputError
        It cannot be built: one line.
    """
    header = _run([compiler, "-E", "-x", "c", "-"], "#include <mpi.h>\n")
    generated = generate(CALLS.read_text(), header)
    shown = _run([compiler, "-show"], "")
    sources = "".join(file.read_text() for file in sorted(SOURCE.glob("*.c")))
    digest = hashlib.sha256((shown + sources + generated).encode()).hexdigest()[:16]
    library = folder.resolve() / f"tracer-{digest}.so"
    if library.exists():
        return library
    folder.mkdir(parents=True, exist_ok=True)
    made = library.with_suffix(f".{os.getpid()}")
    options = ["-O2", *_WARNINGS, "-Werror", "-fPIC", "-shared", "-I", str(SOURCE)]
    _run([compiler, *options, "-x", "c", "-", "-o", str(made), "-ldl"], generated)
    made.rename(library)
    return library


def _is_of(compiler: str, kind: str) -> bool:
    return bool(re.search(kind, _run([compiler, "-show"], "")))


def _run(command: list[str], given: str) -> str:
    try:
        done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=300)
    except FileNotFoundError:
        raise InputError(f"{command[0]}: no such program; it is needed to build the tracer") from None
    except subprocess.TimeoutExpired:
        raise InputError(f"{command[0]}: not finished after 300 s while the tracer is built") from None
    if done.returncode:
        said = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr.strip())
        raise InputError(f"the tracer cannot be built: {' '.join(command[:2])}: {said}")
    return done.stdout
