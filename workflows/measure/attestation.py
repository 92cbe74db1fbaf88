"""Does an interconnect carry what its file says? A short ping-pong that attests it.

The ranks of a repetition play it when MPI is initialised (`workflows.launch.attesters`). Where they cannot,
it is launched as the repetition was, on the same number of ranks, after it: once a block.
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
from workflows.launch.emulation import EmulatedNode
from workflows.launch.execution import execute
from workflows.launch.last_words import telling_line
from workflows.launch.launch import launch_ranks
from workflows.launch.mpi.registry import library_of, read_report
from workflows.launch.placement import read_placement
from workflows.launch.probes import Probe
from workflows.measure.running import scratch_folder

PROGRAM = Path(__file__).parent.resolve() / "probe.py"  # where nothing can be compiled
TIME_LIMIT_SECONDS = 30.0
ATTEMPTS = 3  # on a machine that is not idle, one probe may be disturbed from its beginning to its end
QUANTITIES = {"latency_us": ("latency", "µs"), "bandwidth_MBps": ("bandwidth", "MB/s")}


def pair_of(placement: Sequence[Mapping[str, Any]]) -> tuple[int, int]:
    """Choose two ranks between which the interconnect can be seen: as far apart as there are.

    Returns
    -------
    tuple of int
        Rank 0, and the last rank on another node than rank 0; where there is no other node, the last rank on
        other cores; where all share a core, the last rank.
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
    nodes: Sequence[EmulatedNode],
    placement: Sequence[Mapping[str, Any]],
    block: Hashable,
) -> Probe | None:
    """Attest the interconnect of a repetition that could not do so itself, once a block.

    `block` is different for every block, also of other studies; the other arguments are those of `probe`.

    Returns
    -------
    Probe or None
        From `attest`, with the reason in its way. Other repetitions of the block on as many nodes get the
        same probe, if it could be judged and contradicts nothing.
    """
    key = (block, interconnect.name, point.nodes, tuple(nodes))
    if key in _of_blocks:
        return _of_blocks[key]
    found = attest(point, interconnect, nodes, placement)
    if found is not None:
        reason = attesters.hindrance(case, interconnect) or "none of its programs initialised MPI in sight"
        found = replace(found, way=f"{found.way}: {reason}")
        if contradiction(found, interconnect) is None and not _says_nothing(found, interconnect):
            _of_blocks[key] = found
    return found


_of_blocks: dict[Hashable, Probe] = {}


def attest(
    point: Point,
    interconnect: Interconnect,
    nodes: Sequence[EmulatedNode],
    placement: Sequence[Mapping[str, Any]],
) -> Probe | None:
    """Probe the interconnect of a repetition that has just ended; again where that finds a contradiction.

    The arguments are those of `probe`.

    Returns
    -------
    Probe or None
        The last probe, with their number. None where the interconnect's file asks for none.
    """
    if interconnect.attest is None:
        return None
    for attempt in range(1, ATTEMPTS + 1):
        found = replace(probe(point, interconnect, nodes, placement), attempts=attempt)
        if contradiction(found, interconnect) is None:
            break
    return found


def probe(
    point: Point,
    interconnect: Interconnect,
    nodes: Sequence[EmulatedNode],
    placement: Sequence[Mapping[str, Any]],
) -> Probe:
    """Measure what the interconnect carries between two ranks of a repetition that has just ended.

    A program that does nothing else attests it as a run does; without a compiler, a program in Python.

    Parameters
    ----------
    point : Point
        Of at least two processes.
    nodes : sequence of EmulatedNode
        The emulated nodes of the interconnect; empty where it is not emulated.
    placement : sequence of mapping
        Where the ranks of the repetition ran.
    """
    pair = pair_of(placement)
    with scratch_folder() as scratch:
        command, environment = _program(point, interconnect, pair, scratch)
        launch = launch_ranks(point, interconnect, nodes, command, environment, scratch)
        done = execute(launch.argv, launch.env, scratch, TIME_LIMIT_SECONDS)
        transports = read_report(interconnect, scratch).transports
        ran = read_placement(scratch)
        found = attesters.found(scratch, ran, transports)
    problem = attesters.moved(
        *([(rank["host"], rank["cores"]) for rank in ranks] for ranks in (placement, ran)),
        "rank {0} was on core {3} of {4}, in the run on core {1} of {2}",
    )
    if done.timed_out:
        problem = f"stopped at its time limit of {TIME_LIMIT_SECONDS:g} s"
    elif done.signal or done.exit_status:
        ended = f"ended by {done.signal or f'exit status {done.exit_status}'}"
        why = telling_line(done.errors)
        problem = f"{ended}: {why}" if why else ended
    elif problem is None and found is None and not done.lines:
        problem = "it found nothing"
    if found is None:
        both = [placement[rank] for rank in pair]
        found = Probe(
            ranks=list(pair),
            hosts=[rank["host"] for rank in both],
            cores=[rank["cores"] for rank in both],
            transports=transports,
            **({} if problem else json.loads(done.lines[-1].text)),
        )
    problem = problem or found.problem
    return replace(found, way=attesters.BESIDE, seconds=done.wall_seconds, problem=problem)


def _program(
    point: Point, interconnect: Interconnect, pair: Sequence[int], scratch: Path
) -> tuple[list[str], dict[str, str]]:
    """Command of a rank of a probe, and its environment."""
    try:
        environment = attesters.environment(point, interconnect, scratch)
    except InputError:
        # -P: no modules from beside the program
        command = [sys.executable, "-P", str(PROGRAM), *map(str, pair)]
        reporting = library_of(interconnect).reporting(interconnect.launch, scratch)
        return command, {"MPI4PY_RC_THREADS": "0", **reporting}
    return [str(attesters.build(interconnect.launch["mpi"]) / attesters.ALONE)], environment


def contradiction(probe: Probe | None, interconnect: Interconnect | None) -> str | None:
    """Compare what a probe measured with what the interconnect's file attests.

    Parameters
    ----------
    probe : Probe or None
        None where nothing was measured, which contradicts nothing.
    interconnect : Interconnect or None
        Its ``attest`` holds the lowest and highest value of a quantity. None for a serial run.

    Returns
    -------
    str or None
        One line with what was measured and what is attested. None also for two ranks that take turns on one
        core, whose latency is the scheduler's, or share a node of an interconnect between nodes.
    """
    if probe is None or interconnect is None or not interconnect.attest:
        return None
    if probe.problem:
        return f"the probe of {interconnect.name} did not succeed: {probe.problem}"
    if _says_nothing(probe, interconnect):
        return None
    ranges = interconnect.attest
    if all(low <= getattr(probe, quantity) <= high for quantity, (low, high) in ranges.items()):
        return None
    measured = []
    for quantity, (title, unit) in QUANTITIES.items():
        attested = ranges.get(quantity)
        wanted = f" (attested {attested[0]:g} to {attested[1]:g})" if attested else ""
        measured.append(f"{title} {getattr(probe, quantity):.4g} {unit}{wanted}")
    ranks = " and ".join(map(str, probe.ranks))
    return f"the probe between ranks {ranks} contradicts {interconnect.name}: {', '.join(measured)}"


def _says_nothing(probe: Probe, interconnect: Interconnect) -> bool:
    """Whether two ranks take turns on one core, or share a node of an interconnect between nodes."""
    one_host, one_core = (first == second for first, second in (probe.hosts, probe.cores))
    return one_host and (one_core or interconnect.joins_nodes)
