"""Find the interconnects of a machine, list them, and write their files."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from workflows.discovery.ping_pong import PingPong, as_yaml, play
from workflows.discovery.selectable import Selectable, selectable
from workflows.discovery.tools import ask_all
from workflows.launch.cluster_launch import JobNode
from workflows.launch.mpi.registry import MPI_LIBRARIES

NOT_MEASURED = PingPong(reason="not measured")


@dataclass(frozen=True)
class Found:
    """Interconnects of a machine, each with the result of its ping-pong.

    Attributes
    ----------
    host : str
        Name of the machine.
    tools : mapping of str to (str or None)
        For each tool, None, or the reason in one line if the tool reported nothing.
    interconnects : sequence of (Selectable, PingPong)
    """

    host: str
    tools: Mapping[str, str | None]
    interconnects: Sequence[tuple[Selectable, PingPong]]

    def as_json(self) -> str:
        """Return the JSON text that `from_json` reads."""
        return json.dumps(asdict(self), indent=1)

    @classmethod
    def from_json(cls, text: str) -> Found:
        """Return the interconnects from the JSON text of `as_json`."""
        data: dict[str, Any] = json.loads(text)
        pairs = [
            (Selectable(**selectable), PingPong(**result)) for selectable, result in data["interconnects"]
        ]
        return cls(data["host"], data["tools"], pairs)


def find(nodes: Sequence[JobNode] = (), cores: int = 0) -> Found:
    """Ask the tools of this machine for interconnects, and measure a ping-pong over each.

    Parameters
    ----------
    nodes : sequence of JobNode
        Nodes of the job of this process; empty outside a job.
    cores : int
        Usable cores of a node. 0: measure no ping-pong.
    """
    reports = ask_all()
    listed = selectable({name: report.resources for name, report in reports.items()})
    return Found(
        nodes[0].name if nodes else platform.node(),
        {name: report.problem for name, report in reports.items()},
        [(each, play(each, nodes, cores) if cores else NOT_MEASURED) for each in listed],
    )


def listing(discovered: Found) -> list[str]:
    """Return lines for the user: a table of the interconnects, failures, and tools without an answer."""
    was_measured = any(played.best or played.failed for _, played in discovered.interconnects)
    rows = [("name", "kind", "library", "where", *(["ping-pong"] if was_measured else []), "settings")]
    for each, played in discovered.interconnects:
        library = MPI_LIBRARIES[each.launch["mpi"]].title
        where = "between nodes" if each.joins_nodes else "inside a node"
        result = [_result(played)] if was_measured else []
        rows.append((each.name, each.kind, library, where, *result, each.settings))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
    answered = ", ".join(name for name, problem in discovered.tools.items() if problem is None)
    failures = [
        f"{each.name} fails: {played.reason}" for each, played in discovered.interconnects if played.failed
    ]
    silent = [f"{name}: {problem}" for name, problem in discovered.tools.items() if problem]
    heading = f"Interconnects that runs on {discovered.host} can select, as {answered or 'no tool'} report:"
    return [heading, *lines, *failures, *silent]


def _result(played: PingPong) -> str:
    if played.best:
        return "{latency_us:.3g} µs, {bandwidth_MBps:.0f} MB/s".format(**played.best)
    return "fails" if played.failed else played.reason or ""


def file_in(folder: Path, interconnect: Selectable) -> Path:
    """Return the path of the file of an interconnect in a folder."""
    return folder / f"{interconnect.name}.yaml"


def write_files(discovered: Found, folder: Path) -> list[str]:
    """Write a file for each interconnect, with the ranges of its ping-pong.

    An existing file is kept. An interconnect over which the ping-pong failed gets no file.

    Returns
    -------
    list of str
        One line for each outcome (written, kept, ...), with the names of its interconnects.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written, kept, failed = [], [], []
    attested: list[tuple[Selectable, PingPong]] = []
    unmeasured: dict[str, list[str]] = {}
    for each, played in discovered.interconnects:
        file = file_in(folder, each)
        if played.failed:
            failed.append(each.name)
        elif file.exists():
            kept.append(each.name)
        else:
            file.write_text(as_yaml(each, played.ranges, discovered.host), encoding="utf-8")
            written.append(each.name)
            if played.ranges:
                attested.append((each, played))
            if played.reason:
                unmeasured.setdefault(played.reason, []).append(each.name)
    groups = {
        "written": written,
        "kept as they are; remove a file to measure it again": kept,
        "not written, because the ping-pong fails": failed,
        **{
            f"without ranges (attest: {{}}), a ping-pong {reason}": names
            for reason, names in unmeasured.items()
        },
    }
    lines = [f"{folder}: {what}: {', '.join(names)}" for what, names in groups.items() if names]
    return lines + _indistinguishable(attested)


def _indistinguishable(attested: Sequence[tuple[Selectable, PingPong]]) -> list[str]:
    """Return a line with the pairs of interconnects that neither ranges nor reported transports distinguish.

    Interconnects of different MPI libraries cannot be confused, nor those inside a node with those between.
    """
    pairs = [
        f"{first.name} and {second.name}"
        for (first, of_first), (second, of_second) in combinations(attested, 2)
        if (first.launch["mpi"], first.joins_nodes) == (second.launch["mpi"], second.joins_nodes)
        and of_first.transports == of_second.transports
        and all(
            max(ends[0], of_second.ranges[quantity][0]) <= min(ends[1], of_second.ranges[quantity][1])
            for quantity, ends in of_first.ranges.items()
        )
    ]
    overlap = "their ranges of latency and bandwidth overlap; narrow attest in their files"
    return [f"attestation cannot distinguish {', '.join(pairs)}: {overlap}"] if pairs else []
