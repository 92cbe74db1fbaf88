"""Inputs of the kinds that users have: read as their programs mean them, or refused with the cause."""

import re
import warnings

import pytest
from refused import refusal

from analysis.importers import make_mapping, read_foreign, read_mapping
from analysis.importers.results import read_text
from analysis.runs.runs import TableError

IB = make_mapping({"interconnect": {"value": "ib"}})
NO_HEADING = "has no heading, and Nodeworth does not guess what its numbers are"


@pytest.fixture(autouse=True)
def no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.fixture
def curves(foreign):
    """Sizes and times of a file's curves."""

    def read(file, *columns):
        imported = read_foreign(foreign / "field" / file, mapping=IB)
        return imported.curves[["bytes", *columns]].astype(float).to_numpy().tolist(), imported.unread

    return read


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("three_columns_no_heading.txt", NO_HEADING),
        ("two_columns_no_heading.txt", NO_HEADING),
        (
            "iperf3_text.txt",
            r"line 3: '\[ ID\] Interval .*' is the text output of iperf, whose numbers are rounded: run iperf3 with",
        ),
        (
            "sacct_no_heading.txt",
            r"line 1: '11\|run\|COMPLETED\|64\|60\|' has a state of Slurm, .* run sacct --parsable2 without",
        ),
        (
            "perflog_no_heading.log",
            r"line 1: '2026-.*' looks like a performance log of ReFrame without a heading",
        ),
        (
            "perflog_of_a_site.log",
            r"line 1: 'job_completion_time\|version\|.*' is the heading of a performance log of ReFrame in a "
            r"format of the site. It must begin with the columns result and job_completion_time: ",
        ),
    ],
)
def test_a_file_without_its_heading_is_refused_by_its_name(foreign, file, message):
    assert re.search(message, refusal(TableError, read_foreign, foreign / "field" / file, mapping=IB))


def test_ranks_before_lines_are_no_part_of_them(curves):
    assert curves("tagged_osu.txt", "latency_us") == ([[0, 1.5], [8, 1.52], [1024, 2.1]], [])


def test_the_screen_of_netpipe_is_read(curves):
    """1 byte: 0.50 Mbps of 2^20 bits, 0.0655 MB/s."""
    rows, unread = curves("netpipe_screen.txt", "latency_us", "bandwidth_MBps")
    assert rows[0] == [1, 15.2, pytest.approx(0.0655, abs=1e-4)] and [row[0] for row in rows] == [1, 64, 4096]
    assert unread[0].endswith("'Send and receive buffers are 16384 and 87380 bytes' is the first of 2 lines of "
                              "another program")  # fmt: skip


def test_two_runs_of_a_benchmark_are_repetitions(curves):
    rows, unread = curves("osu_twice.txt", "latency_us", "latency_us_low", "latency_us_high", "runs")
    assert rows[0] == [1, 3.0, 1.5, 4.5, 2] and len(rows) == 6
    assert (
        "osu_latency ran 2 times with equal settings: repetitions (times differ by up to 200 %)" in unread[0]
    )


@pytest.mark.parametrize(
    ("file", "programs"),
    [
        ("perftest_plain.txt", ["ib_write_bw"]),
        ("perftest_post_list.txt", ["ib_write_bw"]),
        (
            "perftest_indented.txt",
            ["ib_read_lat", "ib_write_bw", "ib_write_lat", "ib_send_bw", "ib_send_lat"],
        ),
    ],
)
def test_perftest_in_other_layouts_is_read(foreign, file, programs):
    table = read_foreign(foreign / "field" / file, mapping=IB).derived["transports"]
    assert table["program"].tolist() == programs


def test_a_serial_row_needs_no_interconnect(foreign):
    folder = foreign / "field"
    mapping = read_mapping(folder / "serial_without_net.yaml")
    imported = read_foreign(folder / "serial_without_net.csv", mapping=mapping)
    assert imported.unread == [] and imported.runs["seconds"].tolist() == [100.5, 52.25, 27.0]
    assert imported.runs["interconnect"].isna().tolist() == [True, False, False]


def test_a_row_of_several_processes_needs_an_interconnect(written):
    path = written("case,interconnect,tasks,seconds\nfall,,2,9\nfall,ib,2,8\nfall,,1,16\n")
    # A heading with the needed names is a runs table; tasks make it a table of another tool.
    imported = read_foreign(path)
    assert imported.runs["seconds"].tolist() == [8, 16]
    assert imported.unread == [f"{path}: line 2: 'interconnect' (interconnect) is empty"]


OSU = "# OSU MPI Latency Test v7.4\n# Size          Latency (us)\n0                       1.50\n8      1.52\n"
ROWS = [[0, 1.5], [8, 1.52]]
UCX = "[1764396000.123456] [node1:4711 :0]  ucp_worker.c:1855 UCX  INFO  ep_cfg[0]: tag(self/memory)\n"
PMIX = "[node1:4711] PMIX ERROR: NOT-FOUND in file dstore_base.c at line 1621\n"


@pytest.mark.parametrize(
    "text",
    [
        re.sub("^", "[1,0]<stdout>:", OSU, flags=re.M)[:-14],
        re.sub("^(?=.)", "[prterun-node1-42@1,0]<stdout>: ", OSU, flags=re.M),
        re.sub("^(?=.)", "Sun Nov 29 07:00:00 2026[1,0]<stdout>:", OSU, flags=re.M),
        re.sub("^(?=.)", "  0: ", OSU, flags=re.M),
        re.sub("^(?=.)", "[0] ", OSU, flags=re.M),
        re.sub("^(?=.)", "> ", OSU, flags=re.M),
        re.sub("^(?=.)", "    ", OSU, flags=re.M),
        re.sub("^(?=.)", "\t", OSU, flags=re.M),
        OSU.replace("\n", "\r\n"),
        OSU.replace("\n", "\r"),
        "\ufeff" + OSU,
        OSU.replace("0      ", "\x1b[1;32m0\x1b[0m      "),
        OSU.replace("8 ", "warming up 10 %\rwarming up 20 %\r8 "),
        OSU.replace("8 ", UCX + PMIX + "8 "),
        UCX + OSU + PMIX,
        OSU.replace("0  ", "0\u00a0\u00a0"),
        OSU.replace(" v7.4", " (Version 2.2)").replace("          L", "\t\tL"),
    ],
)  # fmt: skip
def test_noise_around_and_in_a_table_is_no_part_of_it(written, text):
    imported = read_foreign(written(text), mapping=IB)
    assert imported.curves[["bytes", "latency_us"]].astype(float).to_numpy().tolist() == ROWS
    assert len(imported.unread) == ("UCX" in text)


def test_utf_16_of_a_shell_is_read(written):
    assert len(read_foreign(written(OSU.encode("utf-16")), mapping=IB).curves) == 2


@pytest.mark.parametrize(
    "table",
    [
        "case\tinterconnect\tprocesses\tseconds\nfall\tib\t2\t8.5\nfall\tib\t4\t4.5\n",
        "case\tinterconnect\tprocesses\tseconds\nfall\t\t1\t8.5\nfall\tib\t4\t4.5\n",
        "case  interconnect  processes  seconds\nfall  ib                    2  8.5\nfall  ib   4  4.5\n",
        "# case interconnect processes seconds\nfall ib 2 8.5\nfall ib 4 4.5\n",
        "case interconnect processes seconds\n---- ------------ --------- -------\nfall ib 2 8.5\nfall ib 4 4.5\n",
        "+------+\n| case | interconnect | processes | seconds |\n|---|---|---|---|\n| fall | ib | 2 | 8.5 |\n"
        "| fall | ib | 4 | 4.5 |\n",
        "Times of the new cluster, by Kim\ncase;interconnect;processes;seconds\nfall;ib;2;8.5\nfall;ib;4;4.5\n",
    ],
)
def test_tables_with_a_heading_are_read(written, table):
    imported = read_foreign(written(table))
    assert imported.unread == [] and imported.runs["seconds"].tolist() == [8.5, 4.5]


def test_a_table_of_blanks_may_have_blanks_in_its_names(written):
    path = written("Test case   Net   Ranks   Wall time [ms]\nfall   ib  2   8.5\nfall  ib   4  4.5\n")
    mapping = make_mapping({"case": "Test case", "interconnect": "Net", "processes": "Ranks"})
    assert read_foreign(path, mapping=mapping).runs["seconds"].tolist() == pytest.approx([0.0085, 0.0045])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# Size          Latency (us)\n8   1.52\n", "is the heading of a table of OSU without its title"),
        ("#bytes #repetitions t[usec]\n8 100 1.52\n", "is the heading of a table of IMB without its benchmark"),
        ("#bytes #iterations t_avg[usec]\n8 100 1.52\n", "is the heading of a table of perftest; its title"),
        ("LAMMPS (2 Aug 2023)\nLoop time of 3 on 4 procs, 2\n", "'LAMMPS (2 Aug 2023)' is a log of LAMMPS: import it"),
        ("| |  OpenFOAM: The Open Source CFD Toolbox |\n", "is a log of OpenFOAM: import it as logs"),
        ("      :-) GROMACS - gmx mdrun, 2023 (-:\n", "is a log of GROMACS"),
        ("JobID   JobName  State\n------ ----- ----\n1   run   COMPLETED\n", "cuts names: run sacct --parsable2"),
        ("JobID|State|ElapsedRaw\n1|COMPLETED|60\n", "column 'JobName': is missing"),
        ("2019-09-26T10:23:45|reframe 3.0|jobid=7|perf=2.1|ref=2|s\n", "looks like a performance log of ReFrame"),
        ("[  3] 0.0-10.0 sec  1.1 GBytes  941 Mbits/sec\n", "is the text output of iperf"),
        ("[ ID][Role] Interval  Transfer  Bitrate\n[SUM][TX-C] 0.00-2.00 sec 1.5 GBytes 6.4 Gbits/sec\n",
         "run iperf3 with -J, and import its JSON"),
        ('{"results": [{"command": "./x", "mean": 3}]}', "is JSON, but no report of ReFrame (session_info)"),
        ('{"start": {"version": "iperf 3.12"}, "end": ', "cut off or damaged JSON of iperf3"),
        ('{\n  "test_info": {\n  "test": "RDMA_Write_BW_Test"\n}}', "line 2: '\"test_info\": {' is the JSON of perftest"),
        ("{\ntest_info: {\ntest: RDMA_Write_Latency_Test,\n", "line 2: 'test_info: {' is the JSON of perftest"),
        ('{"jobs": [{"account": "a", "job_id": 3}]}\n', "is JSON of Slurm's accounting: run sacct --parsable2"),
        ('Warning: --bidir\n{\n\t"error": "unable to connect"\n}\n',
         "line 3: '\"error\": \"unable to connect\"' is an error without a result, as iperf3 -J writes it"),
        ("[STDOUT] sockperf: Summary: Latency is 156.309 usec\n", "no line such as 'PORT = 11111 # TCP' shows the"),
        ('"ranks","nodes"\n1 1\n2 1\n4 1\n8 1\n', "line 2: '1 1' has other separators than the line above, '\"ranks\""),
        (",ranks,size,mean_us\n0,16,8,2.5\n1,16,64,2.75\n",
         "line 1: ',ranks,size,mean_us' has no name for the first column: name the column, such as 'row'"),
        ("PK\x03\x04zip", "is a ZIP archive or a spreadsheet: unpack it, or export it as CSV"),
        ("<!DOCTYPE html><p>1,2</p>\n", "is a web page or XML"),
        ("Hello, world\nthe run took long, too long\n", "its first line is 'Hello, world', and no line marks"),
    ],
)  # fmt: skip
def test_a_refusal_quotes_the_line_that_shows_the_program(written, text, message):
    assert message in refusal(TableError, read_foreign, written(text), mapping=IB)


def test_a_stated_format_does_not_hide_what_the_file_is(written):
    path = written('{\n"test_info": {}\n}\n')
    message = (
        "cannot be read as perftest: line 2: '\"test_info\": {}' is the JSON of perftest, which is not read"
    )
    assert message in refusal(TableError, read_foreign, path, "perftest", IB)


def test_a_separator_at_the_end_of_every_line_is_no_column(written):
    path = written("case,interconnect,tasks,seconds,\nfall,ib,2,8.5,\nfall,ib,4,4.5,\n")
    assert read_foreign(path).runs["seconds"].tolist() == [8.5, 4.5]


def test_a_thousands_separator_is_named(written):
    path = written("case;interconnect;tasks;seconds\nfall;ib;2;8.125,5\n")
    message = "'seconds' (seconds) is no number: '8.125,5': write a decimal point, and no thousands separator"
    assert message in refusal(TableError, read_foreign, path)


def test_output_of_two_programs_needs_a_format(written):
    path = written(OSU + "# Benchmarking Bcast\n#bytes #repetitions t[usec]\n16 100\n")
    message = "holds output of osu and of imb: give each its own file, or state the format to be read"
    assert message in refusal(TableError, read_foreign, path, mapping=IB)
    imported = read_foreign(path, "osu", IB)
    assert imported.curves["bytes"].tolist() == [0, 8]
    assert "line 5: '# Benchmarking Bcast' begins output of imb" in imported.unread[0]


@pytest.mark.parametrize(
    ("text", "form", "message"),
    [
        ("1 100.0 1.00\n2 52.0 1.92\n", "netpipe", "contradict each other for 1 bytes"),
        (OSU.replace("1.50", "0.001").replace("8      1.52", ""), None, "0.001 µs are less than light needs for 1 m"),
        (OSU.replace("0                       1.50\n", "").replace("1.52", "2000000"), None,
         "2e+06 µs for 8 bytes are more than a message around the Earth takes"),
        ("# OSU MPI Bandwidth Test v7\n# Size  Bandwidth (MB/s)\n8  2e7\n", None, "2e+07 MB/s are more than any"),
        ("# OSU MPI Latency Test v7\n# Size  Latency (us)\n4096  9000000\n", None,
         "0.000455111 MB/s are less than any interconnect carries"),
    ],
)  # fmt: skip
def test_latency_bandwidth_and_size_fit_physics(written, text, form, message):
    assert message in refusal(TableError, read_foreign, written(text), form, IB)


def test_a_row_whose_iterations_lost_digits_is_not_read(written):
    heading = OSU.partition("# Size")[0].replace("Latency", "Allreduce Latency")
    table = "# Size  Avg Latency(us)  Iterations\n4  0.28  1\n8  0.17  1000\n16384  9.70  100\n"
    imported = read_foreign(written(heading + table), mapping=IB)
    assert imported.curves["bytes"].tolist() == [8, 16384]
    assert any("has fewer iterations than the next row: cut off" in line for line in imported.unread)


def test_a_heading_of_imb_with_two_numbers_of_processes_is_not_read(foreign, tmp_path):
    text = (foreign / "imb/multi_2021.11.txt").read_text()
    file = tmp_path / "multi.txt"
    groups = "# ( 2 groups of 2 processes each running simultaneous ) \n"
    file.write_text(text.replace("# #processes = 4 \n", f"# #processes = 4 \n{groups}"))
    imported = read_foreign(file, mapping=IB)
    assert "imb_barrier" not in imported.curves["benchmark"].tolist()
    assert any("is a second number of processes" in line for line in imported.unread)


def test_a_size_with_two_times_in_a_run_is_not_read(written):
    imported = read_foreign(written(OSU + "8    1.90\n16   1.70\n16   1.70\n"), mapping=IB)
    assert imported.curves["bytes"].tolist() == [0, 16]
    assert [line.rpartition("file: ")[2] for line in imported.unread] == [
        "line 7: is the same as line 6",
        "line 5: osu_latency: 8 bytes differ from line 4 of the same run",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (OSU + "1024    2.1\n", "line 5: has other decimals than most rows: cut off, or mixed in"),
        (
            OSU + "16   10.53\n4    1.51\n",
            "'4 1.51' has a smaller size than the row above: lines are missing",
        ),
        (OSU + "# Size          Bandwidth (MB/s)\n16   10.53\n", "is no heading of osu_latency"),
        (OSU + "16\n", "line 5: '16' has 1 values where the table has 2 columns"),
    ],
)
def test_a_row_that_belongs_to_no_table_is_not_read(written, text, message):
    imported = read_foreign(written(text), mapping=IB)
    assert imported.curves[["bytes", "latency_us"]].astype(float).to_numpy().tolist() == ROWS
    assert message in imported.unread[0]


def test_modes_of_imb_are_benchmarks_of_their_own(written):
    table = "#    MODE: {}\n#\n#bytes #repetitions t[usec] Mbytes/sec\n8 100 {} 5.26\n"
    text = "# Intel(R) MPI Benchmarks 2021.7\n# Benchmarking Unidir_Put\n# #processes = 2\n"
    text += table.format("AGGREGATE", "1.52") + table.format("NON-AGGREGATE", "1.52")
    curves = read_foreign(written(text), mapping=IB).curves
    assert curves["benchmark"].tolist() == ["imb_unidir_put_aggregate", "imb_unidir_put_non_aggregate"]


def test_several_runs_of_iperf3_in_a_file_are_rows(foreign, written):
    text = (foreign / "iperf3/tcp_3.12.json").read_text()
    other = re.sub(r'"cookie":\s*"\w+"', '"cookie": "other"', text)
    assert other != text
    imported = read_foreign(written("warning: busy\n" + text + other), mapping=IB)
    assert len(imported.derived["transports"]) == 2 and not imported.unread


def test_a_copy_of_a_run_of_iperf3_counts_once(foreign, written):
    text = (foreign / "iperf3/tcp_3.12.json").read_text()
    imported = read_foreign(written(text + text), mapping=IB)
    assert len(imported.derived["transports"]) == 1
    assert [line.rpartition(": run ")[2] for line in imported.unread] == [
        "2: is a copy of run 1, which counts once"
    ]


def test_a_run_of_iperf3_too_short_for_a_bandwidth_is_refused(foreign, written):
    text = (foreign / "iperf3/tcp_3.12.json").read_text()
    short = re.sub(r'"seconds":\s*[\d.]+', '"seconds": 0.0005', text)
    assert "a run of 0.0005 s is too short for a bandwidth: at least 0.5 s are needed" in refusal(
        TableError, read_foreign, written(short), mapping=IB
    )


def test_a_table_inside_a_log_is_no_table_of_runs(written):
    path = written("Step Update Time\n1 0 2.5\n" + "The program wrote this line.\n\n" * 9)
    assert "its first line is 'Step Update Time', and no line marks" in refusal(
        TableError, read_foreign, path
    )


def test_runs_started_by_different_commands_need_labels(written):
    text = f"+ mpirun -x UCX_TLS=tcp osu_latency\n{OSU}+ mpirun -x UCX_TLS=rc osu_latency\n{OSU}"
    assert "osu_latency ran with '+ mpirun -x UCX_TLS=rc osu_latency'" in refusal(
        TableError, read_foreign, written(text), mapping=IB
    )


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ("export UCX_TLS=tcp", "export UCX_TLS=rc", "ran with 'export UCX_TLS=rc', and before line 12 with 'export UCX_TLS=tcp'"),
        ("# export UCX_TLS=tcp", "# export UCX_TLS=rc", "ran with 'export UCX_TLS=rc', and before line 12"),
        ("module load openmpi/5", "me@node1:~$ module load mpich/4", "ran with 'module load mpich/4', and before"),
        ("", "setenv UCX_TLS rc", "ran with 'setenv UCX_TLS rc', and before line 12 with ''"),
    ],
)  # fmt: skip
def test_runs_in_different_environments_need_labels(written, first, second, message):
    text = f"export KEPT=1\n{first}\nmpirun osu_latency\n{OSU}{second}\nmpirun osu_latency\n{OSU}"
    assert message in refusal(TableError, read_foreign, written(text), mapping=IB)


def test_runs_in_an_environment_that_stays_are_repetitions(written):
    path = written(f"export UCX_TLS=tcp\n{OSU}{OSU}+ export UCX_TLS=tcp\n{OSU}")
    assert read_foreign(path, mapping=IB).curves["runs"].tolist() == [3, 3]


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ("export UCX_TLS=tcp", "export UCX_TLS=rc", "imb_pingpong ran with 'export UCX_TLS=rc'"),
        ("mpirun IMB-MPI1 PingPong", "mpirun --map-by node IMB-MPI1 PingPong", "ran with 'mpirun --map-by node IMB"),
        ("[root@node1]# IMB-MPI1", "[root@node1]# IMB-MPI1 -off_cache 64", "ran with '[root@node1]# IMB-MPI1 -off"),
        ("# IMB-MPI1 PingPong", "# IMB-MPI1 -off_cache 64 PingPong", "ran with 'IMB-MPI1 -off_cache 64 PingPong', and"),
    ],
)  # fmt: skip
def test_runs_of_imb_that_started_differently_need_labels(written, first, second, message):
    title = "# Intel(R) MPI Benchmarks 2021.7, MPI-1 part\n"
    table = (
        "# Benchmarking PingPong\n# #processes = 2\n#bytes #repetitions t[usec] Mbytes/sec\n8 100 1.52 5.26\n"
    )
    runs = [(title, line) if line.startswith("#") else (line + "\n", title) for line in (first, second)]
    text = "".join(f"{before}{after}\n{table}" for before, after in runs)
    assert message in refusal(TableError, read_foreign, written(text), mapping=IB)


def test_a_table_without_rows_shows_where_the_benchmark_stopped(written):
    title = "# OSU MPI-CUDA Non-blocking Allreduce Latency Test v7.5\n"
    heading = "# Size           Overall(us)       Compute(us)    Pure Comm.(us)        Overlap(%)\n"
    path = written(f"{title}{heading}[node1:42] Signal: Segmentation fault (11)\n")
    assert refusal(TableError, read_foreign, path, mapping=IB) == (
        f"{path}: holds no curve: {path}: line 2: the table of osu_mpi_cuda_non_blocking_allreduce_latency has no "
        "row, so the benchmark stopped: line 3 is '[node1:42] Signal: Segmentation fault (11)'"
    )


def test_selected_output_of_netperf_is_named(written):
    text = (
        "TCP REQUEST/RESPONSE TEST from 0.0.0.0\nThroughput,Throughput Units,Latency\n2217.06,Trans/s,442\n"
    )
    message = "'Throughput,Throughput Units,Latency' is selected output; run netperf without -o, -k"
    assert message in refusal(TableError, read_foreign, written(text), mapping=IB)


def test_cleaning_keeps_the_number_of_lines(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"\xef\xbb\xbf0: a\r\n0: \x1b[1mb\x1b[0m\r\n0: \r\n1: 5%\r10%\r\nend\r\n")
    assert read_text(path) == "a\nb\n\n10%\nend\n"
