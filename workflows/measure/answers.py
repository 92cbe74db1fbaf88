"""The answer of a run, compared with the expected answer."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NotRequired, TypedDict

from workflows.applications import application
from workflows.domain import Case
from workflows.plan.record import GivenAnswer

_SPREADS = 3
"""A quantity may differ from the serial run by this many spreads: see ``Expected``."""


class Expected(TypedDict):
    """The answer that every run of a case must give.

    ``source`` is ``golden`` or ``serial``, or ``none`` for a case without an answer. ``trial_seconds`` is the
    wall time of the trial run of a case that needs one. A user's case has the ``details`` of the serial run
    and the ``spread`` of each quantity: see `workflows.measure.prepare.reference_answer`. ``spread_problem``
    is a sentence on a run that failed, so that no spread is known.
    """

    value: float | None
    source: str
    trial_seconds: NotRequired[float]
    details: NotRequired[dict[str, Any]]
    spread: NotRequired[dict[str, float]]
    spread_problem: NotRequired[str]


def read_expected(file: Path) -> Expected:
    """Read the answer of `workflows.measure.prepare.reference_answer`."""
    expected: Expected = json.loads(file.read_text())
    return expected


def compare_answer(
    case: Case, value: float | None, expected: Expected, details: Mapping[str, Any] | None = None
) -> tuple[GivenAnswer | None, str | None]:
    """Compare the answer of a run with the expected answer.

    If the case has no answer, compare the `details` of the run with the serial run instead.

    Parameters
    ----------
    value : float or None
        Answer that the run printed.
    details : mapping
        `Reading.details` of the run.

    Returns
    -------
    GivenAnswer or None
        The answer, with its relative difference ``|value - expected| / |expected|``, or ``|value|`` if the
        expected answer is 0. None for a case without an answer.
    str or None
        One line if the answer is wrong or the run is not consistent with the serial run; else None.
    """
    if case.answer is None:
        return None, _inconsistency(case, details or {}, expected)
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


def _inconsistency(case: Case, details: Mapping[str, Any], expected: Expected) -> str | None:
    """Return the first difference from the serial run that is too large; None if the run is consistent."""
    spread = expected.get("spread", {})
    for difference in application(case.application).differences(case, details, expected.get("details", {})):
        spread_limit = min(_SPREADS * spread.get(difference.quantity, 0.0), difference.most)
        allowed = max(difference.allowed, spread_limit)
        if not difference.value <= allowed:
            value = f"{difference.value:.2g}" if math.isfinite(difference.value) else "no finite number"
            return (
                f"not consistent with the serial run: {difference.quantity}: {value} ({difference.unit}), "
                f"allowed {allowed:.2g}"
            )
    return None
