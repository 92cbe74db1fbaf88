"""Interconnects that runs can select on a machine, derived from the reports of its tools."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workflows.discovery.tools import Resource

Resources = Mapping[str, Sequence[Resource]]
"""Resources by the name of the tool that reports them."""

TITLE_LENGTH = 40
"""Longest title that the schema of interconnects allows."""

VIRTUAL = re.compile(r"(docker|virbr|veth|br-|ifb|cni|flannel|cali|tun|tap|wg|dummy|lxc|vnet)\w*")
"""Interfaces of containers, virtual machines and tunnels, which join no nodes."""

FABRICS = {
    "efa": ("EFA", None),
    "cxi": ("Slingshot", None),
    "opx": ("Omni-Path", None),
    "psm2": ("Omni-Path", None),
    "psm3": ("PSM3", None),
    "verbs;ofi_rxm": ("InfiniBand or RoCE", "rc"),
    "tcp;ofi_rxm": ("TCP", "tcp"),
    "tcp": ("TCP", "tcp"),
}
"""Title and transport of libfabric's providers that can join nodes. Others are for tests or memory."""

UCX_TRANSPORTS = {"rc": "reliable connections", "dc": "dynamic connections", "ud": "unreliable datagrams"}
"""UCX's transports over adapters, which it names ``rc``, ``rc_verbs``, ``rc_mlx5``, and so on."""

UCX_MEMORY = {"sysv", "posix", "mm", "cma", "knem", "xpmem"}
"""UCX's transports through the memory of a node."""

ANY_UCX = {"pml_ucx_tls": "any", "pml_ucx_devices": "any"}
"""Parameters of Open MPI. Without them, Open MPI does not use UCX on a machine without RDMA."""


@dataclass(frozen=True)
class Selectable:
    """An interconnect that can be selected.

    Attributes
    ----------
    name : str
    title : str
    carrier : str
        Carrier of the messages, as the beginning of a sentence.
    launch : dict
        Section ``launch`` of its file.
    joins_nodes : bool
        Whether it is an interconnect between nodes.
    transport : str or None
        Value of ``factors.transport``.
    link_mbps : float or None
        Data rate of one direction of the link, 10^6 bit/s.
    """

    name: str
    title: str
    carrier: str
    launch: dict[str, Any]
    joins_nodes: bool = True
    transport: str | None = None
    link_mbps: float | None = None

    kind = "measured"
    """Real messages use what a machine has."""

    @property
    def settings(self) -> str:
        """Parameters and variables in one line, as ``btl=self,tcp btl_tcp_if_include=eth0``."""
        values = {**self.launch.get("mca", {}), **self.launch.get("env", {})}
        return " ".join(f"{key}={value}" for key, value in values.items()) or "default settings"

    def content(self, attest: Mapping[str, Sequence[float]], host: str) -> dict[str, Any]:
        """Return the content of its file.

        Parameters
        ----------
        attest : mapping
            Ranges of a ping-pong; empty if none was played.
        host : str
            Machine whose tools reported it.
        """
        place = "between the nodes of a cluster" if self.joins_nodes else "inside one node"
        return {
            "name": self.name,
            "kind": self.kind,
            "title": self.title[:TITLE_LENGTH],
            "description": f"{self.carrier} {place}. Found on {host} by ./run-study --interconnects.",
            "launch": self.launch,
            **({"link_mbps": self.link_mbps} if self.link_mbps else {}),
            **({"place": "cluster"} if self.joins_nodes else {}),
            "attest": {quantity: list(ends) for quantity, ends in attest.items()},
            **({"factors": {"transport": self.transport}} if self.transport else {}),
        }


def selectable(resources: Resources) -> list[Selectable]:
    """Return the interconnects that the MPI libraries of a machine can use, library by library."""
    return [*_of_open_mpi(resources), *_of_mpich(resources)]


def _of_open_mpi(resources: Resources) -> Iterator[Selectable]:
    """Yield the interconnects that Open MPI can use: by itself, and through UCX, libfabric and PSM2."""
    components = {resource.name for resource in resources["ompi_info"]}
    memory = next((name for name in ("vader", "sm") if f"btl/{name}" in components), None)
    if memory:
        mca = {"btl": f"self,{memory}"}
        yield Selectable("shared_memory", "Shared memory", "Shared memory", _open_mpi(mca), joins_nodes=False)
    if "btl/tcp" in components:
        for interface in _interfaces(resources):
            if interface == LOOPBACK:
                # pt2pt: one-sided messages would otherwise use shared memory.
                one_sided = {"osc": "pt2pt"} if "osc/pt2pt" in components else {}
                mca = {"btl": "self,tcp", "btl_tcp_if_include": interface, **one_sided}
            else:
                local = ["self", *([memory] if memory else []), "tcp"]
                mca = {"btl": ",".join(local), "btl_tcp_if_include": interface}
            yield _tcp(interface, "", _open_mpi(mca))
    if "pml/ucx" in components:
        one_sided = {"osc": "ucx"} if "osc/ucx" in components else {}
        for path in _through_ucx(resources, "{},sm,self"):
            mca = {"pml": "ucx", **one_sided, **({} if path.is_rdma else ANY_UCX)}
            launch = _open_mpi(mca, path.variables)
            yield path.interconnect(launch, prefix="ucx_", library="UCX")
    if {"pml/cm", "mtl/ofi"} <= components:
        for provider, interface, carrier in _providers(resources):
            mca = {"pml": "cm", "mtl": "ofi", "mtl_ofi_provider_include": provider}
            launch = _open_mpi(mca, _interface_variable(interface))
            yield _through_libfabric(provider, interface, carrier, launch, "")
    if {"pml/cm", "mtl/psm2"} <= components and resources["opainfo"]:
        launch = _open_mpi({"pml": "cm", "mtl": "psm2"})
        port = resources["opainfo"][0].device
        yield Selectable(
            "omni_path_psm2", "Omni-Path (PSM2)", f"Omni-Path over {port}, through PSM2,", launch
        )


def _of_mpich(resources: Resources) -> Iterator[Selectable]:
    """Yield the interconnects that MPICH can use: shared memory, and UCX or libfabric, as it was built."""
    devices = {resource.name for resource in resources["mpichversion"]}
    if devices & {"ch4:ucx", "ch4:ofi"}:
        yield Selectable(
            "shared_memory_mpich",
            "Shared memory (MPICH)",
            "Shared memory",
            {"mpi": "mpich"},
            joins_nodes=False,
        )
    if "ch4:ucx" in devices:
        for path in _through_ucx(resources, "self,{}"):
            variables = path.variables
            if path.device == LOOPBACK:  # ranks of a node would otherwise use shared memory
                variables = {**variables, "MPIR_CVAR_NOLOCAL": 1}
            launch = {"mpi": "mpich", "env": variables}
            yield path.interconnect(launch, suffix="_mpich", library="UCX, MPICH")
    if "ch4:ofi" in devices:
        for provider, interface, carrier in _providers(resources):
            variables = {"FI_PROVIDER": provider, **_interface_variable(interface)}
            launch = {"mpi": "mpich", "env": variables}
            yield _through_libfabric(provider, interface, carrier, launch, "_mpich")


LOOPBACK = "lo"


def _open_mpi(mca: Mapping[str, Any], variables: Mapping[str, Any] | None = None) -> dict[str, Any]:
    return {"mpi": "openmpi", "mca": dict(mca), **({"env": dict(variables)} if variables else {})}


def _word(device: str) -> str:
    """Return a device as part of a name: ``mlx5_0_1`` for ``mlx5_0:1``."""
    return re.sub(r"[^a-z0-9]+", "_", device.lower()).strip("_")


def _interfaces(resources: Resources) -> list[str]:
    """Return the IP interfaces that can carry messages, the loopback first."""
    listed = [resource.device for resource in resources["ip"]]
    listed = listed or [resource.device for resource in resources["ucx_info"] if resource.name == "tcp"]
    return sorted((name for name in dict.fromkeys(listed) if not VIRTUAL.fullmatch(name)), key=_order)


def _order(interface: str) -> tuple[bool, str]:
    return interface != LOOPBACK, interface


def _tcp(
    interface: str, suffix: str, launch: dict[str, Any], library: str = "", prefix: str = ""
) -> Selectable:
    """Return TCP over an interface, or over the loopback."""
    is_loopback = interface == LOOPBACK
    name = "tcp_loopback" if is_loopback else f"tcp_{_word(interface)}"
    title = "TCP loopback" if is_loopback else f"TCP over {interface}"
    through = f", through {library.partition(',')[0]}," if library else ""
    carrier = "TCP through the loopback device" if is_loopback else f"TCP over the interface {interface}"
    return Selectable(
        f"{prefix}{name}{suffix}",
        f"{title} ({library})" if library else title,
        carrier + through,
        launch,
        joins_nodes=not is_loopback,
        transport=None if is_loopback else "tcp",
    )


@dataclass(frozen=True)
class _Ucx:
    """A transport of UCX over a device, with the variables that select it."""

    transport: str
    device: str
    variables: dict[str, Any]
    layer: str = ""
    link_mbps: float | None = None

    @property
    def is_rdma(self) -> bool:
        return self.transport in UCX_TRANSPORTS

    def interconnect(
        self, launch: dict[str, Any], library: str, prefix: str = "", suffix: str = ""
    ) -> Selectable:
        if self.transport == "memory":
            title = f"Shared memory ({library})"
            name = f"{prefix}shared_memory{suffix}"
            return Selectable(name, title, "Shared memory through UCX", launch, joins_nodes=False)
        if self.transport == "tcp":
            return _tcp(self.device, suffix, launch, library, prefix)
        return Selectable(
            f"ucx_{self.transport}_{_word(self.device)}{suffix}",
            f"{self.layer} {self.device}, {self.transport} ({library})",
            f"{self.layer} over {self.device}, {UCX_TRANSPORTS[self.transport]} of UCX,",
            launch,
            transport=self.transport if self.transport in ("rc", "ud") else None,
            link_mbps=self.link_mbps,
        )


def _through_ucx(resources: Resources, transports: str) -> Iterator[_Ucx]:
    """Yield the transports and devices that UCX can use.

    `transports` is the value of ``UCX_TLS``, in which {} stands for the transport.
    """
    reported = resources["ucx_info"]
    if "sm" in transports and any(resource.name in UCX_MEMORY for resource in reported):
        yield _Ucx("memory", "", {"UCX_TLS": "sm,self"})
    devices = {resource.device for resource in reported if resource.name == "tcp"}
    for interface in _interfaces(resources):
        if interface in devices:
            allowed = transports.replace("sm,", "") if interface == LOOPBACK else transports
            yield _Ucx("tcp", interface, {"UCX_TLS": allowed.format("tcp"), "UCX_NET_DEVICES": interface})
    ports = {resource.device: resource for resource in resources["ibstat"]}
    seen = set()
    for resource in reported:
        transport = resource.name.partition("_")[0]
        if transport in UCX_TRANSPORTS and (transport, resource.device) not in seen:
            seen.add((transport, resource.device))
            port = ports.get(resource.device)
            layer = _layer(port)
            variables = {"UCX_TLS": transports.format(transport), "UCX_NET_DEVICES": resource.device}
            yield _Ucx(transport, resource.device, variables, layer, port.link_mbps if port else None)


def _layer(port: Resource | None) -> str:
    """Return the link layer of an adapter's port: ibstat reports Ethernet for RoCE."""
    if port is None:
        return "InfiniBand or RoCE"
    return "RoCE" if port.name == "Ethernet" else "InfiniBand"


def _providers(resources: Resources) -> Iterator[tuple[str, str, str]]:
    """Yield each usable provider of libfabric, the interface to name to it, and the carrier in words."""
    devices: dict[str, list[str]] = {}
    for resource in resources["fi_info"]:
        devices.setdefault(resource.name, []).append(resource.device)
    usable = _interfaces(resources)
    for provider, (title, transport) in FABRICS.items():
        listed = list(dict.fromkeys(devices.get(provider, ())))
        if transport == "tcp":
            for interface in usable:
                if interface in listed and interface != LOOPBACK:
                    yield provider, interface, f"TCP over the interface {interface}"
        elif listed:
            yield provider, "", f"{title} over {', '.join(listed)}"


def _interface_variable(interface: str) -> dict[str, str]:
    return {"FI_TCP_IFACE": interface} if interface else {}


def _through_libfabric(
    provider: str, interface: str, carrier: str, launch: dict[str, Any], suffix: str
) -> Selectable:
    title, transport = FABRICS[provider]
    over = f" over {interface}" if interface else ""
    libraries = "libfabric, MPICH" if suffix else "libfabric"
    name = "_".join(["libfabric", *map(_word, filter(None, [provider.partition(";")[0], interface]))])
    return Selectable(
        f"{name}{suffix}",
        f"{title}{over} ({libraries})",
        f"{carrier}, through libfabric's provider {provider},",
        launch,
        transport=transport,
    )
