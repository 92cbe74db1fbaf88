"""What clusters cost over their years: part of the section about money."""

from __future__ import annotations

import pandas as pd

from analysis.presentation.blocks import Block, bullets, left, row, table
from analysis.presentation.content import Content
from analysis.presentation.labels import Labels
from analysis.runs.lifetime import Lifetime
from analysis.runs.settings import NodePrice
from analysis.topics.money import lifetime_sentences as sentences
from analysis.topics.money.lifetime_pairs import PAIR, mean_tornado
from analysis.topics.money.sentences import comparable_size

NO_TORNADO = pd.DataFrame(columns=PAIR)


def lifetime_blocks(content: Content, highest: pd.DataFrame) -> list[Block]:
    """Sentences, the figure and a table about the whole cost; none without a lifetime.

    Parameters
    ----------
    highest : DataFrame
        Rows of ``break_even`` at the baselines' highest speedups.
    """
    lifetime, node = content.facts.economics.lifetime, content.facts.economics.node
    if lifetime is None:
        return []
    labels, cost = content.labels, content.tables["cost"]
    same_size = cost[cost["nodes"] == comparable_size(cost)]
    means = mean_tornado(content.tables["tornado"]) if "tornado" in content.tables else NO_TORNADO
    said = [
        sentences.counted_sentence(lifetime),
        *sentences.whole_cost_sentences(same_size, labels),
        *sentences.saving_sentences(highest, means, labels),
    ]
    return [
        bullets(said, "Over the years"),
        *content.figures("tornado"),
        _assumed_table(lifetime, node, labels),
    ]


def _assumed_table(lifetime: Lifetime, node: NodePrice, labels: Labels) -> Block:
    """Inputs with their ranges, years and sources."""
    rows = [row(cells, "", None) for cells in sentences.assumed_rows(lifetime, node, labels)]
    columns = left("Input", "Value [range]", "Year", "Source")
    return table("What is assumed of nodes and their years, and where it is from.", columns, {"": rows})
