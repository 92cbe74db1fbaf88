"""The design of a study: its points, its blocks and their order. Pure functions."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby, product
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType

from workflows.domain import Case, Interconnect, LeftOut, Point, Repetition, counted, short_digest
from workflows.launch.mpi.registry import library_of
from workflows.launch.ranks import most_cores_of_a_node
from workflows.plan.here import Here
from workflows.study.asked import Asked
from workflows.study.study import Study
from workflows.traffic.cases import has_array, sends_beside_mpi


@dataclass(frozen=True)
class Cost:
    """Expected cost of a study: runs, wall seconds here, core hours of the occupied cores."""

    runs: int
    seconds: float
    core_hours: float


@dataclass(frozen=True)
class Design:
    """The runs of a study, their order, and the inputs that determine each run.

    Attributes
    ----------
    asked : Asked
        The study, its cases and its interconnects.
    here : Here
        What this machine or cluster can run.
    points : tuple of Point
        Points that can be run here now. Records of other points of the study still belong to its results.
    simulated : tuple of Point
        Simulated points, and the simulated serial points that their speedups refer to.
    left_out : tuple of LeftOut
        Parts of the study that cannot be run here.
    blocks : int
        Number of blocks, including the blocks that the study has added so far.
    recorded_seconds : mapping of Point to float
        Median wall time of the recorded runs of a point. It replaces the estimate from the serial time.
    """

    asked: Asked
    here: Here
    points: tuple[Point, ...]
    simulated: tuple[Point, ...]
    left_out: tuple[LeftOut, ...]
    blocks: int
    recorded_seconds: Mapping[Point, float] = field(default_factory=dict)

    @cached_property
    def repetitions(self) -> list[Repetition]:
        """All runs in their order."""
        blocks, seed, cluster = range(1, self.blocks + 1), self.asked.study.seed, self.here.cluster
        if cluster is None:
            return repetitions(self.points, blocks, seed)
        return repetitions(self.points, blocks, seed, cluster.selection)

    @cached_property
    def occupied_cores(self) -> dict[Point, int]:
        """Cores that are occupied during a run of each point; on one machine, the cores of the point.

        A job has the nodes of its largest point, and an allocation those of the largest point of the study.
        Exclusive nodes are occupied as a whole.
        """
        cluster = self.here.cluster
        if cluster is None:
            return {point: point.cores for point in self.points}
        groups = (
            [list(self.points)] if self.asked.study.allocation else _groups(self.points, cluster.selection)
        )
        occupied = {}
        for group in groups:
            nodes, cores = max(point.nodes for point in group), max(map(most_cores_of_a_node, group))
            for point in group:
                per_node = cluster.nodes_of(point.interconnect).cores if cluster.exclusive else cores
                occupied[point] = nodes * per_node
        return occupied

    @property
    def core_hours_unit(self) -> str:
        """Unit of the core hours of a cost."""
        cluster = self.here.cluster
        return "core hours of whole nodes" if cluster and cluster.exclusive else "core hours"

    @cached_property
    def cost(self) -> Cost:
        """Expected cost of all runs; the least cost of a study with ``until``."""
        return self.cost_of(self.points, stated_blocks(self.asked.study))

    def cost_of(self, points: Iterable[Point], blocks: int) -> Cost:
        """Return the expected cost of `blocks` runs of each of some points of the design."""
        return expected_cost(points, blocks, self.asked.cases, self.occupied_cores, self.recorded_seconds)

    @cached_property
    def highest_cost(self) -> Cost:
        """Highest expected cost of a study with ``until``; its last block may exceed the budget."""
        study = self.asked.study
        if study.until is None:
            return self.cost
        whole = self.cost_of(self.points, study.until.max_blocks)
        if not self.points:
            return whole
        share = min(1.0, study.limits.core_hours / whole.core_hours)
        return Cost(round(whole.runs * share), whole.seconds * share, whole.core_hours * share)

    def inputs(self, point: Point) -> dict[str, str | None]:
        """Return the digests of the inputs of a point. Records with other digests do not count."""
        return {
            "case": self.asked.case_digests[point.case],
            "interconnect": point.interconnect and self.asked.interconnect_digests.get(point.interconnect),
            **({"cluster": cluster.digest} if (cluster := self.here.cluster) else {}),
        }

    def companions(self, repetition: Repetition) -> dict[str, str]:
        """Return the interconnects that share the block of a repetition, and their digests."""
        digests = self.asked.interconnect_digests
        return {name: digests[name.split("/")[0]] for name in repetition.companions}

    @cached_property
    def digest(self) -> str:
        """Digest of all runs; after a change, runs may be missing."""
        study = self.asked.study
        until = [study.until] if study.until else []
        return _digest([study.blocks, *until, [(point, self.inputs(point)) for point in self.points]])

    @cached_property
    def replay_digest(self) -> str:
        """Digest of all simulated points, and of the settings of their simulation."""
        points = [(point, self.inputs(point)) for point in self.simulated]
        keys = ("host_speed", "host_speed_range", "processor", "corun_percent")
        return _digest([points, *map(self.asked.study.simulation.get, keys)])

    @cached_property
    def description(self) -> str:
        """Digest of everything that tables and report take from the study, its cases and interconnects."""
        asked, cluster = self.asked, self.here.cluster and self.here.cluster.digest
        inputs = [asked.case_digests, asked.interconnect_digests, cluster]
        # A dry run has copies of users' inputs in a temporary folder.
        cases = {name: replace(case, folder=Path(case.folder.name)) for name, case in asked.cases.items()}
        return _digest([asked.study, cases, asked.interconnects, self.left_out, asked.request, inputs])


def stated_blocks(study: Study) -> int:
    """Return the number of blocks of a study; `read_asked` chooses it if the file does not state it."""
    if study.blocks is None:
        raise ValueError(f"{study.file}: the number of blocks is not chosen yet")
    return study.blocks


def design(asked: Asked, here: Here, blocks: int) -> Design:
    """Choose the points of a study that can be run here, with `blocks` repetitions each."""
    study = asked.study

    def runnable(cases: Mapping[str, Case]) -> dict[str, Case]:
        return {name: case for name, case in cases.items() if name not in here.missing_programs}

    interconnects = asked.interconnects.values()
    usable = [interconnect for interconnect in interconnects if interconnect.name not in here.unavailable]
    launched = {interconnect.name: interconnect for interconnect in usable if not interconnect.simulate}
    simulating = {interconnect.name: interconnect for interconnect in usable if interconnect.simulate}
    only_simulated = bool(interconnects) and all(interconnect.simulate for interconnect in interconnects)

    to_measure = {} if only_simulated else runnable(asked.measured)
    measured, not_measured = points(study, to_measure, launched, here.unsuited, here.unthreaded)
    simulated: list[Point] = []
    not_simulated: list[LeftOut] = []
    if simulating:
        simulated, not_simulated = points(
            study.replayed, runnable(asked.replayed), simulating, {}, here.unthreaded, here.traced_cores
        )
    left_out = (*here.left_out, *not_measured, *not_simulated)
    return Design(asked, here, tuple(measured), tuple(simulated), left_out, blocks)


EXCLUDED = "excluded by the study"
"""Reason why a point that the key ``exclude`` of a study matches is left out."""


def points(
    study: Study,
    cases: Mapping[str, Case],
    interconnects: Mapping[str, Interconnect],
    unsuited: Mapping[tuple[str, str | None], str] = MappingProxyType({}),
    unthreaded: Mapping[tuple[str, str], str] = MappingProxyType({}),
    traced_cores: int | None = None,
) -> tuple[list[Point], list[LeftOut]]:
    """Return every point of a study that can be run, and the points that are left out.

    Parameters
    ----------
    cases, interconnects : mapping of str to Case, Interconnect
        Cases and interconnects that can be used here. Other names in the study are skipped.
    unsuited, unthreaded, traced_cores
        Reasons why a case cannot run over an interconnect, or cannot run with threads: see `Here`.

    Returns
    -------
    list of Point
        For each case: its serial point, then by processes, oversubscription and the study's order of
        interconnects. A single process with several threads is run over every interconnect.
    list of LeftOut
        One entry for each reason.
    """
    possible: list[Point] = []
    refused: defaultdict[str, list[Point]] = defaultdict(list)
    for case, processes in product(study.cases, study.processes):
        name = study.case_at(case, processes)
        if name not in cases:
            continue
        threads = study.threads
        if processes == 1 and 1 in threads:
            serial = Point(name, None, 1, 1, nodes=1, cores=1)
            reason = unsuited.get((name, None)) or _too_few(serial, cases[name])
            reason = reason or (EXCLUDED if study.excludes(serial) else None)
            (refused[reason] if reason else possible).append(serial)
            threads = threads[1:]
        usable = [interconnects[name] for name in study.interconnects if name in interconnects]
        placements = study.processes_per_node or (None,)
        varied = product(study.oversubscription, usable, placements, threads)
        for level, interconnect, per_node, thread_count in varied:
            point = _point(cases[name], interconnect, processes, level, per_node, thread_count)
            if study.is_generated and study.excludes(point):
                continue  # the user excluded nothing
            reason = unsuited.get((name, interconnect.name))
            if not reason and thread_count > 1:
                reason = unthreaded.get((name, interconnect.name))
            if not reason and traced_cores and thread_count > traced_cores:
                reason = f"a rank is traced with a core for each thread, and there are {traced_cores}"
            reason = reason or _impossible(point, cases[name], interconnect, study)
            if not reason and study.excludes(point):
                reason = EXCLUDED
            (refused[reason] if reason else possible).append(point)
    return possible, [LeftOut(_describe(left, cases, study), reason) for reason, left in refused.items()]


def _describe(points: Sequence[Point], cases: Iterable[str], study: Study) -> str:
    """Describe points in a few words, such as ``4 processes at oversubscription 2 over tcp for elbow``.

    The cases are named only where they are not all cases of the study.
    """
    descriptions = []
    all_cases = {study.case_of(case) for case in cases}
    for layout in dict.fromkeys(map(_layout, points)):
        group = [point for point in points if _layout(point) == layout]
        processes, level, per_node = layout
        placement = f", {per_node} a node," if per_node else ""
        over = ", ".join(dict.fromkeys(point.interconnect or "serial" for point in group))
        case_names = dict.fromkeys(study.case_of(point.case) for point in group)
        of_cases = "" if set(case_names) == all_cases else f" for {', '.join(case_names)}"
        descriptions.append(f"{processes} at oversubscription {level}{placement} over {over}{of_cases}")
    return "; ".join(descriptions)


_layout = attrgetter("in_words", "oversubscription", "processes_per_node")


def _point(
    case: Case, interconnect: Interconnect, processes: int, level: int, per_node: int | None, threads: int
) -> Point:
    """Return a point with its numbers of cores and nodes; nodes are filled unless `per_node` is given."""
    servers = case.option.servers_per_process if case.option else 0
    running_per_process = threads + servers
    cores = math.ceil(processes * running_per_process / level)
    fitting = max(1, interconnect.cores_per_node * level // running_per_process)
    nodes = math.ceil(processes / (per_node or fitting))
    return Point(case.name, interconnect.name, processes, level, nodes, cores, per_node, servers, threads)


def _too_few(point: Point, case: Case) -> str | None:
    if point.processes < case.fewest_processes:
        return f"the case needs {case.fewest_processes} processes or more"
    return None


def _impossible(point: Point, case: Case, interconnect: Interconnect, study: Study) -> str | None:
    """Return why a point cannot be run over its interconnect, or None."""
    available_cores = interconnect.nodes * interconnect.cores_per_node
    per_process, level = point.running_per_process, point.oversubscription
    if point.threads > 1 and point.servers_per_process:
        return "data servers need processes with one thread"
    if interconnect.simulate and (level > 1 or point.servers) and not has_array(case):
        return "a simulated interconnect has a core for each thread, and no servers but in data_servers"
    if interconnect.simulate and sends_beside_mpi(case):
        return "its messages do not go through MPI, so nothing of them can be traced and replayed"
    helpers = "threads" if point.threads > 1 else "servers"
    running = f"processes and their {helpers}" if per_process > 1 else "processes"
    library = library_of(interconnect) if interconnect.launch else None
    if level > 1 and library and library.oversubscription_problem:
        return library.oversubscription_problem
    if point.running % level:
        return f"the {running} do not divide by the oversubscription level"
    if per_process % level and level % per_process:
        return (
            f"a process and its {helpers}, {per_process}, cannot be spread evenly "
            "at the oversubscription level"
        )
    if per_process > interconnect.cores_per_node * level:
        return f"a node has too few cores for a process and its {helpers} ({interconnect.cores_per_node})"
    option = case.option.environment if case.option else {}
    if library and (problem := library.option_problem(interconnect.launch, option)):
        return problem
    if point.cores > available_cores:
        return f"needs more cores than there are ({available_cores})"
    if reason := _too_few(point, case):
        return reason
    if case.divisible is not None and case.divisible % point.processes:
        return f"the decomposition of {case.name} needs a count that divides {case.divisible}"
    if point.processes_per_node is not None:
        fewest = min(study.processes_per_node)
        return _misplaced(point, interconnect, point.processes_per_node, fewest)
    if interconnect.kind == "emulated" and point.nodes == 1:
        return "would not leave one node, so nothing of the emulated interconnect would be used"
    return None


def _misplaced(point: Point, interconnect: Interconnect, per_node: int, fewest_per_node: int) -> str | None:
    """Return why a point cannot have `per_node` processes per node, or None.

    Emulated nodes get as many cores as the placement needs. But they need at least two nodes in the placement
    with the fewest processes per node.
    """
    level = point.oversubscription
    if point.processes % per_node:
        return f"the processes do not fill nodes of {per_node}"
    running = per_node * point.running_per_process
    if running % level:
        return f"what runs on a node ({running}) does not divide by the oversubscription level"
    if interconnect.kind == "emulated":
        spread = point.processes > fewest_per_node
        return None if spread else "would not leave one node in any of the study's placements"
    if point.nodes > interconnect.nodes:
        return f"{interconnect.name} has {counted(interconnect.nodes, 'node')} here"
    if running > interconnect.cores_per_node * level:
        return f"nodes of {interconnect.name} have {interconnect.cores_per_node} cores"
    return None


def repetitions(
    points: Sequence[Point],
    blocks: Iterable[int],
    seed: int,
    nodes_of: Callable[[str | None], Sequence[str | None]] = lambda _: (),
) -> list[Repetition]:
    """Return the runs of a study in their order.

    Block 1 of every point comes before block 2 of any point. Points that are compared with each other form a
    group. Within a block, the groups come in random order. Within a group, the points come in random order.

    Parameters
    ----------
    seed : int
        Seed of the random order. The order of a block depends only on the seed and the block's number.
    nodes_of : callable
        Returns the partition and constraint of the nodes that runs over an interconnect use. Points on
        different nodes are not in the same group.
    """
    groups = _groups(points, nodes_of)
    ordered = []
    for block in blocks:
        generator = random.Random(f"{seed}/{block}")
        for group in generator.sample(groups, len(groups)):
            companions = tuple(sorted(point.companion for point in group if point.companion))
            shuffled = generator.sample(group, len(group))
            ordered += [Repetition(point, block, companions) for point in shuffled]
    return ordered


def _groups(
    points: Sequence[Point], nodes_of: Callable[[str | None], Sequence[str | None]]
) -> list[list[Point]]:
    """Return the groups of points that are compared with each other: see `repetitions`."""

    def group_key(point: Point) -> tuple[str, int, int, str]:
        nodes = "".join(part or "" for part in nodes_of(point.interconnect))
        return point.case, point.computing, point.oversubscription, nodes

    return [list(group) for _, group in groupby(sorted(points, key=group_key), key=group_key)]


OVERHEAD_SECONDS = 0.7
"""Time to launch and start one run, including its probe."""
TURN_SECONDS = 0.3
"""Additional time to start each process that has no core for itself."""
PARALLEL_LOSS = 2.0
"""Ratio of a parallel run's time to its time at perfect speedup: the mean of the shipped studies on slow
interconnects."""


def expected_seconds(point: Point, case: Case) -> float:
    """Estimate the time of one run of a point from its case's time on one core, ``serial_seconds``."""
    loss = PARALLEL_LOSS if point.computing > 1 else 1.0
    starting = OVERHEAD_SECONDS + TURN_SECONDS * (point.running - point.cores)
    return loss * case.serial_seconds / point.cores + starting


def expected_cost(
    points: Iterable[Point],
    blocks: int,
    cases: Mapping[str, Case],
    occupied_cores: Mapping[Point, int] = MappingProxyType({}),
    recorded_seconds: Mapping[Point, float] = MappingProxyType({}),
) -> Cost:
    """Estimate the cost of all runs of a study from recorded times, or from the serial times of the cases.

    A point that `occupied_cores` lacks occupies its own cores.
    """
    runs, seconds, core_seconds = 0, 0.0, 0.0
    for point in points:
        run_seconds = expected_seconds(point, cases[point.case])
        if point in recorded_seconds:
            run_seconds = recorded_seconds[point] + OVERHEAD_SECONDS
        runs += blocks
        seconds += blocks * run_seconds
        core_seconds += blocks * run_seconds * occupied_cores.get(point, point.cores)
    return Cost(runs, seconds, core_seconds / 3600)


_trace_of = attrgetter("case", "processes", "threads")

TRACING_SECONDS, TRACING_SECONDS_OF_RANK = 15.0, 0.25
"""Time to make a trace, mostly for repeated runs of single ranks, and further time for each of its ranks.

Measured: 97 s for the elbow of 4,000 cells on 1, 2, 8, 16 and 64 ranks.
"""
REPLAYING_SECONDS = 0.25
"""Time to replay a rank."""


def expected_simulation(points: Collection[Point]) -> float:
    """Estimate the wall seconds that tracing and replaying points take on a machine of two cores."""
    traces = {_trace_of(point) for point in points}
    ranks = sum(processes for _, processes, _ in traces)
    replayed = sum(point.processes for point in points if point.processes > 1)
    return TRACING_SECONDS * len(traces) + TRACING_SECONDS_OF_RANK * ranks + REPLAYING_SECONDS * replayed


def describe(point: Point) -> str:
    """Describe a point in words."""
    if point.interconnect is None:
        return f"{point.case}, serial"
    oversubscribed = f", oversubscription {point.oversubscription}" if point.oversubscription > 1 else ""
    placement = f", {point.processes_per_node} a node" if point.processes_per_node else ""
    return f"{point.case}, {point.interconnect}, {point.in_words}{placement}{oversubscribed}"


def duration(seconds: float) -> str:
    """Return a rough time in words."""
    hours = seconds / 3600
    if hours < 2:
        return f"about {seconds / 60:.0f} min" if seconds >= 90 else f"about {seconds:.0f} s"
    return f"about {in_hours(hours)} h" if hours < 48 else f"about {hours / 24:.0f} days"


def in_hours(core_hours: float) -> str:
    """Return core hours with two digits; from 100 on, as a whole number."""
    return f"{core_hours:.2g}" if core_hours < 100 else f"{core_hours:.0f}"


def _digest(value: object) -> str:
    return short_digest(repr(value).encode())
