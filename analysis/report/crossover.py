"""The order of the interconnects at all counts, for page one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise

import pandas as pd

from analysis.curves.outcomes import ONE_NODE
from analysis.presentation import formats
from analysis.presentation.contests import Contest
from analysis.presentation.labels import Labels
from analysis.runs.frames import Line, as_float, as_lines
from analysis.topics.fastest.tables import winners


def crossover(contest: Contest, fastest: pd.DataFrame, labels: Labels) -> str:
    """State up to which count one interconnect is the fastest, and from which count another.

    If one interconnect is the fastest at all counts, the sentence names it only if nothing else on page one
    does: the best counts of the baselines are on one node, where no interconnect is compared.

    Sites and placements without the baseline of the title have no sentence.

    A side counts as shown if the interval of the next interconnect's difference excludes 0. Single runs have
    no interval, and the sentence says so. Counts at which any of the fastest was not run are left out, and
    counts with equal times.

    Parameters
    ----------
    fastest : DataFrame
        Table ``fastest``.

    Returns
    -------
    str
        Empty if the same interconnect has the shortest time at all counts, and a comparison shows it.
    """
    rows = fastest[
        (fastest["case"] == contest.case)
        & (fastest["compared_kinds"] == "/".join(contest.kinds))
        & (fastest["oversubscription"] == contest.level)
    ]
    groups = [group for _, group in rows.groupby(["site", "processes_per_node", "threads"], dropna=False)]
    sentences = [
        _sentence(contest, group, labels)
        for group in sorted(groups, key=lambda group: -group[contest.unit].nunique())
        if contest.baseline in set(group["interconnect"])
    ]
    return next(filter(None, sentences), "")


def _sentence(contest: Contest, group: pd.DataFrame, labels: Labels) -> str:
    """Write the sentence about the interconnects of one site and placement."""
    unit = contest.unit
    leaders = set(group.loc[group["place"] == 1, "interconnect"])
    common = group.groupby(unit)["interconnect"].transform(lambda names: leaders <= set(names))
    best = winners(group[common]).sort_values(unit)
    won = as_lines(best[best["equal"].map(len) < 2])
    has_two = group["interconnect"].nunique() == 2
    if len({line["interconnect"] for line in won}) < 2:
        compared = contest.improvement["improvement_percent"].notna().any()
        is_on_one_node = contest.improvement["note"].str.endswith(ONE_NODE, na=False).any()
        return _lead(won, contest, labels, has_two) if is_on_one_node and not compared else ""
    return _order(won, contest, labels, has_two)


def _lead(won: Sequence[Line], contest: Contest, labels: Labels, has_two: bool) -> str:
    """Write at which counts of several nodes an interconnect is the fastest, given the winners."""
    won = [line for line in won if as_float(line["lead_low"]) > 0]
    if not won:
        return ""
    word, other = ("faster", "the other") if has_two else ("the fastest", "the next")
    longer = formats.percents(as_float(line["lead_percent"]) for line in won)
    return (
        f"On several nodes, {labels.curve(won[0])} is {word} {_at(won, contest)}: {other} {labels.noun} "
        f"takes {longer} longer."
    )


def _order(won: Sequence[Line], contest: Contest, labels: Labels, has_two: bool) -> str:
    """Write which interconnect is the fastest at which counts, given the winner at each count."""
    unit, title = contest.unit, f"Crossover in {labels.case(contest.case)}"
    word = "faster" if has_two else "the fastest"
    single = bool((contest.scaling.loc[~contest.scaling["serial"], "n"] == 1).all())
    shown = [line for line in won if single or as_float(line["lead_low"]) > 0]
    stretches = [list(lines) for _, lines in groupby(shown, key=lambda line: line["interconnect"])]
    remark = " Each interconnect has one run per count." if single else ""
    if len(stretches) > 2:
        places = [f"{labels.curve(lines[0])} is {word} {_at(lines, contest)}." for lines in stretches]
        return f"{title}: {' '.join(places)}{remark}"
    changes = [
        (before, after) for before, after in pairwise(won) if before["interconnect"] != after["interconnect"]
    ]
    before, after = changes[0]
    if len(stretches) < 2:
        counts = f"between {formats.whole(before[unit])} and {contest.counted(after[unit])}"
        return (
            f"{title}: undecided. The shortest median time changes from {labels.curve(before)} to "
            f"{labels.curve(after)} {counts}. Noise may explain the difference on at least one side."
        )
    small, large = stretches
    low = [line for line in won if line[unit] <= small[-1][unit]]
    high = [line for line in won if line[unit] >= large[0][unit]]
    up_to = f"up to {contest.counted(small[-1][unit])}"
    start = up_to if low == small and len(small) > 1 else _at(small, contest)
    above = f"from {contest.counted(large[0][unit])}"
    end = above if high == large and len(large) > 1 else _at(large, contest)
    first, second = labels.curve(small[0]), labels.curve(large[0])
    return f"{title}: {first} is {word} {start}. {second} is {word} {end}.{remark}"


def _at(lines: Sequence[Line], contest: Contest) -> str:
    """Write the counts of consecutive winners."""
    return f"at {contest.counted(*(line[contest.unit] for line in lines))}"
