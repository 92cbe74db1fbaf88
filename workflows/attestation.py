"""Does an interconnect carry what its file says? A short ping-pong beside each repetition of an application.

It is launched as the repetition was, on the same number of ranks, after it, so that it takes nothing from it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from workflows.domain import Interconnect, Point
from workflows.emulation import Node
from workflows.execution import execute
from workflows.launch import read_placement
from workflows.launchers import launch_ranks
from workflows.running import scratch_folder
from workflows.transport import asking, chosen

PROGRAM = Path(__file__).parent.resolve() / "probe.py"
TIME_LIMIT_SECONDS = 30.0
ATTEMPTS = 3  # on a machine that is not idle, one probe may be disturbed from its beginning to its end
QUANTITIES = {"latency_us": ("latency", "µs"), "bandwidth_MBps": ("bandwidth", "MB/s")}

Probe = dict[str, Any]


def pair_of(placement: Sequence[Mapping[str, Any]]) -> tuple[int, int]:
    """Choose two ranks between which the interconnect can be seen: as far apart as there are.

    Parameters
    ----------
    placement : sequence of mapping
        By rank: see `workflows.launch.read_placement`.

    Returns
    -------
    tuple of int
        Rank 0, and the last rank on another node than rank 0; where there is no other node, the last one on
        other cores; where all share a core, the last one.
    """
    first = placement[0]
    for place in ("host", "cores"):
        apart = [rank["rank"] for rank in placement if rank[place] != first[place]]
        if apart:
            return first["rank"], apart[-1]
    return first["rank"], placement[-1]["rank"]


def attest(
    point: Point,
    interconnect: Interconnect,
    nodes: Sequence[Node],
    placement: Sequence[Mapping[str, Any]],
) -> Probe | None:
    """Probe the interconnect of a repetition that has just ended; again where that finds a contradiction.

    The arguments are those of `probe`.

    Returns
    -------
    dict or None
        The last probe, with ``attempts``, their number. None where the interconnect's file asks for none.
    """
    if interconnect.attest is None:
        return None
    for attempt in range(1, ATTEMPTS + 1):
        found = probe(point, interconnect, nodes, placement) | {"attempts": attempt}
        if contradiction(found, interconnect) is None:
            break
    return found


def probe(
    point: Point,
    interconnect: Interconnect,
    nodes: Sequence[Node],
    placement: Sequence[Mapping[str, Any]],
) -> Probe:
    """Measure what the interconnect carries between two ranks of a repetition that has just ended.

    Parameters
    ----------
    point : Point
        Of at least two processes.
    interconnect : Interconnect
    nodes : sequence of Node
        The emulated nodes of the interconnect; empty where it is not emulated.
    placement : sequence of mapping
        Where the ranks of the repetition ran.

    Returns
    -------
    dict
        ``ranks``, ``hosts`` and ``cores`` of the pair; ``seconds`` that the probe took in all; ``transports``
        that the MPI library chose, as far as it tells (`workflows.transport.chosen`); ``problem``,
        one line, or None; and where that is None, ``latency_us`` (shortest half round trip of an empty
        message), ``bandwidth_MBps`` (highest rate of messages of 1 MB) and ``library`` (the MPI library).
    """
    pair = pair_of(placement)
    command = [sys.executable, "-P", str(PROGRAM), *map(str, pair)]  # -P: no modules from beside the program
    with scratch_folder() as scratch:
        environment = {"MPI4PY_RC_THREADS": "0", **asking(scratch)}
        launch = launch_ranks(point, interconnect, nodes, command, environment, scratch)
        done = execute(launch.argv, launch.env, scratch, TIME_LIMIT_SECONDS)
        transports = chosen(launch.messages, scratch)
        elsewhere = _elsewhere(placement, read_placement(launch.placement))
    found, problem = {}, elsewhere
    if done.timed_out:
        problem = f"stopped at its time limit of {TIME_LIMIT_SECONDS:g} s"
    elif done.signal or done.exit_status:
        last = done.errors.strip().rpartition("\n")[2]
        problem = f"ended by {done.signal or f'exit status {done.exit_status}'}: {last}"
    elif problem is None:
        found = json.loads(done.lines[-1].text)
    both = [placement[rank] for rank in pair]
    about = {
        "ranks": list(pair),
        "hosts": [rank["host"] for rank in both],
        "cores": [rank["cores"] for rank in both],
        "seconds": done.wall_seconds,
        "transports": transports,
        "problem": problem,
    }
    return about | found


def _elsewhere(
    placement: Sequence[Mapping[str, Any]], probe_placement: Sequence[Mapping[str, Any]]
) -> str | None:
    """Compare hosts and cores of the probe's ranks with those of the repetition's."""
    wanted, ran = ([(one["host"], one["cores"]) for one in ranks] for ranks in (placement, probe_placement))
    if len(ran) != len(wanted):
        return f"{len(ran)} of its {len(wanted)} ranks started"
    for rank, (was, now) in enumerate(zip(wanted, ran, strict=True)):
        if was != now:
            return f"rank {rank} was on core {now[1]} of {now[0]}, in the run on core {was[1]} of {was[0]}"
    return None


def contradiction(probe: Probe | None, interconnect: Interconnect | None) -> str | None:
    """Compare what a probe measured with what the interconnect's file attests.

    Parameters
    ----------
    probe : dict or None
        From `probe`; None where nothing was measured, which contradicts nothing.
    interconnect : Interconnect or None
        Its ``attest`` holds the lowest and highest value of a quantity. None for a serial run.

    Returns
    -------
    str or None
        One line with what was measured and what is attested. None also for two ranks that take turns on one
        core, whose latency is the scheduler's, and for two on one node of an interconnect between nodes.
    """
    if probe is None or interconnect is None or not interconnect.attest:
        return None
    if probe["problem"]:
        return f"the probe of {interconnect.name} did not succeed: {probe['problem']}"
    one_host, one_core = (probe[place][0] == probe[place][1] for place in ("hosts", "cores"))
    if one_host and (one_core or interconnect.joins_nodes):
        return None
    ranges = interconnect.attest
    if all(low <= probe[quantity] <= high for quantity, (low, high) in ranges.items()):
        return None
    told = ", ".join(_told(quantity, probe[quantity], ranges.get(quantity)) for quantity in QUANTITIES)
    ranks = " and ".join(map(str, probe["ranks"]))
    return f"the probe between ranks {ranks} contradicts {interconnect.name}: {told}"


def _told(quantity: str, value: float, attested: Sequence[float] | None) -> str:
    title, unit = QUANTITIES[quantity]
    wanted = f" (attested {attested[0]:g} to {attested[1]:g})" if attested else ""
    return f"{title} {value:.4g} {unit}{wanted}"
