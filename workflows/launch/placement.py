"""Hosts and cores on which ranks and threads ran, compared with the plan of the point."""

from __future__ import annotations

import math
import os
import subprocess
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any

from workflows.domain import Point, counted
from workflows.launch.cluster_launch import Node
from workflows.launch.ranks import PROGRAMS, cores_of_nodes, ranks_of_nodes

IDLE, BUSY = 0.01, 0.5
"""CPU time of a thread, as a share of the CPU time of its process's busiest thread. Up to `IDLE`, the thread
does not compute: it watches connections for MPI. Above `BUSY`, the thread computes."""

_CPUS = Path("/sys/devices/system/cpu")


def read_placement(folder: Path) -> list[dict[str, Any]]:
    """Read the files in which the ranks describe themselves.

    Returns
    -------
    list of dict
        For each rank, the keys ``rank``, ``host``, ``process``, ``local_rank`` and ``cores``. ``cores`` is a
        list as the kernel writes it (``0-1``). Two further keys are optional. ``threads`` holds the ``cores``
        and ``cpu_seconds`` of each thread, busiest first, if a process has several threads. ``domains`` holds
        the domain of each core of the node if ranks are packed or spread. A rank that was stopped before it
        completed its file is missing.
    """
    placement, files = [], set(os.listdir(folder))
    for rank in sorted(int(name) for name in files if name.isdecimal()):
        lines = (folder / str(rank)).read_text().splitlines()
        if len(lines) not in (4, 5):
            continue
        host, process, local_rank, cores, *domains = lines
        numbers = {"process": int(process), "local_rank": int(local_rank)}
        placement.append({"rank": rank, "host": host, **numbers, "cores": cores})
        if domains:
            placement[-1]["domains"] = dict(map(str.split, domains[0].split(), repeat("=")))
        if (threads := f"{rank}.threads") in files:
            placement[-1]["threads"] = read_threads(folder / threads)
    return placement


def read_threads(file: Path) -> list[dict[str, Any]]:
    """Read the cores and the CPU time of each thread of a rank, busiest first; empty without the file."""
    lines = file.read_text().splitlines() if file.exists() else []
    threads = ((float(seconds), cores) for seconds, cores in map(str.split, lines))
    return [{"cores": cores, "cpu_seconds": seconds} for seconds, cores in sorted(threads, reverse=True)]


def check_placement(placement: Sequence[dict[str, Any]], point: Point, nodes: Sequence[Node]) -> str | None:
    """Return one line for the first rank that ran elsewhere than planned; None if all ran as planned.

    Checks, in this order: the ranks, the number of nodes, the node and the number of cores of each rank, the
    number of ranks on each core, and the identity of the nodes.
    """
    ranks = [rank["rank"] for rank in placement]
    if ranks != list(range(point.processes)):
        return f"ranks {ranks} started, not 0 to {point.processes - 1}"
    hosts = list(dict.fromkeys(rank["host"] for rank in placement))
    if len(hosts) != point.nodes:
        return f"ran on {counted(len(hosts), 'node')} ({', '.join(hosts)}), not on {point.nodes}"
    planned = [host for host, count in zip(hosts, ranks_of_nodes(point), strict=True) for _ in range(count)]
    for rank, host in zip(placement, planned, strict=True):
        if rank["host"] != host:
            return f"rank {rank['rank']} ran on {rank['host']}, not on {host}"
        if len(core_numbers(rank["cores"])) != point.cores_per_process:
            planned_cores = "one" if point.cores_per_process == 1 else str(point.cores_per_process)
            return f"rank {rank['rank']} could use cores {rank['cores']}, not only {planned_cores}"
    for number, (host, cores) in enumerate(zip(hosts, cores_of_nodes(point), strict=True)):
        on_host = [core_numbers(rank["cores"]) for rank in placement if rank["host"] == host]
        load = Counter(core for cores_of_rank in on_host for core in cores_of_rank)
        if len(load) != cores or max(load.values()) > point.processes_per_core:
            ran = ", ".join(f"{count} on core {core}" for core, count in sorted(load.items()))
            return f"{host}: {ran}, not {point.processes_per_core} on each of {cores} cores"
        if nodes and not _is_on(nodes[number], host, load):
            node = nodes[number]
            its_cores = "" if node.cores is None else f" with cores {list(node.cores)}"
            return f"{host} with cores {sorted(load)} is not {node.name}{its_cores}"
    return None


def _is_on(node: Node, host: str, cores: Iterable[int]) -> bool:
    """Whether a host (perhaps with its domain name) is a node, and the cores are cores of that node."""
    is_named = host.partition(".")[0] == node.name.partition(".")[0]
    return is_named and (node.cores is None or set(cores) <= set(node.cores))


def check_threads(placement: Sequence[dict[str, Any]], point: Point) -> str | None:
    """Compare the cores on which the threads of each process ran with the plan of the point.

    Threads of OpenMP are bound to single cores. Threads of a BLAS library are not: they may use all cores of
    their process. No other process uses these cores, so the kernel gives each thread its own core.

    Returns
    -------
    str or None
        One line for the first difference: a process with fewer or more computing threads, a thread outside
        the cores of its process, or more threads on a core than planned.
    """
    planned = math.ceil(point.threads / point.cores_per_process)  # threads on each core
    for rank in placement if point.threads > 1 else ():
        name, threads = f"rank {rank['rank']}", rank.get("threads")
        if not threads:
            return f"{name} reported no threads: this needs an MPI compiler and a call of MPI_Finalize"
        shares = [thread["cpu_seconds"] / max(threads[0]["cpu_seconds"], 1e-9) for thread in threads]
        busy = sum(share > BUSY for share in shares)
        not_idle = sum(share > IDLE for share in shares)
        computing = max(busy, min(not_idle, point.threads), 1)
        if computing != point.threads:
            return f"{name} computed with {counted(computing, 'thread')}, not {point.threads}"
        cores_of_threads = [frozenset(core_numbers(thread["cores"])) for thread in threads[: point.threads]]
        cores_of_rank = set(core_numbers(rank["cores"]))
        for cores in cores_of_threads:
            sharing = sum(others <= cores for others in cores_of_threads)
            if not cores <= cores_of_rank or sharing > planned * len(cores):
                where = f"{'core' if len(cores) == 1 else 'cores'} {', '.join(map(str, sorted(cores)))}"
                return (
                    f"{name}: {sharing} of its threads on {where}, "
                    f"not {planned} on each of cores {rank['cores']}"
                )
    return None


def check_domains(placement: Sequence[dict[str, Any]], planned: str | None) -> str | None:
    """Compare the domains (NUMA nodes, else L3 caches) of the ranks with ``launch.placement``.

    Parameters
    ----------
    planned : str or None
        ``packed``: ranks fill a domain of a node before they take the next. ``spread``: ranks use as many
        domains as possible, and their numbers in two domains differ by at most one.

    Returns
    -------
    str or None
        One line for the first node that differs.
    """
    for host in dict.fromkeys(rank["host"] for rank in placement) if planned else ():
        ranks = [rank for rank in placement if rank["host"] == host]
        domain_of_core: dict[str, str] = ranks[0].get("domains", {})
        cores_in_domain: Counter[str] = Counter(domain_of_core.values())
        used: Counter[str] = Counter()  # by domain: cores if packed, ranks if spread
        for rank in ranks:
            domains = [domain_of_core.get(str(core), "?") for core in core_numbers(rank["cores"])]
            used.update(domains if planned == "packed" else domains[:1])
        if planned == "packed":
            partly_used = [domain for domain, count in used.items() if count < cores_in_domain[domain]]
            is_as_planned = len(partly_used) <= 1
        else:
            uses_all = len(used) == min(len(cores_in_domain), len(ranks))
            is_as_planned = uses_all and max(used.values()) - min(used.values()) <= 1
        if "?" in used or not is_as_planned:
            ran = ", ".join(f"{count} in domain {domain}" for domain, count in sorted(used.items()))
            return f"{host}: {ran} of {len(cores_in_domain)}, which is not {planned}"
    return None


def core_numbers(cores: str) -> list[int]:
    """Return the numbers in a list of cores as the kernel writes it (``0-1,4``)."""
    spans = [span.partition("-") for span in cores.split(",")]
    return [core for first, _, last in spans for core in range(int(first), int(last or first) + 1)]


def choose_cores(
    placement: str, slot: int, cores_per_rank: int, cores: Iterable[int], cpus: Path = _CPUS
) -> tuple[str, str]:
    """Choose the cores of a rank with the program ``domains``.

    Parameters
    ----------
    placement : str
        ``packed`` or ``spread``: see `check_domains`.
    slot : int
        Position of the rank's cores among all cores that the ranks of the node use, counted in ranks.
    cores : iterable of int
        Cores of the node that its ranks may use.
    cpus : Path
        Folder in which the kernel describes the CPUs.

    Returns
    -------
    str, str
        The rank's cores, separated by commas, and the domain of each core of the node: ``0=0 1=0 2=1``.

    Raises
    ------
    ValueError
        The cores cannot be chosen: one line with the reason.
    """
    words = [PROGRAMS / "domains", cpus, placement, slot, cores_per_rank, *cores]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True)
    if done.returncode:
        raise ValueError(done.stderr.strip())
    chosen, domains = done.stdout.splitlines()
    return chosen, domains


def cannot_place(placement: str, cores: Iterable[int], cpus: Path = _CPUS) -> str | None:
    """Return why ranks cannot be packed or spread on these cores; None if they can."""
    try:
        choose_cores(placement, 0, 1, cores, cpus)
    except ValueError as error:
        return str(error)
    return None
