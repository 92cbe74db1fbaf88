"""The converter on the command line."""

import sys

import pandas as pd
import pytest
from programs import ran

from analysis.importers import read_foreign


def converted(*words):
    return ran(sys.executable, "-m", "analysis.importers", *words, timeout=120)


def test_runs_are_written_and_skipped_lines_listed(foreign, tmp_path, written):
    mapping = written("case: {from: [test, size]}\nkind: {value: measured}\n", "mapping.yaml")
    output = tmp_path / "runs.csv"
    done = converted(foreign / "reframe/report_failures_4.10.json", output, "--mapping", mapping)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[0].startswith("not read: ") and "test case 7 (greeting)" in done.stderr
    assert done.stderr.splitlines()[-1] == f"{output}: 6 runs"
    assert set(read_foreign(output).runs["kind"]) == {"measured"}


def test_curves_are_written_with_the_options_of_the_command(foreign, tmp_path):
    output = tmp_path / "curves.csv"
    options = ["--format", "osu", "--set", "interconnect=shared_memory", "--set", "processes=2"]
    done = converted(foreign / "osu/latency_7.4.txt", output, *options)
    assert (done.returncode, done.stderr) == (0, f"{output}: 17 message sizes\n")
    curves = pd.read_csv(output)
    assert set(curves["interconnect"]) == {"shared_memory"} and set(curves["processes"]) == {2}


def test_netpipe_output_is_read_if_the_command_names_the_format(foreign, tmp_path):
    words = [foreign / "netpipe/mpi_3.7.out", tmp_path / "curves.csv", "--set", "interconnect=ib"]
    done = converted(*words)
    assert done.returncode == 1 and "has no heading" in done.stderr and done.stderr.count("\n") == 1
    done = converted(*words, "--format", "netpipe")
    assert (done.returncode, done.stderr) == (0, f"{words[1]}: 82 message sizes\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["osu/latency_7.4.txt", "{}"], "the output does not name its interconnect"),
        (["osu/latency_7.4.txt", "{}", "--set", "speed=3"], "--set: key 'speed': is unknown"),
        (
            ["osu/latency_7.4.txt", "{}", "--set", "processes=x"],
            "--set: key 'processes.value': 'x' must be a whole",
        ),
        (["jube/times.csv", "README.md"], "README.md: is there already"),
    ],
)
def test_faults_are_one_line_and_nothing_is_written(foreign, tmp_path, words, message):
    output = tmp_path / "out.csv"
    done = converted(foreign / words[0], *(word.format(output) for word in words[1:]))
    assert done.returncode == 1 and message in done.stderr and done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_rows_of_transports_are_written_and_read_back(foreign, tmp_path):
    """perftest's MB are 2^20 bytes: 10,990 MB/s are 11,523.85 × 10^6 bytes/s."""
    output = tmp_path / "transports.csv"
    words = [foreign / "field/perftest_post_list.txt", output, "--set", "interconnect=ib"]
    done = converted(*words)
    assert (done.returncode, done.stderr) == (0, f"{output}: 1 rows\n")
    table = read_foreign(output).derived["transports"]
    assert table["received_MBps"].tolist() == pytest.approx([11523.85], abs=0.01)
    again = converted(output, tmp_path / "again.csv")
    assert "is already a table of Nodeworth (transports)" in again.stderr
