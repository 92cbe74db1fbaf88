"""MPICH and the libraries that are built from it (Intel MPI, MVAPICH): their launcher Hydra."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workflows.launch.emulation import INTERFACE
from workflows.launch.mpi.library import FINALIZE, JobRanks, Launch, MpiLibrary, Ranks, RankVariables

LIBRARIES = "lib"
"""Folder in the scratch folder of a run, with a link to the library under the name of its ABI."""

_ABI_FILE = "libmpi.so.12"  # mpi4py looks for this name; Debian's file is libmpich.so.12


class Mpich(MpiLibrary):
    """MPICH 4. Environment variables (``launch.env``) configure it: ``UCX_TLS``, ``MPIR_CVAR_...``."""

    name = "mpich"
    title = "MPICH"
    programs = ("mpiexec.hydra", "mpichversion")
    package = "mpich"
    version_command = ("mpichversion",)
    compiler_package = "libmpich-dev"
    header_macros = ("MPICH_VERSION", "MPICH_NAME", "MVAPICH2_VERSION", "I_MPI_VERSION")
    shared_library = r"libmpich\.so\S*|libmpi\.so\.12\S*"
    mpi4py_abi = "mpich"
    rank_variables = RankVariables("PMI_RANK", "MPI_LOCALRANKID", "MPI_LOCALNRANKS")
    job_launcher = "hydra"
    srun_plugins = ("pmi2", "pmix")
    environment_prefixes = ("MPIR_", "I_MPI_")
    oversubscription_problem = (
        "MPICH's ranks poll without yielding: more of them than cores wait for each other's time slices"
    )
    added_lines = r"Abort\(\d+\) on node \d+ "

    def launch(self, ranks: Ranks) -> Launch:
        """Return Hydra's command line."""
        remote = []
        if ranks.hosts:
            slots = ",".join(f"{host}:{count}" for host, count in ranks.hosts.items())
            remote = ["-hosts", slots, "-iface", INTERFACE]
            remote += ["-launcher", "rsh", "-launcher-exec", "enter-node"]
        argv = [
            *("mpiexec.hydra", "-n", str(ranks.point.processes), *remote, "-bind-to", "none"),
            "-disable-auto-cleanup",  # a rank that ends without MPI_Finalize ends no other rank
            *ranks.command,
        ]
        variables = ({"UCX_NET_DEVICES": INTERFACE} if ranks.hosts else {}) | dict(ranks.variables)
        # Closing UCX's connections over TCP may hang (openucx/ucx issue 8738): 4 % of runs hung. Without
        # MPI_Finalize, Hydra reports exit status 1 for up to 9 % of runs; attester/preload.c prevents this.
        over_tcp = ranks.hosts or "tcp" in variables.get("UCX_TLS", "")
        return Launch(argv, ({FINALIZE: "0"} if over_tcp else {}) | variables)

    def launch_in_job(self, ranks: JobRanks) -> Launch:
        """Return Hydra's command line; its proxies start through the scheduler, which Hydra detects."""
        options = ranks.scheduler.hydra_options()
        argv = ["mpiexec.hydra", *options, "-hosts", ranks.slots, "-n", ranks.number, *ranks.command]
        return Launch(argv, {"I_MPI_PIN": "0", **ranks.scheduler.hydra_environment()})

    def library_environment(self, scratch: Path) -> dict[str, str]:
        """Return the variables with which the linker finds this library first, under the name of its ABI."""
        libraries, file = scratch / LIBRARIES, self.file_of("mpichversion")
        if file and (Path(file).parent / _ABI_FILE).exists():
            libraries = Path(file).parent  # a link elsewhere would not find what lies beside the library
        else:
            libraries.mkdir(exist_ok=True)
            link = libraries / _ABI_FILE
            if file and not link.is_symlink():
                link.symlink_to(file)
        path = ":".join(filter(None, [str(libraries), os.environ.get("LD_LIBRARY_PATH")]))
        return super().library_environment(scratch) | {"LD_LIBRARY_PATH": path}

    def uses_ucx(self, settings: Mapping[str, Any]) -> bool:
        """Return True: MPICH always uses UCX."""
        return True
