"""The line of standard error that explains a failure, among messages of launchers and libraries."""

from __future__ import annotations

import re

from workflows.launch.mpi.registry import MPI_LIBRARIES

_RULE = re.compile(r"[ \t=#-]*")
_FRAME = re.compile(r"-{74}")  # frames each text of Open MPI
_FOAM_ERROR = re.compile(r"--> FOAM FATAL.*\n.*")
_EXCEPTION = re.compile(r"(?:\w+\.)*\w*(?:Error|Exception|Interrupt)\b(?::|$)")


def _any_library(attribute: str, *others: str) -> re.Pattern[str]:
    """Join the regular expressions of all MPI libraries that have one."""
    patterns = [getattr(library, attribute) for library in MPI_LIBRARIES.values()]
    return re.compile("|".join(f"(?:{pattern})" for pattern in (*filter(None, patterns), *others)))


_ADDED = _any_library("added_lines", r"#\d+ +0x", r"at \S+:\d+$", "Backtrace for this error")
_LAUNCHER = _any_library("launcher_lines")
_STATUS = _any_library("status_lines")


def explaining_line(errors: str) -> str | None:
    """Return the line of standard error that best explains why a program ended.

    It is the first of these that exists: OpenFOAM's fatal error with its message, the last exception of
    Python, the last line of the program, the last message of the launcher that says more than an exit status,
    the last line of any kind. None if there is none.
    """
    lines, launcher_texts = _split(errors)
    if fatal := _FOAM_ERROR.search("\n".join(lines)):
        return " ".join(fatal[0].split())
    exceptions = [line for line in lines if _EXCEPTION.match(line)]
    of_program = [line for line in lines if not _ADDED.match(line)]
    reasons = [text for text in launcher_texts if not _STATUS.match(text)]
    return next((texts[-1] for texts in (exceptions, of_program, reasons, lines) if texts), None)


def _split(errors: str) -> tuple[list[str], list[str]]:
    """Split standard error into lines of the program and texts of a launcher.

    Returns
    -------
    lines : list of str
        Lines that no launcher wrote.
    texts : list of str
        First paragraph of each text of a launcher, joined to one line. If the paragraph ends with a colon, it
        includes the next line.
    """
    lines: list[str] = []
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
            lines.append(line)
    return lines, [" ".join(paragraph) for paragraph in launchers]
