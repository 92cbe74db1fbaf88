"""The comparison that the title of page one states."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from analysis.curves.outcomes import DEPENDS_ON_COUNT, FASTEST_ALONE, MEDIANS_DISAGREE, outcome
from analysis.presentation import formats
from analysis.presentation.contests import (
    Contest,
    blocks_or_runs,
    direction,
    fits_one_node,
    has_single_value,
    medians_contradict,
    too_few,
    whole_count,
)
from analysis.presentation.formats import counted, listed
from analysis.presentation.labels import Labels
from analysis.runs.frames import CURVE, Line, as_float, as_lines, is_missing, rows_like
from analysis.runs.kinds import side
from analysis.runs.settings import DISTINGUISHABLE, NODES
from analysis.topics.improvement.sentences import WITHHELD

ONE_RUN = "a single run"
"""Remark on a comparison of which an interconnect has only one run."""
PAIR = [*CURVE, "baseline_interconnect"]


@dataclass(frozen=True)
class Contrast:
    """Comparison of an interconnect with a baseline, for page one.

    Attributes
    ----------
    comparison : mapping
        Row of ``improvement``.
    direction : str or None
        ``faster`` or ``slower`` if the comparison shows either.
    equivalent : mapping or None
        Row of ``node_equivalent`` at the best count of the slower interconnect, if the faster interconnect
        matches it with fewer processes or nodes.
    on_one_node : bool
        Whether this match is on one node, where no message crosses the interconnect.
    """

    comparison: Line
    direction: str | None
    equivalent: Line | None
    on_one_node: bool = False

    @property
    def saves(self) -> bool:
        """Whether the equivalent, with its interval if it has one, is below the count that it matches.

        An equivalent on one node is no saving of an interconnect.
        """
        if self.equivalent is None or self.on_one_node:
            return False
        high = self.equivalent["equivalent_high"]
        return is_missing(high) or _is_below(as_float(high), as_float(self.equivalent["baseline_processes"]))

    @property
    def remark(self) -> str:
        """State what the comparison rests on, unless it rests on a test."""
        if has_single_value(self.comparison):
            return ONE_RUN
        return "simulated" if "simulated" in str(self.comparison["kind"]) else ""


def find_contrast(contest: Contest, has_baseline: bool, factor: int = 1) -> Contrast | None:
    """Find the comparison that the title states, or None without a comparison.

    The comparison is declared before the data are seen. If the study names a baseline, all its comparisons
    are declared, and Holm's correction covers them: tested directions precede untested directions, which
    precede open comparisons. Faster interconnects, the largest saving, and the largest difference decide
    among them. Without a baseline, the two interconnects with the most points are compared, and this
    comparison is tested outside the correction.

    Parameters
    ----------
    factor : int
        Factor of p-values because of earlier looks: see `Settings.look_factors`.
    """
    improvement = contest.against_baseline(contest.improvement)
    comparisons = as_lines(improvement[improvement["improvement_percent"].notna()])
    if has_baseline or not comparisons:
        contrasts = [_make(line, direction(line), contest) for line in comparisons]
        return max(contrasts, key=_rank, default=None)
    first = _tested_alone(max(comparisons, key=lambda line: _number_of_points(line, contest)), factor)
    return _make(first, direction(first) or _uncorrected_direction(first), contest)


def _make(comparison: Line, word: str | None, contest: Contest) -> Contrast:
    saving = _saving_of(comparison, word, contest) if word else None
    return Contrast(comparison, word, saving, saving is not None and fits_one_node(saving, contest))


def _rank(contrast: Contrast) -> tuple[bool, bool, bool, float, float]:
    word, saving = contrast.direction, contrast.equivalent
    size = abs(as_float(contrast.comparison["improvement_percent"]))
    saved = as_float(saving["processes_saved"]) if saving else 0.0
    return word is not None, contrast.remark != ONE_RUN, word == "faster", saved, size


def _number_of_points(comparison: Line, contest: Contest) -> tuple[int, int]:
    """Count the points of the interconnect that is compared with the baseline, and their runs."""
    rows = contest.scaling[contest.scaling["interconnect"] == comparison["interconnect"]]
    return len(rows), int(rows["n"].fillna(1).sum())


def _tested_alone(comparison: Line, factor: int) -> Line:
    """Return a comparison with the p-values of its test outside the correction.

    It is open instead of untestable if its blocks suffice for this test.
    """
    names = ("p_value", "least_p", "best_p_value")
    comparison = {**comparison, **{name: min(as_float(comparison[name]) * factor, 1.0) for name in names}}
    suffices = comparison["least_p"] <= DISTINGUISHABLE and not is_missing(comparison["coverage"])
    if outcome(comparison["verdict"]) == "untestable" and suffices:
        return {**comparison, "verdict": "not distinguishable"}
    return comparison


def _uncorrected_direction(comparison: Line) -> str | None:
    """Return the direction that the test of a single comparison shows without correction."""
    is_open = str(comparison["verdict"]).startswith(("not distinguishable", "untestable"))
    low, high = (as_float(comparison[f"improvement_{end}"]) for end in ("low", "high"))
    if not is_open or not as_float(comparison["p_value"]) <= DISTINGUISHABLE or not low * high > 0:
        return None
    word = "faster" if low > 0 else "slower"
    return direction({**comparison, "verdict": word})


def _saving_of(comparison: Line, word: str, contest: Contest) -> Line | None:
    """Return the row of ``node_equivalent`` in which the faster interconnect saves processes or nodes."""
    is_reversed = word == "slower"
    if is_reversed:
        names = comparison["interconnect"], comparison["baseline_interconnect"]
        kind = "/".join(reversed(str(comparison["kind"]).split("/")))
        comparison = {**comparison, "baseline_interconnect": names[0], "interconnect": names[1], "kind": kind}
    rows = contest.targets[contest.targets["reversed"] == is_reversed]
    line = as_lines(rows_like(rows, comparison, PAIR).nlargest(1, "target_speedup"))
    if line and line[0]["attainable"]:
        needed, count = (as_float(line[0][f"{name}_processes"]) for name in ("equivalent", "baseline"))
        if _is_below(needed, count):
            return line[0]
    return None


def _is_below(needed: float, count: float) -> bool:
    """Return whether an interpolated count, rounded up, is below another count; false if it is missing."""
    return math.isfinite(needed) and whole_count(needed) < count


def page_labels(labels: Labels, contests: Sequence[Contest]) -> Labels:
    """Return labels with the names that the user gave, and kinds only if they differ."""
    kinds = {kind for contest in contests for kind in contest.peaks["kind"]}
    return replace(labels, given="with kind" if len(kinds) > 1 else "without kind")


def contrast_title(contrast: Contrast, contest: Contest, labels: Labels, where: str = "") -> str:
    """State the result of a comparison; `where` names its case among several."""
    line, word = contrast.comparison, contrast.direction
    other, baseline = labels.compared(line), labels.baseline(line)
    if contrast.equivalent and contrast.saves:
        saving = contrast.equivalent
        needed = contest.needed(saving)
        count = contest.counted(saving["baseline_processes"])
        text = f"{labels.compared(saving)} with {needed} matches {labels.baseline(saving)} with {count}"
    elif word:
        percent = formats.percent(abs(line["improvement_percent"]))
        text = f"{other} is {percent} {word} than {baseline} at {contest.counted(line['at_processes'])}"
        if FASTEST_ALONE in str(line["note"]):
            text += f", but by median times {baseline} is fastest on one process"
    else:
        return f"{_open_title(line, other, baseline)}{where}"
    return f"{text}{where} ({contrast.remark})" if contrast.remark else f"{text}{where}"


def _open_title(line: Line, other: str, baseline: str) -> str:
    """State why a comparison shows no direction."""
    verdict = str(line["verdict"])
    if DEPENDS_ON_COUNT in str(line.get("note")):
        if line["best_verdict"] not in ("faster", "slower"):
            return f"Whether {other} is faster than {baseline} depends on the number of {line['unit']}"
        percent = formats.percent(abs(line["best_percent"]))
        return f"{other} is {percent} {line['best_verdict']} than {baseline}, each at its best count"
    if verdict.startswith("untestable"):
        return f"Too few {blocks_or_runs(line)} to distinguish {other} from {baseline}"
    if verdict.startswith("not distinguishable"):
        return f"No distinguishable difference between {other} and {baseline}"
    title = f"Undecided whether {other} is faster than {baseline}"
    return f"{title}: {MEDIANS_DISAGREE}" if medians_contradict(line) else title


def why_undecided(line: Line) -> str:
    """Return the reason why a comparison without a direction is undecided; empty if the interval shows it.

    Parameters
    ----------
    line : mapping
        Row of ``improvement``.
    """
    verdict = str(line["verdict"])
    if medians_contradict(line):
        return MEDIANS_DISAGREE
    if outcome(verdict) == "untestable":
        return too_few(line)
    if verdict in WITHHELD:
        return WITHHELD[verdict]
    low, high = (as_float(line[f"improvement_{end}"]) for end in ("low", "high"))
    return "not distinguishable after correction" if low * high > 0 else ""


def cores_of_nodes(contrast: Contrast, contest: Contest, labels: Labels) -> str:
    """State the cores of compared nodes, and of both sides of a saving, if they differ; else nothing."""
    line, saving = contrast.comparison, contrast.equivalent
    if contest.unit != NODES:
        return ""
    names = {
        line["interconnect"]: labels.compared(line),
        line["baseline_interconnect"]: labels.baseline(line),
    }
    cores: dict[str, float] = {}
    for interconnect in names:
        curve = contest.scaling[contest.scaling["interconnect"] == interconnect]
        per_node = (curve["cores"] / curve["nodes"]).unique()
        if len(per_node) != 1:
            return ""
        cores[interconnect] = per_node[0]
    if len({*cores.values()}) < 2:
        return ""
    nodes_have = [f"{formats.whole(cores[name])} cores with {title}" for name, title in names.items()]
    text = f"A node has {' and '.join(nodes_have)}."
    if saving is None or not contrast.saves:
        return text
    sides = {
        saving["interconnect"]: whole_count(saving["equivalent_processes"]),
        saving["baseline_interconnect"]: int(saving["baseline_processes"]),
    }
    totals = [
        f"{contest.counted(nodes)} of {names[name]} have {formats.whole(nodes * cores[name])} cores"
        for name, nodes in sides.items()
    ]
    return f"{text} {' and '.join(totals)}."


def unattained_speedup(contrast: Contrast, contest: Contest, labels: Labels) -> str:
    """State that a slower interconnect does not reach the best of its baseline, and what it reaches.

    Both follow from median times. Empty for other comparisons.
    """
    line = contrast.comparison
    targets = rows_like(contest.targets, line, PAIR).sort_values("target_speedup")
    is_slower = contrast.direction == "slower" or (
        not contrast.direction and as_float(line["improvement_percent"]) < 0
    )
    if not is_slower or targets.empty or targets["attainable"].iloc[-1]:
        return ""
    name, baseline = labels.compared(line), labels.baseline(line)
    largest = contest.counted(rows_like(contest.scaling, line)[contest.unit].max())
    text = f"In {labels.case(contest.case)}, by median times, {name} does not reach the highest "
    text += f"{labels.speedup} of {baseline}, "
    text += f"{formats.number(targets['target_speedup'].iloc[-1])}, with up to {largest}."
    reached = as_lines(targets[targets["attainable"] & targets["equivalent_processes"].notna()])
    if reached:
        last = reached[-1]
        needed, matched = contest.needed(last), contest.counted(last["baseline_processes"])
        low, high = (as_float(last[f"equivalent_{end}"]) for end in ("low", "high"))
        low, high = (whole_count(end) if math.isfinite(end) else end for end in (low, high))
        ends = formats.ends(low, high, places=0)
        text += f" With {needed}{ends}, it matches {baseline} with {matched}."
    return text


def unpaired_runs(contrast: Contrast, contest: Contest, labels: Labels) -> str:
    """State that the curves use more runs than a paired comparison; empty if both use the same runs."""
    line = contrast.comparison
    pairs = as_float(line["blocks"])
    if is_missing(line["paired"]) or not line["paired"] or not pairs > 1:
        return ""
    kinds = [side(str(line["kind"]), place) for place in (0, 1)]
    compared = [
        (labels.compared(line), line["interconnect"], kinds[1], line["at_processes_other"]),
        (labels.baseline(line), line["baseline_interconnect"], kinds[0], line["at_processes"]),
    ]
    blocks: list[str] = []
    most = pairs
    for name, interconnect, kind, count in compared:
        curve = rows_like(contest.scaling, {**line, "interconnect": interconnect, "kind": kind}, CURVE)
        number = as_float(curve.loc[curve[contest.unit] == count, "n"].max())
        if math.isnan(number):
            return ""
        most = max(most, number)
        blocks.append(f"{counted(int(number), 'block')} of {name}")
    if most <= pairs:
        return ""
    (first, *_), (second, *_) = compared
    return (
        f"In {labels.case(contest.case)}, the comparison of {first} with {second} uses the "
        f"{counted(int(pairs), 'block')} that contain both at {contest.counted(line['at_processes'])}. "
        f"The curves use all runs: {listed(blocks)}."
    )
