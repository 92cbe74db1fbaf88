"""How fast a simulated core is beside the core that traced: stated, or derived from two benchmarks.

``python -m workflows.simulation.processor`` prints those of the core that it runs on, as a study takes them.
"""

from __future__ import annotations

import json
import math
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from workflows.domain import InputError
from workflows.errors import one_line_errors
from workflows.launch.compiling import run_compiler
from workflows.launch.provenance import machine

SOURCE = Path(__file__).with_suffix(".c")
BENCHMARKS = ("linpack_100_Mflops", "stream_triad_MBps")
LIMIT_SECONDS = 120
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
    with tempfile.TemporaryDirectory() as scratch:
        program = f"{scratch}/processor"
        run_compiler([*_BUILD, program, "-lm"], SOURCE.read_text(), "the probe of the processor")
        try:
            done = subprocess.run([program], capture_output=True, text=True, timeout=LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            raise InputError(f"the probe of the processor: not finished after {LIMIT_SECONDS} s") from None
    if done.returncode:
        reason = done.stderr.strip() or f"exit status {done.returncode}"
        raise InputError(f"the probe of the processor: {reason}")
    rows = dict(line.split() for line in done.stdout.splitlines())
    return {"cpu": machine()["cpu"], **{name: float(rows[name]) for name in BENCHMARKS}}


def main() -> None:
    """Print the figures of this machine as key ``processor`` of a study elsewhere."""
    found = probe()
    processor = {"name": found.pop("cpu"), **found, "source": f"measured on {machine()['host']}"}
    print(yaml.safe_dump({"simulation": {"processor": processor}}, sort_keys=False), end="")


if __name__ == "__main__":
    with one_line_errors():
        main()
