"""The answers of a study in plain sentences, with their numbers: from tables to text.

Brackets hold intervals, p-values are Holm-corrected. Functions take the rows of one case unless they
say otherwise, and every name of an interconnect that was not measured says its kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from analysis.estimates.outcomes import AT_LEAST, AT_MOST, MEDIANS_DISAGREE, OUTCOMES, outcome
from analysis.runs.facts import AboutStudy
from analysis.runs.kinds import side
from analysis.tables.missing import Line, interval, is_missing, percent_interval
from analysis.tables.selection import CURVE
from analysis.text import formats
from analysis.text.formats import counted, listed
from analysis.text.labels import Labels

WEAK = "Weak scaling: the size grows with the processes."
BASELINE = ["baseline_interconnect", "baseline_kind", "oversubscription", "processes_per_node"]


def processes(*counts: float) -> str:
    """Write process counts: ``4 processes``, ``4 and 8 processes``."""
    noun = "process" if counts == (1,) else "processes"
    return f"{listed(map(formats.plain, counts))}{formats.SPACE}{noun}"


def reference_sentences(scaling: pd.DataFrame, labels: Labels) -> list[str]:
    """Say which time speedup refers to, with its absolute value."""
    columns = ["site", "reference_interconnect", "reference_processes", "reference_seconds"]
    sentences = [WEAK] if labels.weak else []
    for (site, interconnect, count, seconds), rows in scaling.groupby(columns, dropna=False, sort=False):
        kinds = list(dict.fromkeys(rows["kind"]))
        whose = f" of {listed(kinds)} runs" if len(kinds) < scaling["kind"].nunique() else ""
        whose += "" if is_missing(site) else f" ({site})"
        what, why = "the serial run", ""
        if not is_missing(interconnect):
            what = f"the run of {processes(count)} over {labels.interconnect(interconnect, kinds[0])}"
            why = ", since there is no serial run"
        sentences.append(
            f"{labels.speedup.capitalize()}{whose} refers to {what}, {formats.seconds(seconds)}{why}."
        )
    return sentences


def look_sentences(study: AboutStudy) -> list[str]:
    """Say that a study is unfinished, or that it was extended after a report, and what follows."""
    if study.unfinished:
        of = study.until.max_blocks if study.until else study.blocks
        most = " at most" if study.until else ""
        return [
            f"{formats.whole(study.blocks_recorded)} of {counted(of, 'block')}{most}: curves only, no "
            "direction is told before the last."
        ]
    if len(study.looks) < 2:
        return []
    k, before = len(study.looks), listed(map(str, study.looks[:-1]))
    return [
        f"This is look {k} at the study: it was extended after a report of {before} blocks. So that looking "
        f"again makes no chance finding, its tests go by 0.05/2{str(k).translate(formats.SUPERSCRIPT)}."
    ]


def peak_sentences(peaks: pd.DataFrame, scaling: pd.DataFrame, labels: Labels) -> list[str]:
    """Say where the speedup of each interconnect peaks, or that its peak is not reached.

    Interconnects that peak alike share a sentence.
    """
    counts = scaling.groupby(CURVE, dropna=False)["processes"].agg(["max", "nunique"]).reset_index()
    rows = peaks.merge(counts, on=CURVE, how="left")
    groups: dict[tuple[Any, ...], list[str]] = {}
    for row in labels.lines(rows, "interconnect"):
        level, peak = int(row["oversubscription"]), int(row["peak_processes"])
        at_end, alone = peak == row["max"], row["nunique"] == 1
        alike = () if is_missing(row["peak_set"]) else tuple(map(int, str(row["peak_set"]).split()))
        speedup = formats.bracketed(*interval(row, "peak_speedup"))
        note = "" if is_missing(row["note"]) else str(row["note"])
        key = (level, peak, alike, bool(row["reached"]), at_end, alone, note)
        name = f"{labels.curve(row)} ({speedup})" if peak > 1 else labels.curve(row)
        groups.setdefault(key, []).append(name)
    sentences = []
    for (level, peak, alike, reached, at_end, alone, note), names in sorted(groups.items()):
        start = labels.speedup.capitalize()
        if _several_levels(peaks):
            start = f"At oversubscription {level}, {labels.speedup}"
        if alone:
            sentences.append(f"{start} is known at {processes(peak)} alone, over {listed(names)}.")
            continue
        text = f"{start} {'peaks' if reached else 'is highest'} at {processes(peak)} over {listed(names)}"
        text += ": more bring nothing" if peak == 1 and reached else ""
        if len(alike) > 1:
            text += f"; {processes(*alike)} cannot be told apart"
        if not reached:
            text += ", the most that was run: no peak is reached" if at_end else ": the peak may lie beyond"
        sentences.append(f"{text}{f' ({note})' if note else ''}.")
    return sentences


def fastest_sentences(fastest: pd.DataFrame, labels: Labels) -> list[str]:
    """Say which interconnect has the shortest median time at each count, and which may be the fastest too.

    Takes rows of the table ``fastest``.
    """
    sentences = []
    sets, sites = fastest["compared_kinds"].nunique(), fastest["site"].nunique(dropna=False)
    for (kinds, site), rows in fastest.groupby(["compared_kinds", "site"], dropna=False, sort=False):
        groups: dict[tuple[int, str, str], list[int]] = {}
        point = ["oversubscription", "processes_per_node", "processes"]
        for (level, _, count), competing in rows.groupby(point, dropna=False):
            groups.setdefault((level, *_fastest(competing, labels)), []).append(int(count))
        told = [
            f"{name} at {processes(*counts)}{_on_nodes(rows, level, counts)}{and_level(fastest, level)}"
            f"{f' ({near} cannot be told apart from it)' if near else ''}"
            for (level, name, near), counts in groups.items()
        ]
        which = f" of the {listed(kinds.split('/'))} interconnects" if sets > 1 else ""
        which += f" ({site})" if sites > 1 and not is_missing(site) else ""
        sure = "" if rows["may_be_fastest"].notna().all() else " (by the medians; not all are tested)"
        sentences.append(f"Fastest{which}{sure}: {'; '.join(told)}.")
    return sentences


def _on_nodes(rows: pd.DataFrame, level: int, counts: Sequence[int]) -> str:
    """Name the nodes of some process counts, where nodes grow with the processes alone."""
    nodes = rows[rows["oversubscription"] == level].groupby("processes")["nodes"].agg(["min", "max"])
    if nodes.isna().any(axis=None) or (nodes["min"] != nodes["max"]).any() or nodes["min"].nunique() < 2:
        return ""
    counts_of_nodes = [int(nodes.at[count, "min"]) for count in counts]
    return f" ({listed(map(str, counts_of_nodes))} {'node' if counts_of_nodes == [1] else 'nodes'})"


def _fastest(rows: pd.DataFrame, labels: Labels) -> tuple[str, str]:
    first, *others = rows.sort_values("place").to_dict("records")
    equal = [row for row in others if row["seconds"] == first["seconds"]]
    near = [
        row for row in others[len(equal) :] if not is_missing(row["may_be_fastest"]) and row["may_be_fastest"]
    ]
    names = listed(map(labels.curve, [first, *equal]))
    return f"{names}, equal," if equal else names, listed(map(labels.curve, near))


def improvement_sentences(improvement: pd.DataFrame, labels: Labels, say_level: bool = False) -> list[str]:
    """Say what each interconnect brings over the baseline at its peak.

    Oversubscription is named where the table has several levels, or if `say_level`.
    """
    if improvement.empty:
        return ["There is no comparison: no two interconnects of kinds that may be compared were run."]
    sentences = []
    ordered = _with_baseline_kind(improvement, labels)
    for (baseline, kind, level, placement), rows in ordered.groupby(BASELINE, sort=False, dropna=False):
        name = labels.placed(baseline, kind, placement)
        counts = ["at_processes", "at_processes_other", "baseline_peak_processes"]
        for (count, other, peak), of_count in rows.groupby(counts, sort=False):
            against = f" against {formats.plain(count)} of {name}" if other != count else ""
            where = _where(name, count, peak)
            at = f"At {processes(other)}{against}{and_level(improvement, level, say_level)}, {where}"
            sentences += _outcome_sentences(of_count.to_dict("records"), at, labels)
        apart = [labels.compared(row) for row in rows[rows["at_processes"].isna()].to_dict("records")]
        if apart:
            sentences.append(f"{listed(apart)}: no process count up to the peak of {name} was run.")
    return sentences


def _where(name: str, count: int, peak: int) -> str:
    """Say why a comparison with a baseline is at a count."""
    if count == peak:
        return f"where {name} peaks"
    if peak == 1:
        return f"the other's best count, as {name} is fastest on one process"
    return f"the nearest common count below the peak of {name}"


def _outcome_sentences(rows: Sequence[Line], at: str, labels: Labels) -> list[str]:
    """One sentence a verdict, those that were tested first."""
    by_verdict: dict[str, list[str]] = {}
    for row in sorted(rows, key=lambda row: OUTCOMES.index(outcome(row["verdict"]))):
        verdict = "untested" if is_missing(row["verdict"]) else str(row["verdict"])
        name = f"{labels.compared(row)} ({_numbers(row, 'improvement')})"
        by_verdict.setdefault(verdict, []).append(name)
    return [
        f"{at}, {listed(names)} {'is' if len(names) == 1 else 'are'} {_against(verdict, 'it')}."
        for verdict, names in by_verdict.items()
    ]


def _against(verdict: str, what: str) -> str:
    """Write a verdict with what was compared: ``faster than it, over the whole band``."""
    for word, link in (
        ("not distinguishable", "from"),
        ("faster or slower", "than"),
        ("faster", "than"),
        ("slower", "than"),
        ("equal", "to"),
    ):
        if verdict.startswith(word):
            more = verdict.removeprefix(word).strip(" ()")
            return f"{word} {link} {what}{f', {more}' if more else ''}"
    return verdict


def disagreeing(improvement: pd.DataFrame) -> pd.DataFrame:
    """Rows whose comparison has another sign than the medians of the times."""
    return improvement[improvement["note"].str.contains(MEDIANS_DISAGREE, regex=False).fillna(False)]


def disagreement_sentences(improvement: pd.DataFrame, labels: Labels) -> list[str]:
    """Name the interconnects whose medians and paired ratios disagree, so that equivalents are withheld."""
    names = [
        f"{labels.compared(row)} at {processes(row['at_processes'])}"
        for row in disagreeing(improvement).to_dict("records")
    ]
    if not names:
        return []
    return [
        f"{listed(names)}: block by block the comparison has another sign than the medians of the times, so "
        "that no node equivalent is told."
    ]


def oversubscription_sentences(oversubscription: pd.DataFrame, labels: Labels) -> list[str]:
    """Say what more processes per core gain or lose on the most cores where that can be compared."""
    sentences = []
    for level, rows in _on_most_cores(oversubscription).groupby("oversubscription"):
        by_verdict: dict[str, list[str]] = {}
        for row in labels.lines(rows, "interconnect"):
            name = f"{labels.curve(row)} ({_numbers(row, 'gain')})"
            by_verdict.setdefault(str(row["verdict"]), []).append(name)
        at = f"On {counted(rows['cores'].iloc[0], 'core')}, {level} processes per core"
        ordered = sorted(by_verdict, key=lambda verdict: OUTCOMES.index(outcome(verdict)))
        sentences += [
            f"{at} are {_against(verdict, 'one')} over {listed(by_verdict[verdict])}." for verdict in ordered
        ]
    return sentences


def gain_sentences(oversubscription: pd.DataFrame, labels: Labels) -> list[str]:
    """Sum up over all cases what more processes per core bring on the most cores. Takes the whole table."""
    sentences = []
    ordered = labels.in_order(_on_most_cores(oversubscription), "interconnect")
    keys = ["oversubscription", "interconnect", "kind", "processes_per_node"]
    for (level, *curve), rows in ordered.groupby(keys, sort=False, dropna=False):
        name = labels.placed(*curve)
        sentences.append(f"{level} processes per core against one over {name}: {_outcomes(rows, 'gain')}.")
    return sentences


def _on_most_cores(oversubscription: pd.DataFrame) -> pd.DataFrame:
    most = oversubscription.groupby(["case", "oversubscription"])["cores"].transform("max")
    return oversubscription[oversubscription["cores"] == most]


def equivalent_sentences(equivalent: pd.DataFrame, labels: Labels, say_level: bool = False) -> list[str]:
    """Say how many processes of each interconnect are worth the baseline at its highest target.

    Oversubscription is named where the table has several levels, or if `say_level`.
    """
    sentences = []
    ordered = _with_baseline_kind(equivalent, labels)
    for (baseline, kind, level, placement), rows in ordered.groupby(BASELINE, sort=False, dropna=False):
        highest = rows[rows["target_speedup"] == rows["target_speedup"].max()].to_dict("records")
        start = f"The {labels.speedup} of {formats.number(highest[0]['target_speedup'])}"
        if not is_missing(count := highest[0]["baseline_processes"]):
            start += f" that {labels.placed(baseline, kind, placement)} has at {processes(count)}"
        by_verb: dict[str, list[str]] = {}
        for row in highest:
            verb, equivalents = _equivalent(row, labels)
            by_verb.setdefault(verb, []).append(equivalents)
        text = "; it ".join(f"{verb} {listed(equivalents)}" for verb, equivalents in by_verb.items())
        sentences.append(f"{start}{and_level(equivalent, level, say_level)} {text}.")
    return sentences


def _equivalent(row: Line, labels: Labels) -> tuple[str, str]:
    other = labels.compared(row)
    if not row["attainable"]:
        return "is not attained by", other
    if is_missing(row["equivalent_processes"]):
        return "is exceeded at the smallest count run by", other
    value = formats.bracketed(row["equivalent_processes"], row["equivalent_low"], row["equivalent_high"])
    text, saved = f"{value} processes over {other}", row["processes_saved"]
    if not is_missing(saved):
        text += f", {formats.fixed(abs(saved), 1)} {'more' if saved < 0 else 'fewer'}"
    return "takes", text


def headline_sentences(improvement: pd.DataFrame, labels: Labels) -> list[str]:
    """Sum up over all cases what each interconnect brings over the baseline. Takes the whole table."""
    sentences = []
    known = improvement[improvement["improvement_percent"].notna()]
    ordered = _with_baseline_kind(known, labels)
    keys = [*BASELINE, "interconnect", "kind"]
    for (*of_baseline, interconnect, kind), rows in ordered.groupby(keys, sort=False, dropna=False):
        baseline, own, level, placement = of_baseline
        name = labels.placed(interconnect, side(kind, 1), placement)
        against = labels.placed(baseline, own, placement)
        where = f" at oversubscription {level}" if _several_levels(known) else ""
        sentences.append(f"{name} against {against}{where}: {_outcomes(rows, 'improvement')}.")
    return sentences


def _outcomes(rows: pd.DataFrame, quantity: str) -> str:
    """Count the cases of each verdict, with the least and the largest change and their intervals."""
    found: list[tuple[int, str]] = []
    for verdict, own in rows.groupby(rows["verdict"].fillna("untested"), sort=False):
        ordered = own.sort_values(f"{quantity}_percent", kind="stable").to_dict("records")
        span = formats.spanned(*(_percent_interval(row, quantity) for row in (ordered[0], ordered[-1])))
        place = OUTCOMES.index(outcome(str(verdict)))
        found.append((place, f"{verdict} in {counted(len(own), 'case')} ({span})"))
    return listed(text for _, text in sorted(found, key=lambda one: one[0]))


def blocks_sentences(table: pd.DataFrame, what: str) -> list[str]:
    """Say how many tests of a table, of `what` in the plural, have too few blocks, and what it takes."""
    tested = table[table["p_adjusted"].notna()]
    short = tested[tested["verdict"].map(outcome) == "untestable"]
    if short.empty:
        return []
    all_of = len(short) == len(tested)
    which = f"{'none' if all_of else len(short)} of {counted(len(tested), 'test')} of {what}"
    blocks = sorted({int(number) for number in short["blocks"]})
    having = f"{listed(map(str, blocks), 'or')}{formats.SPACE}{'block' if blocks == [1] else 'blocks'}"
    needed = int(short["blocks_needed"].max())
    takes = f"{counted(needed, 'block')} at least" if needed > max(blocks) else "more"
    return [
        f"With {having}, {which} {'can' if all_of else 'cannot'} come out as distinguishable after Holm's "
        f"correction, whatever was measured; that takes {takes}."
    ]


def _percent_interval(row: Line, quantity: str) -> str:
    return formats.percent_with_interval(*percent_interval(row, quantity), signed=True)


def _numbers(row: Line, quantity: str) -> str:
    """Write a comparison with its interval and its p-value, or why there is none."""
    text = bound(row.get("note")) + _percent_interval(row, quantity)
    if not is_missing(row["p_adjusted"]):
        unpaired = "" if row.get("paired", True) else ", unpaired"
        return f"{text}, {formats.p_value(row['p_adjusted'])}{unpaired}"
    note = row.get("note")
    return text if is_missing(note) else f"{text}, {str(note).removeprefix('no test: ')}"


def bound(note: object) -> str:
    """Begin a comparison with stopped runs whose estimate is a bound: ``at least``, else nothing."""
    told = "" if is_missing(note) else str(note)
    return "at least " * (AT_LEAST in told) + "at most " * (AT_MOST in told)


def _several_levels(table: pd.DataFrame) -> bool:
    return table["oversubscription"].nunique() > 1


def and_level(table: pd.DataFrame, level: int, say_level: bool = False) -> str:
    """Name the oversubscription level where the table has several, or if `say_level`."""
    return f" and oversubscription {level}" if say_level or _several_levels(table) else ""


def _with_baseline_kind(table: pd.DataFrame, labels: Labels) -> pd.DataFrame:
    """Rows in the study's order, with the kind of their baseline."""
    ordered = labels.in_order(table, "interconnect")
    return ordered.assign(baseline_kind=[side(kind, 0) for kind in ordered["kind"]])
