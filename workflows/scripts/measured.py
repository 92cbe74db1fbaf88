"""List what the jobs of a cluster measured, and say which runs ended with their jobs."""

import sys
from pathlib import Path

from workflows.errors import one_line_errors
from workflows.measure.allocation import interruptions
from workflows.measure.progress import say
from workflows.plan.plan import make_plan

with one_line_errors():
    plan = make_plan(Path(snakemake.params.study), snakemake.config)
    for told in interruptions(plan):
        say(told, [sys.stderr])
listed = "".join(Path(part).read_text() for part in snakemake.input.parts)
Path(snakemake.output.records).write_text(listed)
