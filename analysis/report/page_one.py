"""Page one: the question, the answer in at most five sentences, one figure, and one table to decide from."""

from __future__ import annotations

import math
import re
from itertools import islice, zip_longest

import pandas as pd

from analysis.curves.outcomes import ONE_NODE, outcome
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
from analysis.presentation.contests import Contest, contests, direction, end_of, nodes_of, whole
from analysis.presentation.formats import MISSING, MOST, counted, listed
from analysis.presentation.labels import KINDS, SHORT
from analysis.presentation.sentences import look_sentences
from analysis.report import page_one_sentences as sentences
from analysis.report.certainty import how_sure, what_counts
from analysis.runs.frames import Line, interval, is_missing, percent_interval, rows_like
from analysis.runs.kinds import ran, side
from analysis.topics.improvement.sentences import which_is_faster
from analysis.topics.money.sentences import list_price_sentences
from analysis.topics.network import sentences as network_sentences
from analysis.topics.network.curves import benchmarks
from analysis.topics.network.section import headline_table
from analysis.topics.published import sentences as published_sentences
from analysis.topics.published.section import CASE_TABLES, beside_published, improvement_overview
from analysis.topics.simulated.section import models_of

MOST_ROWS, LEAST_ROWS, MOST_SENTENCES = 8, 2, 5
PERCENT = 100
BEYOND = {"rises": "+", "unsure": "?"}
"""After the best count of a curve: what more processes bring."""
PUBLISHED = (
    "How sure: these figures were published without the times behind them, so that nothing can be tested."
)
SUPERLINEAR = 1.05
"""Efficiency above which page one says why."""


def page_one(content: Content) -> Section:
    """The first page, of any study."""
    question = content.facts.study.question
    blocks = [paragraph(question)] if question else []
    blocks += _of_runs(content) if content.cases else _without_runs(content)
    return section("answer", "The answer", blocks or [paragraph("There is nothing to tell yet.")])


def _of_runs(content: Content) -> list[Block]:
    labels, tables = content.labels, content.tables
    found = contests(tables, labels.declared)
    study = content.facts.study
    late = study.unfinished
    if late:
        others = [contest for contest in found if not any(map(ran, contest.kinds))]
        said = [sentences.how_far(others, labels)] if others else []
    else:
        said = [
            sentences.how_far(found, labels),
            which_is_faster(found, content.facts, labels),
            sentences.worth(found, labels),
            sentences.what_pays(tables, found, labels),
        ]
    if late:
        said += [*look_sentences(study), f"So far: {what_counts(content.runs)}."]
    else:
        said.append(how_sure(content.runs, tables, found, content.facts))
    published = beside_published(content)
    return [
        bullets(filter(None, said)),
        *content.figures("answer"),
        _table(found, content, late),
        *([paragraph(published)] if published else []),
        paragraph(" ".join(filter(None, _notes(found, content)))),
    ]


def _table(found: list[Contest], content: Content, late: bool) -> Block:
    """Tabulate the best and the baseline of every contest, then what else there is room for."""
    ranked = [_ranked(contest) for contest in found]
    others = len({contest.case for contest in found[1:]} - {found[0].case})
    room = max(MOST_ROWS - 2 * others, LEAST_ROWS)
    rest = [line for some in zip_longest(*_one_each(found, ranked), *ranked[1:]) for line in some if line]
    every = {id(line): line for line in [*ranked[0][:room], *rest, *ranked[0]]}
    shown = set(islice(every, MOST_ROWS))
    groups: dict[str, list[Row]] = {}
    for contest, lines in zip(found, ranked, strict=True):
        title = _title(contest, found, content)
        kept = [_row(contest, line, content, late) for line in lines if id(line) in shown]
        groups.setdefault(title, []).extend(kept)
    columns = [
        *left("Interconnect"),
        *right("Best at (processes)", content.labels.speedup.capitalize(), "Time (s)"),
        *left("Against its baseline", "Processes for the baseline's best"),
    ]
    caption = "The highest speedup of each case, then its baseline and others as there is room."
    marks = "".join(line["cells"][1] for lines in groups.values() for line in lines)
    caption += " +: it still rises there, at the most that were run." * ("+" in marks)
    caption += " ?: whether more bring anything cannot be told." * ("?" in marks)
    if len(every) > MOST_ROWS:
        caption += f" {counted(len(every) - MOST_ROWS, 'more curve')} are in the tables of the cases."
    return table(caption, columns, groups)


def _title(contest: Contest, found: list[Contest], content: Content) -> str:
    """Name the case, the kinds and level that tell it from other rows of it, and the baseline."""
    title = content.labels.case(contest.case)
    several = sum(other.case == contest.case for other in found) > 1
    title += f" ({listed(contest.kinds)})" if several else ""
    title += sentences.on_shared_cores(contest)
    if contest.baseline is None:
        return title
    kind = side(str(contest.against_baseline(contest.improvement)["kind"].iloc[0]), 0)
    return f"{title}; baseline: {content.labels.interconnect(contest.baseline, kind)}"


def _one_each(found: list[Contest], ranked: list[list[Line]]) -> list[list[Line]]:
    """The fastest curve of each case but the headline's, and its baseline."""
    best: dict[str, list[Line]] = {}
    for contest, lines in zip(found[1:], ranked[1:], strict=True):
        if contest.case != found[0].case:
            mine = best.setdefault(contest.case, lines[:2])
            if lines[0]["peak_speedup"] > mine[0]["peak_speedup"]:
                best[contest.case] = lines[:2]
    return list(best.values())


def _ranked(contest: Contest) -> list[Line]:
    """Curves of a contest: the fastest, the baselines, then the others, the faster first."""
    lines = contest.peaks.sort_values("peak_speedup", ascending=False, kind="stable").to_dict("records")
    return sorted(lines, key=lambda line: (line is not lines[0], line["interconnect"] != contest.baseline))


def _row(contest: Contest, line: Line, content: Content, late: bool) -> Row:
    labels, curve = content.labels, rows_like(contest.scaling, line)
    count = int(line["peak_processes"])
    best = curve[curve["processes"] == count].iloc[0].to_dict()
    nodes = nodes_of(curve, count)
    told = curve["processes"].nunique() > 1 and not (late and ran(line["kind"]))
    where = formats.whole(count) + (BEYOND.get(end_of(line, contest.scaling), "") if told else "")
    where += "" if nodes is None else f" ({counted(nodes, 'node')})"
    cells = [
        labels.curve(line),
        where,
        formats.bracketed(*interval(line, "peak_speedup")) if count > 1 else MISSING,
        formats.number(best["seconds"]),
        "" if late else _against(contest, line, content),
        "" if late else _equivalent(contest, line, content),
    ]
    return row(cells, contest.case, line["interconnect"])


def _pair(rows: pd.DataFrame, line: Line) -> pd.DataFrame:
    own = rows.assign(kind=rows["kind"].map(lambda kind: side(kind, 1)).astype("str"))
    return rows.loc[rows_like(own, line).index]


def _against(contest: Contest, line: Line, content: Content) -> str:
    every = _pair(contest.against_baseline(contest.improvement), line)
    pairs = every[every["improvement_percent"].notna()]
    if pairs.empty:
        if every["note"].str.endswith(ONE_NODE, na=False).any():
            return "not compared: one node"
        return "is the baseline" if line["interconnect"] == contest.baseline else MISSING
    pair = pairs.iloc[0].to_dict()
    word = direction(pair)
    if word is None:
        return "too few blocks" if outcome(pair["verdict"]) == "untestable" else "cannot be told"
    percent = formats.bracketed_percent(*percent_interval(pair, "improvement"))
    once = ", one run" if "untested" in str(pair["verdict"]) else ""
    return f"{percent}{formats.THIN}% at {formats.whole(pair['at_processes_other'])}{once}"


def _equivalent(contest: Contest, line: Line, content: Content) -> str:
    pairs = _pair(contest.against_baseline(contest.equivalent), line)
    if pairs.empty:
        return MISSING
    pair = pairs.iloc[0].to_dict()
    if not pair["attainable"]:
        low = pair["equivalent_low"]
        return "never" if is_missing(low) or math.isinf(low) else f"{whole(low)} or more, or never"
    if is_missing(pair["equivalent_processes"]):
        return "fewer than were run"
    own, theirs = whole(pair["equivalent_processes"]), pair["baseline_processes"]
    ends = [pair[f"equivalent_{end}"] for end in ("low", "high")]
    counts = [] if any(map(is_missing, ends)) else [end if math.isinf(end) else whole(end) for end in ends]
    if {own, *counts} == {theirs}:
        return MISSING
    band = f" [{', '.join(map(formats.whole, counts))}]" if counts else ""
    nodes = nodes_of(rows_like(contest.scaling, line), own)
    on = "" if nodes is None else f" ({counted(nodes, 'node')})"
    return f"{own}{band} of {formats.plain(theirs)}{on}"


def _notes(found: list[Contest], content: Content) -> list[str]:
    """Say once what brackets, counts and names mean, and what is unusual."""
    labels, scaling = content.labels, pd.concat([contest.scaling for contest in found])
    said = [_names(content.tables["peaks"], content), _reference(scaling, content)]
    said += [] if content.facts.study.unfinished else look_sentences(content.facts.study)
    if scaling["speedup_low"].notna().any():
        said.append(f"Brackets: the range in which a value lies, {labels.intervals(scaling)}.")
    said += _rules(pd.concat([contest.improvement for contest in found]), content)
    if found[0].improvement["improvement_percent"].notna().any():
        said.append(
            "Against its baseline: how much longer the baseline takes on the same count, the one where the "
            "baseline is best; if that is one process, the other's best."
        )
    if "data_servers" in content.runs and content.runs["data_servers"].fillna(0).max() > 0:
        said.append(
            "Processes are those that compute; processes a core count the data servers beside them too."
        )
    alone = (scaling["oversubscription"] == 1) & (scaling["threads"] == 1)
    most = scaling[alone].nlargest(1, "efficiency").to_dict("records")
    if most and min(end for end in interval(most[0], "efficiency") if not is_missing(end)) > SUPERLINEAR:
        said.append(_above_ideal(most[0], content))
    return said


def _above_ideal(line: Line, content: Content) -> str:
    """State an efficiency above 100 %, and what may explain it."""
    labels, reference = content.labels, line["reference_interconnect"]
    best = formats.percent_with_interval(*(PERCENT * end for end in interval(line, "efficiency")))
    if is_missing(reference) or reference == line["interconnect"]:
        why = "the data of more processes usually fit their caches (superlinear)"
        return f"Efficiency reaches {best}: above 100{formats.THIN}%, {why}."
    run = f"{counted(line['reference_processes'], 'process')} over "
    run += labels.interconnect(reference, line["kind"])
    return (
        f"Efficiency reaches {best} over {labels.curve(line)}. Its reference is {run}, so the difference "
        "between the two interconnects counts as efficiency too."
    )


def _rules(improvement: pd.DataFrame, content: Content) -> list[str]:
    """Say what it takes to be called faster or slower, and what cores simulated times are of."""
    said = []
    if improvement["p_adjusted"].notna().any():
        level = formats.exact(content.facts.all_settings().alpha)
        said.append(f"where p is at most {level}, after Holm's correction")
    if improvement["verdict"].astype(str).str.contains("the (?:whole )?band$").any():
        said.append(f"{'of simulated ones, ' * bool(said)}where the whole band says so")
    rules = [f"Faster or slower is said {'; '.join(said)}."] if said else []
    speeds = [model.host.host_speed or 1 for model in models_of(content).values()]
    if set(speeds) - {1}:
        share = formats.spanned(*(formats.number(end(speeds), 2) for end in (min, max)))
        rules.append(f"Simulated cores have {share} of the speed of the traced ones.")
    return rules


def _reference(scaling: pd.DataFrame, content: Content) -> str:
    """Say what speedups are relative to."""
    keys = ["reference_interconnect", "reference_processes", "kind"]
    found = scaling.dropna(subset=["reference_processes"])[keys].drop_duplicates().to_dict("records")
    named = dict.fromkeys(
        "the serial run"
        if is_missing(line["reference_interconnect"])
        else f"{counted(line['reference_processes'], 'process')} over "
        f"{content.labels.interconnect(line['reference_interconnect'], line['kind'])}"
        for line in found
    )
    if not named:
        return ""
    if len(named) <= MOST:
        return f"{content.labels.speedup.capitalize()} is relative to {listed(named)}."
    counts = [formats.whole(scaling["reference_processes"].agg(end)) for end in ("min", "max")]
    return (
        f"{content.labels.speedup.capitalize()} is relative to the fewest processes that were run over an "
        f"interconnect at a site, {formats.spanned(*counts)}: between sites, compare times."
    )


def _names(rows: pd.DataFrame, content: Content) -> str:
    """Explain what names of the interconnects of some rows are shortened to."""
    used = " ".join(map(content.labels.curve, rows.to_dict("records")))
    words = {short: long for long, short in SHORT.items()} | {tag: kind for kind, tag in KINDS.items()}
    named = [f"{short} is {word}" for short, word in words.items() if re.search(rf"\b{short}\b", used)]
    labels, names = content.labels, rows["interconnect"].unique()
    cut = [full for name in names if (full := labels.full_name(name)) != labels.cut(name)]
    said = [f"Names: {', '.join(named)}."] * bool(named) + [f"In full: {'; '.join(cut)}."] * bool(cut)
    return " ".join(said)


def _without_runs(content: Content) -> list[Block]:
    """Page one of network curves, published figures and prices, which have no times of runs."""
    labels, tables = content.labels, content.tables
    said: list[str] = []
    shown: list[Block] = []
    notes: list[Block] = []
    if (heads := tables.get("network_headlines")) is not None:
        told = network_sentences.headline_sentences(heads, tables["network"], labels)
        said += [
            *told[: MOST_SENTENCES - 1],
            network_sentences.worth_sentence(content.runs, content.facts.study),
        ]
        shown += [headline_table(_first(heads), content)]
        more = filter(None, [_names(heads, content), *network_sentences.pressure_sentences(content.runs)])
        notes += [paragraph(text) for text in [" ".join(more)] if text]
    if set(CASE_TABLES) & content.published.keys():
        said += published_sentences.improvement_sentences(content.published, labels)
        said += published_sentences.peak_sentences(content.published, labels)
        said += published_sentences.equivalent_sentences(content.published, labels)
        said = [*said[: MOST_SENTENCES - 1], PUBLISHED]
        shown += improvement_overview(content, MOST_ROWS)
    if "prices" in tables:
        said += list_price_sentences(tables["prices"], labels)
    if not said and not content.runs.empty and not benchmarks(tables):
        valid = content.runs["valid"].any()
        why = "Serial runs alone count: nothing scales" if valid else "No repetition is valid"
        said = [f"{why}, so there is no estimate.", f"How sure: {what_counts(content.runs)}."]
    figures = [figure for topic in ("network", "prices") for figure in content.figures(topic)]
    return [*([bullets(said[:MOST_SENTENCES])] if said else []), *figures[:1], *shown[:1], *notes]


def _first(heads: pd.DataFrame) -> pd.DataFrame:
    """The first rows of network headlines, those of ping-pongs before others."""
    return heads.sort_values("benchmark", key=lambda names: names != "pingpong", kind="stable").head(
        MOST_ROWS
    )
