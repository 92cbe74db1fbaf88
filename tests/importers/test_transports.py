"""Results of tests of transports below MPI, read to the digit."""

import json

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


def missing(number):
    return float("nan") if number is None else number


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


def test_several_queue_pairs_of_perftest_are_part_of_the_program(foreign, written):
    text = (foreign / "perftest/write_lat_read_gbits.txt").read_text()
    path = written(text.replace("Number of qps   : 1    Transport type : IB", "Number of qps   : 3"))
    programs = read_foreign(path, None, MAPPING).derived["transports"]["program"]
    assert list(dict.fromkeys(programs)) == ["ib_write_lat", "ib_read_bw -q 3", "ib_read_lat"]


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


@pytest.fixture
def read_iperf3(foreign, written):
    """Read the output of iperf3 over TCP, after a change."""

    def read(change):
        result = json.loads((foreign / "iperf3/tcp_3.12.json").read_text())
        change(result)
        return only(read_foreign(written(json.dumps(result)), None, MAPPING).derived["transports"])

    return read


@pytest.mark.parametrize(
    ("reverse", "is_server", "busy"),
    [(0, False, (0.4, None)), (1, False, (None, 0.4)), (0, True, (None, 0.4)), (1, True, (0.4, None))],
)
def test_iperf3_on_a_server_has_the_processor_of_the_server(read_iperf3, reverse, is_server, busy):
    """The other side reported nothing, for which iperf3 prints 0."""

    def change(result):
        start = result["start"]
        start["test_start"]["reverse"] = reverse
        if is_server:
            start["accepted_connection"] = start.pop("connecting_to")
        result["end"]["cpu_utilization_percent"] |= {"host_total": 40, "remote_total": 0}

    row = read_iperf3(change)
    assert [row["sender_busy"], row["receiver_busy"]] == pytest.approx(list(map(missing, busy)), nan_ok=True)


@pytest.mark.parametrize("name", ["sum_sent_bidir_reverse", "sum_bidir_reverse"])
def test_iperf3_in_both_directions_is_refused_by_its_results(read_iperf3, name):
    """iperf3 before 3.13 does not print "bidir" among the settings of the test."""

    def change(result):
        result["end"][name] = {"bits_per_second": 1.0}

    with pytest.raises(TableError, match="holds both directions of --bidir: run the test"):
        read_iperf3(change)


def test_iperf3_without_a_rate_is_refused(read_iperf3):
    def change(result):
        result["end"]["sum_received"]["bits_per_second"] = 0

    with pytest.raises(TableError, match="has no received rate"):
        read_iperf3(change)


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
            "iperf3 reports an error: unable to connect",
        ),
        ('{"start": {"version": "iperf 3.12"}}', "is no result of iperf3: the key 'test_start' is missing"),
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


STREAM = """MIGRATED TCP {} TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 192.168.0.8 () port 0 AF_INET
Recv   Send    Send
Socket Socket  Message  Elapsed
Size   Size    Size     Time     Throughput
bytes  bytes   bytes    secs.    10^6bits/sec

131072  16384  16384    10.00      {}
"""
"""Output of netperf 2.7 without options."""
CONNECT = STREAM.replace("TCP {} TEST", "TCP Connect/Request/Response TEST")


@pytest.mark.parametrize("order", [(0, 1), (1, 0), (0, 1, 2)])
def test_other_tests_of_netperf_are_no_streams(written, order):
    tests = [STREAM.format("STREAM", "94.05"), STREAM.format("MAERTS", "88.40"), CONNECT.format("1.00")]
    imported = read_foreign(written("".join(tests[test] for test in order)), None, MAPPING)
    assert imported.derived["transports"]["received_MBps"].tolist() == [pytest.approx(94.05 / 8)]
    assert len(imported.unread) == len(order) - 1
    assert (
        "'MIGRATED TCP MAERTS TEST from 0.0.0.0 (0.0.0.0) port 0 AF_I…' begins a test that"
        in imported.unread[0]
    )


SELECTED = """MIGRATED TCP REQUEST/RESPONSE TEST from 192.168.1.34 () port 0 AF_INET to 192.168.1.36 () port 0 AF_INET
Minimum      Mean         Throughput Throughput
Latency      Latency                 Units
Microseconds Microseconds
4            8.94         60085.02   Trans/s
"""
"""Output of netperf -O; shortened from the documentation of Gazelle (openEuler)."""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (STREAM.format("MAERTS", "9.56"), "begins a test that is not read; run netperf -t TCP_STREAM, TCP_RR,"),
        ("OMNI Send TEST from 0.0.0.0 () port 0 AF_INET\n1.00\n", "'OMNI Send TEST from .*' begins a test"),
        (STREAM.format("STREAM", "0.00"), "has a rate of 0"),
        (SELECTED, "is followed by no table of the default output; run netperf without -o, -O and -k"),
        (
            STREAM.format("STREAM", "142.94 -2934.86 -5440.08 -401.008 -743.313").replace(
                "10^6bits/sec", "MBytes  /s  % S      % S      us/KB   us/KB"
            ),
            r"is not in 10\^6bits/sec: the heading is 'bytes bytes bytes secs. MBytes /s % S .*run netperf without -f",
        ),
        (
            STREAM.format("STREAM", "142.94 -2934.86 -5440.08 -401.008 -743.313").replace(
                "10^6bits/sec", "10^6bits/s  % S      % S      us/KB   us/KB"
            ),
            "has a value below 0",
        ),
    ],
)  # fmt: skip
def test_output_of_netperf_without_a_result_shows_the_cause(written, text, message):
    with pytest.raises(TableError, match=f"holds no result: .*{message}"):
        read_foreign(written(text), None, MAPPING)


def test_the_connection_of_perftest_may_share_its_line(written):
    """Output of hccn_tool, Huawei's form of perftest."""
    text = (
        "RDMA_Read BW Test\nNumber of qps: 1      Connection type: RC\nOutstand reads: 128\n"
        "#bytes       #iterations       BW average[MB/sec]      MsgRate[Mpps]\n"
        "1048576      93205             23302.26                0.023302\n"
    )
    row = only(read_foreign(written(text), None, MAPPING).derived["transports"])
    assert (row["transport"], row["received_MBps"]) == ("rc", pytest.approx(23302.26 * 1.048576))


def test_lines_of_sockperf_after_the_name_of_their_stream_are_read(foreign, written):
    text = (foreign / "sockperf/udp_3.7.txt").read_text()
    labelled = "".join(f"[STDOUT] {line}\n" for line in text.splitlines())
    assert only(read_foreign(written(labelled), None, MAPPING).derived["transports"])["latency_us"] == 5.593


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
