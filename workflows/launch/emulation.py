"""Emulated nodes: network namespaces on this machine, joined by shaped links.

The namespaces have no names on the machine. A namespace lasts as long as this process holds it open or a
process runs in it. When this process ends, the kernel removes the namespaces and everything in them.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workflows.errors import EmulationError
from workflows.launch.cpu_quota import cpu_quota
from workflows.launch.leftovers import end_all, process_ids

PROGRAMS = ("ip", "tc", "nsenter", "unshare", "taskset", "setpriv")
INTERFACE = "eth0"
"""Network interface of every emulated node, besides the loopback."""
ETHERNET_HEADER_BYTES = 14
_UNKNOWN_QUEUE = "qdisc kind is unknown"

_MAKE_NAMESPACES = """
set -e
echo "$1" >/proc/sys/kernel/hostname
echo reno >/proc/sys/net/ipv4/tcp_congestion_control
for file in /proc/sys/net/ipv6/conf/*/disable_ipv6; do
    if [ -e "$file" ]; then echo 1 >"$file"; fi
done
echo made
read -r _ || :
"""


@dataclass(frozen=True)
class EmulatedNode:
    """An emulated node.

    Attributes
    ----------
    name : str
        Host name.
    address : str
        IPv4 address, which only the emulated nodes can reach.
    cores : tuple of int
        Cores of this machine that belong to the node.
    net, uts : str
        Paths of the network and UTS (host name) namespaces, valid as long as the process that made them
        lives.
    """

    name: str
    address: str
    cores: tuple[int, ...]
    net: str
    uts: str

    def enter(self, command: Sequence[str]) -> list[str]:
        """Return the command line that runs a command on this node, on its cores."""
        return [
            *("nsenter", f"--net={self.net}", f"--uts={self.uts}", "--"),
            *("taskset", "-c", self._core_list, *command),
        ]

    def entry(self) -> str:
        """Return the description of the node for the script ``enter-node``."""
        return f"{self.name}:{self.net}:{self.uts}:{self._core_list}"

    @property
    def _core_list(self) -> str:
        return ",".join(map(str, self.cores))


@contextlib.contextmanager
def emulated_nodes(
    emulate: dict[str, Any], cores: Sequence[int] | None = None
) -> Iterator[tuple[EmulatedNode, ...]]:
    """Build the nodes of an emulated interconnect; remove them with all their processes at the end.

    Parameters
    ----------
    emulate : dict
        Section ``emulate`` of an interconnect's file.
    cores : sequence of int, optional
        Cores of this machine: the first ``cores_per_node`` are for the first node, and so on. A core may
        occur for several nodes. By default, all cores that this process may use.

    Yields
    ------
    tuple of EmulatedNode
        Nodes with their own cores, host names and networks, joined by a switch that nothing else reaches.

    Raises
    ------
    EmulationError
        Programs, cores, rights or features of the kernel are missing.
    """
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    if missing:
        raise EmulationError(f"{', '.join(missing)} not installed (Debian: iproute2, util-linux)")
    size = emulate["cores_per_node"]
    usable = usable_cores() if cores is None else cores
    needed = emulate["nodes"] * size
    if needed > len(usable):
        raise EmulationError(
            f"{emulate['nodes']} nodes of {size} cores need {needed} cores, {len(usable)} are usable here"
        )
    with contextlib.ExitStack() as stack:
        switch, _ = _hold_namespaces("emulated-switch", stack)
        nodes = tuple(
            EmulatedNode(
                f"emulated-node{number + 1}",
                f"10.0.0.{number + 1}",
                tuple(usable[number * size : (number + 1) * size]),
                *_hold_namespaces(f"emulated-node{number + 1}", stack),
            )
            for number in range(emulate["nodes"])
        )
        stack.callback(end_all, lambda: occupants([node.net for node in nodes]))
        _join(switch, nodes, emulate)
        yield nodes


def usable_cores() -> list[int]:
    """Return the cores that this process may use: for each core, the number of its first hardware thread.

    A quota of CPU time counts as so many whole cores, at least one: more processes would share them.
    """
    quota = cpu_quota()
    cores: dict[tuple[str, ...], int] = {}
    for thread in sorted(os.sched_getaffinity(0)):
        topology = Path(f"/sys/devices/system/cpu/cpu{thread}/topology")
        core = [topology / "physical_package_id", topology / "core_id"]
        has_topology = all(file.exists() for file in core)
        key = tuple(file.read_text() for file in core) if has_topology else (str(thread),)
        cores.setdefault(key, thread)
    return list(cores.values())[: None if quota is None else max(1, math.floor(quota))]


def _hold_namespaces(host_name: str, stack: contextlib.ExitStack) -> tuple[str, str]:
    """Make a network and a UTS namespace, held open until `stack` closes; return their paths."""
    command = ["unshare", "--net", "--uts", "--", "sh", "-c", _MAKE_NAMESPACES, "sh", host_name]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as maker:
        paths = []
        if maker.stdout and maker.stdout.readline():
            for kind in ("net", "uts"):
                descriptor = os.open(f"/proc/{maker.pid}/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC)
                stack.callback(os.close, descriptor)
                paths.append(f"/proc/{os.getpid()}/fd/{descriptor}")
        _, errors = maker.communicate()
    if not paths:
        reason = " ".join(errors.split())
        raise EmulationError(f"cannot make a network namespace (as root?): {reason}")
    return paths[0], paths[1]


def _join(switch: str, nodes: Sequence[EmulatedNode], emulate: dict[str, Any]) -> None:
    """Join the nodes by links to a bridge in a separate namespace."""
    link = f"mtu {emulate['mtu']} gso_max_size {emulate['gso_max_bytes']}"
    wires = ["link add bridge type bridge forward_delay 0 mcast_snooping 0"]
    for number, node in enumerate(nodes):
        wires += [
            f"link add port{number} {link} type veth peer name {INTERFACE} {link} netns {node.net}",
            f"link set port{number} master bridge up",
        ]
    _batch("ip", [*wires, "link set bridge up"], switch)
    if len(nodes) > 2:  # with two nodes, the sender's limit is enough
        without_delay = {**emulate, "delay_us": 0}
        limits = [line for number in range(len(nodes)) for line in _limit(f"port{number}", without_delay)]
        _batch("tc", limits, switch)
    for node in nodes:
        interface = [f"addr add {node.address}/24 dev {INTERFACE}", f"link set {INTERFACE} up"]
        _batch("ip", ["link set lo up", *interface], node.net)
        _batch("tc", _limit(INTERFACE, emulate), node.net)


def _limit(interface: str, emulate: dict[str, Any]) -> list[str]:
    """Return commands that limit the traffic leaving an interface to the link's rate, and delay it."""
    burst = f"burst {emulate['burst_bytes']} cburst {emulate['burst_bytes']}"
    queue = f"netem delay {emulate['delay_us']:g}us" if emulate.get("delay_us") else "pfifo"
    return [
        f"qdisc add dev {interface} root handle 1: htb default 1",
        f"class add dev {interface} parent 1: classid 1:1 htb "
        f"rate {emulate['rate_mbps']}mbit {burst} quantum {emulate['mtu'] + ETHERNET_HEADER_BYTES}",
        f"qdisc add dev {interface} parent 1:1 {queue} limit 10000",
    ]


def _batch(program: str, commands: Sequence[str], net: str) -> None:
    """Run commands of ip or tc in a network namespace."""
    done = subprocess.run(
        ["nsenter", f"--net={net}", "--", program, "-batch", "-"],
        input="\n".join(commands) + "\n",
        capture_output=True,
        text=True,
        timeout=60,
    )
    if done.returncode:
        errors = " ".join(done.stderr.split())
        line = re.search(r"Command failed -:(\d+)", errors)
        command = commands[int(line[1]) - 1] if line else ""
        if " netem " in command and _UNKNOWN_QUEUE in errors:
            raise EmulationError(
                "this kernel has no netem (CONFIG_NET_SCH_NETEM), which emulate.delay_us needs"
            )
        raise EmulationError(f"{program} {command}: {errors}")


def occupants(nets: Sequence[str]) -> Iterator[int]:
    """Yield the ids of the processes in any of these network namespaces."""
    inside = {Path(net).stat().st_ino for net in nets}
    for pid in process_ids():
        try:
            namespace = Path(f"/proc/{pid}/ns/net").stat().st_ino
        except OSError:  # the process has ended
            continue
        if namespace in inside:
            yield pid
