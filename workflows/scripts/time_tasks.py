"""Time the tasks of a case in serial runs."""

import json
from pathlib import Path

from workflows.errors import one_line_errors
from workflows.plan.machine import end_with_snakemake, only_study_on_this_machine
from workflows.replay.servers import time_tasks
from workflows.study.cases import case_of_results

with end_with_snakemake(), one_line_errors(), Path(snakemake.log[0]).open("a") as log:
    case = case_of_results(snakemake.wildcards.case, snakemake.params.cases, snakemake.input.prepared)
    seconds = snakemake.resources.run_seconds
    with only_study_on_this_machine(lambda line: print(line, file=log, flush=True)):
        times = time_tasks(case, Path(snakemake.input.prepared), seconds)
    Path(snakemake.output.times).write_text(json.dumps(times, indent=1) + "\n")
