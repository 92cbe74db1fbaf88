"""Sentences of page one about the origin of the times, undecided comparisons, and useful further blocks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pandas as pd

from analysis.curves.outcomes import (
    DEPENDS_ON_COUNT,
    INSEPARABLE,
    MEDIANS_DISAGREE,
    UNKNOWN_TURNS,
    could_decide,
)
from analysis.presentation import formats
from analysis.presentation.contests import (
    Contest,
    allows_for_correlation,
    direction,
    direction_with_same_computing,
    has_single_value,
    medians_contradict,
)
from analysis.presentation.formats import MOST, counted, listed, named_or_counted
from analysis.presentation.labels import Labels
from analysis.presentation.sentences import invalid_runs
from analysis.report.contrast import Contrast, why_undecided
from analysis.runs.columns import IMPROVEMENT_KEY
from analysis.runs.facts import Facts
from analysis.runs.frames import Line, Tables, as_float, as_lines, is_missing, rows_like
from analysis.runs.kinds import side
from analysis.runs.runs import BLOCK, DATE, DISTURBED_CORES, SESSION
from analysis.topics.improvement.sentences import WITHHELD, none_compared
from analysis.topics.quality.sentences import MOST_TIMES, count_disturbed, count_drifting
from analysis.topics.quality.tables import OR_REPEATED, POINT, repeated_points

ORIGINS = {
    "measured": "",
    "emulated": "Emulated runs are real runs whose messages pass through links with a limited rate",
    "simulated": "Simulated times are predictions from replayed traces",
    "published": "",
}
"""Explanation of each kind of runs; empty if the name of the kind explains it."""
OF_SIMULATED = (
    "Simulated times have an uncertainty band, but no p-value. docs/validation.md states the errors of such "
    "predictions"
)
DECIDED = ("has a verdict: faster or slower", "have verdicts: faster or slower")
"""State of decided comparisons, for one comparison and for several."""
CONDITIONS = {
    BLOCK: ("blocks", "the runs of a block were made together, in no fixed order"),
    DATE: (
        "start times. Nodeworth counts the runs of a date as a block",
        "the runs of different dates were independent",
    ),
    SESSION: (
        "days or sessions, which Nodeworth counts as blocks",
        "the runs of different blocks were independent, and the runs of a block were in no fixed order",
    ),
    "started": ("start times", "the runs were independent"),
    "row": (
        "no start times",
        "the runs were independent. They also assume that the runs of the {noun}s alternated",
    ),
}
"""For each sort of imported data: what shows the order of the runs, and the assumption of verdicts.

``{noun}`` is the noun for what the study compares: see `Labels.noun`.
"""
CONDITIONS_IF_CORRELATED = {
    "started": "successive runs were at most moderately correlated",
    "row": (
        "successive runs were at most moderately correlated. They also assume that the runs of the {noun}s "
        "alternated"
    ),
}
"""Assumptions of comparisons whose intervals allow for correlated runs."""
NO_OTHER_DAYS = " Intervals cover neither other days nor other allocations of nodes."
"""Remark on imported runs without start times, which may all be from one session."""
SINGLE_RUN = (
    "rests on a single run of one side, so chance may explain the difference",
    "each rest on a single run of one side, so chance may explain the differences",
)
"""What follows from a single run, for one comparison and for several."""
MINUTE = 60
MOST_HOURS = 24
"""Time of further blocks in hours, beyond which blocks are no remedy for a wide interval."""
LONGEST_LIST = 300
"""Characters of a list of undecided comparisons, at most; longer lists become counts."""


def how_sure(runs: pd.DataFrame, tables: Tables, contests: Sequence[Contest], facts: Facts) -> str:
    """State the origin of the times, the undecided comparisons, and the blocks that may settle them.

    A comparison is undecided if it shows no direction.
    """
    improvement = pd.concat([contest.improvement for contest in contests])
    comparisons = as_lines(improvement[improvement["improvement_percent"].notna()])
    text = f"How sure: {_results_rest_on(runs)}{count_runs(runs)}"
    of_one_run = sum(map(has_single_value, comparisons))
    if comparisons and of_one_run == len(comparisons):
        return f"{text}. Every comparison {SINGLE_RUN[0]}. Repeated runs would settle the comparisons."
    if of_one_run:
        text += f". {counted(of_one_run, 'comparison')} {SINGLE_RUN[of_one_run > 1]}"
    undecided = [line for line in comparisons if not direction(line)]
    if not comparisons:
        return f"{text}."
    if not undecided:
        which = f"All {'other ' if of_one_run else ''}comparisons with a baseline"
        return f"{text}. {which} {DECIDED[True]}."
    reasons = [_why_undecided(line, tables.get("precision"), facts) for line in undecided]
    verb = "is" if len(undecided) == 1 else "are"
    which = f"{len(undecided)} of {counted(len(comparisons), 'comparison')}"
    text += f". {'The only comparison' if len(comparisons) == 1 else which} {verb} undecided"
    names = _list_undecided(undecided, reasons, Labels(facts))
    text += f". {names}" if len(names) <= LONGEST_LIST else _count_withheld(reasons)
    offer = further_blocks(runs, tables, contests, facts)
    return f"{text}. {offer[:1].upper()}{offer[1:]}." if offer else f"{text}."


def _results_rest_on(runs: pd.DataFrame) -> str:
    """Begin the count of valid runs; empty if no run is valid."""
    return "the results rest on " if runs["valid"].any() else ""


def how_sure_in_short(
    runs: pd.DataFrame,
    contests: Sequence[Contest],
    labels: Labels,
    contrast: Contrast | None = None,
    drift: pd.DataFrame | None = None,
) -> str:
    """State how many runs count and were disturbed, which times drift, and which comparisons are decided.

    The line names the baselines of these comparisons. Without a named baseline, the table of page one also
    has estimates against the fastest, which are not among them.

    Parameters
    ----------
    contrast : Contrast, optional
        Comparison that is tested outside the correction, because the study names no baseline.
    drift : DataFrame, optional
        Table ``drift``.
    """
    valid = runs[runs["valid"]]
    text = ". ".join([f"How sure: {_results_rest_on(runs)}{_count_by_kind(valid)}", *_origins(valid)])
    if invalid := invalid_runs(runs):
        text += f". {invalid}"
    disturbed, observed = count_disturbed(runs)
    if disturbed:
        of_runs = f"{formats.whole(disturbed)} of {counted(observed, 'valid run')}"
        text += f". Other programs disturbed {of_runs}"
    drifting, tested = (0, 0) if drift is None else count_drifting(drift)
    if drifting:
        times_of = "time" if drifting == 1 else "times"
        verb = "drifts" if drifting == 1 else "drift"
        text += f". The {times_of} of {drifting} of {counted(tested, 'tested point')} {verb} during the study"
    if mixed := _cases_run_at_two_times(valid):
        cases = named_or_counted(map(labels.case, mixed), "case")
        text += (
            f". In {cases}, some runs were made apart from the runs of other points. Speedups therefore mix "
            "earlier and later runs. Their intervals assume that both have the same distribution. Tests of "
            "peaks and comparisons use only blocks that contain both points"
        )
    if _has_single_runs(valid):
        text += ". Each point has a single run, so no result has an interval"
    improvement = pd.concat([contest.improvement for contest in contests])
    comparisons = as_lines(improvement[improvement["improvement_percent"].notna()])
    if not comparisons:
        return f"{text}. {none_compared(improvement, labels)}"
    text += f". {_count_decided(comparisons)}"
    if inseparable := [line for line in comparisons if line["verdict"] == INSEPARABLE]:
        cases = named_or_counted({labels.case(line["case"]) for line in inseparable}, "case")
        why = f"all runs of one {labels.noun} came before all runs of the other {labels.noun}"
        text += f". Reason for {counted(len(inseparable), 'undecided comparison')} in {cases}: {why}"
    text += f". {_name_baselines(comparisons, labels)}"
    if contrast and not is_missing(contrast.comparison["p_value"]):
        by_count = DEPENDS_ON_COUNT in str(contrast.comparison.get("note"))
        p = formats.p_value(contrast.comparison["best_p_value" if by_count else "p_value"])
        reason = "" if contrast.direction or by_count else why_undecided(contrast.comparison)
        text += f". The title compares the two {labels.noun}s with the most points: {p}"
        text += f". This comparison is undecided: {reason}" if reason else ""
    compared = [line for line in comparisons if as_float(line["blocks"]) > 1]
    with_verdict = [line for line in compared if line["verdict"] != INSEPARABLE] or compared
    text += f".{_bases(valid, with_verdict, labels)}"
    unknown = _unknown_turns(comparisons, valid, labels)
    return f"{text} {unknown}." if unknown else text


def _name_baselines(comparisons: Sequence[Line], labels: Labels) -> str:
    """Name the baselines of comparisons, each of which has one of them, or count the baselines."""
    names = list(dict.fromkeys(labels.baseline(line) for line in comparisons))
    if len(names) == 1:
        return f"The baseline is {names[0]}"
    return f"The baselines are {listed(names)}" if len(names) <= MOST else f"There are {len(names)} baselines"


def _count_decided(comparisons: Sequence[Line]) -> str:
    """Count the comparisons that are decided, that rest on a single run, and that are undecided."""
    decided = [line for line in comparisons if direction(line)]
    of_one_run = sum(map(has_single_value, decided))
    numbers = {
        DECIDED: len(decided) - of_one_run,
        ("is undecided", "are undecided"): len(comparisons) - len(decided),
        SINGLE_RUN: of_one_run,
    }
    total = counted(len(comparisons), "comparison")
    states = [(states[n > 1], n) for states, n in numbers.items() if n]
    (state, n), *others = states
    which = f"{formats.whole(n)} of {total}"
    if not others:
        which = {1: "The only comparison", 2: "Both comparisons"}.get(n, f"All {total}")
    sentences = [f"{which} with a baseline {state}"]
    return ". ".join([*sentences, *(f"{counted(n, 'comparison')} {state}" for state, n in others)])


def _bases(runs: pd.DataFrame, comparisons: Sequence[Line], labels: Labels) -> str:
    """State the sorts of the compared data, and what verdicts on them rest on; empty without origins.

    If the study has several sorts, each sentence names its cases.
    """
    cases = {line["case"] for line in comparisons}
    correlated = {line["case"] for line in comparisons if allows_for_correlation(line)}
    if "origin" not in runs:
        return ""
    imported = runs["origin"] == "import"
    evidence = runs["order_from"].astype("str").str.extract(r"^(\w+)", expand=False)
    evidence = evidence.where(evidence.isin(list(CONDITIONS)), "row").mask(runs["origin"] == "run", "run")
    judged = runs.assign(evidence=evidence)[imported | (runs["origin"] == "run")]
    with_verdict = judged[judged["case"].isin(cases)]
    text = ""
    if with_verdict["evidence"].eq("run").any():
        or_repeated = OR_REPEATED if repeated_points(runs[runs["valid"]]).any() else ""
        text = (
            f" A block is one repetition of all runs{or_repeated}. In each block, Nodeworth ran the "
            "interconnects of a case in random order."
        )
    for sort, (data, condition) in CONDITIONS.items():
        of_sort = with_verdict.loc[with_verdict["evidence"] == sort, "case"].unique()
        if len(of_sort):
            is_only = judged["evidence"].eq(sort).all()
            of_cases = "" if is_only else f" of {named_or_counted(map(labels.case, of_sort), 'case')}"
            text += f" The imported data{of_cases} have {data}. "
            if sort in CONDITIONS_IF_CORRELATED and correlated.intersection(of_sort):
                text += f"Comparisons{of_cases} and their intervals assume that "
                text += f"{CONDITIONS_IF_CORRELATED[sort].format(noun=labels.noun)}. "
                text += f"Peaks{of_cases}, node equivalents and all other intervals assume independent runs."
            else:
                text += f"Verdicts and intervals{of_cases} assume that {condition.format(noun=labels.noun)}."
            text += NO_OTHER_DAYS if sort == "row" else ""
    return text


def _unknown_turns(comparisons: Sequence[Line], valid: pd.DataFrame, labels: Labels) -> str:
    """Name the cases of imported runs for which nothing shows whether interconnects took turns."""
    cases = {line["case"] for line in comparisons if UNKNOWN_TURNS in str(line.get("note"))}
    if not cases:
        return ""
    is_only = cases == {line["case"] for line in comparisons}
    of_cases = "" if is_only else f" of {named_or_counted(map(labels.case, sorted(cases)), 'case')}"
    text = f"Nodeworth does not know whether the runs{of_cases} alternated between the {labels.noun}s. "
    if dated := _cases_without_turns(valid):
        text += (
            f"In {named_or_counted(map(labels.case, dated), 'case')}, at each count, all runs of one "
            f"{labels.noun} came before all runs of the next. The other runs therefore probably did not "
            "alternate. "
        )
    return (
        f"{text}If the runs did not alternate, the systems may have changed between the runs. Such changes "
        f"may explain the differences between the {labels.noun}s. They may also distort speedups, peaks and "
        "node equivalents"
    )


def _cases_without_turns(valid: pd.DataFrame) -> list[str]:
    """Return the cases whose dated runs show, at every count, that no two interconnects took turns.

    A single run of an interconnect shows nothing.
    """
    dated = valid[valid["started"].notna() & valid["interconnect"].notna()]
    dated = dated.assign(time=pd.to_datetime(dated["started"], utc=True, errors="coerce", format="ISO8601"))
    count = ["case", "nodes", "processes"]
    spans = dated.groupby([*count, "interconnect"], dropna=False)["time"].agg(["min", "max", "count"])
    spans = spans[spans["count"] > 1].sort_values("min").reset_index()
    earlier = spans.groupby(count, dropna=False)["max"].shift()
    took_turns = (spans["min"] <= earlier)[earlier.notna()].groupby(spans["case"]).any()
    return [str(case) for case in took_turns.index[~took_turns]]


def _has_single_runs(valid: pd.DataFrame) -> bool:
    """Return whether Nodeworth ran each point only once."""
    measured = valid[valid["origin"] == "run"] if "origin" in valid else valid.iloc[:0]
    return len(measured) > 0 and measured.groupby([*POINT, "nodes"], dropna=False).size().max() == 1


def _cases_run_at_two_times(valid: pd.DataFrame) -> list[str]:
    """Return the cases with a curve of which only some points were measured again in further blocks."""
    if "origin" not in valid:
        return []
    mixed = []
    for case, runs in valid[valid["origin"] == "run"].groupby("case", sort=False, observed=True):
        serial = runs["interconnect"].isna()
        for name in runs.loc[~serial, "interconnect"].unique():
            curve = runs[serial | (runs["interconnect"] == name)]
            again = curve.loc[curve["attempt"] > 1, "block"]
            points = curve.groupby(["processes", "oversubscription"])["block"]
            if not all(again.isin(blocks).all() for _, blocks in points):
                mixed.append(str(case))
                break
    return mixed


def _count_withheld(reasons: Sequence[str]) -> str:
    """Count the comparisons that stay open for each reason that withholds a verdict."""
    present = [reason for reason in WITHHELD.values() if reason in reasons]
    return "".join(
        f". Reason for {counted(reasons.count(reason), 'comparison')}: {reason}" for reason in present
    )


def _count_by_kind(valid: pd.DataFrame, published: str = "published") -> str:
    """Count valid runs by kind: ``8 measured runs and 4 simulated times``.

    Parameters
    ----------
    published : str
        Word for runs of this kind.
    """
    words = {kind: f"{kind} run" for kind in ORIGINS}
    words |= {"simulated": "simulated time", "published": f"{published} run"}
    numbers = {kind: int((valid["kind"] == kind).sum()) for kind in words}
    return listed(counted(number, words[kind]) for kind, number in numbers.items() if number)


def _origins(valid: pd.DataFrame) -> list[str]:
    """Explain the kinds of valid runs."""
    return [origin for kind, origin in ORIGINS.items() if origin and kind in set(valid["kind"])]


def count_runs(runs: pd.DataFrame) -> str:
    """Count the valid runs of each kind, then the invalid, outdated and disturbed runs."""
    valid = runs[runs["valid"]]
    counts = [*filter(None, [_count_by_kind(valid, "imported")]), *_origins(valid)]
    counts += [OF_SIMULATED] if valid["kind"].eq("simulated").any() else []
    if invalid := invalid_runs(runs):
        counts.append(invalid)
    disturbed, observed = count_disturbed(runs)
    if disturbed:
        counts.append(
            f"Other programs disturbed {formats.whole(disturbed)} of {counted(observed, 'valid run')}. Other "
            f"programs kept more than {DISTURBED_CORES} cores busy during each disturbed run"
        )
    return ". ".join(counts)


def _blocks_lacking(line: Line, is_look: bool, looks: Mapping[str, int]) -> float:
    """Return how many more blocks a comparison needs in the next report.

    If this report is a look, the next look is stricter: look 2 tests at a quarter of the level of look 1, and
    each later look at half of the last level.
    """
    lacking = as_float(line["blocks_needed"]) - as_float(line["blocks"])
    if lacking > 0 and is_look:
        lacking += 1 if looks.get(line["case"], 1) > 1 else 2
    return lacking


def _why_undecided(line: Line, precision: pd.DataFrame | None, facts: Facts) -> str:
    """State the reason why more blocks would not settle a comparison; empty if they may settle it."""
    if line["verdict"] in WITHHELD:
        return WITHHELD[line["verdict"]]
    if DEPENDS_ON_COUNT in str(line.get("note")):
        return DEPENDS_ON_COUNT
    if medians_contradict(line):
        return MEDIANS_DISAGREE
    kinds = [side(str(line["kind"]), place) for place in (0, 1)]
    if "simulated" in kinds:
        if direction_with_same_computing(line):
            return "a verdict requires the assumption that computing takes equally long over both"
        names = line["baseline_interconnect"], line["interconnect"]
        simulated = [name for name, kind in zip(names, kinds, strict=True) if kind == "simulated"]
        models = [facts.interconnect(name).model for name in simulated]
        speed_ranges = [model.host.host_speed_range or [] for model in models if model]
        if any(len(set(speeds)) > 1 for speeds in speed_ranges):
            return "only a narrower range of the cores' speed may decide"
        return "the band includes both directions"
    if precision is None or as_float(line["blocks_needed"]) > as_float(line["blocks"]):
        return ""
    rows = rows_like(precision, line, list(IMPROVEMENT_KEY))
    if rows.empty or not rows["reached"].all():
        return ""
    return f"the difference is already known to ±{formats.number(rows['half_width_percent'].max(), 2)} points"


def _list_undecided(comparisons: Sequence[Line], reasons: Sequence[str], labels: Labels) -> str:
    """List the first undecided comparisons, each with its reason, and count the others."""
    groups: dict[tuple[str, str, int, str], list[str]] = {}
    for line, reason in list(zip(comparisons, reasons, strict=True))[:MOST]:
        key = labels.case(line["case"]), labels.baseline(line), line["oversubscription"], reason
        groups.setdefault(key, []).append(labels.compared(line))
    clauses = []
    for (case, baseline, level, reason), names in groups.items():
        cores = f", {level} processes per core" if level > 1 else ""
        text = f"Undecided in {case}{cores}: {listed(names)} against {baseline}"
        clauses.append(f"{text}. Reason: {reason}" if reason else text)
    more = len(comparisons) - MOST
    verb = "is" if more == 1 else "are"
    return ". ".join(
        [*clauses, f"{counted(more, 'more comparison')} {verb} undecided"] if more > 0 else clauses
    )


def further_blocks(runs: pd.DataFrame, tables: Tables, contests: Sequence[Contest], facts: Facts) -> str:
    """State how many more blocks may settle undecided comparisons, how long they take, and the command.

    If intervals need more than `MOST_TIMES` times the present blocks, or more than `MOST_HOURS`, state what
    narrows them instead. The report and the last line of a study on the terminal both state it. The time of a
    block is its mean measured wall time.

    Returns
    -------
    str
        Empty if no blocks may settle a comparison, and for an unfinished study or a study with ``until``.
    """
    study, precision = facts.study, tables.get("precision")
    if precision is None or study.blocks is None or study.file is None or study.until or study.unfinished:
        return ""
    lines = [line for contest in contests for line in as_lines(contest.improvement)]
    compared = [line for line in lines if not is_missing(line["improvement_percent"])]
    comparisons = [
        line for line in compared if not direction(line) and not _why_undecided(line, precision, facts)
    ]
    measured = runs[runs["origin"] == "run"] if "origin" in runs else runs
    if not comparisons or measured.empty or all(map(has_single_value, compared)):
        return ""
    is_look = could_decide(tables, study.names_baseline, facts.all_settings())
    blocks = study.blocks + max(_blocks_lacking(line, is_look, study.looks) for line in comparisons)
    effect = "could decide the first undecided comparison"
    decides = blocks > study.blocks  # not if the number is unknown (NaN)
    if not decides:
        rows = pd.concat([rows_like(precision, line, list(IMPROVEMENT_KEY)) for line in comparisons])
        blocks = float(rows["blocks_wanted"].astype(float).max())
        width = f"±{formats.exact(rows['target_percent'].max())} points"
        effect = f"would narrow the intervals of undecided comparisons to {width}"
    if not blocks > study.blocks:
        return ""
    seconds = measured["seconds"]
    if "wall_seconds" in measured:
        seconds = measured["wall_seconds"].fillna(seconds)
    minutes = math.ceil(float(seconds.sum()) / study.blocks * (blocks - study.blocks) / MINUTE)
    if not decides and (blocks > MOST_TIMES * study.blocks or minutes > MOST_HOURS * MINUTE):
        excess = f"{MOST_TIMES} times the present blocks"
        excess = excess if blocks > MOST_TIMES * study.blocks else f"{MOST_HOURS} hours of further blocks"
        return f"intervals of {width} would need more than {excess}. {_other_remedies(measured)}"
    number = int(blocks) - study.blocks
    return (
        f"{counted(number, 'more block')} {'takes' if number == 1 else 'take'} about "
        f"{counted(minutes, 'minute')} and {effect}: ./run-study {study.file} --config blocks={int(blocks)}"
    )


def _other_remedies(runs: pd.DataFrame) -> str:
    """State what narrows intervals for which a study would need far too many blocks."""
    disturbed, observed = count_disturbed(runs)
    if not disturbed:
        return "Runs with more steps would also narrow the intervals"
    return (
        "Runs with more steps and an idle machine would also narrow the intervals. Other programs disturbed "
        f"{disturbed} of {observed} runs"
    )
