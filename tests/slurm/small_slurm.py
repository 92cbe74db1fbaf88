"""A real Slurm of a few nodes on this machine, for tests and for trying things by hand.

    ./run-tests slurm                                  a shell on its head node
    ./run-tests slurm --nodes 4 -- sinfo               a command on its head node

Its nodes are those of `small_cluster`.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.needs import SLURM, unmet
from tests.slurm.small_cluster import SmallCluster, rejoin, small_cluster
from tests.slurm.unpacked import CACHE
from workflows.launch.emulation import EmulatedNode

_CONFIGURATION = """
ClusterName=small
SlurmctldHost={head}({head_address})
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=15
SlurmctldPort=7817
SlurmdPort=7818
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
TmpFS={folder}/tmp-%n
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=pmix
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=5,bf_interval=5
{accounting}
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
JobCompType=jobcomp/filetxt
JobCompLoc={folder}/jobs.txt
ReturnToService=2
SlurmdParameters=config_overrides
MinJobAge=3600
KillWait=5
SlurmdTimeout=60
SlurmctldTimeout=10
MessageTimeout=60
BatchStartTimeout=120
EnforcePartLimits=ALL
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=120 State=UP
"""


_SWITCHES = "TopologyPlugin=topology/tree\n"
_ENERGY = """AcctGatherEnergyType=acct_gather_energy/pm_counters
AcctGatherNodeFreq=1
"""
WATTS = 50
_COUNTER = """
import sys, time
begun = time.monotonic()
while True:
    with open(sys.argv[1], "r+") as file:
        file.write(f"{int(1000 + float(sys.argv[2]) * (time.monotonic() - begun))} J\\n")
    time.sleep(0.1)
"""
_GREETING = """\
Slurm runs on this machine: {nodes} nodes of one core, joined by {interconnect}. This shell is on its login node.
Try sinfo. To end Slurm, its jobs and its nodes, type exit.
"""
_NO_ACCOUNTING = "AccountingStorageType=accounting_storage/none"
_ACCOUNTING = """AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost={address}
AccountingStoragePort=7819
AccountingStoragePass={folder}/munge.socket
AccountingStorageEnforce=associations,limits,qos"""
_SLURMDBD = """AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
DbdHost={head}
DbdAddr={address}
DbdPort=7819
SlurmUser=root
LogFile={folder}/slurmdbd.log
PidFile={folder}/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=root
StorageLoc=slurm
"""


@dataclass
class SmallSlurm(SmallCluster):
    """A running Slurm."""

    def start_controller(self, *options: str) -> None:
        """Start slurmctld and wait until it answers."""
        self._daemons["slurmctld"] = self._start(self.head, ["slurmctld", "-D", "-f", self._conf, *options])
        self._until(self._answers, "slurmctld")

    def _answers(self) -> bool:
        try:
            return " is UP" in self.run("scontrol", "ping", timeout=5).stdout
        except subprocess.TimeoutExpired:  # it listens, and is not ready yet
            return False

    def forget_jobs(self) -> None:
        """Restart slurmctld without what it knew of jobs, as after MinJobAge.

        It knows no more of its nodes either, and srun reads no output by the oldest protocol, which it would take for
        theirs: they register anew as they start.
        """
        self.configure("FirstJobId", "1000")  # no number is given twice
        self.stop("slurmctld")
        self.start_controller("-c")
        for node in self.nodes:
            self.stop(node.name)
            self.start_node(node)

    def start_node(self, node: EmulatedNode) -> None:
        """Switch a node on and wait until it takes jobs."""
        self._daemons[node.name] = self._start(node, ["slurmd", "-D", "-f", self._conf, "-N", node.name])
        self._until(lambda: self._is_up(node), node.name)

    def configure(self, key: str, value: str) -> None:
        """Change a key of slurm.conf in all daemons."""
        file = self.folder / "etc/slurm.conf"
        others = [line for line in file.read_text().splitlines() if not line.startswith(f"{key}=")]
        file.write_text("\n".join([*others, f"{key}={value}\n"]))
        self.ask("scontrol", "reconfigure")

    def wait_for_jobs(self) -> None:
        """Wait until every node has reported the end of its jobs: a node that is switched off earlier never reports it."""
        self._until(lambda: not self.ask("squeue", "--noheader"), "an empty queue")

    def switch_off(self, node: EmulatedNode) -> None:
        """End everything that runs on a node; its temporary files are gone too."""
        super().switch_off(node)
        for kind in ("spool", "tmp"):
            for left in (self.folder / f"{kind}-{node.name}").glob("*pmix*"):
                shutil.rmtree(left) if left.is_dir() else left.unlink()

    def _is_up(self, node: EmulatedNode) -> bool:
        """Whether a node has registered, which tells its version, and takes jobs."""
        shown = self.run(
            "sinfo", "--noheader", "--nodes", node.name, "--Format", "StateLong:30,Version:30"
        ).stdout
        return bool(re.match(r"(idle|mixed|allocated) +\d", shown))

    @property
    def _conf(self) -> str:
        return "/etc/slurm/slurm.conf"


@contextlib.contextmanager
def small_slurm(
    nodes: int = 2,
    interconnect: str = "emulated_gigabit",
    accounting: bool = False,
    partitions: Sequence[str] = (),
    cores: Sequence[int] = (),
    energy: bool = False,
) -> Iterator[SmallSlurm]:
    """Start a Slurm; end everything of it on leaving, and, if this process is killed, by the kernel.

    Parameters
    ----------
    nodes : int
        Nodes of one core that run jobs. Where the machine has fewer cores, nodes share them.
    interconnect : str
        The emulated interconnect that joins them.
    accounting : bool
        With slurmdbd on MariaDB (see `unpacked`): a cluster ``small`` and an account ``me`` of root.
    partitions : sequence of str
        Emulated interconnects, none faster than the first one; each has a partition, a feature and a switch of its
        name with two nodes, which it joins, beside the partition ``all``.
    cores : sequence of int
        What Slurm is told of each node, which has one; with 1000 MB a core and 1000 MB more.
    energy : bool
        Each node is told that it takes `WATTS`: a program plays the counter that Slurm reads on a Cray.

    Raises
    ------
    RuntimeError
        If a part of it does not start; with the ends of the logs.
    """
    with small_cluster(nodes, interconnect) as made:
        slurm = SmallSlurm(made.nodes, made.head, made.folder, made.first_process)
        of_two = {name: made.nodes[2 * place : 2 * place + 2] for place, name in enumerate(partitions)}
        for name, two in of_two.items():
            rejoin(two, name)
        _write_configuration(slurm, accounting, of_two, cores or [1] * nodes, energy)
        if energy:
            _begin_counter(slurm)
        _begin(slurm, accounting)
        yield slurm


def _write_configuration(
    slurm: SmallSlurm,
    accounting: bool,
    partitions: Mapping[str, Sequence[EmulatedNode]],
    cores: Sequence[int],
    energy: bool,
) -> None:
    feature = {node.name: f" Feature={name}" for name, members in partitions.items() for node in members}
    nodes = "\n".join(
        f"NodeName={node.name} NodeAddr={node.address} CPUs={count} RealMemory={1000 + 1000 * count}"
        f"{feature.get(node.name, '')}"
        for node, count in zip(slurm.nodes, cores, strict=True)
    )
    address, folder = slurm.head.address, slurm.folder
    kept = _ACCOUNTING.format(address=address, folder=folder) if accounting else _NO_ACCOUNTING
    text = _CONFIGURATION.format(
        head=slurm.head.name, head_address=address, folder=folder, nodes=nodes, accounting=kept
    )
    folders = (f"{kind}-{node.name}" for node in slurm.nodes for kind in ("spool", "tmp"))
    for name in ("etc", "state", *folders):
        (slurm.folder / name).mkdir()
    lists = {name: ",".join(node.name for node in members) for name, members in partitions.items()}
    for name, folders in lists.items():
        text += f"PartitionName={name} Nodes={folders} MaxTime=120 State=UP\n"
    if partitions:
        text += _SWITCHES
        switches = [f"SwitchName={name} Nodes={names}\n" for name, names in lists.items()]
        top = f"SwitchName=top Switches={','.join(lists)}\n"
        (slurm.folder / "etc/topology.conf").write_text("".join([*switches, top]))
    if energy:
        text += _ENERGY
    (slurm.folder / "etc/slurm.conf").write_text(text)
    key = slurm.folder / "munge.key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o600)


def _begin(slurm: SmallSlurm, accounting: bool) -> None:
    """Start the daemons, one after another."""
    mounted = slurm.run("mount", "--bind", str(slurm.folder / "etc"), "/etc/slurm")
    if mounted.returncode:
        raise RuntimeError(f"/etc/slurm: {mounted.stderr.strip()}")
    munge = ["munged", "--foreground", "--force", f"--key-file={slurm.folder}/munge.key"]
    munge += [
        f"--{name}={slurm.folder}/munge.{name.split('-')[0]}"
        for name in ("socket", "pid-file", "log-file", "seed-file")
    ]
    slurm._daemons["munged"] = slurm._start(slurm.head, munge)
    slurm._until(lambda: (slurm.folder / "munge.socket").exists(), "munged")
    if accounting:
        _begin_accounting(slurm)
    slurm.start_controller()
    for node in slurm.nodes:
        slurm.start_node(node)


def _begin_counter(slurm: SmallSlurm) -> None:
    """Count energy where the kernel of a Cray would show it, and let this cluster see that."""
    counters = slurm.folder / "sys/cray/pm_counters"
    counters.mkdir(parents=True)
    (counters / "power").write_text(f"{WATTS} W\n")
    (counters / "energy").write_text("1000 J\n")
    cgroup = slurm.folder / "cgroup"  # what is mounted below /sys is not seen through an overlay
    cgroup.mkdir()
    slurm.ask("mount", "--rbind", "/sys/fs/cgroup", str(cgroup))
    slurm.ask("mount", "-t", "overlay", "overlay", "-o", f"lowerdir={slurm.folder}/sys:/sys", "/sys")
    slurm.ask("mount", "--rbind", str(cgroup), "/sys/fs/cgroup")
    count = [sys.executable, "-c", _COUNTER, str(counters / "energy"), str(WATTS)]
    slurm._daemons["counter"] = slurm._start(slurm.head, count)


def _begin_accounting(slurm: SmallSlurm) -> None:
    """Start MariaDB and slurmdbd, which must be there before slurmctld is."""
    unpacked, folder, data = CACHE / "accounting", slurm.folder, slurm.folder / "database"
    slurm.put_over_usr(unpacked)
    data.mkdir()
    folder.chmod(0o755)  # slurmdbd gives the folder of its log away
    file = folder / "etc/slurmdbd.conf"
    file.write_text(_SLURMDBD.format(folder=folder, head=slurm.head.name, address=slurm.head.address))
    file.chmod(0o600)
    libraries = ":".join(map(str, unpacked.glob("lib/*-linux-gnu")))
    environment = ["env", f"LD_LIBRARY_PATH={libraries}", f"MYSQL_UNIX_PORT={data}/socket"]
    where = ["--no-defaults", f"--datadir={data}", "--user=root"]
    slurm.ask(
        *environment,
        "mariadb-install-db",
        *where,
        "--auth-root-authentication-method=normal",
        "--skip-test-db",
    )
    serve = [*environment, "mariadbd", *where, f"--socket={data}/socket", "--skip-networking"]
    slurm._daemons["mariadbd"] = slurm._start(slurm.head, [*serve, "--innodb-lock-wait-timeout=900"])
    slurm._until((data / "socket").exists, "mariadbd")
    slurm._daemons["slurmdbd"] = slurm._start(slurm.head, [*environment, "slurmdbd", "-D"])
    slurm._until(lambda: not slurm.run("sacctmgr", "-n", "list", "cluster").returncode, "slurmdbd")
    for added in ("cluster small", "account me", "user root account=me"):
        slurm.ask("sacctmgr", "-i", "add", *added.split())


def _main() -> int:
    parser = argparse.ArgumentParser(prog="./run-tests slurm", description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=2, help="nodes of one core that run jobs; by default 2")
    parser.add_argument(
        "--interconnect", default="emulated_gigabit", help="emulated interconnect between them"
    )
    parser.add_argument("--accounting", action="store_true", help="with slurmdbd on MariaDB")
    parser.add_argument("command", nargs="*", help="runs on the head node; by default a shell")
    given = parser.parse_args()
    if missing := [why for program in SLURM if (why := unmet(program))]:
        print(*missing, sep="\n", file=sys.stderr)
        return 1
    with small_slurm(given.nodes, given.interconnect, given.accounting) as slurm:
        if not given.command:
            print(_GREETING.format(nodes=given.nodes, interconnect=given.interconnect), flush=True)
        command = given.command or [os.environ.get("SHELL", "/bin/sh")]
        return subprocess.run(slurm.on_head(command, Path.cwd())).returncode


if __name__ == "__main__":
    try:
        sys.exit(_main())
    except KeyboardInterrupt:
        sys.exit(130)
