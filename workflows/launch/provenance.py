"""What machine and what software a record was made with."""

from __future__ import annotations

import functools
import os
import platform
import re
from collections.abc import Mapping
from pathlib import Path

from workflows.launch.emulation import usable_cores
from workflows.launch.mpi.registry import MPI_LIBRARIES
from workflows.launch.programs import output_of

RELEVANT_PREFIXES = (
    *(prefix for library in MPI_LIBRARIES.values() for prefix in library.environment_prefixes),
    *("OMP_", "UCX_", "FI_", "PSM2_", "ARMCI_", "OPENBLAS_", "MKL_"),
    *("LD_", "LOADEDMODULES", "APPTAINER_CONTAINER", "SLURM_JOB"),
)
"""Prefixes of the environment variables that change how any program communicates or computes."""


@functools.cache
def machine() -> dict[str, str | int | float | None]:
    """CPU, memory, kernel and operating system of this machine."""
    return {
        "host": platform.node(),
        "node_type": node_type(),
        "cpu": _field("/proc/cpuinfo", "model name") or platform.processor() or None,
        "cores": len(usable_cores()),
        "memory_GB": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9, 1),
        "kernel": platform.release(),
        "os": _field("/etc/os-release", "PRETTY_NAME", separator="="),
        "tcp_congestion_control": _first_line("/proc/sys/net/ipv4/tcp_congestion_control"),
        "governor": _first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "adapters": ", ".join(adapters()) or None,
        "ucx": ucx_version(),
    }


def node_type(system: Path = Path("/sys/class/dmi/id")) -> str | None:
    """Maker and model of this node as its firmware names them; None where it does not."""
    names = [_first_line(str(system / name)) for name in ("sys_vendor", "product_name")]
    return " ".join(word.strip() for word in names if word and word.strip()) or None


def adapters(system: Path = Path("/sys/class")) -> list[str]:
    """Network adapters and the rates of their links, as the kernel has them: ``mlx5_0: 200 Gb/sec (4X HDR)``.

    An adapter without a rate is left out.
    """
    rates = sorted(system.glob("infiniband/*/ports/*/rate"))
    found = [f"{file.parts[-4]}: {file.read_text().strip()}" for file in rates]
    for file in sorted(system.glob("net/*/speed")):
        try:
            speed = int(file.read_text())
        except OSError:  # what has no link refuses to be read
            continue
        if speed > 0:
            found.append(f"{file.parent.name}: {speed} Mbit/s")
    return found


@functools.cache
def ucx_version() -> str | None:
    """Version of UCX as ``ucx_info -v`` prints it; None where it is not installed."""
    match = re.search(r"version[:=]?\s*v?(\d\S*)", output_of("ucx_info", "-v"), re.I)
    return match[1] if match else None


def relevant_environment(environment: Mapping[str, str], variables: tuple[str, ...]) -> dict[str, str]:
    """Return the variables that change how a run communicates or computes, sorted by name.

    Parameters
    ----------
    variables : tuple of str
        Prefixes of the application's variables, in addition to `RELEVANT_PREFIXES`.
    """
    prefixes = RELEVANT_PREFIXES + variables
    return dict(sorted(item for item in environment.items() if item[0].startswith(prefixes)))


def _field(file: str, name: str, separator: str = ":") -> str | None:
    for line in Path(file).read_text().splitlines():
        key, found, value = line.partition(separator)
        if found and key.strip() == name:
            return value.strip().strip('"')
    return None


def _first_line(file: str) -> str | None:
    path = Path(file)
    return path.read_text().partition("\n")[0] if path.exists() else None
