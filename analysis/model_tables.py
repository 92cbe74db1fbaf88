"""Tables of fitted scaling models, and curves to draw them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.bootstrap import Floats, percentile_interval
from analysis.curves import Curve, make_curves, ranking
from analysis.metrics import scaled_speedup
from analysis.models import MODELS, Model, cost_terms, fractions, least_seconds, turning_point
from analysis.points import cases
from analysis.schemas import COUNT, FLAG, NOTE, NUMBER, POSITIVE, TEXT, table_schema, validated
from analysis.settings import Settings

DRAWS = 1_000
"""Bootstrap draws that are fitted; the first of those of the study."""
GRID = 40
"""Process counts at which a fitted curve is told, at most."""

_CURVE = {"case": TEXT, "interconnect": TEXT, "kind": TEXT, "oversubscription": COUNT, "model": TEXT}
MODEL_TABLES = {
    "models": table_schema(
        "models",
        **_CURVE,
        formula=TEXT,
        counts=COUNT,
        fitted_from=COUNT,
        fitted_to=COUNT,
        serial_fraction=NUMBER,
        serial_fraction_low=NUMBER,
        serial_fraction_high=NUMBER,
        coherency=NUMBER,
        coherency_low=NUMBER,
        coherency_high=NUMBER,
        work_seconds=NUMBER,
        constant_seconds=NUMBER,
        log2_seconds=NUMBER,
        linear_seconds=NUMBER,
        fit_error_percent=NUMBER,
        held_out_percent=NUMBER,
        best=FLAG,
        told_to=COUNT,
        peak_processes=NUMBER,
        peak_low=NUMBER,
        peak_high=NUMBER,
        limit_speedup=NUMBER,
        limit_low=NUMBER,
        limit_high=NUMBER,
        processes_per_node=POSITIVE,
        note=NOTE,
    ),
    "model_curves": table_schema(
        "model_curves",
        **_CURVE,
        processes=COUNT,
        seconds=POSITIVE,
        speedup=POSITIVE,
        speedup_low=POSITIVE,
        speedup_high=POSITIVE,
        extrapolated=FLAG,
        processes_per_node=POSITIVE,
    ),
}
"""Schema of each table of this module by its name."""


def make_model_tables(runs: pd.DataFrame, settings: Settings) -> dict[str, pd.DataFrame]:
    """Fit every model that fits the study's kind of scaling to every curve.

    Models of a curve are compared by their held-out error: the mean over its process counts of the
    relative error at a count that the fit did not see; `best` has the least, of equals the one with
    the fewest coefficients. Intervals are refits to bootstrap draws. Nothing is told beyond
    `settings.extrapolation` times the largest fitted count: a peak beyond it is infinite.
    `limit_speedup` is the formula's own bound, not a prediction.

    Parameters
    ----------
    runs : DataFrame
        As `analysis.records.read_runs` gives it.
    settings : Settings

    Returns
    -------
    dict of DataFrame
        ``models``, one row a curve and model; ``model_curves``, fitted times and speedups to draw.
    """
    ranked = ranking(runs)
    rows: dict[str, list[dict[str, object]]] = {name: [] for name in MODEL_TABLES}
    for points in cases(runs, settings):
        for curve in make_curves(points, ranked, settings):
            found, grid = _curve_rows(curve, settings)
            rows["models"] += found
            rows["model_curves"] += grid
    return {name: validated(schema, pd.DataFrame(rows[name])) for name, schema in MODEL_TABLES.items()}


@dataclass(frozen=True, eq=False)
class Fit:
    """A model fitted to one curve.

    Attributes
    ----------
    curve : Curve
    model : Model
    processes, seconds : arrays (counts,)
        What it was fitted to.
    coefficients : array (coefficients, 1)
    draws : array (coefficients, scenarios × B)
        Refits to bootstrap draws, NaN where there are none.
    shape : tuple of int
        Scenarios, B.
    told_to : int
        Largest process count of which it may speak.
    """

    curve: Curve
    model: Model
    processes: NDArray[np.int64]
    seconds: Floats
    coefficients: Floats
    draws: Floats
    shape: tuple[int, int]
    told_to: int

    def interval(self, draws: Floats, level: float) -> tuple[Floats, Floats]:
        """Interval of draws (..., scenarios × B)."""
        return percentile_interval(draws.reshape(*draws.shape[:-1], *self.shape), level)

    def speedup(self, seconds: Floats, reference: Floats | float, processes: Floats) -> Floats:
        """Speedup of predicted times; weak scaling: the scaled speedup."""
        ratio = self.curve.table["cores"][-1] / self.curve.processes[-1]
        cores = 1 if self.model.scaling == "strong" else processes * ratio
        reference_cores = 1 if self.model.scaling == "strong" else self.curve.reference.cores
        return scaled_speedup(seconds, reference, cores, reference_cores)

    @property
    def reference_draws(self) -> Floats:
        """Draws (scenarios × B) of the reference time."""
        return self.curve.reference.draws[:, :DRAWS].reshape(-1)


def fit_model(curve: Curve, model: Model, extrapolation: float) -> Fit | str:
    """Fit a model to a curve; a sentence where the curve has too few counts.

    Above level 1 the shared serial run is left out: it is a point of level 1.
    """
    use = curve.own | (curve.oversubscription == 1)
    processes, seconds, draws = (
        curve.processes[use],
        curve.table["seconds"][use],
        curve.draws[use][..., :DRAWS],
    )
    needed = model.coefficients + 1
    if len(processes) < needed:
        return f"needs {needed} process counts, has {len(processes)}"
    flat = draws.reshape(len(processes), -1)
    none = np.full((model.coefficients, flat.shape[1]), np.nan)
    refits = none if np.isnan(flat).any() else model.fit(processes, flat)
    fitted = model.fit(processes, seconds[:, None])
    told_to = int(extrapolation * processes[-1])
    return Fit(curve, model, processes, seconds, fitted, refits, draws.shape[1:], told_to)


def _curve_rows(curve: Curve, settings: Settings) -> tuple[list[dict], list[dict]]:
    """Rows of both tables for one curve."""
    rows, grid = [], []
    for model in (model for model in MODELS if model.scaling == settings.scaling):
        row = {
            "case": curve.case,
            "interconnect": curve.interconnect,
            "kind": curve.kind,
            "oversubscription": curve.oversubscription,
            "processes_per_node": curve.processes_per_node,
            "model": model.name,
        }
        fit = fit_model(curve, model, settings.extrapolation)
        if isinstance(fit, str):
            rows.append(row | {"formula": model.formula, "note": fit})
            continue
        rows.append(row | {"formula": model.formula} | _model_row(fit, settings.level))
        grid += [row | point for point in _grid(fit, settings.level)]
    held_out = [round(row.get("held_out_percent", np.inf), 6) for row in rows]
    best = int(np.argmin(held_out))  # of equals the first, which has the fewest coefficients
    return [row | {"best": i == best and held_out[i] < np.inf} for i, row in enumerate(rows)], grid


def _model_row(fit: Fit, level: float) -> dict[str, object]:
    model = fit.model
    predicted = model.seconds(fit.processes, fit.coefficients)[:, 0]
    row = {
        "counts": len(fit.processes),
        "fitted_from": fit.processes[0],
        "fitted_to": fit.processes[-1],
        "told_to": fit.told_to,
        "fit_error_percent": 100 * np.abs(predicted / fit.seconds - 1).mean(),
        "held_out_percent": 100 * model.held_out_errors(fit.processes, fit.seconds).mean(),
    }
    costs, cost_draws = cost_terms(model, fit.coefficients), cost_terms(model, fit.draws)
    terms = ("work_seconds", "constant_seconds", "log2_seconds", "linear_seconds")
    row |= dict(zip(terms, costs[:, 0], strict=True))
    values = dict(zip(("serial_fraction", "coherency"), fractions(model, fit.coefficients), strict=True))
    draws = dict(zip(("serial_fraction", "coherency"), fractions(model, fit.draws), strict=True))
    if model.scaling == "strong":
        values["peak"], draws["peak"] = (
            _within(fit, turning_point(costs)),
            _within(fit, turning_point(cost_draws)),
        )
        with np.errstate(divide="ignore"):
            values["limit"] = fit.curve.reference.seconds / least_seconds(costs)
            draws["limit"] = fit.reference_draws / least_seconds(cost_draws)
    told = {"peak": "peak_processes", "limit": "limit_speedup"}
    for name, value in values.items():
        low, high = fit.interval(draws[name], level)
        row |= {told.get(name, name): value[0], f"{name}_low": low, f"{name}_high": high}
    return row


def _within(fit: Fit, processes: Floats) -> Floats:
    """Process counts the fit may speak of; infinite beyond."""
    return np.where(processes > fit.told_to, np.inf, processes)


def _grid(fit: Fit, level: float) -> Iterator[dict[str, object]]:
    counts = np.unique(np.geomspace(fit.processes[0], fit.told_to, GRID).round().astype(int))
    counts = np.union1d(counts, fit.processes)
    seconds = fit.model.seconds(counts, fit.coefficients)[:, 0]
    speedup = fit.speedup(seconds, fit.curve.reference.seconds, counts)
    draws = fit.speedup(fit.model.seconds(counts, fit.draws), fit.reference_draws, counts[:, None])
    low, high = fit.interval(draws, level)
    for i, count in enumerate(counts):
        yield {
            "processes": count,
            "seconds": seconds[i],
            "speedup": speedup[i],
            "speedup_low": low[i],
            "speedup_high": high[i],
            "extrapolated": count > fit.processes[-1],
        }
