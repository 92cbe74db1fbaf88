"""Where published figures and those of a study point in the same direction, case by case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from analysis.report.blocks import Block, Row, left, paragraph, right, row, table
from analysis.report.content import Content
from analysis.tables.missing import is_missing
from analysis.text import formats
from analysis.text.formats import counted

AGREES, DISAGREES, NONE = "the same", "another", "no difference here"
SMALLEST = 0.5
"""Percent, or processes, from which on there is a difference."""


def agreement_blocks(
    published: Mapping[str, pd.DataFrame], stand_ins: Mapping[str, Sequence[str]], content: Content
) -> list[Block]:
    """Compare the direction of every published difference with that of the case that stands for it here.

    Only interconnects that have the same name in both are compared, at oversubscription 1.

    Parameters
    ----------
    published : mapping of str to DataFrame
        Published tables by case.
    stand_ins : mapping of str to sequence of str
        Cases of the study, by the published case that they stand for.
    """
    groups: dict[str, list[Row]] = {}
    for case, own_cases in stand_ins.items():
        for own in own_cases:
            rows = [
                *_peak_rows(published.get("peaks"), case, own, content),
                *_improvement_rows(published.get("improvement"), case, own, content),
            ]
            if rows:
                groups[f"{content.labels.case(own)}, beside {case}"] = rows
    verdicts = [line["cells"][-1] for rows in groups.values() for line in rows]
    if not verdicts:
        return []
    same, other, none = map(verdicts.count, (AGREES, DISAGREES, NONE))
    text = (
        f"Of {counted(len(verdicts), 'published comparison')} of interconnects that are also here, {same} "
        f"have the same direction here and {other} another; in {none} there is no difference here, as where "
        "a baseline peaks within one node. How large they are, is another matter: application, size and "
        "machine differ."
    )
    columns = [*left("What is compared"), *right("Published", "Here"), *left("Direction")]
    caption = (
        "Agreement and disagreement in the direction of each difference. Here: point estimates; simulated "
        "peaks and improvements have bands, which are in the tables above."
    )
    return [paragraph(text), table(caption, columns, groups)]


def _peak_rows(theirs: pd.DataFrame | None, case: str, own: str, content: Content) -> Iterator[Row]:
    """Compare the peak of each interconnect with the peak of the first interconnect of the case."""
    if theirs is None:
        return
    published = theirs[theirs["case"] == case].set_index("interconnect")["peak_processes"]
    rows = content.rows("peaks", own)
    here = rows[rows["oversubscription"] == 1].drop_duplicates("interconnect").set_index("interconnect")
    known = [name for name in published.index if name in here.index]
    for other in known[1:]:
        first, labels = known[0], content.labels
        counts = [(peaks[other], peaks[first]) for peaks in (published, here["peak_processes"])]
        cells = [f"{formats.whole(count)} against {formats.whole(base)}" for count, base in counts]
        what = f"Peak: {labels.interconnect(other, '')} against {labels.interconnect(first, '')} (processes)"
        yield row([what, *cells, _verdict(*(count - base for count, base in counts))], own, other)


def _improvement_rows(theirs: pd.DataFrame | None, case: str, own: str, content: Content) -> Iterator[Row]:
    """Improvements at the peak of the baseline, and averaged over the counts up to it."""
    if theirs is None:
        return
    rows = content.rows("improvement", own)
    here = rows[rows["oversubscription"] == 1].set_index(["baseline_interconnect", "interconnect"])
    for line in theirs[theirs["case"] == case].to_dict("records"):
        pair = line["baseline_interconnect"], line["interconnect"]
        if pair not in here.index:
            continue
        base, other = (content.labels.interconnect(name, "") for name in pair)
        compared = {"improvement": f"at the peak of {base}", "average": f"averaged up to the peak of {base}"}
        for key, where in compared.items():
            percents = line[f"{key}_percent"], here.loc[[pair], f"{key}_percent"].iloc[0]
            if any(map(is_missing, percents)):
                continue
            cells = (formats.percent(value, signed=True, places=0) for value in percents)
            yield row([f"{other}, {where}", *cells, _verdict(*percents)], own, line["interconnect"])


def _verdict(published: float, here: float) -> str:
    signs = [np.sign(value) if abs(value) >= SMALLEST else 0 for value in (published, here)]
    if signs[0] == signs[1]:
        return AGREES
    return DISAGREES if signs[1] else NONE
