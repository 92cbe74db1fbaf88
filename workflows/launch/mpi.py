"""The MPI libraries that an interconnect may name: what they need here, and what is bound to which."""

from __future__ import annotations

import difflib
import functools
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from workflows.domain import Interconnect
from workflows.launch import mpich
from workflows.launch.provenance import mpi_library

TITLES = {"openmpi": "Open MPI", "mpich": "MPICH"}
_NEEDED = {"openmpi": (("mpirun",), "openmpi-bin"), "mpich": (mpich.PROGRAMS, "mpich")}
_LISTED_PARAMETER = re.compile(r"^mca:[^:]*:[^:]*:param:([^:]+):", re.M)


def programs(library: str) -> tuple[str, ...]:
    """Programs that show whether anything can be run with an MPI library."""
    return *_NEEDED[library][0], "taskset", "setpriv", "ompi_info"


def missing_programs(library: str) -> str | None:
    """Which programs are missing here to run anything with an MPI library, and their Debian packages."""
    needed, package = _NEEDED[library]
    missing = [program for program in (*needed, "taskset", "setpriv") if shutil.which(program) is None]
    return f"{', '.join(missing)} not installed (Debian: {package}, util-linux)" if missing else None


def other_library(program: str, interconnect: Interconnect) -> str | None:
    """Compare the MPI library that a program is bound to with the library that an interconnect names.

    Returns
    -------
    str or None
        One line where they differ; None too where that cannot be seen (a script).
    """
    file = mpi_library(program)
    if file is None:
        return None
    bound = "mpich" if re.match(r"libmpich\b|libmpi\.so\.12\b", Path(file).name) else "openmpi"
    wanted = interconnect.launch["mpi"]
    if bound == wanted:
        return None
    return f"{program} is bound to {TITLES[bound]} ({file}), and the interconnect uses {TITLES[wanted]}"


def unknown_parameter(names: Iterable[str]) -> str | None:
    """Name the first parameter that Open MPI here does not have, which it would take without a word."""
    known = _parameters()
    for name in names if known else ():
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            meant = f", did you mean {near[0]!r}?" if near else ""
            return f"launch.mca.{name}: Open MPI has no such parameter here{meant}"
    return None


@functools.cache
def _parameters() -> frozenset[str]:
    """Names of all parameters that Open MPI has here; empty where it does not list them."""
    if shutil.which("ompi_info") is None:
        return frozenset()
    command = ["ompi_info", "--all", "--parsable"]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return frozenset(_LISTED_PARAMETER.findall(shown.stdout))
