"""Schedules: every message of a pattern with its time, its destination and its size.

A write sends a head with the data. The destination answers with a head when the data has arrived.
A read sends a head. The destination answers with a head and the data.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workflows.errors import InputError
from workflows.traffic.patterns import Processes, TrafficJob, one_of, only

DISTRIBUTIONS = ("uniform", "exponential")

MESSAGE = np.dtype(
    [
        ("seconds", np.float64),
        ("process", np.int32),
        ("destination", np.int32),
        ("bytes", np.int64),
        ("write", np.bool_),
        ("job", np.uint8),
    ]
)
"""A message. `process` issues it at `seconds` after the start, for the process `destination`. A write carries
`bytes` to the destination; a read makes the destination send `bytes` back. `job` is the index of the job."""

SCHEDULE_LIMIT = 10_000_000
"""Maximum number of messages of a schedule: 10^7 take about half a gigabyte."""

WINDOW = 4
"""Maximum number of messages of a client that are under way at once."""

BUFFERS = 2
"""Maximum number of messages whose data a process receives at once. Further messages wait at their sender."""

HEAD_WORDS = 5
HEAD_BYTES = 8 * HEAD_WORDS
"""Size of the small message that precedes data or answers."""

INTERVALS, SIZES, TARGETS, WRITES = range(4)


@dataclass(frozen=True)
class Demand:
    """Traffic that each client of a job offers to its link.

    Attributes
    ----------
    offered_load : float
        Mean rate that a client offers, divided by the bandwidth of its link; above 0. Values above 1 are
        more than the link can carry.
    mean_bytes : int
        Mean size of a message.
    sizes : str
        Distribution of the sizes. ``uniform``: whole numbers from 1 to 2 mean_bytes - 1.
        ``exponential``: geometric from 1 on, the counterpart for whole numbers.
    intervals : str
        Distribution of the times between two messages of a client: ``uniform`` (from 0 to twice the mean) or
        ``exponential``.
    write_ratio : float
        Share of writes: 0 for reads only, 1 for writes only.
    """

    offered_load: float
    mean_bytes: int
    sizes: str = "exponential"
    intervals: str = "exponential"
    write_ratio: float = 1.0

    def __post_init__(self) -> None:
        one_of("sizes", self.sizes, DISTRIBUTIONS)
        one_of("intervals", self.intervals, DISTRIBUTIONS)
        if not 0 < self.offered_load < math.inf:
            raise InputError(f"offered_load: {self.offered_load}: must be above 0")
        if self.mean_bytes < 1:
            raise InputError(f"mean_bytes: {self.mean_bytes}: must be 1 or more")
        if not 0 <= self.write_ratio <= 1:
            raise InputError(f"write_ratio: {self.write_ratio}: must be from 0 (all reads) to 1 (all writes)")


def make_schedule(
    jobs: Sequence[TrafficJob],
    demands: Mapping[str, Demand],
    link_bytes_per_second: float,
    seconds: float,
    seed: int,
) -> NDArray[np.void]:
    """Return all messages that the clients of several jobs issue within `seconds`.

    Each client draws its intervals, sizes, destinations and kinds from separate random streams. The streams
    depend only on the seed, the job's name and the process. So a longer schedule begins with the shorter
    schedule. At a higher load, the same messages come faster, and two loads can be compared in pairs.

    Parameters
    ----------
    jobs : sequence of TrafficJob
        See `workflows.traffic.patterns.jobs_of`.
    demands : mapping of str to Demand
        By the job's name.
    link_bytes_per_second : float
        Bandwidth at an offered load of 1.
    seconds : float
        Messages are issued from 0 to this time.
    seed : int
        0 or more.

    Returns
    -------
    structured array of `MESSAGE`
        In ascending order of time; at equal times, the lower process comes first.

    Raises
    ------
    InputError
        A job has no demand, a number is out of range, or there are more than `SCHEDULE_LIMIT` messages.
    """
    for key, value in (("link_bytes_per_second", link_bytes_per_second), ("seconds", seconds)):
        if not 0 < value < math.inf:
            raise InputError(f"{key}: {value}: must be above 0")
    if seed < 0:
        raise InputError(f"seed: {seed}: must be 0 or more")
    missing = [job.name for job in jobs if job.name not in demands]
    if missing:
        raise InputError(f"demands: nothing for the job '{missing[0]}' (given: {', '.join(demands)})")
    expected = sum(
        len(job.clients) * seconds / _mean_interval(demands[job.name], link_bytes_per_second) for job in jobs
    )
    if expected > SCHEDULE_LIMIT:
        raise InputError(
            f"seconds: {seconds}: would make about {expected:.0f} messages, "
            f"more than {SCHEDULE_LIMIT}: give fewer seconds or larger messages"
        )
    messages = [np.empty(0, MESSAGE)]
    for index, job in enumerate(jobs):
        demand = demands[job.name]
        mean_interval = _mean_interval(demand, link_bytes_per_second)
        for rank, client in enumerate(job.clients):
            targets = job.targets[rank : rank + 1] if job.fixed else job.targets[job.targets != client]
            rows = _messages(int(client), targets, demand, mean_interval, seconds, [seed, *job.name.encode()])
            rows["job"] = index
            messages.append(rows)
    schedule = np.concatenate(messages)
    return schedule[np.lexsort((schedule["process"], schedule["seconds"]))]


def messages_of(
    process: int,
    jobs: Sequence[TrafficJob],
    demands: Mapping[str, Demand],
    link_bytes_per_second: float,
    seconds: float,
    seed: int,
) -> NDArray[np.void]:
    """Return the rows of `make_schedule` of one process, without making the other rows."""
    jobs_of_process = [only(job, process) for job in jobs]
    return make_schedule(jobs_of_process, demands, link_bytes_per_second, seconds, seed)


def _mean_interval(demand: Demand, link_bytes_per_second: float) -> float:
    """Return the mean seconds between two messages of a client."""
    return demand.mean_bytes / (demand.offered_load * link_bytes_per_second)


def _messages(
    client: int, targets: Processes, demand: Demand, mean_interval: float, seconds: float, key: list[int]
) -> NDArray[np.void]:
    intervals, sizes, chosen, writes = (
        np.random.default_rng([*key, client, stream]) for stream in (INTERVALS, SIZES, TARGETS, WRITES)
    )
    times = _arrivals(intervals, demand.intervals, seconds / mean_interval) * mean_interval
    messages = np.empty(len(times), MESSAGE)
    messages["seconds"], messages["process"] = times, client
    messages["destination"] = targets[(chosen.random(len(times)) * len(targets)).astype(np.int64)]
    messages["bytes"] = _sizes(sizes, demand, len(times))
    messages["write"] = writes.random(len(times)) < demand.write_ratio
    return messages


def _arrivals(rng: np.random.Generator, distribution: str, span: float) -> NDArray[np.float64]:
    """Return times from 0 to `span` with a mean interval of 1.

    0 is a random moment of a renewal process that has been running for a long time (Cox, Renewal theory,
    1962, section 5.2). So the mean number of arrivals is exactly `span`.
    """
    times = np.zeros(1)
    while times[-1] < span:
        more = math.ceil(span - times[-1] + 6 * math.sqrt(span) + 8)
        if distribution == "uniform":
            steps = 2 * rng.random(more)
            if len(times) == 1:
                steps[0] = 2 - math.sqrt(4 - 2 * steps[0])
        else:
            steps = rng.standard_exponential(more)
        # Starting the sum at the last time rounds like a single long sum.
        times = np.concatenate([times[:-1], np.cumsum(np.concatenate([times[-1:], steps]))])
    return times[1 : np.searchsorted(times, span)]


def _sizes(rng: np.random.Generator, demand: Demand, count: int) -> NDArray[np.int64]:
    if demand.sizes == "uniform":
        return rng.integers(1, 2 * demand.mean_bytes, count)
    return rng.geometric(1 / demand.mean_bytes, count)
