"""The jobs of a study on a cluster, and the size of each."""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from workflows.domain import Case, InputError, Point, Repetition, short_digest
from workflows.jobs.cluster import Cluster
from workflows.jobs.scheduler import SUBMITTED_JOBS, JobRequest, NodeSelection
from workflows.launch.ranks import most_cores_of_a_node
from workflows.plan import files
from workflows.plan.design import expected_cost
from workflows.plan.plan import Plan

BASE_MB = 600
"""Memory of Snakemake and the measuring program, on the first node."""

RANK_MB = 60
"""Memory of MPI and of a program without data, for each rank."""

WALLTIME_FACTOR = 3.0
"""Ratio of a job's walltime to the expected time of its runs."""

WALLTIME_MINUTES = 2.0
"""Walltime that a job gets in addition to the time for its runs."""

NODE_SHARE = 0.9
"""Share of a node's memory for a job that has the node for itself; the system keeps the rest."""

GROUPED = 10
"""Number of process counts up to which a single job prepares a case."""

PREPARING_MINUTES = 10
"""Walltime of a step that prepares a case, as in the profiles."""


def in_jobs(plan: Plan) -> bool:
    """Whether each block of compared points is a job of its own."""
    return plan.here.cluster is not None and not plan.asked.study.allocation


def cluster_of(plan: Plan) -> Cluster:
    """Return the cluster of a plan whose runs are made in jobs."""
    if plan.here.cluster is None:
        raise ValueError("the plan is for a single machine")
    return plan.here.cluster


@dataclass(frozen=True)
class Batch:
    """Repetitions that a single job measures: blocks of points that are compared with each other.

    Attributes
    ----------
    name : str
        Path of the batch's list of records below ``results/<study>/measured``, without its suffix.
    repetitions : tuple of Repetition
        In the order of their runs.
    selection : NodeSelection
        Nodes of the job.
    """

    name: str
    repetitions: tuple[Repetition, ...]
    selection: NodeSelection

    @property
    def points(self) -> list[Point]:
        """Points of the repetitions, without duplicates."""
        return list(dict.fromkeys(repetition.point for repetition in self.repetitions))


def batches(plan: Plan) -> dict[str, Batch]:
    """Divide the runs of a study into batches, one per job.

    Returns
    -------
    dict of str to Batch
        Batches by their names, in the order of the blocks.

    Raises
    ------
    InputError
        If no node has the memory, or if the study adds blocks by itself, which jobs cannot do.
    """
    study, cluster = plan.asked.study, cluster_of(plan)
    if study.until:
        raise InputError(
            f"{study.file}: until: jobs of single blocks cannot add blocks; run it in one allocation "
            "(sbatch cluster/allocation.sh), or leave it out"
        )

    def partition_folder(interconnect: str | None) -> str:
        """Name the partition and constraint of an interconnect, if interconnects differ in them."""
        selection = cluster.selection(interconnect)
        names = [selection.partition] if cluster.partitions else []
        names += [selection.constraint] if cluster.constraints else []
        return re.sub(r"[^\w.,+@:-]", "_", "-".join(filter(None, names)))

    def key(repetition: Repetition) -> tuple[int, str, int, int, str]:
        point = repetition.point
        job_number = (repetition.block - 1) // cluster.blocks_per_job
        folder = partition_folder(point.interconnect)
        return job_number, point.case, point.computing, point.oversubscription, folder

    batches_by_name: dict[str, Batch] = {}
    ordered = sorted(plan.design.repetitions, key=key)
    for (job_number, case, computing, level, partition), group in groupby(ordered, key):
        runs = tuple(group)
        unit = "threads" if any(repetition.point.threads > 1 for repetition in runs) else "processes"
        first, last = job_number * cluster.blocks_per_job + 1, (job_number + 1) * cluster.blocks_per_job
        folders = [case, f"{unit}-{computing}", f"oversubscription-{level}", *filter(None, [partition])]
        name = "/".join([*folders, f"blocks-{first}-{last}"])
        batches_by_name[name] = Batch(name, runs, cluster.selection(runs[0].point.interconnect))
    for batch in batches_by_name.values():
        _check_memory(plan, batch)
    return batches_by_name


def _check_memory(plan: Plan, batch: Batch) -> None:
    """Raise an `InputError` if a point of the batch needs more memory per node than the nodes have.

    The job of such a batch would wait in the queue for ever.
    """
    for point in batch.points:
        needed = memory_of(plan.asked.cases[point.case], point)
        available = cluster_of(plan).nodes_of(point.interconnect).memory_MB
        if needed > available:
            raise InputError(
                f"{plan.asked.study.file}: {point.case} on {point.in_words} needs {needed} MB a "
                f"node; the cluster's nodes have {available}"
            )


def memory_of(case: Case, point: Point) -> int:
    """Return the memory of each node for runs of a point, in MB.

    It is the sum of 1.5 times the case's share per node, RANK_MB for each rank of the node, and BASE_MB.
    """
    data_mb, ranks = case.memory_MB / point.nodes, point.processes + point.servers
    return math.ceil(1.5 * data_mb + RANK_MB * math.ceil(ranks / point.nodes) + BASE_MB)


def due(plan: Plan, batch: Batch) -> list[str]:
    """Describe what a batch is to run. Snakemake runs the job again if the description changes.

    Returns
    -------
    list of str
        First a digest of the repetitions and of the requests to repeat them. Then the paths of records that
        the batch made earlier and that no longer exist.
    """
    runs = [
        (repetition.point, repetition.block, plan.design.inputs(repetition.point))
        for repetition in batch.repetitions
    ]
    requests = [request for request in plan.requests if any(map(request.covers, batch.points))]
    digest = short_digest(repr([runs, requests]).encode())
    return [digest, *files.lost_records(plan.paths.batch(batch.name))]


def preparing_group(plan: Plan) -> str | None:
    """Return the Snakemake group in which a single job prepares a case; None if each step is a job.

    The walltime of a group is the sum of the walltimes of its steps. A group is used only if the cluster
    allows this sum. It is used for few process counts only, because Snakemake's own work grows with the cube
    of the group's size.
    """
    fits = plan.here.cluster is None or _preparing_group_minutes(plan) <= plan.here.cluster.minutes
    return "prepare" if fits and len(plan.asked.study.processes) <= GROUPED else None


def _preparing_group_minutes(plan: Plan) -> int:
    """Return the walltime of all steps: mesh, decomposition for each process count, expected answer."""
    steps = 1 + sum(count > 1 for count in plan.asked.study.processes)
    return steps * PREPARING_MINUTES + max(reference_minutes(plan).values(), default=0)


def preparing_minutes(cluster: Cluster) -> int:
    """Return the walltime of a step that prepares a case."""
    return min(PREPARING_MINUTES, cluster.minutes)


def reference_minutes(plan: Plan) -> dict[str, int]:
    """Return, for each case, the walltime of the step that determines its expected answer, in minutes.

    It has at least the walltime of the other steps. A serial run or trial run has WALLTIME_FACTOR times its
    expected time, but at most the time limit of a run, which it has if its time is a guess. WALLTIME_MINUTES
    are added.
    """
    asked, minutes = plan.asked, {}
    for name in files.cases((*plan.design.points, *plan.design.simulated)):
        case, is_guess = asked.cases[name], name in asked.untimed | asked.never_run
        needed = float(PREPARING_MINUTES)
        if case.needs_serial_run or case.trial_processes:
            expected = math.inf if is_guess else WALLTIME_FACTOR * case.serial_seconds
            seconds = min(expected, asked.study.limits.run_seconds)
            needed = max(needed, seconds / 60 + WALLTIME_MINUTES)
        minutes[name] = min(math.ceil(needed), cluster_of(plan).minutes)
    return minutes


def reference_resources(plan: Plan) -> dict[str, Any]:
    """Return the Snakemake resources of the step that determines the expected answer of a case."""
    cluster = plan.here.cluster
    resources = preparing_resources(cluster)
    minutes = reference_minutes(plan) if cluster else {}
    if cluster is None or {*minutes.values()} <= {preparing_minutes(cluster)}:
        return resources

    def runtime(wildcards: Any) -> int:
        return cluster.scheduler.runtime(minutes.get(wildcards.case, PREPARING_MINUTES))

    return resources | {"runtime": runtime}


def preparing_resources(cluster: Cluster | None) -> dict[str, str | int]:
    """Return the Snakemake resources of a step that prepares a case.

    They include a walltime only if the cluster allows less than the walltime in the profiles.
    """
    if cluster is None or (minutes := preparing_minutes(cluster)) == PREPARING_MINUTES:
        return site_resources(cluster)
    return site_resources(cluster) | {"runtime": cluster.scheduler.runtime(minutes)}


def request_of(plan: Plan, batch: Batch) -> JobRequest:
    """Return the request for the job of a batch: the most that any of its points needs.

    The walltime is `needed_minutes`, but at most the cluster's ``minutes``.
    """
    points = batch.points
    return JobRequest(
        nodes=max(point.nodes for point in points),
        tasks_per_node=max(map(most_cores_of_a_node, points)),
        memory_MB=max(memory_of(plan.asked.cases[point.case], point) for point in points),
        minutes=min(needed_minutes(plan, batch), cluster_of(plan).minutes),
    )


def needed_minutes(plan: Plan, batch: Batch) -> int:
    """Return the walltime of a batch in minutes, as if the cluster had no limit.

    It is WALLTIME_FACTOR times the expected time of the runs, but at least the time limit of a run. The wait
    for an idle machine and WALLTIME_MINUTES are added.
    """
    limits = plan.asked.study.limits
    points = [repetition.point for repetition in batch.repetitions]
    expected = expected_cost(points, 1, plan.asked.cases).seconds
    seconds = max(WALLTIME_FACTOR * expected, limits.run_seconds) + limits.idle_seconds
    return math.ceil(seconds / 60 + WALLTIME_MINUTES)


HIDDEN_NEIGHBOURS = (
    "{} hides jobs of others or nodes from you (PrivateData): whether somebody else was on a node that "
    "was to be exclusive is not checked"
)


def check_requests(plan: Plan) -> None:
    """Ask the scheduler whether it would accept the jobs of a study, once for each size of job.

    Raises
    ------
    InputError
        One line for the first job that the scheduler refuses, or if no job can be submitted.
    """
    cluster = plan.here.cluster
    if cluster is None or not in_jobs(plan):
        return
    for path in (plan.asked.study.file, cluster.file, Path.cwd()):
        if "'" in str(path):  # Snakemake quotes such a path with ", so the shell would expand $ and ` in it
            raise InputError(f"{path}: a path with ' in it cannot be given to jobs: use another")
    scheduler = cluster.scheduler
    if cluster.is_elsewhere:
        missing = f"{scheduler.name}: {scheduler.absence}"
        raise InputError(
            f"{cluster.file}: scheduler: {missing}, so no job can be submitted here; "
            "--dry-run plans the study"
        )
    os.environ[SUBMITTED_JOBS] = str(plan.paths.submitted.absolute())
    if cluster.exclusive and scheduler.hides_neighbours():
        print(HIDDEN_NEIGHBOURS.format(scheduler.title), file=sys.stderr)
    first_batch: dict[tuple[JobRequest, NodeSelection], str] = {}
    for name, batch in batches(plan).items():
        first_batch.setdefault((request_of(plan, batch), batch.selection), name)
    requests = {name: request for request, name in reversed(first_batch.items())}
    longest_step = max([preparing_minutes(cluster), *reference_minutes(plan).values()])
    minutes = _preparing_group_minutes(plan) if preparing_group(plan) else longest_step
    scheduler.check_requests(cluster, requests, minutes)


def measuring_resources(plan: Plan, batches_by_name: Mapping[str, Batch]) -> dict[str, Any]:
    """Return the Snakemake resources of the rule that measures batches.

    Returns
    -------
    dict
        Resources by name: a plain value if all batches have the same value, else a function that takes the
        wildcards of a job and returns the value of its batch.
    """
    cluster = cluster_of(plan)
    by_batch = {
        name: cluster.scheduler.resources(cluster, request_of(plan, batch), batch.selection)
        for name, batch in batches_by_name.items()
    }

    def of_batch(resource: str) -> Callable[[Any], Any]:
        return lambda wildcards: by_batch[wildcards.batch][resource]

    resources = site_resources(cluster)
    for resource in next(iter(by_batch.values()), {}):
        values = {each[resource] for each in by_batch.values()}
        resources[resource] = values.pop() if len(values) == 1 else of_batch(resource)
    return {name: value for name, value in resources.items() if value is not None}


def whole_node(plan: Plan) -> dict[str, int | str]:
    """Return the Snakemake resources of a job that simulates points, and has a node for itself.

    They are empty without a cluster, in an allocation, and if nothing is simulated.
    """
    cluster, request = plan.here.cluster, whole_node_request(plan)
    if cluster is None or request is None:
        return {}
    resources = cluster.scheduler.resources(cluster, request, cluster.selection(None))
    return site_resources(cluster) | {name: value for name, value in resources.items() if value is not None}


def whole_node_request(plan: Plan) -> JobRequest | None:
    """Return the request for a job with a node for itself; None where `whole_node` is empty."""
    cluster = plan.here.cluster
    if cluster is None or not in_jobs(plan) or not plan.design.simulated:
        return None
    node = cluster.nodes_of(None)
    return JobRequest(1, node.cores, math.floor(NODE_SHARE * node.memory_MB), cluster.minutes)


def site_modules(cluster: Cluster | None) -> list[str]:
    """Return the environment modules that jobs load to prepare or run cases."""
    return list(cluster.modules) if cluster else []


def site_resources(cluster: Cluster | None) -> dict[str, Any]:
    """Return the Snakemake resources of every job of a site; empty without a cluster."""
    return dict(cluster.scheduler.common_resources(cluster)) if cluster else {}
