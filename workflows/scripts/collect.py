"""Gather the records and imports of a study into its runs table and the facts of its report."""

import json
from pathlib import Path

from analysis.importers import write_derived
from workflows.errors import one_line_errors
from workflows.plan.plan import make_plan
from workflows.results.collect import collect

with one_line_errors():
    plan = make_plan(Path(snakemake.params.study), snakemake.config)
    runs, facts, published = collect(plan)
write_derived(published, Path(snakemake.output.published))
runs.to_csv(snakemake.output.runs, index=False)
runs.to_parquet(snakemake.output.parquet, index=False)
Path(snakemake.output.facts).write_text(json.dumps(facts, indent=1) + "\n")
