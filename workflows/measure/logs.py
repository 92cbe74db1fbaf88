"""Logs with a time stamp a line: ``<seconds since the launch> <text>``, plain or ``.gz``."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from pathlib import Path

from workflows.domain import Line


def write_log(path: Path, lines: Iterable[Line]) -> None:
    """Write a stamped log, microseconds kept, through gzip where the name ends in ``.gz``."""
    raw = "".join(f"{line.seconds:.6f} {line.text}\n" for line in lines).encode(errors="replace")
    # Without the file's name and date in it, the same lines give the same bytes.
    path.write_bytes(gzip.compress(raw, compresslevel=6, mtime=0) if path.suffix == ".gz" else raw)
