"""Network benchmarks of cases/mpi4py. A run gets a copy of this folder next to its program."""

import math
from collections.abc import Sequence

SERVERS = "NODEWORTH_SERVERS"
"""Environment variable with the number of data servers per process; 0 if it is not set."""

PERCENTILES = (5, 25, 50, 75, 95)
"""Percentiles of times that a run prints."""


def percentile(values: Sequence[float], share: float) -> float:
    """Return a percentile by linear interpolation between the sorted values (the default of NumPy)."""
    ordered = sorted(values)
    position = share / 100 * (len(ordered) - 1)
    low = math.floor(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (position - low) * (ordered[high] - ordered[low])
