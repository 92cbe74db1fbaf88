"""The CPU time that the control groups (cgroups) of this process allow, as in a container."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

_MOUNTS_V2 = ("", "unified")
_MOUNTS_V1 = ("cpu,cpuacct", "cpuacct,cpu", "cpu")


def cpu_quota(groups: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")) -> float | None:
    """Return how many cores' CPU time this process may use in the long run; None without a quota.

    The lowest quota of its group and of all groups above counts, in version 1 (``cpu.cfs_quota_us``) and in
    version 2 (``cpu.max``). A container may hide the path of its group; then the root of the mount counts.
    """
    return min((quota for folder in _folders(groups, root) if (quota := _quota(folder))), default=None)


def _folders(groups: Path, root: Path) -> Iterator[Path]:
    """Yield the folders of the groups of this process, with those above them."""
    for line in _text(groups).splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        mounts: tuple[str, ...] = ()
        if number == "0" and not controllers:
            mounts = _MOUNTS_V2
        elif "cpu" in controllers.split(","):
            mounts = _MOUNTS_V1
        group = PurePosixPath(path.strip("/"))
        for mount in mounts:
            yield from (root / mount / above for above in (group, *group.parents))


def _quota(folder: Path) -> float | None:
    """Return the quota of a group in cores; None without one, or if it cannot be read."""
    words = _text(folder / "cpu.max").split()
    words = words or [
        word for name in ("quota", "period") for word in _text(folder / f"cpu.cfs_{name}_us").split()
    ]
    if len(words) != 2 or not all(re.fullmatch(r"\d+", word) for word in words):  # "max", or -1
        return None
    quota, period = map(int, words)
    return quota / period if quota and period else None


def _text(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:
        return ""
