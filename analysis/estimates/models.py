"""Scaling models: time as a function of the process count, fitted with every coefficient at least 0."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.runs.groups import Floats


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
    """Times without one count each, to be fitted for `held_out_errors`.

    Of times (counts, curves) those of shape (counts, counts × curves), NaN at the count that is left out,
    which varies slower than the curve.
    """
    counts = len(seconds)
    return np.where(np.eye(counts, dtype=bool)[:, :, None], np.nan, seconds[:, None]).reshape(counts, -1)


def held_out_errors(model: ScalingModel, processes: ArrayLike, seconds: Floats, fitted: Floats) -> Floats:
    """Relative error |predicted/T - 1| at each count, (counts, curves), from a fit to all the others.

    `fitted`, (coefficients, counts × curves), is the fit to `leave_each_out`.
    """
    left_out = np.arange(len(seconds))
    predicted = model.seconds(processes, fitted).reshape(len(seconds), *seconds.shape)
    return np.abs(predicted[left_out, left_out] / seconds - 1)


def nonnegative_fit(terms: Floats, weights: Floats) -> Floats:
    """Coefficients x >= 0 that minimise the sum over counts of (weight × terms · x - 1)^2.

    Exact: the optimum is the best of the unconstrained fits with some coefficients at 0 that is
    nowhere negative (Lawson and Hanson, Solving Least Squares Problems, 1974, chapter 23), and with
    up to four coefficients all of them can be tried, for all fits at once. Most are settled sooner: by
    the coefficients that are positive when all are fitted (`_settle`).

    Parameters
    ----------
    terms : array (counts, coefficients)
    weights : array (counts, fits)
        0 leaves a count out.

    Returns
    -------
    array (coefficients, fits)
    """
    size = terms.shape[1]
    products = (terms[:, :, None] * terms[:, None, :]).reshape(len(terms), -1)
    gram = (products.T @ weights**2).reshape(size, size, -1)
    right = terms.T @ weights
    with np.errstate(divide="ignore", invalid="ignore"):  # of fits without a count, or without a solution
        scale = np.sqrt(np.einsum("iif->if", gram))
        gram /= scale[:, None] * scale
        right /= scale
        best, settled = _settle(gram, right)
        if len(rest := np.flatnonzero(~settled)):
            best[:, rest] = _best_of_subsets(gram.take(rest, axis=2), right.take(rest, axis=1), len(terms))
        best /= scale
        return best


_NOTHING = 1e-12
"""What a coefficient more has to explain at least."""
_SINGULAR = 1e-9
"""Least pivot of systems that are solved without trying all subsets."""


def _settle(gram: Floats, right: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Fit all coefficients, then those that are positive or would be, and so on; say which are the optimum.

    A fit is if its coefficients are positive and another would explain more only below 0 (Karush, Kuhn and
    Tucker). Without its coefficient x it explains less by x^2 times the least eigenvalue of gram, at least.
    """
    size, bits = len(right), 2 ** np.arange(len(right))
    solved = gram.copy()
    best, pivots = _solve(solved, right), np.einsum("iif->if", solved)
    left = np.flatnonzero(~(best > 0).all(axis=0))
    wanted = bits @ (best[:, left] > 0)
    for _ in range(size - 1):
        tried = wanted.copy()
        for number in np.flatnonzero(np.bincount(tried)):
            some, inside = np.flatnonzero(tried == number), number & bits > 0
            fits = left[some]
            own, targets = gram.take(fits, axis=2), right.take(fits, axis=1)
            solution = _solve(own[np.ix_(inside, inside)], targets[inside])
            slope = targets[~inside] - (own[np.ix_(~inside, inside)] * solution).sum(axis=1)
            best[np.ix_(~inside, fits)], best[np.ix_(inside, fits)] = 0, solution
            wanted[some] = bits[inside] @ (solution > 0) + bits[~inside] @ (slope > 0)
        left, wanted = left[wanted != tried], wanted[wanted != tried]
    least = np.where(best == 0, np.inf, best).min(axis=0)
    eigenvalue = pivots.prod(axis=0) * ((size - 1) / size) ** (size - 1)
    settled = (least > 0) & (least**2 * eigenvalue > 10 * _NOTHING) & (pivots.min(axis=0) > _SINGULAR)
    settled[left] = False
    return best, settled


def _best_of_subsets(gram: Floats, right: Floats, counts: int) -> Floats:
    """Coefficients of the subset that explains most, of equals the smallest; the others are 0."""
    size = len(right)
    best, explained = np.zeros_like(right), np.full(right.shape[1], -np.inf)
    subsets = [list(subset) for k in range(1, size + 1) for subset in combinations(range(size), k)]
    for subset in (subset for subset in subsets if len(subset) <= counts):
        solution = _solve(gram[np.ix_(subset, subset)], right[subset])
        gain = (solution * right[subset]).sum(axis=0)
        better = np.flatnonzero((solution.min(axis=0) >= 0) & (gain > explained + _NOTHING))
        explained[better] = gain[better]
        best[:, better] = 0
        for coefficient, values in zip(subset, solution, strict=True):
            best[coefficient, better] = values[better]
    return best


def _solve(gram: Floats, right: Floats) -> Floats:
    """Solve gram · x = right for many small positive definite systems at once, by Gaussian elimination.

    Far faster than `numpy.linalg.solve`, which takes them one after another.

    Parameters
    ----------
    gram : array (size, size, systems)
        Overwritten; the pivots are then its diagonal.
    right : array (size, systems)
    """
    solution = right.copy()
    size = len(right)
    for row in range(size):
        for below in range(row + 1, size):
            factor = gram[below, row] / gram[row, row]
            gram[below, row + 1 :] -= factor * gram[row, row + 1 :]
            solution[below] -= factor * solution[row]
    for row in reversed(range(size)):
        for known in range(row + 1, size):
            solution[row] -= gram[row, known] * solution[known]
        solution[row] /= gram[row, row]
    return solution


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
