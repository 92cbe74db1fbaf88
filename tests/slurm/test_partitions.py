"""One study over two sorts of nodes, whose links, cores and memory differ: each attested, compared unpaired.

The sorts are two partitions, or have two features in one. The slow one is of unequal nodes.
"""

import sys

import pandas as pd
import pytest
from cluster_folders import ClusterFolder
from disturbed import disturbed
from made_tables import make_tables
from needs import SLURM
from small_slurm import small_slurm

from analysis.runs.runs import complete_runs
from analysis.runs.settings import Settings

pytestmark = [pytest.mark.slow, pytest.mark.needs(*SLURM)]

SLOW, FAST = "emulated_gigabit", "emulated_ten_gigabit"
STUDY = f"""
name: partitions
cases: [cavity-4k]
interconnects: [{SLOW}, {FAST}]
processes: [2]
blocks: 4
limits: {{run_seconds: 60, idle_seconds: 0}}
"""
SITE = f"joined_by: [{SLOW}, {FAST}]\nblocks_per_job: 2\ncores_per_node: 1\n"
SHARED = f"{{{SLOW}: {SLOW}, {FAST}: {FAST}}}\n"
RESERVED = "emulated-node[1-4]"
ASKED = """
from pathlib import Path
from workflows.jobs.scheduler import NodeSelection
from workflows.jobs.slurm import nodes_of
selections = ((), ("emulated_ten_gigabit",), (None, "emulated_gigabit"), (None, None, "night"))
for selection in selections:
    print(*nodes_of(NodeSelection(*selection), Path("site.yaml")))
"""


@pytest.fixture(scope="module")
def slurm():
    with small_slurm(4, FAST, partitions=(SLOW, FAST), cores=(1, 2, 2, 2)) as running:
        yield running


@pytest.fixture(scope="module")
def partitions(slurm, tmp_path_factory):
    folder = ClusterFolder(slurm, tmp_path_factory.mktemp("partitions"))
    folder.study.write_text(STUDY)
    folder.site.write_text(f"{SITE}partitions: {SHARED}")
    folder.run_well(target="results/partitions/runs.csv")
    return folder


def test_every_job_is_on_the_link_of_its_partition(partitions):
    """The rate that its ranks attest tells which: 13 to 130 MB/s, or 160 and more."""
    records = list(partitions.records().values())
    assert len(records) == 8 and len({record["cluster"]["job"] for record in records}) == 4
    for record in records:
        assert record["cluster"]["partition"] == record["interconnect"]
        assert set(record["companions"]) == {record["interconnect"]}
        assert record["problem"] is None or disturbed(record["problem"])
    rates = {
        name: [r["probe"]["bandwidth_MBps"] for r in records if r["interconnect"] == name]
        for name in (SLOW, FAST)
    }
    assert max(rates[SLOW]) < 130 < max(rates[FAST])


def test_the_comparison_is_unpaired(partitions):
    runs = complete_runs(pd.read_csv(partitions.folder / "results/partitions/runs.csv"))
    table = make_tables(runs.assign(valid=True), Settings(draws=200, baselines=(SLOW,)))["improvement"]
    assert table["paired"].tolist() == [False] and table["blocks"].tolist() == [4]


@pytest.fixture(scope="module")
def features(slurm, tmp_path_factory):
    """Two features of one partition, under one switch each, in a reservation of all nodes, which nothing else enters."""
    slurm.ask(
        *("scontrol", "create", "reservation", "ReservationName=night", "Users=root"),
        *("StartTime=now", "Duration=60", f"Nodes={RESERVED}"),
    )
    folder = ClusterFolder(slurm, tmp_path_factory.mktemp("features")).faulty("sound", blocks=2)
    folder.study.write_text(folder.study.read_text().replace(f"[{SLOW}]", f"[{SLOW}, {FAST}]"))
    options = f"constraints: {SHARED}reservation: night\nextra: --switches=1\n"
    folder.site.write_text(f"{SITE}{options}")
    folder.run_well()
    yield folder
    slurm.ask("scontrol", "delete", "reservation=night")


def test_nodes_are_counted_by_partition_feature_and_reservation(slurm, features):
    """The smallest node counts: the first has one core and 2000 MB, the others two cores and 3000 MB."""
    counted = slurm.ask(sys.executable, "-c", ASKED).splitlines()
    assert counted == ["4 1 2000", "2 2 3000", "2 1 2000", "4 1 2000"]


def test_every_job_is_on_nodes_of_its_feature_and_in_the_reservation(slurm, features):
    first, second = RESERVED.replace("-4", "-2"), RESERVED.replace("1-", "3-")
    records = list(features.records().values())
    shared = [record for record in records if record["processes"] == 2]
    assert {(record["interconnect"], record["cluster"]["nodes"]) for record in shared} == {
        (SLOW, first),
        (FAST, second),
    }
    assert len(shared) == 4 and len(records) == 6
    assert all(set(record["companions"]) == {record["interconnect"]} for record in shared)  # unpaired
    for record in records:
        assert record["problem"] is None or disturbed(record["problem"])
        shown = slurm.ask("scontrol", "show", "job", "--oneliner", record["cluster"]["job"])
        assert " Reservation=night " in shown and " Switches=1@" in shown
