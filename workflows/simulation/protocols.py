"""Find the changes of protocol of an MPI library in the curve of a ping-pong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MIN_RISE, MIN_DROP = 0.1, 0.2
"""Smallest relative deviation from the neighbouring sizes that counts as a change of protocol.

In the nine published curves of the shipped models, these limits find every jump that a reader marked, and one
more.
"""

MIN_SIZE_RATIO = 1.4
"""Smallest ratio of two neighbouring sizes. A line through closer sizes extrapolates measurement error."""

MIN_EAGER_BYTES, MAX_EAGER_BYTES = 256, 262144


@dataclass(frozen=True)
class Change:
    """A change of protocol: the largest size before it, and whether a message takes longer after it."""

    bytes: int
    rise: bool


def changes_of_protocol(sizes: Sequence[int], times: Sequence[float]) -> list[Change]:
    """Find the jumps in the curve of a ping-pong.

    A jump lies between two neighbouring sizes. It is a rise if two conditions hold. The times of the two
    sizes after it lie above the line through the two points before it, by more than `MIN_RISE`. And the time
    before the jump deviates in the corresponding way from the line through the two points after it. A drop is
    defined in the same way, with `MIN_DROP`.

    Parameters
    ----------
    sizes : sequence of int (sizes,)
        Bytes, ascending.
    times : sequence of float (sizes,)
        Times of the messages, in any unit.

    Returns
    -------
    list of Change
        In ascending order of size.
    """
    size, time = np.array(sizes, float), np.array(times, float)
    spaced = [0]
    for i in range(1, len(size)):
        if size[i] >= MIN_SIZE_RATIO * size[spaced[-1]]:
            spaced.append(i)
    changes = []
    for first, second, third, fourth in zip(spaced, spaced[1:], spaced[2:], spaced[3:], strict=False):
        before, after = [first, second], [third, fourth]
        expected_after = np.maximum(_line(size[before], time[before], size[after]), 1e-9)
        expected_before = _line(size[after], time[after], size[[second]])
        deviations = [*(time[after] / expected_after - 1), *(expected_before / time[second] - 1)]
        if min(deviations) > MIN_RISE or max(deviations) < -MIN_DROP:
            rises = bool(min(deviations) > 0)
            slope = (time[fourth] - time[third]) / (size[fourth] - size[third])
            steps = np.diff(time[second : third + 1] - slope * size[second : third + 1])
            largest_step = int((steps if rises else -steps).argmax())
            changes.append(Change(int(size[second + largest_step]), rises))
    return changes


def _line(sizes: Floats, times: Floats, at: Floats) -> Floats:
    """Return the times at other sizes on the line through two points."""
    return times[0] + (at - sizes[0]) * (times[1] - times[0]) / (sizes[1] - sizes[0])


def eager_limit(changes: Sequence[Change]) -> int | None:
    """Return the largest size before the change of protocol that is probably the eager limit, or None.

    It is the last rise between `MIN_EAGER_BYTES` and `MAX_EAGER_BYTES`. Without a rise, it is the first drop
    up to a quarter of `MAX_EAGER_BYTES`.

    Parameters
    ----------
    changes : sequence of Change
        In ascending order of size.
    """
    candidates = [change for change in changes if MIN_EAGER_BYTES <= change.bytes <= MAX_EAGER_BYTES]
    rises = [change.bytes for change in candidates if change.rise]
    drops = [
        change.bytes for change in candidates if not change.rise and change.bytes <= MAX_EAGER_BYTES // 4
    ]
    return rises[-1] if rises else drops[0] if drops else None
