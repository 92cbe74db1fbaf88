"""Mean traffic between pairs of processes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from workflows.traffic.patterns import TrafficJob
from workflows.traffic.schedule import Demand


def mean_flows(jobs: Sequence[TrafficJob], demands: Mapping[str, Demand]) -> pd.DataFrame:
    """Return the mean traffic that the jobs of a schedule offer (see `make_schedule`).

    Returns
    -------
    DataFrame
        ``source, destination, load``: a row for each job, direction and pair. Bytes go from `source` to
        `destination` at `load` times the bandwidth of a link. The source of a read is the I/O node.
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
            choices_of_clients = len(job.targets) - np.isin(job.clients, job.targets)
            is_remote = clients != targets
            clients, targets = clients[is_remote], targets[is_remote]
            choices = np.repeat(choices_of_clients, choices_of_clients)
        load = demand.offered_load / choices
        for source, destination, share in (
            (clients, targets, demand.write_ratio),
            (targets, clients, 1 - demand.write_ratio),
        ):
            if share > 0:
                flows.append({"source": source, "destination": destination, "load": load * share})
    return pd.concat([pd.DataFrame(flow) for flow in flows], ignore_index=True)
