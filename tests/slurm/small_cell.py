"""A real Grid Engine of a few nodes on this machine, for tests and for trying things by hand.

    python -m tests.slurm.small_cell --nodes 2 -- snakemake --profile cluster/sge ...

runs a command on its head node, or a shell without one. Its nodes are those of `small_cluster`; its programs are
`unpacked`.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.slurm.small_cluster import SmallCluster, small_cluster
from tests.slurm.unpacked import CACHE
from workflows.launch.emulation import EmulatedNode

UNPACKED = CACHE / "grid-engine"
RESOURCES = "/usr/share/gridengine/util/resources"
_BOOTSTRAP = """admin_user none
default_domain none
ignore_fqdn false
spooling_method berkeleydb
spooling_lib libspoolb
spooling_params {root}/spooldb
binary_path /usr/sbin
qmaster_spool_dir {root}/qmaster
security_mode none
listener_threads 2
worker_threads 2
scheduler_threads 1
"""
_CHANGED = {
    "execd_spool_dir": "{root}/execd",
    "min_uid": "0",
    "min_gid": "0",
    "load_report_time": "00:00:02",
    "max_unheard": "00:00:20",
    "reporting_params": "accounting=true reporting=false flush_time=00:00:01 joblog=false sharelog=00:00:00",
}
_FILES = {
    "host": """hostname {name}
load_scaling NONE
complex_values exclusive=true
user_lists NONE
xuser_lists NONE
projects NONE
xprojects NONE
usage_scaling NONE
report_variables NONE
""",
    "group": "group_name @allhosts\nhostlist {names}\n",
    "environment": """pe_name mpi
slots 999
user_lists NONE
xuser_lists NONE
start_proc_args NONE
stop_proc_args NONE
allocation_rule $round_robin
control_slaves TRUE
job_is_first_task TRUE
urgency_slots min
accounting_summary TRUE
qsort_args NONE
""",
    "queue": """qname all.q
hostlist @allhosts
seq_no 0
load_thresholds NONE
suspend_thresholds NONE
nsuspend 1
suspend_interval 00:05:00
priority 0
min_cpu_interval 00:05:00
processors UNDEFINED
qtype BATCH INTERACTIVE
ckpt_list NONE
pe_list mpi
rerun TRUE
slots 1
tmpdir {folders}
shell /bin/sh
prolog NONE
epilog NONE
shell_start_mode unix_behavior
starter_method NONE
suspend_method NONE
resume_method NONE
terminate_method NONE
notify 00:00:60
owner_list NONE
user_lists NONE
xuser_lists NONE
subordinate_list NONE
complex_values NONE
projects NONE
xprojects NONE
calendar NONE
initial_state default
s_rt INFINITY
h_rt INFINITY
s_cpu INFINITY
h_cpu INFINITY
s_fsize INFINITY
h_fsize INFINITY
s_data INFINITY
h_data INFINITY
s_stack INFINITY
h_stack INFINITY
s_core INFINITY
h_core INFINITY
s_rss INFINITY
h_rss INFINITY
s_vmem INFINITY
h_vmem INFINITY
""",
}
_EXCLUSIVE = "exclusive excl BOOL EXCL YES YES 0 1000\n"
_SOON = {"schedule_interval": "0:0:2", "flush_submit_sec": "1", "flush_finish_sec": "1"}


@dataclass
class SmallCell(SmallCluster):
    """A running Grid Engine."""

    @property
    def root(self) -> Path:
        """What the programs of Grid Engine find in SGE_ROOT."""
        return self.folder / "sge"

    def start_node(self, node: EmulatedNode) -> None:
        """Switch a node on and wait until it takes jobs."""
        self._daemons[node.name] = self._start(node, ["sge_execd"])
        self._until(lambda: self._is_up(node), node.name)

    def state(self, number: str) -> str:
        """Give the state of a job as qstat lists it; nothing of one that is over."""
        rows = (line.split() for line in self.ask("qstat", "-u", "*").splitlines())
        return next((row[4] for row in rows if row and row[0] == number), "")

    def _is_up(self, node: EmulatedNode) -> bool:
        """Whether its load is known and its queue takes jobs."""
        rows = [line.split() for line in self.run("qstat", "-f", "-q", f"*@{node.name}").stdout.splitlines()]
        return any(
            row[0] == f"all.q@{node.name}" and len(row) == 5 and row[3] != "-NA-" for row in rows if row
        )

    def _inside(self, node: EmulatedNode, command: Sequence[str]) -> list[str]:
        environment = ["env", f"SGE_ROOT={self.root}", "SGE_CELL=default", "SGE_ND=1"]
        environment += ["SGE_QMASTER_PORT=6444", "SGE_EXECD_PORT=6445"]
        return super()._inside(node, [*environment, *command])


@contextlib.contextmanager
def small_cell(nodes: int = 2, interconnect: str = "emulated_gigabit") -> Iterator[SmallCell]:
    """Start a Grid Engine; see `tests.slurm.small_slurm.small_slurm`."""
    with small_cluster(nodes, interconnect) as made:
        cell = SmallCell(made.nodes, made.head, made.folder, made.first_process)
        _write_configuration(cell)
        _begin(cell)
        yield cell


def _write_configuration(cell: SmallCell) -> None:
    """Write what must be there before the master starts."""
    root = cell.root
    for name in ("default/common", "spooldb", "qmaster/job_scripts", "execd"):
        (root / name).mkdir(parents=True)
    for name in ("bin", "lib", "util", "utilbin"):
        (root / name).symlink_to(UNPACKED / "var/lib/gridengine" / name)
    (root / "default/common/bootstrap").write_text(_BOOTSTRAP.format(root=root))
    (root / "default/common/act_qmaster").write_text(f"{cell.head.name}\n")
    hosts = "".join(f"{node.address} {node.name}\n" for node in (*cell.nodes, cell.head))
    (cell.folder / "hosts").write_text(f"127.0.0.1 localhost\n{hosts}")
    lines = (UNPACKED / "usr/share/gridengine/default-configuration").read_text().splitlines()
    values = {name: value.format(root=root) for name, value in _CHANGED.items()}
    (cell.folder / "configuration").write_text(_replaced(lines, values))


def _replaced(lines: Sequence[str], values: dict[str, str]) -> str:
    """Give lines of a name and a value, with some values replaced."""
    names = [line.split()[0] if line.strip() else "" for line in lines]
    return "".join(
        f"{name} {values[name]}\n" if name in values else f"{line}\n"
        for name, line in zip(names, lines, strict=True)
    )


def _begin(cell: SmallCell) -> None:
    """Make the cell's state, start its daemons one after another, and describe it to them."""
    library = "/usr/lib/gridengine"
    cell.put_over_usr(UNPACKED)
    cell.ask("mount", "--bind", str(cell.folder / "hosts"), "/etc/hosts")
    cell.ask(f"{library}/spoolinit", "berkeleydb", "libspoolb", str(cell.root / "spooldb"), "init")
    for setting, given in {
        "configuration": str(cell.folder / "configuration"),
        "complexes": f"{RESOURCES}/centry",
        "usersets": f"{RESOURCES}/usersets",
        "managers": "root",
    }.items():
        cell.ask(f"{library}/spooldefaults", setting, given)
    cell._daemons["sge_qmaster"] = cell._start(cell.head, ["sge_qmaster"])
    cell._until(lambda: not cell.run("qconf", "-sss").returncode, "sge_qmaster")
    _tell(cell, "-Mc", cell.ask("qconf", "-sc") + f"\n{_EXCLUSIVE}")
    _tell(cell, "-Msconf", _replaced(cell.ask("qconf", "-ssconf").splitlines(), _SOON))
    cell.ask("qconf", "-as", cell.head.name)
    names = [node.name for node in cell.nodes]
    for name in names:
        cell.ask("qconf", "-as", name)
        cell.ask("qconf", "-ah", name)
        _tell(cell, "-Ae", _FILES["host"].format(name=name))
    _tell(cell, "-Ahgrp", _FILES["group"].format(names=" ".join(names)))
    _tell(cell, "-Ap", _FILES["environment"])
    # A folder of files a node: when a job leaves one node it is removed, and would be missed on the others.
    folders = {name: cell.folder / f"files-of-{name}" for name in names}
    for folder in folders.values():
        folder.mkdir()
    host_folders = ",".join(f"[{name}={folder}]" for name, folder in folders.items())
    _tell(cell, "-Aq", _FILES["queue"].format(folders=f"/tmp,{host_folders}"))
    for node in cell.nodes:
        cell.start_node(node)


def _tell(cell: SmallCell, option: str, text: str) -> None:
    """Give qconf a file of this text."""
    file = cell.folder / f"given{option}"
    file.write_text(text)
    cell.ask("qconf", option, str(file))


def _main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=2, help="nodes that run jobs")
    parser.add_argument("--interconnect", default="emulated_gigabit", help="the emulated one between them")
    parser.add_argument("command", nargs="*", help="runs on the head node; by default a shell")
    given = parser.parse_args()
    with small_cell(given.nodes, given.interconnect) as cell:
        command = given.command or [os.environ.get("SHELL", "/bin/sh")]
        return subprocess.run(cell.on_head(command, Path.cwd())).returncode


if __name__ == "__main__":
    sys.exit(_main())
