"""Find the answer that the runs of a case must give."""

import json
from contextlib import nullcontext
from pathlib import Path

from workflows.allocation import this_allocation
from workflows.machine import end_with_snakemake
from workflows.plan import make_plan, one_line_errors
from workflows.prepare import reference_answer

with end_with_snakemake(), one_line_errors():
    plan = make_plan(Path(snakemake.params.study), snakemake.config)
    case = plan.cases[snakemake.wildcards.case]
    allocated = this_allocation(plan, f"reference-{case.name}") if plan.cluster else nullcontext()
    with allocated as job:
        nodes = job.nodes if job else ()
        reference = reference_answer(case, Path(snakemake.input.folder), plan.study.limits.run_seconds, nodes)
Path(snakemake.output.reference).write_text(json.dumps(reference, indent=1) + "\n")
