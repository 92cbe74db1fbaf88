"""Where published figures and those of a study point in the same direction, case by case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from analysis.presentation import formats
from analysis.presentation.blocks import Block, Row, left, paragraph, right, row, table
from analysis.presentation.content import Content
from analysis.presentation.formats import counted
from analysis.runs.frames import is_missing

AGREES, DISAGREES, NONE = "the same", "another", "no difference here"
KEYS = {"peaks": ["interconnect"], "improvement": ["baseline_interconnect", "interconnect"]}
"""Columns by which rows of ours and of theirs are the same, by table."""

PLACE = ["case_published", "case"]
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
    rows: dict[tuple[str, str], list[Row]] = {}
    for name, rows_of in (("peaks", _peak_rows), ("improvement", _improvement_rows)):
        for place, beside in together(name, published, stand_ins, content).groupby(PLACE, sort=False):
            rows.setdefault(place, []).extend(rows_of(beside, content))
    order = ((case, own) for case, own_cases in stand_ins.items() for own in own_cases)
    groups = {
        f"{content.labels.case(own)}, beside {case}": rows[case, own]
        for case, own in order
        if rows.get((case, own))
    }
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


def together(
    name: str,
    published: Mapping[str, pd.DataFrame],
    stand_ins: Mapping[str, Sequence[str]],
    content: Content,
) -> pd.DataFrame:
    """Join a published table with ours by interconnects of the same name, at oversubscription 1.

    Columns that both have get ``_published`` where they are theirs. `PLACE` holds their case and ours.
    """
    keys, found = KEYS[name], []
    theirs = published.get(name, pd.DataFrame(columns=["case"]))
    for case, own_cases in stand_ins.items():
        for own in own_cases if (theirs["case"] == case).any() else ():
            rows = content.rows(name, own)
            here = rows[rows["oversubscription"] == 1].drop_duplicates(keys)
            beside = theirs[theirs["case"] == case].merge(here, on=keys, suffixes=("_published", ""))
            found.append(beside[beside["peak_processes"].notna()] if name == "peaks" else beside)
    return pd.concat(found) if found else pd.DataFrame(columns=PLACE)


def _peak_rows(beside: pd.DataFrame, content: Content) -> Iterator[Row]:
    """Compare the peak of each interconnect with the peak of the first interconnect of the case."""
    first, *others = beside.to_dict("records")
    base = content.labels.interconnect(first["interconnect"], "")
    for line in others:
        counts = [(line[key], first[key]) for key in ("peak_processes_published", "peak_processes")]
        cells = [f"{formats.whole(count)} against {formats.whole(least)}" for count, least in counts]
        what = f"Peak: {content.labels.interconnect(line['interconnect'], '')} against {base} (processes)"
        verdict = _verdict(*(count - least for count, least in counts))
        yield row([what, *cells, verdict], line["case"], line["interconnect"])


def _improvement_rows(beside: pd.DataFrame, content: Content) -> Iterator[Row]:
    """Improvements at the peak of the baseline, and averaged over the counts up to it."""
    for line in beside.to_dict("records"):
        base, other = (content.labels.interconnect(line[key], "") for key in KEYS["improvement"])
        compared = {"improvement": f"at the peak of {base}", "average": f"averaged up to the peak of {base}"}
        for key, where in compared.items():
            percents = line[f"{key}_percent_published"], line[f"{key}_percent"]
            if any(map(is_missing, percents)):
                continue
            cells = (formats.percent(value, signed=True, places=0) for value in percents)
            what = f"{other}, {where}"
            yield row([what, *cells, _verdict(*percents)], line["case"], line["interconnect"])


def _verdict(published: float, here: float) -> str:
    signs = [np.sign(value) if abs(value) >= SMALLEST else 0 for value in (published, here)]
    if signs[0] == signs[1]:
        return AGREES
    return DISAGREES if signs[1] else NONE
