"""One study over two partitions that are joined by links of different rates: each attested, compared unpaired."""

import pandas as pd
import pytest
from cluster_folders import ClusterFolder
from disturbed import disturbed
from needs import SLURM
from small_slurm import small_slurm

from analysis.estimates.scaling import make_tables
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


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    with small_slurm(nodes=4, interconnect=FAST, partitions=(SLOW, FAST)) as slurm:
        folder = ClusterFolder(slurm, tmp_path_factory.mktemp("partitions"))
        folder.study.write_text(STUDY)
        partitions = f"partitions: {{{SLOW}: {SLOW}, {FAST}: {FAST}}}\n"
        folder.site.write_text(f"joined_by: [{SLOW}, {FAST}]\n{partitions}blocks_per_job: 2\n")
        folder.run_well(target="results/partitions/runs.csv")
        yield folder


def test_every_job_is_on_the_link_of_its_partition(folder):
    """The rate that its ranks attest tells which: 13 to 130 MB/s, or 160 and more."""
    records = list(folder.records().values())
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


def test_the_comparison_is_unpaired(folder):
    runs = complete_runs(pd.read_csv(folder.folder / "results/partitions/runs.csv"))
    table = make_tables(runs.assign(valid=True), Settings(draws=200, baselines=(SLOW,)))["improvement"]
    assert table["paired"].tolist() == [False] and table["blocks"].tolist() == [4]
