"""What the network benchmarks of cases/mpi4py share; it is copied beside the program of a run."""

import math
from collections.abc import Sequence

SERVERS = "NODEWORTH_SERVERS"
"""Environment variable with the data servers a process; none where it is not set."""

PERCENTILES = (5, 25, 50, 75, 95)
"""Those of a column of times that a run prints."""


def percentile(values: Sequence[float], share: float) -> float:
    """Percentile by linear interpolation between the sorted values (NumPy's default)."""
    ordered = sorted(values)
    position = share / 100 * (len(ordered) - 1)
    low = math.floor(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (position - low) * (ordered[high] - ordered[low])
