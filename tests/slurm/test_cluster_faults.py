"""Faults on a cluster end in a record and one line, and the rest of the study is done.

Six nodes share two cores here, so that three jobs run side by side: nothing of this is a measurement. There is
accounting where its packages are unpacked; the studies of `test_cluster_study` have none.
"""

import json
import re

import pandas as pd
import pytest
from cluster_folders import ClusterFolder
from disturbed import disturbed
from needs import ACCOUNTING, SLURM, need, unmet
from small_slurm import small_slurm

from analysis.runs.runs import read_runs
from analysis.topics.core_hours import make_core_hours

pytestmark = [pytest.mark.slow, pytest.mark.faults, pytest.mark.needs(*SLURM)]


@pytest.fixture(scope="module")
def slurm():
    """Six nodes on however many cores: probes between nodes that share one may find it busy, and records invalid."""
    with small_slurm(nodes=6, accounting=unmet(ACCOUNTING[-1]) is None) as running:
        yield running


def without_controller(slurm, _note):
    slurm.stop("slurmctld")
    slurm.start_controller()


def cancelled(slurm, note):
    slurm.ask("scancel", note["job"])


def requeued(slurm, note):
    slurm.ask("scontrol", "requeue", note["job"])


def out_of_time(slurm, note):
    """Slurm looks every half minute."""
    slurm.ask("scontrol", "update", f"jobid={note['job']}", "endtime=now+2")


def without_node(slurm, note):
    last = slurm.ask("scontrol", "show", "hostnames", note["planned"]["cluster"]["nodes"]).split()[-1]
    (node,) = (node for node in slurm.nodes if node.name == last)
    slurm.switch_off(node)
    slurm.ask("scontrol", "update", f"nodename={node.name}", "state=down", "reason=off")
    slurm.start_node(node)


# Those come last that take so long that runs beside them may end.
MISFORTUNES = {
    out_of_time: {"TIMEOUT"},
    cancelled: {"CANCELLED"},
    requeued: {"REQUEUED"},
    without_controller: set(),
    without_node: {"REQUEUED", "NODE_FAIL"},
}
BLOCKS = len(MISFORTUNES) + 4


@pytest.fixture(scope="module")
def unlucky(slurm, tmp_path_factory):
    """Runs of 12 s in a job each, of which five meet with a misfortune in their first attempt.

    Gives what was printed, by misfortune the note of the run and the records of its block, and the study's results.
    """
    folder = ClusterFolder(slurm, tmp_path_factory.mktemp("unlucky"))
    folder.faulty("slow", blocks=BLOCKS, processes=(2,))
    study, met = folder.start(), {}

    def another(hold: bool) -> dict | None:
        """A first attempt under way that has met with nothing yet; to `hold` it keeps it from ending before."""
        assert study.poll() is None, folder.output()
        seen = [note["record"] for note in met.values()]
        firsts = (note for note in folder.under_way() if note["planned"]["attempt"] == 1)
        new = (note for note in firsts if note["record"] not in seen)
        return next((note for note in new if not hold or folder.hold(note)), None)

    for misfortune, states in MISFORTUNES.items():
        met[misfortune] = note = folder.until(lambda hold=bool(states): another(hold))
        misfortune(slurm, note)
    output = folder.went_well(study)
    assert not list(folder.folder.glob("results/*/scratch/*"))
    endings = re.findall(r"attempt-1\.json: job \d+ (?:ended as|was put back)", output)
    assert len(endings) == len(MISFORTUNES) - 1, output
    made = list(folder.records().values())
    return (
        output,
        {
            misfortune: (note, [record for record in made if record["block"] == note["planned"]["block"]])
            for misfortune, note in met.items()
        },
        folder.folder / "results/faulty",
    )


@pytest.mark.parametrize("misfortune", [name for name, states in MISFORTUNES.items() if states])
def test_an_interrupted_run_is_an_attempt_that_does_not_count(unlucky, misfortune):
    output, met, _ = unlucky
    note, (first, *_, last) = met[misfortune]
    assert first["cluster"]["state"] in MISFORTUNES[misfortune], output
    assert first["cluster"]["job"] == note["job"]
    assert first["cluster"]["nodes"] == note["planned"]["cluster"]["nodes"]
    assert first["interrupted"] and not first["valid"] and first["seconds"] is None
    assert last["seconds"] == 0.02 and (last["problem"] is None or disturbed(last["problem"]))
    assert f"job {note['job']}" in first["reason"]


def test_a_controller_that_is_restarted_disturbs_no_run(unlucky):
    _, (only,) = unlucky[1][without_controller]
    assert only["attempt"] == 1 and (only["problem"] is None or disturbed(only["problem"]))


def test_accounting_lists_lost_core_hours_by_cause(unlucky):
    need(*ACCOUNTING)
    results = unlucky[2]
    jobs = pd.read_csv(results / "details/jobs.csv", dtype={"job": str})
    assert {"TIMEOUT", "CANCELLED", "REQUEUED", "COMPLETED"} <= set(jobs["state"])
    made = make_core_hours(read_runs(results / "runs.csv"), jobs)
    hours = made["core_hours"].set_index("reason")
    records = [json.loads(file.read_text()) for file in results.rglob("records/**/*.json")]
    assert hours["runs"]["interrupted"] == sum(record.get("interrupted", False) for record in records)
    assert hours["core_hours"]["interrupted"] > 0
    assert set(hours["source"]) == {"accounting"} and hours["share_percent"].sum() == pytest.approx(100)


def test_exit_signal_memory_and_time_limit_of_a_run(slurm, tmp_path):
    folder = ClusterFolder(slurm, tmp_path).faulty(
        "sound", "crashes", "killed", "hungry", "hangs", processes=(2,)
    )
    folder.study.write_text(folder.study.read_text().replace("run_seconds: 120", "run_seconds: 30"))
    output = folder.run()
    records = {record["case"]: record for record in folder.records().values()}
    # Where other work disturbs the link of the only sound run, no run of the study counts.
    assert output.endswith("exit status 0" if records["faulty"]["valid"] else "exit status 1"), output
    assert records["faulty"]["problem"] is None and records["faulty"]["seconds"] == 0.02
    # The status is srun's: the highest of a rank's.
    assert records["faulty-crashes"]["reason"] in {
        "exit status 1: out of luck",
        "exit status 143: out of luck",
    }
    assert records["faulty-killed"]["reason"].endswith(": task 0: Killed")
    assert "memory" in records["faulty-hungry"]["reason"], records["faulty-hungry"]["exit"]
    assert records["faulty-hangs"]["reason"] == "stopped at its time limit of 30 s (limits.run_seconds)"
    assert all(record["attempt"] == 1 for record in records.values())
    assert slurm.ask("squeue", "--steps", "--noheader") == ""


def test_a_killed_snakemake_loses_and_doubles_nothing(slurm, tmp_path):
    folder = ClusterFolder(slurm, tmp_path).faulty("slow", blocks=2, processes=(2,))
    study = folder.start()
    folder.until(folder.under_way)
    folder.kill(study)
    folder.run_well()
    records = folder.records()
    assert len(records) == 2
    assert all(record["problem"] is None or disturbed(record["problem"]) for record in records.values())
    assert {record["attempt"] for record in records.values()} == {1}


def test_impossible_requests_are_refused_at_once(slurm, tmp_path):
    folder = ClusterFolder(slurm, tmp_path).faulty("sound")
    folder.site.write_text(folder.site.read_text() + "constraint: '[nowhere*1]'\n")
    output = folder.run(timeout=120)
    assert output.endswith("exit status 1"), output
    (line,) = [line for line in output.splitlines() if line.startswith("nodeworth:")]
    assert "Invalid feature specification" in line and "Traceback" not in output
    assert not folder.records() and slurm.ask("squeue", "--noheader") == ""


def test_drained_nodes_are_reported_and_the_study_resumes(slurm, tmp_path):
    """As a site drains them after its controller crashed."""
    early, late = ((tmp_path / name) for name in ("early", "late"))
    early.mkdir()
    late.mkdir()
    folder = ClusterFolder(slurm, early).faulty("sound", processes=(2,))
    nodes, out = "nodename=emulated-node[1-6]", "; out of service: emulated-node[1-6]: a crash"
    study = folder.start()
    folder.until(lambda: slurm.ask("squeue", "--noheader", "--states=running"))
    slurm.ask("scontrol", "update", nodes, "state=drain", "reason=a crash")
    try:
        folder.until(lambda: out in folder.output())
        refused = ClusterFolder(slurm, late).faulty("sound", processes=(2,)).run(timeout=120)
    finally:
        slurm.ask("scontrol", "update", nodes, "state=resume")
    assert f"is not available{out}\n" in refused and refused.endswith("exit status 1")
    output = folder.went_well(study)
    lines = [line for line in output.splitlines() if "waiting for more than" in line]
    assert lines and all(line.endswith(out) for line in lines), output
    assert [record["attempt"] for record in folder.records().values()] == [1]


def test_nodes_that_there_are_not_are_one_line(slurm, tmp_path):
    folder = ClusterFolder(slurm, tmp_path).faulty("sound")
    for line, message in (
        ("memory_per_node_MB: 100\n", " needs 675 MB a node; the cluster's nodes have 100"),
        ("partition: other\n", "partition: other: Slurm has all"),
        ("constraint: ib\n", "constraint: 'ib': no node of all has it; features there: none"),
        ("reservation: noon\n", "reservation: scontrol: Reservation noon not found"),
    ):
        folder.site.write_text(f"joined_by: emulated_gigabit\n{line}")
        output = folder.run(timeout=120)
        lines = [line for line in output.splitlines() if line.startswith("nodeworth:")]
        assert len(lines) == 1 and message in lines[0], output
        assert "Traceback" not in output and output.endswith("exit status 1")


def test_a_preparation_that_a_partition_refuses_is_one_line(slurm, tmp_path):
    """Mesh, decomposition and answer ask for 30 minutes, the run itself for 4."""
    folder = ClusterFolder(slurm, tmp_path).faulty("sound", processes=(2,))
    slurm.ask("scontrol", "update", "partitionname=all", "maxtime=20")
    try:
        output = folder.run(timeout=120)
    finally:
        slurm.ask("scontrol", "update", "partitionname=all", "maxtime=120")
    (line,) = [line for line in output.splitlines() if line.startswith("nodeworth:")]
    assert "a job for what prepares a case (--ntasks=1, --time=30): sbatch: " in line and "time limit" in line
    assert not folder.records() and slurm.ask("squeue", "--noheader") == ""


def test_a_read_only_folder_is_one_line(slurm, tmp_path):
    folder = ClusterFolder(slurm, tmp_path).faulty("sound")
    results = tmp_path / "results"
    results.mkdir()
    slurm.ask("mount", "--bind", str(results), str(results))
    slurm.ask("mount", "-o", "remount,bind,ro", str(results))
    try:
        output = folder.run(timeout=120)
    finally:
        slurm.ask("umount", str(results))
    assert "nodeworth: [Errno 30] Read-only file system" in output and "Traceback" not in output
    assert output.endswith("exit status 1")


def test_a_full_disk_costs_no_record(slurm, tmp_path):
    """What could not be written is not there in part, and the same command goes on when there is room.

    What may be there is a small record of an attempt that ended with its job, but no log without a record.
    """
    folder = ClusterFolder(slurm, tmp_path).faulty("sound", processes=(2,))
    records = tmp_path / "results/faulty/records"
    records.mkdir(parents=True)
    slurm.ask("mount", "-t", "tmpfs", "-o", "size=4k", "none", str(records))

    def written(name: str) -> list[dict]:
        files = slurm.ask("find", str(records), "-type", "f", "-name", name).splitlines()
        return [json.loads(slurm.ask("cat", file)) for file in files]

    try:
        output = folder.run()
        assert output.endswith("exit status 1"), output
        assert "nodeworth: [Errno 28] No space left on device" in output
        assert all(record["interrupted"] for record in written("*"))
        slurm.ask("mount", "-o", "remount,size=4m", str(records))
        folder.run_well()
        (whole,) = [record for record in written("*.json") if not record.get("interrupted")]
        assert whole["seconds"] == 0.02
    finally:
        slurm.ask("umount", str(records))
