"""List what the jobs of a cluster measured, and say which runs ended with their jobs."""

import sys
from pathlib import Path

from workflows.allocation import interruptions
from workflows.plan import make_plan, one_line_errors
from workflows.progress import say

with one_line_errors():
    plan = make_plan(Path(snakemake.params.study), snakemake.config)
    for told in interruptions(plan):
        say(told, [sys.stderr])
listed = "".join(Path(part).read_text() for part in snakemake.input.parts)
Path(snakemake.output.records).write_text(listed)
