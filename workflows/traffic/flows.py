"""Traffic between pairs of processes, without the times of the messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from workflows.traffic.patterns import TrafficJob
from workflows.traffic.schedule import Demand


def mean_flows(jobs: Sequence[TrafficJob], demands: Mapping[str, Demand]) -> pd.DataFrame:
    """Traffic that the jobs of a schedule (see `make_schedule`) offer on average, without single messages.

    Returns
    -------
    DataFrame
        ``source, destination, load``, one row a job, direction and pair: bytes go from `source` to
        `destination`, reads thus from the I/O node to its client, at `load` times a link's bandwidth.
    """
    flows = []
    for job in jobs:
        demand = demands[job.name]
        if job.fixed:
            clients, targets = job.clients, job.targets
            choices = np.ones(len(clients))
        else:
            clients = np.repeat(job.clients, len(job.targets))
            targets = np.tile(job.targets, len(job.clients))
            others = len(job.targets) - np.isin(job.clients, job.targets)
            away = clients != targets
            clients, targets, choices = clients[away], targets[away], np.repeat(others, others)
        load = demand.offered_load / choices
        for source, destination, share in (
            (clients, targets, demand.write_ratio),
            (targets, clients, 1 - demand.write_ratio),
        ):
            if share > 0:
                flows.append({"source": source, "destination": destination, "load": load * share})
    return pd.concat([pd.DataFrame(flow) for flow in flows], ignore_index=True)
