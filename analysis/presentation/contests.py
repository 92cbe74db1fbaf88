"""What page one of a report is about: case and kinds that show most, at their lowest oversubscription."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.curves.outcomes import MEDIANS_DISAGREE
from analysis.runs.frames import CURVE, Line, as_float, as_lines, is_missing, rows_like
from analysis.runs.kinds import comparable_sets

WHOLE = 1e-9
"""Less than this above a whole number of processes is rounding."""
Tables = Mapping[str, pd.DataFrame]


@dataclass(frozen=True)
class Contest:
    """Interconnects that stand in one figure: of one case, of kinds that may be compared, at one level.

    Attributes
    ----------
    scaling, peaks, improvement, equivalent : DataFrame
        Their rows of these tables, `equivalent` at the highest target of each baseline. `scaling` has the
        serial run too, and `equivalent` only what is worth telling: see `told`.
    targets : DataFrame
        Their rows of ``node_equivalent`` at all targets.
    """

    case: str
    kinds: tuple[str, ...]
    level: int
    scaling: pd.DataFrame
    peaks: pd.DataFrame
    improvement: pd.DataFrame
    equivalent: pd.DataFrame
    targets: pd.DataFrame

    @property
    def baseline(self) -> str | None:
        """The interconnect that most are compared with; None where none is."""
        return next(iter(self.improvement["baseline_interconnect"].mode()), None)

    def against_baseline(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Rows of `improvement` or `equivalent` that are about that one."""
        return rows[rows["baseline_interconnect"] == self.baseline]


def contests(tables: Tables, declared: Sequence[Sequence[str]]) -> list[Contest]:
    """All contests of a study, the one that shows most first: the headline.

    Every case and set of kinds has one, at its lowest level: processes that share cores are no scaling. The
    headline has several interconnects if any has, the most process counts, then the most curves; of equals it
    is the first.
    """
    made = []
    for case, scaling in tables["scaling"].groupby("case", sort=False):
        for kinds in comparable_sets(scaling.loc[~scaling["serial"], "kind"], declared):
            peaks = _of(tables["peaks"], case, kinds)
            if len(peaks):
                level = int(peaks["oversubscription"].min())
                made.append(_contest(tables, case, kinds, level))
    return sorted(made, key=_shows, reverse=True)


def _shows(contest: Contest) -> tuple[bool, int, int]:
    own = contest.scaling[~contest.scaling["serial"]]
    return own["interconnect"].nunique() > 1, own["processes"].nunique(), len(contest.peaks)


def _contest(tables: Tables, case: str, kinds: tuple[str, ...], level: int) -> Contest:
    scaling, peaks, improvement, targets = (
        rows[rows["oversubscription"] == level]
        for rows in (
            _of(tables[name], case, kinds) for name in ("scaling", "peaks", "improvement", "node_equivalent")
        )
    )
    baseline = ["baseline_interconnect", "kind", "processes_per_node", "site"]
    highest = targets.groupby(baseline, dropna=False)["target_speedup"].transform("max")
    equivalent = targets[targets["target_speedup"] == highest]
    pairs = [*CURVE, "baseline_interconnect"]
    told = [
        any(direction(pair) for pair in as_lines(rows_like(improvement, line, pairs)))
        for line in as_lines(equivalent)
    ]
    return Contest(case, kinds, level, scaling, peaks, improvement, equivalent[np.array(told, bool)], targets)


def _of(table: pd.DataFrame, case: str, kinds: Sequence[str]) -> pd.DataFrame:
    own = table["kind"].map(lambda kind: set(kind.split("/")) <= set(kinds)).astype(bool)
    return table[(table["case"] == case) & own]


def direction(line: Line) -> str | None:
    """Say whether a comparison tells that an interconnect is ``faster`` or ``slower``.

    A test, the whole band of a simulation, or one figure each may tell it; None where none does, or where the
    medians of the times say the opposite.
    """
    verdict = "" if is_missing(line["verdict"]) else str(line["verdict"])
    note = "" if is_missing(line.get("note")) else str(line["note"])
    tells = verdict in ("faster", "slower") or verdict.endswith(
        ("over the whole band", "(one figure each, untested)")
    )
    word = verdict.split(" ")[0]
    return word if tells and MEDIANS_DISAGREE not in note and word in ("faster", "slower") else None


def direction_with_same_computing(line: Line) -> str | None:
    """Say what a comparison of bands of both directions tells where computing takes as long over both."""
    low, high = (as_float(line[f"improvement_same_computing_{end}"]) for end in ("low", "high"))
    if not str(line["verdict"]).endswith("within the band") or not low * high > 0:
        return None
    return "faster" if low > 0 else "slower"


def once(line: Line) -> bool:
    """Whether a comparison is of one figure each."""
    return "one figure each" in str(line["verdict"])


def whole(count: float) -> int:
    """Whole processes that reach what a count between two counts reaches."""
    return math.ceil(count - WHOLE)


def nodes_of(rows: pd.DataFrame, count: float) -> int | None:
    """Nodes of a count on a curve, from its rows; None where they are not known, or all processes on one."""
    known = rows.dropna(subset="nodes")
    if known.empty or known["nodes"].max() < 2:
        return None
    return math.ceil(count / float((known["processes"] / known["nodes"]).max()) - WHOLE)


def end_of(peak: Line, scaling: pd.DataFrame) -> str:
    """Say how a curve, a row of ``peaks``, ends: whether more processes bring anything.

    Returns
    -------
    str
        ``stops`` where a count before the last that was run is the best; ``rises`` where the last is;
        ``unsure`` where that and others may be.
    """
    if not peak["reached"] and " " in str(peak["peak_set"]):
        return "unsure"
    return "rises" if at_last(peak, scaling) else "stops"


def at_last(peak: Line, scaling: pd.DataFrame) -> bool:
    """Whether a curve, a row of ``peaks``, is fastest at the most processes that were run on it."""
    return as_float(peak["peak_processes"]) >= as_float(rows_like(scaling, peak)["processes"].max())
