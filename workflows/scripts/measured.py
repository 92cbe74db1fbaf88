"""List what the jobs of a cluster measured, and say which runs ended with their jobs."""

import sys
from pathlib import Path

from workflows.errors import one_line_errors
from workflows.jobs.cluster import read_cluster
from workflows.measure.allocation import interruptions
from workflows.paths import RESULTS, ROOT, StudyPaths

with one_line_errors():
    config = snakemake.config
    cluster, paths = read_cluster(ROOT / config["cluster"]), StudyPaths(RESULTS / config["name"])
    for line in interruptions(cluster, paths):
        print(line, file=sys.stderr, flush=True)
    listed = "".join(Path(file).read_text() for file in snakemake.input.lists)
    Path(snakemake.output.records).write_text(listed)
