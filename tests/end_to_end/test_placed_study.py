"""Ranks packed on one emulated node or spread over two: real placement, and its report."""

import json

import pandas as pd
import pytest
from disturbed import sound_runs
from machine_state import left_behind
from study_folders import StudyFolder

pytestmark = [pytest.mark.slow, pytest.mark.alone]

STUDY = """
name: placed
cases: [cavity-4k]
interconnects: [emulated_gigabit, shared_memory]
processes: [1, 2]
processes_per_node: [1, 2]
blocks: BLOCKS
limits: {idle_seconds: 0.1}
"""


def records_of(results):
    return {path: path.read_bytes() for path in results.rglob("records/**/*.json")}


@pytest.fixture(scope="module")
def study_folder(tmp_path_factory):
    """One for all: the second test goes on from what the first one measured."""
    return StudyFolder(tmp_path_factory.mktemp("placed"))


def test_packed_and_spread(study_folder):
    before = left_behind()
    study = study_folder.write(STUDY.replace("BLOCKS", "2").replace("processes_per_node: [1, 2]\n", ""))
    results = study_folder.results("placed")
    study_folder.run_well(study, "--", "results/placed/runs.csv")
    plain = records_of(results)
    assert len(plain) == 3 * 2

    done = study_folder.run_well(study_folder.write(STUDY.replace("BLOCKS", "2")))
    message = (
        "left out: 2 processes at oversubscription 1, 1 a node, over shared_memory: shared_memory has 1 node"
    )
    assert message in done.stderr
    assert left_behind() <= before

    # What was there before placement varied stays, and counts where the study still asks for it.
    assert plain.items() <= records_of(results).items()
    runs = pd.read_csv(results / "runs.csv")
    sound_runs(runs)
    emulated = runs[runs["interconnect"] == "emulated_gigabit"]
    assert emulated.groupby("nodes").size().to_dict() == {1: 2, 2: 2 + 2}

    for path in emulated["record"]:
        record = json.loads((results / path).read_text())
        per_node = record["processes_per_node"] or 1
        assert path.endswith(f"/block-{record['block']}-attempt-1.json")
        assert (f"/processes-per-node-{per_node}/" in path) == (record["processes_per_node"] is not None)
        hosts = [rank["host"] for rank in record["placement"]]
        assert len(set(hosts)) == record["nodes"] == 2 // per_node
        assert len({rank["cores"] for rank in record["placement"]}) == 2

    row = pd.read_csv(results / "tables/placement.csv").iloc[0]
    assert (row["interconnect"], row["nodes_of_baseline"], row["nodes"]) == ("emulated_gigabit", 1, 2)
    assert row["paired"] and row["blocks"] == 2
    assert "Packed or spread" in (results / "report.html").read_text()


def test_more_blocks_of_a_study_with_placements(study_folder):
    results = study_folder.results("placed")
    before = records_of(results)
    study = study_folder.write(STUDY.replace("BLOCKS", "3"))
    study_folder.run_well(study, "--", "results/placed/runs.csv")
    after = records_of(results)
    assert before.items() <= after.items()
    assert len(after) == len(before) + 4
    assert len(pd.read_csv(results / "runs.csv")) == len(after)
