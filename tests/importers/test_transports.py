"""Results of tests of transports below MPI, read to the digit."""

import pandas as pd
import pytest

from analysis.importers import make_mapping, read_foreign
from analysis.runs.errors import TableError

MAPPING = make_mapping({"interconnect": {"value": "mine"}, "kind": {"value": "measured"}})


@pytest.fixture
def read(foreign):
    def read(name):
        imported = read_foreign(foreign / name, None, MAPPING)
        table = imported.derived["transports"]
        assert set(table["interconnect"]) == {"mine"} and set(table["source"]) == {name.split("/")[1]}
        return table.drop(columns=["interconnect", "kind", "source"]), imported.unread

    return read


def only(table, **values):
    for column, value in values.items():
        table = table[table[column] == value]
    (row,) = table.to_dict("records")
    return row


def test_perftest_in_2_20_bytes_by_its_connection(read):
    table, unread = read("perftest/send_bw_lat_rc.txt")
    row = only(table, test="stream", bytes=65536)
    assert (row["program"], row["transport"]) == ("ib_send_bw", "rc")
    assert row["received_MBps"] == row["sent_MBps"] == pytest.approx(3653.23 * 1.048576)
    assert only(table, test="pingpong", bytes=4096)["latency_us"] == 3.77  # the typical one
    assert not unread and len(table) == 6


def test_perftest_in_gigabits_and_reads(read):
    table, _ = read("perftest/write_lat_read_gbits.txt")
    assert only(table, program="ib_read_bw", bytes=65536)["received_MBps"] == pytest.approx(24.28 * 125)
    assert only(table, program="ib_write_lat", bytes=2)["latency_us"] == 0.89
    assert only(table, program="ib_read_lat")["latency_us"] == 1.74


def test_datagrams_are_sent_by_the_client_and_received_by_the_server(read):
    sent, _ = read("perftest/send_bw_ud.txt")
    got, _ = read("perftest/send_bw_ud_server.txt")
    assert sent["received_MBps"].isna().all() and got["sent_MBps"].isna().all()
    assert only(sent, bytes=4096)["sent_MBps"] == pytest.approx(3018.58 * 1.048576)
    assert got["received_MBps"].tolist() == pytest.approx([7876.21 * 1.048576])


def test_qperf_over_infiniband(read):
    table, unread = read("qperf/infiniband.txt")
    row = only(table, program="udp_bw")
    assert (row["sent_MBps"], row["received_MBps"]) == (719, 626)
    assert row["lost_percent"] == pytest.approx(100 * 93 / 719)
    assert only(table, program="uc_rdma_write_bw")["transport"] == "uc"
    assert only(table, program="tcp_lat")["latency_us"] == 51.2
    assert table["bytes"].isna().all() and not unread


def test_qperf_with_sizes_and_empty_results(read):
    table, unread = read("qperf/sizes_0.4.11.txt")
    assert only(table, program="tcp_lat", bytes=65536)["latency_us"] == 94.3
    assert only(table, program="udp_bw", bytes=1)["sent_MBps"] == pytest.approx(0.0381)
    assert [line.rsplit(": ", 1)[1] for line in unread] == [
        "udp_lat of 65536 bytes has no result",
        "udp_bw of 65536 bytes has no result",
    ]
    plain, _ = read("qperf/plain_0.4.11.txt")
    assert only(plain, program="udp_bw")["sent_MBps"] == 1350  # printed as 1.35 GB/sec


def test_a_number_without_digits_is_missing(foreign, tmp_path):
    text = (foreign / "qperf/plain_0.4.11.txt").read_text()
    damaged = tmp_path / "damaged.txt"
    damaged.write_text(text.replace("1.35 GB/sec", ", GB/sec"))
    row = only(read_foreign(damaged, None, MAPPING).derived["transports"], program="udp_bw")
    assert pd.isna(row["sent_MBps"]) and row["received_MBps"] == 103


def test_iperf3_of_tcp_and_udp_with_its_own_processors(read):
    tcp, _ = read("iperf3/tcp_3.12.json")
    assert tcp["received_MBps"].tolist() == pytest.approx([6825258242.37032 / 8e6])
    udp = only(read("iperf3/udp_3.12.json")[0], transport="udp")
    assert udp["sent_MBps"] == pytest.approx(1723596685.96 / 8e6)
    assert udp["received_MBps"] == pytest.approx(udp["sent_MBps"] * (1 - 27987 / 52901))
    assert (udp["bytes"], udp["sender_busy"]) == (8192, pytest.approx(0.1501, abs=1e-4))


def test_netperf_halves_a_transaction_and_separates_sent_from_received(read):
    table, _ = read("netperf/tcp.txt")
    assert only(table, test="pingpong")["latency_us"] == pytest.approx(1e6 / 23340.40 / 2)
    assert only(table, test="stream")["received_MBps"] == pytest.approx(27043.83 / 8)
    udp = only(read("netperf/udp_stream.txt")[0], bytes=2048)
    assert udp["sent_MBps"] == pytest.approx(3047.29 / 8)
    assert udp["lost_percent"] == pytest.approx(100 * (1 - 3035.15 / 3047.29))


def test_sockperf_has_medians_and_2_20_bytes(read):
    assert only(read("sockperf/udp_3.7.txt")[0], transport="udp")["latency_us"] == 5.593
    assert only(read("sockperf/tcp_3.7.txt")[0], transport="tcp")["latency_us"] == 6.860
    sent = only(read("sockperf/throughput_3.7.txt")[0], bytes=1400)
    assert sent["sent_MBps"] == pytest.approx(37398 * 1400 / 1e6, rel=1e-4)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '{"start": {"version": "iperf 3.12"}, "error": "unable to connect"}',
            "iperf3 says: unable to connect",
        ),
        ("tcp_bw:\n    bw  =  3 furlongs/sec\n", "'bw = 3 furlongs/sec' has an unknown unit"),
        (
            "                    Send BW Test\n #bytes  #iterations\n 2  1000\n",
            "follows no line with the type",
        ),
    ],
)
def test_unreadable_output_is_reported_in_one_line(written, text, message):
    with pytest.raises(TableError, match=f"holds no result.*{message}"):
        read_foreign(written(text), None, MAPPING)


def test_a_row_of_netperf_with_more_values_than_its_heading_is_left_out(foreign, tmp_path):
    """A line of the next test stands below this heading, and a column of the heading is lost."""
    text = (foreign / "netperf/tcp.txt").read_text()
    text = text.replace("bytes  bytes   bytes    secs.", "bytes  bytes   secs.")
    file = tmp_path / "tcp.txt"
    file.write_text(
        text.replace("131072  16384  16384    10.00    27043.83", "16384 131072 1 10.00 23340.40")
    )
    imported = read_foreign(file, None, MAPPING)
    assert imported.derived["transports"]["test"].tolist() == ["pingpong"]
    assert any("has more values than its heading" in line for line in imported.unread)


def test_a_second_title_in_a_heading_of_perftest_ends_the_test(foreign, tmp_path):
    text = (foreign / "perftest/write_lat_read_gbits.txt").read_text()
    file = tmp_path / "lat.txt"
    file.write_text(
        text.replace(" Number of qps   : 1    Transport type   : IB", "  RDMA_Read Latency Test", 1)
    )
    imported = read_foreign(file, None, MAPPING)
    assert "ib_write_lat" not in imported.derived["transports"]["program"].tolist()
    assert any("stands in the heading of" in line for line in imported.unread)
    assert imported.derived["transports"]["program"].tolist() == ["ib_read_bw", "ib_read_bw", "ib_read_lat"]


def test_a_table_of_perftest_whose_sizes_do_not_rise_is_left_out(foreign, tmp_path):
    text = (foreign / "perftest/write_lat_read_gbits.txt").read_text()
    row_of_read = next(line for line in text.split("\n") if "7.97" in line)
    row_of_write = next(line for line in text.split("\n") if line.startswith(" 8388608"))
    file = tmp_path / "lat.txt"
    file.write_text(text.replace(row_of_write, row_of_read))
    imported = read_foreign(file, None, MAPPING)
    assert "ib_write_lat" not in imported.derived["transports"]["program"].tolist()
    assert any("has no larger size than the row above" in line for line in imported.unread)


def test_a_test_of_qperf_with_the_rates_of_another_transport_is_left_out(foreign, tmp_path):
    """The line that begins the next test is lost."""
    text = (foreign / "qperf/plain_0.4.11.txt").read_text()
    file = tmp_path / "plain.txt"
    file.write_text(text.replace("udp_bw:\n", "", 1))
    imported = read_foreign(file, None, MAPPING)
    assert imported.derived["transports"]["program"].tolist() == ["tcp_lat"]


def test_an_interconnect_must_be_named(foreign):
    with pytest.raises(TableError, match="does not name its interconnect"):
        read_foreign(foreign / "netperf/tcp.txt")
