"""The interconnects that follow from what the tools of a machine report, and their files."""

import pytest
from tool_logs import printed

from workflows.discovery.ping_pong import as_yaml
from workflows.discovery.selectable import Selectable, selectable
from workflows.discovery.tools import TOOLS, Resource
from workflows.paths import INTERCONNECTS
from workflows.study.interconnects import digest, load_interconnect

READ = {tool.name: tool.read for tool in TOOLS}
RANGES = {"latency_us": [1.0, 4.0], "bandwidth_MBps": [100.0, 800.0]}


def machine(**logs: str) -> dict[str, list[Resource]]:
    """Resources of a machine whose tools print what the logs hold; the other tools report nothing."""
    return {name: READ[name](printed(logs[name])) if name in logs else [] for name in READ}


def offered(**logs: str) -> dict[str, Selectable]:
    listed = selectable(machine(**logs))
    assert len({each.name for each in listed}) == len(listed)
    return {each.name: each for each in listed}


OPEN_MPI = {"ompi_info": "debian_ompi_info"}


def test_this_machine_offers_memory_loopback_and_its_interface():
    logs = {"mpichversion": "debian_mpichversion", "ucx_info": "debian_ucx_info", "ip": "debian_ip_link"}
    assert set(offered(**OPEN_MPI, **logs, fi_info="debian_fi_info")) == {
        *("shared_memory", "tcp_loopback", "tcp_eth0"),
        *("ucx_shared_memory", "ucx_tcp_loopback", "ucx_tcp_eth0", "libfabric_tcp_eth0"),
        *("shared_memory_mpich", "tcp_loopback_mpich", "tcp_eth0_mpich"),
    }


def test_infiniband_is_offered_with_the_names_of_its_devices():
    listed = offered(
        **OPEN_MPI, ucx_info="azure_ucx_info", ip="azure_ip_link", mpichversion="debian_mpichversion"
    )
    assert listed["tcp_ib0"].launch["mca"]["btl_tcp_if_include"] == "ib0"
    reliable = listed["ucx_rc_mlx5_ib0_1"]
    assert reliable.launch["env"] == {"UCX_TLS": "rc,sm,self", "UCX_NET_DEVICES": "mlx5_ib0:1"}
    assert reliable.transport == "rc" and reliable.joins_nodes and reliable.kind == "measured"
    assert "InfiniBand or RoCE" in reliable.title
    assert {"ucx_ud_mlx5_ib0_1", "ucx_dc_mlx5_ib0_1", "ucx_rc_mlx5_ib0_1_mpich"} <= set(listed)


@pytest.mark.parametrize(
    ("log", "layer", "mbps"),
    [("infiniband_ibstat", "InfiniBand mlx5_0:1", 100_000), ("roce_ibstat", "RoCE", 200_000)],
)
def test_ibstat_tells_infiniband_from_roce(log, layer, mbps):
    resources = machine(**OPEN_MPI, ibstat=log) | {"ucx_info": [Resource("rc_mlx5", "mlx5_0:1")]}
    (matching,) = (each for each in selectable(resources) if each.name == "ucx_rc_mlx5_0_1")
    assert matching.title.startswith(layer) and matching.link_mbps == mbps


@pytest.mark.parametrize(
    ("log", "name", "provider", "carrier"),
    [
        ("efa_fi_info", "libfabric_efa", "efa", "EFA over rdmap0s31-rdm"),
        ("slingshot_fi_info", "libfabric_cxi", "cxi", "Slingshot over cxi0"),
        ("psm3_fi_info", "libfabric_psm3", "psm3", "PSM3 over eth0"),
    ],
)
def test_a_provider_of_libfabric_is_offered_for_open_mpi_and_mpich(log, name, provider, carrier):
    resources = machine(**OPEN_MPI, fi_info=log) | {"mpichversion": [Resource("ch4:ofi")]}
    listed = {each.name: each for each in selectable(resources)}
    assert listed[name].launch["mca"] == {"pml": "cm", "mtl": "ofi", "mtl_ofi_provider_include": provider}
    assert listed[f"{name}_mpich"].launch["env"] == {"FI_PROVIDER": provider}
    assert listed[name].carrier.startswith(carrier)


def test_omni_path_needs_an_active_adapter():
    assert "omni_path_psm2" in offered(**OPEN_MPI, opainfo="omni_path_opainfo")
    without = offered(**OPEN_MPI, fi_info="opx_without_adapter_fi_info")
    assert not [name for name in without if "opx" in name or "omni" in name]


def test_interfaces_of_virtual_machines_and_containers_are_left_out():
    assert [name for name in offered(**OPEN_MPI, ucx_info="old_ucx_info") if "tcp" in name] == [
        *("tcp_enp7s0f0", "tcp_ib0", "ucx_tcp_enp7s0f0", "ucx_tcp_ib0")
    ]


def test_open_mpi_5_calls_its_shared_memory_sm():
    components = [Resource(f"btl/{name}") for name in ("self", "sm", "tcp")]
    listed = selectable(machine(ip="azure_ip_link") | {"ompi_info": components})
    assert [each.launch["mca"]["btl"] for each in listed] == [
        "self,sm",
        "self,tcp",
        "self,sm,tcp",
        "self,sm,tcp",
    ]


def test_without_an_mpi_library_nothing_can_be_selected():
    assert not offered(ucx_info="azure_ucx_info", ip="azure_ip_link", fi_info="efa_fi_info")


@pytest.mark.parametrize(
    "logs",
    [
        {"ucx_info": "debian_ucx_info", "ip": "debian_ip_link", "fi_info": "debian_fi_info"},
        {"ucx_info": "azure_ucx_info", "ip": "azure_ip_link", "ibstat": "infiniband_ibstat"},
        {"fi_info": "efa_fi_info", "opainfo": "omni_path_opainfo"},
        {"fi_info": "slingshot_fi_info"},
    ],
)
def test_every_file_is_right(logs, tmp_path):
    for each in offered(**OPEN_MPI, mpichversion="debian_mpichversion", **logs).values():
        for ranges in (RANGES, {}):
            (tmp_path / f"{each.name}.yaml").write_text(as_yaml(each, ranges, "host"))
            read = load_interconnect(each.name, tmp_path)
            assert read.kind == "measured" and read.attest == ranges
            assert read.joins_nodes == each.joins_nodes


@pytest.mark.parametrize(
    "name",
    [
        *("shared_memory", "tcp_loopback", "ucx_shared_memory", "ucx_tcp_loopback"),
        *("shared_memory_mpich", "tcp_loopback_mpich"),
    ],
)
def test_a_name_of_the_project_means_the_same_launch(name, tmp_path):
    logs = {"mpichversion": "debian_mpichversion", "ucx_info": "debian_ucx_info", "ip": "debian_ip_link"}
    (tmp_path / f"{name}.yaml").write_text(as_yaml(offered(**OPEN_MPI, **logs)[name], {}, "host"))
    assert digest(load_interconnect(name, tmp_path)) == digest(load_interconnect(name, INTERCONNECTS))
