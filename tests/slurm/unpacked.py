"""Daemons of Debian's packages that are unpacked and not installed: installing would start them for the machine.

    python -m tests.slurm.unpacked

fetches what is missing into the project's folder .cache. A small cluster lays it over its /usr.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from workflows.paths import ROOT

CACHE = ROOT / ".cache"
PACKAGES = {
    "grid-engine": [
        *(f"gridengine-{part}" for part in ("common", "client", "exec", "master")),
        "libjemalloc2",
    ],
    "accounting": [
        *(
            "slurmdbd",
            "slurm-wlm-mysql-plugin",
            "mariadb-server-core",
            "mariadb-client-core",
            "mariadb-common",
        ),
        *("libmariadb3", "liburing2", "libaio1"),
    ],
}


def unpack(name: str) -> str | None:
    """Fetch packages and unpack them into a folder of `CACHE`; gives a line if they cannot be had."""
    CACHE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        command = ["apt-get", "download", *PACKAGES[name]]
        fetched = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if fetched.returncode:
            return f"{name} cannot be fetched: {' '.join(fetched.stderr.split())}"
        for package in Path(folder).glob("*.deb"):
            subprocess.run(["dpkg", "-x", package, f"{folder}/root"], check=True)
        Path(f"{folder}/root").rename(CACHE / name)
    return None


if __name__ == "__main__":
    messages = [line for name in PACKAGES if not (CACHE / name).exists() and (line := unpack(name))]
    print(*messages, sep="\n", file=sys.stderr)
    sys.exit(bool(messages))
