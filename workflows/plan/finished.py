"""What a finished study depends on, so that asking for it again is answered before Snakemake is started.

A study that ended well leaves a stamp: what was said at its end, and digests of all that Snakemake or the
plan would look at. Where a digest differs there is no answer, and all is looked at as ever. This module
is imported for every command: it needs the standard library's quick parts alone.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

STAMP = ".finished.json"
CLOCK_SECONDS = 0.02  # longer than a tick, by which the kernel dates files

# What plan, rules and scripts are made of: all below the project's folder.
_PROJECT = (
    "Snakefile",
    "workflows",
    "analysis",
    "profiles",
    "envs",
    "config",
    "cases",
    "cluster",
    ".venv/locked",
)
# What installing changes beside the folders of PATH, and what decides whether nodes can be emulated.
_INSTALLED = (
    "/etc/ld.so.cache",
    "/var/lib/dpkg/status",
    "/var/lib/rpm",
    "/usr/local/include/simgrid/s4u.hpp",
    f"{os.environ.get('CONDA_PREFIX', '')}/conda-meta",
    f"{sys.prefix}/lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages",
    sys.executable,
)
_KERNEL = (
    "/proc/sys/kernel/random/boot_id",
    "/proc/sys/user/max_net_namespaces",
    "/proc/sys/user/max_uts_namespaces",
    "/proc/self/uid_map",
)
_RIGHTS = ("Uid:", "Gid:", "Groups:", "CapEff:", "CapBnd:", "NoNewPrivs:", "Seccomp:", "Cpus_allowed_list:")
# Of a terminal, a session or a shell; a change of any other variable may change a study.
_UNRELATED = re.compile(
    r"_|PWD|OLDPWD|SHLVL|TERM|TERM_.*|COLORTERM|COLUMNS|LINES|DISPLAY|WINDOWID|SSH_.*|TMUX.*|STY|PS\d|"
    r"XAUTHORITY|XDG_SESSION_.*|DBUS_.*|PYTEST_.*|PYTHONDONTWRITEBYTECODE"
)


def answer(file: Path) -> list[str] | None:
    """Give what a finished study said at its end, if nothing of what it depends on has changed since.

    `file` is the study's, as it is handed to Snakemake; the current folder is the project's.

    Returns
    -------
    list of str or None
        Lines; None where Snakemake is to find out.
    """
    try:
        name = re.search(r"^name: *['\"]?(\w+)['\"]? *(#.*)?$", file.read_text(), re.M)
        stamp = json.loads((Path("results") / name[1] / STAMP).read_text()) if name else {}
        if stamp["study"] != str(file):
            return None
        known = stamp["given"] == given(stamp["files"], stamp["programs"])
        return stamp["told"] if known and stamp["made"] == made(Path("results") / name[1]) else None
    except (OSError, ValueError, KeyError, TypeError):  # no stamp, or none of ours: Snakemake finds out
        return None


def given(files: Iterable[str], programs: Iterable[str]) -> str:
    """Digest of what a study is given: the project, files that the study names, programs, and this machine.

    Of `files` (folders too) it counts whether they are there.
    """
    environment = _environment()
    path = environment.pop("PATH", os.defpath)
    folders = list(dict.fromkeys(path.split(os.pathsep)))  # a folder's second entry has no effect
    content = [
        sys.version,
        Path.cwd(),
        folders,
        sorted(item for item in environment.items() if not _UNRELATED.fullmatch(item[0])),
        this_machine(programs, os.pathsep.join(folders)),
        [_dated(name) for name in folders],
        [list(_tree(name)) for name in (*_PROJECT, *files)],
    ]
    return digest(content)


def this_machine(programs: Iterable[str], path: str) -> list[object]:
    """Give what on this machine decides what can be run: kernel, rights, what is installed.

    The programs are looked for in the folders of `path`, which is as ``PATH`` has them.
    """
    found = [shutil.which(program, path=path) or program for program in programs]
    return [
        os.uname(),
        [Path(file).read_text() for file in _KERNEL if Path(file).exists()],
        [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(_RIGHTS)],
        [_dated(name) for name in (*_INSTALLED, *found)],
    ]


def made(results: Path) -> str:
    """Digest of what is there of a study: name, size and dates of every file, records and requests too."""
    return digest(list(_tree(str(results))))


def changed_at(files: Sequence[str]) -> float:
    """When something of the project or of these files was changed last, in seconds since 1970."""
    found = (entry for name in (*_PROJECT, *files) for entry in _tree(name))
    return max((dates[-1] for _, dates in found if dates), default=0) / 1e9


def _environment() -> dict[str, str]:
    """Variables with which this process was started; some libraries set their own as they are imported."""
    words = os.fsdecode(Path("/proc/self/environ").read_bytes()).split("\0")
    return dict(word.split("=", 1) for word in words if "=" in word)


def _tree(name: str) -> Iterator[tuple[str, tuple[int, ...] | None]]:
    """A file, or all files below a folder, with what shows a change; folders by name alone."""
    if not Path(name).is_dir():
        yield name, _dated(name)
        return
    yield name, None
    with os.scandir(name) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.name in ("__pycache__", STAMP):
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from _tree(entry.path)
            else:
                yield entry.path, _dated(entry.path)


def _dated(name: str) -> tuple[int, ...] | None:
    """What changes with a file, last when it did; None if it is not there."""
    try:
        found = os.stat(name)  # noqa: PTH116 - three times as quick as a Path's, for thousands of files
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def digest(value: object) -> str:
    """Digest of what a value shows of itself."""
    return hashlib.sha256(repr(value).encode(errors="surrogateescape")).hexdigest()
