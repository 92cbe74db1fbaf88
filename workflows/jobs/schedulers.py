"""Jobs of schedulers other than Slurm, in the same words as `workflows.jobs.slurm`."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from workflows.domain import InputError
from workflows.jobs import slurm
from workflows.paths import ROOT

STATE = ROOT / "cluster/state.sh"


@dataclass(frozen=True)
class Scheduler:
    """What a scheduler says of a job in the job's environment; `STATE` asks it about others.

    Attributes
    ----------
    name : str
        As a cluster file has it.
    submits : str
        Program that submits a job.
    job_variable : str
        Holds the job's number.
    hosts_variable : str or None
        Names a file whose lines begin with a host, which may have several lines; a job without it is on one
        host.
    """

    name: str
    submits: str
    job_variable: str
    hosts_variable: str | None

    def this_job(self) -> slurm.Job | None:
        """Give the job that this process is in, without end and restarts; None outside of a job."""
        number = os.environ.get(self.job_variable)
        file = os.environ.get(self.hosts_variable) if self.hosts_variable else None
        lines = Path(file).read_text().splitlines() if file else [platform.node()]
        hosts = dict.fromkeys(line.split()[0] for line in lines if line.strip())
        return slurm.Job(number, "RUNNING", ",".join(hosts)) if number else None

    def job(self, number: str) -> slurm.Job:
        """Find whether a job still waits or runs, and how it ended as far as that is known.

        Raises
        ------
        InputError
            If the scheduler is not there or does not answer.
        """
        command = [str(STATE), self.name, number]
        try:
            asked = subprocess.run(command, capture_output=True, text=True, timeout=2 * slurm.ASK_SECONDS)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise InputError(f"{STATE}: {error}") from None
        if asked.returncode:
            raise InputError(f"{self.name}: {' '.join(asked.stderr.split())}")
        return slurm.Job(number, asked.stdout.split()[0])

    def hosts(self, node_list: str) -> tuple[str, ...]:
        """Give the nodes of a list as `this_job` writes it."""
        return tuple(node_list.split(","))


_OTHERS = (
    Scheduler("pbs", "qsub", "PBS_JOBID", "PBS_NODEFILE"),
    Scheduler("sge", "qsub", "JOB_ID", "PE_HOSTFILE"),
    Scheduler("lsf", "bsub", "LSB_JOBID", "LSB_DJOB_HOSTFILE"),
    Scheduler("flux", "flux", "FLUX_JOB_ID", None),
)
SCHEDULERS: Mapping[str, Scheduler | ModuleType] = {"slurm": slurm, **{sort.name: sort for sort in _OTHERS}}
