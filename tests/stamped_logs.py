"""Reading logs with a time stamp a line, as runs leave them."""

import gzip
from pathlib import Path

from workflows.domain import Line


def stamped(text: str) -> list[Line]:
    """Lines of a log."""
    lines = (line.partition(" ") for line in text.split("\n") if line)
    return [Line(float(seconds), text) for seconds, _, text in lines]


def read_log(path: Path) -> list[Line]:
    """Lines of a file, read through gzip where its name ends in ``.gz``."""
    raw = path.read_bytes()
    return stamped((gzip.decompress(raw) if path.suffix == ".gz" else raw).decode(errors="replace"))
