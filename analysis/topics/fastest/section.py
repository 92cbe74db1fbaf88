"""The section on the fastest interconnect at each count."""

from __future__ import annotations

import pandas as pd

from analysis.curves.outcomes import INSEPARABLE
from analysis.presentation import formats
from analysis.presentation.blocks import Block, Section, bullets, left, right, row, section, table
from analysis.presentation.content import Content
from analysis.presentation.labels import Labels
from analysis.presentation.rows import line_table, numbers, percent_cell, texts, with_levels
from analysis.presentation.sentences import RATIOS_OF_RUNS, has_several
from analysis.runs.columns import empty
from analysis.runs.frames import is_missing
from analysis.statistics.best import ALPHA, FEWEST
from analysis.topics.fastest.best_network import QUANTITIES, network_figures, network_sentences, span
from analysis.topics.fastest.tables import FASTEST, winners

MOST_ROWS = 120


def fastest_section(content: Content) -> Section | None:
    """Show the fastest interconnect at each count, and published figures of its network."""
    labels = content.labels
    if "fastest" not in content.tables:
        return None
    won = winners(content.tables["fastest"])
    blocks: list[Block] = []
    if content.tables["improvement"]["verdict"].eq(INSEPARABLE).any():
        text = (
            f"In some comparisons, all runs of one {labels.noun} came before all runs of the other "
            f"{labels.noun}. In these comparisons, changes over time may make the slower {labels.noun} "
            "appear faster."
        )
        blocks.append(bullets([text]))
    blocks.append(winners_table(won, labels, has_several(content.tables["scaling"]["n"])))
    figures = network_figures(content.published)
    figures = figures[figures.index.isin(content.runs["interconnect"])]
    if len(figures):
        blocks.append(_figures_table(figures, labels))
    return section("fastest", f"The fastest {labels.noun} at each count, by median time", blocks)


def network_answer(content: Content, case: str) -> list[str]:
    """Say whether the network with the best published figures makes the fastest runs of a case."""
    points = content.tables.get("fastest", empty(FASTEST["fastest"]))
    won = winners(points[points["case"] == case])
    scaling, figures = content.rows("scaling", case), network_figures(content.published)
    return network_sentences(scaling, won, figures, content.labels)


def winners_table(won: pd.DataFrame, labels: Labels, several_runs: bool = False) -> Block:
    """Tabulate `winners`; a long table shows only the largest counts.

    Parameters
    ----------
    several_runs : bool, optional
        Whether any point has more than one run, so that percentages are no ratios of the times.
    """
    rows, caption = (
        won,
        f"The fastest {labels.noun} at each count, compared with the next and the slowest {labels.noun}.",
    )
    if len(rows) > MOST_ROWS:
        curve = ["site", "case", "compared_kinds", "oversubscription", "processes_per_node", "threads"]
        counts = rows["processes"].fillna(rows["nodes"])
        rows = rows[counts == counts.groupby([rows[name] for name in curve], dropna=False).transform("max")]
        caption += " The table shows only the largest count. File tables/scaling.csv has all times."
    tested = rows.loc[rows["compared_kinds"] != "simulated", "rivals"]
    if rows["rivals"].gt(0).any():
        caption += (
            " A ≈ marks a count at which another interconnect may be as fast as the interconnect in column "
            "“Fastest”."
        )
        if tested.gt(0).any():
            caption += " The statistical test is “multiple comparisons with the best”."
    if tested.notna().any():
        caption += (
            " Nodeworth may name a single fastest interconnect by chance. If all interconnects were equally "
            f"fast, this would happen at up to {formats.percent(100 * ALPHA, places=0)} of the tested counts."
        )
    if tested.isna().any():
        caption += (
            f" At counts with fewer than {FEWEST} blocks (repetitions), Nodeworth does not test whether "
            "another interconnect may be as fast."
        )
    if several_runs:
        caption += f" {RATIOS_OF_RUNS}"
    if rows["lead_low"].notna().any():
        caption += " Brackets contain intervals of the percentages."
    several_nodes, several_sites = (rows[key].nunique() > 1 for key in ("nodes", "site"))
    has_placement = bool(rows["processes_per_node"].notna().any())
    if has_placement:
        caption += " Nodeworth compares interconnects only at equal numbers of processes per node."

    def winner(interconnect: str, kind: str, rivals: object) -> str:
        mark = "" if is_missing(rivals) or not rivals else f"{formats.THIN}≈"
        return f"{labels.interconnect(interconnect, kind)}{mark}"

    def site_name(site: object) -> str:
        return formats.MISSING if is_missing(site) else str(site)

    fields = []
    if several_sites:
        fields.append(texts("Site", site_name, "site"))
    if several_nodes:
        fields.append(numbers("Nodes", formats.whole, "nodes"))
    if rows["processes"].notna().any():
        fields.append(numbers("Processes", formats.whole, "processes"))
    if has_placement:
        fields.append(numbers("Per node", formats.plain, "processes_per_node"))
    fields += [
        texts("Fastest", winner, "interconnect", "kind", "rivals"),
        numbers("Time (s)", formats.number, "seconds"),
        texts("Next", labels.interconnect, "next_interconnect", "next_kind"),
        numbers("Next takes longer by (%)", percent_cell("lead")),
        numbers("Slowest takes longer by (%)", percent_cell("spread")),
        numbers("Compared", str, "interconnects"),
    ]
    title = with_levels(rows, lambda line: labels.case(line["case"]))
    return line_table(caption, fields, labels.lines(rows, "case"), title)


def _figures_table(figures: pd.DataFrame, labels: Labels) -> Block:
    """Tabulate the latency and bandwidth of interconnects: see `network_figures`."""

    def cell(name: str, quantity: str) -> str:
        low = figures[f"{quantity}_low"].at[name]
        return formats.MISSING if is_missing(low) else span(figures, name, quantity)

    rows = []
    for name in labels.sorted_interconnects(figures.index):
        cells = [cell(name, quantity) for quantity in QUANTITIES]
        rows.append(row([labels.interconnect(name, "published"), *cells], "", name))
    columns = [*left("Interconnect"), *right("Latency (µs)", "Bandwidth (Mbit/s)")]
    caption = (
        "Published network figures. A range covers several possible networks, because the source does not "
        "state the network in use."
    )
    return table(caption, columns, {"": rows})
