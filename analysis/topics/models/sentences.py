"""What fitted scaling models say, in plain sentences: from the tables of models to text."""

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
"""What a model is called, by its name."""


def model_title(name: object) -> str:
    """Title of a model."""
    return TITLES.get(str(name), str(name))


def compared_models(models: pd.DataFrame) -> pd.DataFrame:
    """Give the best model of every curve of which at least two could be fitted: rows of the table ``models``.

    ``next_percent`` is added, the smallest held-out error of the curve's other models.
    """
    fitted = models[models["held_out_percent"].notna()]
    curves = fitted.groupby(CURVE, dropna=False, sort=False)["held_out_percent"]
    second = curves.transform(lambda errors: errors.nsmallest(2).iloc[-1] if len(errors) > 1 else np.nan)
    return fitted.assign(next_percent=second)[fitted["best"] & second.notna()]


def counts_needed(scaling: str) -> int:
    """Process counts of a curve that two models at least can be fitted to, with one held out."""
    return sorted(model.coefficients + 1 for model in MODELS if model.scaling == scaling)[1]


def too_few_sentence(models: pd.DataFrame, best: pd.DataFrame, labels: Labels) -> str:
    """Say how many curves have too few counts for models to be compared; empty where all have enough.

    Takes the table of models, and what `compared_models` makes of it.
    """
    curves = len(models.drop_duplicates(CURVE))
    short = curves - len(best)
    if not short:
        return ""
    needed = counts_needed("weak" if labels.weak else "strong")
    has = "has" if short == 1 else "have"
    whose = "No curve has" if short == curves else f"{counted(short, 'curve')} of {curves} {has} not"
    return (
        f"{whose} the {counted(needed, 'process count')} at least that it takes to compare scaling models by "
        "their error at a count left out of the fit."
    )


def peak_text(row: Line) -> str:
    """Write a predicted peak with its interval; ∞ lies beyond the counts that the model predicts."""
    return bracketed(row, "peak", "peak_processes")


def bracketed(row: Line, quantity: str, column: str | None = None) -> str:
    """Write `column` of a row (else `quantity`) with the interval of `quantity`."""
    ends = (as_float(row[f"{quantity}_{end}"]) for end in ("low", "high"))
    return formats.bracketed(as_float(row[column or quantity]), *ends)
