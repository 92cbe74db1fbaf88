"""What fitted scaling models say, in plain sentences: from the tables of models to text."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.estimates.model_tables import AVERAGE
from analysis.estimates.models import MODELS
from analysis.tables.missing import Line, as_float, is_missing
from analysis.tables.selection import CURVE, alike
from analysis.text import formats
from analysis.text.formats import counted, listed
from analysis.text.labels import Labels
from analysis.text.scaling import and_level, processes

TITLES = {
    "amdahl": "Amdahl's law",
    "usl": "USL",
    "communication": "communication model",
    "gustafson": "Gustafson's law",
}
"""What a model is called, by its name."""
STARTS = {
    "inside": "Predicted peak within the {} that were run",
    "beyond": "Predicted peak beyond the {} that were run",
    "none": "No peak is predicted up to {}, as far as a model is told",
    "scaled": "Prediction for {}, as far as a model is told",
}
"""How a sentence begins, by where the peak lies, with the count that this refers to."""


def model_title(name: object) -> str:
    """Title of a model."""
    return TITLES.get(str(name), str(name))


def compared_models(models: pd.DataFrame) -> pd.DataFrame:
    """Give the best model of every curve of which at least two could be fitted.

    Parameters
    ----------
    models : DataFrame
        As `analysis.estimates.model_tables.make_model_tables` gives it.

    Returns
    -------
    DataFrame
        Rows of `models` with ``next_percent``, the smallest held-out error of the curve's other models.
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


def model_sentences(best: pd.DataFrame, curves: pd.DataFrame, labels: Labels) -> list[str]:
    """Say where the best model of each curve of a case peaks, and what it predicts at most.

    Takes rows of one case as `compared_models` gives them, and those of the table ``model_curves``.
    """
    curves_by_peak: dict[tuple[str, float], list[str]] = {}
    for row in labels.lines(best, "interconnect"):
        at = and_level(best, row["oversubscription"]).replace(" and", " at")
        name = f"{labels.curve(row)}{at} ({_numbers(row, curves, labels)})"
        curves_by_peak.setdefault(_where_peak_lies(row), []).append(name)
    return [
        f"{STARTS[where].format(processes(count))}: {listed(names)}."
        for (where, count), names in sorted(curves_by_peak.items())
    ]


def _where_peak_lies(row: Line) -> tuple[str, float]:
    """Say by a word where the predicted peak lies, and give the count that this refers to."""
    peak = as_float(row["peak_processes"])
    if is_missing(peak):
        return "scaled", as_float(row["told_to"])
    if np.isinf(peak):
        return "none", as_float(row["told_to"])
    beyond = peak > as_float(row["fitted_to"])
    return "beyond" if beyond else "inside", as_float(row["fitted_to"])


def _numbers(row: Line, curves: pd.DataFrame, labels: Labels) -> str:
    where, _ = _where_peak_lies(row)
    if where in ("inside", "beyond"):
        figures = [f"at {peak_text(row)} processes"]
    else:
        point = {**row, "model": AVERAGE, "processes": int(as_float(row["told_to"]))}
        last = alike(curves, point, [*CURVE, "model", "processes"]).iloc[0].to_dict()
        figures = [f"{labels.speedup} {bracketed(last, 'speedup')} on average of the models"]
    if where != "scaled":
        figures.append(f"limit {formats.number(as_float(row['limit_speedup']))}")
    error = formats.percent(as_float(row["held_out_percent"]))
    return f"{', '.join(figures)}; {model_title(row['model'])}, held-out error {error}"


def peak_text(row: Line) -> str:
    """Write a predicted peak with its interval; ∞ lies beyond the counts that the model predicts."""
    return bracketed(row, "peak", "peak_processes")


def bracketed(row: Line, quantity: str, column: str | None = None) -> str:
    """Write `column` of a row (else `quantity`) with the interval of `quantity`."""
    ends = (as_float(row[f"{quantity}_{end}"]) for end in ("low", "high"))
    return formats.bracketed(as_float(row[column or quantity]), *ends)
