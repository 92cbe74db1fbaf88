"""The section that compares this study with published results, of which no times of runs are known.

Published results do not enter any estimate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import pandas as pd

from analysis.presentation import formats
from analysis.presentation.blocks import (
    Block,
    Row,
    Section,
    bullets,
    left,
    paragraph,
    right,
    row,
    section,
    table,
)
from analysis.presentation.content import Content
from analysis.presentation.formats import listed
from analysis.runs.frames import as_lines, interval, is_missing, lowest_level, percent_interval, rows_like
from analysis.runs.kinds import side
from analysis.topics.equivalents import equivalent_count
from analysis.topics.published import sentences as published_sentences
from analysis.topics.published.agreement import agreement_blocks, joined
from analysis.topics.topic import MOST_ROWS, MOST_SENTENCES, Headline, Page

CASE_TABLES = ("cases", "peaks", "improvement", "node_equivalent")
"""Published tables by case; docs/reference/imports.md lists their columns."""

HOW_SURE = (
    "How sure: these results were published without the times of runs. Nodeworth therefore has no data for "
    "tests."
)

Rows = Iterator[Row]


def published_figures(content: Content) -> Section | None:
    """Write the section that compares published results with their counterparts in this study."""
    tables = {name: content.published[name] for name in CASE_TABLES if name in content.published}
    if not tables:
        return None
    counterparts = _counterparts(content)
    cases = list(dict.fromkeys(case for published in tables.values() for case in published["case"]))
    cases = [case for case in cases if case != published_sentences.AVERAGE]
    blocks: list[Block] = [paragraph(_introduction(content, cases, counterparts))]
    if sentences := _sentences(tables, content):
        blocks.append(bullets(sentences, "Published results"))
    shown = [case for case in cases if case in counterparts] or cases
    if "cases" in tables:
        blocks.append(_cases_table(tables["cases"], shown, counterparts, content))
    for name in _TABLES:
        if name in tables:
            blocks += _comparison_table(name, tables[name], shown, counterparts, content)
    blocks += agreement_blocks(tables, counterparts, content)
    return section("published", "Published figures", blocks)


def _comparison_table(
    name: str,
    published: pd.DataFrame,
    shown: Sequence[str],
    counterparts: Mapping[str, Sequence[str]],
    content: Content,
) -> list[Block]:
    """Tabulate the rows of a published table below the rows of their counterparts in this study."""
    caption, columns, published_rows, study_rows = _TABLES[name]
    groups: dict[str, list[Row]] = {}
    for published_case in shown:
        rows = published[published["case"] == published_case]
        if rows.empty:
            continue
        cases = counterparts.get(published_case, [])
        title = published_case
        if cases:
            title = f"{listed(map(content.labels.case, cases))}, counterpart of {published_case}"
        groups[title] = [line for case in cases for line in study_rows(content, case)]
        groups[title] += published_rows(content, rows)
    columns = [*left("Interconnect"), *columns]
    return [table(f"{caption} {_source(published)}", columns, groups)] if groups else []


def _source(published: pd.DataFrame) -> str:
    return f"Source: {listed(dict.fromkeys(published['source']))}."


def _counterparts(content: Content) -> dict[str, list[str]]:
    """Return the cases of this study that represent a published case, by the published case."""
    counterparts: dict[str, list[str]] = {}
    for case in content.cases:
        if name := content.facts.case(case).published_case:
            counterparts.setdefault(name, []).append(case)
    return counterparts


def _introduction(content: Content, cases: Sequence[str], counterparts: Mapping[str, Sequence[str]]) -> str:
    """State what is compared, and which published cases have no counterpart in this study."""
    text = (
        "These results were published without the times of runs. Published results have no repetitions and "
        "no intervals. Estimates, curves and tests do not use published results."
    )
    compared = [case for case in cases if case in counterparts]
    if not compared:
        return f"{text} No case of this study corresponds to a published case." if content.cases else text
    text += (
        f" The tables compare {listed(compared)} with counterparts in this study. The counterparts are other "
        f"applications {_difference(content)}, even if names are the same. Node equivalents of this study "
        "refer to the highest speedup of the baseline."
    )
    about = content.facts.case
    resized = [case for case in compared if any(about(name).other_size for name in counterparts[case])]
    if resized:
        text += f" Counterparts of {listed(resized)} have another size. The table of cases states the size."
    not_compared = [case for case in cases if case not in compared]
    if not not_compared:
        return text
    verb = "has" if len(not_compared) == 1 else "have"
    return f"{text} {listed(not_compared)} {verb} no counterpart. Folder published/ has the published values."


def _difference(content: Content) -> str:
    """State how the runs of the study differ from the published runs."""
    kinds = set(content.tables["scaling"]["kind"])
    if kinds == {"simulated"}:
        return "whose messages were replayed on models of interconnects"
    difference = "on another machine over other interconnects"
    return f"{difference}, or on models of interconnects" if "simulated" in kinds else difference


def _sentences(tables: Mapping[str, pd.DataFrame], content: Content) -> list[str]:
    """Summarise published improvements, peaks and node equivalents."""
    return [
        *published_sentences.improvement_sentences(tables, content.labels),
        *published_sentences.peak_sentences(tables, content.labels),
        *published_sentences.equivalent_sentences(tables, content.labels),
    ]


def headline(page: Page) -> Headline | None:
    """Offer page one a summary of published results, or a note that compares them with the study's runs."""
    content = page.content
    if content.cases:
        peaks, improvement = (
            joined(name, content.published, _counterparts(content), content)
            for name in ("peaks", "improvement")
        )
        return Headline(notes=[published_sentences.comparison_sentence(peaks, improvement, content.labels)])
    if not set(CASE_TABLES) & content.published.keys():
        return None
    return Headline(
        title=published_sentences.improvement_title(content.published, content.labels),
        key_figures=published_sentences.improvement_figures(content.published, content.labels),
        sentences=_sentences(content.published, content)[:MOST_SENTENCES],
        table=_improvement_overview(content),
        cautions=[HOW_SURE],
    )


def _improvement_overview(content: Content) -> Block | None:
    """Tabulate published improvements of the first cases, with a column per pair of interconnects."""
    published = content.published.get("improvement")
    if published is None:
        return None
    labels = content.labels
    pairs = published[["interconnect", "baseline_interconnect"]].drop_duplicates().to_dict("records")
    cases = [case for case in dict.fromkeys(published["case"]) if case != published_sentences.AVERAGE]
    rows = []
    for case in cases[:MOST_ROWS]:
        rows_of_case = published[published["case"] == case]
        cells = (_improvement_cell(rows_like(rows_of_case, pair, list(map(str, pair)))) for pair in pairs)
        rows.append(row([case, *cells], case))
    heads = (
        " over ".join(labels.interconnect(name, "published") for name in pair.values()) for pair in pairs
    )
    caption = f"Published improvements at their process counts. {_source(published)}"
    caption += (
        f" The table shows the first {MOST_ROWS} of {len(cases)} cases." if len(cases) > MOST_ROWS else ""
    )
    return table(caption, [*left("Case"), *right(*heads)], {"": rows})


def _improvement_cell(rows: pd.DataFrame) -> str:
    """Write a published improvement with its process count; `rows` has at most one row."""
    if rows.empty:
        return formats.MISSING
    line = rows.iloc[0]
    percent = formats.percent(line["improvement_percent"], signed=True, places=0)
    return f"{percent} at {formats.whole(line['at_processes'])}"


def _cases_table(
    cases: pd.DataFrame, shown: Sequence[str], counterparts: Mapping[str, Sequence[str]], content: Content
) -> Block:
    """Tabulate the published cases with their counterparts in this study."""
    rows = []
    for line in as_lines(cases[cases["case"].isin(shown)]):
        names = counterparts.get(line["case"], [])
        seconds = line["serial_seconds"]
        cells = [
            line["case"],
            formats.MISSING if is_missing(line["title"]) else line["title"],
            formats.whole(line["cells"]),
            formats.MISSING if is_missing(seconds) else formats.exact(seconds),
            listed(map(content.labels.case, names)) or formats.MISSING,
            *(_facts_cell(names, key, content) for key in ("application", "size")),
        ]
        rows.append(row(cells))
    columns = [
        *left("Case", "Title"),
        *right("Cells", "Serial time (s)"),
        *left("Here", "Application here", "Size here"),
    ]
    return table(f"Published cases. {_source(cases)}", columns, {"": rows})


def _facts_cell(cases: Sequence[str], key: str, content: Content) -> str:
    values = (getattr(content.facts.case(case), key) or "" for case in cases)
    return listed(dict.fromkeys(values)) or formats.MISSING


def _published_peaks(content: Content, rows: pd.DataFrame) -> Rows:
    for line in rows.to_dict("records"):
        note = "" if is_missing(line["note"]) else line["note"]
        name = content.labels.interconnect(line["interconnect"], "published")
        yield row([name, formats.whole(line["peak_processes"]), formats.MISSING, note])


def _study_peaks(content: Content, case: str) -> Rows:
    """Yield a row for the peak of each curve of a case."""
    for line in lowest_level(content.rows("peaks", case)).to_dict("records"):
        speedup = interval(line, "peak_speedup")
        note = "" if line["reached"] else "the peak may lie beyond"
        cells = [
            content.labels.curve(line),
            formats.whole(line["peak_processes"]),
            formats.bracketed(*speedup),
        ]
        yield row([*cells, note], case, line["interconnect"])


def _published_improvements(content: Content, rows: pd.DataFrame) -> Rows:
    """Yield a row for each published improvement."""
    labels = content.labels
    for line in rows.to_dict("records"):
        names = (
            labels.interconnect(line[key], "published") for key in ("interconnect", "baseline_interconnect")
        )
        percents = (
            formats.fixed(line[f"{key}_percent"], 0, signed=True) for key in ("improvement", "average")
        )
        yield row([*names, formats.whole(line["at_processes"]), *percents])


def _study_improvements(content: Content, case: str) -> Rows:
    """Yield a row for each improvement of a case at its lowest oversubscription."""
    for line in lowest_level(content.rows("improvement", case)).to_dict("records"):
        if is_missing(line["improvement_percent"]):
            continue
        percents = (
            formats.bracketed_percent(*percent_interval(line, key)) for key in ("improvement", "average")
        )
        cells = [*_sides(line, content), formats.whole(line["at_processes"]), *percents]
        yield row(cells, case, line["interconnect"])


def _published_equivalents(content: Content, rows: pd.DataFrame) -> Rows:
    for line in rows.to_dict("records"):
        name = content.labels.interconnect(line["interconnect"], "published")
        counts = (formats.plain(line[key]) for key in ("processes", "processes_saved"))
        yield row([name, formats.exact(line["target_speedup"]), *counts])


def _study_equivalents(content: Content, case: str) -> Rows:
    """Yield a row for each baseline at its highest target, then a row for each node equivalent."""
    rows = lowest_level(content.rows("node_equivalent", case))
    for _, group in rows.groupby(["baseline_interconnect", "kind"], sort=False):
        highest = group[group["target_speedup"] == group["target_speedup"].max()]
        for index, line in enumerate(highest.to_dict("records")):
            other, baseline = _sides(line, content)
            target, fewer = formats.number(line["target_speedup"]), formats.fixed(line["processes_saved"], 1)
            if not index:
                count = formats.plain(line["baseline_processes"])
                yield row([baseline, target, count, "0"], case, line["baseline_interconnect"])
            yield row([other, target, equivalent_count(line), fewer], case, line["interconnect"])


def _sides(line: Mapping, content: Content) -> tuple[str, str]:
    """Return the titles of an interconnect and of its baseline."""
    baseline = content.labels.interconnect(line["baseline_interconnect"], side(line["kind"], 0))
    return content.labels.compared(line), baseline


_TABLES: Mapping[str, tuple[str, list, Callable[..., Rows], Callable[..., Rows]]] = {
    "peaks": (
        "Peaks of the speedup.",
        [*right("Processes at the peak", "Highest speedup"), *left("Note")],
        _published_peaks,
        _study_peaks,
    ),
    "improvement": (
        "Improvement at the count where the baseline peaks. Column “Average” shows the mean over the counts "
        "up to this peak.",
        [*left("Over"), *right("Processes", "Improvement (%)", "Average (%)")],
        _published_improvements,
        _study_improvements,
    ),
    "node_equivalent": (
        "Processes that reach the same speedup.",
        right("Speedup", "Processes", "Fewer than the baseline"),
        _published_equivalents,
        _study_equivalents,
    ),
}
"""Caption, columns after the interconnect, published rows and rows of this study, by published table."""
