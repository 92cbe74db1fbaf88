"""Collective operations are replayed as Open MPI carries them out: the same messages, between the same ranks."""

import subprocess
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from needs import need
from simulated_link import simulated_link

from workflows.launch.launch import outside_mpi
from workflows.paths import ROOT
from workflows.replay.points import PROGRAMS
from workflows.simulation import programs, replayer
from workflows.simulation.fit import write_traces
from workflows.simulation.model import make_model
from workflows.simulation.platform import platform_xml

pytestmark = pytest.mark.slow

MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--mca", "btl", "self,vader"]
MPIRUN += ["--mca", "mpi_yield_when_idle", "1", "--mca", "pml_monitoring_enable", "1"]

DIFFER = {
    2: {("gather", 131072)},  # its first part is larger here
    12: {("allgather", size) for size in (8, 512, 8192)} | {("allreduce", 8192)},
    32: set(),
}
"""By ranks, what is not the same message by message. Where these are no power of two, the bytes are about the same."""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    need("mpicc.openmpi", "mpirun")
    built = tmp_path_factory.mktemp("collectives") / "collectives"
    source = Path(__file__).with_name("collectives.c")
    subprocess.run(["mpicc.openmpi", "-rdynamic", "-o", built, source], check=True, timeout=60)
    return built


def really_sent(program, ranks, sizes):
    """By operation and bytes a rank: how often a rank sent so many bytes to another."""
    command = [*MPIRUN, "-n", str(ranks), program, ",".join(map(str, sizes))]
    done = subprocess.run(command, env=outside_mpi(), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    sent = {}
    for line in done.stdout.splitlines():
        operation, given, *message = line.split()
        sent.setdefault((operation, int(given)), Counter())[tuple(map(int, message))] += 1
    return sent


def operation_line(operation, size, ranks):
    each, total = " ".join([str(size)] * ranks), size * ranks
    return {
        "barrier": "barrier",
        "allreduce": f"allreduce {size} 0",
        "reduce": f"reduce {size} 0 0",
        "bcast": f"bcast {size} 0",
        "gather": f"gather {size} {size} 0",
        "gatherv": f"gatherv {size} {each} 0",
        "scatter": f"scatter {size} {size} 0",
        "allgather": f"allgather {size} {size}",
        "allgatherv": f"allgatherv {size} {each}",
        "alltoall": f"alltoall {size} {size}",
        "alltoallv": f"alltoallv {total} {each} {total} {each}",
        "reducescatter": f"reducescatter {each} 0",
    }[operation]


def replayed(folder, operation, size, ranks):
    """The same of a replay in which no message waits for its receive."""
    model = replace(make_model(simulated_link(), ROOT), eager_limit_bytes=1 << 30, cores_per_node=1)
    xml = platform_xml(model, ranks, 1.0)
    told = '<prop id="tell_messages" value="1"/>'
    (folder / "platform.xml").write_text(xml.replace('<prop id="hop_us"', f'{told}<prop id="hop_us"'))
    write_traces([[operation_line(operation, size, ranks)]] * ranks, folder)
    factors = ",".join(["1"] * ranks)
    output = programs.run(
        programs.build(replayer.SOURCE, PROGRAMS),
        [folder / "platform.xml", folder, ranks, 1, factors],
        operation,
    )
    return Counter(
        tuple(int(word.removeprefix("node-")) for word in message) for message in output.of("message")
    )


@pytest.mark.parametrize(
    ("ranks", "sizes"),
    [
        (2, (8, 512, 8192, 131072)),
        (4, (8, 512, 8192, 131072)),
        (16, (8, 512, 8192)),
        (32, (8, 64, 128, 248, 256)),
        (64, (8, 512)),
        (12, (8, 512, 8192)),
    ],
)
def test_messages_of_collectives_are_those_of_the_library(program, tmp_path, ranks, sizes):
    sent = really_sent(program, ranks, sizes)
    assert len(sent) == 11 * len(sizes) + 1
    differing = {}
    for (operation, size), real in sent.items():
        simulated = replayed(tmp_path, operation, size, ranks)
        if simulated != real:
            differing[operation, size] = [
                sum(to * n for (*_, to), n in of.items()) for of in (simulated, real)
            ]
    assert set(differing) == DIFFER.get(ranks, set())
    for simulated, real in differing.values():
        assert simulated == pytest.approx(real, rel=0.1)
