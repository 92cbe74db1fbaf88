"""Schedulers of clusters, one module each.

A new scheduler is a module in this folder, an entry in `SCHEDULERS` and the folder ``cluster/<name>`` with
its Snakemake profile: see docs/extending/scheduler.md.
"""

from __future__ import annotations

from collections.abc import Mapping

from workflows.jobs.flux import Flux
from workflows.jobs.lsf import LSF
from workflows.jobs.pbs import PBS
from workflows.jobs.scheduler import Scheduler
from workflows.jobs.sge import GridEngine
from workflows.jobs.slurm import Slurm

SCHEDULERS: Mapping[str, Scheduler] = {
    scheduler.name: scheduler for scheduler in (Slurm(), PBS(), LSF(), GridEngine(), Flux())
}
"""Every scheduler, by its name in site files."""
