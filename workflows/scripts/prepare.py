"""Prepare a case for a process count; for one process also find its reference answer."""

from pathlib import Path

from workflows.plan import make_plan, one_line_errors
from workflows.prepare import prepare

with one_line_errors():
    plan = make_plan(Path(snakemake.params.study), snakemake.config)
    prepare(plan, snakemake.wildcards.case, int(snakemake.wildcards.get("processes", 1)))
