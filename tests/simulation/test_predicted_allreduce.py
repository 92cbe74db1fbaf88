"""Predicted allreduce: times worked out by hand on few processes, limits, choices of Open MPI, and the command."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from workflows.errors import InputError
from workflows.paths import ROOT
from workflows.simulation import allreduce, collectives
from workflows.simulation.allreduce import Cluster, predicted_us

PUBLISHED = ROOT / "analysis" / "published"
POINT_TO_POINT = PUBLISHED / "clouds/point_to_point.csv"
SYSTEMS = PUBLISHED / "clouds/systems.csv"

# Between nodes 10 us + size / 100, of which the port needs at least 2 us; inside a node 1 us + size / 1000.
CLUSTER = Cluster(
    sizes=np.array([0.0, 1e6]),
    times_us=np.array([10.0, 10010.0]),
    interval_us=2.0,
    port_rate=100.0,
    inside_us=1.0,
    inside_rate=1000.0,
    node_rate=1e9,
    processes_per_node=1,
)
ALGORITHMS = (
    allreduce.recursive_doubling,
    allreduce.rabenseifner,
    allreduce.ring,
    allreduce.reduce_and_broadcast,
)


def time_us(algorithm, nodes, size, **changes):
    cluster = replace(CLUSTER, **changes)
    return predicted_us(cluster, nodes, algorithm(nodes * cluster.processes_per_node, size))


@pytest.mark.parametrize(
    ("algorithm", "nodes", "changes", "expected"),
    [
        (allreduce.recursive_doubling, 4, {}, 2 * 14),
        (allreduce.rabenseifner, 4, {}, 12 + 11 + 11 + 12),
        (allreduce.ring, 4, {}, 6 * 11),
        # Rank 0 receives at 14 and 28, and sends at 4, 8, 12 after that; ranks 1 to 3 have it at 42, 46, 50.
        (allreduce.reduce_and_broadcast, 4, {}, (28 + 12 + 42 + 46 + 50) / 4),
        # Rank 0 gives to 1 at 14. Rank 2 sent before: 1 has sent to 2 at 18, and 2 has its message at 28.
        # Then 1 sends to 0 until 22, which has the result at 32.
        (allreduce.recursive_doubling, 3, {}, (32 + 22 + 28) / 3),
        # Two processes per node: first inside; then both share the port and the second waits 4 us.
        (allreduce.recursive_doubling, 2, {"processes_per_node": 2}, 1.4 + 14 + 4),
        (allreduce.rabenseifner, 2, {"processes_per_node": 2}, 1.2 + 2 * (11 + 2) + 1.2),
        # Four messages inside share 400 bytes/us: 100 bytes/us for each.
        (allreduce.recursive_doubling, 1, {"processes_per_node": 4, "node_rate": 400.0}, 2 * 5),
    ],
)
def test_times_worked_out_by_hand(algorithm, nodes, changes, expected):
    """400 bytes; the ring and Rabenseifner's algorithm send 100 and 200 of them."""
    assert time_us(algorithm, nodes, 400, **changes) == pytest.approx(expected)


@pytest.mark.parametrize("size", [8, 400, 65536])
def test_two_processes_exchange_like_a_ping_pong(size):
    ping_pong = 10 + size / 100
    assert time_us(allreduce.recursive_doubling, 2, size) == pytest.approx(ping_pong)
    assert time_us(allreduce.ring, 2, size) == pytest.approx(2 * (10 + size / 200))
    assert time_us(allreduce.rabenseifner, 2, size) == pytest.approx(2 * (10 + size / 200))


@pytest.mark.parametrize("ranks", [2, 3, 6, 12, 24])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_process_gets_the_parts_of_all_others(algorithm, ranks):
    """Whatever a process sends, it has; after the last step, each has the parts of all others."""
    parts = np.eye(ranks, dtype=bool)
    for senders, receivers, size in algorithm(ranks, 1024):
        assert len(set(receivers)) == len(receivers)
        assert 0 < size <= 1024
        later = parts.copy()
        later[receivers] |= parts[senders]
        parts = later
    assert parts.all()


@pytest.mark.parametrize("ranks", [2, 3, 8, 12])
def test_ring_and_rabenseifner_send_little(ranks):
    """A process of a power of two sends 2 (ranks - 1) / ranks of the bytes in both, no process more than twice."""
    for algorithm in (allreduce.ring, allreduce.rabenseifner):
        sent = np.zeros(ranks)
        for senders, _, size in algorithm(ranks, 1.0):
            np.add.at(sent, senders, size)
        if ranks & (ranks - 1) == 0:
            assert sent == pytest.approx(2 * (ranks - 1) / ranks)
        assert sent.max() <= 4


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_more_nodes_bytes_processes_and_slower_parts_take_longer(algorithm):
    base = time_us(algorithm, 4, 4096, processes_per_node=2)
    assert time_us(algorithm, 8, 4096, processes_per_node=2) > base
    assert time_us(algorithm, 4, 8192, processes_per_node=2) > base
    assert time_us(algorithm, 4, 4096, processes_per_node=4) > base
    assert time_us(algorithm, 4, 4096, processes_per_node=2, inside_us=2.0) > base
    assert time_us(algorithm, 4, 4096, processes_per_node=2, times_us=CLUSTER.times_us + 1) > base
    assert time_us(algorithm, 4, 4096, processes_per_node=2, port_rate=50.0) >= base


def test_hierarchy_leaves_one_message_per_node_and_step():
    """Inside 1.4 us up and down; recursive doubling among 4 nodes."""
    steps = list(allreduce.hierarchical(4, 2, 400))
    outside = [(s // 2 != r // 2).sum() for s, r, _ in steps if (s // 2 != r // 2).any()]
    assert outside == [4, 4]
    assert predicted_us(replace(CLUSTER, processes_per_node=2), 4, steps) == pytest.approx(1.4 + 28 + 1.4)


@pytest.mark.parametrize(
    ("ranks", "size", "algorithm"),
    [
        (3072, 8, allreduce.reduce_and_broadcast),
        (1792, 2048, allreduce.recursive_doubling),
        (3584, 2048, allreduce.recursive_doubling),  # the segmented ring needs an element per process
        (24576, 65536, allreduce.rabenseifner),
        (3, 65536, allreduce.ring),
        (100, 65536, allreduce.recursive_doubling),
        (6, 8192, allreduce.rabenseifner),
    ],
)
def test_choices_of_open_mpi(ranks, size, algorithm):
    assert allreduce.openmpi_choice(ranks, size) is algorithm


def test_linear_allreduce_of_many_processes_is_refused():
    with pytest.raises(InputError, match=r"24576 processes: Open MPI 4\.1 sends all to one process"):
        allreduce.openmpi_choice(24576, 32768)


def test_committed_predictions_are_those_of_the_command():
    made = collectives.predict(
        collectives.read_point_to_point([POINT_TO_POINT]),
        collectives.read_systems(SYSTEMS),
        [32, 64, 128, 256],
        [8, 65536, 1048576],
    )
    committed = pd.read_csv(ROOT / "docs" / "predictions" / "allreduce_clouds.csv")
    pd.testing.assert_frame_equal(made, committed, rtol=1e-3)
    assert ((made["low_us"] <= made["predicted_us"]) & (made["predicted_us"] <= made["high_us"])).all()


def run(*arguments):
    command = [sys.executable, "-m", "workflows.simulation.collectives", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)


def write_osu(folder):
    latency, bandwidth = folder / "latency.txt", folder / "bw.txt"
    latency.write_text(
        "# OSU MPI Latency Test v5.8\n# Size          Latency (us)\n0 10.0\n100 11.0\n200 12.0\n"
    )
    bandwidth.write_text(
        "# OSU MPI Bandwidth Test v5.8\n# Size      Bandwidth (MB/s)\n1 0.5\n100 50.0\n200 100.0\n"
    )
    return latency, bandwidth


def test_output_of_osu_gives_the_ping_pong_on_two_nodes(tmp_path):
    """Recursive doubling of 100 bytes on two processes is a ping-pong."""
    done = run(*write_osu(tmp_path), "--nodes", "2", "--processes-per-node", "1", "--bytes", "100")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1].startswith("here,2,2,100,recursive_doubling,11.0,")


def test_comparison_states_ratio_and_median_error(tmp_path):
    measured = tmp_path / "allreduce.csv"
    measured.write_text(
        "environment,nodes,size_bytes,avg_us,variant\nhere,2,100,22,\nhere,2,100,22,\nhere,2,100,1,x\n"
    )
    done = run(
        *write_osu(tmp_path), "--nodes", 2, "--processes-per-node", 1, "--bytes", 100, "--measured", measured
    )
    assert done.stdout.splitlines()[1].endswith(",22.0,0.5")
    assert "median error: a factor of 2.00 over 1 points; 0 measured times lie in their band" in done.stderr


def test_environments_with_equal_curves_bound_the_error():
    """Curves of a and b differ by 5 %, that of c by 20 %; a and b were measured with a factor of 4."""
    curves = pd.DataFrame(
        [(name, 2, "osu_latency", 8, us) for name, us in (("a", 1.0), ("b", 1.05), ("c", 1.2))],
        columns=["environment", "nodes", "benchmark", "size_bytes", "median"],
    )
    compared = pd.DataFrame(
        {
            "environment": ["a", "b", "c"],
            "nodes": 2,
            "curve_nodes": 2,
            "size_bytes": 8,
            "ratio": [2.0, 0.5, 1.0],
            "measured_us": [10.0, 40.0, 20.0],
            "low_us": 15.0,
            "high_us": 25.0,
        }
    )
    equal = collectives.equal_curves(compared, curves)
    assert equal.to_numpy().tolist() == [[2, 8, "a", "b", 4.0]]
    lines = collectives.summary(compared, equal)
    assert lines[0] == "median error: a factor of 2.00 over 3 points; 1 measured times lie in their band"
    assert lines[-1].endswith("has the square root as its error: 2.00, at most 2.00")


def test_committed_comparison_is_that_of_the_command():
    made = collectives.compare(
        pd.read_csv(ROOT / "docs" / "predictions" / "allreduce_clouds.csv"),
        pd.read_csv(PUBLISHED / "clouds/allreduce.csv"),
    )
    committed = pd.read_csv(ROOT / "docs" / "predictions" / "allreduce_clouds_compared.csv")
    pd.testing.assert_frame_equal(made, committed)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ([], "--processes-per-node or --systems is necessary"),
        (["--processes-per-node", "2", "--bytes", "400"], "here: osu_latency has no time for 400 bytes"),
    ],
)
def test_bad_options_give_one_line(tmp_path, arguments, line):
    done = run(*write_osu(tmp_path), *arguments)
    assert done.returncode == 1
    assert done.stderr.strip() == f"nodeworth: {line}"


@pytest.mark.parametrize("option", ["--nodes", "--bytes", "--processes-per-node"])
def test_counts_are_above_zero(tmp_path, option):
    stderr = run(*write_osu(tmp_path), option, "0").stderr
    assert f"argument {option}: '0': only whole numbers above 0" in stderr


def test_missing_benchmark_and_library_give_one_line(tmp_path):
    latency, _ = write_osu(tmp_path)
    assert "no rows of osu_bw" in run(latency, "--processes-per-node", 2).stderr
    systems = tmp_path / "systems.csv"
    systems.write_text("environment,processes_per_node,library,port_MBps\nhere,2,lam,\n")
    systems_without_port = tmp_path / "no_port.csv"
    systems_without_port.write_text("environment,processes_per_node,library\n")
    assert "no_port.csv: no column port_MBps" in run(latency, "--systems", systems_without_port).stderr
    assert "library 'lam' is unknown (known: openmpi, hpcx)" in run(latency, "--systems", systems).stderr
