"""Determine the answer that every run of a case must give."""

import json
import os
import shutil
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from workflows.domain import Case
from workflows.errors import noted_errors, one_line_errors
from workflows.jobs.cluster import read_cluster
from workflows.measure.allocation import Allocation, this_allocation
from workflows.measure.prepare import reference_answer
from workflows.paths import RESULTS, StudyPaths
from workflows.plan.machine import end_with_snakemake
from workflows.study.cases import case_of_results

if TYPE_CHECKING:
    from snakemake.script import Snakemake

    snakemake: Snakemake


def write_reference(
    case: Case,
    prepared: Path,
    run_seconds: float,
    allocated: AbstractContextManager[Allocation | None],
    reference: Path,
    output: Path,
) -> None:
    """Write the expected answer of a case as JSON.

    Parameters
    ----------
    prepared : Path
        The case prepared for one process.
    run_seconds : float
        Time limit of the serial run.
    allocated : context manager
        Returns the job of this process on a cluster, else None.
    reference : Path
        File to write.
    output : Path
        File for everything that a failed trial run prints.
    """
    with allocated as job:
        expected = reference_answer(case, prepared, run_seconds, job.nodes if job else (), output)
    reference.write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    with end_with_snakemake(), one_line_errors(), noted_errors(Path(snakemake.log[0])):
        config, prepared = snakemake.config, snakemake.input.folder
        case = case_of_results(snakemake.wildcards.case, snakemake.params.cases, prepared)
        allocated: AbstractContextManager[Allocation | None] = nullcontext()
        if "cluster" in config:
            paths = StudyPaths(RESULTS / config["name"])
            allocated = this_allocation(
                read_cluster(Path(config["cluster"])), paths, f"reference-{case.name}"
            )
        run_seconds, reference = snakemake.resources.run_seconds, Path(snakemake.output.reference)
        output, kept = Path(snakemake.log[0]).with_suffix(".txt"), Path(snakemake.params.kept)
        if kept.exists():
            shutil.copy(kept, reference)
        else:
            write_reference(case, Path(prepared), run_seconds, allocated, reference, output)
            kept.parent.mkdir(exist_ok=True)
            draft = kept.with_name(f".{kept.name}.{os.getpid()}")
            shutil.copy(reference, draft)
            draft.replace(kept)
