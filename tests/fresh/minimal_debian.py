"""A minimal Debian 12 for a test: a folder from debootstrap, entered with mounts and processes of its own.

Nothing of it is left when its first process ends, but the folder, which `minimal_debian` removes, and what is
kept for the next one in .cache/fresh: the bare system, Debian's packages and wheels.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from programs import printed, ran

from workflows.paths import ROOT

CACHE = ROOT / ".cache/fresh"
START = "python3,git,ca-certificates,sudo"  # requirements stated in README, and packages that users may have
USER = "anna"
USER_ID = 1000
CARRIED = re.compile(r"(?i:.*_proxy)|PIP_.*|UV_(?!CACHE).*|SSL_CERT_.*|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE")
"""Variables by which package registries are reached from this machine."""

FILES = (
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pip.conf",
    "/etc/uv/uv.toml",
)
OWN_FILES = {".config/pip/pip.conf": "/etc/pip.conf", ".config/uv/uv.toml": "/etc/uv/uv.toml"}
_ENTER = """
set -e
cd "$1"
mount --bind . . && cd "$1"
mount -t proc proc proc
mount --rbind /sys sys
mount --rbind /dev dev
mount -t tmpfs tmpfs dev/shm
mount -t tmpfs tmpfs tmp
mount --bind "$2/archives" var/cache/apt/archives
mount --bind "$2/wheels-$3" var/cache/wheels
mount --bind -o ro "$4" source
pivot_root . old
umount -l old
cd /
shift 4
exec "$@"
"""


@dataclass
class MinimalDebian:
    """A Debian, and who types in it.

    Attributes
    ----------
    root : Path
    log : Path
        Gets all that is typed and printed.
    """

    root: Path
    log: Path

    def run(
        self, script: str, user: str = "root", seconds: float = 1800, **environment: str
    ) -> tuple[int, str]:
        """Run a shell script in the user's home; gives its exit status, and what it printed on both streams."""
        home = "/root" if user == "root" else f"/home/{user}"
        settings = carried(self.root) | {"HOME": home, "PATH": "/usr/local/bin:/usr/bin:/bin"}
        if user == "root":
            settings["PATH"] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        settings |= {"USER": user, "UV_CACHE_DIR": "/var/cache/wheels"} | environment
        words = ["env", "-i", "-C", home, *(f"{name}={value}" for name, value in settings.items())]
        as_user = ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups", *words]
        enter = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--uts", "--", "bash", "-c", _ENTER]
        places = ["enter", str(self.root), str(CACHE), user, str(ROOT / ".git")]
        with self.log.open("a") as log:
            log.write(f"\n$ {script}    # as {user}\n")
        with self.log.open("a") as log, self.log.open() as output:
            output.seek(0, os.SEEK_END)
            done = subprocess.run(
                [*enter, *places, *as_user, "bash", "-c", script],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                timeout=seconds,
            )
            text = output.read()
            log.write(f"[exit status {done.returncode}]\n")
        return done.returncode, text

    def type(self, script: str, user: str = "root", **environment: str) -> str:
        """Run a script that must succeed; gives what it printed."""
        status, output = self.run(script, user, **environment)
        assert status == 0, f"{script}: exit status {status}, see {self.log}:\n{output[-3000:]}"
        return output


@contextlib.contextmanager
def minimal_debian(folder: Path, name: str) -> Iterator[MinimalDebian]:
    """Make a Debian in a folder that is gone afterwards; what happens in it is told in .cache/fresh/<name>.log."""
    for place in ("archives/partial", "wheels-root", f"wheels-{USER}"):
        (CACHE / place).mkdir(parents=True, exist_ok=True)
    os.chown(CACHE / f"wheels-{USER}", USER_ID, USER_ID)
    log = CACHE / f"{name}.log"
    log.write_text("")
    root = folder / "debian"
    subprocess.run(["cp", "-a", str(bare_system()), str(root)], check=True, timeout=300)
    try:
        carry_settings(root)
        debian = MinimalDebian(root, log)
        debian.type(f"useradd --create-home --uid {USER_ID} {USER} && git config --system safe.directory '*'")
        yield debian
    finally:
        shutil.rmtree(root)


def bare_system() -> Path:
    """The bare system, made where it is not kept yet."""
    bare = CACHE / "bare"
    if bare.exists():
        return bare
    new = CACHE / "bare.new"
    shutil.rmtree(new, ignore_errors=True)
    command = ["debootstrap", "--variant=minbase", f"--include={START}", "bookworm", str(new), *_mirror()]
    with (CACHE / "debootstrap.log").open("w") as log:
        subprocess.run(command, check=True, stdout=log, stderr=log, timeout=1800)
    for place in ("old", "source", "var/cache/wheels"):
        (new / place).mkdir()
    new.rename(bare)
    return bare


def _mirror() -> list[str]:
    """The mirror from which this machine has its own packages, if it is a Debian 12; else debootstrap's."""
    filters = ["Created-By: Packages", "Codename: bookworm", "Component: main"]
    return ran("apt-get", "indextargets", "--format", "$(SITE)", *filters).stdout.split()[:1]


def carry_settings(root: Path) -> None:
    """Let a Debian reach the registries as this machine does: names, certificates, mirrors, proxies."""
    settings = {str(Path.home() / file): target for file, target in OWN_FILES.items()}
    for source, target in {**dict(zip(FILES, FILES, strict=True)), **settings}.items():
        if Path(source).is_file():
            (root / target[1:]).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, root / target[1:])
    if "VERSION_CODENAME=bookworm" in Path("/etc/os-release").read_text():
        for folder in ("sources.list.d", "keyrings", "trusted.gpg.d", "auth.conf.d"):
            shutil.copytree(f"/etc/apt/{folder}", root / f"etc/apt/{folder}", dirs_exist_ok=True)
        (root / "etc/apt/sources.list").unlink(missing_ok=True)
        if (own_list := Path("/etc/apt/sources.list")).is_file():
            shutil.copyfile(own_list, root / "etc/apt/sources.list")
    kept = re.findall(
        "^Acquire::(?:https?|Retries|Check-Valid-Until).*\n", printed("apt-config", "dump"), re.M
    )
    (root / "etc/apt/apt.conf.d/99carried").write_text("".join(kept))


def carried(root: Path) -> dict[str, str]:
    """Variables of this machine that count in a Debian; not those of files that it has not."""
    return {
        name: value
        for name, value in os.environ.items()
        if CARRIED.fullmatch(name) and (not value.startswith("/") or (root / value[1:]).exists())
    }
