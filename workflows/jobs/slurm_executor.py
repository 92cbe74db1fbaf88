"""Snakemake's executor for Slurm, adapted: it asks patiently, and a job starts one Snakemake instead of two.

Version 2.8 forgets all its jobs when a question about them has no answer, and then waits for ever. And where
the controller does not say how long it remembers jobs, it asks ``sacct``, which hangs without accounting.

In a job it starts a Snakemake that only starts another one. That takes a second of CPU, and a second more of
waiting when the job is done.
"""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Callable
from typing import Any

import snakemake_executor_plugin_slurm as plugin
from snakemake.exceptions import WorkflowError

LIMIT_SECONDS = 600.0
_AGAIN_SECONDS = 2.0
States = tuple[dict[str, str] | None, float | None]


def ask_patiently(limit_seconds: float = LIMIT_SECONDS) -> None:
    """Replace the executor's questions by patient ones.

    A controller that does not answer for `limit_seconds` ends the study, with one line.
    """
    plugin.query_job_status = _patient(plugin.query_job_status, limit_seconds)
    plugin.get_min_job_age = _remembering(plugin.get_min_job_age, limit_seconds)


def start_directly() -> None:
    """Let the Snakemake that a job starts run the job itself."""
    plugin.Executor.additional_general_args = lambda self: []


def _patient(query: Callable[..., Any], limit_seconds: float) -> Callable[..., Any]:
    @functools.wraps(query)
    async def ask(command: str, logger: Any) -> States:
        deadline = time.monotonic() + limit_seconds
        while (answer := await query(command, logger))[0] is None:
            if time.monotonic() > deadline:
                raise WorkflowError(f"nodeworth: Slurm has not answered for {limit_seconds:g} s: {command}")
            await asyncio.sleep(_AGAIN_SECONDS)
        return answer

    return ask


def _remembering(query: Callable[[], int | None], limit_seconds: float) -> Callable[[], int | None]:
    @functools.cache
    def ask() -> int | None:
        deadline = time.monotonic() + limit_seconds
        while (answer := query()) is None and time.monotonic() < deadline:
            time.sleep(_AGAIN_SECONDS)
        return answer

    return ask
