"""Network adapters as the kernel tells them."""

from workflows.provenance import adapters


def test_rates_of_links(tmp_path):
    for name, text in {
        "infiniband/mlx5_0/ports/1/rate": "200 Gb/sec (4X HDR)\n",
        "net/eth0/speed": "25000\n",
        "net/eth1/speed": "-1\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "net/lo/speed").mkdir(parents=True)  # cannot be read, as that of lo
    assert adapters(tmp_path) == ["mlx5_0: 200 Gb/sec (4X HDR)", "eth0: 25000 Mbit/s"]


def test_a_machine_without_any(tmp_path):
    assert adapters(tmp_path) == []
