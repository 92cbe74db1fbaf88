"""Tracing real applications: the trace, and unchanged results."""

import errno
from collections import Counter
from dataclasses import replace

import pytest
from disturbed import undisturbed_run
from needs import need

from workflows.applications import application
from workflows.domain import Case, InputError, Option, Point
from workflows.launch import execution
from workflows.launch.emulation import usable_cores
from workflows.launch.ranks import ranks_of_nodes
from workflows.paths import CASES, INTERCONNECTS
from workflows.study.cases import load_case
from workflows.study.interconnects import load_interconnect
from workflows.tracing.build import build, compiler_for
from workflows.tracing.capture import capture, place_ranks
from workflows.tracing.raw import steps_window
from workflows.tracing.recording import preload
from workflows.tracing.request import TraceRequest
from workflows.tracing.trace import read_trace

pytestmark = pytest.mark.slow

TRACED_STEPS = 3
SHARED_MEMORY = load_interconnect("shared_memory", INTERCONNECTS)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A case prepared for a process count."""
    folders = {}

    def make(case: Case, processes: int):
        if (case.name, processes) not in folders:
            base = make(case, 1) if processes > 1 else None
            folders[case.name, processes] = folder = tmp_path_factory.mktemp(f"{case.name}-{processes}")
            application(case.application).prepare(case, processes, folder, base)
        return folders[case.name, processes]

    return make


def traced(case, processes, prepared, folder, serial=None, interleaved=False, **changes):
    case = load_case(case, CASES) if isinstance(case, str) else case
    case_folder, base = prepared(case, processes), prepared(case, 1) if interleaved else None
    request = TraceRequest(case, processes, case_folder, SHARED_MEMORY, 120.0, TRACED_STEPS, base, True, 3)
    return capture(replace(request, **changes), folder, serial)


def test_a_flow_case_is_traced_step_by_step(prepared, tmp_path):
    name = "elbow_segregated-smoke"
    serial = traced(name, 1, prepared, tmp_path / "processes-1")
    folders = [tmp_path / f"{number}" / "processes-4" for number in range(2)]
    again = [traced(name, 4, prepared, folder, serial.folder) for folder in folders]
    assert (serial.steps, serial.timed_steps) == (TRACED_STEPS, 59)
    assert [line.split()[1] for line in serial.lines(0)] == ["init", "compute", "finalize"]
    assert serial.about["serial_cpu_seconds"] == pytest.approx(sum(serial.about["compute_seconds"]))
    trace = again[0]
    ranks = [[line.split() for line in trace.lines(rank)] for rank in range(4)]
    computed = [1e-9 * sum(int(words[2]) for words in rank if words[1] == "compute") for rank in ranks]
    assert trace.about["compute_seconds"] == pytest.approx(computed)
    assert trace.about["serial_cpu_seconds"] == serial.about["serial_cpu_seconds"]
    calls = [[line for line in trace.lines(0) if " compute " not in line] for trace in again]
    assert calls[0] == calls[1], "the calls of a case are the same every time"
    counts = [Counter(words[1] for words in rank) for rank in ranks]
    totals = sum(counts, Counter())
    assert totals["isend"] + totals["send"] == totals["irecv"] + totals["recv"]
    (together,) = {count["allreduce"] for count in counts}
    assert together > TRACED_STEPS
    rows = (trace.folder / "pairs.csv").read_text().splitlines()
    assert rows[0] == "source,target,messages,bytes"
    assert read_trace(trace.folder) == trace
    assert all(
        traced_run.about["timing"] == "alone" and traced_run.about["repeats"] == 3
        for traced_run in (serial, *again)
    )
    assert trace.about["correction"] == "none", "nothing ran beside it"
    assert 0 < trace.about["log_bytes"] < 50e6


@pytest.mark.parametrize("name", ["lj_melt-smoke", "gatherv-smoke"])
def test_each_rank_of_other_programs_is_timed_alone_too(name, prepared, tmp_path):
    """LAMMPS sends at its end how long it took; the mpi4py program ends its loops by the clock."""
    serial = traced(name, 1, prepared, tmp_path / "processes-1")
    trace = traced(name, 3, prepared, tmp_path / "processes-3", serial.folder, interleaved=True)
    for traced_run in (serial, trace):
        assert (traced_run.about["timing"], traced_run.about["timing_reason"]) == ("alone", "")
    assert (trace.about["correction"], len(trace.about["serial_beside_seconds"])) == ("serial_beside", 3)
    assert all(seconds > 0 for seconds in trace.about["compute_seconds"])


@pytest.mark.parametrize(("processes", "cores"), [(1, 2), (3, 2)])
def test_ranks_are_timed_with_their_threads(processes, cores, prepared, tmp_path):
    """Of three ranks of two threads, which share two cores while they are recorded, each has both of them alone."""
    if len(usable_cores()) < cores:
        pytest.skip("needs two cores")
    serial = traced("matrix_product-smoke", 1, prepared, tmp_path / "1")
    trace = traced(
        "matrix_product-smoke", processes, prepared, tmp_path / "of", serial.folder, True, threads=2
    )
    about = trace.about
    assert (trace.threads, about["timing"], about["clock"]) == (2, "alone", "elapsed"), about["timing_reason"]
    assert len(about["compute_seconds"]) == processes and min(about["compute_seconds"]) > 0
    work = 2 * trace.factors("corrected")[0] * sum(about["compute_seconds"])
    assert about["inflation"] == pytest.approx(work / about["serial_cpu_seconds"])


@pytest.mark.parametrize(
    ("cores", "processes", "threads", "level", "used", "each"),
    [(8, 2, 4, 1, 8, 4), (8, 3, 4, 4, 3, 1), (2, 3, 2, 4, 2, 1), (2, 4, 1, 2, 2, 1), (2, 1, 2, 1, 2, 2)],
)
def test_recorded_ranks_have_a_core_a_thread_or_share_cores_whole(
    cores, processes, threads, level, used, each, monkeypatch, tmp_path
):
    monkeypatch.setattr("workflows.tracing.capture.usable_cores", lambda: range(cores))
    carrier = replace(SHARED_MEMORY, cores_per_node=cores)
    case = load_case("matrix_product-smoke", CASES)
    point = place_ranks(TraceRequest(case, processes, tmp_path, carrier, 1.0, 1, threads=threads))
    assert (point.oversubscription, point.cores, point.cores_per_process) == (level, used, each)
    assert sum(ranks_of_nodes(point)) == processes
    with pytest.raises(InputError, match=rf"a core for each thread, {cores + 1}, and there are {cores}"):
        place_ranks(TraceRequest(case, processes, tmp_path, carrier, 1.0, 1, threads=cores + 1))


def test_a_script_is_traced_with_the_library_that_starts_it(prepared, tmp_path):
    need("mpicc.mpich", "mpiexec.mpich")
    mpich = load_interconnect("shared_memory_mpich", INTERCONNECTS)
    serial = traced("gatherv-smoke", 1, prepared, tmp_path / "processes-1")
    options = {"interleaved": True, "interconnect": mpich}
    trace = traced("gatherv-smoke", 2, prepared, tmp_path / "2", serial.folder, **options)
    assert trace.about["mpi_library"].startswith("MPICH") and trace.about["timing"] == "alone"


def test_a_rank_alone_has_the_environment_of_the_option(prepared, tmp_path, monkeypatch):
    seen = []

    def execute(argv, env, *rest):
        seen.append(env.get("OF_THE_OPTION"))
        return execution.execute(argv, env, *rest)

    case = replace(load_case("gatherv-smoke", CASES), option=Option("own", 0, {"OF_THE_OPTION": "1"}))
    serial = traced(case, 1, prepared, tmp_path / "processes-1", alone=False)
    monkeypatch.setattr("workflows.tracing.recording.execute", execute)
    trace = traced(case, 2, prepared, tmp_path / "processes-2", serial.folder, interleaved=True)
    assert trace.about["timing"] == "alone"
    assert set(seen) == {None, "1"}
    assert seen.count(None) == 3, "three serial runs beside, which need no option"


@pytest.mark.parametrize("made", [0, 2])
def test_an_incomplete_serial_run_means_that_ranks_are_timed_together(made, prepared, tmp_path, monkeypatch):
    serial = traced("elbow_segregated-smoke", 1, prepared, tmp_path / "processes-1")

    def steps(raws, skipped):
        if len(raws) > 1:
            return steps_window(raws, skipped)
        if made == 0:
            raise InputError("0 steps are marked")
        return steps_window(raws, skipped)[0], made

    monkeypatch.setattr("workflows.tracing.request.steps_window", steps)
    trace = traced("elbow_segregated-smoke", 2, prepared, tmp_path / "2", serial.folder, interleaved=True)
    reason = {0: "0 steps are marked", 2: "2 steps can be traced, not 3"}[made]
    assert trace.about["timing_reason"] == f"the interleaved serial run: {reason}"


def test_ranks_are_timed_together_where_that_is_asked_for(prepared, tmp_path):
    trace = traced("cavity-4k", 1, prepared, tmp_path / "trace", alone=False)
    assert (trace.about["timing"], trace.about["timing_reason"]) == (
        "together",
        "timing alone was not requested",
    )
    assert trace.about["log_bytes"] == 0


@pytest.mark.parametrize("name", ["elbow_segregated-smoke", "water_scf-smoke"])
def test_tracing_changes_no_result(name, prepared, tmp_path):
    case = load_case(name, CASES)
    app, folder = application(case.application), prepared(case, 2)
    point = Point(case.name, SHARED_MEMORY.name, 2, 1, nodes=1, cores=2)
    tracer = build(compiler_for(app.command(case, 2)[0]))
    steps = application(case.application).steps
    mark = steps.mark if steps else app.timed_part()
    plain = undisturbed_run(case, point, folder, SHARED_MEMORY, (), 120)
    made = undisturbed_run(case, point, folder, SHARED_MEMORY, (), 120, preload(tracer, tmp_path, mark))
    assert (plain.problem, made.problem) == (None, None)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rank-0.txt", "rank-1.txt"]
    if case.application == "openfoam":
        lines = [[line.text for line in done.execution.lines] for done in (plain, made)]
        printed = [[line for line in of_one if "residual" in line] for of_one in lines]
        assert len(printed[0]) > 100
        assert printed[0] == printed[1]
    # NWChem deals its work out as it goes, so that sums are added in another order every time.
    assert made.reading.answer == pytest.approx(plain.reading.answer, rel=1e-12 if steps else 1e-9)


def test_steps_outside_the_timing_are_not_traced(prepared, tmp_path):
    """LAMMPS broadcasts its input, line by line, before its loop."""
    trace = traced("lj_melt-smoke", 2, prepared, tmp_path / "processes-2")
    names = {row["operation"] for row in trace.about["operations"]}
    assert {"send", "allreduce"} <= names and "bcast" not in names
    assert trace.steps == trace.timed_steps == 1
    assert trace.about["step_seconds"] == [] and trace.about["timing"] == "alone"


def test_one_sided_communication_is_recorded(prepared, tmp_path):
    serial = traced("water_scf-smoke", 1, prepared, tmp_path / "processes-1")
    trace = traced("water_scf-smoke", 2, prepared, tmp_path / "processes-2", serial.folder)
    names = {row["operation"] for row in trace.about["operations"]}
    assert {"accumulate", "fetch", "barrier", "allreduce"} <= names
    assert trace.steps == trace.timed_steps == 1
    assert (trace.about["timing"], trace.about["timing_reason"]) == ("alone", "")
    assert trace.about["differing_sends"] > 0, "NWChem sends memory that it has not written to"


def test_a_run_that_does_not_end_leaves_nothing(prepared, tmp_path):
    message = "elbow_segregated-smoke, 1 processes: cannot be traced: stopped at its"
    with pytest.raises(InputError, match=message):
        traced("elbow_segregated-smoke", 1, prepared, tmp_path / "trace", time_limit_seconds=0.05)
    assert not list(tmp_path.iterdir())


def test_a_trace_that_cannot_be_written_leaves_the_one_before(prepared, tmp_path, monkeypatch):
    folder = tmp_path / "trace"
    before = traced("elbow_segregated-smoke", 1, prepared, folder)

    def write_rank(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("workflows.tracing.capture.write_rank", write_rank)
    with pytest.raises(OSError, match="No space left"):
        traced("elbow_segregated-smoke", 1, prepared, folder)
    assert list(tmp_path.iterdir()) == [folder]
    assert read_trace(folder) == before


def test_a_serial_trace_of_something_else_is_refused(prepared, tmp_path):
    serial = traced("cavity-4k", 1, prepared, tmp_path / "processes-1")
    message = f"is of cavity-4k, 1 processes, {TRACED_STEPS} steps; the serial trace must be of"
    with pytest.raises(InputError, match=message):
        traced("elbow_segregated-smoke", 2, prepared, tmp_path / "trace", serial.folder)
