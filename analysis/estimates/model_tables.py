"""Tables of fitted scaling models, and curves to draw them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from analysis.estimates.bootstrap import interval_columns, percentile_interval
from analysis.estimates.curves import Curve, names_of
from analysis.estimates.models import (
    MODELS_OF,
    ScalingModel,
    cost_terms,
    fractions,
    held_out_errors,
    least_seconds,
    leave_each_out,
    turning_point,
)
from analysis.runs.groups import Floats
from analysis.runs.settings import Settings
from analysis.tables.contract import (
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
from analysis.tables.frames import Piece, Pieces
from analysis.tables.selection import CURVE

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
"""Columns of the terms of `analysis.estimates.models.cost_terms`."""
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
_OF_A_FIT = [name for name in MODEL_TABLES["models"].columns if name not in (*CURVE, "best", "site")]


def model_pieces(curves: Iterable[Curve], settings: Settings) -> Pieces:
    """Fit every model that fits the study's kind of scaling to every curve.

    Models of a curve are compared by their held-out error: the mean over its process counts of the
    relative error at a count that the fit did not see; `best` has the least, of equals the one with
    the fewest coefficients. Intervals are refits to bootstrap draws (`fitted_draws`). Nothing is said
    beyond `settings.extrapolation` times the largest fitted count: a peak beyond it is infinite. No interval
    reaches beyond `BRACKETED` times that count.
    `limit_speedup` is the formula's own bound, not a prediction, and has no interval.

    Parameters
    ----------
    curves : iterable of Curve
        Neighbours of the same process counts are fitted together, whatever their case.

    Returns
    -------
    Pieces
        ``models``, one row a curve and model; ``model_curves``, times and speedups of each and of the average
        of a curve's models, to draw.
    """
    pieces: Pieces = {"models": [], "model_curves": []}
    for group in _alike(curves, fitted_draws(settings.draws)):
        fits = [fit_model(group, model, settings.extrapolation) for model in MODELS_OF[settings.scaling]]
        pieces["models"].append(_model_columns(group, fits, settings.level))
        fitted = [fit for fit in fits if not isinstance(fit, Unfitted)]
        pieces["model_curves"] += [_curve_columns(group, fitted, settings.level)] if fitted else []
    return pieces


def fitted_draws(draws: int) -> int:
    """Number of bootstrap draws that are fitted, the first of all: a quarter, 100 to `DRAWS`."""
    return min(max(draws // SHARE, 100), DRAWS)


@dataclass(frozen=True, eq=False)
class FittedCurves:
    """Curves with the same process counts, which are fitted together.

    Attributes
    ----------
    processes : array (counts,)
        What is fitted; above level 1 without the shared serial run, which is a point of level 1.
    seconds : array (counts, curves)
    draws : array (counts, curves, scenarios, B)
    reference_seconds : array (curves,)
    reference_draws : array (curves, scenarios, B)
    """

    curves: list[Curve]
    processes: NDArray[np.int64]
    seconds: Floats
    draws: Floats
    reference_seconds: Floats
    reference_draws: Floats

    @cached_property
    def to_fit(self) -> Floats:
        """Times that every model is fitted to, (counts, fits): the curves, without each count, the draws."""
        counts = len(self.processes)
        return np.hstack([self.seconds, leave_each_out(self.seconds), self.draws.reshape(counts, -1)])


def _alike(curves: Iterable[Curve], draws: int) -> Iterator[FittedCurves]:
    """Curves in groups of the same fitted counts and shape of draws, in their order."""

    def fitted(curve: Curve) -> NDArray[np.bool_]:
        return curve.own | (curve.oversubscription == 1)

    def key(curve: Curve) -> tuple:
        return tuple(curve.processes[fitted(curve)]), curve.draws.shape[1:]

    for (processes, _), members in groupby(curves, key):
        group = list(members)
        yield FittedCurves(
            curves=group,
            processes=np.array(processes),
            seconds=np.stack([curve.table["seconds"][fitted(curve)] for curve in group], axis=1),
            draws=np.stack([curve.draws[..., :draws][fitted(curve)] for curve in group], axis=1),
            reference_seconds=np.array([curve.reference.seconds for curve in group]),
            reference_draws=np.stack([curve.reference.draws[:, :draws] for curve in group]),
        )


@dataclass(frozen=True, eq=False)
class Fit:
    """A model fitted to the curves of a group.

    Attributes
    ----------
    coefficients : array (coefficients, curves)
    draws : array (coefficients, curves × scenarios × B)
        Refits to bootstrap draws, NaN where there are none.
    held_out : array (counts, curves)
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
    """A model that curves have too few counts for, and the sentence that says so."""

    model: ScalingModel
    note: str


def fit_model(group: FittedCurves, model: ScalingModel, extrapolation: float) -> Fit | Unfitted:
    """Fit a model to all curves of a group."""
    counts, needed = len(group.processes), model.coefficients + 1
    if counts < needed:
        return Unfitted(model, f"needs {needed} process counts, has {counts}")
    times, size = group.to_fit, len(group.curves)
    ends = [size, size + counts * size]
    fitted, others, refits = np.split(model.fit(group.processes, times), ends, axis=1)
    refits[:, np.isnan(times[:, ends[-1] :]).any(axis=0)] = np.nan
    errors = held_out_errors(model, group.processes, group.seconds, others)
    return Fit(model, fitted, refits, errors, int(extrapolation * group.processes[-1]))


def _model_columns(group: FittedCurves, fits: Sequence[Fit | Unfitted], confidence: float) -> Piece:
    """Columns of ``models``, the models of a curve in successive rows."""
    models, size = [_columns_of_model(group, fit, confidence) for fit in fits], len(group.curves)
    columns = {}
    for name in _OF_A_FIT:
        values = [model.get(name, np.nan) for model in models]
        columns[name] = np.empty((size, len(models)), np.result_type(*values))
        for index, value in enumerate(values):
            columns[name][:, index] = value
        columns[name] = columns[name].ravel()
    errors = columns["held_out_percent"].astype(float).reshape(-1, len(models)).round(6)
    errors[np.isnan(errors)] = np.inf
    best = errors.argmin(axis=1)[:, None] == np.arange(len(models))  # of equals the fewest coefficients
    repeated = {name: np.repeat(column, len(models)) for name, column in names_of(group.curves).items()}
    return repeated | columns | {"best": (best & np.isfinite(errors)).ravel()}


def _columns_of_model(group: FittedCurves, fit: Fit | Unfitted, confidence: float) -> dict[str, NDArray]:
    """Columns (curves,) of one model."""
    model = fit.model
    about = {"model": np.array(model.name, object), "formula": np.array(model.formula, object)}
    if isinstance(fit, Unfitted):
        return about | {"note": np.array(fit.note, object)}
    predicted = model.seconds(group.processes, fit.coefficients)
    columns = about | {
        "counts": np.array(len(group.processes)),
        "fitted_from": group.processes[0],
        "fitted_to": group.processes[-1],
        "told_to": np.array(fit.told_to),
        "fit_error_percent": 100 * np.abs(predicted / group.seconds - 1).mean(axis=0),
        "held_out_percent": 100 * fit.held_out.mean(axis=0),
        "note": np.array(None, object),
    }
    costs, cost_draws = cost_terms(model, fit.coefficients), cost_terms(model, fit.draws)
    columns |= dict(zip(TERMS, costs, strict=True))
    names = ("serial_fraction", "coherency")
    values = dict(zip(names, fractions(model, fit.coefficients), strict=True))
    draws = dict(zip(names, fractions(model, fit.draws), strict=True))
    if model.scaling == "strong":
        turning, turning_draws = turning_point(costs), turning_point(cost_draws)
        values["peak"], draws["peak"] = _within(fit, turning), _within(fit, turning_draws)
        with np.errstate(divide="ignore"):
            columns["limit_speedup"] = group.reference_seconds / least_seconds(costs, turning)
    for name, value in values.items():
        drawn = draws[name].reshape(group.reference_draws.shape)
        columns |= {"peak_processes" if name == "peak" else name: value}
        columns |= interval_columns(name, drawn, confidence)
    if "peak_high" in columns:
        far = columns["peak_high"] > BRACKETED * group.processes[-1]
        columns |= {f"peak_{end}": np.where(far, np.nan, columns[f"peak_{end}"]) for end in ("low", "high")}
    return columns


def _within(fit: Fit, processes: Floats) -> Floats:
    """Process counts the fit may speak of; infinite beyond."""
    return np.where(processes > fit.told_to, np.inf, processes)


def _curve_columns(group: FittedCurves, fits: Sequence[Fit], confidence: float) -> Piece:
    """Columns of ``model_curves``: a curve's models and their average, the counts of each in order."""
    processes, last = group.processes, group.processes[-1]
    counts = np.geomspace(processes[0], fits[0].told_to, GRID).round().astype(int)
    counts = np.union1d(counts, [*processes, min(BRACKETED * last, fits[0].told_to)])
    tables = _predicted(group, fits, counts, confidence)
    shape = len(group.curves), len(tables), len(counts)
    values = {name: np.stack([table[name] for table in tables], axis=2) for name in tables[0]}
    models = np.array([*(fit.model.name for fit in fits), AVERAGE], object)
    return {
        **{name: np.repeat(column, shape[1] * shape[2]) for name, column in names_of(group.curves).items()},
        "model": np.broadcast_to(models[:, None], shape).ravel(),
        "processes": np.broadcast_to(counts, shape).ravel(),
        **{name: value.transpose(1, 2, 0).ravel() for name, value in values.items()},
        "extrapolated": np.broadcast_to(counts > last, shape).ravel(),
    }


def _predicted(
    group: FittedCurves, fits: Sequence[Fit], counts: NDArray[np.int64], confidence: float
) -> list[dict[str, Floats]]:
    """Times and speedups (counts, curves) of each model, then of their average.

    A model's interval is that of its refits, and ends with the data: its form may be wrong beyond. The
    average weighs models by the inverse of their squared held-out errors (Bates and Granger, Operational
    Research Quarterly 20, 1969). To the spread of its refits it adds, squared, how far the models lie apart
    (Buckland, Burnham and Augustin, Biometrics 53, 1997), and how far the average misses: the data, and
    beyond them what was held out, at least as far as the last count from all others. Beyond `BRACKETED`
    times the data it has no interval.
    """
    ratios = np.array([curve.table["cores"][-1] / curve.processes[-1] for curve in group.curves])
    grown = counts[:, None] * ratios / [curve.reference.cores for curve in group.curves]
    gain = np.ones_like(grown) if fits[0].model.scaling == "strong" else grown
    beyond = counts > group.processes[-1]
    weights = _weights(fits)
    seconds = [fit.model.seconds(counts, fit.coefficients) for fit in fits]
    average = sum(weight * time for weight, time in zip(weights, seconds, strict=True))
    refits = np.zeros((len(counts), *group.reference_draws.shape))
    tables = []

    def table(time: Floats, low: Floats, high: Floats) -> dict[str, Floats]:
        ends = {"speedup_low": gain * low, "speedup_high": gain * high}
        return {"seconds": time, "speedup": gain * group.reference_seconds / time, **ends}

    for fit, weight, time in zip(fits, weights, seconds, strict=True):
        drawn = fit.model.seconds(counts, fit.draws).reshape(refits.shape)
        refits += weight[:, None, None] * drawn
        ends = np.full((2, *time.shape), np.nan)
        ends[:, ~beyond] = percentile_interval(group.reference_draws / drawn[~beyond], confidence)
        tables.append(table(time, *ends))
    apart = sum(weight * (time / average - 1) ** 2 for weight, time in zip(weights, seconds, strict=True))
    missed = sum(weight * fit.held_out for weight, fit in zip(weights, fits, strict=True))
    residuals = average[np.isin(counts, group.processes)] / group.seconds - 1
    error = (residuals**2).mean(axis=0) + np.zeros(average.shape)
    error[beyond] = np.maximum((missed**2).mean(axis=0), missed[-1] ** 2)
    more = NormalDist().inv_cdf((1 + confidence) / 2) ** 2 * (apart + error)
    speedup = group.reference_seconds / average
    ends = np.array(percentile_interval(group.reference_draws / refits, confidence))
    ends[:, counts > BRACKETED * group.processes[-1]] = np.nan
    below, above = (np.log(end / speedup) ** 2 for end in ends)
    return [*tables, table(average, *(speedup * np.exp([-np.sqrt(below + more), np.sqrt(above + more)])))]


def _weights(fits: Sequence[Fit]) -> Floats:
    """Weight of each model in the average, array (models, curves)."""
    squares = np.stack([(fit.held_out**2).mean(axis=0) for fit in fits])
    inverse = 1 / np.maximum(np.where(np.isnan(squares), np.inf, squares), EXACT**2)
    total = inverse.sum(axis=0)
    return np.where(total > 0, inverse / np.where(total > 0, total, 1), 1 / len(fits))
