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
MOST_ERROR = 30
"""Largest held-out error, in percent, of a model that the report shows."""


def model_title(name: object) -> str:
    """Return the title of a model."""
    return TITLES.get(str(name), str(name))


def compared_models(models: pd.DataFrame) -> pd.DataFrame:
    """Select the best model of every curve with at least two models, if its error is at most `MOST_ERROR`.

    Returns
    -------
    DataFrame
        Rows of table ``models``. The column ``next_percent`` is added: the second smallest held-out error of
        the models of the curve.
    """
    fitted = models[models["held_out_percent"].notna()]
    errors_of_curve = fitted.groupby(CURVE, dropna=False, sort=False)["held_out_percent"]
    second = errors_of_curve.transform(
        lambda errors: errors.nsmallest(2).iloc[-1] if len(errors) > 1 else np.nan
    )
    is_usable = fitted["held_out_percent"] <= MOST_ERROR
    return fitted.assign(next_percent=second)[fitted["best"] & second.notna() & is_usable]


def counts_needed(scaling: str) -> int:
    """Return the number of process counts from which a study can compare two models.

    A model needs a count for each coefficient, and one count that is left out of the fit.
    """
    counts = sorted(model.coefficients + 1 for model in MODELS if model.scaling == scaling)
    return counts[1]


def omitted_sentences(models: pd.DataFrame, labels: Labels) -> str:
    """Count the curves with too few process counts, and the curves to which no model fits.

    Parameters
    ----------
    models : DataFrame
        Table ``models``.

    Returns
    -------
    str
        Empty if `compared_models` has all curves.
    """
    fits = models[models["held_out_percent"].notna()].groupby(CURVE, dropna=False)["held_out_percent"]
    errors = fits.min()[fits.size() > 1]
    curves = len(models.drop_duplicates(CURVE))
    too_short, poor = curves - len(errors), int((errors > MOST_ERROR).sum())
    sentences = []
    if too_short:
        subject = f"{too_short} of {counted(curves, 'curve')} {'has' if too_short == 1 else 'have'}"
        needed = counted(counts_needed("weak" if labels.weak else "strong"), "process count")
        sentences = [
            f"Nodeworth compares scaling models only on curves with at least {needed}.",
            f"{'Every curve has' if too_short == curves else subject} fewer process counts.",
        ]
    if poor:
        subject = f"{poor} of {counted(curves, 'curve')}"
        sentences.append(f"No model fits {subject}: each model has a held-out error above {MOST_ERROR} %.")
    return " ".join(sentences)


def peak_text(row: Line) -> str:
    """Write a predicted peak with its interval; ∞ is above the largest predicted count."""
    return with_interval(row, "peak", "peak_processes")


def with_interval(row: Line, quantity: str, column: str | None = None) -> str:
    """Write a quantity of a row with its interval; `column` names its value if it is not `quantity`."""
    ends = (as_float(row[f"{quantity}_{end}"]) for end in ("low", "high"))
    return formats.bracketed(as_float(row[column or quantity]), *ends)
