"""Lines of a program's output as a terminal shows them."""

from __future__ import annotations

import re

_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])")
"""Control sequence (ECMA-48): colours and cursor movements; titles of windows."""


def shown_lines(line: str) -> list[str]:
    r"""Return a line without colours, divided where the program returned to the start of the line.

    Examples
    --------
    >>> shown_lines("\r 50%\r100%\r\x1b[32mfinished\x1b[0m")
    [' 50%', '100%', 'finished']
    """
    if "\x1b" in line:
        line = _ESCAPE.sub("", line)
    if "\r" not in line:
        return [line]
    return [part for part in line.split("\r") if part] or [""]
