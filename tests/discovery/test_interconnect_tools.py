"""Parsers of the tools that know a machine's interconnects, on what the tools print on real machines."""

import time
from pathlib import Path

import pytest
from tool_logs import printed

from workflows.discovery.tools import (
    TOOLS,
    Resource,
    Tool,
    ask,
    read_fi_info,
    read_ibstat,
    read_ip_link,
    read_mpich_version,
    read_ompi_info,
    read_opainfo,
    read_ucx_info,
)


@pytest.mark.parametrize(
    ("read", "log", "resources"),
    [
        (read_mpich_version, "debian_mpichversion", [("ch4:ucx", "", None)]),
        (read_ip_link, "debian_ip_link", [("loopback", "lo", None), ("ether", "eth0", None)]),
        (
            read_ip_link,
            "azure_ip_link",
            [("loopback", "lo", None), ("ether", "eth0", None), ("infiniband", "ib0", None)],
        ),
        (
            read_ucx_info,
            "old_ucx_info",
            [("tcp", "virbr0", None), ("tcp", "ib0", None), ("tcp", "enp7s0f0", None)],
        ),
        (read_fi_info, "efa_fi_info", [("efa", "rdmap0s31-rdm", None)]),
        (read_fi_info, "slingshot_fi_info", [("cxi", "cxi0", None)]),
        (read_fi_info, "opx_without_adapter_fi_info", []),
        (read_ibstat, "infiniband_ibstat", [("InfiniBand", "mlx5_0:1", 100_000)]),
        (read_ibstat, "mixed_ibstat", [("InfiniBand", "ibp129s0f0:1", 100_000)]),
        (read_ibstat, "two_ports_ibstat", [("InfiniBand", "mlx5_0:1", 56_000)]),
        (read_ibstat, "roce_ibstat", [("Ethernet", "mlx5_0:1", 200_000)]),
        (read_opainfo, "omni_path_opainfo", [("Omni-Path", "opap134s0:1", None)]),
    ],
)
def test_output_of_a_tool_is_read(read, log, resources):
    assert read(printed(log)) == [Resource(*expected) for expected in resources]


def test_components_of_open_mpi_are_listed_once():
    names = [resource.name for resource in read_ompi_info(printed("debian_ompi_info"))]
    assert {"btl/tcp", "btl/vader", "pml/ucx", "mtl/ofi", "mtl/psm2"} <= set(names)
    assert len(names) == len(set(names))


def test_ucx_lists_every_transport_of_an_adapter():
    on_adapter = {
        each.name for each in read_ucx_info(printed("azure_ucx_info")) if each.device == "mlx5_ib0:1"
    }
    assert on_adapter == {"dc_mlx5", "rc_verbs", "rc_mlx5", "ud_verbs", "ud_mlx5"}


@pytest.mark.parametrize(("rate", "data_mbps"), [("10", 8000), ("40", 32_000), ("100", 100_000)])
def test_old_infiniband_carries_eight_of_ten_bits_as_data(rate, data_mbps):
    text = printed("infiniband_ibstat").replace("Rate: 100", f"Rate: {rate}")
    assert read_ibstat(text)[0].link_mbps == data_mbps


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_output_of_nothing_useful_is_no_resource(tool):
    assert tool.read("") == [] and tool.read("command failed: no devices\n") == []


def program(folder: Path, monkeypatch, script: str) -> Tool:
    """A tool that runs a script, found before all others."""
    file = folder / "a_tool"
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return Tool(("a_tool", "-d"), "a-package", read_ucx_info)


def test_a_missing_tool_is_named_with_its_package():
    report = ask(Tool(("no_such_tool",), "a-package", read_ucx_info))
    assert report.problem == "not installed (Debian: a-package)" and not report.resources


def test_a_tool_that_hangs_is_ended_with_its_children(tmp_path, monkeypatch):
    tool = program(tmp_path, monkeypatch, f"trap '' TERM; sleep 300 & echo $! >{tmp_path}/child; wait")
    report = ask(tool, patience_seconds=1)
    assert report.problem == "no answer in 1 s"
    child = Path("/proc") / (tmp_path / "child").read_text().strip() / "stat"
    for _ in range(100):
        if not child.exists() or child.read_text().rpartition(")")[2].split()[0] == "Z":
            break
        time.sleep(0.1)
    else:
        pytest.fail("the child of the tool is left")


def test_a_failing_tool_is_reported_and_warnings_are_ignored(tmp_path, monkeypatch):
    tool = program(tmp_path, monkeypatch, "echo no devices >&2; exit 3")
    assert ask(tool).problem == "ended with exit status 3: it found nothing"
    tool = program(tmp_path, monkeypatch, "echo '#  Transport: tcp'; echo '#  Device: eth7'; exit 1")
    assert ask(tool).resources == [Resource("tcp", "eth7")]
