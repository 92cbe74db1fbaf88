"""C programs of these tests, built for an MPI library and started with its launcher and the tracer."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from needs import need
from programs import printed, ran

from workflows.tracing.build import build, compiler_for

PROCESSES = 4
LIBRARIES = {
    "openmpi": (
        ["mpirun.openmpi", "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"],
        "mpi_mpifh",
    ),
    "mpich": (["mpiexec.mpich"], "mpichfort"),
}
BOTH = ["openmpi", pytest.param("mpich", marks=pytest.mark.slow)]
Build = Callable[[str], tuple[Path, Path]]


def builder(source: str, new_folder: Callable[[str], Path]) -> Build:
    """Give a function that builds a program and the tracer for an MPI library, once."""
    made = {}

    def make(library: str) -> tuple[Path, Path]:
        if library not in made:
            folder = new_folder(library)
            program = folder / source.removesuffix(".c")
            compiler = f"mpicc.{library}"
            need(compiler)
            path = Path(__file__).with_name(source)
            options = ["-w", "-o", str(program), str(path), f"-l{LIBRARIES[library][1]}"]
            printed(compiler, *options, timeout=120)
            made[library] = program, build(compiler_for(str(program)))
        return made[library]

    return make


def start(built: Build, library: str, group: str, **setting: object) -> subprocess.CompletedProcess:
    """Run a group of the program's calls on all ranks, with settings of the tracer."""
    program, tracer = built(library)
    words = [f"{name}={value}" for name, value in ({"LD_PRELOAD": tracer} | setting).items()]
    as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    launcher = [*LIBRARIES[library][0], "-n", str(PROCESSES)]
    return ran(*launcher, "env", *words, program, group, timeout=120, **as_root)
