"""Errors about tables and files, in one line."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SHAPELESS = {"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"}
"""Unicode categories of characters without a shape: control, format, private and line separators."""


class TableError(Exception):
    """Fault of a table, in one line with file, row and column.

    Parameters
    ----------
    message : str
        Fault of the value.
    source : str
        File or other name of the table.
    location : str
        ``line 7`` of a text file, ``row 6`` of another table; empty if no row is at fault.
    column : str
        Column at fault; empty for none.
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
    """Turn errors within the context into a `TableError` that names the file.

    Errors of the operating system and of the encoding are turned, and the classes `faults`.
    """
    try:
        yield
    except FileNotFoundError:
        raise TableError("there is no such file", str(path)) from None
    except UnicodeDecodeError as error:
        raise TableError(f"is no UTF-8 text: {error.reason} at byte {error.start}", str(path)) from None
    except Exception as error:
        if not isinstance(error, (OSError, *faults)):
            raise
        first, *_ = str(error).splitlines() or [type(error).__name__]
        raise TableError(f"cannot be read: {getattr(error, 'strerror', None) or first}", str(path)) from None


def one_line(text: object) -> str:
    """Put a text on one line; line breaks, tabs and shapeless characters become single spaces."""
    shaped = "".join(" " if unicodedata.category(letter) in SHAPELESS else letter for letter in str(text))
    return re.sub(" +", " ", shaped).strip(" ")
