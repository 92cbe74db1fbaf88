"""The answer of a run beside the one that it must give."""

from __future__ import annotations

import json
from pathlib import Path

from workflows.domain import Case
from workflows.plan.record import GivenAnswer

Reference = dict[str, float | str | None]
"""``value`` of the answer that every run of a case must give, and its ``source``."""


def read_reference(file: Path) -> Reference:
    """Read what `workflows.measure.prepare.reference_answer` found."""
    return json.loads(file.read_text())


def compare_answer(
    case: Case, value: float | None, reference: Reference
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
