"""List the records that the jobs of a cluster made, and report the runs that ended with their jobs."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from workflows.errors import one_line_errors
from workflows.jobs.cluster import Cluster, read_cluster
from workflows.measure.allocation import interruptions
from workflows.paths import RESULTS, StudyPaths

if TYPE_CHECKING:
    from snakemake.script import Snakemake

    snakemake: Snakemake


def list_measured(cluster: Cluster, paths: StudyPaths, batch_lists: Iterable[Path], records: Path) -> None:
    """Join the lists of records of all batches; print a line for each interrupted run to standard error."""
    for line in interruptions(cluster, paths):
        print(line, file=sys.stderr, flush=True)
    records.write_text("".join(file.read_text() for file in batch_lists))


if __name__ == "__main__":
    with one_line_errors():
        config = snakemake.config
        list_measured(
            read_cluster(Path(config["cluster"])),
            StudyPaths(RESULTS / config["name"]),
            [Path(file) for file in snakemake.input.lists],
            Path(snakemake.output.records),
        )
