"""The Slurm of the tests has several real nodes and leaves nothing behind."""

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from needs import SLURM
from small_slurm import small_slurm
from waiting import wait_until

from workflows.paths import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.alone, pytest.mark.needs(*SLURM)]


def daemons() -> set[str]:
    names = {"slurmctld", "slurmd", "slurmstepd", "munged"}
    processes = (p for p in psutil.process_iter(["name", "status"]) if p.info["name"] in names)
    return {f"{p.pid} {p.info['name']}" for p in processes if p.info["status"] != psutil.STATUS_ZOMBIE}


def left_over() -> set[str]:
    """Daemons and folders; namespaces without a name and a mount of their own go with their processes."""
    folders = {str(folder) for folder in Path("/dev/shm").glob("nodeworth-*/etc")}
    mounts = {line for line in Path("/proc/mounts").read_text().splitlines() if "/etc/slurm" in line}
    named = {str(name) for name in Path("/run/netns").glob("*")}
    return daemons() | folders | mounts | named


def test_steps_run_on_nodes_with_names_and_cores_of_their_own():
    before = left_over()
    with small_slurm(nodes=4) as slurm:
        output = slurm.ask(
            "srun", "-N4", "-n4", "sh", "-c", "hostname; grep Cpus_allowed_list /proc/self/status"
        )
        hosts = {line for line in output.splitlines() if line.startswith("emulated-node")}
        assert len(hosts) == 4
        assert all("-" not in line for line in output.splitlines() if line.startswith("Cpus"))
        assert "pmix" in slurm.ask("srun", "--mpi=list")
        assert (
            slurm.ask("ls", "/dev/shm") == slurm.folder.name
        )  # nothing of the machine's, nor of another cluster's
        slurm.wait_for_jobs()
        slurm.switch_off(slurm.nodes[3])
        slurm.start_node(slurm.nodes[3])
        slurm.stop("slurmctld")
        slurm.start_controller()
        assert slurm.ask("srun", "-N4", "hostname").count("emulated-node") == 4
    assert left_over() <= before


def test_the_command_opens_a_shell_on_the_login_node_and_leaves_nothing():
    before = left_over()
    shell = subprocess.run(
        [ROOT / "run-tests", "slurm"],
        input="sinfo --noheader --format=%N\nexit 3\n",
        env=os.environ | {"SHELL": "/bin/sh"},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert shell.stdout.startswith("Slurm runs on this machine: 2 nodes of one core")
    assert shell.stdout.endswith("\nemulated-node[1-2]\n") and shell.returncode == 3
    assert left_over() <= before


def test_a_killed_starter_leaves_nothing():
    before = left_over()
    command = [sys.executable, "-m", "tests.slurm.small_slurm", "--", "srun", "-N2", "sleep", "300"]
    with subprocess.Popen(command, cwd=ROOT) as starter:
        begun = wait_until(lambda: any("slurmstepd" in name for name in daemons() - before), 60)
        starter.kill()
    assert begun
    assert wait_until(lambda: not daemons() - before, 80)
    with small_slurm(nodes=2):  # the next one removes the folder
        pass
    assert left_over() <= before
