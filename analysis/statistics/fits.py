"""Scaling models: time as a function of the process count, with coefficients of at least 0."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import nnls

from analysis.statistics import Floats


@dataclass(frozen=True)
class ScalingModel:
    """A model whose time, or whose rate 1/T, is a sum of terms with coefficients of at least 0.

    Attributes
    ----------
    scaling : str
        Kind of scaling that the model describes, ``strong`` or ``weak``.
    summands : tuple of str
        Keys of `_TERMS`, one per coefficient.
    is_rate : bool
        Whether the terms add up to 1/T instead of T.
    """

    name: str
    formula: str
    scaling: str
    summands: tuple[str, ...]
    is_rate: bool = False

    @property
    def coefficients(self) -> int:
        """Number of coefficients."""
        return len(self.summands)

    def terms(self, processes: Floats) -> Floats:
        """Compute the terms (counts, coefficients) at process counts (counts,)."""
        return np.stack([_TERMS[summand](processes) for summand in self.summands], axis=1)

    def fit(self, processes: ArrayLike, seconds: Floats) -> Floats:
        """Fit the coefficients by least squares of the relative error.

        Parameters
        ----------
        processes : array (counts,)
            Process counts.
        seconds : array (counts, fits)
            Times; a fit skips counts with NaN.

        Returns
        -------
        array (coefficients, fits)
            NaN if a fit has fewer counts than coefficients.
        """
        missing = np.isnan(seconds)
        weights = np.where(missing, 0, seconds if self.is_rate else 1 / seconds)
        fitted = nonnegative_fit(self.terms(np.asarray(processes, float)), weights)
        fitted_counts = (~missing).sum(axis=0)
        fitted[:, fitted_counts < self.coefficients] = np.nan
        return fitted

    def seconds(self, processes: ArrayLike, coefficients: Floats) -> Floats:
        """Predict times (counts, fits) from coefficients (coefficients, fits)."""
        total = self.terms(np.asarray(processes, float)) @ coefficients
        return 1 / total if self.is_rate else total


def leave_each_out(seconds: Floats) -> Floats:
    """Return times (counts, counts) with one count missing (NaN) per column, for `held_out_errors`."""
    return np.where(np.eye(len(seconds), dtype=bool), np.nan, seconds[:, None])


def held_out_errors(model: ScalingModel, processes: ArrayLike, seconds: Floats, fitted: Floats) -> Floats:
    """Compute the relative error |predicted/T - 1| at each count, (counts,), from a fit to all other counts.

    `fitted`, array (coefficients, counts), is the fit to the times from `leave_each_out`.
    """
    return np.abs(np.diagonal(model.seconds(processes, fitted)) / seconds - 1)


def nonnegative_fit(terms: Floats, weights: Floats) -> Floats:
    """Find coefficients x >= 0 that minimise the sum over counts of (weight × terms · x - 1)^2.

    Parameters
    ----------
    terms : array (counts, coefficients)
        Value of each term at each count.
    weights : array (counts, fits)
        A fit skips counts of weight 0.

    Returns
    -------
    array (coefficients, fits)
    """
    ones = np.ones(len(terms))
    return np.stack([nnls(terms * weight[:, None], ones)[0] for weight in weights.T], axis=1)


_TERMS: dict[str, Callable[[Floats], Floats]] = {
    "1/p": lambda p: 1 / p,
    "1": np.ones_like,
    "log2 p": np.log2,
    "p": lambda p: p,
    "p - 1": lambda p: p - 1,
}
MODELS = (
    ScalingModel("amdahl", "T1 ((1 - f)/p + f)", "strong", ("1/p", "1")),
    ScalingModel("usl", "T1 ((1 - f)/p + f + k (p - 1))", "strong", ("1/p", "1", "p - 1")),
    ScalingModel("communication", "a/p + b + c log2 p + d p", "strong", ("1/p", "1", "log2 p", "p")),
    ScalingModel("gustafson", "T1 p / (f + (1 - f) p)", "weak", ("1", "1/p"), is_rate=True),
    ScalingModel("communication", "b + c log2 p + d p", "weak", ("1", "log2 p", "p")),
)
"""Amdahl (AFIPS 30, 1967), Gunther's Universal Scalability Law (Guerrilla Capacity Planning, 2007),
Gustafson (CACM 31, 1988), and work, constant, tree and linear communication costs."""
MODELS_OF = {kind: [model for model in MODELS if model.scaling == kind] for kind in ("strong", "weak")}
"""Models of each kind of scaling, by increasing number of coefficients."""


def fractions(model: ScalingModel, coefficients: Floats) -> tuple[Floats, Floats]:
    """Compute the serial fraction f (contention in the USL) and the coherency k, arrays (draws,).

    NaN if the model has no such parameter.
    """
    missing = np.full(coefficients.shape[1], np.nan)
    if model.name == "communication":
        return missing, missing
    total = coefficients[0] + coefficients[1]
    with np.errstate(invalid="ignore", divide="ignore"):
        return coefficients[1] / total, coefficients[2] / total if model.name == "usl" else missing


def cost_terms(model: ScalingModel, coefficients: Floats) -> Floats:
    """Compute a, b, c and d of T = a/p + b + c log2 p + d p in seconds, array (4, draws).

    NaN if the model has another form.
    """
    costs = np.zeros((4, coefficients.shape[1]))
    if model.is_rate:
        return np.full_like(costs, np.nan)
    if model.name == "usl":
        work, contention, coherency = coefficients
        costs[[0, 1, 3]] = work, contention - coherency, coherency
    else:
        first = 0 if model.scaling == "strong" else 1
        costs[first : first + len(coefficients)] = coefficients
    return costs


def turning_point(costs: Floats) -> Floats:
    """Compute the process count with the smallest a/p + b + c log2 p + d p.

    It is the root of d p^2 + (c / ln 2) p - a = 0, at least 1, and infinite if the time always falls.

    Parameters
    ----------
    costs : array (4, draws)
        As `cost_terms` returns it.
    """
    a, _, c, d = costs
    c = c / np.log(2)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # 2a / (c + sqrt(c^2 + 4ad)) is the same root, without a division by a vanishing d
        root: Floats = 2 * a / (c + np.sqrt(c**2 + 4 * a * d))
    return np.where(np.isnan(costs).any(axis=0), np.nan, np.where(a > 0, np.maximum(root, 1), 1))


def least_seconds(costs: Floats, turning: Floats) -> Floats:
    """Compute the smallest time of each curve, array (draws,), in seconds.

    It is the time at the turning point. For an infinite turning point, it is the limit b.

    Parameters
    ----------
    costs : array (4, draws)
        As `cost_terms` returns it.
    turning : array (draws,)
        As `turning_point` returns it.
    """
    a, b, c, d = costs
    always_falls = np.isinf(turning)
    p = np.where(always_falls, 1, turning)
    seconds: Floats = np.where(always_falls, b, a / p + b + c * np.log2(p) + d * p)
    return seconds
