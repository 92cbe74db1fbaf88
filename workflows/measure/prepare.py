"""Cases made ready to run, and the answers that their runs must give."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from workflows.applications import application
from workflows.domain import Case, InputError, Point
from workflows.launch.cluster_launch import JobNode
from workflows.measure.running import run
from workflows.plan.plan import Plan
from workflows.plan.record import GivenAnswer


def prepare(plan: Plan, name: str, processes: int) -> None:
    """Prepare a case for a process count.

    Raises
    ------
    InputError
        If a program fails: one line.
    """
    case, folder = plan.cases[name], plan.prepared_folder(name, processes)
    base = plan.prepared_folder(name, 1) if processes > 1 else None
    folder.mkdir(parents=True, exist_ok=True)
    try:
        application(case.application).prepare(case, processes, folder, base)
    except RuntimeError as error:
        raise InputError(f"case {name}, {processes} processes: cannot be prepared: {error}") from None


def reference_answer(
    case: Case, prepared: Path, time_limit_seconds: float, nodes: Sequence[JobNode] = ()
) -> dict[str, float | str | None]:
    """The answer that every run of a case must give, and where it is from.

    Parameters
    ----------
    case : Case
    prepared : Path
        The case prepared for one process. It is run once, untimed, where there is no golden answer.
    time_limit_seconds : float
    nodes : sequence of JobNode
        Those of the job, on a cluster.

    Returns
    -------
    dict
        ``value`` and ``source``: ``golden`` or ``serial``, or ``none`` for a case that prints no answer.

    Raises
    ------
    InputError
        If the serial run fails: one line.
    """
    if case.answer is None:
        return {"value": None, "source": "none"}
    if case.answer.golden is not None:
        return {"value": case.answer.golden, "source": "golden"}
    point = Point(case.name, None, 1, 1, nodes=1, cores=1)
    serial = run(case, point, prepared, None, nodes, time_limit_seconds)
    if serial.problem or serial.reading.answer is None:
        raise InputError(f"case {case.name}: the serial run that gives its answer failed: {serial.problem}")
    return {"value": serial.reading.answer, "source": "serial"}


def compare_answer(
    case: Case, value: float | None, reference: dict[str, float | str | None]
) -> tuple[GivenAnswer | None, str | None]:
    """Compare the answer of a run with the reference.

    Returns
    -------
    GivenAnswer or None
        Its relative difference is ``|value - reference| / |reference|``, and ``|value|`` where the reference
        is 0; None for a case that prints no answer.
    str or None
        What is wrong; None for a right answer.
    """
    if case.answer is None:
        return None, None
    expected, tolerance = reference["value"], case.answer.tolerance
    difference = None if value is None else abs(value - expected) / (abs(expected) or 1.0)
    told = GivenAnswer(
        quantity=case.answer.quantity,
        unit=case.answer.unit,
        value=value,
        reference=expected,
        source=reference["source"],
        tolerance=tolerance,
        relative_difference=difference,
    )
    if difference is None:
        return told, f"no {case.answer.quantity} in the output"
    if not difference <= tolerance:
        return told, (
            f"{case.answer.quantity} {value:.10g} differs from the {reference['source']} answer "
            f"{expected:.10g} by {difference:.2g}, allowed {tolerance:g}"
        )
    return told, None
