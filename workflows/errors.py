"""Errors that are shown in one line, apart from all else.

Benchmarks that are copied beside their runs raise them too.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator


class InputError(Exception):
    """Bad input, in one line: the file, the key, the value, what is allowed."""

    def __str__(self) -> str:
        """Give the line; what it quotes of a file may have line breaks and commands for a terminal."""
        return printable(super().__str__())


class EmulationError(RuntimeError):
    """Why nodes cannot be emulated here, in one line."""


def printable(text: str) -> str:
    """Put spaces for line breaks and for what a terminal would not show."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


@contextlib.contextmanager
def one_line_errors(*others: type[Exception]) -> Iterator[None]:
    """End the program with one line, without a traceback, for what a user or a machine did.

    That is bad input, a machine that cannot emulate an interconnect, what the operating system
    refuses (a full disk, a read-only folder), Ctrl-C, and what `others` stand for. Errors of ours keep
    their traceback.
    """
    try:
        yield
    except (InputError, EmulationError, OSError, *others) as error:
        sys.exit(f"nodeworth: {printable(str(error))}")
    except KeyboardInterrupt:
        sys.exit("nodeworth: interrupted; what is recorded is kept, and the same command goes on from there")
