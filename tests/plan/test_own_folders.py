"""Files of a study belong to its user: no other user can write there, and foreign links are not followed."""

import os

import pytest
from cluster_plans import plan_on_cluster

from workflows.domain import InputError
from workflows.jobs.scheduler import NodeSelection
from workflows.measure.allocation import own_folder
from workflows.plan.jobs import batches, check_requests, request_of
from workflows.plan.machine import hold_study, keep_to_owner, only_one


@pytest.fixture
def open_umask():
    before = os.umask(0o000)
    yield
    os.umask(before)


def test_nobody_else_may_write_to_results(tmp_path, open_umask):
    keep_to_owner()
    os.close(hold_study(tmp_path / "results/mine"))
    made = [tmp_path / "results", *(tmp_path / "results").rglob("*")]
    assert len(made) == 3 and not any(path.stat().st_mode & 0o022 for path in made)


def test_a_stricter_umask_is_kept(tmp_path, open_umask):
    os.umask(0o077)
    keep_to_owner()
    (tmp_path / "file").touch()
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o600


def test_results_that_all_may_write_to_are_refused(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine").chmod(0o777)
    with pytest.raises(InputError, match=r"mine: all users may write to it; first: chmod o-w"):
        hold_study(tmp_path / "mine")


def test_a_scratch_folder_is_made_and_taken_again(tmp_path):
    for _ in range(2):  # a job that was put back into the queue
        own_folder(tmp_path / "shared/job-1")
        assert (tmp_path / "shared/job-1").stat().st_mode & 0o777 == 0o700


def test_a_link_in_the_place_of_scratch_is_not_followed(tmp_path):
    (tmp_path / "victim").mkdir()
    (tmp_path / "job-1").symlink_to(tmp_path / "victim")
    with pytest.raises(InputError, match="job-1: is a link, no folder, or somebody else's"):
        own_folder(tmp_path / "job-1")


def test_a_folder_of_another_user_is_refused(tmp_path):
    (tmp_path / "job-1").mkdir()
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder away")
    os.chown(tmp_path / "job-1", 65534, 65534)
    with pytest.raises(InputError, match="somebody else's"):
        own_folder(tmp_path / "job-1")


def test_a_link_in_the_place_of_a_lock_is_not_followed(tmp_path):
    (tmp_path / "lock").symlink_to(tmp_path / "victim")
    with pytest.raises(OSError), only_one(tmp_path / "lock", "another", print):
        pass
    assert not (tmp_path / "victim").exists()


def test_options_of_sbatch_are_quoted_for_the_shell(tmp_path):
    plan = plan_on_cluster(tmp_path, "extra: \"--switches=1 --comment='a b' ; touch x\"\n")
    job = request_of(plan, batches(plan)["faulty/processes-1/oversubscription-1/blocks-1-1"])
    extra = plan.here.cluster.scheduler.resources(plan.here.cluster, job, NodeSelection())["slurm_extra"]
    assert extra == "--ntasks-per-node=1 --exclusive --switches=1 '--comment=a b' ';' touch x"


def test_options_that_cannot_be_read_are_one_line(tmp_path):
    with pytest.raises(InputError, match=r"site.yaml: extra: \"--comment='a\": No closing quotation"):
        plan_on_cluster(tmp_path, 'extra: "--comment=\'a"\n')


@pytest.mark.parametrize(
    "line",
    [
        'modules: ["x; touch y"]',
        "container: $(touch y)",
        "partition: ../x",
        "account: -x",
        "qos: a b",
        "reservation: $(x)",
    ],
)
def test_names_that_a_shell_would_read_are_refused(line, tmp_path):
    with pytest.raises(InputError, match=rf"site.yaml: {line.partition(':')[0]}"):
        plan_on_cluster(tmp_path, f"{line}\n")


def test_a_path_that_snakemake_cannot_quote_is_refused(tmp_path):
    (folder := tmp_path / "it's").mkdir()
    with pytest.raises(InputError, match=r"it's.*: a path with ' in it cannot be given to jobs"):
        check_requests(plan_on_cluster(folder))
