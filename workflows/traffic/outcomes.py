"""What became of a job's messages: accepted load, its distribution over the processes, fairness, delays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from workflows.traffic.patterns import TrafficJob

WARM_UP_SHARE = 0.2
"""Share of the time at whose end measuring begins: until then the network fills."""

DELAY_PERCENTILES = (5, 50, 95)


def outcome(
    job: TrafficJob,
    messages: NDArray[np.void],
    arrived: NDArray[np.float64],
    link_bytes_per_second: float,
    seconds: float,
) -> dict[str, Any]:
    """Sum up one job of a schedule that was carried out.

    What arrived from the end of the warm-up to the end of the time counts as accepted, so messages that are
    under way at the start stand for those that are at the end.

    Parameters
    ----------
    messages : structured array (messages,) of `workflows.traffic.schedule.MESSAGE`
        All messages of the job.
    arrived : array (messages,)
        When each had arrived, seconds since the start; NaN where it was not issued in time.
    link_bytes_per_second, seconds : float
        As the schedule was made with.

    Returns
    -------
    dict
        ``clients`` and ``targets``: processes that issue messages and that they go to. ``messages`` of the
        schedule are either ``completed`` or ``withheld``; ``completed_bytes`` are those of the former.
        ``offered_MBps``, ``accepted_MBps``: mean bandwidth of a client; ``accepted_load`` and ``link_MBps``:
        the latter over the former. ``target_MBps``: mean bandwidth of a target. ``process`` and
        ``process_MBps``: each client and its accepted bandwidth. ``fairness``: `jain` of the shares of what
        was due, by client, that arrived in time, warm-up included. ``delay_seconds_p5`` and so on: from when
        a message was due until it had arrived, of those that arrived while it was measured; missing (None)
        where none did.
    """
    begin = WARM_UP_SHARE * seconds
    span = seconds - begin
    counted = (arrived >= begin) & (arrived < seconds)
    client = np.searchsorted(job.clients, messages["process"])
    issued, accepted, due, in_time = (  # bytes by client
        np.bincount(client[chosen], messages["bytes"][chosen], len(job.clients))
        for chosen in (messages["seconds"] >= begin, counted, slice(None), arrived < seconds)
    )
    offered, accepted = issued / span / 1e6, accepted / span / 1e6
    completed = ~np.isnan(arrived)
    targets = len(np.unique(job.targets))
    link = link_bytes_per_second / 1e6
    delays = (arrived - messages["seconds"])[counted]
    return {
        "clients": len(job.clients),
        "targets": targets,
        "messages": len(messages),
        "completed": int(completed.sum()),
        "withheld": int((~completed).sum()),
        "completed_bytes": int(messages["bytes"][completed].sum()),
        "link_MBps": link,
        "offered_MBps": float(offered.mean()),
        "accepted_MBps": float(accepted.mean()),
        "accepted_load": float(accepted.mean()) / link,
        "target_MBps": float(accepted.sum()) / targets,
        "process": job.clients.tolist(),
        "process_MBps": accepted.tolist(),
        "fairness": jain(in_time[due > 0] / due[due > 0]),
        **{
            f"delay_seconds_p{share}": float(np.percentile(delays, share)) if len(delays) else None
            for share in DELAY_PERCENTILES
        },
    }


def jain(shares: NDArray[np.float64]) -> float | None:
    """Fairness of what was shared out: 1 where all got alike, 1/n where one of n got everything, or None.

    (sum x)^2 / (n sum x^2), Jain, Chiu, Hawe, A quantitative measure of fairness, DEC TR-301, 1984.
    """
    squares = len(shares) * np.square(shares).sum()
    return float(shares.sum() ** 2 / squares) if squares > 0 else None
