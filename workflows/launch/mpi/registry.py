"""The MPI libraries that an interconnect can name. A new library needs its module and one entry here."""

from __future__ import annotations

import os
import re
from pathlib import Path

from workflows.domain import Interconnect
from workflows.jobs import SCHEDULERS
from workflows.launch.mpi.library import MpiLibrary, RankVariables, Report
from workflows.launch.mpi.mpich import Mpich
from workflows.launch.mpi.open_mpi import OpenMpi

MPI_LIBRARIES: dict[str, MpiLibrary] = {library.name: library for library in (OpenMpi(), Mpich())}
"""MPI libraries by the name in ``launch.mpi`` of an interconnect."""

SERIAL_LIBRARY = MPI_LIBRARIES["openmpi"]
"""Library whose launcher starts serial runs on this machine. It can start a single rank of any library."""

RANK_VARIABLES = "variables"
"""Name of the file in a run's scratch folder from which ``rank`` reads the variables of the launcher."""

# If a launcher on this machine inherits these variables, it starts ranks on the nodes of the surrounding job.
_JOB_VARIABLES = tuple(prefix for scheduler in SCHEDULERS.values() for prefix in scheduler.job_prefixes)
_PROCESS_VARIABLES = re.compile("|".join(library.process_variables for library in MPI_LIBRARIES.values()))


def library_of(interconnect: Interconnect | None) -> MpiLibrary:
    """Return the MPI library of an interconnect, or the library of serial runs."""
    return MPI_LIBRARIES[interconnect.launch["mpi"]] if interconnect else SERIAL_LIBRARY


def library_of_launcher(launcher: str) -> MpiLibrary | None:
    """Return the MPI library to which a launcher of a site file belongs; None for Slurm's srun."""
    return next((library for library in MPI_LIBRARIES.values() if library.job_launcher == launcher), None)


def linked_library(program: str) -> tuple[MpiLibrary, str] | None:
    """Return the MPI library that a program is linked to, and its file; None for a script."""
    for library in MPI_LIBRARIES.values():
        if file := library.file_of(program):
            return library, file
    return None


def library_mismatch(program: str, interconnect: Interconnect) -> str | None:
    """Return one line if a program is linked to another MPI library than the interconnect names."""
    linked, wanted = linked_library(program), library_of(interconnect)
    if linked is None or linked[0] is wanted:
        return None
    library, file = linked
    return f"{program} is bound to {library.title} ({file}), and the interconnect uses {wanted.title}"


def outside_mpi() -> dict[str, str]:
    """Return the environment of this process without the variables that mark it as a rank."""
    return {name: value for name, value in os.environ.items() if not _PROCESS_VARIABLES.fullmatch(name)}


def outside_jobs() -> dict[str, str]:
    """Return the environment of `outside_mpi` without the variables of a job that this process is in."""
    return {name: value for name, value in outside_mpi().items() if not name.startswith(_JOB_VARIABLES)}


def read_report(interconnect: Interconnect | None, scratch: Path) -> Report:
    """Read what the MPI library of a run reported, from the folder where its ranks write."""
    files = sorted(file for file in scratch.glob("*.messages") if file.stat().st_size)
    messages = "".join(file.read_text(errors="replace") for file in files)
    return library_of(interconnect).read_report(messages, scratch)


def write_rank_variables(scratch: Path, variables: RankVariables) -> None:
    """Write the file ``variables``, from which the script ``rank`` reads the names of environment variables.

    First come the variables of the launcher: rank, local rank, local size. Then come the variables in which a
    library expects the file descriptor for its messages, for all libraries.
    """
    messages = [library.messages_variable for library in MPI_LIBRARIES.values() if library.messages_variable]
    names = [variables.rank, variables.local_rank, variables.local_size or "-", *messages]
    (scratch / RANK_VARIABLES).write_text(" ".join(names) + "\n")
