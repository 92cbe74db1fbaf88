"""Prepare a case for a process count."""

from pathlib import Path

from workflows.errors import one_line_errors
from workflows.measure.prepare import prepare
from workflows.plan.machine import end_with_snakemake
from workflows.plan.plan import make_plan

with end_with_snakemake(), one_line_errors():
    plan = make_plan(Path(snakemake.params.study), snakemake.config)
    prepare(plan, snakemake.wildcards.case, int(snakemake.wildcards.get("processes", 1)))
