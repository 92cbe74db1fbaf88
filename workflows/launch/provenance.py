"""The machine and the software with which a record was made."""

from __future__ import annotations

import functools
import os
import platform
import re
from collections.abc import Mapping
from pathlib import Path

from workflows.launch.cpu_quota import cpu_quota
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
    """Return CPU, memory, kernel and operating system of this machine."""
    return {
        "host": platform.node(),
        "node_type": node_type(),
        "cpu": _field("/proc/cpuinfo", "model name") or platform.processor() or None,
        "cores": len(usable_cores()),
        "cpu_quota_cores": cpu_quota(),
        "memory_GB": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9, 1),
        "kernel": platform.release(),
        "os": _field("/etc/os-release", "PRETTY_NAME", separator="="),
        "tcp_congestion_control": _first_line("/proc/sys/net/ipv4/tcp_congestion_control"),
        "governor": _first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "adapters": ", ".join(adapters()) or None,
        "ucx": ucx_version(),
    }


def node_type(system: Path = Path("/sys/class/dmi/id")) -> str | None:
    """Return manufacturer and model of this node from its firmware; None if unknown."""
    names = [_first_line(str(system / name)) for name in ("sys_vendor", "product_name")]
    return " ".join(word.strip() for word in names if word and word.strip()) or None


def adapters(system: Path = Path("/sys/class")) -> list[str]:
    """Return the network adapters with the rates of their links: ``mlx5_0: 200 Gb/sec (4X HDR)``.

    Adapters without a rate are left out.
    """
    rates = sorted(system.glob("infiniband/*/ports/*/rate"))
    adapters_with_rates = [f"{file.parts[-4]}: {file.read_text().strip()}" for file in rates]
    for file in sorted(system.glob("net/*/speed")):
        try:
            speed = int(file.read_text())
        except OSError:  # an adapter without a link cannot be read
            continue
        if speed > 0:
            adapters_with_rates.append(f"{file.parent.name}: {speed} Mbit/s")
    return adapters_with_rates


@functools.cache
def ucx_version() -> str | None:
    """Return the version of UCX that ``ucx_info -v`` prints; None if it is not installed."""
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
        key, _, value = line.partition(separator)
        if value and key.strip() == name:
            return value.strip().strip('"')
    return None


def _first_line(file: str) -> str | None:
    path = Path(file)
    return path.read_text().partition("\n")[0] if path.exists() else None
