"""Snakemake's executor for Slurm: its questions while the controller is away, and what a job starts."""

import asyncio

import pytest
import snakemake_executor_plugin_slurm as plugin
from snakemake.exceptions import WorkflowError

from workflows.jobs import slurm_executor


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


def test_a_job_starts_no_second_snakemake(monkeypatch):
    original = plugin.Executor.additional_general_args
    monkeypatch.setattr(plugin.Executor, "additional_general_args", original)  # is put back after the test
    slurm_executor.start_directly()
    assert "slurm-jobstep" not in plugin.Executor.additional_general_args(None)
