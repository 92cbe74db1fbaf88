"""What an interconnect is made of, so that a comparison can say in what two of them differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workflows.domain import Interconnect
from workflows.launch.mpi import TITLES

EMULATED = {"transport": "tcp", "path": "switched"}
"""Of every emulated interconnect: see `workflows.launch.emulation`."""

_KEYS = ("mpi", "link_mbps", "transport", "mtu", "cable", "path")


def factors(interconnect: Interconnect) -> dict[str, str | float]:
    """Tell what an interconnect is made of, as far as it is known.

    Returns
    -------
    dict
        ``mpi`` (title of the MPI library), ``link_mbps`` (10^6 bit/s), ``transport``, ``mtu`` (bytes),
        ``cable``, ``path``; then all else that decides how it is used, by the keys of its file
        (``launch.mca.btl``).
    """
    emulate, launch = interconnect.emulate or {}, interconnect.launch
    known = {
        "mpi": TITLES.get(launch.get("mpi")),
        "link_mbps": interconnect.link_mbps,
        "mtu": emulate.get("mtu"),
        **(EMULATED if emulate else {}),
        **interconnect.factors,
    }
    sections = {"launch.mca": launch.get("mca"), "launch.env": launch.get("env"), "emulate": emulate}
    rest = {
        f"{section}.{key}": value
        for section, pairs in sections.items()
        for key, value in (pairs or {}).items()
    }
    for key in ("emulate.mtu", "emulate.rate_mbps"):  # among those that are known
        rest.pop(key, None)
    return {key: known[key] for key in _KEYS if known.get(key) is not None} | rest


def contradiction(data: Mapping[str, Any]) -> str | None:
    """Which factor of an interconnect's file contradicts what else the file says; one line."""
    given = data.get("factors", {})
    if "emulate" in data and (fixed := sorted(given.keys() & {*EMULATED, "mtu"})):
        return f"factors.{fixed[0]}: does not belong here, since kind is emulated: section emulate decides it"
    transport, carriers = given.get("transport"), data.get("launch", {}).get("env", {}).get("UCX_TLS")
    if transport in ("rc", "uc", "ud", "tcp") and carriers is not None:
        named = {name.partition("_")[0] for name in str(carriers).split(",")}
        if not named & {transport, "all", "ib"}:
            return f"factors.transport: {transport!r} is not among launch.env.UCX_TLS: {carriers}"
    return None
