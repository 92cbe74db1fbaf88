"""Contests: the sets of curves that page one of a report compares."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.curves.outcomes import DEPENDS_ON_COUNT, MEDIANS_DISAGREE, SINGLE_VALUE
from analysis.presentation.sentences import counts_of, processes
from analysis.runs.frames import CURVE, Line, Tables, as_float, as_lines, is_missing, rows_like, unit_of
from analysis.runs.kinds import comparable_sets, ran, side
from analysis.runs.settings import NODES

ROUNDING = 1e-9
"""Largest excess over a whole number of processes or nodes that counts as a rounding error."""
DISTURBED = "other programs disturbed at least half of the runs"
"""Column ``note`` of table ``peaks`` for a curve whose runs other programs disturbed."""
ONE_SAMPLE = "one sample"
"""Column ``note`` of table ``peaks`` for a curve with a single run at each count."""
ONLY = " (only count)"
"""Words behind the best count of a curve with a single count."""
NEARLY = 0.9
"""Share of the highest speedup at which a smaller count is nearly as good."""


@dataclass(frozen=True)
class Contest:
    """Curves of one case, of comparable kinds, at one oversubscription level.

    Attributes
    ----------
    scaling, peaks, improvement : DataFrame
        Rows of these tables about the curves. `scaling` includes the serial run.
    equivalent : DataFrame
        Rows of ``node_equivalent`` at the highest target of each baseline, for comparisons that have a
        `direction`.
    targets : DataFrame
        Rows of ``node_equivalent`` at all targets.
    beyond : DataFrame
        Rows of ``scaling`` of the same curves at higher oversubscription levels, with more processes than any
        row of `scaling`.
    """

    case: str
    kinds: tuple[str, ...]
    level: int
    scaling: pd.DataFrame
    peaks: pd.DataFrame
    improvement: pd.DataFrame
    equivalent: pd.DataFrame
    targets: pd.DataFrame
    beyond: pd.DataFrame

    @property
    def unit(self) -> str:
        """Unit of comparison: the column of `scaling` with the counts."""
        return unit_of(self.scaling)

    def counted(self, *counts: float) -> str:
        """Write counts in the unit of the contest: ``4 processes``, ``4 and 8 nodes``."""
        return counts_of(self.unit, *counts)

    def needed(self, equivalent: Line) -> str:
        """Write an equivalent: ``8 nodes`` if they were run, ``about 9 nodes`` if not."""
        count = whole_count(as_float(equivalent["equivalent_processes"]))
        words = self.counted(count)
        return words if self.has_run(equivalent["interconnect"], count) else f"about {words}"

    @property
    def largest_count(self) -> str:
        """Words for the largest count of `scaling`, in which the counts of `beyond` do not take part."""
        return self.largest_of("")

    def largest_of(self, curves: str) -> str:
        """Write words for the largest count of curves, without the counts of `beyond`.

        Parameters
        ----------
        curves : str
            Words for the curves, such as ``this interconnect``; empty for all curves of the contest.
        """
        largest = f"the largest {'node' if self.unit == NODES else 'process'} count"
        if self.beyond.empty:
            return f"{largest} of {curves}" if curves else f"{largest} with results"
        if self.level == 1:
            return f"{largest} with a core for each process"
        return f"{largest} with {processes(self.level)} per core"

    @property
    def baseline(self) -> str | None:
        """Baseline of the most comparisons, or None without a comparison."""
        return next(iter(self.improvement["baseline_interconnect"].mode()), None)

    def against_baseline(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return the rows of `improvement` or `equivalent` that have this baseline."""
        return rows[rows["baseline_interconnect"] == self.baseline]

    def compared_peaks(self) -> Sequence[Line]:
        """Return the rows of `peaks` of compared interconnects, or all rows without a comparison."""
        names = {*self.improvement["baseline_interconnect"], *self.improvement["interconnect"]}
        compared = self.peaks[self.peaks["interconnect"].isin(names)]
        return as_lines(compared if len(compared) else self.peaks)

    def has_run(self, interconnect: str, count: float) -> bool:
        """Return whether a count, in the unit of the contest, was run over an interconnect."""
        curve = self.scaling[self.scaling["interconnect"] == interconnect]
        return bool(curve[self.unit].eq(count).any())

    def nearly_best(self, peak: Line) -> Line | None:
        """Return the row of the smallest process count with at least the share `NEARLY` of a peak's speedup.

        None if this count is the peak itself, or if too few blocks show where a curve of runs has its peak.

        Parameters
        ----------
        peak : mapping
            Row of `peaks`.
        """
        if ran(peak["kind"]) and not is_missing(peak["note"]):
            return None
        curve = rows_like(self.scaling, peak)
        smallest = curve[curve["speedup"] >= NEARLY * peak["peak_speedup"]].nsmallest(1, self.unit)
        smaller = as_lines(smallest[smallest[self.unit] < peak["peak_processes"]])
        return smaller[0] if smaller else None


def find_contests(tables: Tables, declared: Sequence[Sequence[str]]) -> list[Contest]:
    """Find the contests of a study: one for each case and set of comparable kinds.

    A contest has the lowest oversubscription level, because processes that share cores do not show scaling.

    Parameters
    ----------
    declared : sequence of pairs of str
        Kinds that the study declares comparable.

    Returns
    -------
    list of Contest
        The headline first: the contest with several interconnects, the most process counts, and the most
        curves. Ties keep the order of the tables.
    """
    contests = []
    for case, scaling in tables["scaling"].groupby("case", sort=False):
        for kinds in comparable_sets(scaling.loc[~scaling["serial"], "kind"], declared):
            peaks = _select(tables["peaks"], case, kinds)
            if len(peaks):
                level = int(peaks["oversubscription"].min())
                contests.append(_make_contest(tables, str(case), kinds, level))
    return sorted(contests, key=_coverage, reverse=True)


def _coverage(contest: Contest) -> tuple[bool, int, int]:
    parallel = contest.scaling[~contest.scaling["serial"]]
    return parallel["interconnect"].nunique() > 1, parallel[contest.unit].nunique(), len(contest.peaks)


def _make_contest(tables: Tables, case: str, kinds: tuple[str, ...], level: int) -> Contest:
    """Select the rows of all tables about the curves of a contest."""
    names = ("scaling", "peaks", "improvement", "node_equivalent")
    selected = (_select(tables[name], case, kinds) for name in names)
    scaling, peaks, improvement, targets = (rows[rows["oversubscription"] == level] for rows in selected)
    all_levels = _select(tables["scaling"], case, kinds)
    is_beyond = (all_levels["oversubscription"] > level) & (
        all_levels["processes"] > scaling["processes"].max()
    )
    baseline = ["baseline_interconnect", "kind", "processes_per_node", "site"]
    highest = targets.groupby(baseline, dropna=False)["target_speedup"].transform("max")
    equivalent = targets[targets["target_speedup"] == highest]
    pair = [*CURVE, "baseline_interconnect"]
    has_direction = [
        any(direction(comparison) for comparison in as_lines(rows_like(improvement, _compared(line), pair)))
        for line in as_lines(equivalent)
    ]
    equivalent = equivalent[np.array(has_direction, bool)]
    return Contest(
        case, kinds, level, scaling, peaks, improvement, equivalent, targets, all_levels[is_beyond]
    )


def _compared(line: Line) -> Line:
    """Return a row of ``node_equivalent`` with the roles of its comparison in ``improvement``."""
    if not line["reversed"]:
        return line
    kind = "/".join(reversed(str(line["kind"]).split("/")))
    baseline, other = line["interconnect"], line["baseline_interconnect"]
    return {**line, "baseline_interconnect": baseline, "interconnect": other, "kind": kind}


def _select(table: pd.DataFrame, case: object, kinds: Sequence[str]) -> pd.DataFrame:
    """Select the rows of a case whose kinds are among `kinds`."""
    has_kinds = table["kind"].map(lambda kind: set(kind.split("/")) <= set(kinds)).astype(bool)
    return table[(table["case"] == case) & has_kinds]


def on_shared_cores(contest: Contest) -> str:
    """Write the processes per core of a contest, or nothing if each process has a core."""
    return f", with {processes(contest.level)} per core" if contest.level > 1 else ""


def direction(line: Line) -> str | None:
    """Return whether a comparison shows that an interconnect is ``faster`` or ``slower``.

    A test, the whole band of a simulation, or one figure for each interconnect can show a direction. The
    result is None if none of these does, if the medians of all runs show the opposite, or if the direction
    depends on which count is best.

    Parameters
    ----------
    line : mapping
        Row of the table ``improvement``.
    """
    verdict = "" if is_missing(line["verdict"]) else str(line["verdict"])
    note = "" if is_missing(line.get("note")) else str(line["note"])
    is_shown = verdict in ("faster", "slower") or verdict.endswith(("over the whole band", SINGLE_VALUE))
    word = verdict.split(" ")[0]
    is_contradicted = medians_contradict(line) or DEPENDS_ON_COUNT in note
    return word if is_shown and not is_contradicted and word in ("faster", "slower") else None


def medians_contradict(line: Line) -> bool:
    """Return whether a verdict of faster or slower has the opposite sign to the medians of all runs.

    The medians contradict no other verdict: a difference that may be noise may have either sign.
    """
    return str(line["verdict"]).startswith(("faster", "slower")) and MEDIANS_DISAGREE in str(line.get("note"))


def direction_with_same_computing(line: Line) -> str | None:
    """Return the direction under the assumption that computing takes equally long on both interconnects.

    The assumption narrows the band of a simulated comparison. The result is None unless the full band holds
    both directions and the narrower band holds only one direction.
    """
    low, high = (as_float(line[f"improvement_same_computing_{end}"]) for end in ("low", "high"))
    if not str(line["verdict"]).endswith("within the band") or not low * high > 0:
        return None
    return "faster" if low > 0 else "slower"


def has_single_value(line: Line) -> bool:
    """Return whether an interconnect of a comparison has a single value, such as one run."""
    return str(line["verdict"]).endswith(SINGLE_VALUE)


def allows_for_correlation(line: Line) -> bool:
    """Return whether interval and test of a comparison allow for correlated runs: only if it is unpaired."""
    return not line["paired"] and not is_missing(line["lag_one_correlation"])


def count_interconnects(contests: Sequence[Contest]) -> int:
    """Count the interconnects of contests; with fewer than two, nothing can be compared."""
    return len({name for contest in contests for name in contest.peaks["interconnect"]})


def whole_count(count: float) -> int:
    """Round an interpolated count up to whole processes or nodes."""
    return math.ceil(count - ROUNDING)


def nodes_of(rows: pd.DataFrame, count: float) -> int | None:
    """Return how many nodes `count` processes need.

    Each node takes as many processes as the fullest node of the curve's runs. The result is None if the
    nodes of the runs are unknown, if no run has more than one node, or if the unit is nodes.

    Parameters
    ----------
    rows : DataFrame
        Rows of the table ``scaling`` of the curve.
    """
    if unit_of(rows) == NODES:
        return None
    with_nodes = rows.dropna(subset="nodes")
    if with_nodes.empty or with_nodes["nodes"].max() < 2:
        return None
    most_per_node = float((with_nodes["processes"] / with_nodes["nodes"]).max())
    return math.ceil(count / most_per_node - ROUNDING)


def fits_one_node(saving: Line, contest: Contest) -> bool:
    """Return whether an equivalent needs only one node, on which no message crosses the interconnect.

    Parameters
    ----------
    saving : mapping
        Row of ``node_equivalent`` with an equivalent.
    """
    curve = {**saving, "kind": side(str(saving["kind"]), 1)}
    rows = rows_like(contest.scaling, curve, ["interconnect", "kind", "processes_per_node"])
    return nodes_of(rows, whole_count(saving["equivalent_processes"])) == 1


def end_of(peak: Line, scaling: pd.DataFrame) -> str:
    """Return whether a curve still gains speedup at its largest count.

    Parameters
    ----------
    peak : mapping
        Row of the curve in ``peaks``.
    scaling : DataFrame
        Table ``scaling``.

    Returns
    -------
    str
        ``rises`` if the largest count is the best; ``stops`` if it is not; ``unsure`` if the blocks do not
        show which or are too few, if other programs disturbed at least half of the runs, or if the interval
        of the best speedup includes 1.
        Also ``unsure`` if one process is fastest, but the interval of another speedup includes 1;
        ``one count`` if the curve has a single count.
    """
    curve = rows_like(scaling, peak)
    if curve[unit_of(curve)].nunique() == 1:
        return "one count"
    if has_weak_blocks(peak) or (not peak["reached"] and " " in str(peak["peak_set"])):
        return "unsure"
    if not is_best_at_largest(peak, scaling):
        larger = curve[curve[unit_of(curve)] > peak["peak_processes"]]
        may_gain = peak["peak_processes"] == 1 and (larger["speedup_high"] >= 1).any()
        return "unsure" if may_gain else "stops"
    return "unsure" if as_float(peak["peak_speedup_low"]) <= 1 else "rises"


def too_few(comparison: Line) -> str:
    """Write that a comparison has too few blocks or runs for a verdict, and how many a verdict needs.

    Parameters
    ----------
    comparison : mapping
        Row of ``improvement`` whose verdict is ``untestable``.
    """
    present, needed = (as_float(comparison[name]) for name in ("blocks", "blocks_needed"))
    text = f"too few {blocks_or_runs(comparison)}"
    return f"{text}: {present:.0f} of at least {needed:.0f}" if needed > present else text


def blocks_or_runs(comparison: Line) -> str:
    """Return what a comparison counts: blocks if it is paired, else runs."""
    return "blocks" if not is_missing(comparison["paired"]) and comparison["paired"] else "runs"


def has_weak_blocks(peak: Line) -> bool:
    """Return whether the blocks of a curve cannot show its peak: see column ``note`` of table ``peaks``."""
    return str(peak["note"]).startswith(("fewer", DISTURBED))


def single_runs_remark(peaks: Iterable[Line]) -> str:
    """Return the remark, after a space, that curves have a single run at each count; empty for others.

    Parameters
    ----------
    peaks : iterable of mapping
        Rows of the curves in ``peaks``.
    """
    return " (single runs)" if {peak["note"] for peak in peaks} == {ONE_SAMPLE} else ""


def is_best_at_largest(peak: Line, scaling: pd.DataFrame) -> bool:
    """Return whether a curve is fastest at its largest count, given its row of ``peaks``."""
    return as_float(peak["peak_processes"]) >= as_float(rows_like(scaling, peak)[unit_of(scaling)].max())
