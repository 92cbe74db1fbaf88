"""A study in an image: Snakemake enters it on one node for each script, srun's ranks on both; MPI is the image's."""

import pytest
from cluster_folders import ClusterFolder
from disturbed import disturbed
from needs import IMAGE, SLURM

from workflows.paths import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.needs(*SLURM, "apptainer", IMAGE)]
STUDY = """
name: faulty
cases: [allreduce-smoke]
interconnects: [emulated_gigabit]
processes: [2]
blocks: 1
limits: {run_seconds: 60, idle_seconds: 0}
"""
ENTERED = ("--sdm", "apptainer", "--apptainer-args= --userns --bind /etc/slurm")


@pytest.fixture
def folder(slurm, tmp_path):
    made = ClusterFolder(slurm, tmp_path)
    made.study.write_text(STUDY)
    made.site.write_text(f"{made.site.read_text()}container: {ROOT / IMAGE}\n")
    return made


def test_scripts_and_ranks_of_two_nodes_are_in_the_image(folder):
    output = folder.run_well(*ENTERED)
    (record,) = folder.records().values()
    assert record["valid"] or disturbed(record["reason"]), output
    command = record["command"]
    assert command[0] == "srun" and "--mpi=pmix" in command
    assert "exec" in command and str(ROOT / IMAGE) in command
    assert {rank["host"] for rank in record["placement"]} == {node.name for node in folder.slurm.nodes}
    assert record["probe"]["way"] == "in the run" and record["probe"]["transports"] == ["tcp"], output


def test_a_plugin_that_its_mpi_does_not_speak_is_refused_before_anything_is_submitted(folder):
    before = folder.queue()
    folder.site.write_text(f"{folder.site.read_text()}mpi_plugin: pmi2\n")
    output = folder.run(*ENTERED)
    assert "mpi_plugin: pmi2: Open MPI 4.1.4 of the image does not speak it (it has " in output
    assert output.endswith("exit status 1") and folder.queue() == before
