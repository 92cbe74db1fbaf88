"""Gather the records and imports of a study into its runs table, side tables and the facts of its report."""

import json
from pathlib import Path

from workflows.errors import one_line_errors

with one_line_errors():  # also for Ctrl-C during the imports, which take seconds
    from analysis.importers import write_derived
    from analysis.runs.side_tables import write_details
    from workflows.plan.plan import make_plan
    from workflows.results.collect import collect

    plan = make_plan(Path(snakemake.params.study), snakemake.config)
    plan.asked.check_unchanged(snakemake.params.asked)
    collected, outputs = collect(plan), snakemake.output
    collected.runs.to_csv(outputs.runs, index=False)
    collected.complete.to_parquet(outputs.parquet, index=False)
    write_details(collected.details, outputs.details)
    Path(outputs.facts).write_text(json.dumps(collected.facts.as_json(), indent=1) + "\n")
    write_derived(collected.published, Path(outputs.published))
