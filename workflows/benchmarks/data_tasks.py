"""Tasks on a distributed array, as data for a benchmark and for a simulation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from workflows.benchmarks import PERCENTILES, percentile

WAITING = "NODEWORTH_SERVERS_WAIT"
"""Environment variable: how a server waits. ``receive`` (default): in MPI's blocking receive. ``sleep``: it
probes, and sleeps for `SLEEP_SECONDS` if there is no request."""

SLEEP_SECONDS = 1e-4

REQUEST_WORDS = 3
"""Length of a request in words of 8 bytes: operation, array and block."""

OPERATIONS = ("get", "put", "accumulate")


def blocks_of_task(task: int, blocks: int) -> tuple[int, int]:
    """Return the two blocks that a task reads. It accumulates to the first block."""
    return task % blocks, (7 * task + 3) % blocks


def operation_rows(seconds: Mapping[str, Sequence[float]], block_bytes: int) -> list[dict[str, str | float]]:
    """Summarize the times of operations.

    Parameters
    ----------
    seconds : mapping of str to sequence of float
        By operation, the times of the calls that another process served.

    Returns
    -------
    list of dict
        A row for each operation with calls: ``operation``, ``block_bytes``, ``calls``, and percentiles of
        the time of a call, ``operation_seconds_p50`` and so on.
    """
    rows: list[dict[str, str | float]] = []
    for name in OPERATIONS:
        if times := seconds.get(name):
            row: dict[str, str | float] = {"operation": name, "block_bytes": block_bytes, "calls": len(times)}
            row |= {f"operation_seconds_p{share}": percentile(times, share) for share in PERCENTILES}
            rows.append(row)
    return rows
