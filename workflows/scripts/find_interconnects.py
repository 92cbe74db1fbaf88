"""Find the interconnects of a cluster's nodes, in a job."""

from pathlib import Path
from typing import TYPE_CHECKING

from workflows.discovery.request import find_in_job
from workflows.errors import one_line_errors
from workflows.plan.machine import end_with_snakemake

if TYPE_CHECKING:
    from snakemake.script import Snakemake

    snakemake: Snakemake


if __name__ == "__main__":
    with end_with_snakemake(), one_line_errors():
        interconnects = find_in_job(Path(snakemake.params.site))
        Path(snakemake.output.found).write_text(interconnects.as_json())
