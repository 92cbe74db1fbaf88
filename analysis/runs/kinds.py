"""Which kinds of result may stand in one comparison."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

ORDER = ("measured", "emulated", "simulated", "published")


def comparable_sets(kinds: Iterable[str], declared: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """Find the largest sets of kinds of which any two may be compared.

    Parameters
    ----------
    declared : sequence of pairs of str
        What the study declares comparable (``compare_kinds``). Nothing follows from two pairs: measured
        with emulated and measured with simulated leaves emulated and simulated apart.

    Returns
    -------
    list of tuple of str
        Every kind is in one set at least; in the order of `ORDER`, unknown kinds last.

    Examples
    --------
    >>> comparable_sets(["simulated", "emulated", "measured"], [["measured", "emulated"]])
    [('measured', 'emulated'), ('simulated',)]
    """
    pairs = {frozenset(pair) for pair in declared}
    ordered = sorted(set(kinds), key=lambda kind: (ORDER.index(kind) if kind in ORDER else len(ORDER), kind))
    sets: list[tuple[str, ...]] = []
    for size in range(len(ordered), 0, -1):
        for subset in combinations(ordered, size):
            together = all(frozenset(pair) in pairs for pair in combinations(subset, 2))
            if together and not any(set(subset) <= set(larger) for larger in sets):
                sets.append(subset)
    return sorted(sets, key=lambda members: [ordered.index(kind) for kind in members])


def ran(kind: str) -> bool:
    """Whether results of a kind, or one side of a comparison, are from runs and not from models or papers.

    Examples
    --------
    >>> ran("measured/simulated"), ran("simulated")
    (True, False)
    """
    return not {"measured", "emulated"}.isdisjoint(kind.split("/"))


def side(kind: str, index: int) -> str:
    """Give the kind of one side of a comparison: index 0 is the baseline, 1 what is compared with it.

    Examples
    --------
    >>> side("emulated/measured", 1), side("measured", 0)
    ('measured', 'measured')
    """
    sides = kind.split("/")
    return sides[min(index, len(sides) - 1)]
