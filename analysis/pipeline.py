"""From a runs table to every table that a study may come to, from one set of curves and draws."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from analysis.decisions.economics import tariffs
from analysis.decisions.energy import counted_energy, energy_pieces
from analysis.decisions.money import MONEY, market_costs, money_pieces, whole_market
from analysis.decisions.proposal import proposal_pieces
from analysis.decisions.request import Request
from analysis.decisions.turnaround import packing_pieces
from analysis.estimates.censored import make_censored
from analysis.estimates.changes import make_changes
from analysis.estimates.curves import Curve, all_curves, ranking
from analysis.estimates.machine_speed import make_adjusted
from analysis.estimates.model_tables import model_pieces
from analysis.estimates.nodes import make_nodes
from analysis.estimates.precision import make_precision
from analysis.estimates.quality import make_quality_tables
from analysis.estimates.scaling import check_names, core_pieces, core_tables, judged
from analysis.estimates.sites import by_site
from analysis.estimates.solver_work import make_solver_efficiency
from analysis.estimates.time_parts import make_part_tables
from analysis.registry import ALL_TABLES, REQUIRED, finished
from analysis.runs.kinds import ran
from analysis.tables.contract import P_VALUES
from analysis.tables.frames import Pieces, merge
from analysis.text import ways

DIRECTIONS = (
    "fastest",
    "improvement",
    "node_equivalent",
    "oversubscription",
    "placement",
    "hybrid",
    "changes",
    "changes_summary",
    "value",
    "break_even",
    "tornado",
    "purchase",
    "packing",
    "advice",
    "proposal",
    "adjusted",
    "drift",
)
"""Tables that say what is faster, worth it or to be done, or of drift; of an unfinished study not of runs."""


def make_all_tables(runs: pd.DataFrame, request: Request) -> dict[str, pd.DataFrame]:
    """Make every table that applies.

    Curves and their draws are made once, case by case; every table is made from the same.

    Returns
    -------
    dict of DataFrame
        In the order of `analysis.registry.ALL_TABLES`, with its columns. Those of `REQUIRED` are always
        there, without rows where no run over an interconnect is valid, and those of `MONEY` with a market;
        each other one if it has rows.

    Raises
    ------
    TableError
        If the request names an interconnect or a case that the runs have not, if there are two
        references, or if there is no price (`analysis.decisions.money.market_costs`).
    """
    settings = request.settings
    check_names(runs, settings)
    tables = judged(by_site(runs, lambda own: _tables_of_one_site(own, request), settings.alpha), settings)
    tables |= make_changes(runs, settings)
    tables["precision"] = make_precision(tables["improvement"], settings.target_percent)
    if settings.unfinished:
        tables |= {name: _untold(tables[name]) for name in DIRECTIONS if name in tables}
        tables["variability"] = _untested(tables["variability"])
    always = REQUIRED + (MONEY if "cost" in tables else ())
    return {name: tables[name] for name in ALL_TABLES if name in always or len(tables.get(name, ()))}


def _untold(table: pd.DataFrame) -> pd.DataFrame:
    """Leave out what is told of runs, since more of them are to come."""
    kinds = table["compared_kinds" if "compared_kinds" in table else "kind"]
    return table[~kinds.map(ran).astype(bool)].reset_index(drop=True)


def _untested(table: pd.DataFrame) -> pd.DataFrame:
    """Leave out the tests of runs, since more of them are to come."""
    of_runs = table["kind"].map(ran).astype(bool)
    return table.assign(**{name: table[name].mask(of_runs) for name in P_VALUES})


def _tables_of_one_site(runs: pd.DataFrame, request: Request) -> dict[str, pd.DataFrame]:
    settings, market = request.settings, request.market
    ranked = ranking(runs)
    costs = market_costs(runs, market) if market and ranked else None
    mixed = market.mix.weights if market and market.mix else ()
    of_mix: list[list[Curve]] = []
    counted = counted_energy(runs, ranked, settings)

    def all_pieces() -> Iterator[Pieces]:
        offered = None if costs is None else tariffs(costs)
        for curves in all_curves(runs, ranked, settings):
            yield core_pieces(curves, ranked, settings)
            yield from _optional_pieces(curves, request)
            yield {"energy": list(energy_pieces(curves, counted, market, settings))}
            if offered is not None:
                yield money_pieces(curves, ranked, offered, market, settings)
            if curves[0].case in mixed:
                of_mix.append(curves)

    pieces = merge(all_pieces())
    tables = core_tables(pieces, runs) | make_part_tables(runs)
    tables |= make_solver_efficiency(tables["parts"], tables["solver_iterations"], tables["scaling"])
    tables |= make_quality_tables(runs, ranked, settings) | make_censored(runs, settings)
    tables |= make_adjusted(runs, tables["improvement"]) | make_nodes(runs, settings)
    tables |= {name: finished(name, pieces[name]) for name in pieces if name not in tables}
    if costs is not None:
        tables |= whole_market(runs, costs, of_mix, market, settings)
    return tables


def _optional_pieces(curves: Sequence[Curve], request: Request) -> Iterator[Pieces]:
    """Make the rows about models, turnaround and a proposal from all curves of a case."""
    settings, market = request.settings, request.market
    yield model_pieces(curves, settings)
    yield packing_pieces(curves, request.queue, settings, ways)
    if request.rule is not None:
        cores_per_node = market.node.cores if market else None
        yield proposal_pieces(curves, request.rule, settings, cores_per_node)
