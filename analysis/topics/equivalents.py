"""How many processes on one interconnect reach the speed of another?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from analysis.curves.comparison import Pair, names_of_pair
from analysis.curves.equivalence import equivalents_of, targets_of
from analysis.presentation import result_tables as tables
from analysis.presentation.blocks import Section, section
from analysis.presentation.content import Content
from analysis.runs.columns import COUNT, FLAG, NUMBER, OF_A_PAIR, POSITIVE, TEXT, THREADS, table_schemas
from analysis.runs.frames import Piece, Tables, stacked
from analysis.runs.settings import Settings
from analysis.statistics import Floats
from analysis.statistics.bootstrap import percentile_interval
from analysis.topics.topic import Context, Topic

NODE_EQUIVALENT = table_schemas(
    node_equivalent=dict(
        case=TEXT,
        target_speedup=POSITIVE,
        **OF_A_PAIR,
        **dict.fromkeys(("baseline_processes", "equivalent_processes"), POSITIVE),
        **dict.fromkeys(("equivalent_low", "equivalent_high"), POSITIVE),
        processes_saved=NUMBER,
        attainable=FLAG,
        oversubscription=COUNT,
        processes_per_node=POSITIVE,
        **THREADS,
    ),
)


def make_node_equivalent(context: Context) -> Tables:
    """Make the table ``node_equivalent``: a row for each pair of curves and target."""
    rows = [piece for pairs in context.curves.pairs for piece in equivalent_pieces(pairs, context.settings)]
    return {"node_equivalent": stacked(rows)}


def equivalent_pieces(pairs: Iterable[Pair], settings: Settings) -> Iterator[Piece]:
    """Make the rows of the node-equivalent table: one for each pair of curves and target of `targets_of`."""
    for baseline, other, kind in pairs:
        targets = targets_of(baseline, settings)
        if len(targets.speedup) and other.uses_somewhere:
            equivalent, draws = equivalents_of(other, targets)
            low, high = percentile_interval(draws, settings.level)
            saved = targets.processes - np.where(np.isinf(equivalent), np.nan, equivalent)
            yield {
                **names_of_pair(baseline, other, kind),
                "target_speedup": targets.speedup,
                "baseline_processes": _cells(targets.processes),
                "equivalent_processes": _cells(equivalent),
                "equivalent_low": _cells(low),
                "equivalent_high": _cells(high),
                "processes_saved": _cells(saved),
                "attainable": equivalent != np.inf,
            }


def _cells(processes: Floats) -> Floats:
    """Cells of a table, which are empty below the smallest count."""
    return np.where(np.isneginf(processes), np.nan, processes)


def equivalents(content: Content) -> Section | None:
    """How many processes of one interconnect are worth those of another."""
    equivalent, labels = content.tables["node_equivalent"], content.labels
    if equivalent.empty:
        return None
    return section("equivalents", "Node equivalents", [tables.equivalent_table(equivalent, labels)])


TOPIC = Topic(
    name="equivalents",
    schemas=NODE_EQUIVALENT,
    make=make_node_equivalent,
    by_site=True,
    always=("node_equivalent",),
    directions=("node_equivalent",),
    section=equivalents,
)
