"""The section on the quality of the measurements: disturbances, outliers, drift, spread, precision."""

from __future__ import annotations

import pandas as pd

from analysis.report.blocks import Block, Row, Section, bullets, left, right, row, section, table
from analysis.report.content import Content
from analysis.runs.kinds import side
from analysis.text import formats
from analysis.text.labels import Labels
from analysis.text.quality import (
    disturbed_sentences,
    drift_sentences,
    outlier_sentences,
    precision_sentences,
    spread_sentences,
    with_interval,
)

MOST_ROWS = 30


def quality(content: Content) -> Section | None:
    """How good the measurements are, and how many more blocks would serve."""
    tables, labels = content.tables, content.labels
    said = disturbed_sentences(content.runs)
    blocks: list[Block] = []
    if "repetitions" in tables:
        said += outlier_sentences(tables["repetitions"], content.runs, labels)
    if "drift" in tables:
        said += drift_sentences(tables["drift"], labels)
    if "variability" in tables:
        said += spread_sentences(tables["variability"], labels)
    if "precision" in tables:
        said += precision_sentences(tables["precision"])
        blocks += _wide_table(tables["precision"], labels)
    if not said:
        return None
    heading = "How good the measurements are"
    return section("quality", heading, [bullets(said), *content.figures("quality"), *blocks])


def _wide_table(precision: pd.DataFrame, labels: Labels) -> list[Block]:
    """Tabulate the improvements whose interval is wider than wanted."""
    known = with_interval(precision)
    wide = known[~known["reached"]]
    if wide.empty:
        return []
    several = wide["oversubscription"].nunique() > 1
    shown = wide.sort_values("blocks_wanted", ascending=False, kind="stable").head(MOST_ROWS)
    groups: dict[str, list[Row]] = {}
    for line in shown.to_dict("records"):
        baseline = labels.interconnect(line["baseline_interconnect"], side(line["kind"], 0))
        title = f"Over {baseline}" + f", oversubscription {line['oversubscription']}" * several
        cells = [
            labels.case(line["case"]),
            labels.interconnect(line["interconnect"], side(line["kind"], 1)),
            formats.whole(line["at_processes"]),
            f"±{formats.fixed(line['half_width_percent'], 1)}",
            formats.whole(line["blocks"]),
            formats.whole(line["blocks_wanted"]),
        ]
        groups.setdefault(title, []).append(row(cells, line["case"], line["interconnect"]))
    columns = [
        *left("Case", "Interconnect"),
        *right("Processes", "Half-width (points)", "Blocks", "Blocks wanted"),
    ]
    target = formats.number(wide["target_percent"].iloc[0], 2)
    caption = f"Improvements whose interval is wider than ±{target} percentage points, the widest first."
    if len(wide) > len(shown):
        caption += f" Shown are {len(shown)} of {len(wide)}; all are in tables/precision.csv."
    return [table(caption, columns, groups)]
