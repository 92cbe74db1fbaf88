"""Points that leave nodes free run on other nodes in each block, and a slow node is flagged."""

import shutil

import pytest
from cluster_folders import ClusterFolder
from disturbed import disturbed
from needs import SLURM
from small_slurm import small_slurm

from analysis.runs.runs import read_runs
from analysis.runs.settings import Settings
from analysis.topics.nodes import make_nodes
from workflows.domain import Repetition
from workflows.measure.allocation import chosen_nodes
from workflows.paths import ROOT
from workflows.plan.record import Record
from workflows.study.study import read_study

pytestmark = [pytest.mark.slow, pytest.mark.needs(*SLURM)]

STEADY = """
import platform, time
begun = time.monotonic()
for _ in range(5 if platform.node() == "emulated-node2" else 4):
    time.sleep(0.2)  # on a busy machine each sleep is longer by about the same
print(f"took {time.monotonic() - begun} s", "sum = 42", "done", sep="\\n")
"""
BLOCKS = 9
SURE = Settings(looks=(("faulty", 6),))
"""At 5 %/2⁶: one such interval in over a thousand misses what is so."""


@pytest.fixture(scope="module")
def slurm():
    with small_slurm(nodes=3) as running:
        yield running


def in_an_allocation(folder):
    folder.allocate(nodes=3, time=30)
    folder.until((folder.folder / "results/faulty/runs.csv").exists)
    return [Record.of(record) for record in folder.records().values()]


def test_compared_points_run_on_the_nodes_drawn_for_their_block(slurm, tmp_path):
    folder = ClusterFolder(slurm, tmp_path).faulty("sound", blocks=3)
    records = in_an_allocation(folder)
    seed, names = read_study(folder.study).seed, [node.name for node in slurm.nodes]
    for record in records:
        assert record.problem is None or disturbed(record.problem)
        chosen = chosen_nodes(3, Repetition(record.point, record.block, ()), seed)
        assert [rank["host"] for rank in record.placement] == [names[number] for number in chosen]
    serial = {record.placement[0]["host"] for record in records if record.processes == 1}
    assert len(records) == 6 and serial == set(names)
    assert {record.noise.pressure_share is None for record in records if record.processes == 1} == {
        True,
        False,
    }


def test_a_node_at_four_fifths_speed_is_flagged(slurm, tmp_path):
    """Two sizes of a serial case: three blocks of each on the slow one of three nodes, six on the others."""
    case = tmp_path / "cases/command/faulty"
    shutil.copytree(ROOT / "tests/cases/command/faulty", case)
    (case / "faulty.py").write_text(STEADY)
    folder = ClusterFolder(slurm, tmp_path).faulty("sound", "slow", blocks=BLOCKS, processes=(1,))
    folder.study.write_text(
        folder.study.read_text().replace(str(ROOT / "tests/cases"), str(tmp_path / "cases"))
    )
    in_an_allocation(folder)
    runs = read_runs(tmp_path / "results/faulty/runs.csv")
    table, sure = (make_nodes(runs, chosen)["nodes"].set_index("node") for chosen in (Settings(), SURE))
    assert table["blocks"].to_dict() == dict.fromkeys((node.name for node in slurm.nodes), 2 * BLOCKS // 3)
    assert table.index[table["slow"]].tolist() == ["emulated-node2"]
    low, high = sure.loc["emulated-node2", ["slower_low", "slower_high"]]
    assert low - 0.5 < 25 < high + 0.5  # the rest of a run takes the same time on all nodes
