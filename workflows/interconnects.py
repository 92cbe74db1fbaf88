"""Interconnect files: reading them, and whether an interconnect can be used on this machine."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

from workflows.domain import InputError, Interconnect
from workflows.emulation import ETHERNET_HEADER_BYTES, EmulationError, emulated_nodes, usable_cores
from workflows.inputs import check, choose, read_yaml
from workflows.launch import EMULATED_MCA


def load_interconnect(name: str, folder: Path, where: str | None = None) -> Interconnect:
    """Read ``<folder>/<name>.yaml``.

    Parameters
    ----------
    name : str
    folder : Path
        The project's is ``config/interconnects``.
    where : str, optional
        File and key that hold the name, for messages.

    Returns
    -------
    Interconnect
        A measured one that does not say where it is has one node: this machine, with the cores that
        this process may use.

    Raises
    ------
    InputError
        One line: an unknown name, or what is wrong in the file.
    """
    choose(name, [file.stem for file in folder.glob("*.yaml")], "interconnect", where or str(folder))
    path = folder / f"{name}.yaml"
    data = read_yaml(path)
    check(data, "interconnect", path)
    if problem := _inconsistency(name, data):
        raise InputError(f"{path}: {problem}")
    emulate = data.get("emulate")
    place = emulate or data.get("place") or {"nodes": 1, "cores_per_node": len(usable_cores())}
    return Interconnect(
        name=name,
        kind=data["kind"],
        title=data["title"],
        launch=data["launch"],
        emulate=emulate,
        nodes=place["nodes"],
        cores_per_node=place["cores_per_node"],
        description=data["description"],
        price=data.get("price"),
        link_mbps=emulate["rate_mbps"] if emulate else data.get("link_mbps"),
    )


def _inconsistency(name: str, data: dict[str, Any]) -> str | None:
    """What a schema cannot see: keys that do not go together."""
    if data["name"] != name:
        return f"name: {data['name']!r} must be {name!r}, as the file is called"
    kind, emulate = data["kind"], data.get("emulate")
    if kind == "emulated" and not emulate:
        return "emulate: missing, since kind is emulated"
    for key, its_kind in (("emulate", "emulated"), ("place", "measured"), ("link_mbps", "measured")):
        if key in data and kind != its_kind:
            return f"{key}: does not belong here, since kind is {kind}"
    fixed = sorted(EMULATED_MCA.keys() & data["launch"]["mca"].keys())
    if emulate and fixed:
        return f"launch.mca.{fixed[0]}: does not belong here, since kind is emulated: set for each run"
    least = emulate["mtu"] + ETHERNET_HEADER_BYTES if emulate else 0
    if emulate and emulate["burst_bytes"] < least:
        return f"emulate.burst_bytes: {emulate['burst_bytes']} is too small; at least mtu + header = {least}"
    return None


def digest(interconnect: Interconnect) -> str:
    """Digest of what changes the run of a point: the kind and the sections launch and emulate.

    Title, description and price do not change a run; how much of its place a run uses is told by the point.
    """
    parts = [interconnect.kind, interconnect.launch, interconnect.emulate]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def unavailable(interconnect: Interconnect) -> str | None:
    """Try whether an interconnect can be used here; emulated nodes are built and taken down again.

    Returns
    -------
    str or None
        One line that says why not.
    """
    missing = [program for program in ("mpirun", "taskset", "setpriv") if shutil.which(program) is None]
    if missing:
        return f"{', '.join(missing)} not installed (Debian: openmpi-bin, util-linux)"
    if interconnect.emulate:
        try:
            with emulated_nodes(interconnect.emulate):
                return None
        except EmulationError as error:
            return str(error)
    if interconnect.nodes > 1:
        return f"is on {interconnect.nodes} nodes, and runs can be started on this machine only"
    if interconnect.cores_per_node > len(usable_cores()):
        return f"needs {interconnect.cores_per_node} cores, {len(usable_cores())} are usable here"
    return None
