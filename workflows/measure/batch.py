"""A batch of runs, measured in a job of its own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workflows.domain import InputError
from workflows.measure.measure import measure_batch
from workflows.plan.jobs import batches
from workflows.plan.plan import make_plan


def measure_in_job(study: Path, config: Mapping[str, Any], name: str) -> None:
    """Run what is not yet recorded of a batch, and write the list of its records.

    Parameters
    ----------
    study, config
        See `workflows.plan.plan.make_plan`.
    name : str
        Name of the batch.

    Raises
    ------
    InputError
        See `workflows.plan.plan.make_plan` and `measure_batch`; or if the study no longer has the batch.
    """
    plan = make_plan(study, config)
    if name not in (planned := batches(plan)):
        raise InputError(
            f"{study}: no longer has the batch {name}: the study changed after the job was submitted"
        )
    listed, log = plan.paths.batch(name), plan.paths.results / f"logs/measured/{name}.log"
    listed.unlink(missing_ok=True)
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a") as file:
        measured = measure_batch(plan, planned[name], file)
    listed.write_text("".join(f"{path}\n" for path in measured))
