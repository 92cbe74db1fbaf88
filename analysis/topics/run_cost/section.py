"""The section on the cost of a run, and its candidate for page one."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from analysis.presentation import formats
from analysis.presentation.blocks import (
    Block,
    KeyFigure,
    Section,
    bullets,
    key_figure,
    on_screen,
    paragraph,
    section,
)
from analysis.presentation.content import Content
from analysis.presentation.contests import Contest
from analysis.presentation.formats import MISSING, listed
from analysis.presentation.labels import Labels
from analysis.presentation.rows import MOST_ROWS, line_table, numbers, texts
from analysis.runs.frames import Line, interval, is_missing
from analysis.runs.runs import valid_rows
from analysis.runs.settings import NODES
from analysis.topics.money.sentences import amount, money
from analysis.topics.run_cost.sentences import (
    MEASURED_RANGE,
    answer,
    by_question,
    cost_headlines,
    cost_interval,
    extremes,
    needed_nodes,
    question_title,
    same_speed,
    time_of_choice,
)
from analysis.topics.run_cost.tables import BUDGET, DEADLINE, SAME_SPEED
from analysis.topics.topic import Headline, Page

WEAK = (
    "Nodeworth compares costs of runs only in strong scaling. In weak scaling, a run on more nodes does more "
    "work."
)

SCOPE = (
    "The cost of a run is its recorded time in hours × its number of nodes × the price per node hour. The "
    f"cost excludes the start-up of the nodes, storage, network traffic and idle nodes. {MEASURED_RANGE} "
    "At a measured number of nodes, the interval of a cost has the confidence of an interval of times."
)
OF_MEDIANS = (
    "These numbers of nodes follow from median times. The intervals of their costs hold for exactly these "
    "numbers of nodes. The section on improvement shows which differences in speed are undecided."
)


def run_cost_section(content: Content) -> Section | None:
    """Report the cost of runs against their time; None without prices of node hours."""
    asked, labels = content.facts.run_costs, content.labels
    if asked is None:
        return None
    if labels.weak:
        return section("run_cost", "What does a run cost?", [paragraph(WEAK)])
    if "run_costs" not in content.tables or "run_choices" not in content.tables:
        return None
    costs, choices = content.tables["run_costs"], content.tables["run_choices"]
    blocks = [bullets([*extremes(costs, labels), *_left_out(content, costs), SCOPE])]
    is_asked = choices["question"].isin([DEADLINE, BUDGET])
    several = choices["case"].nunique() > 1
    for case, rows in labels.by_case(choices):
        answers = [answer(lines, labels) for lines in by_question(rows[is_asked[rows.index]])]
        of_speed = by_question(rows[rows["question"] == SAME_SPEED])
        equal = [text for lines in of_speed if (text := same_speed(lines, labels, costs))]
        equal += [OF_MEDIANS] if equal else []
        lists = {"Deadlines and budgets": answers, "At least the same speed": equal}
        for name, sentences in lists.items():
            if sentences:
                blocks.append(bullets(sentences, _title(name, case, several, labels), case))
    blocks += content.figures("run_cost")
    blocks.append(_price_table(costs, labels))
    if is_asked.any():
        blocks.append(
            _choice_table(
                choices[is_asked],
                "Best number of nodes of each system. The heading of each group of rows names a deadline "
                "or a budget. The best system is the cheapest within the deadline or the fastest within "
                "the budget.",
                labels,
            )
        )
    rest = _choice_table(
        choices[~is_asked],
        "Best number of nodes of each system. The heading of each group of rows names the speed that each "
        "system must reach, or the cost that it must not exceed.",
        labels,
    )
    blocks.append(on_screen(rest))
    return section("run_cost", "What does a run cost?", blocks)


def _title(text: str, case: str, several: bool, labels: Labels) -> str:
    """Write the title of a list, with its case if there are several."""
    return f"{labels.case(case)}: {text[0].lower()}{text[1:]}" if several else text


def _left_out(content: Content, costs: pd.DataFrame) -> list[str]:
    """State the systems without a price, and the runs on an unknown number of nodes."""
    runs = valid_rows(content.runs)
    runs = runs[runs["interconnect"].notna()]
    economics = content.facts.economics
    unknown = runs["nodes"].isna() & (economics is None or economics.node.cores is None)
    sentences = []
    if unknown.any():
        count, verb = formats.counted(int(unknown.sum()), "run"), "is" if unknown.sum() == 1 else "are"
        sentences.append(f"{count} on an unknown number of nodes {verb} left out.")
    unpriced = runs.loc[~unknown & ~runs["interconnect"].isin(costs["interconnect"]), "interconnect"]
    if len(unpriced):
        names = listed(map(content.labels.interconnect, content.labels.sorted_interconnects(unpriced)))
        sentences.append(f"These systems have no price per node hour and therefore no cost: {names}.")
    return sentences


def _price_table(costs: pd.DataFrame, labels: Labels) -> Block:
    """Tabulate the prices with their terms, date and source, and the systems that each applies to."""
    price = [
        *(f"node_hour_price{end}" for end in ("", "_low", "_high")),
        "terms",
        "price_date",
        "price_source",
    ]
    systems = labels.in_order(costs.drop_duplicates(["interconnect", "kind", *price]), "interconnect")
    lines = [
        {
            **rows.iloc[0].to_dict(),
            "interconnect": listed(
                labels.interconnect(*pair) for pair in zip(rows["interconnect"], rows["kind"], strict=True)
            ),
        }
        for _, rows in systems.groupby(price, sort=False, dropna=False)
    ]

    def stated(text: object) -> str:
        return MISSING if is_missing(text) else str(text)

    fields = [
        texts("System", str, "interconnect"),
        numbers("Price", lambda line: amount(line, "node_hour_price")),
        texts("Terms", lambda text: stated(text).replace("_", " "), "terms"),
        texts("Date", stated, "price_date"),
        texts("Source", stated, "price_source"),
    ]
    currency = costs["currency"].iloc[0]
    caption = f"Price per node hour in {currency}."
    if any("[" in amount(line, "node_hour_price") for line in lines):
        caption += (
            " If a price has a range, brackets contain its lowest and its highest value. The intervals of "
            "costs account for this range."
        )
    return line_table(caption, fields, lines, of_cases=False)


def _choice_table(choices: pd.DataFrame, caption: str, labels: Labels) -> Block:
    """Tabulate the answers of all systems to each question."""
    several = choices["case"].nunique() > 1

    def title(line: Line) -> str:
        return _title(question_title(line, labels), line["case"], several, labels)

    def nodes(line: Line) -> str:
        count, low, high = interval(line, "nodes")
        return MISSING if is_missing(count) else f"{formats.whole(count)}{formats.ends(low, high, 0)}"

    def cost(line: Line) -> str:
        is_answered = not is_missing(line["cost"])
        return f"{money(line['cost'])}{cost_interval(line)}" if is_answered else MISSING

    fields = [
        texts("System", lambda line: ("▸ " if line["best"] else "") + labels.curve(line)),
        numbers("Nodes", nodes),
        numbers("Time (s)", lambda line: formats.bracketed(*interval(line, "seconds"))),
        numbers(f"Cost ({choices['currency'].iloc[0]})", cost),
        texts("Note", lambda note: "" if is_missing(note) else note, "note"),
    ]
    lines = [line for answers in by_question(choices) for line in answers]
    caption += (
        " Nodeworth interpolates between measured numbers of nodes. The interval of a time is for exactly "
        "the listed number of nodes. It ignores the uncertainty of this number. ▸ marks the best system. "
        f"Brackets contain {labels.intervals(choices)}. At a measured number of nodes, an interval has the "
        "confidence of an interval of times."
    )
    if len(lines) > MOST_ROWS:
        lines = lines[:MOST_ROWS]
        caption += " All rows: tables/run_choices.csv."
    return line_table(caption, fields, lines, title)


def headline(page: Page) -> Headline | None:
    """Offer a sentence about deadlines, budgets or the cost of equal speed."""
    choices = page.content.tables.get("run_choices")
    if choices is None or not page.contests:
        return None
    labels, contest = page.content.labels, page.contests[0]
    sentences = cost_headlines(choices, page.content.tables["run_costs"], contest, labels)
    figures = cost_figures(choices, contest, replace(labels, given="without kind"))
    return Headline(sentences=sentences, key_figures=figures) if sentences else None


def cost_figures(choices: pd.DataFrame, contest: Contest, labels: Labels) -> list[KeyFigure]:
    """Make the key figure of the first deadline or budget of a case; empty without an answer."""
    of_case = choices[choices["case"] == contest.case]
    asked = of_case[of_case["question"].isin([DEADLINE, BUDGET])]
    for best, *_ in by_question(asked):
        if not is_missing(best["seconds"]):
            note = f"{labels.curve(best)} on {needed_nodes(best)}, {time_of_choice(best)}"
            is_interpolated = contest.unit == NODES and not contest.has_run(
                best["interconnect"], best["nodes"]
            )
            note += ", interpolated, recorded time only" if is_interpolated else ", recorded time only"
            cost = f"{money(best['cost'])}{formats.SPACE}{best['currency']}"
            ends = cost_interval(best).strip()
            return [key_figure(question_title(best, labels), cost, note, ends, str(best["kind"]))]
    return []
