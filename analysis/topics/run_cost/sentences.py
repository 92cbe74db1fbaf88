"""Sentences about the cost of a run: cheapest and fastest runs, deadlines, budgets and equal speed."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import pandas as pd

from analysis.curves.sites import without_threads
from analysis.presentation import formats
from analysis.presentation.contests import Contest
from analysis.presentation.formats import SPACE, counted
from analysis.presentation.labels import Labels
from analysis.runs.frames import Line, as_lines, interval, is_missing, rows_like
from analysis.topics.money.sentences import money, priced
from analysis.topics.run_cost.tables import BUDGET, DEADLINE, LAST, ONLY, SAME_SPEED

QUESTION = ["case", "compared_kinds", "question", "value", "of_system"]
"""Columns that identify a question of the table ``run_choices``."""
MEASURED_RANGE = (
    "Nodeworth interpolates between measured numbers of nodes. For each system, Nodeworth considers only "
    "numbers between its smallest and its largest measured number."
)
"""Range of an answer: nobody knows whether a system is cheaper or faster on numbers outside its range."""

EXCLUDED = "All costs cover only the recorded time of a run, not the start-up of its nodes and its job."


def by_question(choices: pd.DataFrame) -> Iterator[Sequence[Line]]:
    """Yield the answers to each question, the best first and systems without an answer last."""
    for keys, rows in choices.groupby(QUESTION, sort=False, dropna=False):
        in_time = keys[QUESTION.index("question")] in (DEADLINE, SAME_SPEED)
        order = ["cost", "seconds"] if in_time else ["seconds", "cost"]
        yield as_lines(rows.sort_values(["best", *order], ascending=[False, True, True], kind="stable"))


def question_title(line: Line, labels: Labels) -> str:
    """Write the question of a row of ``run_choices``."""
    if line["question"] == DEADLINE:
        return f"Median time of at most {formats.exact(line['value'])}{formats.THIN}s"
    if line["question"] == BUDGET:
        return f"Median cost of at most {formats.exact(line['value'])}{SPACE}{line['currency']}"
    system = labels.interconnect(line["of_system"])
    if line["question"] == SAME_SPEED:
        return f"As fast as {system} on its fastest number of nodes ({formats.seconds(line['value'])})"
    return f"For the cost of the cheapest run of {system} ({money(line['value'])}{SPACE}{line['currency']})"


def extremes(costs: pd.DataFrame, labels: Labels) -> list[str]:
    """Name the cheapest and the fastest measured run of each case."""
    sentences = []
    for case, of_case in labels.by_case(costs):
        for _, rows in of_case.groupby("compared_kinds", sort=False):
            cheapest, fastest = (
                rows.sort_values([name, other], kind="stable").iloc[0].to_dict()
                for name, other in (("cost", "seconds"), ("seconds", "cost"))
            )
            nodes = rows.loc[rows["interconnect"] == cheapest["interconnect"], "nodes"]
            fewest = ""
            if cheapest["nodes"] == nodes.min() < nodes.max():
                fewest = (
                    f" A smaller number of nodes may be cheaper, but {labels.curve(cheapest)} has no valid "
                )
                fewest += f"run on fewer than {_nodes(cheapest)}."
            text = f"{labels.case(case)}: {on_nodes(cheapest, labels)} has the lowest median cost"
            if (cheapest["interconnect"], cheapest["nodes"]) == (fastest["interconnect"], fastest["nodes"]):
                sentences.append(f"{text} and the shortest median time. {_run(cheapest)}.{fewest}")
                continue
            nodes = rows.loc[rows["interconnect"] == fastest["interconnect"], "nodes"]
            last = (
                _end_of_runs(fastest, labels, nodes.nunique() == 1) if fastest["nodes"] == nodes.max() else ""
            )
            rival = f"{on_nodes(fastest, labels)} has the shortest median time. {_run(fastest)}."
            sentences.append(f"{text}. {_run(cheapest)}.{fewest} {rival}{last}")
    return sentences


def _end_of_runs(line: Line, labels: Labels, is_only: bool) -> str:
    """State, after a space, that a row has the largest or the only number of nodes of its system."""
    unknown = "Another number of nodes" if is_only else "A larger number of nodes"
    runs = "valid runs only on" if is_only else "no valid run on more than"
    has_runs = f"{labels.curve(line)} has {runs} {_nodes(line)}"
    return f" {unknown} may be better, but {has_runs}."


def _run(line: Line) -> str:
    """Write the nodes, the time and the cost of a run."""
    return f"A run on {_nodes(line)} {_time_and_cost(line)}"


def _time_and_cost(line: Line) -> str:
    """Write the time and the cost of a run as a predicate."""
    return f"takes {formats.seconds(line['seconds'])} and costs {priced(line, 'cost')}"


def on_nodes(line: Line, labels: Labels) -> str:
    """Name the system of a row with its number of nodes."""
    return f"{labels.curve(line)} on {_nodes(line)}"


def _nodes(line: Line) -> str:
    """Write the number of nodes of a row."""
    return counted(int(line["nodes"]), "node")


def answer(lines: Sequence[Line], labels: Labels) -> str:
    """Answer a deadline or a budget: the best system, and the next one."""
    best, *others = lines
    in_time = best["question"] == DEADLINE
    unit = f"{formats.THIN}s" if in_time else f"{SPACE}{best['currency']}"
    limit = f"{formats.exact(best['value'])}{unit}"
    if is_missing(best["seconds"]):
        verb = "takes" if in_time else "costs"
        return f"No run {verb} at most {limit} within the measured ranges of nodes."
    rank = "cheapest" if in_time else "fastest"
    quantity = "time" if in_time else "cost"
    text = f"{labels.curve(best)} has the {rank} run with a median {quantity} of at most {limit}. "
    text += f"This run {_detail(best)}."
    if best["note"] in (LAST, ONLY):
        text += _end_of_runs(best, labels, best["note"] == ONLY)
    reached = [line for line in others if not is_missing(line["seconds"])]
    if reached:
        second = reached[0]
        text += f" The second {rank} system is {labels.curve(second)}. Its run {_detail(second)}."
        limits = cost_limits if in_time else _time_limits
        if limits(best)[1] >= limits(second)[0]:
            values, better = ("costs", "cheaper") if in_time else ("times", "faster")
            text += f" The intervals of the two {values} overlap, so "
            text += f"the results do not show which of the two systems is {better}."
    elif others:
        rivals = "The other system exceeds" if len(others) == 1 else "All other systems exceed"
        text += f" {rivals} {limit} at every measured number of nodes."
    return text


def _detail(line: Line) -> str:
    """Write the nodes, cost and time of a choice, with their intervals, without the last full stop."""
    cost = f"{money(line['cost'])}{cost_interval(line)}{SPACE}{line['currency']}"
    verb = "needs" if line["question"] == DEADLINE else "uses"
    return f"{verb} {needed_nodes(line)} and costs {cost}. Its {time_of_choice(line, 'is')}"


def time_of_choice(line: Line, link: str = "of") -> str:
    """Write the median time of a choice, with its interval unless the nodes that it needs have one.

    The interval of the time holds for a fixed number of nodes, so it would contradict that of the nodes.
    """
    needs_range = line["question"] == DEADLINE and line["nodes_low"] != line["nodes_high"]
    seconds = (
        formats.number(line["seconds"]) if needs_range else formats.bracketed(*interval(line, "seconds"))
    )
    return f"median time {link} {seconds}{formats.THIN}s"


def needed_nodes(line: Line) -> str:
    """Write the nodes of a choice; for a deadline with the interval of the nodes that it needs."""
    value, low, high = interval(line, "nodes")
    if line["question"] != DEADLINE or low == high == value:
        return counted(int(value), "node")
    return f"{formats.whole(value)}{formats.ends(low, high, 0)} nodes"


def _time_limits(line: Line) -> tuple[float, float]:
    """Return the ends of the interval of the time of a choice."""
    return line["seconds_low"], line["seconds_high"]


def cost_interval(line: Line) -> str:
    """Write the interval of the cost of a choice in brackets; empty if an end is unknown."""
    low, high = cost_limits(line)
    if not (math.isfinite(low) and math.isfinite(high)):
        return ""
    return f" [{money(low)}, {money(high)}]"


def cost_limits(line: Line) -> tuple[float, float]:
    """Return the ends of the interval of the cost of a choice.

    If a deadline may need more or fewer nodes than the choice, the interval reaches to the cost of these
    nodes for the time of the deadline.
    """
    low, high = line["cost_low"], line["cost_high"]
    is_uncertain = line["nodes_low"] != line["nodes_high"] and not is_missing(line["crossing_nodes"])
    if line["question"] == DEADLINE and is_uncertain:
        at_low, at_high = (
            line[f"cost{end}"] / line[f"seconds{end}"] / line["nodes"] * line[f"nodes{end}"] * line["value"]
            for end in ("_low", "_high")
        )
        low, high = min(low, at_low), at_high
    return low, high


def same_speed(lines: Sequence[Line], labels: Labels, measured: pd.DataFrame) -> str:
    """Compare the cost of a system's fastest run with that of the cheapest system of the same speed.

    Empty if the system is itself the cheapest.

    Parameters
    ----------
    measured : DataFrame
        Rows of ``run_costs``.
    """
    best = lines[0]
    named = (line for line in lines if without_threads(line["interconnect"]) == best["of_system"])
    own = next(named, None)
    if own is None or is_missing(best["seconds"]) or own is best or is_missing(own["seconds"]):
        return ""
    if best["cost_high"] >= own["cost_low"]:
        difference = "Nodeworth states no difference in cost, because the intervals of the two costs overlap"
    else:
        saved = formats.percent(100 * (1 - best["cost"] / own["cost"]))
        difference = f"It costs {saved} less than the run with {labels.curve(own)}"
    of_best, of_own = (rows_like(measured, line, ["case", "interconnect", "nodes"]) for line in (best, own))
    if not of_own.empty and of_own["n"].max() == 1:
        difference += ", estimated from a single run"
    cheapest = f"{on_nodes(best, labels)}{', by interpolation' if of_best.empty else ''}"
    return (
        f"{labels.curve(own)} has its shortest median time on {_nodes(own)}. A run there "
        f"{_time_and_cost(own)}. The cheapest run of at least this speed is with {cheapest}. It "
        f"{_time_and_cost(best)}. {difference}."
    )


def cost_headlines(choices: pd.DataFrame, costs: pd.DataFrame, contest: Contest, labels: Labels) -> list[str]:
    """Answer the deadlines and budgets of the headline case; without any, compare costs at equal speed.

    Parameters
    ----------
    choices, costs : DataFrame
        Tables ``run_choices`` and ``run_costs``.
    """
    of_case = choices[choices["case"] == contest.case]
    asked = of_case[of_case["question"].isin([DEADLINE, BUDGET])]
    case = labels.case(contest.case)
    if not asked.empty:
        first = answer(next(by_question(asked)), labels)
        return [f"Cost of a run of {case}: {first} {EXCLUDED} {MEASURED_RANGE}"]
    equal = list(by_question(of_case[of_case["question"] == SAME_SPEED]))
    equal.sort(key=lambda lines: lines[0]["of_system"] != contest.baseline)
    sentences = filter(None, (same_speed(lines, labels, costs) for lines in equal))
    return [f"Cost of a run of {case}: {first} {EXCLUDED}" for first in itertools.islice(sentences, 1)]
