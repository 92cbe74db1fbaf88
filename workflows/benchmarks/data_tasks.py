"""Tasks on a distributed array, as plain data, for who carries them out with MPI and in a simulation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from workflows.benchmarks import PERCENTILES, percentile

WAITING = "NODEWORTH_SERVERS_WAIT"
"""Environment variable: how a server waits, ``receive`` (in MPI's blocking receive, which is the default) or
``sleep`` (it probes, and sleeps for `SLEEP_SECONDS` where there is nothing)."""

SLEEP_SECONDS = 1e-4

REQUEST_WORDS = 3
"""Operation, array and block: whole numbers of 8 bytes."""

OPERATIONS = ("get", "put", "accumulate")


def blocks_of_task(task: int, blocks: int) -> tuple[int, int]:
    """The two blocks that a task reads; it accumulates to the first of them."""
    return task % blocks, (7 * task + 3) % blocks


def operation_rows(seconds: Mapping[str, Sequence[float]], block_bytes: int) -> list[dict[str, str | float]]:
    """Sum up the times of operations.

    Parameters
    ----------
    seconds : mapping of str to sequence of float
        By operation, the times of those that left their process.

    Returns
    -------
    list of dict
        A row for each of `OPERATIONS` that there were: ``operation``, ``block_bytes``, ``calls``, and
        percentiles of the time of one, ``operation_seconds_p50`` and so on.
    """
    rows = []
    for name in OPERATIONS:
        if times := seconds.get(name):
            percentiles = {f"operation_seconds_p{share}": percentile(times, share) for share in PERCENTILES}
            rows.append({"operation": name, "block_bytes": block_bytes, "calls": len(times)} | percentiles)
    return rows
