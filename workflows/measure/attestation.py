"""Attestation of an interconnect: a short ping-pong measures whether its latency and bandwidth are as stated.

The ranks of a repetition exchange the ping-pong's messages when MPI is initialised
(`workflows.launch.attesters`). If they cannot, a separate program does so once per block, after a repetition
and with the same number of ranks.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from workflows.domain import Case, InputError, Interconnect, Point
from workflows.launch import attesters
from workflows.launch.attesters import Probe
from workflows.launch.cluster_launch import Node
from workflows.launch.execution import execute
from workflows.launch.last_words import explaining_line
from workflows.launch.launch import launch_ranks
from workflows.launch.mpi.registry import library_of, read_report
from workflows.launch.placement import read_placement
from workflows.measure.running import scratch_folder

PROGRAM = Path(__file__).parent.resolve() / "probe.py"  # used without a compiler
TIME_LIMIT_SECONDS = 30.0
ATTEMPTS = 3  # of a probe, because other programs may disturb it
QUANTITIES = {"latency_us": ("latency", "µs"), "bandwidth_MBps": ("bandwidth", "MB/s")}


def pair_of(placement: Sequence[Mapping[str, Any]]) -> tuple[int, int]:
    """Choose the two ranks of the ping-pong, as far apart as possible.

    Returns
    -------
    tuple of int
        Rank 0, and the last rank on another node. If there is only one node: the last rank on other cores. If
        there is only one core: the last rank.
    """
    first = placement[0]
    for key in ("host", "cores"):
        apart = [rank["rank"] for rank in placement if rank[key] != first[key]]
        if apart:
            return first["rank"], apart[-1]
    return first["rank"], placement[-1]["rank"]


def attest_once(
    case: Case,
    point: Point,
    interconnect: Interconnect,
    nodes: Sequence[Node],
    placement: Sequence[Mapping[str, Any]],
    block: Hashable,
) -> Probe | None:
    """Attest the interconnect of a repetition with a separate program, because its ranks could not.

    Repetitions of a block that run on the same nodes share a probe. A probe that contradicts the
    interconnect's file, or that cannot be judged, is not shared.

    Parameters
    ----------
    block : hashable
        Identity of the block among all studies. For the other parameters see `probe`.

    Returns
    -------
    Probe or None
        Result of `attest`. Its ``way`` ends with the reason why the ranks could not attest.
    """
    key = (block, interconnect.name, point.nodes, tuple(nodes))
    if key in _probe_of_block:
        return _probe_of_block[key]
    probe = attest(point, interconnect, nodes, placement)
    if probe is not None:
        reason = (
            attesters.cannot_attest(case, interconnect) or "none of its programs initialised MPI in sight"
        )
        probe = replace(probe, way=f"{probe.way}: {reason}")
        if contradiction(probe, interconnect) is None and not _cannot_be_judged(probe, interconnect):
            _probe_of_block[key] = probe
    return probe


_probe_of_block: dict[Hashable, Probe] = {}


def attest(
    point: Point,
    interconnect: Interconnect,
    nodes: Sequence[Node],
    placement: Sequence[Mapping[str, Any]],
) -> Probe | None:
    """Probe the interconnect of a repetition that has just ended.

    A probe that contradicts the interconnect's file is repeated up to `ATTEMPTS` times. For the parameters
    see `probe`.

    Returns
    -------
    Probe or None
        The last probe, with the number of attempts. None if the interconnect's file asks for no probe.
    """
    if interconnect.attest is None:
        return None
    for attempt in range(1, ATTEMPTS + 1):
        measured = replace(probe(point, interconnect, nodes, placement), attempts=attempt)
        if contradiction(measured, interconnect) is None:
            break
    return measured


def probe(
    point: Point,
    interconnect: Interconnect,
    nodes: Sequence[Node],
    placement: Sequence[Mapping[str, Any]] | None = None,
) -> Probe:
    """Measure latency and bandwidth between two ranks, placed like the ranks of an ended repetition.

    The program is compiled, and attests the interconnect as the ranks of a run do. Without a compiler, the
    program is `PROGRAM` in Python.

    Parameters
    ----------
    point : Point
        Point with at least two processes.
    nodes : sequence of Node
        The emulated nodes of the interconnect, or the nodes of the job; else empty.
    placement : sequence of mapping, optional
        Hosts and cores of the ranks of the repetition. Without it, the first and the last rank are used.
    """
    pair = pair_of(placement) if placement else (0, point.processes - 1)
    with scratch_folder() as scratch:
        command, environment = _program(point, interconnect, pair, scratch)
        launch = launch_ranks(point, interconnect, nodes, command, environment, scratch)
        done = execute(launch.argv, launch.env, scratch, TIME_LIMIT_SECONDS)
        transports = read_report(interconnect, scratch).transports
        ran = read_placement(scratch)
        attested = attesters.read_probe(scratch, ran, transports)
    planned = placement or ran
    problem = attesters.moved(
        [(rank["host"], rank["cores"]) for rank in planned],
        [(rank["host"], rank["cores"]) for rank in ran],
        "rank {0} was on core {3} of {4}, in the run on core {1} of {2}",
    )
    if done.timed_out:
        problem = f"stopped at its time limit of {TIME_LIMIT_SECONDS:g} s"
    elif done.signal or done.exit_status:
        ended = f"ended by {done.signal or f'exit status {done.exit_status}'}"
        reason = explaining_line(done.errors)
        problem = f"{ended}: {reason}" if reason else ended
    elif problem is None and attested is None and not done.lines:
        problem = "it found nothing"
    if attested is None:
        both = [rank for rank in planned if rank["rank"] in pair]
        attested = Probe(
            ranks=list(pair),
            hosts=[rank["host"] for rank in both],
            cores=[rank["cores"] for rank in both],
            transports=transports,
            **({} if problem else json.loads(done.lines[-1].text)),
        )
    problem = problem or attested.problem
    return replace(attested, way=attesters.BESIDE, seconds=done.wall_seconds, problem=problem)


def _program(
    point: Point, interconnect: Interconnect, pair: Sequence[int], scratch: Path
) -> tuple[list[str], dict[str, str]]:
    """Return the command and the environment variables of each rank of a probe."""
    try:
        environment = attesters.environment(point, interconnect, scratch)
    except InputError:
        # -P: import no modules from the folder of the program.
        command = [sys.executable, "-P", str(PROGRAM), *map(str, pair)]
        reporting = library_of(interconnect).reporting(interconnect.launch, scratch)
        return command, {"MPI4PY_RC_THREADS": "0", **reporting}
    return [str(attesters.build(interconnect.launch["mpi"]) / attesters.ALONE)], environment


def contradiction(probe: Probe | None, interconnect: Interconnect | None) -> str | None:
    """Compare the measurements of a probe with the ranges in the interconnect's file.

    Parameters
    ----------
    probe : Probe or None
        None if nothing was measured, which contradicts nothing.
    interconnect : Interconnect or None
        Its ``attest`` holds the lowest and highest value of each quantity. None for a serial run.

    Returns
    -------
    str or None
        One line with the measured values and the ranges. None if the values lie in the ranges, or if they
        cannot be judged (see `_cannot_be_judged`).
    """
    if probe is None or interconnect is None or not interconnect.attest:
        return None
    if probe.problem:
        return f"the probe of {interconnect.name} did not succeed: {probe.problem}"
    if _cannot_be_judged(probe, interconnect):
        return None
    ranges = interconnect.attest
    if all(low <= getattr(probe, quantity) <= high for quantity, (low, high) in ranges.items()):
        return None
    measured = []
    for quantity, (title, unit) in QUANTITIES.items():
        attested = ranges.get(quantity)
        expected = f" (attested {attested[0]:g} to {attested[1]:g})" if attested else ""
        measured.append(f"{title} {getattr(probe, quantity):.4g} {unit}{expected}")
    ranks = " and ".join(map(str, probe.ranks))
    return f"the probe between ranks {ranks} contradicts {interconnect.name}: {', '.join(measured)}"


def _cannot_be_judged(probe: Probe, interconnect: Interconnect) -> bool:
    """Whether the two ranks share a core, or share a node although the interconnect is between nodes."""
    same_host, same_core = (first == second for first, second in (probe.hosts, probe.cores))
    return same_host and (same_core or interconnect.joins_nodes)
