"""Time the tasks of a case in serial runs."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from workflows.domain import Case
from workflows.errors import one_line_errors
from workflows.plan.machine import end_with_snakemake, only_study_on_this_machine, say_in
from workflows.replay.servers import time_tasks
from workflows.study.cases import case_of_results

if TYPE_CHECKING:
    from snakemake.script import Snakemake

    snakemake: Snakemake


def write_times(case: Case, prepared: Path, run_seconds: float, times: Path, log: TextIO) -> None:
    """Time the tasks of a case while no other study measures on this machine, and write the times as JSON.

    Parameters
    ----------
    prepared : Path
        The case prepared for one process.
    run_seconds : float
        Time limit of a run.
    """
    with only_study_on_this_machine(say_in(log)):
        timed = time_tasks(case, prepared, run_seconds)
    times.write_text(json.dumps(timed, indent=1) + "\n")


if __name__ == "__main__":
    with end_with_snakemake(), one_line_errors(), Path(snakemake.log[0]).open("a") as log:
        case = case_of_results(snakemake.wildcards.case, snakemake.params.cases, snakemake.input.prepared)
        run_seconds, times = snakemake.resources.run_seconds, Path(snakemake.output.times)
        write_times(case, Path(snakemake.input.prepared), run_seconds, times, log)
