"""A Slurm with accounting: limits of accounts and QOS are reported in one line and delay a study only.

It counts energy, and where it hides what others do, a user's study is whole too.
"""

import sys
from pathlib import Path

import pandas as pd
import pytest
from cluster_folders import ClusterFolder
from disturbed import disturbed
from needs import ACCOUNTING

from analysis.runs.runs import read_runs
from analysis.topics.core_hours import make_core_hours
from tests.slurm.small_slurm import WATTS, small_slurm
from workflows.paths import ROOT

NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
pytestmark = [pytest.mark.slow, pytest.mark.faults, pytest.mark.needs(*ACCOUNTING)]


@pytest.fixture(scope="module")
def slurm():
    with small_slurm(nodes=2, accounting=True, energy=True) as running:
        yield running


@pytest.fixture
def folder(slurm, tmp_path):
    return ClusterFolder(slurm, tmp_path).faulty("sound", processes=(2,))


def manage(slurm, *words):
    slurm.ask("sacctmgr", "-i", *words)


@pytest.mark.parametrize(
    ("site", "job", "reason"),
    [
        ("account: nobody\n", "faulty/processes-2", "Invalid account or account/partition combination"),
        ("qos: tight\n", "what prepares a case (--ntasks=1, --time=30)", "QOSMaxWallDurationPerJobLimit"),
    ],
)
def test_refusals_of_accounting_are_one_line(slurm, folder, site, job, reason):
    """The mesh, the decomposition and the answer ask for 30 minutes; the QOS denies more than 20."""
    if "qos" in site:
        manage(slurm, "add", "qos", "tight", "MaxWall=20", "Flags=DenyOnLimit")
        manage(slurm, "modify", "user", "root", "set", "qos=normal,tight")
    folder.site.write_text(folder.site.read_text() + site)
    output = folder.run(timeout=120)
    (line,) = [line for line in output.splitlines() if line.startswith("nodeworth:")]
    assert f"a job for {job}" in line and reason in line and output.endswith("exit status 1")


def test_limits_that_hold_jobs_are_reported_and_raising_them_completes_the_study(slurm, folder):
    """sbatch --test-only takes what is held for ever: the account has no minute left, and one node where two are needed."""
    folder.site.write_text(folder.site.read_text() + "account: me\n")
    manage(slurm, "modify", "account", "me", "set", "GrpTRESMins=cpu=0", "GrpTRES=node=1")
    study, reason_for_waiting = folder.start(), "a limit that may never release them"
    for limit, raised in (
        ("AssocGrpCPUMinutesLimit", "GrpTRESMins=cpu=-1"),
        ("AssocGrpNodeLimit", "GrpTRES=node=-1"),
    ):
        folder.until(lambda limit=limit: f"{limit}, {reason_for_waiting}" in folder.output(), 240)
        manage(slurm, "modify", "account", "me", "set", raised)
    output = folder.went_well(study)
    assert output.count(reason_for_waiting) == 2, output
    (record,) = folder.records().values()
    assert record["attempt"] == 1 and record["seconds"] == 0.02
    states = slurm.ask("sacct", "--noheader", "--allocations", "--parsable2", "--format=State").split()
    assert set(states) == {"COMPLETED"}
    jobs = pd.read_csv(folder.folder / "results/faulty/details/jobs.csv", dtype={"job": str})
    preparing, measuring = jobs.to_dict("records")
    assert (preparing["cores"], measuring["cores"], measuring["job"]) == (1, 2, record["cluster"]["job"])
    assert measuring["seconds"] >= record["times"]["wall_seconds"]
    assert 0 < measuring["energy_joules"] < 2 * WATTS * (measuring["seconds"] + 2)
    energy = record["energy"]
    assert energy["source"] == "Slurm: pm_counters"
    assert energy["joules"] or energy["problem"].startswith("sacct: ")  # a step of a second may count none
    made = make_core_hours(read_runs(folder.folder / "results/faulty/runs.csv"), jobs)
    hours = made["core_hours"].set_index("reason")["core_hours"]
    assert hours["prepared"] == pytest.approx(preparing["seconds"] / 3600) and hours["counted"] > 0
    assert made["job_states"]["jobs"].tolist() == [2] and made["job_states"]["energy_joules"][0] > 0


@pytest.mark.parametrize(
    ("target", "limit", "message"),
    [
        ("user root", "MaxSubmitJobs", "AssocMaxSubmitJobLimit: further jobs are submitted as others end"),
        (
            "qos normal",
            "MaxJobsPerUser",
            "QOSMaxJobsPerUserLimit, a limit of running jobs: the jobs begin as others end",
        ),
    ],
)
def test_a_job_limit_is_reported_once_and_the_study_completes(slurm, folder, target, limit, message):
    """One job at a time may be submitted, or run, and the user has one until it is told; the study has three."""
    folder.faulty("sound", blocks=2, processes=(1,))
    folder.site.write_text(folder.site.read_text() + "account: me\n")
    other = slurm.ask("sbatch", "--parsable", "--account=me", "--output=/dev/null", "--wrap", "sleep 600")
    manage(slurm, "modify", *target.split(), "set", f"{limit}=1")
    try:
        study = folder.start()
        folder.until(lambda: message in folder.output(), 240)
        slurm.ask("scancel", other)
        output = folder.went_well(study)
    finally:
        slurm.run("scancel", other)
        manage(slurm, "modify", *target.split(), "set", f"{limit}=-1")
    assert output.count(message) == 1, output
    assert [record["attempt"] for record in folder.records().values()] == [1, 1]


def let_in(slurm):
    """Let other users of the cluster reach the project and its Python, though a folder above is root's alone."""
    above = {folder for path in (Path(sys.base_prefix), ROOT) for folder in path.parents}
    for number, closed in enumerate(folder for folder in above if not folder.stat().st_mode & 0o001):
        layers = [slurm.folder / f"{layer}-{number}" for layer in ("upper", "work")]
        for layer in layers:
            layer.mkdir(mode=0o755)
        options = f"lowerdir={closed},upperdir={layers[0]},workdir={layers[1]}"
        slurm.ask("mount", "-t", "overlay", "overlay", "-o", options, str(closed))


def test_a_user_to_whom_all_is_hidden(slurm):
    """Jobs, nodes and usage of others are hidden; the controller forgets a job that was cancelled, and sacct knows it.

    sinfo shows no nodes, so that the site file must; who else is on a node cannot be seen, and it is said so.
    """
    user_folder = slurm.folder / "nobody"
    user_folder.mkdir()
    slurm.ask("chown", "nobody", str(user_folder))
    let_in(slurm)
    folder = ClusterFolder(slurm, user_folder).faulty("slow", processes=(2,))
    folder.snakemake = (
        *NOBODY,
        "env",
        f"HOME={user_folder}",
        f"XDG_CACHE_HOME={user_folder}",
        *ClusterFolder.snakemake,
    )
    manage(slurm, "add", "user", "nobody", "account=me")
    slurm.configure("PrivateData", "accounts,jobs,nodes,reservations,usage,users")
    output = folder.run()
    assert "must be given where Slurm hides nodes (PrivateData): sinfo: " in output, output
    folder.site.write_text(
        f"{folder.site.read_text()}nodes: 2\ncores_per_node: 1\nmemory_per_node_MB: 2000\n"
    )
    by_sacct = ("--nodeworth-slurm-status-command", "sacct")
    study = folder.start(*by_sacct)
    (note,) = folder.until(folder.under_way)
    folder.kill(study)
    slurm.ask("scancel", note["job"])
    slurm.wait_for_jobs()
    slurm.forget_jobs()
    output = folder.run(*by_sacct)
    assert "Slurm hides jobs of others or nodes from you (PrivateData)" in output
    first, last = folder.records().values()
    assert (first["cluster"]["state"], last["cluster"]["state"]) == ("CANCELLED", "RUNNING"), output
    assert f"job {note['job']} ended as CANCELLED on emulated-node" in output
    assert last["problem"] is None or disturbed(last["problem"]), output
    assert last["seconds"] == 0.02 and last["cluster"]["neighbours_hidden"]
    jobs = pd.read_csv(user_folder / "results/faulty/details/jobs.csv")
    assert set(jobs["state"]) == {"CANCELLED", "COMPLETED"}
    writable = [
        path
        for path in (user_folder / "results").rglob("*")
        if path.stat().st_mode & 0o022 and not path.is_symlink()
    ]
    assert not writable
