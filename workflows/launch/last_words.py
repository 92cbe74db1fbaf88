"""The line of standard error that explains a failure, among messages of launchers and libraries."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

from workflows.launch.mpi.registry import MPI_LIBRARIES

_RULE = re.compile(r"[ \t=#-]*")
_FRAME = re.compile(r"-{74}")  # frames each text of Open MPI
_EXCEPTION = re.compile(r"(?:\w+\.)*\w*(?:Error|Exception|Interrupt)\b(?::|$)")


def _any_library(attribute: str, *others: str) -> re.Pattern[str]:
    """Join the regular expressions of all MPI libraries that have one."""
    patterns = [getattr(library, attribute) for library in MPI_LIBRARIES.values()]
    return re.compile("|".join(f"(?:{pattern})" for pattern in (*filter(None, patterns), *others)))


_ADDED = _any_library("added_lines", r"(?:\[\d+\] *)?#\d+ +", r"at \S+:\d+$", "Backtrace for this error")
_LAUNCHER = _any_library("launcher_lines")
_STATUS = _any_library("status_lines")


_TAG = re.compile(r"^(?:\[\d+,\d+\]<std(?:out|err)>: ?|\[\d+\] ?|\s*\d+:(?: (?=\S)|(?=[A-Z])))")
"""Rank before a line, as OpenFOAM, ``mpirun --tag-output`` and ``srun --label`` print it."""
_FOAM_FATAL = re.compile(r"--> (FOAM FATAL(?: IO)? ERROR): *(?:\([^)]*\))?(.*)")
_PLACE_END = r"\.?(?:\[\d+\] ?)?$"  # ranks may write into one line
_FOAM_END = re.compile(r"(?:From |in file |FOAM (?:parallel run )?(?:exiting|aborting))")
_GROMACS_ERROR = re.compile(r"^Program: +gmx .*?\n\n.+?:\n(.+?)(?:\n\n|\n-{5}|\Z)", re.M | re.S)
_CAUSES = tuple(
    re.compile(pattern)
    for pattern in (
        r".*(?:\bout of memory\b|\bOut Of Memory\b|oom[-_ ]kill|\bOOM[- ]killed\b).*",
        r"ERROR(?: on proc \d+)?: .*",  # LAMMPS, and many others
        r"(?!Terminate signal|Child process)[A-Z][\w ]+ error, status=: \d+.*",  # ARMCI's signals
        r".*\bARMCI Error: .*",
        r".*Assertion (?:[`'\"].*' failed|failed[: ]).*",
        r"terminate called after throwing .*",
        r"(?:At line \d+ of file .*|Fortran runtime error: .*)",
        r"forrtl: (?:severe|error) \(\d+\): .*",
        r"(?:free|malloc|munmap_chunk|realloc)\(\): .*|double free or corruption.*|corrupted .* vs\. .*"
        r"|\*\*\* (?:stack smashing|buffer overflow) detected.*",
        r"#\d+ +Foam::sig\w+::sigHandler.*",
        r"Program received signal .*",
        r".*\*\*\* An error occurred in MPI_\w+.*",
        r"(?:Abort\(\d+\) on node .*: )?Fatal error in \w*(?:MPI|internal)_\w+: .*",
        r".*error while loading shared libraries: .*",
    )
)
"""Patterns of lines that name an error: causes come before their consequences."""
_FOAM_SIGNALS = {"sigFpe": "floating point exception", "sigSegv": "segmentation fault"}
_FOLLOWED = {
    "terminate called": "what():",
    "At line": "Fortran runtime error:",
    "*** An error": "*** MPI_ERR",
}
"""Beginning of the later line that holds the message of an error, by a part of the error's line."""


def error_line(errors: str) -> str | None:
    """Return the line that names the error of a program whose error lines are known; None without one.

    It knows the errors of OpenFOAM, GROMACS, LAMMPS, ARMCI (NWChem), MPI libraries, the kernel, and the
    run-time libraries of C, C++ and Fortran. It skips frames of a backtrace and messages of launchers.
    """
    untagged = [_TAG.sub("", line, count=1).rstrip() for line in errors.splitlines()]
    lines = [line.strip() for line in untagged]
    fatal = [
        _of_foam(match[1], [match[2].strip(), *lines[index + 1 :]])
        for index, line in enumerate(lines)
        if (match := _FOAM_FATAL.fullmatch(line))
    ]
    if fatal:  # ranks print at the same time, so one message may cut another
        return next((text for text in fatal if "-->" not in text), fatal[0])
    if reason := gromacs_error(untagged):
        return reason
    for cause in _CAUSES:
        place = next((index for index, line in enumerate(lines) if cause.fullmatch(line)), None)
        if place is not None:
            return _completed(lines[place], lines[place + 1 : place + 8])
    return None


def gromacs_error(lines: Iterable[str]) -> str | None:
    """Return GROMACS's first error in one line: the text after a heading such as ``Fatal error:``.

    First lines with a more indented line below only name the place of an error, such as an option. They are
    left out.
    """
    match = _GROMACS_ERROR.search("\n".join(lines))
    if match is None:
        return None
    text = match[1].splitlines()
    indents = [len(line) - len(line.lstrip()) for line in text]
    is_place = [indent < below for indent, below in pairwise([*indents, 0])]
    return f"GROMACS stopped: {' '.join(' '.join(text[is_place.index(False) :]).split())}"


def _of_foam(heading: str, lines: list[str]) -> str:
    """Return OpenFOAM's fatal error in one line: heading, message, and the file with its lines."""
    end = next((index for index, line in enumerate(lines) if _FOAM_END.match(line)), len(lines))
    message = [line for line in lines[:end] if line]
    places = [line for line in message if line.startswith("file: ")]
    texts = [line for line in message if line not in places]
    place = f" ({re.sub(_PLACE_END, '', places[0])})" if places else ""
    # A line that ends with a colon begins a list of valid words, which is left out.
    shown = texts[:1] if texts[1:2] and texts[1].endswith(":") else texts[:2]
    return f"{heading}: {' '.join(shown) or 'no message'}{place}"


def _completed(line: str, following: list[str]) -> str:
    """Return a line in plain words, with the line that completes it."""
    if signal := re.match(r"#\d+ +Foam::(sig\w+)::", line):
        return f"{_FOAM_SIGNALS.get(signal[1], signal[1])} (Foam::{signal[1]})"
    for part, beginning in _FOLLOWED.items():
        if part in line:
            rest = (text[text.index(beginning) :] for text in following if beginning in text)
            line = " ".join([line, *list(rest)[:1]])
    return line.removesuffix(", error stack:")


def explaining_line(errors: str) -> str | None:
    """Return the line of standard error that best explains why a program ended.

    It is the first of these that exists: the line of `error_line`, the last exception of Python, the last
    line of the program, the last message of the launcher that says more than an exit status, the last line of
    any kind. None if there is none.
    """
    if line := error_line(errors):
        return line
    lines, launcher_texts = _split(errors)
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
