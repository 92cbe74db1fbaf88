"""Two ranks over an interconnect, limits and a line of result, shared by benchmarks against other programs."""

import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from workflows.applications import application  # noqa: E402
from workflows.applications.mpi4py import RANKS  # noqa: E402
from workflows.domain import Point  # noqa: E402
from workflows.launch.emulation import emulated_nodes  # noqa: E402
from workflows.launch.execution import Execution, execute  # noqa: E402
from workflows.launch.launch import launch_ranks  # noqa: E402
from workflows.study.interconnects import load_interconnect  # noqa: E402

mpi4py = application("mpi4py")

INTERCONNECTS = ("shared_memory", "tcp_loopback", "emulated_gigabit", "emulated_ten_gigabit")
LIMITS_US = {8: 0.30, 1024: 0.40}
LIMIT_PERCENT = 2.0
"""Limits of Python's overhead for these sizes and for larger messages."""

RUN_SECONDS = 120.0


def install() -> None:
    """Install what the tests need beside the applications, as ./run-tests does."""
    script = ". envs/setup.sh; set_up envs/test-programs.txt"
    subprocess.run(["bash", "-c", script], cwd=ROOT, check=True)


@contextmanager
def two_ranks(name: str) -> Iterator[Callable[[Sequence[str], Path], Execution]]:
    """Give what runs a program on two ranks over an interconnect, one a node where it is emulated.

    Takes the command of a rank and the folder to run it in; ends the benchmark where the program fails.
    """
    interconnect = load_interconnect(name, ROOT / "config/interconnects")
    with ExitStack() as stack:
        nodes = stack.enter_context(emulated_nodes(interconnect.emulate)) if interconnect.emulate else ()
        point = Point("pingpong", name, 2, 1, nodes=-(-2 // interconnect.cores_per_node), cores=2)

        def run(command: Sequence[str], folder: Path) -> Execution:
            with tempfile.TemporaryDirectory() as scratch:  # sockets need a short path
                launch = launch_ranks(point, interconnect, nodes, command, RANKS, Path(scratch))
                done = execute(launch.argv, launch.env, folder, RUN_SECONDS)
            if done.exit_status != 0:
                raise SystemExit(f"{name}: {command[0]} failed: {done.errors[-2000:]}")
            return done

        yield run


def compare(name: str, size: int, other: str, rounds: Sequence[tuple[float, float]], more: str = "") -> bool:
    """Print one line; whether what Python adds is within the limits.

    `rounds` are the seconds of a message in another program and in ours, made next to each other.
    """
    others, ours = (statistics.median(times) for times in zip(*rounds, strict=True))
    added_us = 1e6 * statistics.median(python - c for c, python in rounds)
    added_percent = 100 * (statistics.median(python / c for c, python in rounds) - 1)
    good = added_us <= LIMITS_US[size] if size in LIMITS_US else added_percent <= LIMIT_PERCENT
    difference = f"{added_us:+8.3f} µs" if size in LIMITS_US else f"{added_percent:+8.2f} % "
    times = f"{other} {1e6 * others:10.3f} µs, mpi4py {1e6 * ours:10.3f} µs"
    verdict = "" if good else "beyond the limit"
    print(f"{name:22s} {size:9d} B  {times}  {difference} {more} {verdict}".rstrip(), flush=True)
    return good
