"""Scaling models: time as a function of the process count, fitted with every coefficient at least 0."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from analysis.bootstrap import Floats


@dataclass(frozen=True)
class Model:
    """A model whose time, or whose rate 1/T, is a sum of terms with coefficients of at least 0.

    Attributes
    ----------
    name, formula : str
    scaling : str
        ``strong`` or ``weak``: what it describes.
    terms : function
        Of process counts (counts,), gives (counts, coefficients).
    of_rate : bool
        The terms add up to 1/T, not to T.
    """

    name: str
    formula: str
    scaling: str
    terms: Callable[[Floats], Floats]
    of_rate: bool = False

    @property
    def coefficients(self) -> int:
        """Number of coefficients."""
        return self.terms(np.ones(1)).shape[1]

    def fit(self, processes: ArrayLike, seconds: Floats) -> Floats:
        """Fit the coefficients by least squares of the relative error.

        Parameters
        ----------
        processes : array (counts,)
        seconds : array (counts, draws)

        Returns
        -------
        array (coefficients, draws)
        """
        weights = seconds if self.of_rate else 1 / seconds
        return nonnegative_fit(self.terms(np.asarray(processes, float)), weights)

    def seconds(self, processes: ArrayLike, coefficients: Floats) -> Floats:
        """Predict times (counts, draws) from coefficients (coefficients, draws)."""
        total = self.terms(np.asarray(processes, float)) @ coefficients
        return 1 / total if self.of_rate else total

    def held_out_errors(self, processes: ArrayLike, seconds: Floats) -> Floats:
        """Relative error |predicted/T - 1| of each count, from a fit to all the others.

        Parameters
        ----------
        processes, seconds : arrays (counts,)
        """
        processes, seconds = np.asarray(processes, float), np.asarray(seconds, float)
        errors = np.empty(len(processes))
        for left in range(len(processes)):
            others = np.arange(len(processes)) != left
            fitted = self.fit(processes[others], seconds[others, None])
            errors[left] = abs(self.seconds(processes[[left]], fitted).item() / seconds[left] - 1)
        return errors


def nonnegative_fit(terms: Floats, weights: Floats) -> Floats:
    """Coefficients x >= 0 that minimise the sum over counts of (weight × terms · x - 1)^2.

    Exact: the optimum is the best of the unconstrained fits with some coefficients at 0 that is
    nowhere negative (Lawson and Hanson, Solving Least Squares Problems, 1974, chapter 23), and with
    up to four coefficients all of them can be tried, for all draws at once.

    Parameters
    ----------
    terms : array (counts, coefficients)
    weights : array (counts, draws)

    Returns
    -------
    array (coefficients, draws)
    """
    rows = terms[:, :, None] * weights[:, None, :]
    gram = np.einsum("pid,pjd->dij", rows, rows)
    right = rows.sum(axis=0).T
    scale = np.sqrt(np.einsum("dii->di", gram))
    gram, right = gram / (scale[:, :, None] * scale[:, None, :]), right / scale
    best = np.zeros_like(right)
    explained = np.full(len(right), -np.inf)
    size = terms.shape[1]
    subsets = [subset for k in range(1, size + 1) for subset in combinations(range(size), k)]
    for subset in (list(subset) for subset in subsets if len(subset) <= len(terms)):
        part = np.linalg.solve(gram[:, subset][:, :, subset], right[:, subset, None])[..., 0]
        gain = (part * right[:, subset]).sum(axis=1)
        better = (part >= 0).all(axis=1) & (gain > explained + 1e-12)
        explained[better] = gain[better]
        best[better] = 0
        best[np.ix_(better, subset)] = part[better]
    return (best / scale).T


def _amdahl(p: Floats) -> Floats:
    return np.stack([1 / p, np.ones_like(p)], axis=1)


def _scalability_law(p: Floats) -> Floats:
    return np.stack([1 / p, np.ones_like(p), p - 1], axis=1)


def _communication(p: Floats) -> Floats:
    return np.stack([1 / p, np.ones_like(p), np.log2(p), p], axis=1)


def _gustafson(p: Floats) -> Floats:
    return np.stack([np.ones_like(p), 1 / p], axis=1)


def _weak_communication(p: Floats) -> Floats:
    return np.stack([np.ones_like(p), np.log2(p), p], axis=1)


MODELS = (
    Model("amdahl", "T1 ((1 - f)/p + f)", "strong", _amdahl),
    Model("usl", "T1 ((1 - f)/p + f + k (p - 1))", "strong", _scalability_law),
    Model("communication", "a/p + b + c log2 p + d p", "strong", _communication),
    Model("gustafson", "T1 p / (f + (1 - f) p)", "weak", _gustafson, of_rate=True),
    Model("communication", "b + c log2 p + d p", "weak", _weak_communication),
)
"""Amdahl (AFIPS 30, 1967), Gunther's Universal Scalability Law (Guerrilla Capacity Planning, 2007),
Gustafson (CACM 31, 1988), and work, constant, tree and linear communication costs."""


def fractions(model: Model, coefficients: Floats) -> tuple[Floats, Floats]:
    """Serial fraction f (contention, in the USL) and coherency k; NaN where a model has none.

    Parameters
    ----------
    coefficients : array (coefficients, draws)

    Returns
    -------
    serial_fraction, coherency : arrays (draws,)
    """
    none = np.full(coefficients.shape[1], np.nan)
    if model.name == "communication":
        return none, none
    total = coefficients[0] + coefficients[1]
    with np.errstate(invalid="ignore", divide="ignore"):
        return coefficients[1] / total, coefficients[2] / total if model.name == "usl" else none


def cost_terms(model: Model, coefficients: Floats) -> Floats:
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
    with np.errstate(divide="ignore", invalid="ignore"):
        # 2a / (c + sqrt(c^2 + 4ad)) is the same root, without a division by a vanishing d
        found = 2 * a / (c + np.sqrt(c**2 + 4 * a * d))
    return np.where(np.isnan(costs).any(axis=0), np.nan, np.where(a > 0, np.maximum(found, 1), 1))


def least_seconds(costs: Floats) -> Floats:
    """Time at the turning point, or that of infinitely many processes."""
    a, b, c, d = costs
    p = turning_point(costs)
    endless = np.isinf(p)
    p = np.where(endless, 1, p)
    return np.where(endless, b, a / p + b + c * np.log2(p) + d * p)
