"""Traces unpacked for the replayer."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

from workflows.tracing.trace import Trace, rank_file


def unpack(trace: Trace, folder: Path) -> int:
    """Write ``rank-<r>.txt`` of every rank of a checked trace into an empty folder.

    Returns
    -------
    int
        Lines of all ranks.
    """
    lines = 0
    for rank in range(trace.processes):
        target = folder / f"rank-{rank}.txt"
        with gzip.open(trace.folder / rank_file(rank), "rb") as packed, target.open("wb") as unpacked:
            shutil.copyfileobj(packed, unpacked, 1 << 20)
        with target.open("rb") as unpacked:
            lines += sum(1 for _ in unpacked)
    return lines
