"""Names and sentences for fitted scaling models."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.presentation import formats
from analysis.presentation.formats import counted
from analysis.presentation.labels import Labels
from analysis.runs.frames import CURVE, Line, as_float
from analysis.statistics.fits import MODELS

TITLES = {
    "amdahl": "Amdahl's law",
    "usl": "USL",
    "communication": "communication model",
    "gustafson": "Gustafson's law",
}
"""Title of each model by its name."""


def model_title(name: object) -> str:
    """Return the title of a model."""
    return TITLES.get(str(name), str(name))


def compared_models(models: pd.DataFrame) -> pd.DataFrame:
    """Select the best model of every curve to which at least two models were fitted.

    Returns
    -------
    DataFrame
        Rows of table ``models``, with the smallest held-out error of the curve's other models in
        ``next_percent``.
    """
    fitted = models[models["held_out_percent"].notna()]
    curves = fitted.groupby(CURVE, dropna=False, sort=False)["held_out_percent"]
    second = curves.transform(lambda errors: errors.nsmallest(2).iloc[-1] if len(errors) > 1 else np.nan)
    return fitted.assign(next_percent=second)[fitted["best"] & second.notna()]


def counts_needed(scaling: str) -> int:
    """Return the process counts that two models need, including one held-out count."""
    return sorted(model.coefficients + 1 for model in MODELS if model.scaling == scaling)[1]


def too_few_sentence(models: pd.DataFrame, best: pd.DataFrame, labels: Labels) -> str:
    """Count the curves with too few process counts for a comparison of models.

    Parameters
    ----------
    models : DataFrame
        Table ``models``.
    best : DataFrame
        Rows of `compared_models`.

    Returns
    -------
    str
        Empty if all curves have enough counts.
    """
    curves = len(models.drop_duplicates(CURVE))
    short = curves - len(best)
    if not short:
        return ""
    needed = counts_needed("weak" if labels.weak else "strong")
    if short == curves:
        subject = "No curve has"
    else:
        subject = f"{counted(short, 'curve')} of {curves} {'does' if short == 1 else 'do'} not have"
    return (
        f"{subject} the {counted(needed, 'process count')} needed to compare scaling models by their error "
        "at a count left out of the fit."
    )


def peak_text(row: Line) -> str:
    """Write a predicted peak with its interval; ∞ is above the largest predicted count."""
    return with_interval(row, "peak", "peak_processes")


def with_interval(row: Line, quantity: str, column: str | None = None) -> str:
    """Write a quantity of a row with its interval; `column` names its value if it is not `quantity`."""
    ends = (as_float(row[f"{quantity}_{end}"]) for end in ("low", "high"))
    return formats.bracketed(as_float(row[column or quantity]), *ends)
