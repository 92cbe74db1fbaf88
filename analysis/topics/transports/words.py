"""Sentences on transports below MPI."""

from __future__ import annotations

from analysis.presentation import formats
from analysis.runs.frames import is_missing

NAMES = {
    "tcp": "TCP",
    "udp": "UDP",
    "mpi": "MPI",
    "rc": "reliable connection",
    "uc": "unreliable connection",
    "ud": "unreliable datagrams",
    "xrc": "extended reliable connection",
    "ipoib": "IP over InfiniBand",
    "verbs": "verbs",
}
"""Transports by the names that readers see."""


def loss_text(percent: object) -> str:
    """Lost messages in percent."""
    return (
        formats.MISSING
        if is_missing(percent)
        else formats.percent(percent, places=1 if 0 < percent < 10 else 0)
    )
