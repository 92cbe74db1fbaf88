"""How fast a simulated core is beside the core that traced: stated, or derived from two benchmarks.

``python -m workflows.simulation.processor`` prints those of the core that it runs on, as a study takes them;
with ``--cores`` the bandwidth of memory that 1, 2, 4, ... all cores have together.
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
LIMIT_SECONDS = 120
MEMORIES = Path("/sys/devices/system/node")
_BUILD = ("cc", "-O3", "-x", "c", "-", "-o")
"""For any processor of its kind, as Debian builds applications."""


@dataclass(frozen=True)
class CoreSpeed:
    """Speed of a simulated core over that of the core that traced, the least and the most of it."""

    speed: float
    slowest: float
    fastest: float

    def at(self, end: str) -> float:
        """Speed at an end of a band of times: ``low``, ``high`` or ``corrected``."""
        return {"low": self.fastest, "high": self.slowest}.get(end, self.speed)


def core_speed(simulation: Mapping[str, Any], probed: Path) -> CoreSpeed:
    """Speed of the cores that a study simulates.

    Parameters
    ----------
    simulation : mapping
        Key ``simulation`` of the study. With a ``processor``, its figures over those in `probed` are the
        ends, since a trace does not say which computing waits for memory; their geometric mean is the speed.
    probed : Path
        What `probe` gave where the traces are made, as JSON; read only for a ``processor``.
    """
    if "processor" not in simulation:
        stated = simulation["host_speed"]
        slowest, fastest = simulation.get("host_speed_range", (stated, stated))
        return CoreSpeed(stated, slowest, fastest)
    here = json.loads(probed.read_text())
    slowest, fastest = sorted(simulation["processor"][name] / here[name] for name in BENCHMARKS)
    return CoreSpeed(math.sqrt(slowest * fastest), slowest, fastest)


def probe() -> dict[str, Any]:
    """Run both benchmarks on a core of this machine, in two seconds.

    Returns
    -------
    dict
        ``cpu``, the name of the processor; ``linpack_100_Mflops``, million operations a second in LINPACK of
        order 100; ``stream_triad_MBps``, million bytes a second in STREAM's triad. See processor.c.

    Raises
    ------
    InputError
        They cannot be built, fail, or do not end: one line.
    """
    with _built() as program:
        rows = _printed(program, {})
    return {"cpu": machine()["cpu"], **{name: rows[name] for name in BENCHMARKS}}


@contextlib.contextmanager
def _built(*options: str) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as scratch:
        program = f"{scratch}/processor"
        command = [*_BUILD, program, "-lm", *options]
        run_compiler(command, SOURCE.read_text(), "the probe of the processor")
        yield program


def _printed(program: str, environment: Mapping[str, str]) -> dict[str, float]:
    """Run the probe, and give its figures by name."""
    try:
        done = subprocess.run(
            [program], capture_output=True, text=True, timeout=LIMIT_SECONDS, env=os.environ | environment
        )
    except subprocess.TimeoutExpired:
        raise InputError(f"the probe of the processor: not finished after {LIMIT_SECONDS} s") from None
    if done.returncode:
        reason = done.stderr.strip() or f"exit status {done.returncode}"
        raise InputError(f"the probe of the processor: {reason}")
    return {name: float(value) for name, value in map(str.split, done.stdout.splitlines())}


def bandwidth_MBps(cores: Iterable[int], placement: str = "packed") -> dict[int, float]:  # noqa: N802
    """Bandwidth of memory that so many cores have together, STREAM's triad, best of ten passes.

    Of cores that are ``packed``, neighbours, or ``spread`` over sockets and NUMA nodes.

    Raises
    ------
    InputError
        As `probe` does.
    """
    bind = {"packed": "close", "spread": "spread"}[placement]
    pinned = {"OMP_PLACES": "cores", "OMP_PROC_BIND": bind, "OMP_DYNAMIC": "false"}
    with _built("-fopenmp") as program:
        return {
            number: _printed(program, pinned | {"OMP_NUM_THREADS": str(number)})["stream_triad_MBps"]
            for number in cores
        }


def probe_bandwidth() -> dict[int, list[float]]:
    """Measure the bandwidth of 1, 2, 4, ... all cores together, `BANDWIDTH_ROUNDS` times in turn.

    Returns
    -------
    dict of int to list of float
        Million bytes a second of each round.
    """
    rounds = [bandwidth_MBps(core_counts()) for _ in range(BANDWIDTH_ROUNDS)]
    return {number: [one[number] for one in rounds] for number in rounds[0]}


def core_counts() -> list[int]:
    """1, 2, 4, ... and all cores of this machine."""
    most = len(usable_cores())
    return sorted({2**power for power in range(most.bit_length())} | {most})


def print_bandwidths(memories: Path = MEMORIES) -> None:
    """Print the bandwidth of 1, 2, 4, ... all cores, and spread where there are more memories."""
    cores = core_counts()
    several = len(list(memories.glob("node[0-9]*"))) > 1
    found = {way: bandwidth_MBps(cores, way) for way in ("packed", "spread")[: 1 + several]}
    alone = found["packed"][1]
    for way, of_cores in found.items():
        for number, rate in of_cores.items():
            slower = 100 * (number * alone / rate - 1) / (number - 1) if number > 1 else 0
            beside = f", {slower:.0f} % longer for each other core" if number > 1 else ""
            print(f"{counted(number, 'core')}, {way}: {rate:.0f} MB/s{beside}")
    if not several:
        print("packed and spread cannot be told apart: this machine has one memory (NUMA node)")


def main() -> None:
    """Print the figures of this machine as key ``processor`` of a study elsewhere."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--cores", action="store_true", help="print the bandwidth of 1, 2, 4, ... all cores")
    if parser.parse_args().cores:
        return print_bandwidths()
    found = probe()
    processor = {"name": found.pop("cpu"), **found, "source": f"measured on {machine()['host']}"}
    print(yaml.safe_dump({"simulation": {"processor": processor}}, sort_keys=False), end="")


if __name__ == "__main__":
    with one_line_errors():
        main()
