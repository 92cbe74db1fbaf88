"""Find the answer that the runs of a case must give."""

import json
from contextlib import nullcontext
from pathlib import Path

from workflows.errors import one_line_errors
from workflows.jobs.cluster import read_cluster
from workflows.measure.allocation import this_allocation
from workflows.measure.prepare import reference_answer
from workflows.paths import RESULTS, ROOT, StudyPaths
from workflows.plan.machine import end_with_snakemake
from workflows.study.cases import case_of_results

with end_with_snakemake(), one_line_errors():
    config = snakemake.config
    case = case_of_results(snakemake.wildcards.case, snakemake.params.cases, snakemake.input.folder)
    allocated = nullcontext()
    if "cluster" in config:
        cluster, paths = read_cluster(ROOT / config["cluster"]), StudyPaths(RESULTS / config["name"])
        allocated = this_allocation(cluster, paths, f"reference-{case.name}")
    with allocated as job:
        nodes, seconds = job.nodes if job else (), snakemake.resources.run_seconds
        expected = reference_answer(case, Path(snakemake.input.folder), seconds, nodes)
    Path(snakemake.output.reference).write_text(json.dumps(expected, indent=1) + "\n")
