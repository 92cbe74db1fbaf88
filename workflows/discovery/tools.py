"""Ask the tools that know the interconnects of a machine, and read what they print.

A tool is one entry of `TOOLS`: a command, its Debian package, and a function that reads what it prints.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass

PATIENCE_SECONDS = 20.0
"""How long a tool may take; a broken driver can hang it."""

SYSTEM_FOLDERS = ("/usr/sbin", "/sbin")
"""Folders of ibstat and ip, which are missing in the PATH of many users."""


@dataclass(frozen=True)
class Resource:
    """A library or a device, as a tool reports it.

    Attributes
    ----------
    name : str
        Component (``pml/ucx``), transport (``rc_mlx5``), provider (``efa``) or link layer (``InfiniBand``).
    device : str
        Device or interface (``mlx5_0:1``, ``eth0``); empty if there is none.
    link_mbps : float or None
        Data rate of one direction of its link, 10^6 bit/s; None if the tool does not report it.
    """

    name: str
    device: str = ""
    link_mbps: float | None = None


def read_ompi_info(printed: str) -> list[Resource]:
    """Read the components of Open MPI from ``ompi_info --parsable``, such as ``btl/tcp``."""
    listed = re.findall(r"^mca:(pml|btl|mtl|osc):(\w+):version:", printed, re.M)
    return [Resource(f"{framework}/{component}") for framework, component in dict.fromkeys(listed)]


def read_mpich_version(printed: str) -> list[Resource]:
    """Read the device of MPICH from ``mpichversion``: ``ch4:ucx``, ``ch4:ofi`` or another."""
    return [Resource(device) for device in re.findall(r"^MPICH Device:\s+(\S+)", printed, re.M)]


def read_ucx_info(printed: str) -> list[Resource]:
    """Read transports with their devices from ``ucx_info -d``. In old versions a transport has several."""
    resources, transport = [], ""
    for key, value in re.findall(r"^#\s+(Transport|Device): (\S+)", printed, re.M):
        if key == "Transport":
            transport = value
        else:
            resources.append(Resource(transport, value))
    return resources


def read_fi_info(printed: str) -> list[Resource]:
    """Read the providers with reliable datagram endpoints, as MPI needs them, from ``fi_info``."""
    resources = []
    for entry in re.split(r"^(?=provider:)", printed, flags=re.M):
        fields = dict(re.findall(r"^\s*(\w+): (\S+)", entry, re.M))
        if fields.get("type") == "FI_EP_RDM":
            resources.append(Resource(fields["provider"], fields.get("domain", "")))
    return list(dict.fromkeys(resources))


def read_ibstat(printed: str) -> list[Resource]:
    """Read the active ports of adapters, with link layer and rate, from ``ibstat``."""
    resources = []
    for adapter in re.split(r"^(?=CA ')", printed, flags=re.M)[1:]:
        name = adapter.split("'")[1]
        for number, port in re.findall(r"^\s*Port (\d+):\n(.*?)(?=^\s*Port \d+:|\Z)", adapter, re.M | re.S):
            fields = dict(re.findall(r"^\s*(State|Rate|Link layer): (.+?)\s*$", port, re.M))
            if fields.get("State") == "Active":
                layer = fields.get("Link layer", "InfiniBand")
                rate = _data_rate_mbps(layer, fields["Rate"]) if "Rate" in fields else None
                resources.append(Resource(layer, f"{name}:{number}", rate))
    return resources


def _data_rate_mbps(layer: str, gigabits: str) -> float:
    """Return the data rate of a port: 8 of 10 bits for SDR, DDR and QDR InfiniBand, else the stated rate."""
    coded = layer == "InfiniBand" and gigabits in ("10", "20", "40")
    return float(gigabits) * (800 if coded else 1000)


def read_opainfo(printed: str) -> list[Resource]:
    """Read the active ports of Omni-Path adapters from ``opainfo``."""
    ports = re.findall(r"^(\S+:\d+)\s+PortG.*\n\s*PortState:\s+(\S+)", printed, re.M)
    return [Resource("Omni-Path", port) for port, state in ports if state == "Active"]


def read_ip_link(printed: str) -> list[Resource]:
    """Read the interfaces that are up from ``ip link``, with their link layers, as ``infiniband``."""
    listed = re.findall(r"^\d+: ([^:@\s]+)\S*: <([^>]*)>[^\n]*\n\s+link/(\S+)", printed, re.M)
    return [
        Resource(layer, name) for name, flags, layer in listed if {"UP", "LOWER_UP"} <= {*flags.split(",")}
    ]


@dataclass(frozen=True)
class Tool:
    """A program that reports interconnects.

    Attributes
    ----------
    command : tuple of str
    package : str
        Debian package.
    read : callable
        From what the command prints to a list of `Resource`.
    """

    command: tuple[str, ...]
    package: str
    read: Callable[[str], list[Resource]]

    @property
    def name(self) -> str:
        """Name of the program."""
        return self.command[0]


TOOLS = (
    Tool(("ompi_info", "--parsable"), "openmpi-bin", read_ompi_info),
    Tool(("mpichversion",), "mpich", read_mpich_version),
    Tool(("ucx_info", "-d"), "ucx-utils", read_ucx_info),
    Tool(("fi_info",), "libfabric-bin", read_fi_info),
    Tool(("ibstat",), "infiniband-diags", read_ibstat),
    Tool(("opainfo",), "opa-basic-tools", read_opainfo),
    Tool(("ip", "link"), "iproute2", read_ip_link),
)
"""Tools in the order in which they are asked."""


@dataclass(frozen=True)
class Report:
    """Resources that a tool reported, or in one line why it reported none (`problem`)."""

    resources: Sequence[Resource] = ()
    problem: str | None = None


def ask(tool: Tool, patience_seconds: float = PATIENCE_SECONDS) -> Report:
    """Run a tool and read what it prints; a tool that takes too long is ended with its children.

    A tool that a driver holds in the kernel cannot be ended; it is left alone.
    """
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), *SYSTEM_FOLDERS])
    program = shutil.which(tool.name, path=path)
    if program is None:
        return Report(problem=f"not installed (Debian: {tool.package})")
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            [program, *tool.command[1:]],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"LC_ALL": "C"},
            start_new_session=True,
        )
        try:
            status = process.wait(patience_seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(1)
            return Report(problem=f"no answer in {patience_seconds:g} s")
        output.seek(0)
        resources = tool.read(output.read().decode(errors="replace"))
    if status and not resources:
        return Report(problem=f"ended with exit status {status}: it found nothing")
    return Report(resources)


def ask_all() -> dict[str, Report]:
    """Ask every tool; reports by the tool's name."""
    return {tool.name: ask(tool) for tool in TOOLS}
