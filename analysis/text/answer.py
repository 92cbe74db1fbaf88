"""The answer of a study: at most five sentences, each from a small set, for whoever reads one page.

A direction is told only where `analysis.estimates.headline.direction` tells it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from analysis.estimates.headline import Contest, Tables, at_last, direction, end_of, nodes_of, whole
from analysis.runs.facts import Facts
from analysis.runs.kinds import ran, side
from analysis.tables.contract import OF_AN_IMPROVEMENT
from analysis.tables.missing import Line, as_float, interval, is_missing
from analysis.tables.selection import alike
from analysis.text import formats
from analysis.text.formats import counted, listed
from analysis.text.hybrid import hybrid_sentence
from analysis.text.labels import Labels
from analysis.text.money import CHOICE, UNSURE, VERDICTS, at_highest_target, limits, link_prices, node_price
from analysis.text.scaling import processes

MOST = 3
"""Names that a sentence lists."""
HOW = {
    "measured": "measured",
    "emulated": "measured over links that are shaped to a rate (emulated)",
    "simulated": "simulated (traces replayed on models: a band, no test)",
    "published": "published by others",
}
SECONDS, PERCENT = 60, 100
LETTERS = 300
"""Of the names of what cannot be told, in a sentence."""
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
BASELINE = ["baseline_interconnect", "kind", "processes_per_node"]


def some(names: Iterable[str], what: str = "interconnect") -> str:
    """List names, or count them where there are more than a sentence can hold."""
    names = list(dict.fromkeys(names))
    return listed(names) if len(names) <= MOST else counted(len(names), what)


def with_nodes(count: int, rows: pd.DataFrame) -> str:
    """Write a process count of a curve with its nodes, where these are known."""
    nodes = nodes_of(rows, count)
    return processes(count) + ("" if nodes is None else f" ({counted(nodes, 'node')})")


def what_is_seen(contest: Contest, labels: Labels) -> str:
    """Say in a few words what the figure of a contest shows: its title."""
    ends = [(line, end_of(line, contest.scaling)) for line in _compared(contest)]
    stops = [line for line, end in ends if end == "stops"]
    if stops:
        count = min(line["peak_processes"] for line in stops)
        names = [labels.curve(line) for line in stops if line["peak_processes"] == count]
        return f"{some(names)} {'stops' if len(names) == 1 else 'stop'} at {processes(count)}"
    best = _best(contest)
    if best is not None and _share(best) < 1:
        own, theirs = whole(best["equivalent_processes"]), formats.plain(best["baseline_processes"])
        better, baseline = labels.compared(best), _baseline(best, labels)
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


def _baseline(line: Line, labels: Labels) -> str:
    return labels.placed(
        line["baseline_interconnect"], side(str(line["kind"]), 0), line["processes_per_node"]
    )


def how_far(contests: Sequence[Contest], labels: Labels) -> str:
    """Say where more processes stop paying: in the headline by name, elsewhere by number."""
    first, *others = contests
    shown = _by_peak(labels.lines(first.peaks, "interconnect"), first)
    if len(shown) > MOST:
        shown = _by_peak(_compared(first), first)
    if len(shown) > MOST:
        shown = dict([*list(shown.items())[: MOST - 1], list(shown.items())[-1]])
    said = [_peaks(count, end, lines, first, labels) for (end, count), lines in shown.items()]
    text = f"How far it scales: in {labels.case(first.case)}{_kinds_of(first, contests)}, {'; '.join(said)}"
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
    return alike(contest.scaling, line)["processes"].nunique() == 1


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
    curve = alike(contest.scaling, line)
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


def _percents(values: Iterable[float]) -> str:
    known = sorted(abs(value) for value in values)
    return formats.spanned(formats.percent(known[0]), formats.percent(known[-1]))


def which_is_faster(contests: Sequence[Contest], facts: Facts, labels: Labels) -> str:
    """Say of each baseline which interconnect is how much faster, in how many cases."""
    table = pd.concat([contest.improvement for contest in contests])
    table = table[table["improvement_percent"].notna()]
    if table.empty:
        return "Which is faster: no two interconnects of kinds that may be compared were run."
    said, untold, of_same_computing = [], {}, []
    for (name, kind, placement), rows in table.groupby(BASELINE, sort=False, dropna=False):
        baseline = labels.placed(name, side(kind, 0), placement)
        told = [line for line in rows.to_dict("records") if direction(line)]
        if told:
            said.append(_fastest_over(baseline, told, rows["case"], facts, labels))
        else:
            why = f"{_not_told(rows)}, in {_cases(rows['case'], facts)}"
            untold.setdefault(why, []).append(baseline)
            if told := _told_by_same_computing(rows):
                text = _fastest_over(baseline, told, rows["case"], facts, labels)
                of_same_computing.append(f"where computing takes as long over both, {text}")
    more = [f"for {counted(len(said) - MOST, 'other baseline')} see the tables"] if len(said) > MOST else []
    said = said[:MOST] + more
    said += [f"nothing is faster or slower than {some(names, 'other baseline')} for sure ({why})"
             for why, names in untold.items()]  # fmt: skip
    return f"Which is faster: {'; '.join([*said, *of_same_computing[:MOST]])}."


def _fastest_over(baseline: str, told: Sequence[Line], cases: pd.Series, facts: Facts, labels: Labels) -> str:
    """Name the interconnect that is faster in most cases, by most, and those that are faster too."""
    by_name: dict[str, list[Line]] = {}
    for line in sorted(told, key=lambda line: -line["improvement_percent"]):
        if direction(line) == direction(told[0]) or direction(line) == "faster":
            by_name.setdefault(labels.compared(line), []).append(line)
    best = max(by_name, key=lambda name: (direction(by_name[name][0]) == "faster", len(by_name[name])))
    lines = [line for line in by_name[best] if direction(line) == direction(by_name[best][0])]
    word, first = direction(lines[0]), lines[0]
    where, aside = _at(lines), []
    if (of := cases.nunique()) > 1:
        whose = _cases(cases, facts, f"{side(str(first['kind']), 1)} case")
        if len(lines) == 1:
            where, aside = f"{where} in {labels.case(first['case'])}", [f"1 of the {whose}"]
        else:
            every = whose.replace(formats.whole(of), formats.all_of(of), 1)
            where += f" in {every}" if len(lines) == of else f" in {len(lines)} of the {whose}"
    if once := sum(_once(line) for line in lines):
        aside.append("one run each" if once == len(lines) else f"{once} of them one run each")
    gain = _percents(line["improvement_percent"] for line in lines)
    text = f"{best} is {gain} {word} than {baseline} {where}" + f" ({', '.join(aside)})" * bool(aside)
    others = [
        (name, line["improvement_percent"])
        for name, rows in by_name.items()
        for line in rows
        if name != best and direction(line) == "faster"
    ]
    if not others or word != "faster":
        return text
    names, gains = zip(*others, strict=True)
    return f"{text}, {some(names, 'other')} by {_percents(gains)}"


def _at(lines: Sequence[Line]) -> str:
    """Say at which counts interconnects are compared: their baseline's best, unless that is one process."""
    best = all(line["at_processes"] == line["baseline_peak_processes"] for line in lines)
    if len(counts := {line["at_processes"] for line in lines}) > 1:
        return "at the latter's best counts" if best else "at the counts that the tables name"
    return "at " + "the latter's best of " * best + processes(*counts)


def _not_told(rows: pd.DataFrame) -> str:
    """Say why nothing is told of some comparisons."""
    said = {
        "untestable": f"{counted(int(rows['blocks'].fillna(0).max()), 'block')} are too few to tell",
        "not distinguishable": "the blocks differ by as much",
        "within the band": "the band holds both directions",
        "^faster$|^slower$": "the medians of the times say the opposite",
    }
    verdicts = rows["verdict"].astype(str)
    why = {what: text for what, text in said.items() if verdicts.str.contains(what).any()}
    return ", or ".join(why.values()) or "what was run has no test"


def _told_by_same_computing(rows: pd.DataFrame) -> list[Line]:
    """Comparisons of bands that tell a direction only where computing takes as long over both."""
    within = rows[rows["verdict"].astype(str).str.endswith("within the band")]
    low, high = (within[f"improvement_same_computing_{end}"] for end in ("low", "high"))
    told = within.assign(verdict=np.where(low > 0, "faster", "slower"))
    return told[(low > 0) | (high < 0)].to_dict("records")


def _cases(cases: pd.Series, facts: Facts, noun: str = "case") -> str:
    """Count cases, and their applications where these are fewer."""
    names = list(dict.fromkeys(cases))
    applications = {facts.case(case).application for case in names} - {None}
    if not 0 < len(applications) < len(names):
        return counted(len(names), noun)
    whose = "one application" if len(applications) == 1 else counted(len(applications), "application")
    return f"{counted(len(names), noun)} of {whose}"


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
    return (
        "What it is worth in nodes cannot be told: none is faster for sure where its baseline is at its best."
    )


def _saving(line: Line, contest: Contest, labels: Labels) -> str:
    """Say what a row of ``node_equivalent`` saves, and what beside fewer processes that do nearly as much."""
    baseline = {**line, "interconnect": line["baseline_interconnect"], "kind": side(line["kind"], 0)}
    of_baseline = alike(contest.scaling, baseline, _CURVE)
    of_own = alike(contest.scaling, {**line, "kind": side(line["kind"], 1)}, _CURVE)
    text = (
        f"{with_nodes(int(line['baseline_processes']), of_baseline)} over {_baseline(line, labels)} do what "
        f"{with_nodes(whole(line['equivalent_processes']), of_own)} do over {labels.compared(line)}, which "
        f"saves {_saved(line, of_baseline, of_own)}"
    )
    peaks = alike(contest.peaks, baseline, _CURVE).to_dict("records")
    if not peaks or (near := _nearly(peaks[0], contest)) is None:
        return text
    keys = [*BASELINE, "interconnect", "baseline_processes"]
    rows = alike(contest.targets, {**line, "baseline_processes": near["processes"]}, keys)
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
            f"{word} in {all_of if len(own) == len(told) else len(own)} (by {_percents(own)})"
            for word, own in counts.items()
        )
        verb = {("faster",): " pay", ("slower",): " do not pay"}.get(tuple(counts), " pay at times")
        once = ""
        if all(_once(line) for line in lines if direction(line)):
            verb, once = "", ", from one run each"
        among = f"at equal cores, of {counted(len(told), 'comparison')}, they are"
        said.append(f"{level} processes a core{verb}: {among} {how}{once}")
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


def how_sure(runs: pd.DataFrame, tables: Tables, contests: Sequence[Contest], facts: Facts) -> str:
    """Say how the times came about, what cannot be told of them, and what would settle it."""
    ways = []
    for kind, how in HOW.items():
        own = runs[runs["kind"] == kind]
        ways += [f"{counted(len(own), 'point' if kind == 'simulated' else 'run')} {how}"] if len(own) else []
    text = f"How sure: {listed(ways)}"
    table = pd.concat([contest.improvement for contest in contests])
    known = table[table["improvement_percent"].notna()].to_dict("records")
    once = sum(map(_once, known))
    if known and once == len(known):
        return f"{text}; one run each, so that chance is not ruled out: repeated runs would settle it."
    unsure = [line for line in known if not direction(line)]
    text += (
        f"; {counted(once, 'comparison')} of one run each, so that chance is not ruled out" if once else ""
    )
    if not unsure:
        left = f"; no {'other ' * bool(once)}comparison with a baseline is left open" if known else ""
        return f"{text}{left}."
    scaling, labels = pd.concat([contest.scaling for contest in contests]), Labels(facts)
    why = [_why_open(line, scaling, tables.get("precision"), facts) for line in unsure]
    waiting = [line for line, reason in zip(unsure, why, strict=True) if not reason]
    text += f"; {len(unsure)} of {counted(len(known), 'comparison')} cannot be told{' yet' * bool(waiting)}"
    names = _named(unsure, why, labels)
    text += f" ({names})" if len(names) <= LETTERS else ""
    return f"{text}{_settled_by(runs, tables.get('precision'), waiting, facts)}."


def _why_open(line: Line, scaling: pd.DataFrame, precision: pd.DataFrame | None, facts: Facts) -> str:
    """Say why more blocks would not tell a comparison; empty where they may."""
    kinds = [side(str(line["kind"]), number) for number in (0, 1)]
    pair = list(zip([line["baseline_interconnect"], line["interconnect"]], kinds, strict=True))
    curves = [alike(scaling, {**line, "interconnect": name, "kind": kind}) for name, kind in pair]
    if all(_on_one_node(curve, line["at_processes"]) for curve in curves):
        return "compared on one node, where nothing uses the network"
    if "simulated" in kinds:
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
    found = alike(precision, line, list(OF_AN_IMPROVEMENT))
    if found.empty or not found["reached"].all():
        return ""
    return f"known to ±{formats.number(found['half_width_percent'].max(), 2)} points already"


def _on_one_node(curve: pd.DataFrame, count: float) -> bool:
    """Whether a count of a curve that goes on to several nodes is on one."""
    nodes = curve.loc[curve["processes"] == count, "nodes"]
    return nodes_of(curve, count) == 1 and bool((nodes == 1).fillna(False).all())


def _once(line: Line) -> bool:
    return "one figure each" in str(line["verdict"])


def _named(unsure: Sequence[Line], why: Sequence[str], labels: Labels) -> str:
    """Name comparisons and why each is open, the first few where there are many, each baseline once."""
    found: dict[tuple[str, str, int, str], list[str]] = {}
    for line, reason in list(zip(unsure, why, strict=True))[:MOST]:
        owner = labels.case(line["case"]), _baseline(line, labels), line["oversubscription"], reason
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
    found = pd.concat([alike(precision, line, list(OF_AN_IMPROVEMENT)) for line in unsure])
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
