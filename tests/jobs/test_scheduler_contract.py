"""Contract of every scheduler, as docs/extending/scheduler.md describes it."""

import os

import pytest
from programs import write_program

from workflows.domain import InputError
from workflows.inputs import read_yaml
from workflows.jobs import SCHEDULERS
from workflows.jobs.cluster import read_cluster
from workflows.jobs.scheduler import JobRequest, NodeSelection, Scheduler
from workflows.paths import ROOT

pytestmark = pytest.mark.parametrize("scheduler", SCHEDULERS.values(), ids=SCHEDULERS)
REQUEST = JobRequest(nodes=1, tasks_per_node=4, memory_MB=900, minutes=7)


@pytest.fixture
def cluster(scheduler):
    return read_cluster(ROOT / scheduler.folder / "site.yaml")


@pytest.fixture
def commands(tmp_path, monkeypatch):
    """Make every command of every scheduler fail like one whose server is away."""
    for name in ("sinfo", "scontrol", "squeue", "sacct", "qstat", "qacct", "bjobs", "flux"):
        write_program(tmp_path / name, "#!/bin/sh\necho 'connection to the server failed' >&2\nexit 1\n")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")


def test_it_is_registered_under_its_name_and_has_its_words(scheduler):
    assert isinstance(scheduler, Scheduler) and SCHEDULERS[scheduler.name] is scheduler
    assert scheduler.title and scheduler.submit_program and scheduler.job_variable
    assert scheduler.job_prefixes and scheduler.own_launcher in (None, "srun")


def test_its_folder_holds_a_profile_that_names_its_site_file(scheduler, cluster):
    profile = read_yaml(ROOT / scheduler.folder / "config.yaml")
    assert profile["config"]["cluster"] == f"{scheduler.folder}/site.yaml"
    assert cluster.scheduler is scheduler
    assert scheduler.describes_nodes or cluster.nodes_of(None).number >= 1


def test_its_profile_names_the_resources_of_its_jobs(scheduler, cluster):
    resources = scheduler.resources(cluster, REQUEST, NodeSelection())
    profile = read_yaml(ROOT / scheduler.folder / "config.yaml")
    command = profile.get("cluster-generic-submit-cmd", "")
    assert {"tasks", "mem_mb", "runtime"} <= set(resources)
    assert (str(resources["tasks"]), resources["mem_mb"]) == ("4", 900)
    assert resources["runtime"] == scheduler.runtime(7)
    for word in command.split("{resources.")[1:]:
        assert word.split("}")[0] in resources


def test_outside_of_a_job_there_is_no_job(scheduler, monkeypatch):
    monkeypatch.delenv(scheduler.job_variable, raising=False)
    assert scheduler.this_job() is None


def test_a_scheduler_that_does_not_answer_ends_no_job(scheduler, commands):
    with pytest.raises(InputError, match="connection to the server failed"):
        scheduler.job("7")
    assert list(scheduler.waiting_reasons(["7"])) == []


def test_a_scheduler_that_is_not_there_ends_no_job(scheduler, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv(scheduler.job_variable, raising=False)
    assert not scheduler.is_here
    with pytest.raises(InputError):
        scheduler.job("7")


def test_its_module_is_the_only_one_that_names_it(scheduler):
    """The registry names the class, and the command for one allocation needs Slurm."""
    allowed = {f"workflows/jobs/{scheduler.name}.py", "workflows/jobs/__init__.py"}
    modules = (path for path in (ROOT / "workflows").rglob("*.py") if "plugins" not in path.parts)
    naming = {str(path.relative_to(ROOT)) for path in modules if f'"{scheduler.name}"' in path.read_text()}
    if scheduler.name == "slurm":  # the default of a node in a test, and the job of cluster/allocation.sh
        allowed |= {"workflows/launch/cluster_launch.py", "workflows/measure/in_allocation.py"}
        allowed |= {"workflows/results/facts.py"}  # a key of facts.json
    assert naming <= allowed
