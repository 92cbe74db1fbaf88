"""Published figures that hold no time of a run, beside those of this study. They enter no estimate."""

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
from analysis.runs.frames import interval, is_missing, lowest_level, percent_interval, rows_like
from analysis.runs.kinds import side
from analysis.topics.equivalents import equivalent_count
from analysis.topics.published import sentences as published_sentences
from analysis.topics.published.agreement import agreement_blocks, together
from analysis.topics.topic import MOST_ROWS, MOST_SENTENCES, Headline, Page

CASE_TABLES = ("cases", "peaks", "improvement", "node_equivalent")
"""Published tables by case; docs/reference/imports.md lists their columns."""

HOW_SURE = (
    "How sure: these figures were published without the times behind them, so that nothing can be tested."
)

Lines = Iterator[Row]


def published_figures(content: Content) -> Section | None:
    """Published peaks, improvements and node equivalents, each beside what stands for its case here."""
    tables = {name: content.published[name] for name in CASE_TABLES if name in content.published}
    if not tables:
        return None
    stand_ins = _stand_ins(content)
    cases = list(dict.fromkeys(case for figures in tables.values() for case in figures["case"]))
    cases = [case for case in cases if case != published_sentences.AVERAGE]
    beside = [case for case in cases if case in stand_ins]
    blocks: list[Block] = [paragraph(_introduction(content, cases, stand_ins))]
    if said := _sentences(tables, content):
        blocks.append(bullets(said, "What was published"))
    shown = beside or cases
    if "cases" in tables:
        blocks.append(_cases_table(tables["cases"], shown, stand_ins, content))
    for name in _TABLES:
        if name in tables:
            blocks += _beside_table(name, tables[name], shown, stand_ins, content)
    blocks += agreement_blocks(tables, stand_ins, content)
    return section("published", "Published figures", blocks)


def _beside_table(
    name: str,
    figures: pd.DataFrame,
    shown: Sequence[str],
    stand_ins: Mapping[str, Sequence[str]],
    content: Content,
) -> list[Block]:
    caption, columns, theirs, ours = _TABLES[name]
    groups: dict[str, list[Row]] = {}
    for case in (case for case in shown if (figures["case"] == case).any()):
        own_cases = stand_ins.get(case, [])
        title = f"{listed(map(content.labels.case, own_cases))}, beside {case}" if own_cases else case
        groups[title] = [line for own in own_cases for line in ours(content, own)]
        groups[title] += theirs(content, figures[figures["case"] == case])
    columns = [*left("Interconnect"), *columns]
    return [table(f"{caption} {_source(figures)}", columns, groups)] if groups else []


def _source(figures: pd.DataFrame) -> str:
    return f"From {listed(dict.fromkeys(figures['source']))}."


def _stand_ins(content: Content) -> dict[str, list[str]]:
    """Cases of this study that have estimates, by the published case that they stand for."""
    found: dict[str, list[str]] = {}
    for case in content.cases:
        if name := content.facts.case(case).published_case:
            found.setdefault(name, []).append(case)
    return found


def _introduction(content: Content, cases: Sequence[str], stand_ins: Mapping[str, Sequence[str]]) -> str:
    text = (
        "These figures were published without the times behind them. They have neither repetitions nor "
        "intervals and enter no estimate, no curve and no test."
    )
    beside = [case for case in cases if case in stand_ins]
    if not beside:
        return f"{text} No case of this study stands for one of theirs." if content.cases else text
    text += (
        f" Those of {listed(beside)} stand beside what stands for them in this study, with another "
        f"application, {_ran(content)}, even where a name is the same. Node equivalents of this study are "
        "those of its baseline's highest speedup."
    )
    known = content.facts.case
    if other := [case for case in beside if any(known(own).other_size for own in stand_ins[case])]:
        text += f" What stands for {listed(other)} is of another size: see the table of cases."
    others = [case for case in cases if case not in beside]
    return f"{text} Nothing here stands for {listed(others)}: see published/." if others else text


def _ran(content: Content) -> str:
    """Say how far the study's interconnects are from the published ones."""
    kinds = set(content.tables["scaling"]["kind"])
    if kinds == {"simulated"}:
        return "whose messages were replayed on models of interconnects, not on the machines of then"
    other = "on another machine over other interconnects"
    return f"{other}, or on models of interconnects" if "simulated" in kinds else other


def _sentences(tables: Mapping[str, pd.DataFrame], content: Content) -> list[str]:
    return [
        *published_sentences.improvement_sentences(tables, content.labels),
        *published_sentences.peak_sentences(tables, content.labels),
        *published_sentences.equivalent_sentences(tables, content.labels),
    ]


def headline(page: Page) -> Headline | None:
    """Offer what was published; for a study with runs, a note on how far it is from that."""
    content = page.content
    if content.cases:
        beside = (
            together(name, content.published, _stand_ins(content), content)
            for name in ("peaks", "improvement")
        )
        return Headline(notes=[published_sentences.beside_sentence(*beside, content.labels)])
    if not set(CASE_TABLES) & content.published.keys():
        return None
    return Headline(
        sentences=[*_sentences(content.published, content)[: MOST_SENTENCES - 1], HOW_SURE],
        table=_improvement_overview(content),
    )


def _improvement_overview(content: Content) -> Block | None:
    """Tabulate the published improvements at the peak of the first cases, with a column for each pair."""
    figures = content.published.get("improvement")
    if figures is None:
        return None
    labels = content.labels
    pairs = figures[["interconnect", "baseline_interconnect"]].drop_duplicates().to_dict("records")
    cases = [case for case in dict.fromkeys(figures["case"]) if case != published_sentences.AVERAGE]
    rows = []
    for case in cases[:MOST_ROWS]:
        of_case = figures[figures["case"] == case]
        rows.append(row([case, *(_improved(rows_like(of_case, pair, list(pair))) for pair in pairs)], case))
    heads = (
        " over ".join(labels.interconnect(name, "published") for name in pair.values()) for pair in pairs
    )
    caption = f"Improvement, and the processes at which it was published. {_source(figures)}"
    caption += f" The first {MOST_ROWS} of {len(cases)} cases." if len(cases) > MOST_ROWS else ""
    return table(caption, [*left("Case"), *right(*heads)], {"": rows})


def _improved(rows: pd.DataFrame) -> str:
    if rows.empty:
        return formats.MISSING
    line = rows.iloc[0]
    percent = formats.percent(line["improvement_percent"], signed=True, places=0)
    return f"{percent} at {formats.whole(line['at_processes'])}"


def _cases_table(
    cases: pd.DataFrame, shown: Sequence[str], stand_ins: Mapping[str, Sequence[str]], content: Content
) -> Block:
    rows = [
        row(
            [
                line["case"],
                formats.MISSING if is_missing(line["title"]) else line["title"],
                formats.whole(line["cells"]),
                formats.MISSING
                if is_missing(line["serial_seconds"])
                else formats.exact(line["serial_seconds"]),
                listed(map(content.labels.case, own := stand_ins.get(line["case"], []))) or formats.MISSING,
                *(_of_cases(own, key, content) for key in ("application", "size")),
            ]
        )
        for line in cases[cases["case"].isin(shown)].to_dict("records")
    ]
    columns = [
        *left("Case", "Title"),
        *right("Cells", "Serial time (s)"),
        *left("Here", "Application here", "Size here"),
    ]
    return table(f"Published cases. {_source(cases)}", columns, {"": rows})


def _of_cases(cases: Sequence[str], key: str, content: Content) -> str:
    values = (getattr(content.facts.case(case), key) or "" for case in cases)
    return listed(dict.fromkeys(values)) or formats.MISSING


def _their_peaks(content: Content, rows: pd.DataFrame) -> Lines:
    for line in rows.to_dict("records"):
        note = "" if is_missing(line["note"]) else line["note"]
        name = content.labels.interconnect(line["interconnect"], "published")
        yield row([name, formats.whole(line["peak_processes"]), formats.MISSING, note])


def _our_peaks(content: Content, case: str) -> Lines:
    for line in lowest_level(content.rows("peaks", case)).to_dict("records"):
        speedup = interval(line, "peak_speedup")
        note = "" if line["reached"] else "the peak may lie beyond"
        cells = [
            content.labels.curve(line),
            formats.whole(line["peak_processes"]),
            formats.bracketed(*speedup),
        ]
        yield row([*cells, note], case, line["interconnect"])


def _their_improvements(content: Content, rows: pd.DataFrame) -> Lines:
    labels = content.labels
    for line in rows.to_dict("records"):
        names = (
            labels.interconnect(line[key], "published") for key in ("interconnect", "baseline_interconnect")
        )
        percents = (
            formats.fixed(line[f"{key}_percent"], 0, signed=True) for key in ("improvement", "average")
        )
        yield row([*names, formats.whole(line["at_processes"]), *percents])


def _our_improvements(content: Content, case: str) -> Lines:
    for line in lowest_level(content.rows("improvement", case)).to_dict("records"):
        if is_missing(line["improvement_percent"]):
            continue
        percents = (
            formats.bracketed_percent(*percent_interval(line, key)) for key in ("improvement", "average")
        )
        cells = [*_sides(line, content), formats.whole(line["at_processes"]), *percents]
        yield row(cells, case, line["interconnect"])


def _their_equivalents(content: Content, rows: pd.DataFrame) -> Lines:
    for line in rows.to_dict("records"):
        name = content.labels.interconnect(line["interconnect"], "published")
        counts = (formats.plain(line[key]) for key in ("processes", "processes_saved"))
        yield row([name, formats.exact(line["target_speedup"]), *counts])


def _our_equivalents(content: Content, case: str) -> Lines:
    rows = lowest_level(content.rows("node_equivalent", case))
    for _, of_baseline in rows.groupby(["baseline_interconnect", "kind"], sort=False):
        highest = of_baseline[of_baseline["target_speedup"] == of_baseline["target_speedup"].max()]
        for index, line in enumerate(highest.to_dict("records")):
            other, baseline = _sides(line, content)
            target, fewer = formats.number(line["target_speedup"]), formats.fixed(line["processes_saved"], 1)
            if not index:
                count = formats.plain(line["baseline_processes"])
                yield row([baseline, target, count, "0"], case, line["baseline_interconnect"])
            yield row([other, target, equivalent_count(line), fewer], case, line["interconnect"])


def _sides(line: Mapping, content: Content) -> tuple[str, str]:
    """Names of what is compared and of its baseline."""
    baseline = content.labels.interconnect(line["baseline_interconnect"], side(line["kind"], 0))
    return content.labels.compared(line), baseline


_TABLES: Mapping[str, tuple[str, list, Callable[..., Lines], Callable[..., Lines]]] = {
    "peaks": (
        "Peaks of the speedup.",
        [*right("Processes at the peak", "Highest speedup"), *left("Note")],
        _their_peaks,
        _our_peaks,
    ),
    "improvement": (
        "Improvement at the count where the baseline peaks, and averaged over the counts up to it.",
        [*left("Over"), *right("Processes", "Improvement (%)", "Average (%)")],
        _their_improvements,
        _our_improvements,
    ),
    "node_equivalent": (
        "Processes that reach the same speedup.",
        right("Speedup", "Processes", "Fewer than the baseline"),
        _their_equivalents,
        _our_equivalents,
    ),
}
"""Caption, columns after the interconnect, published rows and our rows, by published table."""
