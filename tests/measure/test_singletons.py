"""A program that runs as singletons instead of one parallel run does not count."""

import subprocess

import pytest
from programs import write_program

from workflows.applications import application
from workflows.domain import Line, Point
from workflows.launch import attesters
from workflows.launch.mpi.library import MpiLibrary
from workflows.measure.running import run
from workflows.paths import INTERCONNECTS
from workflows.study.cases import load_case
from workflows.study.interconnects import load_interconnect

command = application("command")

PROGRAM = """
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int size;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    printf("%d ranks\\n", size);
    return MPI_Finalize();
}
"""
CASE = """
application: command
title: Singletons
description: A wrapper script that starts a program; each rank may be alone.
stands_for: A program of one's own.
size: none
sizes: {none: {parameters: {}, serial_seconds: 0.1, memory_MB: 10}}
settings: {program: [./wrapper.sh], read: READ}
"""
WHOLE_RUN = "{complete: '^\\d ranks'}"
PRINTED = "{complete: '^done$', seconds: 'took (\\S+) s'}"


@pytest.fixture
def ran(tmp_path):
    """Run a shell script on two processes over an interconnect, and give the run."""

    def ran(script, interconnect, read):
        folder = tmp_path / "command/wrapped"
        folder.mkdir(parents=True)
        (folder / "case.yaml").write_text(CASE.replace("READ", read))
        write_program(folder / "wrapper.sh", f"#!/bin/sh\n{script}\n")
        case = load_case("wrapped", tmp_path)
        command.prepare(case, 2, tmp_path / "prepared", None)
        point = Point("wrapped", interconnect, 2, 2, 1, 1)
        joins = load_interconnect(interconnect, INTERCONNECTS)
        return run(case, point, tmp_path / "prepared", joins, (), 60, attest=True)

    return ran


def program(library, folder):
    """Build a program whose processes all print how many ranks there are."""
    (folder / "program.c").write_text(PROGRAM)
    built = str(folder / library)
    subprocess.run([f"mpicc.{library}", "-o", built, str(folder / "program.c")], check=True, timeout=120)
    return built


@pytest.mark.parametrize("timed", [WHOLE_RUN, PRINTED], ids=["the whole run", "a printed time"])
@pytest.mark.parametrize(
    ("interconnect", "library", "shown"),
    [("shared_memory", "mpich", "MPICH Version: "), ("shared_memory_mpich", "openmpi", "Open MPI v")],
)
def test_a_program_that_the_launcher_does_not_join_is_no_run(
    ran, tmp_path, interconnect, library, shown, timed
):
    script = f"{program(library, tmp_path)} && echo took 0.001 s && echo done"
    done = ran(script, interconnect, timed)
    assert [line.text for line in done.execution.lines].count("1 ranks") == 2
    assert done.problem.startswith(
        f"2 singletons instead of one run of 2 processes: the program uses {shown}"
    ), done.problem


@pytest.mark.parametrize(
    ("interconnect", "library"), [("shared_memory", "openmpi"), ("shared_memory_mpich", "mpich")]
)
def test_a_program_that_the_launcher_joins_is_one_run(ran, tmp_path, interconnect, library):
    """Although every process prints a time."""
    done = ran(f"{program(library, tmp_path)} && echo took 0.001 s && echo done", interconnect, PRINTED)
    assert done.problem is None
    assert done.world_verified


COPIES = (
    "2 singletons instead of one run of 2 processes: all that the case reads is there 2 times, and Nodeworth saw no "
    "process initialise MPI. A right program prints on one process only"
)


@pytest.mark.parametrize("compiler", [True, False], ids=["watched", "no compiler"])
def test_copies_of_a_program_without_mpi_are_no_run(ran, monkeypatch, compiler):
    if not compiler:
        monkeypatch.setattr(MpiLibrary, "compiler", lambda _: None)
        monkeypatch.setattr(
            attesters, "_build_once", attesters._build_once.__wrapped__
        )  # without what is remembered
    assert ran("echo took 0.001 s; echo done", "shared_memory", PRINTED).problem == COPIES


def test_a_program_without_mpi_that_prints_on_one_process_counts(ran):
    """As programs do that communicate by other means."""
    script = "[ $OMPI_COMM_WORLD_RANK = 0 ] && echo took 0.001 s && echo done; exit 0"
    done = ran(script, "shared_memory", PRINTED)
    assert done.problem is None
    assert done.world_verified is False


def test_a_printed_number_of_processes_verifies_the_world(ran):
    script = "[ $OMPI_COMM_WORLD_RANK = 0 ] && echo took 0.001 s on $OMPI_COMM_WORLD_SIZE; exit 0"
    done = ran(script, "shared_memory", "{processes: 'on (\\d+)', seconds: 'took (\\S+) s'}")
    assert done.problem is None
    assert done.world_verified


@pytest.mark.parametrize(
    ("printed", "copies"),
    [
        (["took 1 s", "done"], 1),
        (["took 1 s", "done", "took 2 s", "done"], 2),
        (["took 1 s", "took 2 s", "done"], None),
        (["took 1 s", "took 2 s"], None),
    ],
)
def test_copies_are_counted_by_all_patterns_of_a_case(printed, copies, tmp_path):
    folder = tmp_path / "command/wrapped"
    folder.mkdir(parents=True)
    (folder / "case.yaml").write_text(CASE.replace("READ", PRINTED))
    lines = [Line(0.1, text) for text in printed]
    assert command.read(load_case("wrapped", tmp_path), 2, lines).copies == copies
