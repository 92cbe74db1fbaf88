"""Scaling models: time as a function of the process count, fitted with every coefficient at least 0."""

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
        ``strong`` or ``weak``: what it describes.
    summands : tuple of str
        Of `_TERMS`, one a coefficient.
    of_rate : bool
        The terms add up to 1/T, not to T.
    """

    name: str
    formula: str
    scaling: str
    summands: tuple[str, ...]
    of_rate: bool = False

    @property
    def coefficients(self) -> int:
        """Number of coefficients."""
        return len(self.summands)

    def terms(self, processes: Floats) -> Floats:
        """Terms (counts, coefficients) at process counts (counts,)."""
        return np.stack([_TERMS[summand](processes) for summand in self.summands], axis=1)

    def fit(self, processes: ArrayLike, seconds: Floats) -> Floats:
        """Fit the coefficients by least squares of the relative error.

        Parameters
        ----------
        processes : array (counts,)
        seconds : array (counts, fits)
            NaN leaves a count out of a fit.

        Returns
        -------
        array (coefficients, fits)
            NaN where fewer counts than coefficients are left.
        """
        missing = np.isnan(seconds)
        weights = np.where(missing, 0, seconds if self.of_rate else 1 / seconds)
        fitted = nonnegative_fit(self.terms(np.asarray(processes, float)), weights)
        fitted[:, len(missing) - missing.sum(axis=0, dtype=np.int32) < self.coefficients] = np.nan
        return fitted

    def seconds(self, processes: ArrayLike, coefficients: Floats) -> Floats:
        """Predict times (counts, fits) from coefficients (coefficients, fits)."""
        total = self.terms(np.asarray(processes, float)) @ coefficients
        return 1 / total if self.of_rate else total


def leave_each_out(seconds: Floats) -> Floats:
    """Times (counts, counts) of which each column lacks a count (NaN), to be fitted for `held_out_errors`."""
    return np.where(np.eye(len(seconds), dtype=bool), np.nan, seconds[:, None])


def held_out_errors(model: ScalingModel, processes: ArrayLike, seconds: Floats, fitted: Floats) -> Floats:
    """Relative error |predicted/T - 1| at each count, (counts,), from a fit to all the others.

    `fitted`, (coefficients, counts), is the fit to `leave_each_out`.
    """
    return np.abs(np.diagonal(model.seconds(processes, fitted)) / seconds - 1)


def nonnegative_fit(terms: Floats, weights: Floats) -> Floats:
    """Find coefficients x >= 0 that minimise the sum over counts of (weight × terms · x - 1)^2.

    Parameters
    ----------
    terms : array (counts, coefficients)
    weights : array (counts, fits)
        0 leaves a count out.

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
    ScalingModel("gustafson", "T1 p / (f + (1 - f) p)", "weak", ("1", "1/p"), of_rate=True),
    ScalingModel("communication", "b + c log2 p + d p", "weak", ("1", "log2 p", "p")),
)
"""Amdahl (AFIPS 30, 1967), Gunther's Universal Scalability Law (Guerrilla Capacity Planning, 2007),
Gustafson (CACM 31, 1988), and work, constant, tree and linear communication costs."""
MODELS_OF = {kind: [model for model in MODELS if model.scaling == kind] for kind in ("strong", "weak")}
"""Models of each kind of scaling, those with the fewest coefficients first."""


def fractions(model: ScalingModel, coefficients: Floats) -> tuple[Floats, Floats]:
    """Serial fraction f (contention, in the USL) and coherency k, (draws,); NaN where a model has none."""
    none = np.full(coefficients.shape[1], np.nan)
    if model.name == "communication":
        return none, none
    total = coefficients[0] + coefficients[1]
    with np.errstate(invalid="ignore", divide="ignore"):
        return coefficients[1] / total, coefficients[2] / total if model.name == "usl" else none


def cost_terms(model: ScalingModel, coefficients: Floats) -> Floats:
    """Seconds of work, constant, log2 and linear terms, (4, draws): T = a/p + b + c log2 p + d p.

    NaN for a model that has no such form.
    """
    costs = np.zeros((4, coefficients.shape[1]))
    if model.of_rate:
        return np.full_like(costs, np.nan)
    if model.name == "usl":
        work, contention, coherency = coefficients
        costs[[0, 1, 3]] = work, contention - coherency, coherency
    else:
        first = 0 if model.scaling == "strong" else 1
        costs[first : first + len(coefficients)] = coefficients
    return costs


def turning_point(costs: Floats) -> Floats:
    """Process count at which a/p + b + c log2 p + d p is least; infinite where it falls for ever.

    The root of d p^2 + (c / ln 2) p - a = 0, but at least 1.

    Parameters
    ----------
    costs : array (4, draws)
        As `cost_terms` gives it.
    """
    a, _, c, d = costs
    c = c / np.log(2)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # 2a / (c + sqrt(c^2 + 4ad)) is the same root, without a division by a vanishing d
        found = 2 * a / (c + np.sqrt(c**2 + 4 * a * d))
    return np.where(np.isnan(costs).any(axis=0), np.nan, np.where(a > 0, np.maximum(found, 1), 1))


def least_seconds(costs: Floats, turning: Floats) -> Floats:
    """Time at the turning point, or with infinitely many processes."""
    a, b, c, d = costs
    endless = np.isinf(turning)
    p = np.where(endless, 1, turning)
    return np.where(endless, b, a / p + b + c * np.log2(p) + d * p)
