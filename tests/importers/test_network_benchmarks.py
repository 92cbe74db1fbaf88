"""OSU micro-benchmarks, Intel MPI Benchmarks, NetPIPE: numbers read by eye, units, damage."""

import numpy as np
import pytest
from foreign_files import FOREIGN, format_of
from refused import refusal

from analysis.importers import CURVES, make_mapping, read_foreign
from analysis.runs.runs import TableError


def curve(path, mapping, benchmark, **chosen):
    curves = read_foreign(path, format_of(path), mapping).curves
    for column, value in {"benchmark": benchmark, **chosen}.items():
        curves = curves[curves[column] == value]
    return curves.set_index("bytes")


def row(path, mapping, benchmark, size, **chosen):
    return curve(path, mapping, benchmark, **chosen).loc[size].dropna().to_dict()


OSU = [
    ("latency_7.4.txt", "osu_latency", 4096, {"latency_us": 1.76}),
    ("latency_5.3.txt", "osu_latency", 0, {"latency_us": 0.11}),
    ("bw_7.4.txt", "osu_bandwidth", 65536, {"bandwidth_MBps": 943.23}),
    ("bw_5.3.txt", "osu_bandwidth", 4194304, {"bandwidth_MBps": 15599.7}),
    ("bibw_7.4.txt", "osu_bi_directional_bandwidth", 2, {"bandwidth_MBps": 64.72}),
    ("mbw_mr_7.4.txt", "osu_multiple_bandwidth_message_rate", 8,
     {"processes": 2, "bandwidth_MBps": 184.69, "messages_per_second": 23086690.52, "window": 64}),
    ("allreduce_full_7.4.txt", "osu_allreduce_latency", 8192,
     {"latency_us": 3.06, "latency_us_low": 2.91, "latency_us_high": 3.21, "samples": 100}),
    ("allreduce_full_5.3.txt", "osu_allreduce_latency", 2048,
     {"latency_us": 0.43, "latency_us_low": 0.41, "latency_us_high": 0.45, "samples": 1000}),
    ("iallreduce_7.4.txt", "osu_non_blocking_allreduce_latency", 64, {"latency_us": 10105.6}),
    ("latency_checked_7.4.txt", "osu_latency", 64, {"latency_us": 0.12}),
    ("put_latency_7.4.txt", "osu_put_latency", 1, {"latency_us": 0.08}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("file", "benchmark", "size", "numbers"), OSU, ids=[arguments[0] for arguments in OSU]
)
def test_osu(foreign, shared_memory, file, benchmark, size, numbers):
    measurement = row(foreign / "osu" / file, shared_memory, benchmark, size)
    words = {name: measurement.pop(name) for name in ("interconnect", "kind", "benchmark", "record")}
    pair = {} if "allreduce" in benchmark else {"processes": 2}
    assert measurement == pair | numbers
    assert words["record"].startswith(f"{file}: line ") and words["kind"] == "measured"


def test_osu_barrier_has_no_size(foreign, shared_memory):
    curves = read_foreign(foreign / "osu/barrier_full_7.4.txt", mapping=shared_memory).curves
    assert len(curves) == 1 and curves["bytes"].isna().all()
    assert (curves["latency_us"].item(), curves["samples"].item()) == (0.21, 200)


def test_the_non_blocking_barrier_of_osu_has_a_heading_without_a_mark(shared_memory, written):
    """The heading of osu_ibarrier 5.8, in a log of the metrics-operator (converged-computing)."""
    text = (
        "# OSU MPI Non-blocking Barrier Latency Test v5.8\n# Overall = Coll. Init + Compute + MPI_Test + MPI_Wait\n\n"
        "       Overall(us)       Compute(us)    Pure Comm.(us)        Overlap(%)\n"
        "          45936.79          26853.71          23791.59             19.79\n"
    )
    curves = read_foreign(written(text), mapping=shared_memory).curves
    assert curves["latency_us"].tolist() == [23791.59] and curves["bytes"].isna().all()


def test_osu_counts_megabytes_of_10_to_the_6_bytes(foreign, shared_memory):
    sizes = curve(foreign / "osu/mbw_mr_7.4.txt", shared_memory, "osu_multiple_bandwidth_message_rate")
    rate = sizes["messages_per_second"] * sizes.index.to_numpy(float) / 1e6
    np.testing.assert_allclose(sizes["bandwidth_MBps"], rate, rtol=3e-4)


def test_columns_that_are_not_kept_are_reported(foreign, shared_memory):
    unread = read_foreign(foreign / "osu/latency_checked_7.4.txt", mapping=shared_memory).unread
    assert [line.rpartition("txt: ")[2] for line in unread] == [
        f"line 4: column 'P{percent} Tail Lat(us)' is not kept" for percent in (50, 90, 99)
    ]


def test_osu_rows_that_failed_their_validation_are_not_read(foreign, shared_memory, written):
    text = (foreign / "osu/latency_checked_7.4.txt").read_text().replace("Pass", "Fail", 1)
    imported = read_foreign(written(text), mapping=shared_memory)
    assert len(imported.curves) == 6 and "failed its validation" in imported.unread[-1]


def test_several_benchmarks_and_other_programs_lines_in_one_file(foreign, shared_memory, written):
    texts = [(foreign / "osu" / f"{name}_7.4.txt").read_text() for name in ("latency", "bw")]
    imported = read_foreign(written("MPI says hello\n" + "".join(texts)), mapping=shared_memory)
    assert imported.curves["benchmark"].value_counts().to_dict() == {"osu_latency": 17, "osu_bandwidth": 17}
    assert [line.rpartition("file: ")[2] for line in imported.unread] == [
        "line 1: 'MPI says hello' is a line of another program"
    ]


def test_osu_runs_with_equal_settings_are_repetitions(foreign, shared_memory, written):
    """Three runs of 8 bytes take 1.52, 4.52 and 2.00 µs: the median is 2.00."""
    run = "# OSU MPI Latency Test v7.4\n# Size          Latency (us)\n8        {}\n64       {}\n"
    noise = "+ mpirun osu_latency\nreal 2.07\nuser 0.02\n"
    times = [("1.52", "1.60"), ("4.52", "4.60"), ("2.00", "2.10")]
    imported = read_foreign(written(noise.join(run.format(*pair) for pair in times)), mapping=shared_memory)
    columns = ["bytes", "latency_us", "latency_us_low", "latency_us_high", "runs"]
    assert imported.curves[columns].to_numpy().tolist() == [[8, 2.0, 1.52, 4.52, 3], [64, 2.1, 1.6, 4.6, 3]]
    assert [line.rpartition("file: ")[2] for line in imported.unread] == [
        "line 5: '+ mpirun osu_latency' is the first of 6 lines of another program",
        "osu_latency ran 3 times with equal settings: repetitions (times differ by up to 197 %), of which the "
        "medians are kept. Runs of different libraries need files of their own",
    ]


def test_repetitions_state_how_far_their_bandwidths_differ(shared_memory, written):
    """The median of 28.14 and 28.34 is 28.240000000000002 in binary."""
    run = "# OSU MPI Bandwidth Test v7.4\n# Size      Bandwidth (MB/s)\n8       {}\n"
    imported = read_foreign(written(run.format("28.14") + run.format("28.34")), mapping=shared_memory)
    assert imported.curves["bandwidth_MBps"].tolist() == [28.24]
    assert "repetitions (bandwidths differ by up to 1 %), of which the medians are kept" in imported.unread[0]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            "v5.8",
            "osu_latency ran with 'version 5.8', and before line 6 with 'version 7.4': give each run its own",
        ),
        ("v7.4\n# Datatype: MPI_INT.", "osu_latency ran with 'version 7.4, Datatype: MPI_INT.', and before"),
    ],
)
def test_osu_runs_with_different_settings_need_labels(shared_memory, written, settings, message):
    text = "# OSU MPI Latency Test {}\n# Size          Latency (us)\n8        1.52\n"
    path = written(text.format("v7.4") + text.format(settings))
    assert message in refusal(TableError, read_foreign, path, mapping=shared_memory)


def test_osu_init_is_no_curve(foreign, shared_memory):
    with pytest.raises(TableError, match=r"holds no curve: .*line 2: 'nprocs: 2, min: 274 ms"):
        read_foreign(foreign / "osu/init_7.4.txt", mapping=shared_memory)


IMB = [
    ("mpi1_2021.11.txt", "imb_pingpong", 65536,
     {"processes": 2, "latency_us": 18.01, "bandwidth_MBps": 3638.8, "samples": 640}),
    ("mpi1_2021.11.txt", "imb_allreduce", 65536,
     {"processes": 2, "latency_us": 94.85, "latency_us_low": 85.49, "latency_us_high": 104.22, "samples": 640}),
    ("mpi1_2018.txt", "imb_exchange", 65536,
     {"processes": 2, "latency_us": 12.05, "latency_us_low": 12.05, "latency_us_high": 12.05,
      "bandwidth_MBps": 21760.37, "samples": 640}),
    ("nbc_2021.11.txt", "imb_ibcast", 256, {"processes": 2, "latency_us": 0.29, "samples": 1000}),
    ("counts_2021.11.txt", "imb_sendrecv", 512,
     {"processes": 3, "latency_us": 6.47, "latency_us_low": 6.46, "latency_us_high": 6.47,
      "bandwidth_MBps": 158.19, "samples": 1000}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("file", "benchmark", "size", "numbers"), IMB, ids=[arguments[0] for arguments in IMB]
)
def test_imb(foreign, shared_memory, file, benchmark, size, numbers):
    measurement = row(foreign / "imb" / file, shared_memory, benchmark, size, processes=numbers["processes"])
    assert {name: measurement[name] for name in numbers} == numbers
    assert set(measurement) - set(numbers) == {"interconnect", "kind", "benchmark", "record"}


def test_imb_before_2018_counts_megabytes_of_2_to_the_20_bytes(foreign, shared_memory):
    measurement = row(foreign / "imb/mpi1_4.0.txt", shared_memory, "imb_pingpong", 65536)
    assert (measurement["latency_us"], measurement["samples"]) == (6.32, 82)
    assert (
        measurement["bandwidth_MBps"]
        == pytest.approx(9893.48 * 2**20 / 1e6)
        == pytest.approx(65536 / 6.32, 1e-3)
    )


@pytest.mark.parametrize(
    ("title", "factor"),
    [
        ("Intel (R) MPI Benchmark Suite V3.2.4, MPI-1 part", 1.048576),
        ("Intel (R) MPI Benchmarks 2017, MPI-1 part", 1.048576),
        ("Intel(R) MPI Benchmarks 2018, MPI-1 part", 1),
        ("Intel(R) MPI Benchmarks 2021.11, MPI-1 part", 1),
    ],
)
def test_the_unit_of_imb_by_version(shared_memory, written, title, factor):
    text = f"#    {title}\n# Benchmarking Uniband\n#bytes #repetitions Mbytes/sec Msg/sec\n 8 10 100.00 12800000\n"
    curves = read_foreign(written(text), mapping=shared_memory).curves
    assert curves["bandwidth_MBps"].item() == pytest.approx(100 * factor)


def test_imb_of_unknown_version_has_no_bandwidth(foreign, shared_memory, written):
    text = (foreign / "imb/mpi1_2018.txt").read_text().replace("Intel(R) MPI Benchmarks 2018", "")
    imported = read_foreign(written(text), mapping=shared_memory)
    assert imported.curves["bandwidth_MBps"].isna().all() and imported.curves["latency_us"].notna().any()
    message = "column 'Mbytes/sec' is not kept: the version, and thus its unit, is unknown"
    assert imported.unread[0].endswith(message)


def test_a_bandwidth_in_the_wrong_unit_contradicts_its_time(foreign, shared_memory, written):
    text = (foreign / "imb/mpi1_4.0.txt").read_text().replace("Benchmark Suite V4.0.0", "Benchmarks 2021.11")
    imported = read_foreign(written(text), mapping=shared_memory)
    assert sum("contradict each other" in line for line in imported.unread) > 20
    assert any("time 6.32 and bandwidth 9893.48 contradict each other for 65536 bytes" in line
               for line in imported.unread)  # fmt: skip


def test_imb_groups_and_unfinished_measurements(foreign, shared_memory):
    imported = read_foreign(foreign / "imb/multi_2021.11.txt", mapping=shared_memory)
    pingpong = imported.curves.query("benchmark == 'imb_multi_pingpong' and bytes == 512")
    assert pingpong["group"].tolist() == [0, 1] and pingpong["processes"].tolist() == [2, 2]
    assert pingpong["latency_us"].tolist() == [6.09, 4.56]
    barrier = imported.curves[imported.curves["benchmark"] == "imb_barrier"]
    assert (barrier["processes"].item(), barrier["latency_us"].item()) == (4, 7.37)
    assert [line.rpartition("txt: ")[2][:31] for line in imported.unread] == [
        "line 73: '0 1024 time-out.; Tim", "line 74: '1 1024 time-out.; Tim"
    ]  # fmt: skip
    assert all(line.endswith("…' was not measured: IMB ran out of time") for line in imported.unread)


def test_imb_without_memory_for_a_size_says_so(shared_memory, written):
    """Lines of IMB 2019 on 128 nodes with Cray MPICH."""
    text = (
        "# Intel(R) MPI Benchmarks 2019 Update 2\n# Benchmarking Allgather\n# #processes = 16384\n"
        "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n"
        "        32768           48   1417784.61   1475368.48   1437044.06\n"
        '        65536 out-of-mem.; needed X=   1.001 GB; use flag "-mem X" or MAX_MEM_USAGE>=X (IMB_mem_info.h)\n'
        "# All processes entering MPI_Finalize\n"
    )
    (unread,) = read_foreign(written(text), mapping=shared_memory).unread
    assert "line 6: '65536 out-of-mem.; needed X= 1.001 GB;" in unread
    assert unread.endswith("was not measured: IMB ran out of memory")


def test_times_below_the_printed_resolution_are_not_read_as_zero(foreign, shared_memory):
    imported = read_foreign(foreign / "imb/mpi1_4.0.txt", mapping=shared_memory)
    assert [line.rpartition("txt: ")[2] for line in imported.unread] == [
        "line 122: '0 1000 0.00 0.00 0.00' latency_us_low 0.00 is not above 0"
    ]
    uniband = read_foreign(foreign / "imb/mpi1_2018.txt", mapping=shared_memory)
    assert "imb_uniband" not in set(uniband.curves["benchmark"]) and len(uniband.unread) == 6


THREE_COLUMNS = "1 100.0 1.00\n2 52.0 1.92\n4 27.5 3.64\n8 15.1 6.62\n16 9.2 10.87\n"
"""Cores, seconds and speedup, as a spreadsheet exports them: three numbers in a row, as in NetPIPE 3."""


@pytest.mark.parametrize(
    "text",
    [
        THREE_COLUMNS,
        "1 100.0\n2 52.0\n4 27.5\n",
        "1,100.0,1.00\n2,52.0,1.92\n",
        "1;100.0\n2;5.2e1\n",
        (FOREIGN / "netpipe/mpi_3.7.out").read_text(),
        (FOREIGN / "netpipe/mpi_5.out").read_text(),
    ],
    ids=["three columns", "two columns", "commas", "semicolons", "NetPIPE 3", "NetPIPE 5"],
)
def test_numbers_without_a_heading_are_of_no_format(shared_memory, written, text):
    path = written(text)
    assert refusal(TableError, read_foreign, path, mapping=shared_memory) == (
        f"{path}: has no heading, and Nodeworth does not guess what its numbers are. For NetPIPE's np.out give "
        "format: netpipe (on the command line --format netpipe). For runs write CSV whose first line names the "
        "columns: case,interconnect,processes,seconds"
    )


def test_netpipe_3(foreign, shared_memory):
    measurement = row(foreign / "netpipe/tcp_3.7.out", shared_memory, "netpipe", 8192)
    assert measurement["latency_us"] == pytest.approx(6.04)
    assert measurement["bandwidth_MBps"] == pytest.approx(10340.375355 * 2**20 / 8 / 1e6)
    assert measurement["bandwidth_MBps"] == pytest.approx(8192 / 6.04, rel=1e-3)


def test_netpipe_3_in_both_directions_counts_the_bytes_of_both(foreign, shared_memory):
    measurement = row(foreign / "netpipe/tcp_bidirectional_3.7.out", shared_memory, "netpipe", 16384)
    assert (measurement["latency_us"], round(measurement["bandwidth_MBps"], 1)) == (
        pytest.approx(25.03),
        654.6,
    )


def test_netpipe_5(foreign, shared_memory):
    measurement = row(foreign / "netpipe/mpi_5.out", shared_memory, "netpipe", 768)
    assert (measurement["latency_us"], measurement["bandwidth_MBps"]) == (
        2.37,
        pytest.approx(2.590e9 / 8 / 1e6),
    )
    imported = read_foreign(foreign / "netpipe/workload_5.out", "netpipe", shared_memory)
    assert imported.curves["latency_us"].tolist() == [10107.31]
    assert imported.unread[0].endswith("columns 3 and 4, the slowest and the fastest trial, are not kept")


def test_a_file_whose_times_and_rates_mostly_contradict_is_no_output_of_netpipe(shared_memory, written):
    """The last line agrees by chance: 12 bytes at 0.005 · 2^20 bits per second take 18 ms."""
    text = "8  0.013  0.064\n9  0.013  0.064\n12  0.005  0.018\n"
    assert "contradict each other for 8 bytes, and so do most lines" in refusal(
        TableError, read_foreign, written(text), "netpipe", shared_memory
    )


def test_a_line_of_netpipe_that_lost_digits_is_left_out(foreign, shared_memory, tmp_path):
    text = (foreign / "netpipe/tcp_3.7.out").read_text()
    cut = tmp_path / "np.out"
    cut.write_text(text.replace("1.287342   0.00000593", "1.287342   0.0000059"))
    imported = read_foreign(cut, "netpipe", shared_memory)
    assert imported.unread == [f"{cut}: line 1: has other decimals than most rows: cut off, or mixed in"]
    assert 1 not in imported.curves["bytes"].tolist()


@pytest.mark.parametrize(
    ("file", "form"),
    [("integrity_3.7.out", "netpipe"), ("integrity_5.out", "netpipe"), ("integrity_5.out", None)],
)
def test_netpipe_integrity_checks_hold_no_time(foreign, shared_memory, file, form):
    with pytest.raises(TableError, match="is an integrity check without a time"):
        read_foreign(foreign / "netpipe" / file, form, shared_memory)


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("osu/allreduce_full_7.4.txt", "3.21 ", "x.21 "),
        ("imb/mpi1_2021.11.txt", "3638.80", "3838.80"),
        ("netpipe/mpi_3.7.out", "27538.072199", "27438.072199"),
        ("netpipe/mpi_5.out", "2.590", "2.690"),
    ],
)
def test_a_changed_digit_is_seen_where_both_numbers_are_there(
    foreign, shared_memory, written, file, old, new
):
    text = (foreign / file).read_text()
    assert text.count(old) == 1
    whole = read_foreign(foreign / file, format_of(file), shared_memory)
    imported = read_foreign(written(text.replace(old, new)), format_of(file), shared_memory)
    assert len(imported.curves) == len(whole.curves) - 1 and len(imported.unread) == len(whole.unread) + 1


@pytest.mark.parametrize(
    ("cell", "message"),
    [("9" * 30, "bytes '999999999999999999999999999999' is out of range"), ("-4", "bytes '-4' is out of range"),
     ("4.5", "'4.5' is no number"), ("1e3", "'1e3' is no number"), ("4 4", "has 6 values where the table has 5")],
)  # fmt: skip
def test_an_odd_message_size(foreign, shared_memory, written, cell, message):
    text = (foreign / "osu/allreduce_full_7.4.txt").read_text().replace("\n4096 ", f"\n{cell} ")
    imported = read_foreign(written(text), mapping=shared_memory)
    assert len(imported.curves) == 14 and len(imported.unread) == 1 and message in imported.unread[0]


@pytest.mark.parametrize("file", [arguments[0] for arguments in OSU[:3]])
def test_an_interconnect_must_be_named(foreign, file):
    with pytest.raises(TableError, match="column 'interconnect': the output does not name its interconnect"):
        read_foreign(foreign / "osu" / file)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("interconnect", {"value": "../x"}, "column 'interconnect': '../x' must be letters, digits and"),
        ("interconnect", {"value": 'a"b'}, "column 'interconnect': 'a\"b' must be letters, digits and"),
        ("interconnect", {"value": "a\nb"}, "column 'interconnect': 'a\\nb' must be letters, digits and"),
        ("kind", {"value": "guessed"}, "column 'kind': 'guessed' must be one"),
        ("processes", {"value": 0}, "column 'processes': '0' must be a whole"),
        ("interconnect", "fabric", "key 'interconnect': network benchmarks have no variables: give the val"),
        ("case", {"value": "duct"}, "key 'case': network benchmarks have no variables"),
    ],
)
def test_keys_of_a_mapping_for_a_network_benchmark(foreign, key, value, message):
    mapping = make_mapping({"interconnect": {"value": "x"}, key: value})
    assert message in refusal(
        TableError, read_foreign, foreign / "osu/allreduce_full_7.4.txt", mapping=mapping
    )


def test_a_mapping_can_give_the_number_of_processes(foreign):
    mapping = make_mapping({"interconnect": {"value": "a"}, "processes": {"value": 16}})
    osu = read_foreign(foreign / "osu/allreduce_full_7.4.txt", mapping=mapping).curves
    imb = read_foreign(foreign / "imb/counts_2021.11.txt", mapping=mapping).curves
    assert set(osu["processes"]) == {16} and set(imb["processes"]) == {2, 3}
    assert tuple(osu) == tuple(CURVES.columns) and set(osu["kind"]) == {"published"}


@pytest.mark.parametrize(
    ("title", "processes"),
    [
        ("MPI Latency", 2),
        ("MPI-ROCM Bandwidth", 2),
        ("MPI Multi-threaded Latency", 2),
        ("MPI_Put Bi-directional Bandwidth", 2),
        ("MPI_Get_accumulate-CUDA latency", 2),
        ("One Sided MPI_Put latency", 2),
        ("MPI Multi Latency", 16),
        ("MPI All-to-All Personalized Exchange Latency", 16),
    ],
)
def test_a_benchmark_of_one_pair_has_two_processes_whatever_the_mapping_states(written, title, processes):
    mapping = make_mapping({"interconnect": {"value": "a"}, "processes": {"value": 16}})
    column = "Bandwidth (MB/s)" if "Bandwidth" in title else "Latency (us)"
    path = written(f"# OSU {title} Test v5.8\n# Size      {column}\n8       1.52\n")
    assert read_foreign(path, mapping=mapping).curves["processes"].tolist() == [processes]
