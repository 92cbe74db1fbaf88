"""Running ranks over an interconnect of the project, as a study does."""

import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from workflows.domain import Point
from workflows.launch.emulation import emulated_nodes
from workflows.launch.execution import Execution, execute
from workflows.launch.launch import launch_ranks
from workflows.launch.mpi.mpich import LIBRARIES
from workflows.launch.mpi.registry import RANK_VARIABLES
from workflows.launch.placement import check_placement, read_placement
from workflows.plan.here import unavailable
from workflows.study.interconnects import load_interconnect

INTERCONNECTS = Path("config/interconnects")
EXPECTED_NAMES = re.compile(rf"\d+|\d+\.messages|{LIBRARIES}|{RANK_VARIABLES}")
"""Files that a run is to leave in its folder."""


@dataclass(frozen=True)
class Ran:
    """Execution of one run, and the files in its scratch folder."""

    execution: Execution
    placement: list[dict[str, Any]]
    problem: str | None
    left: list[Path]


@pytest.fixture
def scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="test-nodeworth-") as folder:  # sockets need a short path
        yield Path(folder)


@pytest.fixture
def run(scratch: Path) -> Iterator[Callable[..., Ran]]:
    """Run a command on so many ranks over an interconnect (None: serially)."""
    with ExitStack() as stack:
        numbers = iter(range(1000))

        def run(name: str | None, command: list[str], processes: int, level: int = 1, **env: str) -> Ran:
            interconnect = load_interconnect(name, INTERCONNECTS) if name else None
            if interconnect and (reason := unavailable(interconnect)):
                pytest.skip(f"{name}: {reason}")
            cores = processes // level
            nodes = -(-cores // interconnect.cores_per_node) if interconnect else 1
            point = Point("case", name, processes, level, nodes, cores)
            emulate = interconnect.emulate if interconnect else None
            emulated = stack.enter_context(emulated_nodes(emulate)) if emulate else ()
            folder = scratch / str(next(numbers))
            folder.mkdir()
            launch = launch_ranks(point, interconnect, emulated, command, env, folder)
            execution = execute(launch.argv, launch.env, folder, time_limit_seconds=120)
            placement = read_placement(folder)
            left = [path for path in folder.iterdir() if not EXPECTED_NAMES.fullmatch(path.name)]
            return Ran(execution, placement, check_placement(placement, point, emulated), left)

        yield run
