"""A study divided into jobs, and their requests."""

import os
import sys
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import pytest
from cluster_plans import SIMULATED, STUDY, plan_on_cluster
from programs import printed, ran, write_program
from snakemake_executor_plugin_slurm.submit_string import get_submit_command
from study_files import study_file

from workflows.domain import InputError
from workflows.plan.jobs import (
    GROUPED,
    batches,
    preparing_group,
    preparing_resources,
    reference_minutes,
    reference_resources,
    request_of,
    whole_node,
)
from workflows.plan.plan import make_plan


@pytest.fixture
def plan_of(tmp_path):
    return partial(plan_on_cluster, tmp_path)


def test_a_job_is_a_block_of_compared_points(plan_of):
    cut = batches(plan_of())
    assert len(cut) == 3 * 4  # 1, 2 and 4 processes
    batch = cut["faulty/processes-2/oversubscription-1/blocks-3-3"]
    assert {repetition.point.interconnect for repetition in batch.repetitions} == {
        "shared_memory"
    }  # 2 fit on a node
    assert {repetition.block for repetition in batch.repetitions} == {3}
    four = cut["faulty/processes-4/oversubscription-1/blocks-3-3"]
    assert [repetition.point.interconnect for repetition in four.repetitions] == ["emulated_gigabit"]


def test_several_blocks_in_a_job(plan_of):
    cut = batches(plan_of("blocks_per_job: 3\n"))
    assert len(cut) == 3 * 2
    for blocks, numbers in (("1-3", [1, 2, 3]), ("4-6", [4])):
        batch = cut[f"faulty/processes-1/oversubscription-1/blocks-{blocks}"]
        assert [repetition.block for repetition in batch.repetitions] == numbers


def test_every_repetition_is_in_one_job(plan_of):
    plan = plan_of("blocks_per_job: 3\npartitions: {shared_memory: fat}\n")
    jobs = batches(plan)
    cut = [repetition for batch in jobs.values() for repetition in batch.repetitions]
    assert sorted(map(repr, cut)) == sorted(map(repr, plan.design.repetitions))
    for name in jobs:  # which the wildcard of the rule must be
        assert str(plan.paths.batch(name)) == f"{plan.paths.measured}/{name}.txt"


def test_two_partitions_share_no_block(plan_of):
    """Both interconnects run 2 processes on one node: in one partition they are paired, in two they are not."""
    study = STUDY.replace("oversubscription:", "processes_per_node: [1, 2]\noversubscription:")
    both, apart = {"shared_memory", "emulated_gigabit"}, {"shared_memory"}
    for site, paired in (("", both), ("partitions: {shared_memory: fat}\n", apart)):
        first = (
            repetition for repetition in plan_of(site, study).design.repetitions if repetition.block == 1
        )
        (run,) = (repetition for repetition in first if repetition.point.interconnect == "shared_memory")
        assert {name.split("/")[0] for name in run.companions} == paired


def test_two_sorts_of_nodes_share_no_job_and_no_block(plan_of):
    """The reservation is of all jobs, what prepares among them; the serial run has the constraint of all."""
    study = STUDY.replace("oversubscription:", "processes_per_node: [1, 2]\noversubscription:")
    plan = plan_of("constraint: old&up\nconstraints: {shared_memory: ib}\nreservation: night\n", study)
    jobs = batches(plan)
    resources_of_jobs = {
        name.split("/")[-2]: plan.here.cluster.scheduler.resources(
            plan.here.cluster, request_of(plan, batch), batch.selection
        )
        for name, batch in jobs.items()
        if "/processes-2/" in name
    }
    assert {name: resources["constraint"] for name, resources in resources_of_jobs.items()} == {
        "ib": "ib",
        "old_up": "old&up",
    }
    assert all(
        "--reservation=night --exclusive" in options["slurm_extra"] for options in resources_of_jobs.values()
    )
    assert jobs["faulty/processes-1/oversubscription-1/old_up/blocks-1-1"].selection.constraint == "old&up"
    assert preparing_resources(plan.here.cluster) == {
        "constraint": "old&up",
        "slurm_extra": "--reservation=night",
    }
    point = plan.design.points[0]
    moved = plan_of("constraint: old&up\nreservation: night\n", study).design.inputs(point)
    assert moved == plan_of("constraint: old&up\n", study).design.inputs(point) != plan.design.inputs(point)


def test_a_request_by_hand(plan_of):
    """4 processes on 2 nodes of 2: 1.5 x 10 MB / 2 + 2 x 60 + 600 = 727.5 MB; (100 + 20) s + 2 min = 4 min."""
    plan = plan_of()
    batch = batches(plan)["faulty/processes-4/oversubscription-1/blocks-1-1"]
    request = request_of(plan, batch)
    assert (request.nodes, request.tasks_per_node, request.memory_MB, request.minutes) == (2, 2, 728, 4)


def test_a_walltime_has_a_limit(plan_of):
    plan = plan_of("minutes: 3\n")
    assert request_of(plan, batches(plan)["faulty/processes-1/oversubscription-1/blocks-1-1"]).minutes == 3


def test_memory_that_no_node_has_is_one_line(plan_of):
    plan = plan_of()
    cluster = replace(plan.here.cluster, memory_per_node_MB=100)
    small = replace(plan, design=replace(plan.design, here=replace(plan.here, cluster=cluster)))
    with pytest.raises(InputError, match=r"faulty on 1 process needs 675 MB a node; .* have 100"):
        batches(small)


def test_a_study_that_adds_blocks_needs_an_allocation(plan_of):
    with pytest.raises(InputError, match=r"until: jobs of single blocks cannot add blocks"):
        batches(
            plan_of(
                study=f"{STUDY.replace('blocks: 4', 'blocks: 6')}until: {{interval_percent: 5, max_blocks: 9}}\n"
            )
        )


def test_records_of_a_cluster_differ_from_records_of_one_machine(plan_of, tmp_path):
    here = make_plan(tmp_path / "cut.yaml") if plan_of() else None
    on_cluster = plan_of()
    point = on_cluster.design.points[0]
    assert on_cluster.design.inputs(point) != here.design.inputs(point)
    assert on_cluster.design.inputs(point) != plan_of("launcher: mpirun\n").design.inputs(point)
    assert on_cluster.design.inputs(point) == plan_of("minutes: 9\naccount: mine\n").design.inputs(point)


def test_other_modules_are_measured_again(plan_of):
    point = plan_of().design.points[0]
    first, other = (plan_of(f"modules: [openmpi/{version}]\n").design.inputs(point) for version in "45")
    assert first != other


def test_the_simulated_part_has_nodes_for_itself(plan_of):
    """Of 4000 MB, 0.9 are asked for."""
    assert whole_node(plan_of("minutes: 9\naccount: mine\n", SIMULATED)) == {
        "nodes": 1, "tasks": 2, "cpus_per_task": 1, "mem_mb": 3600, "runtime": 9, "mpi": "srun",
        "slurm_account": "mine", "slurm_extra": "--ntasks-per-node=2 --exclusive",
    }  # fmt: skip
    assert whole_node(plan_of("scheduler: pbs\nlauncher: mpirun\n", SIMULATED)) == {
        "nodes": "1", "tasks": "2", "tasks_per_node": "2", "mem_mb": 3600, "runtime": 60
    }  # fmt: skip
    assert whole_node(plan_of("exclusive: false\n", SIMULATED))["slurm_extra"] == "--ntasks-per-node=2"
    assert whole_node(plan_of()) == {}


def test_a_job_asks_for_a_core_a_task_however_many_cores_the_machine_has_that_submits(plan_of):
    """Its rule has as many threads as that machine has cores."""

    class Resources(dict):
        __getattr__ = dict.__getitem__

    job = SimpleNamespace(threads=64, resources=Resources(whole_node(plan_of("", SIMULATED))))
    fields = dict.fromkeys(
        ("run_uuid", "slurm_logfile", "comment_str", "account", "partition", "workdir"), "x"
    )
    assert " --ntasks=2 --cpus-per-task=1 --ntasks-per-node=2 " in get_submit_command(job, fields)


def test_a_slurm_that_knows_no_nodes_is_one_line(tmp_path):
    """It is asked for them when the rules of the simulated part are read."""
    (tmp_path / "bin").mkdir()
    for program, output in {"sinfo": "batch|2|2|1:2:1|4000|(null)", "squeue": "", "sbatch": ""}.items():
        write_program(tmp_path / "bin" / program, f"#!/bin/sh\necho '{output}'\n")
    (tmp_path / "site.yaml").write_text("launcher: mpirun\n")
    study = study_file(
        tmp_path,
        "name: simulated\ncases: [cavity-4k]\ninterconnects: [gigabit_ethernet]\nprocesses: [1, 2]\nblocks: 1\n",
    )
    command = [sys.executable, "-m", "snakemake", "-n", "--directory", str(tmp_path)]
    command += ["--configfile", str(study), "--config", f"cluster={tmp_path}/site.yaml"]
    done = ran(*command, timeout=300, PATH=f"{tmp_path}/bin:{os.environ['PATH']}")
    message = f"nodeworth: {tmp_path}/site.yaml: partition: no default: Slurm has batch"
    assert done.stderr.splitlines()[-1] == message and "Traceback" not in done.stderr


def test_many_process_counts_are_not_prepared_in_one_job(plan_of):
    for most, group in ((GROUPED, "prepare"), (GROUPED + 1, None)):
        counts = str(list(range(1, most + 1)))
        assert preparing_group(plan_of("minutes: 999\n", STUDY.replace("[1, 2, 4]", counts))) == group


def test_preparation_jobs_respect_the_walltime_limit(plan_of):
    """Mesh, answer, and decompositions for 2 and 4 processes, 10 minutes each."""
    assert [preparing_group(plan_of(f"minutes: {minutes}\n")) for minutes in (40, 39)] == ["prepare", None]
    for site, resources in (
        ("minutes: 39\naccount: me\n", {"slurm_account": "me"}),  # Snakemake's profile says 10
        ("minutes: 8\n", {"runtime": 8}),
        ("minutes: 8\nscheduler: pbs\nlauncher: mpirun\n", {"runtime": 8}),
    ):
        assert preparing_resources(plan_of(site).here.cluster) == resources
    assert preparing_resources(None) == {}


@pytest.mark.parametrize(
    ("serial_seconds", "run_seconds", "site_minutes", "minutes"),
    [
        (10, 9000, 60, 10),
        (400, 9000, 60, 22),
        (None, 1800, 60, 32),
        (9000, 1800, 60, 32),
        (9000, 9000, 60, 60),
        (400, 9000, 8, 8),
    ],
)
def test_the_serial_run_gets_the_walltime_that_the_case_needs(
    plan_of, serial_seconds, run_seconds, site_minutes, minutes
):
    """3 x 400 s + 2 min = 22 min; a limit of 1800 s + 2 min = 32 min. None: the time is a guess."""
    study = STUDY.replace("run_seconds: 100", f"run_seconds: {run_seconds}")
    plan = plan_of(f"minutes: {site_minutes}\n", study)
    name = plan.design.points[0].case
    case = replace(plan.asked.cases[name], serial_seconds=serial_seconds or 1, trial_processes=2)
    untimed = frozenset() if serial_seconds else {name}
    asked = replace(plan.asked, measured={name: case}, replayed={}, untimed=untimed)
    plan = replace(plan, design=replace(plan.design, asked=asked))
    assert reference_minutes(plan) == {name: minutes}
    runtime = reference_resources(plan).get("runtime", 10)
    assert minutes == (runtime(SimpleNamespace(case=name)) if callable(runtime) else runtime)
    assert preparing_group(plan) == (None if 30 + minutes > site_minutes else "prepare")


def test_a_job_that_measures_loads_nothing_of_the_analysis():
    """Each job starts this program once, and what takes a second to import is for other programs."""
    heavy = "{'numpy', 'pandas', 'pandera', 'scipy', 'matplotlib'}"
    code = f"import sys, workflows.measure.measure; print(sorted({heavy} & set(sys.modules)))"
    assert printed(sys.executable, "-c", code) == "[]\n"
