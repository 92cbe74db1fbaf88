"""The tables ``run_costs`` and ``run_choices``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from analysis.curves.sites import runs_by_site
from analysis.runs.columns import (
    COUNT,
    CURVE_COLUMNS,
    FLAG,
    MARK,
    NOTE,
    POSITIVE,
    SHARE,
    TEXT,
    described,
    table_schema,
    table_schemas,
    with_descriptions,
    with_interval,
)
from analysis.runs.frames import Tables, stacked, with_ends
from analysis.runs.kinds import comparable_sets
from analysis.runs.runs import TableError
from analysis.runs.settings import RunCosts
from analysis.statistics import Floats
from analysis.statistics.best import nondominated
from analysis.topics.money.market import interval_of_draws
from analysis.topics.run_cost.systems import (
    HOUR,
    System,
    cost,
    nodes_in_budget,
    nodes_in_time,
    rate_at,
    system_of,
)
from analysis.topics.topic import Context, CurveSet

DEADLINE, BUDGET, SAME_SPEED, SAME_COST = "deadline", "budget", "same speed", "same cost"
LAST = "more nodes were not measured"
"""Note on a choice of the largest of several measured numbers of nodes."""
ONLY = "no other number of nodes was measured"
"""Note on a choice of a system with a single measured number of nodes."""
NOT_MET = {True: "every measured median time is longer", False: "every measured median cost is higher"}
"""Note on a system without a choice, by whether the question states a time."""
_CHOSEN = [f"{name}{end}" for name in ("nodes", "seconds", "cost") for end in ("", "_low", "_high")]
_CURVE = {**CURVE_COLUMNS, "processes_per_node": POSITIVE}
_PRICE = with_descriptions(
    {
        "currency": TEXT,
        **with_interval("node_hour_price", POSITIVE),
        "terms": NOTE,
        "price_date": NOTE,
        "price_source": NOTE,
    },
    node_hour_price="Price per node hour; the ends are its range.",
    terms="Terms of the price, such as `on_demand` or `spot`.",
    price_date="Date of the price.",
    price_source="Source of the price.",
)
RUN_COST_TABLES = table_schemas(
    table_schema(
        "run_costs",
        "One row per measured point of a system with a price per node hour. Points on an unknown number of "
        "nodes, and the serial run, are left out.",
        **_CURVE,
        nodes=described(COUNT, "Number of nodes."),
        processes=COUNT,
        n=described(COUNT, "Blocks; empty for simulated points."),
        **with_interval("seconds", POSITIVE, "Median time, with its interval."),
        **_PRICE,
        **with_interval(
            "cost",
            POSITIVE,
            "Nodes × hours × price per node hour; the interval joins those of the time and the price.",
        ),
        coverage=described(SHARE, "Coverage of the interval of the time; empty without an interval."),
        pareto=described(
            MARK, "Whether no other point of the case is as fast and as cheap, and better in either."
        ),
        pareto_share=SHARE,
        compared_kinds=TEXT,
    ),
    table_schema(
        "run_choices",
        "One row per question about the cost of a run, and system. The rate 1/T is linear between measured "
        "numbers of nodes.",
        **_CURVE,
        question=described(
            TEXT,
            f"`{DEADLINE}`: lowest cost within a time. `{BUDGET}`: shortest time within a cost. "
            f"`{SAME_SPEED}`: lowest cost within the time of the fastest point of a system. `{SAME_COST}`, "
            "without budgets: shortest time within the cost of the cheapest point of a system.",
        ),
        value=described(POSITIVE, "The deadline in seconds, or the budget in the currency."),
        of_system=described(NOTE, "System whose time or cost is the value, as `interconnect@site`."),
        **with_interval(
            "nodes",
            POSITIVE,
            "Whole nodes to use. The interval is that of the choice; an `inf` end is not attained.",
        ),
        crossing_nodes=described(
            POSITIVE,
            "Number of nodes, not rounded, at which the rate first reaches the time, or the cost first "
            "reaches the budget; empty outside the measured numbers.",
        ),
        **with_interval("seconds", POSITIVE, "Time on these nodes."),
        currency=TEXT,
        **with_interval("cost", POSITIVE, "Cost of a run on these nodes."),
        best=described(FLAG, "Whether the system is the cheapest in time, or the fastest within the cost."),
        note=NOTE,
        compared_kinds=TEXT,
    ),
)


def make_run_costs(context: Context) -> Tables:
    """Make the tables ``run_costs`` and ``run_choices`` if the study states prices of node hours.

    In weak scaling runs on more nodes do more work, so there is no table.

    Raises
    ------
    TableError
        If no interconnect or site of a finished study has a price.
    """
    asked, settings = context.facts.run_costs, context.settings
    if asked is None or settings.scaling == "weak" or not context.curves.ranked:
        return {}
    if not settings.unfinished:
        _check_prices(context.runs, asked)
    costs: list[pd.DataFrame] = []
    choices: list[pd.DataFrame] = []
    for systems in _systems_by_case(context, asked).values():
        kinds = {system.curve.kind for system in systems}
        for compared_kinds in comparable_sets(kinds, settings.compare_kinds):
            compared = [system for system in systems if system.curve.kind in compared_kinds]
            label = "/".join(compared_kinds)
            costs.append(_cost_rows(compared, asked.currency).assign(compared_kinds=label))
            choices.append(_choice_rows(compared, asked, settings.level).assign(compared_kinds=label))
    if not costs:
        return {}
    return {
        "run_costs": pd.concat(costs, ignore_index=True),
        "run_choices": pd.concat(choices, ignore_index=True),
    }


def _check_prices(runs: pd.DataFrame, asked: RunCosts) -> None:
    """Raise `TableError` if no system has a price."""
    names = sorted({*runs["interconnect"].dropna(), *runs["site"].dropna()})
    if not asked.prices.keys() & set(names):
        priced = ", ".join(sorted(asked.prices))
        raise TableError(
            f"no price for any interconnect or site of the runs ({', '.join(names)}); "
            f"there are prices for {priced}",
            f"run_costs, {asked.file}" if asked.file else "run_costs",
        )


def _systems_by_case(context: Context, asked: RunCosts) -> dict[str, list[System]]:
    """Return the systems with a price by case, over all sites."""
    economics = context.facts.economics
    cores = economics.node.cores if economics else None
    systems: dict[str, list[System]] = {}
    for site, runs in runs_by_site(context.runs):
        curves = CurveSet(runs, context.settings) if site else context.curves
        for curve in (curve for of_case in curves.cases for curve in of_case if asked.covers(curve.case)):
            price = asked.prices.get(curve.interconnect) or asked.prices.get(site)
            if price and (system := system_of(curve, price, site, cores)):
                systems.setdefault(curve.case, []).append(system)
    return systems


def _cost_rows(systems: Sequence[System], currency: str) -> pd.DataFrame:
    """Make the rows of ``run_costs`` of one case, for systems that may be compared."""
    pieces = []
    for system in systems:
        table, price = system.curve.table, system.price
        per_second = system.all_nodes / HOUR
        ends = zip(("seconds", "seconds_low", "seconds_high"), price.prices, strict=True)
        pieces.append(
            {
                **system.curve.names,
                "site": system.site or None,
                "nodes": system.all_nodes,
                "processes": system.curve.processes,
                "n": table["n"],
                **{name: table[name] for name in ("seconds", "seconds_low", "seconds_high", "coverage")},
                "currency": currency,
                **with_ends("node_hour_price", *price.prices),
                "terms": price.terms,
                "price_date": price.date,
                "price_source": price.source,
                **with_ends("cost", *(per_second * table[name] * end for name, end in ends)),
            }
        )
    rows = stacked(pieces)
    rows["pareto"] = nondominated(rows["cost"].to_numpy(float), 1 / rows["seconds"].to_numpy(float))
    rows["pareto_share"] = np.nan
    draws = [draw for system in systems for draw in system.curve.draws]
    if all(len(draw) == 1 and not np.isnan(draw).any() for draw in draws):
        seconds = np.concatenate(draws)
        per_second = (rows["cost"] / rows["seconds"]).to_numpy(float)[:, None]
        rows["pareto_share"] = nondominated(per_second * seconds, 1 / seconds).mean(axis=1)
    return rows


class Question(NamedTuple):
    """A question about the cost of a run.

    Attributes
    ----------
    name : str
    value : float
        A time in seconds, or a cost.
    rate_draws : array (scenarios, B) or None
        Draws of the rate that the time requires; None for a budget.
    of_system : str or None
        System whose time or cost is the value.
    """

    name: str
    value: float
    rate_draws: Floats | None = None
    of_system: str | None = None


def _questions(systems: Sequence[System], asked: RunCosts) -> Iterator[Question]:
    """Yield the deadlines and budgets of a study, then the speed and the lowest cost of each system."""
    for seconds in asked.deadlines:
        yield Question(DEADLINE, seconds, np.full((1, 1), 1 / seconds))
    for budget in asked.budgets:
        yield Question(BUDGET, budget)
    for name, curves in _by_system(systems):
        system = max(curves, key=lambda curve: curve.rate.max())
        fastest = int(np.argmax(system.rate))
        yield Question(SAME_SPEED, float(1 / system.rate[fastest]), system.rate_draws[fastest], name)
        if not asked.budgets:
            yield Question(SAME_COST, float(min(curve.costs.min() for curve in curves)), None, name)


def _by_system(systems: Sequence[System]) -> Iterator[tuple[str, list[System]]]:
    """Yield the curves of each interconnect, site and kind, with the name of the system."""
    groups: dict[tuple[str, str], list[System]] = {}
    for system in systems:
        groups.setdefault((system.name, system.curve.kind), []).append(system)
    for (name, _), curves in groups.items():
        yield name, curves


def _choice_rows(systems: Sequence[System], asked: RunCosts, level: float) -> pd.DataFrame:
    """Make the rows of ``run_choices`` of one case, for systems that may be compared."""
    rows: list[dict[str, object]] = []
    for question in _questions(systems, asked):
        in_time = question.rate_draws is not None
        order = ("cost", "seconds") if in_time else ("seconds", "cost")
        answers = []
        for _, curves in _by_system(systems):
            candidates = [_choice(system, question, asked.currency, level) for system in curves]
            answers.append(min(candidates, key=lambda row: _place(row, order)))
        best = min(answers, key=lambda row: _place(row, order))
        rows += [{**row, "best": row is best and not np.isnan(row["seconds"])} for row in answers]
    return pd.DataFrame(rows)


def _place(row: Mapping[str, Any], order: Sequence[str]) -> list[float]:
    """Return the key that sorts choices from best to worst; choices that were not attained are last."""
    return [np.inf if np.isnan(row[name]) else row[name] for name in order]


def _choice(system: System, question: Question, currency: str, level: float) -> dict[str, Any]:
    """Answer a question for the points of a curve: nodes, time and cost, with their intervals.

    The time and the cost have the intervals of the chosen number of nodes. The interval of the nodes is that
    of the choice in every draw.
    """
    nodes, rate, draws, price = system.nodes, system.rate, system.rate_draws, system.price
    if question.rate_draws is None:
        budget = np.array(question.value)
        choice = nodes_in_budget(nodes, rate, price.price, budget)
        drawn = [nodes_in_budget(nodes, draws, end, budget).nodes for end in price.prices[1:]]
    else:
        choice = nodes_in_time(nodes, rate, np.array(1 / question.value))
        # Sites have different scenarios for bands; their draws then cannot be paired.
        sizes = zip(draws.shape[1:], question.rate_draws.shape, strict=True)
        paired = all(own == other or 1 in (own, other) for own, other in sizes)
        targets = question.rate_draws if paired else np.full((1, 1), np.nan)
        drawn = [nodes_in_time(nodes, draws, targets).nodes]
    chosen, crossing = float(choice.nodes), float(choice.crossing)
    columns = {
        **system.curve.names,
        "site": system.site or None,
        "question": question.name,
        "value": question.value,
        "of_system": question.of_system,
        "currency": currency,
        "crossing_nodes": crossing if np.isfinite(crossing) else np.nan,
    }
    if np.isinf(chosen):
        missing = dict.fromkeys(_CHOSEN, np.nan)
        return {**columns, **missing, "note": NOT_MET[question.rate_draws is not None]}
    count = np.array([chosen])
    chosen_rate = rate_at(nodes, rate, count)[0]
    chosen_draws = rate_at(nodes, draws, count.reshape(1, 1, 1))[0]
    costs = np.concatenate([cost(chosen, chosen_draws, end) for end in price.prices[1:]])
    return {
        **columns,
        **with_ends("nodes", chosen, *interval_of_draws(np.concatenate(drawn), level)),
        **with_ends("seconds", 1 / chosen_rate, *interval_of_draws(1 / chosen_draws, level)),
        **with_ends("cost", cost(chosen, chosen_rate, price.price), *interval_of_draws(costs, level)),
        "note": ONLY if len(nodes) == 1 else LAST if chosen == nodes[-1] else None,
    }
