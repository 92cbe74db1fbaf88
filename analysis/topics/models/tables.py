"""Tables of fitted scaling models and of their predictions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from analysis.curves.curves import Curve
from analysis.runs.columns import (
    COUNT,
    CURVE_COLUMNS,
    FLAG,
    NOTE,
    NUMBER,
    POSITIVE,
    TEXT,
    described,
    table_schema,
    table_schemas,
    with_descriptions,
    with_interval,
)
from analysis.runs.frames import Piece, Pieces, Tables, stacked
from analysis.runs.settings import Settings
from analysis.statistics import Floats
from analysis.statistics.bootstrap import interval_columns, percentile_interval
from analysis.statistics.fits import (
    MODELS_OF,
    ScalingModel,
    cost_terms,
    fractions,
    held_out_errors,
    least_seconds,
    leave_each_out,
    turning_point,
)
from analysis.topics.topic import Context

DRAWS = 1_000
"""Most bootstrap draws that are fitted."""
AVERAGE = "average"
"""Name in ``model_curves`` of the average over the models of a curve."""
EXACT = 1e-6
"""Held-out error below which a model counts as exact."""
BRACKETED = 2
"""Multiple of the largest fitted count up to which intervals were found to cover the truth."""
GRID = 12
"""Most process counts, in addition to the measured counts, at which a fitted curve is evaluated."""

TERMS = ("work_seconds", "constant_seconds", "log2_seconds", "linear_seconds")
"""Columns of the terms of `analysis.statistics.fits.cost_terms`."""
MODEL_TABLES = table_schemas(
    table_schema(
        "models",
        "One row per curve and scaling model.",
        **CURVE_COLUMNS,
        model=described(
            TEXT, "`amdahl`, `usl`, `communication`; in weak scaling `gustafson`, `communication`."
        ),
        formula=described(TEXT, "Time as a function of processes."),
        counts=described(COUNT, "Number of process counts in the fit."),
        fitted_from=described(COUNT, "Smallest process count in the fit."),
        fitted_to=described(COUNT, "Largest process count in the fit."),
        **with_descriptions(with_interval("serial_fraction", NUMBER), serial_fraction="Coefficient *f*."),
        **with_descriptions(with_interval("coherency", NUMBER), coherency="Coefficient *k*."),
        **with_descriptions(
            dict.fromkeys((*TERMS, "fit_error_percent", "held_out_percent"), NUMBER),
            work_seconds="Coefficient *a* of the time in the form of `communication`; empty for `gustafson`.",
            constant_seconds="Coefficient *b* of that form.",
            log2_seconds="Coefficient *c* of that form.",
            linear_seconds="Coefficient *d* of that form.",
            fit_error_percent="Mean relative error at the fitted counts.",
            held_out_percent="Mean relative error at each count of a fit to all others.",
        ),
        best=described(FLAG, "Whether `held_out_percent` is the smallest of the curve."),
        predicted_to=described(COUNT, "Largest process count of a prediction."),
        peak_processes=described(
            NUMBER,
            "Process count with the smallest fitted time; `inf` beyond `predicted_to`. Its interval ends "
            "at twice `fitted_to`.",
        ),
        peak_low=NUMBER,
        peak_high=NUMBER,
        limit_speedup=described(NUMBER, "Upper bound of the speedup in the formula, without an interval."),
        limit_low=NUMBER,
        limit_high=NUMBER,
        processes_per_node=POSITIVE,
        note=NOTE,
    ),
    table_schema(
        "model_curves",
        "One row per curve, model and process count, for drawing. A single model has no interval "
        "beyond the largest fitted count. The interval of the average also contains the spread of"
        " the models and, beyond the data, their held-out error; it is empty beyond twice the "
        "largest fitted count.",
        **CURVE_COLUMNS,
        model=described(TEXT, "The model; `average` is the mean of all, weighted by their held-out errors."),
        processes=COUNT,
        seconds=described(POSITIVE, "Fitted time."),
        **with_interval("speedup", POSITIVE),
        extrapolated=described(FLAG, "Whether the count is beyond the largest fitted count."),
        processes_per_node=POSITIVE,
    ),
)


def make_models(context: Context) -> Tables:
    """Make the tables ``models`` and ``model_curves``."""
    pieces: Pieces = {name: [] for name in MODEL_TABLES}
    for curves in context.curves.cases:
        for name, case_pieces in model_pieces(curves, context.settings).items():
            pieces[name] += case_pieces
    return {name: stacked(table_pieces) for name, table_pieces in pieces.items()}


def model_pieces(curves: Iterable[Curve], settings: Settings) -> Pieces:
    """Fit every model for the study's kind of scaling to every curve.

    The held-out error of a model is its mean relative error at a process count that the fit did not use. The
    best model has the smallest held-out error; among equals, the model with the fewest coefficients is best.
    Intervals come from refits to bootstrap draws (`fitted_draws`).

    Predictions end at `settings.extrapolation` times the largest fitted count: a later peak is infinite.
    Intervals end at `BRACKETED` times that count. `limit_speedup` is the bound of the formula. It is not a
    prediction and has no interval.

    Returns
    -------
    Pieces
        ``models``: a row for each curve and model. ``model_curves``: times and speedups predicted by each
        model and by the average over the models of a curve.
    """
    pieces: Pieces = {"models": [], "model_curves": []}
    for curve in curves:
        times = FittedTimes.of(curve, fitted_draws(settings.draws))
        fits = [fit_model(times, model, settings.extrapolation) for model in MODELS_OF[settings.scaling]]
        pieces["models"] += _model_rows(times, fits, settings.level)
        fitted = [fit for fit in fits if not isinstance(fit, Unfitted)]
        pieces["model_curves"] += _curve_pieces(times, fitted, settings.level) if fitted else []
    return pieces


def fitted_draws(draws: int) -> int:
    """Return the number of bootstrap draws to fit: a quarter of `draws`, 100 to `DRAWS`."""
    return min(max(draws // 4, 100), DRAWS)


@dataclass(frozen=True, eq=False)
class FittedTimes:
    """Times of a curve to which models are fitted.

    Attributes
    ----------
    processes, seconds : arrays (counts,)
        The shared serial run has oversubscription 1 and is left out of curves above that level.
    draws : array (counts, scenarios, B)
    reference_draws : array (scenarios, B)
    """

    curve: Curve
    processes: NDArray[np.int64]
    seconds: Floats
    draws: Floats
    reference_draws: Floats

    @classmethod
    def of(cls, curve: Curve, draws: int) -> FittedTimes:
        """Take the times of a curve and the first `draws` of its bootstrap draws."""
        at_level = ~curve.is_serial | (curve.oversubscription == 1)
        return cls(
            curve,
            curve.processes[at_level],
            curve.table["seconds"][at_level],
            curve.draws[at_level][..., :draws],
            curve.reference.draws[:, :draws],
        )


@dataclass(frozen=True, eq=False)
class Fit:
    """A model fitted to the times of a curve.

    Attributes
    ----------
    coefficients : array (coefficients, 1)
    draws : array (coefficients, scenarios × B)
        Refits to bootstrap draws; NaN without draws.
    held_out : array (counts,)
        Relative error at each count of a fit to the other counts.
    largest_count : int
        Largest process count that the model predicts.
    """

    model: ScalingModel
    coefficients: Floats
    draws: Floats
    held_out: Floats
    largest_count: int


@dataclass(frozen=True)
class Unfitted:
    """A model that cannot be fitted since the curve has too few counts; the note states the numbers."""

    model: ScalingModel
    note: str


def fit_model(times: FittedTimes, model: ScalingModel, extrapolation: float) -> Fit | Unfitted:
    """Fit a model to the times of a curve, to the times without each count, and to the draws."""
    counts, needed = len(times.processes), model.coefficients + 1
    if counts < needed:
        return Unfitted(model, f"needs {needed} process counts, has {counts}")
    draws = times.draws.reshape(counts, -1)
    coefficients = model.fit(times.processes, times.seconds[:, None])
    held_out_fits = model.fit(times.processes, leave_each_out(times.seconds))
    refits = model.fit(times.processes, draws)
    refits[:, np.isnan(draws).any(axis=0)] = np.nan
    errors = held_out_errors(model, times.processes, times.seconds, held_out_fits)
    return Fit(model, coefficients, refits, errors, int(extrapolation * times.processes[-1]))


def _model_rows(times: FittedTimes, fits: Sequence[Fit | Unfitted], confidence: float) -> list[Piece]:
    """Make the rows of ``models`` for a curve, in the order of the fits."""
    mean_errors = [np.nan if isinstance(fit, Unfitted) else 100 * fit.held_out.mean() for fit in fits]
    errors = np.nan_to_num(mean_errors, nan=np.inf).round(6)
    # Models are ordered by their number of coefficients, so argmin picks the simplest of equals.
    best = np.argmin(errors) if np.isfinite(errors).any() else -1
    return [
        {**times.curve.names, **_model_row(times, fit, confidence), "best": number == best}
        for number, fit in enumerate(fits)
    ]


def _model_row(times: FittedTimes, fit: Fit | Unfitted, confidence: float) -> dict[str, object]:
    """Make the row of a model in ``models``, without the names of its curve."""
    model = fit.model
    row: dict[str, object] = {"model": model.name, "formula": model.formula}
    if isinstance(fit, Unfitted):
        return row | {"note": fit.note}
    predicted = model.seconds(times.processes, fit.coefficients)[:, 0]
    row |= {
        "counts": len(times.processes),
        "fitted_from": times.processes[0],
        "fitted_to": times.processes[-1],
        "predicted_to": fit.largest_count,
        "fit_error_percent": 100 * np.abs(predicted / times.seconds - 1).mean(),
        "held_out_percent": 100 * fit.held_out.mean(),
    }
    costs, cost_draws = cost_terms(model, fit.coefficients), cost_terms(model, fit.draws)
    row |= dict(zip(TERMS, costs[:, 0], strict=True))
    names = ("serial_fraction", "coherency")
    values = dict(zip(names, fractions(model, fit.coefficients), strict=True))
    draws = dict(zip(names, fractions(model, fit.draws), strict=True))
    if model.scaling == "strong":
        turning, turning_draws = turning_point(costs), turning_point(cost_draws)
        values["peak"] = _within_predictions(fit, turning)
        draws["peak"] = _within_predictions(fit, turning_draws)
        with np.errstate(divide="ignore"):
            row["limit_speedup"] = (times.curve.reference.seconds / least_seconds(costs, turning)).item()
    for name, value in values.items():
        row["peak_processes" if name == "peak" else name] = value.item()
        ends = interval_columns(name, draws[name].reshape(times.reference_draws.shape), confidence)
        if name == "peak" and ends["peak_high"] > BRACKETED * times.processes[-1]:
            row |= dict.fromkeys(ends, np.nan)
        else:
            row |= ends
    return row


def _within_predictions(fit: Fit, processes: Floats) -> Floats:
    """Replace process counts above the largest predicted count by infinity."""
    return np.where(processes > fit.largest_count, np.inf, processes)


def _curve_pieces(times: FittedTimes, fits: Sequence[Fit], confidence: float) -> list[Piece]:
    """Make the rows of ``model_curves`` for the models of a curve and for their average."""
    last = times.processes[-1]
    counts = np.geomspace(times.processes[0], fits[0].largest_count, GRID).round().astype(int)
    counts = np.union1d(counts, [*times.processes, min(BRACKETED * last, fits[0].largest_count)])
    return [
        {
            **times.curve.names,
            "model": name,
            "processes": counts,
            **predicted,
            "extrapolated": counts > last,
        }
        for name, predicted in _predicted(times, fits, counts, confidence)
    ]


def _predicted(
    times: FittedTimes, fits: Sequence[Fit], counts: NDArray[np.int64], confidence: float
) -> Iterator[tuple[str, dict[str, Floats]]]:
    """Predict times and speedups (counts,) with each model, then with the average over the models.

    The interval of a model comes from its refits. It ends at the largest count of the data, since the form of
    the model may be wrong beyond the data. The average weighs models by the inverse of their squared held-out
    errors (Bates and Granger, Operational Research Quarterly 20, 1969). The interval of the average ends at
    `BRACKETED` times the largest count of the data; `_added_variance` widens it.

    Yields
    ------
    name : str
        Name of the model, or `AVERAGE`.
    columns : dict of str to array (counts,)
        ``seconds``, ``speedup``, ``speedup_low`` and ``speedup_high``.
    """
    curve, reference = times.curve, times.curve.reference
    work = counts * (curve.table["cores"][-1] / curve.processes[-1]) / reference.cores
    gain = np.ones_like(work) if fits[0].model.scaling == "strong" else work
    is_beyond_data = counts > times.processes[-1]
    weights = _weights(fits)
    seconds = np.stack([fit.model.seconds(counts, fit.coefficients)[:, 0] for fit in fits])
    average = weights @ seconds
    average_draws = np.zeros((len(counts), *times.reference_draws.shape))

    def columns(time: Floats, low: Floats, high: Floats) -> dict[str, Floats]:
        ends = {"speedup_low": gain * low, "speedup_high": gain * high}
        return {"seconds": time, "speedup": gain * reference.seconds / time, **ends}

    for fit, weight, time in zip(fits, weights, seconds, strict=True):
        time_draws = fit.model.seconds(counts, fit.draws).reshape(average_draws.shape)
        average_draws += weight * time_draws
        ends = np.array(percentile_interval(times.reference_draws / time_draws, confidence))
        ends[:, is_beyond_data] = np.nan
        yield fit.model.name, columns(time, *ends)
    ends = np.array(percentile_interval(times.reference_draws / average_draws, confidence))
    ends[:, counts > BRACKETED * times.processes[-1]] = np.nan
    speedup = reference.seconds / average
    variance = _added_variance(times, fits, counts, seconds)
    below, above = np.sqrt(
        np.log(ends / speedup) ** 2 + NormalDist().inv_cdf((1 + confidence) / 2) ** 2 * variance
    )
    yield AVERAGE, columns(average, speedup * np.exp(-below), speedup * np.exp(above))


def _added_variance(
    times: FittedTimes, fits: Sequence[Fit], counts: NDArray[np.int64], seconds: Floats
) -> Floats:
    """Compute the relative variance (counts,) that the interval of the average adds to the spread of refits.

    It is the sum of two terms. The first is the squared distance between the models (Buckland, Burnham and
    Augustin, Biometrics 53, 1997). The second is the squared error of the average. Within the data it comes
    from the residuals. Beyond the data it comes from the held-out errors, and is at least the squared error
    at the last count.

    Parameters
    ----------
    seconds : array (models, counts)
        Times that each model predicts.
    """
    weights = _weights(fits)
    average = weights @ seconds
    distance = weights @ (seconds / average - 1) ** 2
    held_out = weights @ [fit.held_out for fit in fits]
    residuals = average[np.isin(counts, times.processes)] / times.seconds - 1
    error_beyond = max((held_out**2).mean(), held_out[-1] ** 2)
    error = np.where(counts > times.processes[-1], error_beyond, (residuals**2).mean())
    return np.asarray(distance + error)


def _weights(fits: Sequence[Fit]) -> Floats:
    """Compute the weight of each model in the average, array (models,)."""
    squares = np.array([(fit.held_out**2).mean() for fit in fits])
    inverse = 1 / np.maximum(np.where(np.isnan(squares), np.inf, squares), EXACT**2)
    total = inverse.sum()
    return inverse / total if total > 0 else np.full(len(fits), 1 / len(fits))
