"""The line of a standard error that names what went wrong, among all that MPI's launchers add to it."""

from __future__ import annotations

import re

from workflows.launch.mpi.registry import MPI_LIBRARIES

_RULE = re.compile(r"[ \t=#-]*")
_FRAME = re.compile(r"-{74}")  # before and after each text of Open MPI
_EXCEPTION = re.compile(r"(?:\w+\.)*\w*(?:Error|Exception|Interrupt)\b(?::|$)")


def _any_library(attribute: str, *others: str) -> re.Pattern[str]:
    """Join the regular expressions of all MPI libraries that have one."""
    patterns = [getattr(library, attribute) for library in MPI_LIBRARIES.values()]
    return re.compile("|".join(f"(?:{pattern})" for pattern in (*filter(None, patterns), *others)))


_ADDED = _any_library("added_lines", r"#\d+ +0x", r"at \S+:\d+$", "Backtrace for this error")
_LAUNCHER = _any_library("launcher_lines")
_STATUS = _any_library("status_lines")


def telling_line(errors: str) -> str | None:
    """Find the line on standard error, of a launcher and of all ranks, that says best why a program ended.

    The last exception of Python; else the last line that the program wrote; else what the launcher or the
    library says. None where that is no more than that a rank had an exit status.
    """
    own, launchers = _parted(errors)
    exceptions = [line for line in own if _EXCEPTION.match(line)]
    written = [line for line in own if not _ADDED.match(line)]
    reasons = [text for text in launchers if not _STATUS.match(text)]
    return next((texts[-1] for texts in (exceptions, written, reasons, own) if texts), None)


def _parted(errors: str) -> tuple[list[str], list[str]]:
    """Lines of the program, and the first paragraph of each text that a launcher wrote, as one line."""
    own: list[str] = []
    launchers: list[list[str]] = []
    framed = inside = ended = False
    for line in map(str.strip, errors.splitlines()):
        if _LAUNCHER.match(line) or (framed and line and not _RULE.fullmatch(line)):
            launchers.append([line])
            framed, inside, ended = False, True, False
        elif not inside and _FRAME.fullmatch(line):
            framed = True
        elif inside and line and _RULE.fullmatch(line):
            inside = False
        elif inside:
            ended = ended or (not line and not launchers[-1][-1].endswith(":"))
            if line and not ended:
                launchers[-1].append(line)
                ended = launchers[-1][-2].endswith(":")
        elif not _RULE.fullmatch(line):
            own.append(line)
    return own, [" ".join(lines) for lines in launchers]
