"""A cluster of a few nodes on this machine, without its scheduler.

The nodes are network namespaces joined by shaped links, as `workflows.launch.emulation` builds them. All of it
lives in a process namespace of its own, whose first process dies with the one that started it: the kernel then
ends everything, however the starter ended. Temporary files and /dev/shm are its own too: programs name files there by
host and process, which are the same in every such cluster.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from workflows.launch.emulation import (
    INTERFACE,
    EmulatedNode,
    _batch,
    _limit,
    emulated_nodes,
    occupants,
    usable_cores,
)
from workflows.launch.leftovers import end_all, remove_stale
from workflows.measure.running import scratch_folder
from workflows.paths import INTERCONNECTS, ROOT
from workflows.study.interconnects import load_interconnect

START_SECONDS = 120.0
_FIRST_PROCESS = """
import os, signal
signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # reaps what others leave
print("ready", flush=True)
while True:
    signal.pause()
"""


@dataclass
class SmallCluster:
    """Nodes that run, and daemons on them.

    Attributes
    ----------
    nodes : tuple of EmulatedNode
        Those that run jobs.
    head : EmulatedNode
        Where the controller is, and where users type.
    folder : Path
        Configuration, state and logs.
    """

    nodes: tuple[EmulatedNode, ...]
    head: EmulatedNode
    folder: Path
    first_process: int
    _daemons: dict[str, subprocess.Popen] = field(default_factory=dict)

    def on_head(self, command: Sequence[str], cwd: Path = ROOT) -> list[str]:
        """Make a command run on the head node."""
        return self._inside(self.head, ["env", "-C", str(cwd), *command])

    def run(self, *command: str, timeout: float = 300) -> subprocess.CompletedProcess:
        """Run a command on the head node to its end."""
        return subprocess.run(self.on_head(command), capture_output=True, text=True, timeout=timeout)

    def ask(self, *command: str) -> str:
        """Give what a command of Slurm prints; an error if it fails."""
        done = self.run(*command)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
        return done.stdout.strip()

    def put_over_usr(self, unpacked: Path) -> None:
        """Let this cluster see the programs of unpacked packages."""
        self.ask("mount", "-t", "overlay", "overlay", "-o", f"lowerdir={unpacked}/usr:/usr", "/usr")

    def switch_off(self, node: EmulatedNode) -> None:
        """End everything that runs on a node at once, as without power: nothing there sees the end of another."""
        for process in occupants([node.net]):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGSTOP)
        end_all(lambda: occupants([node.net]))
        self._daemons.pop(node.name).wait(timeout=START_SECONDS)

    def _until(self, holds, awaited: str) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not holds():
            daemon = self._daemons.get(awaited)
            ended = daemon is not None and daemon.poll() is not None
            if ended or time.monotonic() > deadline:
                raise RuntimeError(f"{awaited} did not start:\n{self.logs()}")
            time.sleep(0.1)

    def logs(self, lines: int = 15) -> str:
        """Give the last lines of every log."""
        files = sorted([*self.folder.glob("*.log"), *self.folder.rglob("messages")])
        shown = {
            str(file.relative_to(self.folder)): file.read_text(errors="replace").splitlines()[-lines:]
            for file in files
        }
        return "\n".join(f"{name}: {line}" for name, last in shown.items() for line in last)

    def _start(self, node: EmulatedNode, command: Sequence[str]) -> subprocess.Popen:
        argv = ["setpriv", "--pdeathsig", "KILL", "--", *self._inside(node, command)]
        with (self.folder / f"{Path(command[0]).name}-{node.name}.out.log").open("a") as log:
            return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def stop(self, name: str, number: signal.Signals = signal.SIGTERM) -> None:
        """End a daemon by a signal; what it has written is in its folder."""
        daemon = self._daemons.pop(name)
        pids = Path(f"/proc/{daemon.pid}/task/{daemon.pid}/children").read_text().split()
        for pid in pids:
            os.kill(int(pid), number)
        daemon.wait(timeout=START_SECONDS)

    def _inside(self, node: EmulatedNode, command: Sequence[str]) -> list[str]:
        entered = ["nsenter", "--target", str(self.first_process), "--mount", "--pid"]
        return node.enter([*entered, "--", "env", f"TMPDIR={self.folder}/files", *command])


@contextlib.contextmanager
def small_cluster(nodes: int, interconnect: str) -> Iterator[SmallCluster]:
    """Start nodes of one core and a head; end everything of it on leaving, and, if this process is killed, by the kernel.

    Where the machine has fewer cores, nodes share them. Of an emulated `interconnect`, which joins them.
    """
    remove_stale()
    link = load_interconnect(interconnect, INTERCONNECTS).emulate
    usable = usable_cores()
    cores = [usable[place % len(usable)] for place in range(nodes)] + usable[:1]
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(scratch_folder())
        made = stack.enter_context(emulated_nodes(link | {"nodes": nodes + 1, "cores_per_node": 1}, cores))
        cluster = SmallCluster(made[:-1], made[-1], folder, stack.enter_context(_process_namespace()))
        _keep_files_apart(cluster)
        yield cluster


def rejoin(nodes: Sequence[EmulatedNode], interconnect: str) -> None:
    """Give nodes the rate and the MTU of another emulated interconnect, none faster than the one that they have."""
    link = load_interconnect(interconnect, INTERCONNECTS).emulate
    for node in nodes:
        _batch("tc", [f"qdisc del dev {INTERFACE} root", *_limit(INTERFACE, link)], node.net)
        size = f"mtu {link['mtu']} gso_max_size {link['gso_max_bytes']}"
        _batch("ip", [f"link set {INTERFACE} {size}"], node.net)


def _keep_files_apart(cluster: SmallCluster) -> None:
    """Give a cluster temporary files and a /dev/shm of its own, in its folder, which it finds where it was."""
    (cluster.folder / "files").mkdir()
    shared = cluster.folder / "shm"
    again = shared / cluster.folder.relative_to("/dev/shm")
    again.mkdir(parents=True)
    cluster.ask("mount", "--rbind", str(cluster.folder), str(again))
    cluster.ask("mount", "--rbind", str(shared), "/dev/shm")


@contextlib.contextmanager
def _process_namespace() -> Iterator[int]:
    """Make a process and mount namespace; give the id of its first process, with which all others end."""
    argv = ["setpriv", "--pdeathsig", "KILL", "--", "unshare", "--mount", "--pid", "--fork", "--kill-child"]
    argv += ["--mount-proc", "--propagation", "private", "--", sys.executable, "-c", _FIRST_PROCESS]
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as maker:
        try:
            if maker.stdout.readline() != "ready\n":
                raise RuntimeError("cannot make a process namespace (as root?)")
            yield int(Path(f"/proc/{maker.pid}/task/{maker.pid}/children").read_text())
        finally:
            maker.kill()
