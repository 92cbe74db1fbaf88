"""A real Grid Engine: states of jobs, and a study whose jobs are deleted or lose their host."""

import re
import sys
import time

import pytest
from cluster_folders import ClusterFolder
from disturbed import disturbed
from needs import GRID_ENGINE
from study_files import timed_case

from tests.slurm.small_cell import small_cell
from workflows.paths import ROOT

# Alone: on a full machine a host is late, and is not heard of any more after a time.
pytestmark = [pytest.mark.slow, pytest.mark.faults, pytest.mark.needs(*GRID_ENGINE)]
SITE = (
    "scheduler: sge\nlauncher: mpirun\nnodes: 4\ncores_per_node: 1\nmemory_per_node_MB: 2000\n"
    "joined_by: emulated_gigabit\n"
)
LATE = """#!/bin/sh
begun=FOLDER/begun-$OMPI_COMM_WORLD_RANK
[ -e "$begun" ] || { : >"$begun" && sleep 600; }
[ "$OMPI_COMM_WORLD_RANK" != 0 ] || echo took 0.02 s
"""


class CellFolder(ClusterFolder):
    """A study and the files of Grid Engine that it runs with."""

    profile = "cluster/sge"
    impatience = ("--seconds-between-status-checks", "1")

    def __init__(self, cell, folder):
        super().__init__(cell, folder)
        self.site.write_text(SITE)
        (folder / "cluster").symlink_to(ROOT / "cluster")

    def queue(self):
        return self.slurm.ask("qstat", "-f")


@pytest.fixture(scope="module")
def cell():
    with small_cell(nodes=7) as running:
        yield running


@pytest.fixture(scope="module", autouse=True)
def out_of_time(cell, tmp_path_factory):
    """A study whose first job is out of time; while it waits for that, the other tests go on.

    A minute is the shortest walltime of the profile; the first run of its program takes longer.
    """
    path = tmp_path_factory.mktemp("late")
    program = path / "late"
    program.write_text(LATE.replace("FOLDER", str(path)))
    program.chmod(0o755)
    timed_case(path / "cases", "late", str(program))
    folder = CellFolder(cell, path).faulty("sound", processes=(2,))
    text = folder.study.read_text().replace(str(ROOT / "tests/cases"), str(path / "cases"))
    folder.study.write_text(text.replace("[faulty]", "[late]"))
    study = folder.start("--set-resources", "measure_batch:runtime=1")
    yield folder, study
    study.kill()


def master_of(cell, number):
    """Give the node on which a job's script runs."""
    rows = (line.split() for line in cell.ask("qstat").splitlines())
    name = next(row[7] for row in rows if row and row[0] == number).partition("@")[2]
    return next(node for node in cell.nodes if node.name == name)


def put_back(folder, note):
    """Put a job back into the queue, on hold until its processes have ended.

    Grid Engine can lose a job that it starts again while a node still removes the job's old files.
    """
    cell, ranks = folder.slurm, folder.ranks(note)
    cell.ask("qhold", note["job"])
    cell.ask("qmod", "-rj", note["job"])
    folder.until(lambda: all(cell.run("kill", "-0", rank).returncode for rank in ranks))
    time.sleep(5)  # a node reports the end of a job's tasks within a few seconds
    cell.ask("qrls", note["job"])


def test_deleted_jobs_and_lost_hosts_are_attempts_that_do_not_count(cell, tmp_path):
    folder = CellFolder(cell, tmp_path).faulty("slow", blocks=2, processes=(2,))
    study = folder.start()
    first, second = folder.until(lambda: folder.held(2))
    off = master_of(cell, first["job"])
    cell.switch_off(off)
    cell.ask("qdel", second["job"])
    output = folder.went_well(study)  # two nodes that share a core have too slow a link
    cell.start_node(off)
    records = folder.records().values()
    for note, state in ((first, "NODE_FAIL"), (second, "CANCELLED")):
        mine = [record for record in records if record["block"] == note["planned"]["block"]]
        assert [record["cluster"]["state"] for record in mine] == [state, "RUNNING"], output
        assert [record["seconds"] for record in mine] == [None, 0.02]
        assert mine[1]["valid"] or disturbed(mine[1]["reason"]), mine[1]["reason"]
        assert re.search(rf"attempt-1\.json: job {note['job']} ended as {state} on emulated-node", output)
    assert not list(tmp_path.glob("results/*/scratch/*"))


def test_a_job_that_is_put_back_into_the_queue_makes_a_further_attempt(cell, tmp_path):
    folder = CellFolder(cell, tmp_path).faulty("slow", processes=(2,))
    study = folder.start()
    (note,) = folder.until(folder.under_way)
    put_back(folder, note)
    output = folder.went_well(study)
    first, last = folder.records().values()
    assert (first["cluster"]["state"], first["interrupted"], first["seconds"]) == ("REQUEUED", True, None), (
        output
    )
    assert last["seconds"] == 0.02 and last["cluster"]["job"] == note["job"], output
    assert f"job {note['job']} was put back into the queue (restart 1) on emulated-node" in output
    assert not list(tmp_path.glob("results/*/scratch/*"))


def test_a_job_that_is_out_of_time_is_an_attempt_that_does_not_count(out_of_time):
    folder, study = out_of_time
    output = folder.went_well(study)
    first, last = folder.records().values()
    assert [record["cluster"]["state"] for record in (first, last)] == ["TIMEOUT", "RUNNING"], output
    assert [record["seconds"] for record in (first, last)] == [None, 0.02], output
    number = first["cluster"]["job"]
    assert first["interrupted"] and number != last["cluster"]["job"]
    assert f"attempt-1.json: job {number} ended as TIMEOUT on emulated-node" in output
    assert not list(folder.folder.glob("results/*/scratch/*"))


def test_states_of_jobs(cell, tmp_path):
    def submit(*options):
        return cell.ask("qsub", "-terse", "-j", "y", "-o", "/dev/null", *options)

    def status(number):
        script = str(ROOT / "cluster/status.sh")
        return cell.run("env", "-C", str(tmp_path), script, "sge", number).stdout.strip()

    def state(number):
        code = f"from workflows.jobs import SCHEDULERS; job = SCHEDULERS['sge'].job('{number}')"
        code += "; print(job.state, job.reason or '')"
        return cell.run(sys.executable, "-c", code).stdout.strip()

    def ends_as(number, expected):
        folder.until(lambda: state(number).startswith(expected), 60)

    folder = CellFolder(cell, tmp_path)
    (tmp_path / "out").touch()
    deleted = submit("-b", "y", "sleep", "300")
    waiting = submit("-b", "y", "-hold_jid", deleted, "true")
    ends = {
        submit("-b", "y", "true"): "COMPLETED",
        submit("-b", "y", "sh", "-c", "'exit 3'"): "FAILED exit status 3",
    }
    wrong = cell.ask("qsub", "-terse", "-j", "y", "-o", "/nonexistent/log", "-b", "y", "true")
    folder.until(lambda: "r" in cell.state(deleted), 60)
    assert [status(number) for number in (deleted, waiting)] == ["running"] * 2
    limited = submit("-b", "y", "-l", "h_rt=0:0:2", "sleep", "300")
    cell.ask("qdel", deleted)
    for number, expected in {**ends, limited: "TIMEOUT", deleted: "CANCELLED"}.items():
        ends_as(number, expected)
        assert status(number) == "failed"  # it has no exit status
    ends_as(wrong, "FAILED")
    assert "/nonexistent/log" in state(wrong)
    assert status(wrong) == "failed"
    log = (tmp_path / f".snakemake/cluster_logs/{wrong}.log").read_text()
    assert log.startswith(f"nodeworth: job {wrong} has no exit status: FAILED") and "/nonexistent/log" in log
    folder.until(lambda: not cell.state(wrong), 60)  # a job in error is deleted, and is not run later
