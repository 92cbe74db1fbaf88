"""Time the tasks of a case in serial runs."""

import json
from pathlib import Path

from workflows.errors import one_line_errors
from workflows.plan.machine import end_with_snakemake, only_study_on_this_machine
from workflows.plan.plan import make_plan
from workflows.replay.servers import time_tasks

with end_with_snakemake(), one_line_errors(), Path(snakemake.log[0]).open("a") as log:
    plan = make_plan(Path(snakemake.params.study), snakemake.config)
    case = plan.cases[snakemake.wildcards.case]
    with only_study_on_this_machine(lambda line: print(line, file=log, flush=True)):
        times = time_tasks(case, Path(snakemake.input.prepared), plan.study.limits.run_seconds)
    Path(snakemake.output.times).write_text(json.dumps(times, indent=1) + "\n")
