"""Real runs on a busy machine: their times may be disturbed, and everything else must be right."""

import re
from typing import Any

import pandas as pd

from workflows.measure.running import Run, run

_OF_THE_MACHINE = re.compile("main loop too short to be timed|time unsure: |the probe (of|between) ")


def disturbed(problem: str | None) -> bool:
    """Whether a run does not count because it was not timed well, or its link was busy."""
    return problem is not None and bool(_OF_THE_MACHINE.match(problem))


def sound_runs(runs: pd.DataFrame) -> pd.DataFrame:
    """Give the valid rows; of the others each must have been disturbed, and they must be few."""
    reasons = runs.loc[~runs["valid"], "reason"]
    assert reasons.map(disturbed).all(), reasons.to_list()
    assert len(reasons) <= len(runs) / 4, reasons.to_list()
    return runs[runs["valid"]]


def went_through(status: int, output: str) -> bool:
    """Whether a study of few short runs ended by itself; that none over an interconnect is valid ends it with 1."""
    return status == 0 or (status == 1 and "nodeworth: no run over " in output)


def reports_death(problem: str, reason: str) -> bool:
    """Whether a run tells that a rank died; mpirun of Open MPI 4.1.4 itself dies now and then when one does."""
    return reason in problem or problem.startswith("ended by SIG")


def undisturbed_run(*arguments: Any, tries: int = 3) -> Run:
    """Run a point (see `workflows.measure.running.run`) until nothing disturbs it, a few times at most."""
    done = run(*arguments)
    return undisturbed_run(*arguments, tries=tries - 1) if tries > 1 and disturbed(done.problem) else done
