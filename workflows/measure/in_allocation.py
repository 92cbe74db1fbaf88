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
    study, options = [], list(arguments)
    if options and options[0].endswith((".yaml", ".yml")):
        study = [f"--configfile={options.pop(0)}"]  # "=": files to make may follow
    after_config = options.index("--config") + 1 if "--config" in options else 0
    config = [] if after_config else ["--config"]
    config += [f"cluster={SITE}", "allocation=True"]
    executor = ["--executor", "local", "--cores", "all"]
    if after_config:
        return [*_SNAKEMAKE, *study, *executor, *options[:after_config], *config, *options[after_config:]]
    return [*_SNAKEMAKE, *study, *executor, *config, *options]


_SNAKEMAKE = (sys.executable, "-P", "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"))


def run_in_allocation(arguments: Sequence[str]) -> int:
    """Run a study until it is complete or the job's time is over; return the exit status.

    A job whose time is over goes back into the queue, unless nothing was recorded in it: the next job would
    not get further.
    """
    with tempfile.TemporaryDirectory() as folder:
        stopped = Path(folder) / "stopped"
        status = subprocess.run(
            snakemake_command(arguments), env=os.environ | {STOPPED: str(stopped)}
        ).returncode
        made = int(stopped.read_text()) if stopped.exists() else None
    if status == 0 or made is None:
        return status
    if made == 0:
        print(
            "nodeworth: nothing was measured in this job: give it more time (sbatch --time)", file=sys.stderr
        )
        return status
    print(f"nodeworth: runs measured in this job: {made}; it goes on in the next", file=sys.stderr)
    SCHEDULERS["slurm"].requeue()
    return 0


if __name__ == "__main__":
    with one_line_errors():
        sys.exit(run_in_allocation(sys.argv[1:]))
