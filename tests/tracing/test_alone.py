"""Ranks that run alone from a record: they do the same, or report the difference in one line."""

import subprocess
from pathlib import Path

import numpy as np
import pytest
from mpi_programs import BOTH, PROCESSES, builder, start

from workflows.launch.launch import environment_alone
from workflows.tracing.alone import UnrepeatableError, cannot_repeat, middle_run, run_alone
from workflows.tracing.lines import COMPUTING, pack
from workflows.tracing.raw import Raw, read_raw, whole


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Program and tracer of an MPI library."""
    return builder("alone.c", tmp_path_factory.mktemp)


MARK = {"NODEWORTH_TRACE_MARKS": "nothing of a child is a rank's"}


def recorded(built, library: str, group: str, folder: Path, **more: object) -> list[str]:
    """Run all ranks and record what comes into them; give what they printed."""
    (folder / "trace").mkdir()
    (folder / "logs").mkdir()
    setting = {"NODEWORTH_TRACE": folder / "trace", "NODEWORTH_TRACE_LOG": folder / "logs"}
    done = start(built, library, group, **(MARK | setting | more))
    assert done.returncode == 0, done.stderr
    return sorted(line for line in done.stdout.splitlines() if line.startswith("digest"))


def rerun(built, library: str, group: str, folder: Path, window=whole):
    """Run each rank by itself; give what came of it, and what each printed."""
    program, tracer = built(library)
    printed = []

    def begin(placed, written):
        files = {"LD_PRELOAD": tracer, "NODEWORTH_TRACE": written, "NODEWORTH_TRACE_LOG": folder / "logs"}
        in_turn = {"NODEWORTH_TRACE_ALONE": ",".join(str(rank) for rank, _ in placed)}
        done = subprocess.run(
            [program, group],
            env=environment_alone(
                library, MARK | {name: str(path) for name, path in files.items()} | in_turn, folder
            ),
            capture_output=True,
            text=True,
            timeout=60,
        )
        printed.extend(line for line in done.stdout.splitlines() if line.startswith("digest"))

    raws = read_raw(folder / "trace", PROCESSES)
    return run_alone(raws, window(raws), folder / "trace", begin, None, 3), printed


@pytest.mark.parametrize("library", BOTH)
@pytest.mark.parametrize(
    "group",
    ["messages", "windows", "clock_branch", "reads_on"]
    + [
        pytest.param(group, marks=pytest.mark.slow)
        for group in ("collectives", "forked", "requests", "later", "communicators", "files", "fortran")
    ],
)
def test_a_rank_alone_does_the_same(built, library, group, tmp_path):
    together = recorded(built, library, group, tmp_path)
    alone, printed = rerun(built, library, group, tmp_path)
    assert len(set(together)) == PROCESSES
    assert set(printed) == set(together)
    assert alone.differing_sends == 0
    assert not list(tmp_path.rglob("alone-*")), "what has been read takes no room"
    assert not list(tmp_path.rglob("shared")), "a rank by itself writes no file"
    for timed in alone.raws:
        assert len(timed.lines.amounts) == np.count_nonzero(timed.lines.which == COMPUTING)


def test_an_address_that_a_rank_sends_is_counted_and_not_judged(built, tmp_path):
    together = recorded(built, "openmpi", "address", tmp_path)
    alone, printed = rerun(built, "openmpi", "address", tmp_path)
    assert set(printed) == set(together)
    assert alone.differing_sends == PROCESSES


class MadeRepeats:
    """Stands for runs of ranks alone: computing of 1 ms, or of 9 ms in one that waited for its core.

    Parameters
    ----------
    folder : Path
        Gets what would have been recorded.
    disturbed : set of (int, int)
        Rank and number of its runs that wait.
    """

    def __init__(self, folder, disturbed=()):
        self.folder, self.disturbed, self.begun, self.cores = folder, disturbed, [], []
        self.raws = [
            Raw(rank, 3, "thread_cpu", 5, "", 1, 1, pack(rank, [f"{rank} compute 5000000"]))
            for rank in range(3)
        ]
        for rank in range(3):
            np.array([0, 1], np.uint32).tofile(folder / f"points-{rank}")

    def __call__(self, placed, written):
        ranks = [rank for rank, _ in placed]
        self.cores.append([cores for _, cores in placed])
        for rank in ranks:
            waited = (rank, sum(rank in ranks for ranks in self.begun)) in self.disturbed
            about = [rank, 3, 1, 8, 10 if waited else 0, 100]
            np.array([*about, 9_000_000 if waited else 1_000_000], np.int64).tofile(written / f"alone-{rank}")
        self.begun.append(ranks)

    def run(self, threads=1):
        return run_alone(self.raws, whole(self.raws), self.folder, self, None, 3, threads)


@pytest.fixture
def four_cores(monkeypatch):
    monkeypatch.setattr("workflows.tracing.alone.usable_cores", lambda: range(4))


def test_only_the_rank_that_was_disturbed_runs_again(tmp_path, four_cores):
    made = MadeRepeats(tmp_path, {(1, 0)})
    alone = made.run()
    timed = at_once = [[0, 1, 2]]
    assert made.begun == timed + [[1]] + 2 * at_once + 2 * (timed + 2 * at_once)
    assert {number: taken.shape for number, taken in alone.corun_seconds.items()} == dict.fromkeys(
        (1, 5 / 3, 3), (3, 3)
    )
    assert alone.disturbed == 0 and alone.seconds == pytest.approx(np.full((3, 3), 1e-3))


def test_times_of_a_rank_come_from_one_of_its_runs(tmp_path, four_cores):
    """Two bursts, one of which was disturbed in each run: 1 + 9 ms, 7 + 1 and 4 + 5. The third was the middle one."""
    bursts = iter([(1, 9), (7, 1), (4, 5)])
    raw = Raw(
        0, 1, "thread_cpu", 5, "", 1, 1, pack(0, ["0 compute 5000000", "0 barrier", "0 compute 1000000"])
    )
    np.array([0, 1, 2], np.uint32).tofile(tmp_path / "points-0")

    def start(placed, written):
        times = [1_000_000 * burst for burst in next(bursts)]
        np.array([0, 1, 2, 8, 0, 100, *times], np.int64).tofile(written / "alone-0")

    alone = run_alone([raw], whole([raw]), tmp_path, start, None, 3)
    assert alone.raws[0].lines.amounts.tolist() == [4_000_000, 5_000_000]
    assert alone.seconds[:, 0] == pytest.approx([10e-3, 8e-3, 9e-3])
    four = np.array([5, 1, 9, 2])
    assert four[middle_run(four)] == 2


def test_on_a_busy_machine_few_runs_are_made_again_and_the_rest_is_counted(tmp_path, four_cores):
    made = MadeRepeats(tmp_path, {(1, number) for number in range(99)})
    alone = made.run()
    alone_again = [ranks for ranks in made.begun if ranks == [1]]
    assert len(alone_again) == 2, "a quarter of nine runs"
    assert alone.disturbed == 3 and alone.seconds[:, 1] == pytest.approx([9e-3] * 3)


def test_ranks_of_two_threads_have_two_cores_each(tmp_path, four_cores):
    """One rank at a time, on half of the cores; then two at once."""
    made = MadeRepeats(tmp_path)
    alone = made.run(threads=2)
    assert made.cores[:2] == [[(2, 3)] * 3, [(2, 3), (0, 1), (2, 3)]]
    assert alone.width == 1 and set(alone.corun_seconds) == {1, 5 / 3}


@pytest.mark.parametrize("taken", [1, 3, 4])
def test_a_rank_whose_windows_address_is_taken_is_started_again(tmp_path, four_cores, taken):
    made, message = (
        MadeRepeats(tmp_path),
        "rank 0, call 66: MPI_Win_allocate: its memory cannot be where it was",
    )
    failures = iter([message] * taken)

    def start(placed, written):
        for why in failures:
            (written / "failed.txt").write_text(f"{why}\n")
            return "ended with status 1"
        return made(placed, written)

    if taken == 4:
        with pytest.raises(UnrepeatableError, match=f"^{message}$"):
            run_alone(made.raws, whole(made.raws), tmp_path, start, None, 3)
    else:
        assert run_alone(made.raws, whole(made.raws), tmp_path, start, None, 3).disturbed == 0


def test_the_end_of_a_rank_is_reported_once(tmp_path, four_cores):
    def start(_, written):
        (written / "failed.txt").write_text("there is no memory for its calls\n")
        return "nodeworth tracer: there is no memory for its calls"

    raws = MadeRepeats(tmp_path).raws
    with pytest.raises(UnrepeatableError, match=r"^there is no memory for its calls$"):
        run_alone(raws, whole(raws), tmp_path, start, None, 3)


@pytest.mark.parametrize(
    ("group", "message"),
    [
        ("other_call", "rank 2, call 4: MPI_Barrier where MPI_Allreduce was recorded"),
        ("other_value", "rank 0, call 4: MPI_Allreduce sends something else than was recorded"),
        ("other_part", "rank 0, call 4: MPI_Allgather sends something else than was recorded"),
        ("other_part_of_root", "rank 1, call 4: MPI_Gather sends something else than was recorded"),
        ("other_value_then_call", "rank 0, call 4: MPI_Allreduce sends something else than was recorded"),
        ("other_thread", "rank 0, call 3: MPI_Comm_rank is called from a second thread"),
        ("other_target", "rank 0, call 5: MPI_Send sends something else than was recorded"),
        ("other_tag", "rank 0, call 5: MPI_Send sends something else than was recorded"),
        ("other_root", "rank 0, call 4: MPI_Bcast sends something else than was recorded"),
    ],
)
@pytest.mark.parametrize("library", BOTH)
def test_a_diverging_rank_is_reported_with_its_call(built, library, group, message, tmp_path):
    recorded(built, library, group, tmp_path)
    with pytest.raises(UnrepeatableError, match=f"^{message}$"):
        rerun(built, library, group, tmp_path)


def test_a_rank_that_is_killed_is_reported(built, tmp_path):
    recorded(built, "openmpi", "killed", tmp_path)
    with pytest.raises(UnrepeatableError, match=r"^rank 1 by itself: ended by signal 9$"):
        rerun(built, "openmpi", "killed", tmp_path)


def test_unsynchronised_reads_of_a_window_are_reported(built, tmp_path):
    recorded(built, "openmpi", "window_race", tmp_path)
    message = "rank 1, call 6: MPI_Allreduce sends something else than was recorded"
    with pytest.raises(UnrepeatableError, match=f"^{message}$"):
        rerun(built, "openmpi", "window_race", tmp_path)


def test_many_sends_that_differ_before_the_steps_end_it(built, tmp_path):
    recorded(built, "openmpi", "other_values", tmp_path)
    message = "rank 0, call 1004: MPI_Allreduce sends something else than was recorded, as 1000 did before"
    with pytest.raises(UnrepeatableError, match=f"^{message}$"):
        rerun(
            built, "openmpi", "other_values", tmp_path, lambda raws: [(len(raw.lines),) * 2 for raw in raws]
        )


@pytest.mark.parametrize(
    ("group", "message"),
    [
        ("part_of_an_element", "MPI_Sendrecv: a message of above 2 GB, or with a part of an element"),
        ("thread", "MPI_Comm_rank is called from a second thread"),
        ("large", "MPI_Bcast: more than 2 GB of a derived type"),
        ("full", "what MPI brings into a rank cannot be written: File too large"),
    ],
)
@pytest.mark.parametrize("library", BOTH)
def test_unrecordable_ranks_leave_the_trace_complete(built, library, group, message, tmp_path):
    recorded(built, library, group, tmp_path)
    assert cannot_repeat(tmp_path / "trace") == message
    assert read_raw(tmp_path / "trace", PROCESSES)
    kept = {path.name for path in (tmp_path / "logs").iterdir() if path.stat().st_size}
    assert kept == ({"log-1"} if group == "full" else set()), "rank 1 got nothing that was too much"


def test_a_log_that_would_be_too_long_is_given_up_and_the_trace_is_not(built, tmp_path):
    recorded(built, "openmpi", "collectives", tmp_path, NODEWORTH_TRACE_LOG_BYTES=200)
    assert cannot_repeat(tmp_path / "trace") == (
        "what MPI brings into a rank takes more than the 200 bytes that there is room for"
    )
    assert read_raw(tmp_path / "trace", PROCESSES)


def test_a_rank_that_ends_early_is_reported(built, tmp_path):
    recorded(built, "openmpi", "messages", tmp_path)
    with pytest.raises(UnrepeatableError, match="rank 0, call 4: MPI_Finalize where MPI_Probe was recorded"):
        rerun(built, "openmpi", "nothing", tmp_path)
