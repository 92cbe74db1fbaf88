"""Run what is not yet recorded of a study."""

from pathlib import Path

from workflows.jobs import parts
from workflows.machine import end_with_snakemake
from workflows.measure import measure_study
from workflows.plan import make_plan, one_line_errors

with end_with_snakemake(), one_line_errors():
    plan = make_plan(Path(snakemake.params.study), snakemake.config)
    with Path(snakemake.log[0]).open("a") as log:
        part = parts(plan)[snakemake.wildcards.part] if "part" in snakemake.wildcards.keys() else None  # noqa: SIM118
        measured = measure_study(plan, log, part)
Path(snakemake.output.records).write_text("".join(f"{path}\n" for path in measured))
