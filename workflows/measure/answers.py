"""The answer of a run beside the answer that it must give."""

from __future__ import annotations

import json
from pathlib import Path

from workflows.domain import Case
from workflows.plan.record import GivenAnswer

Expected = dict[str, float | str | None]
"""The answer that every run of a case must give: its ``value``, and its ``source``."""


def read_expected(file: Path) -> Expected:
    """Read what `workflows.measure.prepare.reference_answer` found."""
    return json.loads(file.read_text())


def compare_answer(
    case: Case, value: float | None, expected: Expected
) -> tuple[GivenAnswer | None, str | None]:
    """Compare the answer of a run with the expected answer.

    Returns
    -------
    GivenAnswer or None
        Its relative difference is ``|value - right| / |right|``, and ``|value|`` where the right answer is 0;
        None for a case that prints no answer.
    str or None
        What is wrong; None for a right answer.
    """
    if case.answer is None:
        return None, None
    right, source, tolerance = expected["value"], expected["source"], case.answer.tolerance
    if right is None:  # found when the case had no answer yet, and not anew since
        return None, f"the expected {case.answer.quantity} is not known: the case cannot be prepared here"
    difference = None if value is None else abs(value - right) / (abs(right) or 1.0)
    answer = GivenAnswer(
        quantity=case.answer.quantity,
        unit=case.answer.unit,
        value=value,
        reference=right,
        source=source,
        tolerance=tolerance,
        relative_difference=difference,
    )
    if difference is None:
        return answer, f"no {case.answer.quantity} in the output"
    if not difference <= tolerance:
        return answer, (
            f"{case.answer.quantity} {value:.10g} differs from the {source} answer "
            f"{right:.10g} by {difference:.2g}, allowed {tolerance:g}"
        )
    return answer, None
