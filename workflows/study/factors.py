"""Factors of an interconnect: its components and settings, in which two interconnects can differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workflows.domain import InputError, Interconnect
from workflows.launch.mpi.registry import MPI_LIBRARIES
from workflows.paths import ROOT

EMULATED = {"transport": "tcp", "path": "switched"}
"""Factors of every emulated interconnect: see `workflows.launch.emulation`."""

_KEYS = ("mpi", "link_mbps", "host_bus", "transport", "mtu", "cable", "path", "compiler", "storage")


def factors(interconnect: Interconnect) -> dict[str, str | float]:
    """Return the known factors of an interconnect.

    Returns
    -------
    dict
        ``mpi`` (title of the MPI library), ``link_mbps`` (10^6 bit/s), ``host_bus``, ``transport``, ``mtu``
        (bytes), ``cable``, ``path``, ``compiler``, ``storage``; then the other settings of its file, by key
        (``launch.mca.btl``).
    """
    emulate, launch = interconnect.emulate or {}, interconnect.launch
    values = {
        "mpi": MPI_LIBRARIES[launch["mpi"]].title if launch else None,
        "link_mbps": interconnect.link_mbps,
        "host_bus": interconnect.host_bus,
        "mtu": emulate.get("mtu"),
        **(EMULATED if emulate else {}),
        **interconnect.factors,
    }
    builds = {"launch.path": ":".join(launch["path"])} if "path" in launch else {}
    sections = {"launch.mca": launch.get("mca"), "launch.env": launch.get("env"), "emulate": emulate}
    rest = {
        f"{section}.{key}": value
        for section, pairs in sections.items()
        for key, value in (pairs or {}).items()
    }
    for key in ("emulate.mtu", "emulate.rate_mbps"):  # already in `values`
        rest.pop(key, None)
    return {key: values[key] for key in _KEYS if values.get(key) is not None} | builds | rest


def model_factors(interconnect: Interconnect) -> dict[str, Any]:
    """Return the factors of the model of a simulated interconnect.

    Returns
    -------
    dict
        ``latency_us`` and ``peak_MBps`` of its curve, if the curve exists; ``eager_limit_bytes``,
        ``switches_bytes``, ``host_overhead``, ``directions`` (resources that they share), ``hop_us`` and
        ``topology`` of its section ``simulate``. Empty for another kind.
    """
    if interconnect.simulate is None:
        return {}
    from workflows.simulation.curve import read_curve  # here: a job that measures loads no NumPy

    simulate = interconnect.simulate
    of_curve: dict[str, Any] = {}
    try:
        curve = read_curve(simulate, ROOT, f"{interconnect.name}.yaml")
        peak = simulate.get("sustained_MBps", curve.bytes_per_us)
        of_curve = {"latency_us": curve.microseconds[0], "peak_MBps": peak}
    except InputError:  # no study has measured the curve yet
        pass
    shared = {key: simulate[key] for key in ("half_duplex", "both_ways_MBps") if simulate.get(key)}
    return of_curve | {
        "eager_limit_bytes": simulate["eager_limit_bytes"],
        "switches_bytes": simulate.get("switches_bytes", []),
        "host_overhead": simulate.get("host_overhead", {}),
        "directions": shared,
        "hop_us": simulate["hop_us"],
        "topology": simulate.get("topology", {"crossbar": {}}),
    }


def contradiction(data: Mapping[str, Any]) -> str | None:
    """Return one line if a factor of an interconnect file contradicts another key of the file."""
    stated = data.get("factors", {})
    if "emulate" in data and (fixed := sorted(stated.keys() & {*EMULATED, "mtu"})):
        return f"factors.{fixed[0]}: does not belong here, since kind is emulated: section emulate decides it"
    transport, carriers = stated.get("transport"), data.get("launch", {}).get("env", {}).get("UCX_TLS")
    if transport in ("rc", "uc", "ud", "tcp") and carriers is not None:
        named = {name.partition("_")[0] for name in str(carriers).split(",")}
        if not named & {transport, "all", "ib"}:
            return f"factors.transport: {transport!r} is not among launch.env.UCX_TLS: {carriers}"
    return None
