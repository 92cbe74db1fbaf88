"""Run the missing repetitions of a batch, in a job of its own."""

from pathlib import Path
from typing import TYPE_CHECKING

from workflows.errors import one_line_errors
from workflows.measure.measure import measure_in_job
from workflows.plan.machine import end_with_snakemake

if TYPE_CHECKING:
    from snakemake.script import Snakemake

    snakemake: Snakemake


if __name__ == "__main__":
    with end_with_snakemake(), one_line_errors():
        measure_in_job(Path(snakemake.params.study), snakemake.config, snakemake.wildcards.batch)
