"""Quotas of CPU time of control groups, versions 1 and 2, count as the cores that there are."""

import os

import pytest

from workflows.launch import emulation
from workflows.launch.cpu_quota import cpu_quota


@pytest.fixture
def groups(tmp_path):
    """Write the groups of a process and files of their folders; return the quota."""

    def groups(lines, **files):
        (tmp_path / "cgroup").write_text(lines)
        for name, content in files.items():
            file = tmp_path / "fs" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content)
        return cpu_quota(tmp_path / "cgroup", tmp_path / "fs")

    return groups


def test_without_a_quota(groups, tmp_path):
    assert groups("0::/\n") is None
    assert groups("0::/a/b\n", **{"a/b/cpu.max": "max 100000\n", "a/cpu.max": "max 100000\n"}) is None
    assert (
        groups("4:cpu,cpuacct:/\n", **{"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"})
        is None
    )
    assert cpu_quota(tmp_path / "none", tmp_path) is None


def test_version_2(groups):
    assert groups("0::/a/b\n", **{"a/b/cpu.max": "150000 100000\n"}) == 1.5


def test_the_lowest_quota_above_a_group_counts(groups):
    files = {"a/b/cpu.max": "400000 100000\n", "a/cpu.max": "250000 100000\n"}
    assert groups("0::/a/b\n", **files) == 2.5


def test_a_container_whose_path_is_hidden(groups):
    assert groups("0::/../../docker/77\n", **{"cpu.max": "200000 100000\n"}) == 2


@pytest.mark.parametrize("folder", ["cpu", "cpu,cpuacct"])
def test_version_1(groups, folder):
    files = {f"{folder}/x/cpu.cfs_quota_us": "50000\n", f"{folder}/x/cpu.cfs_period_us": "100000\n"}
    assert groups("9:name=systemd:/\n4:cpuacct,cpu:/x\n3:cpuset:/\n", **files) == 0.5


@pytest.mark.parametrize(("quota", "cores"), [(0.5, 1), (1.0, 1), (1.9, 1), (2.0, 2), (64.0, 3), (None, 3)])
def test_whole_cores_of_a_quota_are_usable(monkeypatch, quota, cores):
    monkeypatch.setattr(emulation, "cpu_quota", lambda: quota)
    monkeypatch.setattr(
        os, "sched_getaffinity", lambda _: {70_001, 70_002, 70_003}
    )  # no topology: each is a core
    assert emulation.usable_cores() == [70_001, 70_002, 70_003][:cores]
