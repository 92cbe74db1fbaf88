"""Default number of blocks of a study: the only definition of the default of the study key ``blocks``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

from analysis.runs.settings import DISTINGUISHABLE
from workflows.study.study import Study

Names = Mapping[str, Sequence[str]]


def default_blocks(study: Study, kinds: Mapping[str, str]) -> int:
    """Return the default of ``blocks``: `decisive_blocks`, but at least the blocks of a single test."""
    from analysis.statistics.multiple_tests import blocks_needed  # a job that measures loads no NumPy

    return max(decisive_blocks(study, kinds), blocks_needed(1, paired=True, alpha=DISTINGUISHABLE))


def decisive_blocks(study: Study, kinds: Mapping[str, str]) -> int:
    """Return the smallest number of blocks with which each table can reach significance (`DISTINGUISHABLE`).

    After Holm's correction, the smallest p-value of `m` tests on `n` blocks is 2 m / 2^n for paired tests and
    2 m / C(2n, n) for unpaired tests, as between levels of oversubscription. Excluded and impossible points
    count as planned.

    Parameters
    ----------
    kinds : mapping of str to str
        Kind of each interconnect of the study, by name. Simulated interconnects are not tested.

    Returns
    -------
    int
        0 if the study compares nothing.
    """
    from analysis.statistics.multiple_tests import blocks_needed  # a job that measures loads no NumPy

    tested = [name for name in study.interconnects if kinds[name] != "simulated"]
    names = {
        kind: [name for name in tested if kinds[name] == kind] for kind in map(kinds.__getitem__, tested)
    }
    counts, levels, threads = study.processes, study.oversubscription, study.threads
    placements = max(len(study.processes_per_node), 1)
    several = [processes for processes in counts if processes > 1]
    placements_by_count = [
        sum(processes % each == 0 for each in study.processes_per_node) for processes in several
    ]
    spread = sum(max(number, 1) - 1 for number in placements_by_count)
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
    paired = max(each_case) * len(study.cases)
    unpaired = len(tested) * crowded * placements * len(threads) * len(study.cases)
    tests = (paired, True), (unpaired, False)
    needed = [blocks_needed(number, is_paired, DISTINGUISHABLE) for number, is_paired in tests if number]
    return max(needed, default=0)


def _compared(study: Study, names: Names) -> int:
    """Count the pairs of interconnects that are compared at a level, placement and number of threads.

    `analysis.curves.curve_comparison.pairs` lists the same pairs.
    """
    named = {kind: [name for name in of_kind if name in study.baselines] for kind, of_kind in names.items()}
    baselines = {kind: named[kind] or of_kind[:1] for kind, of_kind in names.items()}
    pairs = sum(len(baselines[kind]) * (len(of_kind) - 1) for kind, of_kind in names.items())
    for first, second in study.compare_kinds:
        if first in names and second in names:
            from_first = named[first] if named[second] else baselines[first]
            pairs += len(from_first) * len(names[second]) + len(named[second]) * len(names[first])
    return pairs
