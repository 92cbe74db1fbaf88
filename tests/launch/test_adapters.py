"""Network adapters, node type and transports, as kernel, firmware and MPI libraries report them."""

from workflows.launch.mpi.registry import SERIAL_LIBRARY
from workflows.launch.provenance import adapters, node_type


def test_rates_of_links(tmp_path):
    rates = {"infiniband/mlx5_0/ports/1/rate": "200 Gb/sec (4X HDR)\n"}
    for name, text in (rates | {"net/eth0/speed": "25000\n", "net/eth1/speed": "-1\n"}).items():
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "net/lo/speed").mkdir(parents=True)  # cannot be read, as that of lo
    assert adapters(tmp_path) == ["mlx5_0: 200 Gb/sec (4X HDR)", "eth0: 25000 Mbit/s"]


def test_a_machine_without_any(tmp_path):
    assert adapters(tmp_path) == []


def test_a_node_type_comes_from_the_firmware(tmp_path):
    assert node_type(tmp_path) is None
    (tmp_path / "sys_vendor").write_text("Dell Inc.\n")
    (tmp_path / "product_name").write_text("PowerEdge C6525 \n")
    assert node_type(tmp_path) == "Dell Inc. PowerEdge C6525"


def test_transports_that_libraries_tell(tmp_path):
    """Lines of Open MPI 4.1.4 and UCX 1.13.1; a rank's way to itself is none between processes."""
    report = (
        "[vm:19974] mca: bml: Using self btl for send to [[8958,1],0] on node vm\n"
        "[vm:19974] mca: bml: Using tcp btl for send to [[8958,1],1] on node vm\n"
        "[vm:18876] mtl_ofi_component.c:365: mtl:ofi:provider: hfi1_0\n"
    )
    (tmp_path / "transport-vm-16000.log").write_text(
        "ucp_worker.c:1763 UCX  INFO    ep_cfg[0]: tag(self/memory0 cma/memory)\n"
        "ucp_worker.c:1763 UCX  INFO    ep_cfg[1]: tag(rc_mlx5/mlx5_0:1)\n"
    )
    assert SERIAL_LIBRARY.read_report(report, tmp_path).transports == [
        "ofi/hfi1_0",
        "rc_mlx5/mlx5_0:1",
        "tcp",
    ]
