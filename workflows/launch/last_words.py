"""The line of a standard error that names what went wrong, among all that MPI's launchers add to it."""

from __future__ import annotations

import re

_RULE = re.compile(r"[ \t=#-]*")
_FRAME = re.compile(r"-{74}")  # before and after each text of Open MPI
_EXCEPTION = re.compile(r"(?:\w+\.)*\w*(?:Error|Exception|Interrupt)\b(?::|$)")
_ADDED = re.compile(  # by the libraries
    r"\[[^]]+:\d+\] |\[[^]]+\]\[\[\d+,\d+\],\d+\]\[|Abort\(\d+\) on node \d+ |"
    r"#\d+ +0x|at \S+:\d+$|Backtrace for this error"
)
_LAUNCHER = re.compile(r"(?:mpirun|mpiexec|orterun|prterun)\S* |Primary job |MPI_ABORT was invoked ")
_OF_STATUS = re.compile(r"Primary job |\S+ detected that one or more processes exited with non-zero status")


def telling_line(errors: str) -> str | None:
    """Find the line on standard error, of a launcher and of all ranks, that says best why a program ended.

    The last exception of Python; else the last line that the program wrote; else what the launcher or the
    library says. None where that is no more than that a rank had an exit status.
    """
    own, launchers = _parted(errors)
    exceptions = [line for line in own if _EXCEPTION.match(line)]
    written = [line for line in own if not _ADDED.match(line)]
    reasons = [text for text in launchers if not _OF_STATUS.match(text)]
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
