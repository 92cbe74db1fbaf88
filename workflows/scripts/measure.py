"""Run what is not yet recorded of a study."""

from pathlib import Path

from workflows.errors import one_line_errors
from workflows.measure.measure import measure_study
from workflows.plan.machine import end_with_snakemake
from workflows.plan.plan import make_plan
from workflows.results.partial import PartialReports, stopping_by_records

params, first_block = snakemake.params, snakemake.params.get("first_block", False)
with end_with_snakemake(), one_line_errors():
    plan = make_plan(Path(params.study), snakemake.config)
    plan.asked.check_unchanged(params.asked)
    reports = PartialReports(plan.asked.study.file, snakemake.config, simulated=not first_block)
    report = reports.make if plan.asked.study.report_while_running else None
    with Path(snakemake.log[0]).open("a") as log:
        measured = measure_study(plan, log, stopping_by_records, report, first_block)
    Path(snakemake.output.records).write_text("".join(f"{path}\n" for path in measured))
