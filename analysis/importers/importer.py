"""Interface of an importer, which recognises and reads one file format."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from analysis.importers.mapping import Mapping
from analysis.importers.results import Import


@dataclass(frozen=True)
class Importer:
    """Importer of one file format; ``docs/extending/importer.md`` explains how to add an importer.

    Attributes
    ----------
    name : str
        Name of the format in study files (``format: osu``) and on the command line.
    recognises : callable
        ``recognises(text)`` returns whether the content of a file has this format. It must not raise.
    read : callable
        ``read(text, source, mapping)`` returns an `Import`. `source` is the path of the file, for messages.
        `mapping` holds what the user stated about the file. Skipped lines are listed in `Import.unread`.
        `read` raises `TableError`, in one line, if the file as a whole cannot be used.
    read_folder : callable, optional
        ``read_folder(folder, mapping)`` reads a folder of files together. Most formats have no such folder.
    """

    name: str
    recognises: Callable[[str], bool]
    read: Callable[[str, str, Mapping], Import]
    read_folder: Callable[[Path, Mapping], Import] | None = None
