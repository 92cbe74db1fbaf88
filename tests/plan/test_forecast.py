"""The demand of a study on a cluster is printed before anything runs, also without a scheduler."""

import re
import sys
from dataclasses import replace
from functools import partial

import pytest
from cluster_plans import SIMULATED, SITE, STUDY, plan_on_cluster
from programs import ran
from refused import refusal
from small_records import record
from study_files import study_file

from workflows.domain import InputError
from workflows.jobs import cluster
from workflows.paths import ROOT
from workflows.plan.announce import announcement, check_cost
from workflows.plan.design import points
from workflows.plan.forecast import forecast, forecast_lines
from workflows.plan.record import Times
from workflows.plan.stopping import core_hours


@pytest.fixture
def plan_of(tmp_path):
    return partial(plan_on_cluster, tmp_path)


def lines(plan):
    printed = forecast_lines(forecast(plan), plan.here.cluster, plan.design.cost.core_hours)
    return [line.replace(f"{plan.here.cluster.file}: ", "") for line in printed]


def test_a_forecast_by_hand(plan_of):
    """4 blocks of 1, 2 (one node) and 4 processes (two nodes of two cores), each in a job of 4 minutes.

    Whole nodes: 4 x 4 min x (2 + 2 + 4 cores) = 128; four steps of 10 min on one core, in one job, are 40.
    """
    seen = forecast(plan_of())
    assert (seen.measuring, seen.preparing, seen.simulating, seen.jobs) == (12, 1, 0, 13)
    assert (seen.largest.nodes, seen.largest.tasks_per_node, seen.cores) == (2, 2, 4)
    assert seen.core_hours == pytest.approx((128 + 40) / 60)
    assert seen.too_long == ()


def test_nodes_of_a_cluster_are_not_made_here(plan_of):
    assert "emulated_gigabit" in {point.interconnect for point in plan_of().design.points}
    assert "network namespaces" not in announcement(plan_of())


def test_cores_of_shared_nodes_are_the_requested_ones(plan_of):
    assert forecast(plan_of("exclusive: false\n")).core_hours == pytest.approx(
        (4 * 4 * (1 + 2 + 4) + 40) / 60
    )


def test_simulated_points_have_jobs_too(plan_of):
    """Traces on 1, 2 and 4 ranks and one job that replays them: 60 min of whole nodes of two cores each."""
    seen = forecast(plan_of(study=SIMULATED))
    assert seen.simulating == 4
    assert seen.core_hours - forecast(plan_of()).core_hours == pytest.approx(4 * 2)


def test_limits_that_are_met_are_named(plan_of):
    site = "minutes: 3\nlimits: {submitted_jobs: 12, cores: 3, core_hours: 1}\n"
    assert lines(plan_of(site)) == [
        "jobs: 16 (12 to measure, 4 to prepare)",
        "largest job: 2 x 2 cores, 728 MB a node, 3 min, counted as 4 cores",
        "core hours of whole nodes: about 0.0069 in runs (only these count against limits.core_hours of the "
        "study); 1.8 if every job took its whole walltime",
        "minutes: 3 is less than 12 of the jobs would ask for (up to 4 min); what does not fit goes on in further jobs",
        "limits.submitted_jobs: 12 of 16 jobs may be submitted at a time: give --jobs 12",
        "limits.core_hours: 1 is less than the 1.8 of all walltimes: jobs may be held or refused before the study is done",
        "limits.cores: 3 is less than the 4 of the largest job, which would never run",
    ]


def test_walltimes_below_the_expected_time_are_no_bound(plan_of):
    """Runs that exceed their jobs continue in further jobs, which the sum of walltimes lacks."""
    plan = plan_of()
    expected = forecast(plan).core_hours + 1
    (line,) = [
        line for line in forecast_lines(forecast(plan), plan.here.cluster, expected) if "core hours" in line
    ]
    assert line.endswith("(only these count against limits.core_hours of the study)")


def test_limits_that_are_not_met_are_not(plan_of):
    assert len(lines(plan_of("limits: {submitted_jobs: 13, cores: 4, core_hours: 3}\n"))) == 3


def on_a_laptop(folder, site, *options):
    """Give a study of a real case, whose programs are not there, to Snakemake where no scheduler is either."""
    (folder / "bin").mkdir()
    for program in ("sh", "bash", "which"):
        (folder / "bin" / program).symlink_to(f"/usr/bin/{program}")
    (folder / "site.yaml").write_text(site)
    study = "\n".join(line for line in STUDY.splitlines() if not line.startswith("cases"))
    study = study_file(folder, f"{study}\ncases: [cavity-4k]\n")
    command = [sys.executable, "-m", "snakemake", "--profile", str(ROOT / "cluster"), *options]
    command += ["--directory", str(folder), "--snakefile", str(ROOT / "Snakefile")]
    command += ["--configfile", str(study), "--config", f"cluster={folder}/site.yaml"]
    done = ran(*command, timeout=300, PATH=f"{folder}/bin")
    assert "Traceback" not in done.stdout + done.stderr
    return done


def test_a_laptop_plans_by_the_cluster_file(tmp_path):
    done = on_a_laptop(tmp_path, f"{SITE}modules: [openfoam/v1912]\n", "-n")
    assert done.returncode == 0, done.stderr
    assert "\njobs: 13 (12 to measure, 1 to prepare)\n" in done.stderr
    assert "planned without slurm" in done.stderr and "left out: case" not in done.stderr


def test_a_laptop_submits_nothing(tmp_path):
    done = on_a_laptop(tmp_path, SITE)
    (line,) = [
        line_of_output
        for line_of_output in done.stderr.splitlines()
        if line_of_output.startswith("nodeworth:")
    ]
    assert line == (
        f"nodeworth: {tmp_path}/site.yaml: scheduler: slurm: sbatch: no such program, so no job can be "
        "submitted here; --dry-run plans the study"
    )
    assert done.returncode == 1


def test_keys_needed_without_slurm_are_named_in_one_line(tmp_path):
    done = on_a_laptop(tmp_path, SITE.replace("nodes: 4\n", ""), "-n")
    message = f"nodeworth: {tmp_path}/site.yaml: nodes: must be given to plan where there is no Slurm to ask"
    assert done.stderr.splitlines()[-1] == message and done.returncode == 1


def test_runs_cost_the_cores_that_their_jobs_occupy(plan_of):
    """Whole nodes of two cores: 2 for 1 and 2 processes, 4 for 4 processes. Requested cores: 1, 2 and 4."""
    whole, shared = plan_of(), plan_of("exclusive: false\n")
    by_count = [(point.processes, cores) for point, cores in whole.design.occupied_cores.items()]
    assert sorted(set(by_count)) == [(1, 2), (2, 2), (4, 4)]
    assert {(point.cores, cores) for point, cores in shared.design.occupied_cores.items()} == {
        *((1, 1), (2, 2), (4, 4)),
    }


def test_one_placement_occupies_the_nodes_of_the_largest_placement_of_its_job(plan_of):
    """2 processes on one node or on two: one job of two whole nodes of two cores."""
    study = STUDY.replace("processes: [1, 2, 4]", "processes: [1, 2]\nprocesses_per_node: [1, 2]")
    for site, cores in (("", {1: 2, 2: 4}), ("exclusive: false\n", {1: 1, 2: 4})):
        occupied = plan_of(site, study=study).design.occupied_cores
        assert {point.processes: each for point, each in occupied.items()} == cores
        assert len({point.nodes for point in occupied}) == 2


def test_core_hours_of_whole_nodes_are_announced_and_limited(plan_of):
    """The limit lies between the core hours of shared nodes and of whole nodes."""
    whole, shared = plan_of(), plan_of("exclusive: false\n")
    assert " core hours of whole nodes in all; " in announcement(whole)
    assert " core hours in all; " in announcement(shared)
    assert re.search(r", 12 runs, about \d+ s of run time and ", announcement(whole))
    hours = whole.design.cost.core_hours
    assert hours > shared.design.cost.core_hours
    between = STUDY.replace(
        "{run_seconds", f"{{core_hours: {(hours + shared.design.cost.core_hours) / 2}, run_seconds"
    )
    check_cost(plan_of("exclusive: false\n", study=between))
    assert refusal(InputError, check_cost, plan_of(study=between)).endswith(
        " core hours of whole nodes; raise it, or ask for less"
    )


def test_runs_so_far_count_the_cores_that_they_occupied():
    """900 s on a node of 64 cores are 16 core hours, whatever the process used of it."""
    run = record(cores=2, times=Times(wall_seconds=900))
    assert core_hours([run], {run.point: 64}) == 16


BETWEEN = STUDY.replace("shared_memory, emulated_gigabit", "ucx_verbs, ucx_tcp")


@pytest.mark.parametrize(
    ("processes", "line"),
    [
        ("[1, 2, 4]", "2 processes fit into one node: interconnects are not compared there"),
        ("[1, 2]", "2 processes fit into one node, so interconnects between nodes cannot be compared"),
        ("[1, 4]", None),
    ],
)
def test_counts_that_stay_in_one_node_are_announced(plan_of, processes, line):
    """There are four nodes of two cores; a single process has nobody to send to."""
    planned = announcement(plan_of(study=BETWEEN.replace("[1, 2, 4]", processes))).splitlines()
    expected = [f"{line} (processes_per_node: [1] spreads them)"] if line else []
    assert [each for each in planned if "fit into one node" in each] == expected


@pytest.mark.parametrize(
    ("nodes", "processes", "remedy"),
    [
        (
            4,
            "[4, 8, 32]",
            "processes_per_node: [2] spreads them, but 32 processes then need more than 4 nodes",
        ),
        (4, "[8, 16]", "processes_per_node: [4] spreads them"),
        (4, "[2, 16]", "processes_per_node: [1] spreads them, but 16 processes then need more than 4 nodes"),
        (2, "[4, 8]", "processes_per_node: [4] spreads 8"),
        (1, "[2, 4]", None),
    ],
)
def test_counts_in_one_node_are_spread_over_the_nodes_that_exist(plan_of, nodes, processes, remedy):
    """Nodes have eight cores. 4 and 8 processes fill at most four nodes with 2 per node; 32 fill 16 nodes."""
    plan = plan_of(study=BETWEEN.replace("[1, 2, 4]", processes), size=(nodes, 8))
    (line,) = [each for each in announcement(plan).splitlines() if "fit into one node" in each]
    assert line.partition(" (")[2] == (f"{remedy})" if remedy else "")


def test_spread_processes_are_compared(plan_of):
    spread = f"{BETWEEN}processes_per_node: [1]\n"
    assert "fit into one node" not in announcement(plan_of(study=spread))


@pytest.mark.parametrize(
    ("blocks", "keys", "line"),
    [
        (1, "[1]", "the study states 1 block; verdicts on all comparisons need 6"),
        (5, "[1]", "the study states 5 blocks; verdicts on all comparisons need 6"),
        (6, "[1]", None),
        (6, "[1, 2]", "the study states 6 blocks; verdicts on all comparisons need 7"),
        (7, "[1, 2]", None),
        (6, "[1, 2]\nexclude: [{oversubscription: 2}]", None),
    ],
)
def test_blocks_that_cannot_decide_all_comparisons_are_announced(plan_of, blocks, keys, line):
    """6 pairs on the same side have p = 2 / 2^6 = 3 %, 5 pairs 6 %. Two comparisons halve the level."""
    study = BETWEEN.replace("blocks: 4", f"blocks: {blocks}").replace("n: [1]", f"n: {keys}")
    planned = announcement(plan_of(study=study)).splitlines()
    assert [each for each in planned if "verdict" in each] == ([line] if line else [])


def test_one_interconnect_needs_verdicts_only_on_its_own_comparisons(plan_of):
    study = BETWEEN.replace("ucx_verbs, ", "").replace("blocks: 4", "blocks: 3")
    assert "verdict" not in announcement(plan_of(study=study))
    oversubscribed = study.replace("n: [1]", "n: [1, 2]")
    assert "verdicts on all comparisons need 5" in announcement(plan_of(study=oversubscribed))


@pytest.mark.parametrize(("nodes", "shown"), [(1, "1 node"), (2, "2 nodes")])
def test_too_few_nodes_are_counted(plan_of, nodes, shown):
    study = f"{BETWEEN}processes_per_node: [1]\n"
    plan = plan_of("", study=study)
    interconnect = replace(plan.asked.interconnects["ucx_verbs"], nodes=nodes)
    (left_out,) = points(plan.asked.study, plan.asked.measured, {"ucx_verbs": interconnect})[1][:1]
    assert left_out.reason == f"ucx_verbs has {shown} here"


def test_a_missing_site_file_is_named_with_the_command_that_writes_it(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "SITE", tmp_path / "site.yaml")
    monkeypatch.setenv("PATH", str(tmp_path))
    line = refusal(InputError, cluster.read_cluster(tmp_path / "site.yaml").nodes_of, None)
    assert line.startswith(
        f"{tmp_path}/site.yaml: no such file; ./run-study --init writes it; it must give nodes, cores_per_node"
    )
