"""Kinds of results, and rules about which kinds may be compared."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

ORDER = ("measured", "emulated", "simulated", "published")


def comparable_sets(kinds: Iterable[str], declared: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """Return the largest sets of kinds in which any two kinds may be compared.

    Parameters
    ----------
    declared : sequence of pairs of str
        Pairs that the study declares comparable (``compare_kinds``). Comparability is not transitive:
        measured with emulated and measured with simulated does not include emulated with simulated.

    Returns
    -------
    list of tuple of str
        Every kind is in at least one set. Kinds are in the order of `ORDER`, unknown kinds last.

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
            comparable = all(frozenset(pair) in pairs for pair in combinations(subset, 2))
            if comparable and not any(set(subset) <= set(larger) for larger in sets):
                sets.append(subset)
    return sorted(sets, key=lambda members: [ordered.index(kind) for kind in members])


def ran(kind: str) -> bool:
    """Return whether a kind, or at least one side of a pair of kinds, is measured or emulated.

    Examples
    --------
    >>> ran("measured/simulated"), ran("simulated")
    (True, False)
    """
    return not {"measured", "emulated"}.isdisjoint(kind.split("/"))


def side(kind: str, index: int) -> str:
    """Return the kind of one side of a comparison: index 0 is the baseline, 1 the other side.

    Examples
    --------
    >>> side("emulated/measured", 1), side("measured", 0)
    ('measured', 'measured')
    """
    sides = kind.split("/")
    return sides[min(index, len(sides) - 1)]
