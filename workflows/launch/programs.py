"""Ask programs for their output and shared libraries, and run compilers."""

from __future__ import annotations

import functools
import shutil
import subprocess
from collections.abc import Sequence

from workflows.domain import InputError


@functools.cache
def output_of(*command: str) -> str:
    """Return the standard output of a program; empty if the program is missing or takes more than 60 s.

    The same command runs only once in this process.
    """
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=60).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""


@functools.cache
def shared_libraries(program: str) -> str:
    """Return the shared libraries of a program, as ``ldd`` lists them; empty if there is no such program."""
    path = shutil.which(program)
    return output_of("ldd", path) if path else ""


def run_compiler(command: Sequence[str], source: str = "", product: str = "the tracer") -> str:
    """Run a compiler on `source` and return what it prints.

    Raises
    ------
    InputError
        The compiler is missing, fails, or runs for more than 300 s: one line that names the `product`.
    """
    try:
        completed = subprocess.run(command, input=source, capture_output=True, text=True, timeout=300)
    except FileNotFoundError:
        raise InputError(f"{command[0]}: no such program; it is needed to build {product}") from None
    except subprocess.TimeoutExpired:
        raise InputError(f"{command[0]}: not finished after 300 s while {product} is built") from None
    if completed.returncode:
        errors = completed.stderr
        reason = next((line for line in errors.splitlines() if "error" in line), errors.strip())
        raise InputError(f"{product} cannot be built: {' '.join(command[:2])}: {reason}")
    return completed.stdout
