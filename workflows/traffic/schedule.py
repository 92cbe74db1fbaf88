"""Schedules: every message of a pattern with its time, its destination and its size."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from workflows.errors import InputError
from workflows.traffic.options import Distribution, one_of
from workflows.traffic.patterns import Processes, TrafficJob, only

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
"""One message. `seconds` since the start, when `process` issues it; `destination` is the process it
addresses. A write carries `bytes` to the destination, a read has the destination send them back. `job` is
the index of its job in the list the schedule was made of."""

SCHEDULE_LIMIT = 10_000_000
"""Messages of a schedule at most: 10^7 take about half a gigabyte."""
INTERVALS, SIZES, TARGETS, WRITES = range(4)


@dataclass(frozen=True)
class Demand:
    """What each client of a job wants of its link.

    Attributes
    ----------
    offered_load : float
        Mean bytes per second that a client offers, as a share of its link's bandwidth; above 0. It may exceed
        1: more than the link can take.
    mean_bytes : int
        Mean size of a message.
    sizes : str
        Distribution of the sizes: ``uniform`` over the whole numbers from 1 to 2 mean_bytes − 1, or
        ``exponential`` (geometric, its counterpart for whole numbers, from 1 on).
    intervals : str
        Distribution of the times between two messages of a client: ``uniform`` from 0 to twice the mean, or
        ``exponential``.
    write_ratio : float
        Share of writes: 0 for reads only, 1 for writes only.
    """

    offered_load: float
    mean_bytes: int
    sizes: Distribution = "exponential"
    intervals: Distribution = "exponential"
    write_ratio: float = 1.0

    def __post_init__(self) -> None:
        one_of("sizes", self.sizes, get_args(Distribution))
        one_of("intervals", self.intervals, get_args(Distribution))
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
    """All messages that the clients of some jobs issue within a time.

    Every client draws its intervals, sizes, destinations and kinds from streams of its own, which depend on
    the seed, the job's name and the process alone. So a longer schedule begins with a shorter schedule, and
    the same messages come faster at a higher load: schedules of different loads can be compared in pairs.

    Parameters
    ----------
    jobs : sequence of TrafficJob
        As `workflows.traffic.patterns.jobs_of` gives it.
    demands : mapping of str to Demand
        By the job's name.
    link_bytes_per_second : float
        Bandwidth that an offered load of 1 stands for.
    seconds : float
        Messages are issued from 0 to this time.
    seed : int
        0 or more.

    Returns
    -------
    structured array of `MESSAGE`
        Ascending in time; of equal times the lower process first.

    Raises
    ------
    InputError
        For a job without demand, a bad number, or more than `SCHEDULE_LIMIT` messages.
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
            own = _messages(int(client), targets, demand, mean_interval, seconds, [seed, *job.name.encode()])
            own["job"] = index
            messages.append(own)
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
    """Messages of one process: those rows of `make_schedule`'s, without making the others."""
    own = [only(job, process) for job in jobs]
    return make_schedule(own, demands, link_bytes_per_second, seconds, seed)


def _mean_interval(demand: Demand, link_bytes_per_second: float) -> float:
    """Mean seconds between two messages of a client."""
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


def _arrivals(rng: np.random.Generator, distribution: Distribution, span: float) -> NDArray[np.float64]:
    """Times from 0 to `span` that are one apart on average.

    The first is as far from 0 as from any other moment of a process that has long been running (Cox, Renewal
    theory, 1962, section 5.2), so that the mean number of arrivals is `span` exactly.
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
        # Adding on from the last time, one by one, rounds as one long sum does.
        times = np.concatenate([times[:-1], np.cumsum(np.concatenate([times[-1:], steps]))])
    return times[1 : np.searchsorted(times, span)]


def _sizes(rng: np.random.Generator, demand: Demand, count: int) -> NDArray[np.int64]:
    if demand.sizes == "uniform":
        return rng.integers(1, 2 * demand.mean_bytes, count)
    return rng.geometric(1 / demand.mean_bytes, count)
