"""Run what is not yet recorded of one block."""

from pathlib import Path

from workflows.measure import measure_block
from workflows.plan import make_plan, stop_on_bad_input

with stop_on_bad_input():
    plan = make_plan(Path(snakemake.params.study), snakemake.config)
    with Path(snakemake.log[0]).open("w") as log:
        measured = measure_block(plan, int(snakemake.wildcards.block), log)
Path(snakemake.output.records).write_text("".join(f"{path}\n" for path in measured))
