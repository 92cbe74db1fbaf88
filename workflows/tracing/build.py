"""Building the tracer for the MPI library that a program is bound to."""

from __future__ import annotations

import os
from pathlib import Path

from workflows.domain import InputError, short_digest
from workflows.launch.compiling import PACKAGES, compiler_of, run_compiler
from workflows.launch.provenance import mpi_library
from workflows.paths import RESULTS, ROOT
from workflows.tracing.wrappers import CALLS, generate

SOURCE = Path(__file__).parent / "tracer"
TRACERS = ROOT / RESULTS / ".tracers"
"""Built tracers, one an MPI library and version of the tracer."""
_WARNINGS = ("-Wall", "-Wno-unused-variable", "-Wno-unused-but-set-variable", "-Wno-deprecated-declarations")


def compiler_for(program: str, launched_by: str | None = None) -> str:
    """Name the compiler wrapper of the MPI library that a program is bound to.

    Parameters
    ----------
    program : str
        Name on the ``PATH`` or path.
    launched_by : str, optional
        MPI library that starts it: that of a program that is bound to none by itself (a script). Without it,
        or where it has no compiler, such a program gets the library of ``mpicc``.

    Raises
    ------
    InputError
        There is no such compiler: one line with what to install.
    """
    library = mpi_library(program)
    kind = None if library is None else "mpich" if "libmpich" in library else "openmpi"
    compiler = compiler_of(kind or launched_by) or (compiler_of(None) if kind is None else None)
    if compiler is None:
        name = f"mpicc.{kind}" if kind else "mpicc"
        package = PACKAGES[kind or "openmpi"]
        raise InputError(f"{program}: tracing it needs {name} (Debian: {package}), which is not there")
    return compiler


def build(compiler: str) -> Path:
    """Build the tracer, unless it is there already.

    Returns
    -------
    Path
        The library, to be given in ``LD_PRELOAD``.

    Raises
    ------
    InputError
        It cannot be built: one line.
    """
    header = run_compiler([compiler, "-E", "-x", "c", "-"], "#include <mpi.h>\n")
    generated = generate(CALLS.read_text(), header)
    sources = "".join(file.read_text() for file in sorted(SOURCE.glob("*.c")))
    command = run_compiler([compiler, "-show"])
    digest = short_digest((command + sources + generated).encode())
    library = TRACERS / f"tracer-{digest}.so"
    if library.exists():
        return library
    TRACERS.mkdir(parents=True, exist_ok=True)
    made = library.with_suffix(f".{os.getpid()}")
    options = ["-O2", *_WARNINGS, "-Werror", "-fPIC", "-shared", "-I", str(SOURCE)]
    run_compiler([compiler, *options, "-x", "c", "-", "-o", str(made), "-ldl"], generated)
    made.rename(library)
    return library
