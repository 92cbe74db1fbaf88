"""Which interconnect is fastest at each count, beside what its network can do."""

from __future__ import annotations

import pandas as pd

from analysis.curves.outcomes import INSEPARABLE
from analysis.presentation import formats
from analysis.presentation.blocks import Block, Section, bullets, left, right, row, section, table
from analysis.presentation.content import Content
from analysis.presentation.labels import Labels
from analysis.presentation.rows import line_table, numbers, percent_cell, texts, with_levels
from analysis.runs.columns import validated
from analysis.runs.frames import is_missing
from analysis.statistics.best import FEWEST
from analysis.topics.fastest.best_network import QUANTITIES, network_figures, network_sentences, span
from analysis.topics.fastest.rows import FASTEST
from analysis.topics.fastest.sentences import winners

MOST_ROWS = 120


def fastest(content: Content) -> Section | None:
    """The fastest interconnect at each count and oversubscription level, and by how much."""
    labels = content.labels
    if "fastest" not in content.tables:
        return None
    won = winners(content.tables["fastest"])
    if won.empty:
        return None
    blocks: list[Block] = []
    if content.tables["improvement"]["verdict"].eq(INSEPARABLE).any():
        blocks.append(bullets([f"Where {INSEPARABLE}, it is not known which others may be the fastest."]))
    blocks.append(winners_table(won, labels))
    figures = network_figures(content.published)
    figures = figures[figures.index.isin(content.runs["interconnect"])]
    if len(figures):
        blocks.append(_figures_table(figures, labels))
    return section("fastest", "The fastest interconnect at each count", blocks)


def network_answer(content: Content, case: str) -> list[str]:
    """Whether the network with the best figures makes the fastest runs of a case."""
    scaling, labels = content.rows("scaling", case), content.labels
    competing = content.tables.get("fastest", validated(FASTEST["fastest"], pd.DataFrame()))
    won = winners(competing[competing["case"] == case])
    return network_sentences(scaling, won, network_figures(content.published), labels)


def winners_table(won: pd.DataFrame, labels: Labels) -> Block:
    """Tabulate `analysis.topics.fastest.sentences.winners`; of many rows, those at the largest counts."""
    rows, caption = won, "The fastest at each count, beside the next and the slowest of those compared."
    if len(rows) > MOST_ROWS:
        curve = ["site", "case", "compared_kinds", "oversubscription", "processes_per_node", "threads"]
        rows = rows[rows["processes"] == rows.groupby(curve, dropna=False)["processes"].transform("max")]
        caption += " Shown is the largest count; all times are in tables/scaling.csv."
    if rows["near"].gt(0).any():
        caption += " With ≈, another is as fast or may be (multiple comparisons with the best)."
    if rows.loc[rows["compared_kinds"] != "simulated", "near"].isna().any():
        caption += f" Below {FEWEST} blocks it is not known which others may be the fastest."
    if rows["lead_low"].notna().any():
        caption += " All go by joint ratios, with intervals in brackets."
    nodes, sites = (rows[key].nunique() > 1 for key in ("nodes", "site"))
    placed = bool(rows["processes_per_node"].notna().any())
    caption += " Only equal numbers of processes per node are compared." * placed

    def fastest(interconnect: str, kind: str, near: object) -> str:
        about = "" if is_missing(near) or not near else f"{formats.THIN}≈"
        return f"{labels.interconnect(interconnect, kind)}{about}"

    fields = [
        *[texts("Site", lambda site: formats.MISSING if is_missing(site) else site, "site")] * sites,
        *[numbers("Nodes", formats.whole, "nodes")] * nodes,
        numbers("Processes", formats.whole, "processes"),
        *[numbers("Per node", formats.plain, "processes_per_node")] * placed,
        texts("Fastest", fastest, "interconnect", "kind", "near"),
        numbers("Time (s)", formats.number, "seconds"),
        texts("Next", labels.interconnect, "next_interconnect", "next_kind"),
        numbers("Next takes longer by (%)", percent_cell("lead")),
        numbers("Slowest takes longer by (%)", percent_cell("spread")),
        numbers("Compared", str, "interconnects"),
    ]
    return line_table(
        caption, fields, labels.lines(rows, "case"), with_levels(rows, lambda line: labels.case(line["case"]))
    )


def _figures_table(figures: pd.DataFrame, labels: Labels) -> Block:
    rows = [
        row(
            [labels.interconnect(name, "published"), *(_figure(figures, name, key) for key in QUANTITIES)],
            "",
            name,
        )
        for name in labels.sorted_interconnects(figures.index)
    ]
    columns = [*left("Interconnect"), *right("Latency (µs)", "Bandwidth (Mbit/s)")]
    return table(
        "Published network figures, as ranges where the source does not say which was used.",
        columns,
        {"": rows},
    )


def _figure(figures: pd.DataFrame, name: str, quantity: str) -> str:
    return (
        formats.MISSING if is_missing(figures.loc[name, f"{quantity}_low"]) else span(figures, name, quantity)
    )
