"""From a runs table to every table that a study may come to, from one set of curves and draws."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from analysis.changes import make_changes
from analysis.curves import Curve, all_curves, ranking
from analysis.decisions import MONEY, market_costs, money_pieces, whole_market
from analysis.economics import tariffs
from analysis.frames import Pieces, merge
from analysis.model_tables import model_pieces
from analysis.precision import make_precision
from analysis.proposal import proposal_pieces
from analysis.quality import make_quality_tables
from analysis.registry import ALL_TABLES, REQUIRED, finished
from analysis.request import Request
from analysis.sites import by_site
from analysis.tables import check_names, core_pieces, core_tables
from analysis.time_parts import make_part_tables
from analysis.turnaround import packing_pieces


def make_all_tables(runs: pd.DataFrame, request: Request) -> dict[str, pd.DataFrame]:
    """Make every table that applies.

    Curves and their draws are made once, case by case; every table is made from the same.

    Parameters
    ----------
    runs : DataFrame
        As `analysis.records.read_runs` gives it. The order of its rows changes nothing.
    request : Request

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
        references, or if a price cannot be told (`analysis.decisions.market_costs`).
    """
    settings = request.settings
    check_names(runs, settings)
    tables = by_site(runs, lambda own: _tables_of_one_site(own, request))
    tables |= make_changes(runs, settings)
    tables["precision"] = make_precision(tables["improvement"], settings.target_percent)
    always = REQUIRED + (MONEY if "cost" in tables else ())
    return {name: tables[name] for name in ALL_TABLES if name in always or len(tables.get(name, ()))}


def _tables_of_one_site(runs: pd.DataFrame, request: Request) -> dict[str, pd.DataFrame]:
    settings, market = request.settings, request.market
    ranked = ranking(runs)
    costs = market_costs(runs, market) if market and ranked else None
    mixed = market.mix.weights if market and market.mix else ()
    of_mix: list[list[Curve]] = []

    def parts() -> Iterator[Pieces]:
        offered = None if costs is None else tariffs(costs)
        for curves in all_curves(runs, settings):
            yield core_pieces(curves, ranked, settings)
            yield from _optional_pieces(curves, request)
            if offered is not None:
                yield money_pieces(curves, ranked, offered, market.node, settings)
            if curves[0].case in mixed:
                of_mix.append(curves)

    pieces = merge(parts())
    tables = core_tables(pieces, runs) | make_quality_tables(runs, settings) | make_part_tables(runs)
    tables |= {name: finished(name, pieces[name]) for name in pieces if name not in REQUIRED}
    if costs is not None:
        tables |= whole_market(runs, costs, of_mix, market, settings)
    return tables


def _optional_pieces(curves: Sequence[Curve], request: Request) -> Iterator[Pieces]:
    """Rows about models, turnaround and a proposal from all curves of one case."""
    settings, market = request.settings, request.market
    yield model_pieces(curves, settings)
    yield packing_pieces(curves, request.queue, settings)
    if request.rule is not None:
        yield proposal_pieces(curves, request.rule, settings, market.node.cores if market else None)
