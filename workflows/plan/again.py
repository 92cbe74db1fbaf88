"""Requests to run something again: ``snakemake --config again=WHAT``, ``./run-study --again WHAT``."""

from __future__ import annotations

import datetime
import json
from dataclasses import asdict

from workflows.domain import InputError
from workflows.plan.plan import Plan
from workflows.plan.records import Rerun

FORM = (
    "failed, or case[/interconnect[/processes[/oversubscription[/processes per node][/threads-N]]]] with "
    "serial for the serial run"
)


def check_again(plan: Plan, request: str) -> None:
    """Raise an `InputError` if a request covers no point of the study."""
    rerun = Rerun(request, "")
    if not any(map(rerun.covers, plan.design.points)):
        raise InputError(f"again {request}: no point of {plan.asked.study.file}; write {FORM}")


def request_again(plan: Plan, request: str) -> None:
    """Record a request (`Rerun`), which the study fulfils even if it is killed and started once more.

    Raises
    ------
    InputError
        See `check_again`.
    """
    check_again(plan, request)
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds")
    file = plan.paths.requests
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a") as requests:
        requests.write(json.dumps(asdict(Rerun(request, now))) + "\n")
