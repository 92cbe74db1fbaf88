"""The headline about money: whether oversubscription and threads pay, and which cluster to buy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from analysis.presentation.blocks import KeyFigure, key_figure
from analysis.presentation.contests import Contest
from analysis.presentation.formats import MOST, counted, joined, listed, named_or_counted
from analysis.presentation.labels import Labels
from analysis.runs.frames import Tables, is_missing
from analysis.topics.hybrid import most_threads
from analysis.topics.money.sentences import (
    CHOICE,
    UNSURE,
    VERDICTS,
    at_highest_target,
    limits,
    link_prices,
    node_price,
)
from analysis.topics.oversubscription import whether_levels_pay
from analysis.topics.topic import Headline, Page

PLURAL = {"pays": "pay", "does not pay": "do not pay"}
PAYS = "An interconnect pays if its cluster costs less than an equally fast cluster with its baseline."


def headline(page: Page) -> Headline | None:
    """Offer page one a sentence about what pays, and the best purchase or the verdicts as a key figure."""
    if not page.contests:
        return None
    content = page.content
    sentence = payoff_sentence(content.tables, page.contests, content.labels)
    figures = payoff_figures(content.tables, page.contests[0], replace(content.labels, given="without kind"))
    notes = [PAYS] if "at a node price" in sentence else []
    return Headline(sentences=[sentence], key_figures=figures, notes=notes) if sentence else None


def payoff_figures(tables: Tables, headline: Contest, labels: Labels) -> list[KeyFigure]:
    """Make the key figure of the best purchase, or else of the verdicts; empty without prices."""
    if "purchase" in tables:
        best = tables["purchase"][tables["purchase"]["best"].fillna(False)]
        if len(best):
            line = best.nlargest(1, "budget").iloc[0].to_dict()
            note = f"with {labels.interconnect(line['interconnect'])}"
            value = counted(int(line["nodes"]), "node")
            return [key_figure(f"Fastest for {limits(line)}", value, note, kind=str(line["kind"]))]
    if "break_even" not in tables:
        return []
    verdicts = at_highest_target(tables["break_even"])
    verdicts = verdicts[verdicts["verdict"].isin(VERDICTS) & (verdicts["case"] == headline.case)]
    if verdicts.empty:
        return []
    words = verdicts["verdict"].unique()
    value = str(words[0]) if len(words) == 1 else "some pay" if "pays" in words else "undecided"
    price = node_price(verdicts.iloc[0].to_dict())
    kinds = " and ".join(dict.fromkeys("/".join(verdicts["kind"]).split("/")))
    return [key_figure(f"At {price} per node", value, _which_pay(verdicts, labels), kind=kinds)]


def payoff_sentence(tables: Tables, contests: Sequence[Contest], labels: Labels) -> str:
    """State whether oversubscription and threads pay, and the best purchase; empty without data."""
    clauses = [
        *whether_levels_pay(tables["oversubscription"]),
        *_purchase_clauses(tables, contests[0], labels),
    ]
    if "hybrid" in tables:
        clauses += [f"processes × threads: {text}" for text in most_threads(tables["hybrid"], labels)]
    clauses += link_prices(tables["cost"], labels, MOST) if "cost" in tables else []
    starts = "at ", "buy ", "it is undecided ", "no interconnect ", "processes ", "an interconnect "
    return f"What pays: {joined(clauses, starts)}." if clauses else ""


def _purchase_clauses(tables: Tables, headline: Contest, labels: Labels) -> list[str]:
    """Recommend a cluster within the largest budget. Without a budget, list the interconnects that pay."""
    if "purchase" in tables:
        purchase = tables["purchase"]
        best = purchase[purchase["best"].fillna(False)]
        if len(best):
            return [_best_purchase(purchase, best, labels)]
    if "break_even" not in tables:
        return []
    verdicts = at_highest_target(tables["break_even"])
    verdicts = verdicts[verdicts["verdict"].isin(VERDICTS)]
    is_headline = verdicts["case"] == headline.case
    in_headline, in_others = verdicts[is_headline], verdicts[~is_headline]
    if in_headline.empty:
        return []
    price = node_price(in_headline.iloc[0].to_dict())
    text = f"at a node price of {price}, {_which_pay(in_headline, labels)} in {labels.case(headline.case)}"
    if in_others["case"].nunique() == 1:
        return [text, f"{_which_pay(in_others, labels)} in {labels.case(in_others['case'].iloc[0])}"]
    cases = in_others.groupby("case")["verdict"].agg(_whether_any_pays).value_counts(sort=False)
    return [text, *(f"{outcome} in {counted(n, 'other case')}" for outcome, n in cases.items())]


def _best_purchase(purchase: pd.DataFrame, best: pd.DataFrame, labels: Labels) -> str:
    """Recommend a cluster within the largest budget, and count the alternatives that may be as good."""
    line = best.nlargest(1, "budget").iloc[0].to_dict()
    name = labels.interconnect(line["interconnect"], line["kind"])
    rivals = purchase.groupby(CHOICE, dropna=False).get_group(tuple(line[key] for key in CHOICE))
    alternatives = int(rivals["may_be_best"].fillna(False).sum()) - 1
    unsure = f". {counted(alternatives, 'other cluster')} may be as good" if alternatives > 0 else ""
    unsure = UNSURE if is_missing(line["may_be_best"]) else unsure
    return f"buy {counted(int(line['nodes']), 'node')} with {name} for at most {limits(line)}{unsure}"


def _which_pay(verdicts: pd.DataFrame, labels: Labels) -> str:
    """List the interconnects of a case by verdict: which pay, do not pay, or are undecided."""
    clauses = []
    for verdict, rows in verdicts.groupby("verdict", sort=False):
        names = [labels.compared(line) for line in rows.to_dict("records")]
        verb = "pays" if verdict == "undecided" else str(verdict)
        if len(set(names)) > 1:
            verb = PLURAL.get(verb, verb)
        open_question = "it is undecided whether " if verdict == "undecided" else ""
        clauses.append(f"{open_question}{named_or_counted(names)} {verb}")
    return listed(clauses)


def _whether_any_pays(verdicts: pd.Series) -> str:
    """State whether any interconnect of a case pays, from the verdicts of the case."""
    outcomes = {
        "pays": "at least one interconnect pays",
        "would pay": "at least one interconnect would pay",
        "undecided": "it is undecided whether an interconnect pays",
    }
    found = (text for word, text in outcomes.items() if verdicts.str.startswith(word).any())
    return next(found, "no interconnect pays")
