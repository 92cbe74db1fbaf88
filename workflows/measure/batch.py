"""A batch of runs, measured in the job that it has for itself.

Where Snakemake brings no software into a job, the job runs this alone, without Snakemake:

    python workflows/jobs/in_job.py -m workflows.measure.batch REQUEST BATCH SECONDS

with the file that `workflows.plan.jobs.check_requests` writes, the batch's name, and how long to wait for
what was prepared on another node.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from workflows.domain import InputError
from workflows.errors import one_line_errors
from workflows.measure.measure import measure_batch
from workflows.plan import files
from workflows.plan.jobs import batches
from workflows.plan.machine import end_with_snakemake
from workflows.plan.plan import make_plan


def measure_in_job(study: Path, config: Mapping[str, Any], name: str, wait_seconds: float = 0) -> None:
    """Run what is not yet recorded of a batch, and write the list of its records.

    Parameters
    ----------
    study, config
        See `workflows.plan.plan.make_plan`.
    name : str
        Of the batch.
    wait_seconds : float
        In which what was prepared on another node must be seen here.

    Raises
    ------
    InputError
        See `workflows.plan.plan.make_plan` and `measure_batch`; something is not prepared, or there is no
        such batch any more.
    """
    plan = make_plan(study, config)
    known = batches(plan)
    if name not in known:
        raise InputError(f"{study}: has no batch {name} any more: changed since the job was submitted")
    batch, paths = known[name], plan.paths
    needed = [*files.prepared(paths, batch.points), *files.expected(paths, batch.points)]
    _wait_for(map(Path, needed), wait_seconds)
    listed, log = paths.batch(name), paths.results / f"logs/measured/{name}.log"
    listed.unlink(missing_ok=True)
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a") as file:
        measured = measure_batch(plan, batch, file)
    listed.write_text("".join(f"{path}\n" for path in measured))


def _wait_for(needed: Iterable[Path], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    for path in needed:
        while not path.exists():
            if time.monotonic() > deadline:
                raise InputError(f"{path}: is not there after {seconds:g} s (--latency-wait)")
            time.sleep(1)


if __name__ == "__main__":
    with end_with_snakemake(), one_line_errors():
        request = json.loads(Path(sys.argv[1]).read_text())
        measure_in_job(Path(request["study"]), request["config"], sys.argv[2], float(sys.argv[3]))
