"""What a short ping-pong found that attests an interconnect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Probe:
    """``probe`` of a record, by whose schema an attribute is described; None where that is not known.

    Attributes
    ----------
    hosts, cores : sequence of str
        Of the two `ranks`.
    """

    way: str | None = None
    ranks: Sequence[int]
    hosts: Sequence[str]
    cores: Sequence[str]
    transports: Sequence[str] = ()
    problem: str | None = None
    library: str | None = None
    seconds: float | None = None
    attempts: int | None = None
    latency_us: float | None = None
    bandwidth_MBps: float | None = None  # noqa: N815

    def as_json(self) -> dict[str, Any]:
        """Give what a record holds of it."""
        return {key: value for key, value in vars(self).items() if value is not None or key == "problem"}
