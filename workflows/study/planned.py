"""The blocks with which the tests that a study plans can tell anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count, product
from math import comb

from workflows.study.study import Study

Names = Mapping[str, Sequence[str]]


def blocks_needed(study: Study, kinds: Mapping[str, str]) -> int:
    """Fewest blocks with which the least p-value of each table can fall to 5 % after Holm's correction.

    That value is 2 tests / 2^n where tests are paired, and 2 tests / C(2n, n) where they are not, as between
    levels of oversubscription. What is excluded, or turns out impossible, counts as planned.

    Parameters
    ----------
    kinds : mapping of str to str
        Of the study's interconnects, by name. Simulated ones are not tested.
    """
    tested = [name for name in study.interconnects if kinds[name] != "simulated"]
    names = {kind: [name for name in tested if kinds[name] == kind] for kind in map(kinds.get, tested)}
    counts, levels, threads = study.processes, study.oversubscription, study.threads
    placements = max(len(study.processes_per_node), 1)
    several = [processes for processes in counts if processes > 1]
    placed = [sum(processes % each == 0 for each in study.processes_per_node) for processes in several]
    spread = sum(max(number, 1) - 1 for number in placed)
    hybrid = {
        (level, processes * each, each)
        for level, processes, each in product(levels, counts, threads)
        if processes * each > 1 and processes * each % level == 0
    }
    crowded = sum(
        level > 1 and processes % level == 0 and processes // level in counts
        for level, processes in product(levels, several)
    )
    each_case = [
        _compared(study, names) * len(levels) * placements * len(threads),
        len(tested) * spread * len(levels) * len(threads),
        len(tested) * placements * (len(hybrid) - len({computing[:2] for computing in hybrid})),
    ]
    paired = max(1, *each_case) * max(len(study.cases), 1)
    unpaired = len(tested) * crowded * placements * len(threads) * len(study.cases)
    return next(n for n in count(1) if 40 * paired <= 2**n and 40 * unpaired <= comb(2 * n, n))


def _compared(study: Study, names: Names) -> int:
    """Pairs of interconnects that are compared at one level, placement and number of threads.

    They are those of `analysis.curves.curve_comparison.pairs`.
    """
    named = {kind: [name for name in some if name in study.baselines] for kind, some in names.items()}
    baselines = {kind: named[kind] or some[:1] for kind, some in names.items()}
    pairs = sum(len(baselines[kind]) * (len(some) - 1) for kind, some in names.items())
    for first, second in study.compare_kinds:
        if first in names and second in names:
            own = named[first] if named[second] else baselines[first]
            pairs += len(own) * len(names[second]) + len(named[second]) * len(names[first])
    return pairs
