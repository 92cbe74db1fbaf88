"""Reading logs with a time stamp a line, as runs leave them."""

import gzip
from pathlib import Path

from workflows.domain import Line


def read_log(path: Path) -> list[Line]:
    """Lines of a log, read through gzip where its name ends in ``.gz``."""
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode(errors="replace")
    stamped = (line.partition(" ") for line in text.split("\n") if line)
    return [Line(float(seconds), said) for seconds, _, said in stamped]
