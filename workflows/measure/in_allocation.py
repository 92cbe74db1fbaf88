"""Run a study inside one allocation: cluster/allocation.sh starts this program in its job."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from workflows.errors import one_line_errors
from workflows.jobs import SCHEDULERS
from workflows.measure.allocation import STOPPED
from workflows.paths import ROOT

SITE = "cluster/site.yaml"


def snakemake_command(arguments: Sequence[str]) -> list[str]:
    """Return the command with which Snakemake runs a study in its own job.

    Parameters
    ----------
    arguments : sequence of str
        A study file (optional) and options of Snakemake. A ``cluster`` after ``--config`` replaces
        cluster/site.yaml.
    """
    options = list(arguments)
    command = [*_SNAKEMAKE]
    if options and options[0].endswith((".yaml", ".yml")):
        command.append(f"--configfile={options.pop(0)}")  # "=": files to make may follow
    command += ["--executor", "local", "--cores", "all"]
    config = [f"cluster={SITE}", "allocation=True"]
    if "--config" not in options:
        return [*command, "--config", *config, *options]
    after_config = options.index("--config") + 1  # the user's values come later, and so prevail
    return [*command, *options[:after_config], *config, *options[after_config:]]


_SNAKEMAKE = (sys.executable, "-P", "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"))


def run_in_allocation(arguments: Sequence[str]) -> int:
    """Run a study until it is complete or the job's time is over; return the exit status.

    If the time is over, the job goes back into the queue. If the job recorded nothing, it does not: the next
    job would record nothing either.
    """
    with tempfile.TemporaryDirectory() as folder:
        stopped = Path(folder) / "stopped"
        status = subprocess.run(
            snakemake_command(arguments), env=os.environ | {STOPPED: str(stopped)}
        ).returncode
        runs = int(stopped.read_text()) if stopped.exists() else None
    if status == 0 or runs is None:
        return status
    if runs == 0:
        print(
            "nodeworth: nothing was measured in this job: give it more time (sbatch --time)", file=sys.stderr
        )
        return status
    print(f"nodeworth: runs measured in this job: {runs}; it goes on in the next", file=sys.stderr)
    SCHEDULERS["slurm"].requeue()
    return 0


if __name__ == "__main__":
    with one_line_errors():
        sys.exit(run_in_allocation(sys.argv[1:]))
