"""Snakemake's executor for Slurm: its questions while the controller is away, and what a job starts."""

import asyncio
import shlex
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

import pytest
import snakemake_executor_plugin_slurm as plugin
from programs import printed
from snakemake.exceptions import WorkflowError
from snakemake.settings.types import DeploymentMethod

from workflows.jobs import in_job, slurm_executor
from workflows.paths import ROOT


@pytest.fixture
def away(monkeypatch):
    """Let the next so many questions have no answer."""
    left = [0]
    monkeypatch.setattr(slurm_executor, "_AGAIN_SECONDS", 0.001)

    def answered():
        left[0] -= 1
        return left[0] < 0

    async def states(_command, _logger):
        return ({"7": "RUNNING"}, 0.1) if answered() else (None, None)

    monkeypatch.setattr(plugin, "query_job_status", states)
    monkeypatch.setattr(plugin, "get_min_job_age", lambda: 300 if answered() else None)
    return left


def test_what_is_not_answered_is_asked_again(away):
    slurm_executor.ask_patiently()
    away[0] = 3
    assert asyncio.run(plugin.query_job_status("squeue", None)) == ({"7": "RUNNING"}, 0.1)


def test_after_some_minutes_the_study_ends(away):
    slurm_executor.ask_patiently(limit_seconds=0.01)
    away[0] = 10**9
    with pytest.raises(WorkflowError, match=r"nodeworth: Slurm has not answered for 0\.01 s: squeue"):
        asyncio.run(plugin.query_job_status("squeue", None))


def test_how_long_jobs_are_remembered_is_asked_once(away):
    slurm_executor.ask_patiently()
    away[0] = 2
    assert plugin.get_min_job_age() == 300
    away[0] = 10**9
    assert plugin.get_min_job_age() == 300


def test_why_jobs_wait_is_said_once(monkeypatch, capsys):
    """After 2 minutes, job 7 and 8 have; 9 has begun, and nobody says anything of it."""
    clock = iter([0, 60, 121, 300])
    monkeypatch.setattr(slurm_executor, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    monkeypatch.setattr(
        slurm_executor.slurm,
        "ask",
        lambda *_, **__: (
            "7|AssocGrpNodeLimit|PENDING\n8|Priority|PENDING\n10|QOSMaxJobsPerUserLimit|PENDING\n"
        ),
    )

    async def states(_command, _logger):
        return {"7": "PENDING", "8": "PENDING", "9": "RUNNING", "10": "PENDING"}, 0.1

    ask = slurm_executor._telling(states)
    said = []
    for _ in range(4):
        asyncio.run(ask("squeue", None))
        said.append(capsys.readouterr().err.splitlines())
    waited = "nodeworth: waiting for more than 2 min: job"
    few = f"{waited} 10: QOSMaxJobsPerUserLimit, a limit of jobs: they begin as others end"
    told = [
        f"{waited} 7: AssocGrpNodeLimit, a limit that may hold them for ever",
        f"{waited} 8: Priority",
        few,
    ]
    assert said == [[], [], told, []]


def test_nodes_that_are_drained_are_named(monkeypatch):
    reason = "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions"
    drained = [f"n{number}: Kill task failed" for number in range(5)]
    monkeypatch.setattr(slurm_executor.slurm, "ask", lambda *_, **__: "\n".join(drained))
    named = "n0: Kill task failed, n1: Kill task failed, n2: Kill task failed and 2 reasons more"
    told = f"waiting for more than 2 min: job 7 and 1 more: {reason}; out of service: {named}"
    assert slurm_executor._why(reason, ["7", "8"]) == told


@pytest.mark.parametrize("reason", ["JobHeldUser", "launch failed requeued held"])
def test_a_job_that_is_held_says_who_lets_it_go(reason):
    """The second after slurmctld crashed and began a job again that ran."""
    told = f"waiting for more than 2 min: job 7: {reason}, until scontrol release lets them go"
    assert slurm_executor._why(reason, ["7"]) == told


def test_what_sbatch_says_of_a_group_is_not_lost(monkeypatch, capsys):
    """As the executor reports it; Snakemake prints no message of several rules in one job."""
    reported = []
    monkeypatch.setattr(
        plugin.Executor, "_report_job_error_threadsafe", lambda self, info, msg: reported.append(msg)
    )
    slurm_executor.tell_what_is_refused()
    line = "sbatch: error: QOSMaxWallDurationPerJobLimit\nsbatch: error: Batch job submission failed"
    message = f"SLURM sbatch failed. The error message was '{line}'.\n    sbatch call:\n        sbatch\n"
    for _ in range(2):
        plugin.Executor._report_job_error_threadsafe(None, None, message)
    told = (
        "nodeworth: sbatch: error: QOSMaxWallDurationPerJobLimit sbatch: error: Batch job submission failed\n"
    )
    assert capsys.readouterr().err == told and reported == [message] * 2


def test_a_job_beyond_the_limit_of_submitted_ones_is_submitted_again(monkeypatch, capsys):
    monkeypatch.setattr(slurm_executor, "SUBMITTING_SECONDS", 0)
    monkeypatch.setattr(plugin.Executor, "_report_job_error_threadsafe", None)
    slurm_executor.tell_what_is_refused()
    again = []
    executor = SimpleNamespace(
        run_job="run", _job_submission_executor=SimpleNamespace(submit=lambda *job: again.append(job))
    )
    message = "SLURM sbatch failed. The error message was 'sbatch: error: QOSMaxSubmitJobPerUserLimit'.\n"
    for _ in range(2):
        plugin.Executor._report_job_error_threadsafe(executor, SimpleNamespace(job="one"), message)
    assert again == [("run", "one")] * 2
    told = "nodeworth: QOSMaxSubmitJobPerUserLimit: further jobs are submitted as others end\n"
    assert capsys.readouterr().err == told


def test_a_job_starts_one_snakemake_without_pandas_that_can_still_report(monkeypatch):
    """What it imports for a report of a whole study is a third of its start; who asks for that report gets it."""
    monkeypatch.setattr(plugin.Executor, "get_python_executable", lambda self: sys.executable)
    monkeypatch.setattr(plugin.Executor, "additional_general_args", plugin.Executor.additional_general_args)
    slurm_executor.start_directly()  # what it replaces is put back after the test
    assert "slurm-jobstep" not in plugin.Executor.additional_general_args(None)
    started = shlex.split(plugin.Executor.get_python_executable(None))
    assert printed(*started, "-m", "snakemake", "--version").strip() == version("snakemake")
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); from workflows.jobs.in_job import spare_pandas; spare_pandas()\n"
        "import snakemake.cli, snakemake_executor_plugin_slurm as plugin; print('pandas' in sys.modules)\n"
        "try: plugin.create_efficiency_report()\n"
        "except TypeError as error: print(error)"
    )
    said = printed(sys.executable, "-c", script, str(ROOT))
    assert said.startswith("False\ncreate_efficiency_report() missing 4 required")


def imported(cwd, *options):
    started = [sys.executable, "-X", "importtime", in_job.__file__, "-m", "snakemake", *options]
    return subprocess.run(started, cwd=cwd, capture_output=True, text=True, check=True).stderr


def test_what_is_read_in_each_job_imports_no_pandas():
    told = imported(ROOT, "--configfile", "config/studies/smoke.yaml", "--dry-run", "--quiet", "all")
    assert "workflows.plan.plan" in told and "pandas" not in told


@pytest.mark.slow
def test_a_result_that_is_there_imports_no_pandas(tmp_path):
    rule = "rule made:\n    output: 'made'\n    params: size=4\n    shell: 'echo {params.size} > {output}'\n"
    (tmp_path / "Snakefile").write_text(rule)
    imported(tmp_path, "--cores", "1")
    assert "pandas" not in imported(tmp_path, "--dry-run")
    (tmp_path / "Snakefile").write_text(rule.replace("4", "5"))
    assert "pandas" not in imported(tmp_path, "--cores", "1")
    assert (tmp_path / "made").read_text() == "5\n"  # Snakemake still sees that a parameter changed


@pytest.mark.parametrize(
    ("rule", "methods", "directly"),
    [
        ("measure_batch", {DeploymentMethod.ENV_MODULES}, True),
        ("measure_batch", {DeploymentMethod.CONDA}, False),
        ("measure_batch", {DeploymentMethod.APPTAINER}, False),
        ("capture", set(), False),
    ],
)
def test_a_job_that_measures_needs_no_snakemake_where_it_brings_no_software(
    monkeypatch, rule, methods, directly
):
    monkeypatch.setattr(plugin.Executor, "format_job_exec", lambda *_: "by Snakemake")
    slurm_executor.measure_directly("measure_batch", "ours", Path("results/x/measured/request.json"))
    executor = SimpleNamespace(
        workflow=SimpleNamespace(
            deployment_settings=SimpleNamespace(deployment_method=methods),
            execution_settings=SimpleNamespace(latency_wait=30),
        ),
        get_python_executable=lambda: "python",
        get_job_exec_suffix=lambda _: "times",
    )
    batch = SimpleNamespace(batch="duct/processes-4/blocks-1-1")
    job = SimpleNamespace(is_group=lambda: False, rule=SimpleNamespace(name=rule), wildcards=batch)
    ours = "python -m ours results/x/measured/request.json duct/processes-4/blocks-1-1 30 && times"
    assert plugin.Executor.format_job_exec(executor, job) == (ours if directly else "by Snakemake")


def test_what_measures_in_a_job_imports_neither_snakemake_nor_pandas(tmp_path):
    started = [sys.executable, "-X", "importtime", in_job.__file__, "-m", "workflows.measure.batch"]
    done = subprocess.run([*started, "no-file", "batch", "0"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1 and "nodeworth: [Errno 2] No such file or directory: 'no-file'" in done.stderr
    assert "workflows.plan.plan" in done.stderr
    assert not [name for name in ("snakemake", "pandas", "numpy") if f" {name}\n" in done.stderr]


def test_what_is_submitted_is_noted(monkeypatch, tmp_path):
    reported, file = [], tmp_path / "measured/submitted.txt"
    monkeypatch.setattr(
        plugin.Executor, "_report_job_submission_threadsafe", lambda self, info: reported.append(info)
    )
    slurm_executor.note_submitted(file)
    for number in "78":
        plugin.Executor._report_job_submission_threadsafe(None, SimpleNamespace(external_jobid=number))
    assert file.read_text() == "7\n8\n" and len(reported) == 2
