"""Page one in words: how far it scales, what that is worth in nodes, and what pays.

A direction is told only where `analysis.presentation.contests.direction` tells it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from analysis.curves.outcomes import ONE_NODE
from analysis.presentation import formats
from analysis.presentation.contests import Contest, Tables, at_last, direction, end_of, nodes_of, once, whole
from analysis.presentation.formats import MOST, counted, listed, percents, some
from analysis.presentation.labels import Labels
from analysis.presentation.sentences import processes
from analysis.runs.frames import BASELINE, Line, interval, is_missing, rows_like
from analysis.runs.kinds import ran, side
from analysis.topics.hybrid.sentences import hybrid_sentence
from analysis.topics.money.sentences import (
    CHOICE,
    UNSURE,
    VERDICTS,
    at_highest_target,
    limits,
    link_prices,
    node_price,
)

PERCENT = 100
PLURAL = {"pays": "pay", "does not pay": "do not pay"}
NEARLY = 0.9
"""Share of the highest speedup from which on fewer processes are named too."""
ENDS = {
    "alone": ("is best on one process", "are best on one process"),
    "stops": ("peaks before its last count", "peak before their last count"),
    "rises": ("still gains at its last count", "still gain at their last count"),
    "unsure": ("may or may not gain at its last count", "may or may not gain at their last count"),
    "one count": ("has one count", "have one count"),
}
"""How another curve ends, and how several do."""
_CURVE = ["interconnect", "kind", "processes_per_node"]


def with_nodes(count: int, rows: pd.DataFrame) -> str:
    """Write a process count of a curve with its nodes, where these are known."""
    nodes = nodes_of(rows, count)
    return processes(count) + ("" if nodes is None else f" ({counted(nodes, 'node')})")


def what_is_seen(contest: Contest, labels: Labels) -> str:
    """Say in a few words what the figure of a contest shows: its title."""
    return f"{_what_is_seen(contest, labels)}{on_shared_cores(contest)}"


def on_shared_cores(contest: Contest) -> str:
    """Say that the processes of a contest share cores; empty where each has its own."""
    return f", with {processes(contest.level)} per core" if contest.level > 1 else ""


def _what_is_seen(contest: Contest, labels: Labels) -> str:
    ends = [(line, end_of(line, contest.scaling)) for line in _compared(contest)]
    stops = [line for line, end in ends if end == "stops"]
    if stops:
        count = min(line["peak_processes"] for line in stops)
        names = [labels.curve(line) for line in stops if line["peak_processes"] == count]
        return f"{some(names)} {'stops' if len(names) == 1 else 'stop'} at {processes(count)}"
    best = _best(contest)
    if best is not None and _share(best) < 1:
        own, theirs = whole(best["equivalent_processes"]), formats.plain(best["baseline_processes"])
        better, baseline = labels.compared(best), labels.baseline(best)
        return f"{processes(own)} over {better} do what {theirs} do over {baseline}"
    most = contest.scaling["processes"].max()
    if not any(end == "rises" for _, end in ends):
        return f"{labels.speedup.capitalize()} up to {processes(most)}: where it ends cannot be told"
    return f"{labels.speedup.capitalize()} still rises at {processes(most)}, the most that was run"


def _compared(contest: Contest) -> list[Line]:
    """Rows of ``peaks`` of the interconnects that are compared, of all where none is."""
    pairs = contest.improvement
    names = {*pairs["baseline_interconnect"], *pairs["interconnect"]}
    own = contest.peaks[contest.peaks["interconnect"].isin(names)]
    return (own if len(own) else contest.peaks).to_dict("records")


def _best(contest: Contest) -> Line | None:
    """The row of ``node_equivalent`` that takes the fewest of its baseline's processes."""
    return min(
        _attained(contest.equivalent),
        key=lambda line: (_share(line), line["equivalent_processes"]),
        default=None,
    )


def _share(line: Line) -> float:
    """Whole processes that a row of ``node_equivalent`` takes, of those of its baseline."""
    return whole(line["equivalent_processes"]) / line["baseline_processes"]


def _attained(equivalent: pd.DataFrame) -> list[Line]:
    known = equivalent["attainable"] & equivalent["equivalent_processes"].notna()
    return equivalent[known].to_dict("records")


def how_far(contests: Sequence[Contest], labels: Labels) -> str:
    """Say where more processes stop paying: in the headline by name, elsewhere by number."""
    first, *others = contests
    shown = _by_peak(labels.lines(first.peaks, "interconnect"), first)
    if len(shown) > MOST:
        shown = _by_peak(_compared(first), first)
    if len(shown) > MOST:
        shown = dict([*list(shown.items())[: MOST - 1], list(shown.items())[-1]])
    said = [_peaks(count, end, lines, first, labels) for (end, count), lines in shown.items()]
    case = f"{labels.case(first.case)}{_kinds_of(first, contests)}{on_shared_cores(first)}"
    text = f"How far it scales: in {case}, {'; '.join(said)}"
    named = {line["interconnect"] for lines in shown.values() for line in lines}
    rest = [(line, first) for line in first.peaks.to_dict("records") if line["interconnect"] not in named]
    rest += [(line, contest) for contest in others for line in contest.peaks.to_dict("records")]
    if not rest:
        return f"{text}."
    ends = [_end_of_other(line, contest) for line, contest in rest]
    others_in_all = counted(len(rest), "other curve")
    found = {end: ends.count(end) for end in ENDS if end in ends}
    if len(found) == 1:
        return f"{text}; the {others_in_all} {ENDS[ends[0]][len(rest) > 1]}."
    parts = listed(f"{number} {ENDS[end][number > 1]}" for end, number in found.items())
    return f"{text}; of the {others_in_all}, {parts}."


def _end_of_other(line: Line, contest: Contest) -> str:
    if _has_one_count(line, contest):
        return "one count"
    end = end_of(line, contest.scaling)
    return "alone" if end == "stops" and line["peak_processes"] == 1 else end


def _has_one_count(line: Line, contest: Contest) -> bool:
    return rows_like(contest.scaling, line)["processes"].nunique() == 1


def _by_peak(lines: Iterable[Line], contest: Contest) -> dict[tuple[str, int], list[Line]]:
    """Rows of ``peaks`` by how their curves end, and by their best count; those that stop first."""
    found: dict[tuple[str, int], list[Line]] = {}
    for line in lines:
        key = end_of(line, contest.scaling), int(line["peak_processes"])
        found.setdefault(key, []).append(line)
    return dict(sorted(found.items(), key=lambda item: (list(ENDS).index(item[0][0]), item[0][1])))


def _peaks(count: int, end: str, lines: Sequence[Line], contest: Contest, labels: Labels) -> str:
    names = some(labels.curve(line) for line in lines)
    if count == 1 and end == "stops":
        return f"over {names} one process is the best"
    if all(_has_one_count(line, contest) for line in lines):
        return f"over {names} nothing but {processes(count)} was run"
    gain = f"{labels.speedup} {_speedups(lines)}"
    few = {line["note"] for line in lines if str(line["note"]).startswith("fewer")}
    gain += "".join(f", from {note}" for note in few)
    most = f"{processes(count)}, the most that was run"
    if end == "rises":
        return f"over {names} speedup still rises at {most} ({gain})"
    if end == "unsure" and all(at_last(line, contest.scaling) for line in lines):
        return f"whether speedup still rises over {names} at {most}, cannot be told ({gain})"
    nearly = _nearly_best(lines[0], contest) if len(lines) == 1 else ""
    nothing = "nothing" if end == "stops" else "nothing that can be told"
    return f"over {names} more than {processes(count)} bring {nothing} ({gain}{nearly})"


def _nearly_best(line: Line, contest: Contest) -> str:
    """Name the count of `_nearly`, and its speedup."""
    if (near := _nearly(line, contest)) is None:
        return ""
    count = int(near["processes"])
    speedup, *ends = interval(near, "speedup")
    if any(map(is_missing, ends)):
        share = formats.percent(PERCENT * speedup / line["peak_speedup"])
        return f"; {processes(count)} reach {share} of it"
    return f"; {processes(count)} reach {formats.bracketed(speedup, *ends)}"


def _nearly(line: Line, contest: Contest) -> Line | None:
    """The fewest processes of a curve that have nearly its highest speedup; of few blocks none."""
    if ran(line["kind"]) and not is_missing(line["note"]):
        return None
    curve = rows_like(contest.scaling, line)
    near = curve[curve["speedup"] >= NEARLY * line["peak_speedup"]].nsmallest(1, "processes")
    fewer = near[near["processes"] < line["peak_processes"]].to_dict("records")
    return fewer[0] if fewer else None


def _kinds_of(contest: Contest, contests: Sequence[Contest]) -> str:
    several = len({other.kinds for other in contests}) > 1
    return f" ({listed(contest.kinds)})" if several else ""


def _speedups(lines: Sequence[Line]) -> str:
    """Write the highest speedups of some curves as a range, with an interval that holds all of theirs."""
    values, low, high = np.array([interval(line, "peak_speedup") for line in lines]).T
    least, most = np.nanmin(values), np.nanmax(values)
    text = formats.spanned(formats.number(least), formats.number(most))
    return text + formats.ends(low.min(), high.max(), formats.decimals(most))


def worth(contests: Sequence[Contest], labels: Labels) -> str:
    """Say how many whole processes and nodes the better interconnect saves, in the headline and at most."""
    best = [(line, contest) for contest in contests if (line := _best(contest)) is not None]
    saving = [(line, contest) for line, contest in best if _share(line) < 1]
    if saving:
        most = min(saving, key=lambda one: _share(one[0]))
        told = saving[:1] if most[1] is saving[0][1] else [saving[0], most]
        said = [f"in {labels.case(contest.case)}, {_saving(line, contest, labels)}" for line, contest in told]
        return f"What it is worth: {'; '.join(said)}."
    if best:
        return (
            "What it is worth: no interconnect does with fewer processes what its baseline does at its best."
        )
    return f"What it is worth in nodes cannot be told: {_why_no_worth(contests)}."


def _why_no_worth(contests: Sequence[Contest]) -> str:
    """Say why no interconnect has a node equivalent of its baseline's best."""
    lines = [line for contest in contests for line in contest.improvement.to_dict("records")]
    faster = [line for line in lines if direction(line) == "faster"]
    if any(line["baseline_peak_processes"] > 1 for line in faster):
        return "the faster interconnect beats its baseline's best at the smallest count that uses it"
    if faster:
        return "the baseline is best on one process"
    if lines and all(str(line["note"]).endswith(ONE_NODE) for line in lines):
        return "nothing is compared"
    return "none is faster for sure where its baseline is at its best"


def _saving(line: Line, contest: Contest, labels: Labels) -> str:
    """Say what a row of ``node_equivalent`` saves, and what beside fewer processes that do nearly as much."""
    baseline = {**line, "interconnect": line["baseline_interconnect"], "kind": side(line["kind"], 0)}
    of_baseline = rows_like(contest.scaling, baseline, _CURVE)
    of_own = rows_like(contest.scaling, {**line, "kind": side(line["kind"], 1)}, _CURVE)
    text = (
        f"{with_nodes(int(line['baseline_processes']), of_baseline)} over {labels.baseline(line)} do what "
        f"{with_nodes(whole(line['equivalent_processes']), of_own)} do over {labels.compared(line)}, which "
        f"saves {_saved(line, of_baseline, of_own)}"
    )
    peaks = rows_like(contest.peaks, baseline, _CURVE).to_dict("records")
    if not peaks or (near := _nearly(peaks[0], contest)) is None:
        return text
    keys = [*BASELINE, "interconnect", "baseline_processes"]
    rows = rows_like(contest.targets, {**line, "baseline_processes": near["processes"]}, keys)
    beside = [_saved(row, of_baseline, of_own) for row in _attained(rows)]
    fewer = f"beside {formats.whole(near['processes'])} that do nearly as much"
    return f"{text} ({fewer}, {beside[0]})" if beside else text


def _saved(line: Line, of_baseline: pd.DataFrame, of_own: pd.DataFrame) -> str:
    """Write the processes and nodes that a row of ``node_equivalent`` saves, with their ranges."""
    theirs, own = int(line["baseline_processes"]), whole(line["equivalent_processes"])
    if own >= theirs:
        return "nothing"
    ends = line["equivalent_high"], line["equivalent_low"]
    needed = [own, *(map(whole, ends) if np.isfinite(pd.to_numeric(ends)).all() else ())]
    saved = _spared([theirs - count for count in needed], "process")
    nodes, on = nodes_of(of_baseline, theirs), [nodes_of(of_own, count) for count in needed]
    if None in (nodes, *on):
        return saved
    spared = [nodes - count for count in on]
    return f"{saved}, {_spared(spared, 'node') if any(spared) else 'but no whole node'}"


def _spared(counts: Sequence[int], noun: str) -> str:
    """Write what is spared, with its range where that is known."""
    ends = f" [{', '.join(map(formats.whole, counts[1:]))}]" if len(counts) > 1 else ""
    return counted(counts[0], noun).replace(formats.SPACE, f"{ends}{formats.SPACE}")


def what_pays(tables: Tables, contests: Sequence[Contest], labels: Labels) -> str:
    """Say whether oversubscription and threads pay, and what to buy; empty where nothing is known."""
    said = [*_levels(tables["oversubscription"]), *_to_buy(tables, contests[0], labels)]
    if "hybrid" in tables:
        said += [f"processes × threads: {text}" for text in _threads(tables["hybrid"], labels)]
    said += link_prices(tables["cost"], labels, MOST) if "cost" in tables else []
    return f"What pays: {'; '.join(said)}." if said else ""


def _levels(gains: pd.DataFrame) -> list[str]:
    said = []
    most = gains.groupby(["case", "oversubscription"])["cores"].transform("max")
    for level, rows in gains[gains["cores"] == most].groupby("oversubscription"):
        lines = rows.to_dict("records")
        told = [(direction(line), line["gain_percent"]) for line in lines]
        counts = {
            word: [gain for own, gain in told if own == word]
            for word in ("faster", "slower")
            if word in dict(told)
        }
        if not counts:
            said.append(f"whether {level} processes a core pay cannot be told")
            continue
        all_of = formats.all_of(len(told))
        how = listed(
            f"{word} in {all_of if len(own) == len(told) else len(own)} (by {percents(own)})"
            for word, own in counts.items()
        )
        verb = {("faster",): " pay", ("slower",): " do not pay"}.get(tuple(counts), " pay at times")
        basis = ""
        if all(once(line) for line in lines if direction(line)):
            verb, basis = "", ", from one run each"
        among = f"at equal cores, of {counted(len(told), 'comparison')}, they are"
        said.append(f"{level} processes a core{verb}: {among} {how}{basis}")
    return said


def _threads(gains: pd.DataFrame, labels: Labels) -> list[str]:
    """Most threads on most cores, of the first cases, without oversubscription."""
    gains = gains[gains["oversubscription"] == gains["oversubscription"].min()]
    last = gains.sort_values(["cores", "threads"]).groupby("case", sort=False).tail(1)
    lines = labels.lines(last, "case", "interconnect")
    return [hybrid_sentence(line, labels) for line in lines[:MOST]]


def _to_buy(tables: Tables, headline: Contest, labels: Labels) -> list[str]:
    if "purchase" in tables and len(best := tables["purchase"][tables["purchase"]["best"].fillna(False)]):
        line = best.loc[best["budget"].idxmax()].to_dict()
        name = labels.interconnect(line["interconnect"], line["kind"])
        rivals = tables["purchase"].groupby(CHOICE, dropna=False).get_group(tuple(map(line.get, CHOICE)))
        alike_ones = int(rivals["may_be_best"].fillna(False).sum()) - 1
        unsure = f", although {counted(alike_ones, 'other')} may be as good" if alike_ones > 0 else ""
        unsure = UNSURE if is_missing(line["may_be_best"]) else unsure
        return [f"for {limits(line)} buy {counted(int(line['nodes']), 'node')} with {name}{unsure}"]
    if "break_even" not in tables:
        return []
    even = at_highest_target(tables["break_even"])
    even = even[even["verdict"].isin(VERDICTS)]
    own, others = even[even["case"] == headline.case], even[even["case"] != headline.case]
    if own.empty:
        return []
    text = f"in {labels.case(headline.case)}, at {node_price(own.iloc[0])} a node, {_paying(own, labels)}"
    if others["case"].nunique() == 1:
        return [f"{text}; in {labels.case(others['case'].iloc[0])}, {_paying(others, labels)}"]
    found = others.groupby("case")["verdict"].agg(_one_of_them).value_counts(sort=False)
    return [text + "".join(f", in {counted(n, 'other case')} {what}" for what, n in found.items())]


def _paying(verdicts: pd.DataFrame, labels: Labels) -> str:
    """Say which interconnects of a case pay, may pay, and do not."""
    said = []
    for word, rows in verdicts.groupby("verdict", sort=False):
        names = [labels.compared(line) for line in rows.to_dict("records")]
        verb = "may pay" if word == "undecided" else word
        said.append(f"{some(names)} {PLURAL.get(verb, verb) if len(set(names)) > 1 else verb}")
    return listed(said)


def _one_of_them(verdicts: pd.Series) -> str:
    """Say whether any of the interconnects of a case pays."""
    said = {
        "pays": "one or more pay",
        "would pay": "one or more would pay",
        "undecided": "one or more may pay",
    }
    found = (what for word, what in said.items() if verdicts.str.startswith(word).any())
    return next(found, "none pays")
