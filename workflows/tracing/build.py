"""Build of the tracer for the MPI library of a program."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from workflows.domain import InputError, short_digest
from workflows.launch.mpi.registry import MPI_LIBRARIES, SERIAL_LIBRARY, linked_library
from workflows.launch.programs import run_compiler
from workflows.paths import BUILT
from workflows.tracing.wrappers import CALLS, generate

SOURCE = Path(__file__).parent / "tracer"
TRACERS = BUILT / ".tracers"
"""Folder of built tracers, one per MPI library and version of the tracer."""
_WARNINGS = ("-Wall", "-Wno-unused-variable", "-Wno-unused-but-set-variable", "-Wno-deprecated-declarations")


def compiler_for(program: str, launched_by: str | None = None) -> str:
    """Return the compiler wrapper of the MPI library that a program is linked to.

    Parameters
    ----------
    program : str
        Path, or name on the ``PATH``.
    launched_by : str, optional
        MPI library that launches the program, for programs without a linked MPI library, such as scripts.
        The fallback is ``mpicc``.

    Raises
    ------
    InputError
        The compiler is missing; the message names the package to install.
    """
    linked = linked_library(program)
    library = linked[0] if linked else MPI_LIBRARIES[launched_by] if launched_by else None
    compiler = library.compiler() if library else None
    if compiler is None and linked is None and shutil.which("mpicc"):
        compiler = "mpicc"
    if compiler is None:
        name = f"mpicc.{linked[0].name}" if linked else "mpicc"
        package = (linked[0] if linked else SERIAL_LIBRARY).compiler_package
        raise InputError(f"{program}: tracing it needs {name} (Debian: {package}), which is not installed")
    return compiler


def build(compiler: str) -> Path:
    """Build the tracer, unless it exists already.

    Returns
    -------
    Path
        The shared library for ``LD_PRELOAD``.

    Raises
    ------
    InputError
        The build fails.
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
    unfinished = library.with_suffix(f".{os.getpid()}")
    options = ["-O2", *_WARNINGS, "-Werror", "-fPIC", "-shared", "-I", str(SOURCE)]
    run_compiler([compiler, *options, "-x", "c", "-", "-o", str(unfinished), "-ldl"], generated)
    unfinished.rename(library)
    return library
