"""Snakemake whose executor asks Slurm every second, so that tests are short; for a site it waits longer each time."""

from snakemake.cli import main
from snakemake_executor_plugin_slurm import Executor

Executor.next_seconds_between_status_checks = property(lambda self: 1, lambda self, seconds: None)

if __name__ == "__main__":
    main()
