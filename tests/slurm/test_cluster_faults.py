"""What goes wrong on a cluster ends in a record and one line, and the rest of the study is done."""

import psutil
import pytest
from cluster_folders import ClusterFolder

pytestmark = [pytest.mark.slow, pytest.mark.faults]


def cancelled(slurm, job):
    slurm.ask("scancel", job)


def requeued(slurm, job):
    slurm.ask("scontrol", "requeue", job)


def without_node(slurm, _job):
    node = slurm.nodes[1]
    slurm.switch_off(node)
    slurm.ask("scontrol", "update", f"nodename={node.name}", "state=down", "reason=off")
    slurm.start_node(node)


def without_controller(slurm, _job):
    slurm.stop_controller()
    slurm.start_controller()


def disturbed(slurm, tmp_path, misfortune):
    """One run of 12 s in a job that meets with a misfortune: what was printed, and the records in order."""
    folder = ClusterFolder(slurm, tmp_path).faulty("slow", processes=(2,))
    study = folder.start()
    note = folder.until(folder.under_way)
    misfortune(slurm, note["job"])
    said = folder.finish(study)
    assert said.endswith("exit status 0"), said
    return said, note["job"], list(folder.records().values())


@pytest.mark.parametrize(
    ("misfortune", "states"),
    [
        (cancelled, {"CANCELLED"}),
        (requeued, {"REQUEUED"}),
        (without_node, {"REQUEUED", "NODE_FAIL"}),
    ],
)
def test_an_interrupted_run_is_an_attempt_that_does_not_count(slurm, tmp_path, misfortune, states):
    said, job, (first, second) = disturbed(slurm, tmp_path, misfortune)
    assert first["cluster"]["state"] in states, said
    assert (first["cluster"]["job"], first["cluster"]["nodes"]) == (job, "emulated-node[1-2]")
    assert first["interrupted"] and not first["valid"] and first["seconds"] is None
    assert (second["attempt"], second["reason"], second["seconds"]) == (2, None, 0.25)
    assert f"job {job}" in first["reason"]


def test_a_controller_that_is_restarted_disturbs_no_run(slurm, tmp_path):
    _, _, (only,) = disturbed(slurm, tmp_path, without_controller)
    assert only["valid"] and only["attempt"] == 1


def test_exit_signal_memory_and_time_limit_of_a_run(slurm, tmp_path):
    folder = ClusterFolder(slurm, tmp_path).faulty(
        "sound", "crashes", "killed", "hungry", "hangs", processes=(2,)
    )
    folder.study.write_text(folder.study.read_text().replace("run_seconds: 40", "run_seconds: 10"))
    said = folder.run()
    assert said.endswith("exit status 0"), said
    found = {record["case"]: record for record in folder.records().values()}
    assert found["faulty"]["valid"]
    assert found["faulty-crashes"]["reason"] == "exit status 1: out of luck"
    assert found["faulty-killed"]["reason"].endswith(": emulated-node1: task 0: Killed")
    assert "memory" in found["faulty-hungry"]["reason"], found["faulty-hungry"]["exit"]
    assert found["faulty-hangs"]["reason"] == "stopped at its time limit of 10 s"
    assert all(record["attempt"] == 1 for record in found.values())
    assert slurm.ask("squeue", "--steps", "--noheader") == ""


def test_a_killed_snakemake_loses_and_doubles_nothing(slurm, tmp_path):
    folder = ClusterFolder(slurm, tmp_path).faulty("slow", blocks=2, processes=(2,))
    study = folder.start()
    folder.until(folder.under_way)
    for process in psutil.Process(study.pid).children(recursive=True):
        process.kill()
    study.wait(timeout=20)
    said = folder.run()
    assert said.endswith("exit status 0"), said
    records = folder.records()
    assert len(records) == 2 and all(record["valid"] for record in records.values())
    assert {record["attempt"] for record in records.values()} == {1}


def test_what_cannot_be_satisfied_is_refused_at_once(slurm, tmp_path):
    folder = ClusterFolder(slurm, tmp_path).faulty("sound")
    folder.site.write_text(folder.site.read_text() + "constraint: nowhere\n")
    said = folder.run(timeout=120)
    assert said.endswith("exit status 1"), said
    (line,) = [line for line in said.splitlines() if line.startswith("nodeworth:")]
    assert "Invalid feature specification" in line and "Traceback" not in said
    assert not folder.records() and slurm.ask("squeue", "--noheader") == ""


def test_too_little_memory_and_an_unknown_partition_are_one_line(slurm, tmp_path):
    folder = ClusterFolder(slurm, tmp_path).faulty("sound")
    for line, told in (
        ("memory_per_node_MB: 100\n", "processes needs 675 MB a node; the cluster's nodes have 100"),
        ("partition: other\n", "partition: other: Slurm has all"),
    ):
        folder.site.write_text(f"joined_by: emulated_gigabit\n{line}")
        said = folder.run(timeout=120)
        lines = [line for line in said.splitlines() if line.startswith("nodeworth:")]
        assert len(lines) == 1 and told in lines[0], said
        assert "Traceback" not in said and said.endswith("exit status 1")


def test_a_read_only_folder_is_one_line(slurm, tmp_path):
    folder = ClusterFolder(slurm, tmp_path).faulty("sound")
    results = tmp_path / "results"
    results.mkdir()
    slurm.ask("mount", "--bind", str(results), str(results))
    slurm.ask("mount", "-o", "remount,bind,ro", str(results))
    try:
        said = folder.run(timeout=120)
    finally:
        slurm.ask("umount", str(results))
    assert "nodeworth: [Errno 30] Read-only file system" in said and "Traceback" not in said
    assert said.endswith("exit status 1")


def test_a_full_disk_costs_no_record(slurm, tmp_path):
    """What could not be written is not there in part, and the same command goes on when there is room."""
    folder = ClusterFolder(slurm, tmp_path).faulty("sound")
    records = tmp_path / "results/faulty/records"
    records.mkdir(parents=True)
    slurm.ask("mount", "-t", "tmpfs", "-o", "size=4k", "none", str(records))
    try:
        said = folder.run()
        assert said.endswith("exit status 1"), said
        assert "nodeworth: [Errno 28] No space left on device" in said
        assert slurm.ask("find", str(records), "-type", "f") == ""
        slurm.ask("mount", "-o", "remount,size=4m", str(records))
        assert folder.run().endswith("exit status 0"), folder.said()
        assert slurm.ask("find", str(records), "-name", "*-attempt-1.json").count("\n") == 1
    finally:
        slurm.ask("umount", str(records))
