"""Names of hosts and users in the files of a study, and their replacement by neutral names."""

from __future__ import annotations

import getpass
import gzip
import os
import re
import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from workflows.plan.record import Record

NOBODY = {"localhost", "root", ""}
"""Names that identify nobody."""
EMULATED = re.compile(r"emulated-node\d+")
"""Host names of emulated nodes."""
HOMES = re.compile(r"(?<![\w./-])/(?:home|users)/([A-Za-z0-9_.-]+)", re.IGNORECASE)
GZIP = b"\x1f\x8b"
PNG = b"\x89PNG"


@dataclass(frozen=True)
class Names:
    """Names of hosts and users, each with its replacement."""

    replaced: Mapping[str, str]

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        longest_first = sorted(self.replaced, key=lambda name: (-len(name), name))
        words = "|".join(map(re.escape, longest_first))
        return re.compile(rf"(?<![A-Za-z0-9])(?:{words})(?![A-Za-z0-9])", re.IGNORECASE)

    @cached_property
    def _folded(self) -> dict[str, str]:
        return {name.casefold(): new for name, new in self.replaced.items()}

    def hide(self, text: str) -> str:
        """Replace every name in a text. A name within a longer word is not replaced."""
        if not self.replaced:
            return text
        return self._pattern.sub(lambda match: self._folded[match[0].casefold()], text)

    def hide_in(self, data: bytes) -> bytes | None:
        """Replace every name in the content of a file.

        Files compressed by gzip are unpacked, searched and compressed again. PNG files stay unchanged: they
        hold only pixels.

        Returns
        -------
        bytes or None
            The new content; None for a file that is neither text nor PNG.
        """
        if data.startswith(GZIP):
            inner = self.hide_in(gzip.decompress(data))
            return None if inner is None else gzip.compress(inner, mtime=0)
        if data.startswith(PNG):
            return data
        try:
            return self.hide(data.decode()).encode()
        except UnicodeDecodeError:
            return None


def find_names(
    machines: Iterable[Mapping[str, Any]],
    records: Iterable[Record],
    texts: Iterable[str],
    people: Iterable[str] = (),
) -> Names:
    """Find the names of hosts and users of a study, including the host and the user of this process.

    Parameters
    ----------
    machines : iterable of mapping
        Machines in the facts of the study.
    texts : iterable of str
        Texts that may name home folders. Their users are included, since another user may have run the study.
    people : iterable of str
        Creators of the study, as "Family name, Given name".

    Returns
    -------
    Names
        Hosts are replaced by ``host-1``, ``host-2``, … in alphabetical order, with or without their domain.
        Users are replaced by ``user-1``, ``user-2``, …
    """
    hosts = {socket.gethostname(), socket.getfqdn()}
    users = {getpass.getuser(), Path.home().name, os.environ.get("SUDO_USER", "")}
    hosts |= {machine.get("host") or "" for machine in machines}
    for record in records:
        hosts.add(record.machine.get("host", ""))
        hosts |= {rank["host"] for rank in record.placement}
        variables = record.environment.items()
        hosts |= {value for name, value in variables if name.endswith("NODELIST")}
        users |= {value for name, value in variables if name.endswith(("USER", "ACCOUNT"))}
    users |= {user for text in texts for user in HOMES.findall(text)}
    users |= {part for name in people for part in (name, name.partition(",")[0])}
    hosts = {name for name in hosts if not EMULATED.fullmatch(name) and name.casefold() not in NOBODY}
    users = {name for name in users if name.casefold() not in NOBODY}
    short_names = _numbered("host", {name.partition(".")[0] for name in hosts})
    full_names = {name: short_names[name.partition(".")[0]] for name in hosts}
    replaced = short_names | full_names
    return Names(replaced | _numbered("user", users - replaced.keys()))


def _numbered(word: str, names: set[str]) -> dict[str, str]:
    return {name: f"{word}-{number}" for number, name in enumerate(sorted(names), 1)}
