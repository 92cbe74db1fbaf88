"""Tables of fitted scaling models, and curves to draw them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from analysis.curves.curves import Curve
from analysis.runs.columns import (
    COUNT,
    FLAG,
    NOTE,
    NUMBER,
    OF_A_CURVE,
    POSITIVE,
    TEXT,
    table_schemas,
    with_interval,
)
from analysis.runs.frames import Piece, Pieces
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

DRAWS = 1_000
"""Bootstrap draws that are fitted at most."""
SHARE = 4
"""Of so many draws the study makes, one is fitted."""
AVERAGE = "average"
"""Name of the average of a curve's models in ``model_curves``."""
EXACT = 1e-6
"""Held-out error below which a model is as good as exact."""
BRACKETED = 2
"""Of so many times the largest fitted count, intervals were seen to hold the truth; beyond, there is none."""
GRID = 12
"""Process counts besides the measured ones at which a fitted curve is evaluated, at most."""

TERMS = ("work_seconds", "constant_seconds", "log2_seconds", "linear_seconds")
"""Columns of the terms of `analysis.statistics.fits.cost_terms`."""
MODEL_TABLES = table_schemas(
    models=dict(
        **OF_A_CURVE,
        model=TEXT,
        formula=TEXT,
        **dict.fromkeys(("counts", "fitted_from", "fitted_to"), COUNT),
        **with_interval("serial_fraction", NUMBER),
        **with_interval("coherency", NUMBER),
        **dict.fromkeys((*TERMS, "fit_error_percent", "held_out_percent"), NUMBER),
        best=FLAG,
        told_to=COUNT,
        **dict.fromkeys(("peak_processes", "peak_low", "peak_high"), NUMBER),
        **dict.fromkeys(("limit_speedup", "limit_low", "limit_high"), NUMBER),
        processes_per_node=POSITIVE,
        note=NOTE,
    ),
    model_curves=dict(
        **OF_A_CURVE,
        model=TEXT,
        processes=COUNT,
        seconds=POSITIVE,
        **with_interval("speedup", POSITIVE),
        extrapolated=FLAG,
        processes_per_node=POSITIVE,
    ),
)
"""Schema of each table of this module by its name."""


def model_pieces(curves: Iterable[Curve], settings: Settings) -> Pieces:
    """Fit every model that fits the study's kind of scaling to every curve.

    Models of a curve are compared by their held-out error: the mean over its process counts of the
    relative error at a count that the fit did not see; `best` has the least, of equals the one with
    the fewest coefficients. Intervals are refits to bootstrap draws (`fitted_draws`). Nothing is said
    beyond `settings.extrapolation` times the largest fitted count: a peak beyond it is infinite. No interval
    reaches beyond `BRACKETED` times that count.
    `limit_speedup` is the formula's own bound, not a prediction, and has no interval.

    Returns
    -------
    Pieces
        ``models``, one row a curve and model; ``model_curves``, times and speedups of each and of the average
        of a curve's models, to draw.
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
    """Number of bootstrap draws that are fitted, the first of all: a quarter, 100 to `DRAWS`."""
    return min(max(draws // SHARE, 100), DRAWS)


@dataclass(frozen=True, eq=False)
class FittedTimes:
    """Times of a curve to which models are fitted.

    Attributes
    ----------
    processes, seconds : arrays (counts,)
        Above level 1 without the shared serial run, which is a point of level 1.
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
        """Take the times of a curve, with the first of its draws."""
        of_level = curve.own | (curve.oversubscription == 1)
        return cls(
            curve,
            curve.processes[of_level],
            curve.table["seconds"][of_level],
            curve.draws[of_level][..., :draws],
            curve.reference.draws[:, :draws],
        )


@dataclass(frozen=True, eq=False)
class Fit:
    """A model fitted to the times of a curve.

    Attributes
    ----------
    coefficients : array (coefficients, 1)
    draws : array (coefficients, scenarios × B)
        Refits to bootstrap draws, NaN where there are none.
    held_out : array (counts,)
        Relative error at each count of a fit to the others.
    told_to : int
        Largest process count of which it may speak.
    """

    model: ScalingModel
    coefficients: Floats
    draws: Floats
    held_out: Floats
    told_to: int


@dataclass(frozen=True)
class Unfitted:
    """A model that a curve has too few counts for, and the sentence that says so."""

    model: ScalingModel
    note: str


def fit_model(times: FittedTimes, model: ScalingModel, extrapolation: float) -> Fit | Unfitted:
    """Fit a model to the times of a curve."""
    counts, needed = len(times.processes), model.coefficients + 1
    if counts < needed:
        return Unfitted(model, f"needs {needed} process counts, has {counts}")
    drawn = times.draws.reshape(counts, -1)
    fitted, others, refits = (
        model.fit(times.processes, seconds)
        for seconds in (times.seconds[:, None], leave_each_out(times.seconds), drawn)
    )
    refits[:, np.isnan(drawn).any(axis=0)] = np.nan
    errors = held_out_errors(model, times.processes, times.seconds, others)
    return Fit(model, fitted, refits, errors, int(extrapolation * times.processes[-1]))


def _model_rows(times: FittedTimes, fits: Sequence[Fit | Unfitted], confidence: float) -> list[Piece]:
    """Make the rows of ``models`` for a curve."""
    errors = [
        np.inf if isinstance(fit, Unfitted) else np.nan_to_num(100 * fit.held_out.mean(), nan=np.inf).round(6)
        for fit in fits
    ]
    best = np.argmin(errors) if np.isfinite(errors).any() else -1  # of equals the fewest coefficients
    return [
        {**times.curve.names, **_model_row(times, fit, confidence), "best": number == best}
        for number, fit in enumerate(fits)
    ]


def _model_row(times: FittedTimes, fit: Fit | Unfitted, confidence: float) -> dict[str, object]:
    """Make the row of a model."""
    model = fit.model
    about = {"model": model.name, "formula": model.formula}
    if isinstance(fit, Unfitted):
        return about | {"note": fit.note}
    predicted = model.seconds(times.processes, fit.coefficients)[:, 0]
    row = about | {
        "counts": len(times.processes),
        "fitted_from": times.processes[0],
        "fitted_to": times.processes[-1],
        "told_to": fit.told_to,
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
        values["peak"], draws["peak"] = _within(fit, turning), _within(fit, turning_draws)
        with np.errstate(divide="ignore"):
            row["limit_speedup"] = (times.curve.reference.seconds / least_seconds(costs, turning)).item()
    for name, value in values.items():
        row["peak_processes" if name == "peak" else name] = value.item()
        row |= interval_columns(name, draws[name].reshape(times.reference_draws.shape), confidence)
    if row.get("peak_high", 0) > BRACKETED * times.processes[-1]:
        row |= {"peak_low": np.nan, "peak_high": np.nan}
    return row


def _within(fit: Fit, processes: Floats) -> Floats:
    """Process counts the fit may speak of; infinite beyond."""
    return np.where(processes > fit.told_to, np.inf, processes)


def _curve_pieces(times: FittedTimes, fits: Sequence[Fit], confidence: float) -> list[Piece]:
    """Make the rows of ``model_curves``: for each of a curve's models, and for their average."""
    last = times.processes[-1]
    counts = np.geomspace(times.processes[0], fits[0].told_to, GRID).round().astype(int)
    counts = np.union1d(counts, [*times.processes, min(BRACKETED * last, fits[0].told_to)])
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
    """Predict times and speedups (counts,) by each model, then by their average.

    A model's interval is that of its refits, and ends with the data: its form may be wrong beyond. The
    average weighs models by the inverse of their squared held-out errors (Bates and Granger, Operational
    Research Quarterly 20, 1969). To the spread of its refits it adds, squared, how far the models lie apart
    (Buckland, Burnham and Augustin, Biometrics 53, 1997), and how far the average misses: the data, and
    beyond them what was held out, at least as far as the last count from all others. Beyond `BRACKETED`
    times the data it has no interval.
    """
    curve, reference = times.curve, times.curve.reference
    grown = counts * (curve.table["cores"][-1] / curve.processes[-1]) / reference.cores
    gain = np.ones_like(grown) if fits[0].model.scaling == "strong" else grown
    beyond = counts > times.processes[-1]
    weights = _weights(fits)
    seconds = np.stack([fit.model.seconds(counts, fit.coefficients)[:, 0] for fit in fits])
    average = weights @ seconds
    refits = np.zeros((len(counts), *times.reference_draws.shape))

    def columns(time: Floats, low: Floats, high: Floats) -> dict[str, Floats]:
        ends = {"speedup_low": gain * low, "speedup_high": gain * high}
        return {"seconds": time, "speedup": gain * reference.seconds / time, **ends}

    for fit, weight, time in zip(fits, weights, seconds, strict=True):
        drawn = fit.model.seconds(counts, fit.draws).reshape(refits.shape)
        refits += weight * drawn
        low, high = percentile_interval(times.reference_draws / drawn, confidence)
        yield fit.model.name, columns(time, np.where(beyond, np.nan, low), np.where(beyond, np.nan, high))
    apart = weights @ (seconds / average - 1) ** 2
    missed = weights @ [fit.held_out for fit in fits]
    residuals = average[np.isin(counts, times.processes)] / times.seconds - 1
    error = np.where(beyond, max((missed**2).mean(), missed[-1] ** 2), (residuals**2).mean())
    more = NormalDist().inv_cdf((1 + confidence) / 2) ** 2 * (apart + error)
    speedup = reference.seconds / average
    ends = np.array(percentile_interval(times.reference_draws / refits, confidence))
    ends[:, counts > BRACKETED * times.processes[-1]] = np.nan
    below, above = np.sqrt(np.log(ends / speedup) ** 2 + more)
    yield AVERAGE, columns(average, speedup * np.exp(-below), speedup * np.exp(above))


def _weights(fits: Sequence[Fit]) -> Floats:
    """Weight of each model in the average, array (models,)."""
    squares = np.array([(fit.held_out**2).mean() for fit in fits])
    inverse = 1 / np.maximum(np.where(np.isnan(squares), np.inf, squares), EXACT**2)
    total = inverse.sum()
    return inverse / total if total > 0 else np.full(len(fits), 1 / len(fits))
