"""Results of a job of traffic: accepted load, its distribution over the processes, fairness, delays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from workflows.traffic.patterns import TrafficJob

WARM_UP_SHARE = 0.2
"""Share of the time at the start that is not measured, because the network is filling."""

DELAY_PERCENTILES = (5, 50, 95)


def outcome(
    job: TrafficJob,
    messages: NDArray[np.void],
    arrived: NDArray[np.float64],
    link_bytes_per_second: float,
    seconds: float,
) -> dict[str, Any]:
    """Summarize a job of a schedule that was carried out.

    Messages count as accepted if they arrived after the warm-up and before the end. Messages under way at the
    end are not counted; messages under way at the end of the warm-up are counted instead.

    Parameters
    ----------
    messages : structured array (messages,) of `workflows.traffic.schedule.MESSAGE`
        All messages of the job.
    arrived : array (messages,)
        Arrival of each message in seconds after the start; NaN if it was not issued in time.
    link_bytes_per_second, seconds : float
        Arguments of `workflows.traffic.schedule.make_schedule`.

    Returns
    -------
    dict
        ``clients``, ``targets``: numbers of processes that send and receive messages.
        ``messages``: number of messages, which are either ``completed`` or ``withheld``.
        ``completed_bytes``: bytes of the completed messages.
        ``offered_MBps``, ``accepted_MBps``: mean bandwidth of a client.
        ``accepted_load``: ``accepted_MBps`` divided by ``link_MBps``.
        ``target_MBps``: mean bandwidth of a target.
        ``process``, ``process_MBps``: each client and its accepted bandwidth.
        ``fairness``: index of `jain` over the clients. A client's value is the share of its due bytes that
        arrived in time, warm-up included.
        ``delay_seconds_p5`` and so on: percentiles of the time from due to arrival, over accepted messages;
        None without any.
    """
    begin = WARM_UP_SHARE * seconds
    span = seconds - begin
    counted = (arrived >= begin) & (arrived < seconds)
    client = np.searchsorted(job.clients, messages["process"])

    def bytes_by_client(chosen: NDArray[np.bool_]) -> NDArray[Any]:
        return np.bincount(client[chosen], messages["bytes"][chosen], len(job.clients))

    offered = bytes_by_client(messages["seconds"] >= begin) / span / 1e6
    accepted = bytes_by_client(counted) / span / 1e6
    due = bytes_by_client(np.ones(len(messages), bool))
    in_time = bytes_by_client(arrived < seconds)
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
    """Return Jain's index of fairness, (sum x)^2 / (n sum x^2), of n shares x.

    It is 1 for equal shares, 1/n if all shares except one are 0, and None if all shares are 0. Source: Jain,
    Chiu, Hawe, A quantitative measure of fairness, DEC TR-301, 1984.
    """
    squares = len(shares) * np.square(shares).sum()
    return float(shares.sum() ** 2 / squares) if squares > 0 else None
