"""The answer of a run, compared with the expected answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NotRequired, TypedDict

from workflows.domain import Case
from workflows.plan.record import GivenAnswer


class Expected(TypedDict):
    """The answer that every run of a case must give.

    ``source`` is ``golden`` or ``serial``, or ``none`` for a case without an answer. ``trial_seconds`` is the
    wall time of the trial run of a case that needs one.
    """

    value: float | None
    source: str
    trial_seconds: NotRequired[float]


def read_expected(file: Path) -> Expected:
    """Read the answer of `workflows.measure.prepare.reference_answer`."""
    expected: Expected = json.loads(file.read_text())
    return expected


def compare_answer(
    case: Case, value: float | None, expected: Expected
) -> tuple[GivenAnswer | None, str | None]:
    """Compare the answer of a run with the expected answer.

    Returns
    -------
    GivenAnswer or None
        Its relative difference is ``|value - expected| / |expected|``, or ``|value|`` if the expected answer
        is 0. None for a case without an answer.
    str or None
        One line if the answer is wrong.
    """
    if case.answer is None:
        return None, None
    reference, source, tolerance = expected["value"], expected["source"], case.answer.tolerance
    if reference is None:  # the case had no answer when it was prepared
        return None, f"the expected {case.answer.quantity} is not known: the case cannot be prepared here"
    difference = None if value is None else abs(value - reference) / (abs(reference) or 1.0)
    answer = GivenAnswer(
        quantity=case.answer.quantity,
        unit=case.answer.unit,
        value=value,
        reference=reference,
        source=source,
        tolerance=tolerance,
        relative_difference=difference,
    )
    if value is None or difference is None:
        return answer, f"no {case.answer.quantity} in the output"
    if not difference <= tolerance:
        return answer, (
            f"{case.answer.quantity} {value:.10g} differs from the {source} answer "
            f"{reference:.10g} by {difference:.2g}, allowed {tolerance:g}"
        )
    return answer, None
