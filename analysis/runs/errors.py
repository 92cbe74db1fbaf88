"""The error of a bad table or file, and putting texts on one line."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SHAPELESS = {"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"}
"""Unicode categories: control, format, private and unassigned characters, separators of lines."""


class TableError(Exception):
    """A bad table, described in one line: the file, the row, the column, what is wrong.

    Parameters
    ----------
    message : str
        What is wrong with the value.
    source : str
        The file, or what else the table is called.
    location : str
        ``line 7`` of a text file, ``row 6`` of another table; empty where no row is to blame.
    row : int or None
        Position of the row in the table, from 0.
    """

    def __init__(
        self, message: str, source: str = "", location: str = "", column: str = "", row: int | None = None
    ) -> None:
        where = ", ".join(text for text in (location, f"column '{column}'" if column else "") if text)
        super().__init__(": ".join(text for text in (source, where, message) if text))
        self.message, self.column, self.row = message, column, row


@contextmanager
def readable(path: Path, *faults: type[Exception]) -> Iterator[None]:
    """Tell in one line why a file cannot be read; `faults` are what its reader raises of damaged ones."""
    try:
        yield
    except FileNotFoundError:
        raise TableError("there is no such file", str(path)) from None
    except UnicodeDecodeError as error:
        raise TableError(f"is no UTF-8 text: {error.reason} at byte {error.start}", str(path)) from None
    except (OSError, *faults) as error:
        first, *_ = str(error).splitlines() or [type(error).__name__]
        raise TableError(f"cannot be read: {getattr(error, 'strerror', None) or first}", str(path)) from None


def one_line(text: object) -> str:
    """Put a text on one line: line breaks, tabs and characters without a shape become single spaces."""
    shaped = "".join(" " if unicodedata.category(letter) in SHAPELESS else letter for letter in str(text))
    return re.sub(" +", " ", shaped).strip(" ")
