"""Errors that end a program with one line.

Benchmarks that are copied to the folders of their runs raise them too.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

INTERRUPTED = 130
"""Exit status after Ctrl-C, as of a shell: 128 and the number of SIGINT."""


GOES_ON = "; the same command goes on from there"
"""End of the message after Ctrl-C, unless the end of a study says this."""


class InputError(Exception):
    """Error in the user's input. Its line names the file, the key, the value, and the allowed values."""

    def __str__(self) -> str:
        """Return the line without line breaks and terminal commands that a quoted file may contain."""
        return printable(super().__str__())


class EmulationError(RuntimeError):
    """Reason why nodes cannot be emulated here, in one line."""


def printable(text: str) -> str:
    """Replace line breaks and unprintable characters by spaces."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


@contextlib.contextmanager
def noted_errors(log: Path) -> Iterator[None]:
    """Write the line of an `InputError` to the log of a job too: the end of the study repeats it."""
    try:
        yield
    except InputError as error:
        log.write_text(f"{error}\n", encoding="utf-8")
        raise


@contextlib.contextmanager
def one_line_errors(*others: type[Exception], after_interrupt: str = "") -> Iterator[None]:
    """End the program with one line, without a traceback, for errors of users and machines.

    These are bad input, a machine that cannot emulate an interconnect, errors of the operating system (a full
    disk, a read-only folder), Ctrl-C, and `others`. Errors of Nodeworth keep their traceback.

    Parameters
    ----------
    after_interrupt : str
        End of the line after Ctrl-C.
    """
    handled: tuple[type[Exception], ...] = (InputError, EmulationError, OSError, *others)
    try:
        yield
    except handled as error:
        sys.exit(f"nodeworth: {printable(str(error))}")
    except KeyboardInterrupt:
        print(f"nodeworth: interrupted; what is recorded is kept{after_interrupt}", file=sys.stderr)
        sys.exit(INTERRUPTED)
