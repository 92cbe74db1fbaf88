"""Values that the settings of a traffic pattern may have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from workflows.errors import InputError

Destinations = Literal["random", "deterministic"]
IoMapping = Literal["clustered", "distributed", "clustered_io", "clustered_compute"]
ApplicationMapping = Literal["shared", "dedicated"]
Distribution = Literal["uniform", "exponential"]


def one_of(key: str, value: str, allowed: Sequence[str]) -> None:
    """Raise `InputError` in one line where `value` is not allowed."""
    if value not in allowed:
        raise InputError(f"{key}: {value}: must be one of {', '.join(allowed)}")


def numbers(key: str, text: str | float) -> list[float]:
    """Read numbers with blanks between them, as the parameter of a case has them, or raise `InputError`."""
    try:
        found = [float(word) for word in str(text).split()]
    except ValueError:
        found = []
    if not found:
        raise InputError(f"{key}: {text!r}: must be numbers with blanks between them")
    return found


def mean_sizes(text: str | float) -> list[int]:
    """Read ``mean_bytes``, whole numbers above 0 with blanks between them, or raise `InputError`."""
    found = numbers("mean_bytes", text)
    if not all(number >= 1 and number.is_integer() for number in found):
        raise InputError(f"mean_bytes: {text!r}: must be whole numbers above 0 with blanks between them")
    return [int(number) for number in found]
