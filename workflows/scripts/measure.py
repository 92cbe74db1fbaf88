"""Run what is not yet recorded of a study."""

from pathlib import Path

from workflows.errors import one_line_errors
from workflows.measure.measure import measure_study
from workflows.plan.jobs import batches
from workflows.plan.machine import end_with_snakemake
from workflows.plan.plan import make_plan
from workflows.results.target import stopping_by_records

with end_with_snakemake(), one_line_errors():
    plan = make_plan(Path(snakemake.params.study), snakemake.config)
    with Path(snakemake.log[0]).open("a") as log:
        name = snakemake.wildcards.get("batch")
        measured = measure_study(plan, log, stopping_by_records, batches(plan)[name] if name else None)
Path(snakemake.output.records).write_text("".join(f"{path}\n" for path in measured))
