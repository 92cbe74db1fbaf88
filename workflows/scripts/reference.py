"""Find the answer that the runs of a case must give."""

import json
from contextlib import nullcontext
from pathlib import Path

from workflows.errors import one_line_errors
from workflows.measure.allocation import this_allocation
from workflows.measure.prepare import reference_answer
from workflows.plan.machine import end_with_snakemake
from workflows.plan.plan import make_plan

with end_with_snakemake(), one_line_errors():
    plan = make_plan(Path(snakemake.params.study), snakemake.config)
    case = plan.cases[snakemake.wildcards.case]
    allocated = this_allocation(plan, f"reference-{case.name}") if plan.cluster else nullcontext()
    with allocated as job:
        nodes = job.nodes if job else ()
        reference = reference_answer(case, Path(snakemake.input.folder), plan.study.limits.run_seconds, nodes)
Path(snakemake.output.reference).write_text(json.dumps(reference, indent=1) + "\n")
