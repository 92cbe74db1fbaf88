"""Page one in words: how the times came about, what is open, and what would settle it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd

from analysis.curves.outcomes import INSEPARABLE, UNKNOWN_TURNS
from analysis.presentation import formats
from analysis.presentation.contests import Contest, Tables, direction, direction_with_same_computing, once
from analysis.presentation.formats import MOST, counted, listed
from analysis.presentation.labels import Labels
from analysis.runs.columns import OF_AN_IMPROVEMENT
from analysis.runs.facts import Facts
from analysis.runs.frames import Line, as_float, rows_like
from analysis.runs.kinds import side
from analysis.topics.improvement.sentences import ROUNDED, WITHHELD
from analysis.topics.quality.sentences import DISTURBED_CORES, count_disturbed

HOW = {
    "measured": "measured",
    "emulated": "measured over links that are shaped to a rate (emulated)",
    "simulated": "simulated (traces replayed on models: a band, no test)",
    "published": "published by others",
}
SECONDS = 60
LETTERS = 300
"""Of the names of what cannot be told, in a sentence."""


def how_sure(runs: pd.DataFrame, tables: Tables, contests: Sequence[Contest], facts: Facts) -> str:
    """Say how the times came about, what cannot be told of them, and what would settle it."""
    table = pd.concat([contest.improvement for contest in contests])
    known = table[table["improvement_percent"].notna()].to_dict("records")
    text = f"How sure: {what_counts(runs)}{_unknown_turns(known)}"
    single = sum(map(once, known))
    if known and single == len(known):
        return f"{text}; one run each, so that chance is not ruled out: repeated runs would settle it."
    unsure = [line for line in known if not direction(line)]
    text += (
        f"; {counted(single, 'comparison')} of one run each, so that chance is not ruled out"
        if single
        else ""
    )
    if not unsure:
        left = f"; no {'other ' * bool(single)}comparison with a baseline is left open" if known else ""
        return f"{text}{left}."
    labels = Labels(facts)
    why = [_why_open(line, tables.get("precision"), facts) for line in unsure]
    waiting = [line for line, reason in zip(unsure, why, strict=True) if not reason]
    text += f"; {len(unsure)} of {counted(len(known), 'comparison')} cannot be told{' yet' * bool(waiting)}"
    names = _named(unsure, why, labels)
    text += f" ({names})" if len(names) <= LETTERS else _withheld(why)
    return f"{text}{_settled_by(runs, tables.get('precision'), waiting, facts)}."


def _unknown_turns(known: Sequence[Line]) -> str:
    """Count the comparisons of imported runs that time may explain, since turns are unknown."""
    number = sum(UNKNOWN_TURNS in str(line.get("note")) for line in known)
    if not number:
        return ""
    return (
        f"; whether the interconnects took turns is unknown in {counted(number, 'comparison')}, so time may "
        "explain the difference"
    )


def _withheld(why: Sequence[str]) -> str:
    """Count the comparisons that time or rounding leaves open, if there are too many to name."""
    counts = [f"{why.count(reason)} since {reason}" for reason in (INSEPARABLE, ROUNDED) if reason in why]
    return f" ({listed(counts)})" if counts else ""


def what_counts(runs: pd.DataFrame) -> str:
    """Count the valid runs by how they came about, then the invalid and the disturbed runs."""
    ways = []
    for kind, how in HOW.items():
        valid = int((runs["valid"] & (runs["kind"] == kind)).sum())
        ways += [f"{counted(valid, 'point' if kind == 'simulated' else 'run')} {how}"] if valid else []
    counts = [listed(ways)] if ways else []
    stopped = int(runs["censored"].sum()) if "censored" in runs else 0
    if stopped:
        counts.append(f"{counted(stopped, 'run')} stopped at a time limit, which gives a lower bound")
    if invalid := int((~runs["valid"]).sum()) - stopped:
        counts.append(f"{counted(invalid, 'run')} invalid and left out")
    disturbed, observed = count_disturbed(runs)
    if disturbed:
        verb = "was" if disturbed == 1 else "were"
        counts.append(
            f"{formats.whole(disturbed)} of {counted(observed, 'valid run')} {verb} disturbed: other "
            f"programs kept more than {DISTURBED_CORES} cores busy"
        )
    return "; ".join(counts)


def _why_open(line: Line, precision: pd.DataFrame | None, facts: Facts) -> str:
    """Say why more blocks would not tell a comparison; empty where they may."""
    if line["verdict"] in WITHHELD:
        return WITHHELD[line["verdict"]]
    kinds = [side(str(line["kind"]), number) for number in (0, 1)]
    if "simulated" in kinds:
        if direction_with_same_computing(line):
            return "told only where computing takes as long over both"
        pair = zip([line["baseline_interconnect"], line["interconnect"]], kinds, strict=True)
        models = [facts.interconnect(name).model for name, kind in pair if kind == "simulated"]
        ranges = [model.host.host_speed_range or [] for model in models if model]
        ranged = any(len(set(speeds)) > 1 for speeds in ranges)
        return (
            "only a narrower range of the cores' speed may tell"
            if ranged
            else "the band holds both directions"
        )
    if precision is None or as_float(line["blocks_needed"]) > as_float(line["blocks"]):
        return ""
    found = rows_like(precision, line, list(OF_AN_IMPROVEMENT))
    if found.empty or not found["reached"].all():
        return ""
    return f"known to ±{formats.number(found['half_width_percent'].max(), 2)} points already"


def _named(unsure: Sequence[Line], why: Sequence[str], labels: Labels) -> str:
    """Name comparisons and why each is open, the first few where there are many, each baseline once."""
    found: dict[tuple[str, str, int, str], list[str]] = {}
    for line, reason in list(zip(unsure, why, strict=True))[:MOST]:
        owner = labels.case(line["case"]), labels.baseline(line), line["oversubscription"], reason
        found.setdefault(owner, []).append(labels.compared(line))
    said = [
        f"{listed(names)} against {baseline} in {case}"
        + f", {level} processes a core" * (level > 1)
        + f": {reason}" * bool(reason)
        for (case, baseline, level, reason), names in found.items()
    ]
    more = len(unsure) - MOST
    return "; ".join([*said, *([f"{more} more"] if more > 0 else [])])


def _settled_by(
    runs: pd.DataFrame, precision: pd.DataFrame | None, unsure: Sequence[Line], facts: Facts
) -> str:
    """Say how many blocks more could tell what is not told yet, how long they take, and the command."""
    study = facts.study
    if not unsure or precision is None or study.blocks is None or study.file is None:
        return ""
    found = pd.concat([rows_like(precision, line, list(OF_AN_IMPROVEMENT)) for line in unsure])
    needed = max((as_float(line["blocks_needed"]) for line in unsure), default=math.nan)
    wanted, would = needed, "could tell the first of them"
    if not needed > study.blocks:
        wanted, target = found["blocks_wanted"].astype(float).max(), found["target_percent"].max()
        would = f"would narrow all intervals to ±{formats.exact(target)} points"
    if not wanted > study.blocks:
        return ""
    own = runs[runs["origin"] == "run"] if "origin" in runs else runs
    if own.empty:
        return ""
    spent = own["wall_seconds"].fillna(own["seconds"]) if "wall_seconds" in own else own["seconds"]
    minutes = math.ceil(float(spent.sum()) / study.blocks * (wanted - study.blocks) / SECONDS)
    more = counted(int(wanted) - study.blocks, "more block")
    return (
        f": {more}, about {counted(minutes, 'minute')}, {would} ("
        f"./run-study {study.file} --config blocks={int(wanted)})"
    )
