"""Snakemake whose executor asks Slurm every second and soon says what waits; for a site it waits longer."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))

from snakemake.cli import main
from snakemake_executor_plugin_slurm import Executor

from workflows.jobs import slurm_executor

slurm_executor.WAITING_SECONDS = 5
slurm_executor.SUBMITTING_SECONDS = 1
Executor.next_seconds_between_status_checks = property(lambda self: 1, lambda self, seconds: None)

if __name__ == "__main__":
    main()
