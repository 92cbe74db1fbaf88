"""Prepare a case for a process count."""

from pathlib import Path
from typing import TYPE_CHECKING

from workflows.errors import noted_errors, one_line_errors
from workflows.measure.prepare import prepare
from workflows.plan.machine import end_with_snakemake
from workflows.study.cases import case_of_results

if TYPE_CHECKING:
    from snakemake.script import Snakemake

    snakemake: Snakemake


if __name__ == "__main__":
    with end_with_snakemake(), one_line_errors(), noted_errors(Path(snakemake.log[0])):
        base, wildcards = snakemake.input.get("base"), snakemake.wildcards
        prepare(
            case_of_results(wildcards.case, snakemake.params.cases, *snakemake.input),
            int(wildcards.get("processes", 1)),
            Path(snakemake.output.folder),
            Path(base) if base else None,
        )
