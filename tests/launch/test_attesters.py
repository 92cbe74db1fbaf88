"""Attestation inside a run: every way to initialise MPI, and programs that must be left alone."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from workflows.domain import Case, InputError, Interconnect, Point
from workflows.launch import attesters
from workflows.launch.attesters import Probe, check_worlds, read_worlds, world_environment
from workflows.launch.execution import Execution, execute
from workflows.launch.launch import launch_ranks
from workflows.launch.mpi.library import MpiLibrary
from workflows.launch.mpi.registry import MPI_LIBRARIES, read_report
from workflows.launch.placement import read_placement
from workflows.launch.programs import run_compiler
from workflows.measure import attestation
from workflows.measure.attestation import attest_once, contradiction, probe
from workflows.paths import CASES, INTERCONNECTS
from workflows.study.cases import load_case
from workflows.study.interconnects import load_interconnect
from workflows.tracing.build import build as build_tracer
from workflows.tracing.raw import read_raw

FORTRAN = {"openmpi": "mpi_mpifh", "mpich": "mpichfort"}
NAMES = {"openmpi": "tcp_loopback", "mpich": "tcp_loopback_mpich"}
LIBRARIES = ["openmpi", pytest.param("mpich", marks=pytest.mark.slow)]
RANKS = 3


def interconnect(library: str, **changes) -> Interconnect:
    return replace(load_interconnect(NAMES[library], INTERCONNECTS), **changes)


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """The program ``initialises.c`` of an MPI library."""
    made = {}

    def make(library: str) -> str:
        if library not in made:
            made[library] = str(tmp_path_factory.mktemp(library) / "initialises")
            source = str(Path(__file__).with_name("initialises.c"))
            options = ["-o", made[library], source, f"-l{FORTRAN[library]}"]
            subprocess.run([f"mpicc.{library}", *options], check=True, timeout=120)
        return made[library]

    return make


def attested(
    joins: Interconnect, command: list[str], scratch: Path, **environment: str
) -> tuple[Execution, dict | None, str]:
    """Run a command on three ranks that share two cores. Returns execution, attestation and output."""
    scratch.mkdir(exist_ok=True)
    point = Point("none", joins.name, RANKS, 2, 1, 2)
    given = attesters.environment(point, joins, scratch) | environment
    launch = launch_ranks(point, joins, (), command, given, scratch)
    done = execute(launch.argv, launch.env, scratch, 60)
    report = read_report(joins, scratch)
    probe = attesters.read_probe(scratch, read_placement(scratch), report.transports)
    return done, probe, report.other_messages


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("entry", ["Init", "Init_thread", "init_", "init_thread_"])
def test_a_run_attests_however_it_initialises_mpi(program, library, entry, tmp_path):
    joins = interconnect(library, attest={})
    done, attested_run, output = attested(joins, [program(library), entry], tmp_path)
    assert ([line.text for line in done.lines], done.errors, output) == (["3 ranks, sum 3"], "", "")
    assert attested_run.way == "in the run"
    assert (attested_run.ranks, attested_run.problem) == ([0, 1], None)  # 2 shares the core of 0
    assert 1 <= attested_run.attempts <= 5
    assert attested_run.cores[0] != attested_run.cores[1]
    assert 0 < attested_run.latency_us < 1e4
    assert 0 < attested_run.bandwidth_MBps < 1e6
    assert attested_run.transports == [{"openmpi": "tcp", "mpich": "tcp/lo"}[library]]


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_library_that_python_alone_has_loaded_is_found(library, tmp_path):
    command = [sys.executable, "-c", "from mpi4py import MPI; MPI.COMM_WORLD.Barrier()"]
    done, attested_run, _ = attested(
        interconnect(library, attest={}), command, tmp_path, MPI4PY_RC_THREADS="0"
    )
    assert done.exit_status == 0, done.errors
    assert (attested_run.ranks, attested_run.problem) == ([0, 1], None)
    assert attested_run.library.startswith({"openmpi": "Open MPI", "mpich": "MPICH"}[library])


def test_a_script_that_starts_the_program_is_bound_to_no_library(program, tmp_path):
    script = f"grep -c libmpi /proc/self/maps; exec {program('openmpi')} Init"
    done, attested_run, _ = attested(interconnect("openmpi", attest={}), ["sh", "-c", script], tmp_path)
    assert [line.text for line in done.lines] == ["0"] * RANKS + ["3 ranks, sum 3"]
    assert attested_run.ranks == [0, 1]


@pytest.mark.parametrize("command", [["true"], ["sh", "-c", "exit 0"]])
def test_a_program_without_mpi_runs_and_attests_nothing(command, tmp_path):
    done, attested_run, _ = attested(interconnect("openmpi", attest={}), command, tmp_path)
    assert (done.exit_status, done.errors, attested_run) == (0, "", None)


@pytest.mark.slow
@pytest.mark.parametrize(("library", "other"), [("openmpi", "mpich"), ("mpich", "openmpi")])
def test_an_attester_of_another_library_does_nothing(program, library, other, tmp_path):
    foreign = str(attesters.build(other) / "attest.so")
    joins = interconnect(library, attest={})
    done, attested_run, _ = attested(joins, [program(library), "Init"], tmp_path, NODEWORTH_ATTESTER=foreign)
    assert [line.text for line in done.lines] == ["3 ranks, sum 3"]
    assert attested_run is None


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_run_shows_that_its_processes_are_one_world(program, library, tmp_path):
    """Also where its interconnect is not attested."""
    point, joins = Point("none", NAMES[library], RANKS, 2, 1, 2), interconnect(library)
    launch = launch_ranks(point, joins, (), [program(library), "Init"], world_environment(library), tmp_path)
    lines = [line.text for line in execute(launch.argv, launch.env, tmp_path, 60).lines]
    assert "3 ranks, sum 3" in lines  # UCX may add errors, since the program does not finalize MPICH
    [world] = read_worlds(tmp_path)
    assert world.processes == RANKS
    assert world.library.startswith({"openmpi": "Open MPI v", "mpich": "MPICH Version: "}[library])
    assert check_worlds([world], RANKS, joins) is None


@pytest.mark.parametrize(
    ("launcher", "library", "shown"),
    [("openmpi", "mpich", "MPICH Version: "), ("mpich", "openmpi", "Open MPI v")],
)
@pytest.mark.parametrize("entry", ["Init", "init_thread_"])
def test_a_program_of_another_library_than_the_launcher_runs_as_singletons(
    program, launcher, library, shown, entry, tmp_path
):
    joins = interconnect(launcher)
    script = f"exec {program(library)} {entry}"  # as a site's wrapper, which shows no library
    done, attested_run, _ = attested(joins, ["sh", "-c", script], tmp_path)
    # On a busy machine a singleton of Open MPI may fail when it starts at the same moment as another.
    assert {line.text for line in done.lines} == {"1 ranks, sum 0"}, done.errors
    assert attested_run is None
    worlds = read_worlds(tmp_path)
    assert {world.processes for world in worlds} == {1}
    problem = check_worlds(worlds, RANKS, joins)
    assert problem.startswith(f"3 singletons instead of one run of 3 processes: the program uses {shown}")
    assert problem.endswith(
        f", but interconnect {joins.name} names {MPI_LIBRARIES[launcher].title} (launch.mpi)"
    )


def test_a_single_helper_process_does_not_count(program, tmp_path):
    alone = f"(unset $(env | grep -oE '^(PMIX|OMPI)_[A-Za-z0-9_]+'); {program('openmpi')} Init >/dev/null)"
    attested(interconnect("openmpi"), ["sh", "-c", f"{alone}; exec {program('openmpi')} Init"], tmp_path)
    worlds = read_worlds(tmp_path)
    assert {world.processes for world in worlds} == {1, RANKS}
    assert check_worlds(worlds, RANKS, interconnect("openmpi")) is None


def test_several_smaller_runs_are_no_run_of_all_processes():
    worlds = [attesters.World(4, "Open MPI v5.0.3")] * 2
    assert check_worlds(worlds, 8, interconnect("openmpi")) == (
        "2 runs of 4 processes instead of one run of 8 processes: the program uses Open MPI v5.0.3, but "
        "interconnect tcp_loopback names Open MPI (launch.mpi)"
    )
    assert check_worlds([], 8, interconnect("openmpi")) is None


def test_the_tracer_records_nothing_of_it(program, tmp_path):
    tracer, traces = build_tracer("mpicc.openmpi"), tmp_path / "traces"
    traces.mkdir()
    run = f'LD_PRELOAD="$LD_PRELOAD:{tracer}" NODEWORTH_TRACE={traces} exec {program("openmpi")} Init'
    done, attested_run, _ = attested(interconnect("openmpi", attest={}), ["sh", "-c", run], tmp_path / "run")
    assert done.exit_status == 0, done.errors
    assert attested_run.problem is None
    for raw in read_raw(traces, RANKS):
        words = [line.split(" ")[1] for line in raw.lines if not line.startswith("#")]
        assert [word for word in words if word != "compute"] == ["init", "allreduce", "finalize"]


def test_a_rank_that_went_elsewhere_is_found_out(program, tmp_path):
    moved = f"taskset -cp 0 $$ >/dev/null; exec {program('openmpi')} Init"
    _, attested_run, _ = attested(interconnect("openmpi"), ["sh", "-c", moved], tmp_path)
    assert attested_run.problem.startswith("rank 1 was started on core 1 of ")
    assert ", with MPI initialised it was on core 0 of " in attested_run.problem
    message = contradiction(attested_run, interconnect("openmpi"))
    assert message.startswith("the probe of tcp_loopback did not succeed: ")


@pytest.mark.slow
def test_ranks_that_do_not_find_each_other_are_found_out(program, tmp_path):
    """As where mpirun and the program are not of one library."""
    alone = f"unset $(env | grep -oE '^(PMIX|OMPI)_[A-Za-z0-9_]+'); exec {program('openmpi')} Init"
    _, attested_run, _ = attested(interconnect("openmpi"), ["sh", "-c", alone], tmp_path)
    assert attested_run.problem == "1 of its 3 ranks were there"


def test_a_value_worse_than_attested_is_measured_again(program, tmp_path):
    strict = interconnect("openmpi", attest={"latency_us": [0, 1e-4]})
    _, attested_run, _ = attested(strict, [program("openmpi"), "Init"], tmp_path)
    assert attested_run.attempts == 5
    assert contradiction(attested_run, strict) is not None


def test_open_mpi_is_silent_after_the_attestation(program, tmp_path):
    attested(interconnect("openmpi", attest={}), [program("openmpi"), "Init"], tmp_path)
    messages = "".join(file.read_text() for file in tmp_path.glob("*.messages"))
    assert "Using tcp btl for send to" in messages
    assert "close: component" not in messages  # which it tells at the end


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("source", ["preload.c", "attest.c", "alone.c"])
def test_it_compiles_without_a_warning(library, source):
    compiler, *words = run_compiler([f"mpicc.{library}", "-show"]).split()
    options = [word for word in words if word.startswith("-I")]
    strict = ["-O2", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
    subprocess.run([compiler, *options, *strict, str(attesters.SOURCE / source)], check=True, timeout=60)


@pytest.fixture
def no_compiler(monkeypatch):
    """A machine without a compiler, on which nothing was built before."""
    monkeypatch.setattr(MpiLibrary, "compiler", lambda _: None)
    monkeypatch.setattr(
        attesters, "_build_once", attesters._build_once.__wrapped__
    )  # without what is remembered


@pytest.mark.usefixtures("no_compiler")
def test_a_missing_compiler_is_requested():
    with pytest.raises(InputError, match=r"^no mpicc.openmpi \(Debian: libopenmpi-dev\)$"):
        attesters.build("openmpi")


def test_a_folder_that_cannot_be_preloaded_from_is_one_line(monkeypatch, tmp_path):
    monkeypatch.setattr(
        attesters, "_build_once", attesters._build_once.__wrapped__
    )  # without what is remembered
    monkeypatch.setattr(attesters, "ATTESTERS", tmp_path / "two words")
    with pytest.raises(InputError, match=r"cannot be preloaded, for the blank or colon in it$"):
        attesters.build("openmpi")


def here(point: Point, joins: Interconnect, tmp_path: Path) -> list[dict]:
    """Where the ranks of a point are on this machine."""
    launch = launch_ranks(point, joins, (), ["true"], {}, tmp_path)
    execute(launch.argv, launch.env, tmp_path, 30)
    return read_placement(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("library", ["openmpi", "mpich"])
@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "Python"])
def test_a_separate_program_attests_before_a_run(library, compiled, request, tmp_path):
    if not compiled:
        request.getfixturevalue("no_compiler")
    joins = interconnect(library)
    point = Point("none", joins.name, RANKS, 2, 1, 2)
    attested_run = probe(point, joins, (), here(point, joins, tmp_path))
    assert attested_run.way == attesters.BESIDE
    assert (attested_run.ranks, attested_run.problem) == ([0, 1], None)
    assert attested_run.transports == [{"openmpi": "tcp", "mpich": "tcp/lo"}[library]]
    assert attested_run.latency_us > 0


@pytest.mark.parametrize(
    ("read", "reason"), [({}, "the whole run is timed"), ({"seconds": "took (.*)"}, None)]
)
def test_a_run_that_is_timed_as_a_whole_attests_nothing(read, reason):
    barrier = load_case("barrier-smoke", CASES, "test")
    case = replace(barrier, application="command", settings={"read": read})
    assert attesters.cannot_attest(case, interconnect("openmpi")) == reason


def test_it_is_attested_once_a_block_where_runs_cannot(monkeypatch):
    made = []

    def attest(point, joins, nodes, placement):
        made.append(placement)
        where = {"ranks": [0, 1], "hosts": ["a", "a"], "cores": placement}
        return Probe(**where, way="beside", latency_us=9, bandwidth_MBps=5000)

    monkeypatch.setattr(attestation, "attest", attest)
    monkeypatch.setattr(attestation, "_probe_of_block", {})
    case: Case = load_case("barrier-smoke", CASES, "test")
    joins, point = interconnect("openmpi"), Point("none", "tcp_loopback", 2, 1, 1, 2)

    def attest_block(placement, block, link=joins):
        return attest_once(case, point, link, (), placement, block)

    attest_block(["0", "0"], 1)  # says nothing of the interconnect: not kept
    first = attest_block(["0", "1"], 1)
    assert first.way == "beside: none of its programs initialised MPI in sight"
    assert attest_block(["0", "1"], 1) is first
    assert len(made) == 2
    attest_block(["0", "1"], 2)
    assert len(made) == 3
    wrong = replace(joins, name="wrong", attest={"latency_us": [1, 2]})
    assert contradiction(attest_block(["0", "1"], 1, wrong), wrong)
    assert contradiction(attest_block(["0", "1"], 1, wrong), wrong)
    assert len(made) == 5  # a contradiction is not kept either
