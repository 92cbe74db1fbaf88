"""Cases made ready to run, and the answers that their runs must give."""

from __future__ import annotations

import json
from pathlib import Path

from workflows.applications import application
from workflows.domain import Case, InputError, Point
from workflows.plan import Plan
from workflows.running import run


def prepare(plan: Plan, name: str, processes: int) -> None:
    """Prepare a case for a process count; for one process also find its reference answer.

    Raises
    ------
    InputError
        If a program fails: one line.
    """
    case, folder = plan.cases[name], plan.prepared_folder(name, processes)
    base = plan.prepared_folder(name, 1) if processes > 1 else None
    folder.mkdir(parents=True, exist_ok=True)
    application(case.application).prepare(case, processes, folder, base)
    if processes == 1:
        reference = reference_answer(case, folder, plan.study.limits.run_seconds)
        plan.reference_file(name).write_text(json.dumps(reference, indent=1) + "\n")


def reference_answer(case: Case, prepared: Path, time_limit_seconds: float) -> dict[str, float | str]:
    """The answer that every run of a case must give, and where it is from.

    Parameters
    ----------
    case : Case
    prepared : Path
        The case prepared for one process. It is run once, untimed, where there is no golden answer.
    time_limit_seconds : float

    Returns
    -------
    dict
        ``value`` and ``source``: ``golden`` or ``serial``.

    Raises
    ------
    InputError
        If the serial run fails: one line.
    """
    if case.answer.golden is not None:
        return {"value": case.answer.golden, "source": "golden"}
    serial = run(case, Point(case.name, None, 1, 1, nodes=1, cores=1), prepared, None, (), time_limit_seconds)
    if serial.problem or serial.reading.answer is None:
        raise InputError(f"case {case.name}: the serial run that gives its answer failed: {serial.problem}")
    return {"value": serial.reading.answer, "source": "serial"}


def check_answer(case: Case, answer: float | None, reference: dict[str, float | str]) -> str | None:
    """Say what is wrong with an answer; None if it agrees with the reference.

    The difference is relative to the reference: ``|answer - reference| / |reference|``.
    """
    quantity, value = case.answer.quantity, reference["value"]
    if answer is None:
        return f"no {quantity} in the output"
    difference = abs(answer - value) / abs(value)
    if not difference <= case.answer.tolerance:
        return (
            f"{quantity} {answer:.10g} differs from the {reference['source']} answer {value:.10g} by "
            f"{difference:.2g}, allowed {case.answer.tolerance:g}"
        )
    return None
