"""Prepare a case for a process count."""

from pathlib import Path

from workflows.errors import one_line_errors
from workflows.measure.prepare import prepare
from workflows.plan.machine import end_with_snakemake
from workflows.study.cases import case_of_results

with end_with_snakemake(), one_line_errors():
    case = case_of_results(snakemake.wildcards.case, snakemake.params.cases, *snakemake.input)
    processes, base = int(snakemake.wildcards.get("processes", 1)), snakemake.input.get("base")
    prepare(case, processes, Path(snakemake.output.folder), Path(base) if base else None)
