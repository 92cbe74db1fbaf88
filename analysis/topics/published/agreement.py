"""Comparison of the direction of each published difference with this study's."""

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
"""Verdicts on the direction of a difference."""
KEYS = {"peaks": ["interconnect"], "improvement": ["baseline_interconnect", "interconnect"]}
"""Columns that identify a row within a case, by table."""
CASES = ["case_published", "case"]
"""Columns that identify a published case and its counterpart in the study."""
SMALLEST = 0.5
"""Smallest absolute value, in percent or processes, that counts as a difference."""


def agreement_blocks(
    published: Mapping[str, pd.DataFrame], counterparts: Mapping[str, Sequence[str]], content: Content
) -> list[Block]:
    """Compare the direction of each published difference with the direction in this study.

    Interconnects are compared if they have the same name in both, at oversubscription 1.

    Parameters
    ----------
    published : mapping of str to DataFrame
        Published tables by name.
    counterparts : mapping of str to sequence of str
        Cases of the study, by the published case that they represent.
    content : Content
    """
    rows_of_pair: dict[tuple[str, str], list[Row]] = {}
    for name, make_rows in (("peaks", _peak_rows), ("improvement", _improvement_rows)):
        for _, group in joined(name, published, counterparts, content).groupby(CASES, sort=False):
            pair = group["case_published"].iloc[0], group["case"].iloc[0]
            rows_of_pair.setdefault(pair, []).extend(make_rows(group, content))
    groups: dict[str, list[Row]] = {}
    for published_case, cases in counterparts.items():
        for case in cases:
            if rows := rows_of_pair.get((published_case, case)):
                groups[f"{content.labels.case(case)}, counterpart of {published_case}"] = rows
    verdicts = [line["cells"][-1] for rows in groups.values() for line in rows]
    if not verdicts:
        return []
    same, other, none = map(verdicts.count, (AGREES, DISAGREES, NONE))
    text = (
        f"This study repeats {counted(len(verdicts), 'published comparison')} of interconnects. The "
        f"direction of the difference is the same in {same} and another in {other} of these comparisons."
    )
    if none:
        text += (
            f" This study shows no difference in {none}, for example because a baseline peaks within one "
            "node."
        )
    text += (
        " Nodeworth does not compare sizes of differences, because application, problem size and machine "
        "differ."
    )
    columns = [*left("Comparison"), *right("Published", "Here"), *left("Direction")]
    caption = (
        "Direction of each difference. Column “Here” contains point estimates of this study. The tables "
        "above contain the uncertainty bands of simulated values."
    )
    return [paragraph(text), table(caption, columns, groups)]


def joined(
    name: str,
    published: Mapping[str, pd.DataFrame],
    counterparts: Mapping[str, Sequence[str]],
    content: Content,
) -> pd.DataFrame:
    """Join the rows of a published table and of the study's table that have the same interconnects.

    Only rows of the study at oversubscription 1 are joined. Published columns get the suffix ``_published``
    if the study has the same column. The columns `CASES` name the published case and its counterpart.

    Parameters
    ----------
    name : str
        Name of the table, one of `KEYS`.
    """
    keys, tables = KEYS[name], []
    published_table = published.get(name, pd.DataFrame(columns=["case"]))
    for published_case, cases in counterparts.items():
        published_rows = published_table[published_table["case"] == published_case]
        for case in cases if len(published_rows) else ():
            rows = content.rows(name, case)
            rows = rows[rows["oversubscription"] == 1].drop_duplicates(keys)
            both = published_rows.merge(rows, on=keys, suffixes=("_published", ""))
            tables.append(both[both["peak_processes"].notna()] if name == "peaks" else both)
    return pd.concat(tables) if tables else pd.DataFrame(columns=CASES)


def _peak_rows(joined_rows: pd.DataFrame, content: Content) -> Iterator[Row]:
    """Yield rows that compare each interconnect's peak with the peak of the case's first interconnect."""
    first, *others = joined_rows.to_dict("records")
    first_name = content.labels.interconnect(first["interconnect"], "")
    for line in others:
        name = content.labels.interconnect(line["interconnect"], "")
        title = f"Peak: {name} against {first_name} (processes)"
        cells, differences = [], []
        for key in ("peak_processes_published", "peak_processes"):
            cells.append(f"{formats.whole(line[key])} against {formats.whole(first[key])}")
            differences.append(line[key] - first[key])
        yield row([title, *cells, _verdict(*differences)], line["case"], line["interconnect"])


def _improvement_rows(joined_rows: pd.DataFrame, content: Content) -> Iterator[Row]:
    """Yield rows that compare improvements: at the baseline's peak, and averaged over the counts up to it."""
    for line in joined_rows.to_dict("records"):
        base, other = (content.labels.interconnect(line[key], "") for key in KEYS["improvement"])
        compared = {"improvement": f"at the peak of {base}", "average": f"averaged up to the peak of {base}"}
        for key, where in compared.items():
            percents = line[f"{key}_percent_published"], line[f"{key}_percent"]
            if any(map(is_missing, percents)):
                continue
            cells = (formats.percent(value, signed=True, places=0) for value in percents)
            yield row([f"{other}, {where}", *cells, _verdict(*percents)], line["case"], line["interconnect"])


def _verdict(published: float, here: float) -> str:
    """Compare the signs of two differences; a difference below `SMALLEST` counts as zero."""
    published_sign, sign = (np.sign(value) if abs(value) >= SMALLEST else 0 for value in (published, here))
    if published_sign == sign:
        return AGREES
    return DISAGREES if sign else NONE
