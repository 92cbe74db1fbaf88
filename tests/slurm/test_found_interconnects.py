"""The interconnects of a cluster's nodes, found and measured in a job of a real Slurm."""

import subprocess

import pytest
from cluster_folders import ClusterFolder
from needs import SLURM

from workflows.inputs import read_yaml
from workflows.paths import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.needs(*SLURM)]


@pytest.fixture(scope="module")
def listed(slurm, tmp_path_factory):
    """The folder in which the command was typed, and what it printed."""
    folder = tmp_path_factory.mktemp("found")
    (folder / "site.yaml").write_text("minutes: 30\n")
    words = ["--interconnects", "--write", "--profile", "cluster", *ClusterFolder.impatience]
    argv = slurm.on_head([str(ROOT / "run-study"), *words], cwd=folder)
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}\n{slurm.logs()}"
    return folder, done.stdout.splitlines()


def test_an_interconnect_between_nodes_is_measured_on_two_nodes(listed):
    folder, lines = listed
    (tcp,) = (line for line in lines if line.startswith("tcp_eth0 "))
    assert "between nodes" in tcp and " µs, " in tcp
    written = read_yaml(folder / "interconnects/tcp_eth0.yaml")
    assert written["place"] == "cluster" and set(written["attest"]) == {"latency_us", "bandwidth_MBps"}
    low, high = written["attest"]["bandwidth_MBps"]
    assert low < 125 < high  # the emulated nodes are joined by links of 1 Gbit/s


def test_the_heading_names_a_node_and_not_the_head(listed):
    assert listed[1][0].startswith("Interconnects that runs on emulated-node")


def test_mpich_without_its_process_management_fails_and_gets_no_file(listed):
    folder, lines = listed
    assert any(line.startswith("tcp_eth0_mpich fails: ") for line in lines)
    assert not (folder / "interconnects/tcp_eth0_mpich.yaml").exists()
