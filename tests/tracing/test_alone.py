"""Ranks that run by themselves from what was recorded: they do the same, or say in one line why they do not."""

import subprocess
from pathlib import Path

import numpy as np
import pytest
from mpi_programs import BOTH, PROCESSES, builder, start

from workflows.launch.launchers import one_process
from workflows.tracing.alone import UnrepeatableError, cannot_repeat, run_alone
from workflows.tracing.lines import COMPUTING
from workflows.tracing.raw import read_raw, whole


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Program and tracer of an MPI library."""
    return builder("alone.c", tmp_path_factory.mktemp)


def recorded(built, library: str, group: str, folder: Path, **more: object) -> list[str]:
    """Run all ranks and record what comes into them; give what they printed."""
    (folder / "trace").mkdir()
    (folder / "logs").mkdir()
    setting = {"NODEWORTH_TRACE": folder / "trace", "NODEWORTH_TRACE_LOG": folder / "logs"}
    done = start(built, library, group, **(setting | more))
    assert done.returncode == 0, done.stderr
    return sorted(line for line in done.stdout.splitlines() if line.startswith("digest"))


def rerun(built, library: str, group: str, folder: Path):
    """Run each rank by itself; give what came of it, and what each printed."""
    program, tracer = built(library)
    printed = []

    def begin(placed, written):
        for rank, _ in placed:
            setting = {
                "LD_PRELOAD": str(tracer),
                "NODEWORTH_TRACE": str(written),
                "NODEWORTH_TRACE_LOG": str(folder / "logs"),
                "NODEWORTH_TRACE_ALONE": str(rank),
            }
            done = subprocess.run(
                [program, group],
                env=one_process(library, setting, folder),
                capture_output=True,
                text=True,
                timeout=60,
            )
            printed.append(done.stdout.strip())

    raws = read_raw(folder / "trace", PROCESSES)
    return run_alone(raws, whole(raws), folder / "trace", begin, None), printed


@pytest.mark.parametrize("library", BOTH)
@pytest.mark.parametrize(
    "group", ["messages", "requests", "collectives", "later", "communicators", "fortran", "clock_branch"]
)
def test_a_rank_alone_does_the_same(built, library, group, tmp_path):
    together = recorded(built, library, group, tmp_path)
    alone, printed = rerun(built, library, group, tmp_path)
    assert len(set(together)) == PROCESSES
    assert set(printed) == set(together)
    assert alone.differing_sends == 0
    raws = read_raw(tmp_path / "trace", PROCESSES)
    for raw, timed in zip(raws, alone.raws, strict=True):
        assert [line for line in raw.lines if " compute " not in line] == [
            line for line in timed.lines if " compute " not in line
        ]
        assert len(timed.lines.amounts) == np.count_nonzero(timed.lines.which == COMPUTING)


@pytest.mark.parametrize(
    ("group", "told"),
    [
        ("other_call", "rank 2, call 4: MPI_Barrier where MPI_Allreduce was recorded"),
        ("other_value", "rank 0, call 4: MPI_Allreduce sends something else than was recorded"),
    ],
)
@pytest.mark.parametrize("library", BOTH)
def test_a_rank_that_diverges_is_told_by_its_call(built, library, group, told, tmp_path):
    recorded(built, library, group, tmp_path)
    with pytest.raises(UnrepeatableError, match=f"^{told}$"):
        rerun(built, library, group, tmp_path)


@pytest.mark.parametrize("library", BOTH)
def test_a_window_of_one_sided_communication_cannot_be_repeated(built, library, tmp_path):
    recorded(built, library, "window", tmp_path)
    assert cannot_repeat(tmp_path / "trace").startswith("MPI_Win_create: a window of one-sided communication")
    assert read_raw(tmp_path / "trace", PROCESSES), "the trace itself is whole"
    assert sum(path.stat().st_size for path in (tmp_path / "logs").iterdir()) == 0


def test_a_log_that_would_be_too_long_is_given_up_and_the_trace_is_not(built, tmp_path):
    recorded(built, "openmpi", "collectives", tmp_path, NODEWORTH_TRACE_LOG_BYTES=200)
    assert cannot_repeat(tmp_path / "trace") == (
        "what MPI brings into a rank takes more than the 200 bytes that there is room for"
    )
    assert read_raw(tmp_path / "trace", PROCESSES)


def test_a_rank_that_ends_early_is_told(built, tmp_path):
    recorded(built, "openmpi", "messages", tmp_path)
    with pytest.raises(UnrepeatableError, match="rank 0, call 4: MPI_Finalize where MPI_Probe was recorded"):
        rerun(built, "openmpi", "nothing", tmp_path)
