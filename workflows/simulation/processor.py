"""Speed of a simulated core relative to the traced core: stated, or derived from two benchmarks.

``python -m workflows.simulation.processor`` runs the benchmarks on this machine and prints the key
``simulation.processor`` of a study. With ``--cores``, it prints the memory bandwidth of 1, 2, 4, ... cores.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from workflows.domain import InputError, counted
from workflows.errors import one_line_errors
from workflows.launch.emulation import usable_cores
from workflows.launch.programs import run_compiler
from workflows.launch.provenance import machine

SOURCE = Path(__file__).with_suffix(".c")
BENCHMARKS = ("linpack_100_Mflops", "stream_triad_MBps")
BANDWIDTH_ROUNDS = 3
TIME_LIMIT_SECONDS = 120
NUMA_NODES = Path("/sys/devices/system/node")
_BUILD = ("cc", "-O3", "-x", "c", "-", "-o")
"""Compiler command, without options for this processor: Debian builds applications this way."""


@dataclass(frozen=True)
class CoreSpeed:
    """Speed of a simulated core relative to the traced core, and the range of this ratio."""

    speed: float
    slowest: float
    fastest: float

    def at(self, end: str) -> float:
        """Return the speed at an end of the band of times: ``low``, ``high`` or ``corrected``."""
        return {"low": self.fastest, "high": self.slowest}.get(end, self.speed)


def core_speed(simulation: Mapping[str, Any], probed: Path) -> CoreSpeed:
    """Return the speed of the cores that a study simulates.

    If the study names a ``processor``, two benchmarks give two ratios to the traced processor. The ratios are
    the ends of the range, because a trace does not show which share of the computing waits for memory. The
    speed is their geometric mean.

    Parameters
    ----------
    simulation : mapping
        Key ``simulation`` of the study.
    probed : Path
        JSON file with the result of `probe` on the traced machine; read only for a ``processor``.
    """
    if "processor" not in simulation:
        speed = simulation["host_speed"]
        slowest, fastest = simulation.get("host_speed_range", (speed, speed))
        return CoreSpeed(speed, slowest, fastest)
    traced = json.loads(probed.read_text())
    slowest, fastest = sorted(simulation["processor"][name] / traced[name] for name in BENCHMARKS)
    return CoreSpeed(math.sqrt(slowest * fastest), slowest, fastest)


def probe() -> dict[str, Any]:
    """Run both benchmarks of `processor.c` on a core of this machine, which takes two seconds.

    Returns
    -------
    dict
        ``cpu``, the name of the processor; ``linpack_100_Mflops``, 10^6 operations per second in LINPACK of
        order 100; ``stream_triad_MBps``, 10^6 bytes per second in STREAM's triad.

    Raises
    ------
    InputError
        In one line, if the program cannot be built, fails, or exceeds `TIME_LIMIT_SECONDS`.
    """
    with _built() as program:
        results = _run(program, {})
    return {"cpu": machine()["cpu"], **{name: results[name] for name in BENCHMARKS}}


@contextlib.contextmanager
def _built(*options: str) -> Iterator[str]:
    """Compile `SOURCE` with compiler options and yield the path of the program."""
    with tempfile.TemporaryDirectory() as scratch:
        program = f"{scratch}/processor"
        command = [*_BUILD, program, "-lm", *options]
        run_compiler(command, SOURCE.read_text(), "the benchmark of the processor")
        yield program


def _run(program: str, environment: Mapping[str, str]) -> dict[str, float]:
    """Run the benchmarks, and return their results by name."""
    try:
        completed = subprocess.run(
            [program],
            capture_output=True,
            text=True,
            timeout=TIME_LIMIT_SECONDS,
            env=os.environ | environment,
        )
    except subprocess.TimeoutExpired:
        raise InputError(f"benchmark of the processor: not finished after {TIME_LIMIT_SECONDS} s") from None
    if completed.returncode:
        reason = completed.stderr.strip() or f"exit status {completed.returncode}"
        raise InputError(f"benchmark of the processor: {reason}")
    return {name: float(value) for name, value in map(str.split, completed.stdout.splitlines())}


def bandwidth_MBps(cores: Iterable[int], placement: str = "packed") -> dict[int, float]:  # noqa: N802
    """Measure the memory bandwidth of several cores together: STREAM's triad, best of ten passes.

    Parameters
    ----------
    cores : iterable of int
        Numbers of cores.
    placement : {"packed", "spread"}
        Neighbouring cores, or cores spread over sockets and NUMA nodes.

    Returns
    -------
    dict of int to float
        10^6 bytes per second by number of cores.

    Raises
    ------
    InputError
        As `probe`.
    """
    bind = {"packed": "close", "spread": "spread"}[placement]
    pinned = {"OMP_PLACES": "cores", "OMP_PROC_BIND": bind, "OMP_DYNAMIC": "false"}
    with _built("-fopenmp") as program:
        return {
            count: _run(program, pinned | {"OMP_NUM_THREADS": str(count)})["stream_triad_MBps"]
            for count in cores
        }


def probe_bandwidth() -> dict[int, list[float]]:
    """Measure the bandwidth of 1, 2, 4, ... all cores together, `BANDWIDTH_ROUNDS` times in turn.

    Returns
    -------
    dict of int to list of float
        10^6 bytes per second in each round, by number of cores.
    """
    rounds = [bandwidth_MBps(core_counts()) for _ in range(BANDWIDTH_ROUNDS)]
    return {count: [rates[count] for rates in rounds] for count in rounds[0]}


def core_counts() -> list[int]:
    """Return 1, 2, 4, ... and the number of cores of this machine."""
    cores = len(usable_cores())
    return sorted({2**power for power in range(cores.bit_length())} | {cores})


def print_bandwidths(numa_nodes: Path = NUMA_NODES) -> None:
    """Print the bandwidth of 1, 2, 4, ... all cores; with several NUMA nodes, also of spread cores.

    For several cores, also print by how many percent each other core prolongs the work of a core.
    """
    has_several = len(list(numa_nodes.glob("node[0-9]*"))) > 1
    placements = ("packed", "spread") if has_several else ("packed",)
    rates_by_placement = {placement: bandwidth_MBps(core_counts(), placement) for placement in placements}
    single = rates_by_placement["packed"][1]
    for placement, rates in rates_by_placement.items():
        for count, rate in rates.items():
            note = ""
            if count > 1:
                relative_time = count * single / rate  # of a core's work, to its time alone
                slowdown_percent = 100 * (relative_time - 1) / (count - 1)
                note = f", {slowdown_percent:.0f} % longer per other core"
            print(f"{counted(count, 'core')}, {placement}: {rate:.0f} MB/s{note}")
    if not has_several:
        print("spread cores are not measured: this machine has one NUMA node")


def main() -> None:
    """Print the benchmarks of this machine as key ``simulation.processor`` of a study."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument(
        "--cores", action="store_true", help="print the memory bandwidth of 1, 2, 4, ... all cores"
    )
    if parser.parse_args().cores:
        return print_bandwidths()
    results = probe()
    processor = {"name": results.pop("cpu"), **results, "source": f"measured on {machine()['host']}"}
    print(yaml.safe_dump({"simulation": {"processor": processor}}, sort_keys=False), end="")


if __name__ == "__main__":
    with one_line_errors():
        main()
