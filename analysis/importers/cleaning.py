"""Text of a file without what terminals, launchers and editors add to the output of a program.

No line is added or removed, so messages name the lines of the file.
"""

from __future__ import annotations

import codecs
import re

from analysis.runs.errors import TableError

_BINARY = {
    b"PK\x03\x04": "is a ZIP archive or a spreadsheet: unpack it, or export it as CSV",
    b"\x1f\x8b": "is compressed by gzip: unpack it",
    b"BZh": "is compressed by bzip2: unpack it",
    b"\xfd7zXZ": "is compressed by xz: unpack it",
    b"%PDF": "is a PDF: copy its table into a CSV file",
}
"""First bytes of files without text, and the message about them."""

_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)|[()][A-Z0-9]|[=>78])")
"""Escape sequences of terminals: colours, movements, titles."""

_INVISIBLE = str.maketrans({"\ufeff": "", "\u200b": "", "\u00a0": " ", "\u202f": " "})
"""Marks of byte order, and blanks of web pages."""

_STREAM = re.compile(
    r"^(?:\[STD(?:OUT|ERR)\] |(?:\w{3} \w{3} [ \d]\d [\d:]{8} \d{4})?(?:\[[^\[\]\s]+\])*<std(?:out|err)>: ?)",
    re.M,
)
"""Rank of a line, as ``mpirun --tag-output`` and ``prterun --output tag`` print it, and ``[STDOUT]`` of
scripts."""

_LABELS = (re.compile(r" *\d+:(?: |$)"), re.compile(r"\[\d+\](?: |$)"), re.compile(r" {0,3}(?:>(?: |$))+"))
"""Rank of a line, as ``srun --label``, and ``mpiexec -prepend-rank`` of MPICH and Intel MPI, print it; and
marks of a quotation."""

_LABELLED_LINES = 3
"""Fewest lines in succession that all have a label."""

_NETPIPE = re.compile(r" *\d+: +\d+ +bytes +\d+ +times")
"""Rows of NetPIPE, whose first number is no rank."""


def clean_text(data: bytes, source: str) -> str:
    """Decode a file, and remove byte-order marks, escape sequences, overwritten text and ranks of lines.

    Raises
    ------
    TableError
        If the file is an archive or another file without text.
    UnicodeDecodeError
        If the file is not UTF-8.
    """
    message = next((message for start, message in _BINARY.items() if data.startswith(start)), None)
    if message:
        raise TableError(message, source)
    text = data.decode("utf-16" if data.startswith(_UTF16) else "utf-8-sig").translate(_INVISIBLE)
    text = text.replace("\r\n", "\n")
    if "\n" not in text:
        text = text.replace("\r", "\n")
    text = "\n".join(_shown(line) for line in _ESCAPE.sub("", text).split("\n"))
    return "\n".join(_unlabelled(_STREAM.sub("", text).split("\n")))


def _shown(line: str) -> str:
    """Return the text that stays on the terminal if later parts of a line overwrite earlier parts."""
    if "\r" not in line:
        return line
    return next((part for part in reversed(line.split("\r")) if part.strip()), "")


def _unlabelled(lines: list[str]) -> list[str]:
    """Remove labels from blocks of lines that all begin with a label."""
    for label in _LABELS:
        matches = [None if _NETPIPE.match(line) else label.match(line) for line in lines]
        begin = 0
        for index, match in enumerate([*matches, None]):
            if match:
                continue
            if index - begin >= _LABELLED_LINES:
                labelled = zip(lines[begin:index], matches[begin:index], strict=True)
                lines[begin:index] = [line[match.end() :] for line, match in labelled if match]
            begin = index + 1
    return lines
