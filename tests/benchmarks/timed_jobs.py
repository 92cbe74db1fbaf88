"""Snakemake whose jobs on Slurm print at their end what CPU time they took; it asks for them every second."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))

from snakemake.cli import main
from snakemake_executor_plugin_slurm import Executor

Executor.get_job_exec_suffix = lambda self, job: "times"
Executor.next_seconds_between_status_checks = property(lambda self: 1, lambda self, seconds: None)

if __name__ == "__main__":
    main()
