"""Measure how fast a core of the machine that traces is, or which bandwidth of memory its cores share."""

import json
from pathlib import Path

from workflows.errors import one_line_errors
from workflows.plan.machine import end_with_snakemake, only_study_on_this_machine
from workflows.simulation.processor import probe, probe_bandwidth

with end_with_snakemake(), one_line_errors(), Path(snakemake.log[0]).open("a") as log:
    with only_study_on_this_machine(lambda line: print(line, file=log, flush=True)):
        result = probe() if snakemake.rule == "probe" else probe_bandwidth()
    Path(snakemake.output.probed).write_text(json.dumps(result, indent=1) + "\n")
