"""Ask for something to be run again: ``./run-study --again WHAT``."""

from __future__ import annotations

import datetime
import json
from dataclasses import asdict

from workflows.domain import InputError
from workflows.plan.plan import Plan
from workflows.plan.records import Rerun

WHAT = (
    "failed, or case[/interconnect[/processes[/oversubscription[/processes per node][/threads-N]]]] with "
    "serial for the serial run"
)


def ask_again(plan: Plan, what: str) -> None:
    """Note a request (`Rerun`) that the study's next run fulfils; a killed run goes on fulfilling it.

    Raises
    ------
    InputError
        If no point of the study is meant.
    """
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds")
    request = Rerun(what, now)
    if not any(map(request.covers, plan.design.points)):
        raise InputError(f"--again {what}: no point of {plan.asked.study.file}; write {WHAT}")
    file = plan.paths.requests
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a") as requests:
        requests.write(json.dumps(asdict(request)) + "\n")
