"""A Slurm with accounting: limits of accounts and QOS are told in a line, and a study that they hold is whole later."""

import pandas as pd
import pytest
from cluster_folders import ClusterFolder
from needs import ACCOUNTING

from tests.slurm.small_slurm import small_slurm

pytestmark = [pytest.mark.slow, pytest.mark.faults, pytest.mark.needs(*ACCOUNTING)]


@pytest.fixture(scope="module")
def slurm():
    with small_slurm(nodes=2, accounting=True) as running:
        yield running


@pytest.fixture
def folder(slurm, tmp_path):
    return ClusterFolder(slurm, tmp_path).faulty("sound", processes=(2,))


def manage(slurm, *words):
    slurm.ask("sacctmgr", "-i", *words)


@pytest.mark.parametrize(
    ("site", "job", "told"),
    [
        ("account: nobody\n", "faulty/processes-2", "Invalid account or account/partition combination"),
        ("qos: tight\n", "what prepares a case (--ntasks=1, --time=30)", "QOSMaxWallDurationPerJobLimit"),
    ],
)
def test_what_accounting_refuses_is_one_line(slurm, folder, site, job, told):
    """The mesh, the decomposition and the answer ask for 30 minutes; the QOS denies more than 20."""
    if "qos" in site:
        manage(slurm, "add", "qos", "tight", "MaxWall=20", "Flags=DenyOnLimit")
        manage(slurm, "modify", "user", "root", "set", "qos=normal,tight")
    folder.site.write_text(folder.site.read_text() + site)
    said = folder.run(timeout=120)
    (line,) = [line for line in said.splitlines() if line.startswith("nodeworth:")]
    assert f"a job for {job}" in line and told in line and said.endswith("exit status 1")


def test_a_limit_that_holds_a_job_is_told_and_the_study_is_whole_when_it_is_raised(slurm, folder):
    """sbatch --test-only takes a job of two nodes that the account's limit of one will hold for ever."""
    folder.site.write_text(folder.site.read_text() + "account: me\n")
    manage(slurm, "modify", "account", "me", "set", "GrpTRES=node=1")
    study = folder.start()
    folder.until(lambda: "AssocGrpNodeLimit, a limit that may hold them for ever" in folder.said(), 120)
    manage(slurm, "modify", "account", "me", "set", "GrpTRES=node=-1")
    assert folder.finish(study).endswith("exit status 0")
    (record,) = folder.records().values()
    assert record["attempt"] == 1 and record["seconds"] == 0.25
    states = slurm.ask("sacct", "--noheader", "--allocations", "--parsable2", "--format=State").split()
    assert set(states) == {"COMPLETED"}
    jobs = pd.read_csv(folder.folder / "results/faulty/details/jobs.csv")
    assert jobs[["job", "state", "cores"]].values.tolist() == [
        [int(record["cluster"]["job"]), "COMPLETED", 2]
    ]
    assert jobs["seconds"][0] >= record["times"]["wall_seconds"]


@pytest.mark.parametrize(
    ("limit", "told"),
    [
        ("MaxSubmitJobs", "AssocMaxSubmitJobLimit: further jobs are submitted as others end"),
        ("MaxJobs", "AssocMaxJobsLimit, a limit that may hold them for ever"),
    ],
)
def test_a_limit_of_jobs_slows_a_study_is_told_once_and_the_study_is_whole(slurm, folder, limit, told):
    """One job at a time may be submitted, or run; the study has two and one that prepares."""
    folder.faulty("sound", blocks=2, processes=(1,))
    folder.site.write_text(folder.site.read_text() + "account: me\n")
    manage(slurm, "modify", "user", "root", "set", f"{limit}=1")
    try:
        said = folder.run()
    finally:
        manage(slurm, "modify", "user", "root", "set", f"{limit}=-1")
    assert said.endswith("exit status 0") and said.count(told) == 1, said
    assert [record["attempt"] for record in folder.records().values()] == [1, 1]
