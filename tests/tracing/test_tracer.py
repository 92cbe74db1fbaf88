"""The tracer in real MPI programs: its records, with Open MPI and with MPICH, in C and Fortran."""

import re
import subprocess
from pathlib import Path

import pytest
from mpi_programs import BOTH, PROCESSES, builder
from mpi_programs import start as started
from needs import need
from programs import printed

from workflows.domain import InputError
from workflows.tracing.actions import replayable
from workflows.tracing.build import compiler_for
from workflows.tracing.raw import read_raw, whole
from workflows.tracing.wrappers import CALLS, generate, prototypes, read_calls


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Program and tracer of an MPI library."""
    return builder("calls.c", tmp_path_factory.mktemp)


def start(built, library: str, group: str, folder: Path, **environment: str) -> subprocess.CompletedProcess:
    setting = {"NODEWORTH_TRACE": folder, "NODEWORTH_TRACE_MARKS": "step done"}
    return started(built, library, group, **(setting | environment))


def recorded(built, library: str, group: str, folder: Path) -> list[list[str]]:
    """What each rank recorded, computing, beginning and end apart."""
    done = start(built, library, group, folder)
    assert done.returncode == 0, done.stderr
    raws = read_raw(folder, PROCESSES)
    assert all(raw.cpu_ns > 0 and raw.clock_cost > 0 for raw in raws)
    ranks = [list(raw.lines) for raw in raws]
    for rank, lines in enumerate(ranks):
        assert (lines[0], lines[-1]) == (f"{rank} init", f"{rank} finalize")
    return [[line for line in lines[1:-1] if " compute " not in line] for lines in ranks]


@pytest.mark.parametrize("library", BOTH)
def test_messages(built, library, tmp_path):
    lines = recorded(built, library, "point_to_point", tmp_path)
    around = [
        (f"{r} isend {(r + 1) % 4} 1 3", f"{r} recv {(r - 1) % 4} 1 5", f"{r} wait {r} {(r + 1) % 4} 1")
        for r in range(4)
    ]
    assert lines == [
        ["0 send 1 7 40", *around[0], "0 recv 3 2 16"],
        ["1 recv 0 7 400", *around[1], "1 isend 2 3 20"],  # buffered: nothing waits for it
        [*around[2], "2 recv 1 3 20"],  # from anyone; what goes to MPI_PROC_NULL goes nowhere
        [*around[3], "3 send 0 2 16"],
    ]


@pytest.mark.parametrize("library", BOTH)
def test_requests(built, library, tmp_path):
    lines = recorded(built, library, "requests", tmp_path)[2]
    posted = [line for line in lines if " wait " not in line]
    assert posted == [
        *("2 irecv 1 1 64", "# any 0 64", "2 isend 3 1 32", "2 isend 3 2 33", "# matched 0 1 2"),
        *["2 irecv 1 3 8", "2 isend 3 3 8"] * 2,  # persistent ones, started twice
        *("2 irecv 1 4 8", "2 isend 3 4 8"),
    ]
    waits = sorted(line for line in lines if " wait " in line)
    tags = [1, 2, 3, 3, 4]
    assert waits == sorted(f"2 wait {way} {tag}" for tag in tags for way in ("1 2", "2 3"))


@pytest.mark.parametrize("library", BOTH)
def test_matched_probes(built, library, tmp_path):
    lines = recorded(built, library, "requests", tmp_path)
    assert (lines[0][-1], lines[1][-1]) == ("0 send 1 5 5", "1 recv 0 5 5")


@pytest.mark.parametrize("library", BOTH)
def test_collectives_have_the_form_that_simgrid_reads(built, library, tmp_path):
    lines = recorded(built, library, "collectives", tmp_path)
    assert [line.removeprefix("1 ") for line in lines[1]] == [
        *("barrier", "bcast 16 1", "reduce 8 0 2", "allreduce 24 0", "gather 8 8 3", "scatter 16 16 0"),
        *("allgather 8 8", "alltoall 8 8", "gatherv 16 0 0 0 0 0", "scatterv 8 16 24 32 16 1"),
        *("allgatherv 16 8 16 24 32", "alltoallv 32 8 8 8 8 32 8 8 8 8", "reducescatter 8 16 24 32 0"),
        "scan 8 0",
    ]
    assert "0 gatherv 8 8 16 24 32 0" in lines[0]


@pytest.mark.parametrize("library", BOTH)
def test_collectives_that_do_not_wait_are_recorded_where_they_are_complete(built, library, tmp_path):
    lines = recorded(built, library, "later", tmp_path)
    assert lines[1] == ["1 isend 2 1 8", "1 recv 0 1 8", "1 allreduce 16 0", "1 wait 1 2 1", "1 barrier"]


@pytest.mark.parametrize("library", BOTH)
def test_ranks_of_communicators_become_world_ranks(built, library, tmp_path):
    lines = recorded(built, library, "communicators", tmp_path)
    assert lines[0] == [
        *("0 barrier", "# sub 2,0 allreduce 4 0", "# sub 2,0 bcast 9 0", "0 recv 2 6 4"),
        *("0 barrier", "0 allreduce 4 0"),  # a copy of MPI_COMM_WORLD is the world; MPI_COMM_SELF is nobody
    ]
    assert lines[3][3] == "3 send 1 6 4"


@pytest.mark.parametrize("library", BOTH)
def test_one_sided(built, library, tmp_path):
    lines = recorded(built, library, "one_sided", tmp_path)
    acts = ["2 put 3 8", "2 flush 3", "2 get 3 8", "2 accumulate 3 8", "2 fetch 0 8", "2 flush 0 1 3"]
    assert lines[2] == ["2 window", "2 barrier", *acts, "2 barrier"]


@pytest.mark.parametrize("library", BOTH)
def test_fortran(built, library, tmp_path):
    lines = recorded(built, library, "fortran", tmp_path)
    traced = read_raw(tmp_path, PROCESSES)
    replayed = list(replayable(traced, whole(traced)).lines(1))
    assert lines[1][0] == "# any 0 16"
    posted = [line for line in replayed if " wait " not in line and " compute " not in line]
    pair = ["1 irecv 0 8 16", "1 isend 2 8 16"]
    assert posted == [*pair, *pair, "1 recv 0 8 16", "1 allreduce 16 0"]
    assert sum(line == "1 wait 0 1 8" for line in replayed) == 2


def test_steps_are_marked_where_they_are_printed(built, tmp_path):
    lines = recorded(built, "openmpi", "steps", tmp_path)
    assert lines[0].count("# mark") == 4
    assert lines[0].index("# mark") == 1  # after the first allreduce
    assert "# mark" not in lines[1]


@pytest.mark.parametrize("library", BOTH)
def test_an_unknown_call_stops_the_program_with_one_line(built, library, tmp_path):
    done = start(built, library, "unknown", tmp_path)
    assert done.returncode != 0
    messages = (tmp_path / "failed.txt").read_text().splitlines()
    assert messages and all(line.startswith("MPI_Comm_idup is unknown to the tracer") for line in messages)


def test_a_folder_that_is_not_there_stops_the_program_with_one_line(built, tmp_path):
    done = start(built, "openmpi", "steps", tmp_path / "nowhere")
    assert done.returncode != 0
    assert re.search("nodeworth tracer: .*nowhere/rank-0.txt: No such file", done.stderr)


def test_computing_is_cpu_time_between_calls(built, tmp_path):
    done = start(built, "openmpi", "steps", tmp_path, NODEWORTH_TRACE_CLOCK="thread_cpu")
    assert done.returncode == 0, done.stderr
    for raw in read_raw(tmp_path, PROCESSES):
        assert raw.clock == "thread_cpu"
        computed = sum(int(line.split()[2]) for line in raw.lines if " compute " in line)
        assert 0 < computed < raw.cpu_ns


def test_a_counter_of_perf_event_is_read(built, tmp_path):
    done = start(built, "openmpi", "steps", tmp_path, NODEWORTH_TRACE_CLOCK="task_clock")
    if "does not count task_clock" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    for raw in read_raw(tmp_path, PROCESSES):
        assert raw.clock == "task_clock"
        assert 0.5 < raw.count / raw.cpu_ns < 2, "the same nanoseconds by another clock, which others disturb"
        assert any(" compute " in line for line in raw.lines)


@pytest.mark.parametrize("compiler", ["mpicc.openmpi", "mpicc.mpich"])
def test_every_function_of_the_library_is_known_local_or_trapped(compiler, tmp_path):
    need(compiler)
    (tmp_path / "all.c").write_text("#include <mpi.h>\n")
    header = printed(compiler, "-E", tmp_path / "all.c")
    declared = prototypes(header)
    calls, _ = read_calls(CALLS.read_text())
    assert not calls.keys() - declared.keys(), "the table names functions that there are none of"
    made = generate(CALLS.read_text(), header)
    wrapped = set(re.findall(r"^int MPI_(\w+)\(", made, re.M))
    assert wrapped >= set("Send Wait Alltoallv Comm_idup File_open Comm_spawn Rput Neighbor_alltoall".split())
    assert wrapped.isdisjoint("Comm_get_name Type_size Wtime Get_count Op_create".split())
    assert "void mpi_send_(" in made
    assert 'void mpi_send_f08_(void) { unknown("mpi_send_f08_"); }' in made


def test_a_malformed_line_of_the_table_is_refused():
    with pytest.raises(ValueError, match="no line of the table: Send buf"):
        read_calls("Send buf, count")


def test_a_program_without_its_compiler_is_one_line(tmp_path, monkeypatch, built):
    program, _ = built("openmpi")
    (tmp_path / "ldd").symlink_to("/usr/bin/ldd")
    (tmp_path / "bash").symlink_to("/bin/bash")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match=r"calls: tracing it needs mpicc.openmpi \(Debian: libopenmpi-dev\)"):
        compiler_for(str(program))
