"""The interface of a topic: a question that a report answers, with its tables, figures and section."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import pandas as pd
import pandera.pandas as pa

from analysis.curves.curve_comparison import Pair, pairs
from analysis.curves.curves import Curve, all_curves, ranking
from analysis.presentation.blocks import Block, KeyFigure, Section
from analysis.presentation.content import Content
from analysis.presentation.contests import Contest
from analysis.presentation.drawing import Drawing
from analysis.presentation.style import FigureLabels
from analysis.runs.facts import Facts
from analysis.runs.frames import Tables
from analysis.runs.settings import Rule, Settings
from analysis.runs.side_tables import empty_details
from analysis.topics.money.market import Market, PricedItem
from analysis.topics.prices.books import BOOK
from analysis.topics.prices.parts import PART_LIST


@dataclass(frozen=True)
class Request:
    """Settings, rule and market of a study: its questions to the analysis.

    Attributes
    ----------
    settings : Settings
    rule : Rule or None
        There is no table ``proposal`` without a rule.
    market : Market or None
        There are no tables about money without a market.
    """

    settings: Settings
    rule: Rule | None = None
    market: Market | None = None

    @property
    def weights(self) -> Mapping[str, float]:
        """Weight of each case in the use of the cluster; empty if the study states none."""
        return self.market.mix.weights if self.market and self.market.mix else {}


def request_of(facts: Facts) -> Request:
    """Make the request of a study from its facts."""
    economics = facts.economics
    if economics is None:
        return Request(facts.all_settings(), facts.proposal)
    offers: dict[str, PricedItem] = {}
    for name, offer in economics.offers.items():
        schema = {"book": BOOK, "parts": PART_LIST}[offer.source]
        listing = schema.validate(pd.DataFrame(offer.rows, columns=list(schema.columns)))
        offers[name] = listing, offer.item
    market = Market(economics.node, offers, economics.mix, economics.lifetime)
    return Request(facts.all_settings(), facts.proposal, market)


class CurveSet:
    """Curves of the runs of a site, with the bootstrap draws that all topics share.

    Parameters
    ----------
    runs : DataFrame
        Runs table: see `analysis.runs.runs.read_runs`.
    settings : Settings
    """

    def __init__(self, runs: pd.DataFrame, settings: Settings) -> None:
        self.runs, self.settings = runs, settings

    @cached_property
    def ranked(self) -> dict[str, list[str]]:
        """Interconnects of each kind, by decreasing number of points."""
        return ranking(self.runs)

    @cached_property
    def cases(self) -> list[list[Curve]]:
        """Curves of each case."""
        return list(all_curves(self.runs, self.ranked, self.settings))

    @cached_property
    def pairs(self) -> list[list[Pair]]:
        """Pairs of curves to compare, for each case."""
        return [list(pairs(curves, self.ranked, self.settings)) for curves in self.cases]


@dataclass(frozen=True)
class Context:
    """Input of a topic that makes tables.

    Attributes
    ----------
    runs : DataFrame
        Runs of the study, or of a site if the topic is made site by site.
    request : Request
    curves : CurveSet
    facts : Facts
    side_tables : mapping of str to DataFrame
        Side tables by their names: see `analysis.runs.side_tables.DETAILS`.
    published : mapping of str to DataFrame
        Published figures: see `analysis.importers.read_published`.
    network_imports : DataFrame
        Network curves that the study imports: see `analysis.topics.network.imports.read_imported`.
    tables : mapping of str to DataFrame
        Tables of other topics that the topic needs.
    """

    runs: pd.DataFrame
    request: Request
    curves: CurveSet
    facts: Facts = field(default_factory=Facts)
    side_tables: Tables = field(default_factory=empty_details)
    published: Tables = field(default_factory=dict)
    network_imports: pd.DataFrame = field(default_factory=pd.DataFrame)
    tables: Tables = field(default_factory=dict)

    @property
    def settings(self) -> Settings:
        """Settings of the analysis."""
        return self.request.settings


@dataclass(frozen=True)
class View:
    """Input of a topic that draws figures.

    Attributes
    ----------
    tables : mapping of str to DataFrame
        Names of interconnects hold site and threads (`analysis.curves.sites.with_distinct_interconnects`).
    """

    runs: pd.DataFrame
    tables: Tables
    facts: Facts
    labels: FigureLabels


MOST_SENTENCES = 5
"""Most sentences of the section behind page one."""
MOST_ROWS = 8
"""Most rows of the table of page one."""


@dataclass(frozen=True)
class Page:
    """Input of a topic that offers headlines.

    Attributes
    ----------
    content : Content
    contests : sequence of Contest
        The headline contest first. Empty for a study without runs; an interim report keeps only the contests
        of simulated or published times.
    """

    content: Content
    contests: Sequence[Contest] = ()


@dataclass(frozen=True, kw_only=True)
class Headline:
    """Offer of a topic to page one.

    Attributes
    ----------
    sentences : sequence of str
        Candidates for the section behind page one, the most important first.
    title : str
        Title of page one if there are no times of runs.
    table : Block, optional
        Shown if no earlier topic offers one.
    cautions : sequence of str
        Paragraphs at the end of page one: reasons to distrust its numbers.
    notes : sequence of str
        Paragraphs below the sentences.
    key_figures : sequence of KeyFigure
        Numbers in large type; page one shows at most four.
    """

    sentences: Sequence[str] = ()
    title: str = ""
    key_figures: Sequence[KeyFigure] = ()
    table: Block | None = None
    cautions: Sequence[str] = ()
    notes: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Topic:
    """A question that a report answers.

    Its only registration is its entry in `analysis.topics.registry.TOPICS`.

    Attributes
    ----------
    name : str
    schemas : mapping of str to DataFrameSchema
        Schemas of its tables, with the descriptions of their columns: see
        `analysis.runs.columns.table_schema`.
    make : callable, optional
        Makes its tables from a `Context`. Tables without rows are dropped unless `always` names them.
    by_site : bool
        Whether `make` is called for each site with the runs of that site.
    needs : tuple of str
        Tables that `make` reads, of other topics or its own.
    always : tuple of str
        Tables that are kept without rows.
    tested : tuple of str
        Tables whose p-values the pipeline corrects and judges.
    directions : tuple of str
        Tables that state what is faster or better. An interim report hides their rows about runs.
    write : callable, optional
        Writes files other than tables into the folder of the tables.
    draw : callable, optional
        Draws its figures.
    section : callable, optional
        Makes its section of the report, or several sections. None if the topic has nothing to report.
    headline : callable, optional
        Offers page one a `Headline`, or None if the topic has nothing to report. Page one asks the topics in
        their order. An interim report does not ask topics that have `directions`.
    in_appendix : bool
    needs_runs : bool
        Whether the section needs curves of runs.
    on_screen : set of str
        Types of blocks that the HTML report shows and the PDF omits.
    """

    name: str
    schemas: Mapping[str, pa.DataFrameSchema] = field(default_factory=dict)
    make: Callable[[Context], Tables] | None = None
    by_site: bool = False
    needs: Sequence[str] = ()
    always: Sequence[str] = ()
    tested: Sequence[str] = ()
    directions: Sequence[str] = ()
    write: Callable[[Context, Path], object] | None = None
    draw: Callable[[View], Sequence[Drawing]] | None = None
    section: Callable[[Content], Section | list[Section] | None] | None = None
    headline: Callable[[Page], Headline | None] | None = None
    in_appendix: bool = False
    needs_runs: bool = True
    on_screen: Set[str] = frozenset()
