"""Read and check interconnect files."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from workflows.domain import InputError, Interconnect, short_digest
from workflows.inputs import check, choose, defaults, is_there, read_yaml
from workflows.launch.emulation import ETHERNET_HEADER_BYTES, usable_cores
from workflows.launch.mpi.registry import MPI_LIBRARIES
from workflows.paths import INTERCONNECTS, ROOT
from workflows.study import factors


def load_interconnect(name: str, folder: Path, where: str | None = None) -> Interconnect:
    """Read ``<folder>/<name>.yaml``.

    Parameters
    ----------
    folder : Path
        Folder of interconnect files, such as ``config/interconnects``.

    Returns
    -------
    Interconnect
        A measured interconnect without a ``place`` has one node: this machine, with the cores that this
        process may use.

    Raises
    ------
    InputError
        The name is unknown or the file is wrong: one line.
    """
    _choose_among([folder], name, where or str(folder))
    path = folder / f"{name}.yaml"
    data = read_yaml(path)
    check(data, "interconnect", path)
    if problem := _inconsistency(name, data):
        raise InputError(f"{path}: {problem}")
    emulate = data.get("emulate")
    place = data.get("place", "machine")
    room = emulate or place
    if isinstance(room, str):
        room = {"nodes": 1, "cores_per_node": len(usable_cores())}
    if simulate := data.get("simulate"):
        simulate = _with_defaults(simulate, folder)
        room = {"nodes": SIMULATED_NODES, "cores_per_node": simulate["node"]["cores"]}
    return Interconnect(
        name=name,
        kind=data["kind"],
        title=data["title"],
        launch=_with_path(data.get("launch", {}), folder),
        emulate=emulate,
        nodes=room["nodes"],
        cores_per_node=room["cores_per_node"],
        description=data["description"],
        price=data.get("price"),
        link_mbps=emulate["rate_mbps"] if emulate else data.get("link_mbps"),
        place=place if isinstance(place, str) else "own",
        attest=data.get("attest"),
        factors=data.get("factors", {}),
        simulate=simulate,
        host_bus=data.get("host_bus"),
        notes=data.get("notes", ()),
    )


def find_interconnect(name: str, folder: Path | None, where: str) -> Path:
    """Return the file of an interconnect in a folder of the user, else in the project's.

    Raises
    ------
    InputError
        Neither folder has the interconnect: one line, with similar names of both folders.
    """
    return _choose_among([INTERCONNECTS, *([folder] if folder else [])], name, where)


def _choose_among(folders: Sequence[Path], name: str, where: str) -> Path:
    """Return the file of an interconnect in the last folder that has it; else raise an `InputError`."""
    files = {file.stem: file for folder in folders for file in folder.glob("*.yaml")}

    def listing(names: Sequence[str]) -> str:
        kinds = {name: kind for folder in folders for name, kind in kinds_in(folder).items()}
        return in_kinds({name: kinds[name] for name in names if name in kinds})

    choose(name, files, "interconnect", where, listing, f"ls {' '.join(map(str, folders))}")
    return files[name]


KIND_TITLES = {"measured": "measured", "emulated": "emulated", "simulated": "simulated (models)"}
"""Words for the kinds of interconnect in messages. Models are marked: their names may suggest hardware."""


def kinds_in(folder: Path) -> dict[str, str]:
    """Return the kind of each interconnect in a folder, by name; files that cannot be read are left out."""
    kinds = {}
    for file in sorted(folder.glob("*.yaml")):
        with contextlib.suppress(InputError):
            kinds[file.stem] = str(read_yaml(file).get("kind"))
    return kinds


def in_kinds(kinds: Mapping[str, str]) -> str:
    """Return a line that lists interconnects by kind: ``measured: a, b; simulated (models): c``."""
    parts = []
    for kind, title in KIND_TITLES.items():
        if names := [name for name in kinds if kinds[name] == kind]:
            parts.append(f"{title}: {', '.join(names)}")
    return "; ".join(parts)


def _with_path(launch: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Make the paths in section ``launch`` absolute, because runs start in other folders."""
    path = [str((folder / name).absolute()) for name in launch.get("path", ())]
    return launch | ({"path": path} if path else {})


def _with_defaults(simulate: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Complete section ``simulate`` with the defaults of its schema and the path of its curve."""
    simulate = defaults("interconnect", "simulate") | simulate
    if "curve" in simulate:
        curve = simulate["curve"] = defaults("interconnect", "simulate", "curve") | simulate["curve"]
        # Next to its interconnect, in the current folder (results), or in the project.
        for place in (folder, Path.cwd()):
            if is_there(file := (place / curve["file"]).absolute()):
                file = file.resolve()
                curve["file"] = str(file.relative_to(ROOT) if file.is_relative_to(ROOT) else file)
                break
    if "packets" in simulate:
        simulate["packets"] = defaults("interconnect", "simulate", "packets") | simulate["packets"]
    return simulate


SIMULATED_NODES = 1 << 20
"""Number of nodes of a simulated interconnect: more than any study requests. Its topology may have fewer."""

_KINDS_WITH = {
    "launch": ("measured", "emulated"),
    "emulate": ("emulated",),
    "simulate": ("simulated",),
    "place": ("measured",),
    "link_mbps": ("measured", "simulated"),
    "attest": ("measured", "emulated"),
}
"""Kinds of interconnect for which a section is allowed."""


def _inconsistency(name: str, data: dict[str, Any]) -> str | None:
    """Return one line for the first keys that contradict each other, as far as a schema cannot check this."""
    if data["name"] != name:
        return f"name: {data['name']!r} must be {name!r}, as the file is called"
    kind, emulate = data["kind"], data.get("emulate")
    needed = {"emulated": ("launch", "emulate"), "simulated": ("simulate",)}.get(kind, ("launch",))
    if missing := [key for key in needed if key not in data]:
        return f"{missing[0]}: missing, since kind is {kind}"
    for key, kinds in _KINDS_WITH.items():
        if key in data and kind not in kinds:
            return f"{key}: does not belong here, since kind is {kind}"
    if kind == "simulated":
        from workflows.simulation.model import check_section  # here: a job that measures loads no NumPy

        return check_section(data["simulate"])
    launch = data["launch"]
    if launch["mpi"] not in MPI_LIBRARIES:
        return f"launch.mpi: no {launch['mpi']!r} here; allowed: {', '.join(MPI_LIBRARIES)}"
    library = MPI_LIBRARIES[launch["mpi"]]
    for key in sorted(frozenset().union(*(other.own_settings for other in MPI_LIBRARIES.values()))):
        if (key in launch) != (key in library.own_settings):
            wrong = "does not belong here" if key in launch else "missing"
            return f"launch.{key}: {wrong}, since launch.mpi is {library.name}"
    for quantity, (low, high) in data.get("attest", {}).items():
        if low >= high:
            return f"attest.{quantity}: {low:g} must be below {high:g}"
    if problem := factors.contradiction(data):
        return problem
    if problem := library.settings_problem(launch, emulated=bool(emulate)):
        return problem
    least = emulate["mtu"] + ETHERNET_HEADER_BYTES if emulate else 0
    if emulate and emulate["burst_bytes"] < least:
        return f"emulate.burst_bytes: {emulate['burst_bytes']} is too small; at least mtu + header = {least}"
    return None


def digest(interconnect: Interconnect) -> str:
    """Return the digest of everything about an interconnect that changes a run.

    It covers the kind, the sections ``launch``, ``emulate`` and ``simulate``, the curve of a model, and the
    factors. Title, description, source, price and attested ranges do not change a run. Nodes and cores belong
    to the point.
    """
    content: list[Any] = [interconnect.kind, interconnect.launch, interconnect.emulate]
    if interconnect.simulate:
        curve = curve_file(interconnect.simulate)
        exists = curve is not None and is_there(curve)
        content += [
            _that_changes_runs(interconnect.simulate),
            hashlib.sha256(curve.read_bytes()).hexdigest() if curve is not None and exists else None,
        ]
    if interconnect.factors:
        content.append(interconnect.factors)
    return short_digest(json.dumps(content, sort_keys=True).encode())


def _that_changes_runs(simulate: dict[str, Any]) -> dict[str, Any]:
    """Return section ``simulate`` without the source and the path of the curve, which change no run."""
    curve = simulate.get("curve", {})
    without_source = {key: value for key, value in simulate.items() if key != "source"}
    return without_source | {"curve": {key: value for key, value in curve.items() if key != "file"}}


def curve_file(simulate: dict[str, Any]) -> Path | None:
    """Return the file of the curve of a model; None for a model of two points."""
    return ROOT / simulate["curve"]["file"] if "curve" in simulate else None
