"""Values that the settings of a traffic pattern may have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from workflows.domain import InputError

Destinations = Literal["random", "deterministic"]
IoMapping = Literal["clustered", "distributed", "clustered_io", "clustered_compute"]
ApplicationMapping = Literal["shared", "dedicated"]
Distribution = Literal["uniform", "exponential"]


def one_of(key: str, value: str, allowed: Sequence[str]) -> None:
    """Raise `InputError` in one line where `value` is not allowed."""
    if value not in allowed:
        raise InputError(f"{key}: {value}: must be one of {', '.join(allowed)}")
