"""Logs with a time stamp a line: ``<seconds since the launch> <text>``, plain or ``.gz``."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from pathlib import Path

from workflows.domain import InputError, Line


def read_log(path: Path) -> list[Line]:
    """Read a stamped log.

    Parameters
    ----------
    path : Path
        Read through gzip where the name ends in ``.gz``.

    Raises
    ------
    InputError
        A line does not start with a number of seconds; names the file and the line.
    """
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode(errors="replace")
    return [_parse(line, path, number) for number, line in enumerate(text.split("\n"), 1) if line]


def write_log(path: Path, lines: Iterable[Line]) -> None:
    """Write a stamped log, microseconds kept, through gzip where the name ends in ``.gz``."""
    raw = "".join(f"{line.seconds:.6f} {line.text}\n" for line in lines).encode(errors="replace")
    # Without the file's name and date in it, the same lines give the same bytes.
    path.write_bytes(gzip.compress(raw, compresslevel=6, mtime=0) if path.suffix == ".gz" else raw)


def _parse(line: str, path: Path, number: int) -> Line:
    stamp, _, text = line.partition(" ")
    try:
        return Line(float(stamp), text)
    except ValueError:
        raise InputError(f"{path}:{number}: '{stamp[:40]}' is no number of seconds") from None
