"""Page one: a title that states the result, key figures, one figure, one table and one line on certainty."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from analysis.presentation import formats
from analysis.presentation.blocks import Block, Section, bullets, key_figures, paragraph, section
from analysis.presentation.content import Content
from analysis.presentation.contests import Contest, find_contests
from analysis.presentation.formats import counted
from analysis.presentation.labels import Labels
from analysis.presentation.sentences import look_sentences, progress_sentence
from analysis.report.certainty import count_runs, how_sure, how_sure_in_short
from analysis.report.contrast import (
    Contrast,
    contrast_title,
    cores_of_nodes,
    find_contrast,
    page_labels,
    unattained_speedup,
    unpaired_runs,
)
from analysis.report.crossover import crossover
from analysis.report.in_words import table_notes
from analysis.report.key_figures import MOST_FIGURES, make_key_figures
from analysis.report.page_one_figure import figure_title
from analysis.report.page_one_table import page_one_table
from analysis.runs.kinds import ran
from analysis.topics.improvement.sentences import disturbance, subject_of_comparison
from analysis.topics.network.curves import benchmarks
from analysis.topics.quality.sentences import short_sentences
from analysis.topics.registry import TOPICS
from analysis.topics.topic import MOST_SENTENCES, Headline, Page
from analysis.topics.weigh import pointer_to_differences


class FirstPage(NamedTuple):
    """Title, blocks of page one, and blocks of the section behind page one."""

    title: str
    answer: list[Block]
    words: list[Block]


def page_one(content: Content) -> tuple[str, list[Section]]:
    """Make the title of page one, page one, and the section "In words" behind page one."""
    page = _with_runs(content) if content.cases else _without_runs(content)
    question = content.facts.study.question
    words = [*([paragraph(question)] if question else []), *page.words]
    answer = page.answer or [paragraph("There are no results yet.")]
    sections = section("answer", "The answer", answer), section("words", "In words", words)
    return page.title, [made for made in sections if made]


def select_headlines(page: Page) -> Headline:
    """Select among what the topics offer: the first sentences and table, and all key figures and notes.

    A study with runs keeps the last sentence for how sure the others are.
    """
    unfinished = page.content.facts.study.unfinished
    topics = [topic for topic in TOPICS if not (unfinished and topic.directions)]
    offers = [offer for topic in topics if topic.headline and (offer := topic.headline(page))]
    sentences = [sentence for offer in offers for sentence in offer.sentences]
    return Headline(
        title=next((offer.title for offer in offers if offer.title), ""),
        sentences=sentences[: MOST_SENTENCES - bool(page.content.cases)],
        key_figures=[figure for offer in offers for figure in offer.key_figures],
        table=next((offer.table for offer in offers if offer.table), None),
        cautions=[caution for offer in offers for caution in offer.cautions if caution],
        notes=[note for offer in offers for note in offer.notes if note],
    )


def _with_runs(content: Content) -> FirstPage:
    contests = find_contests(content.tables, content.labels.declared)
    if content.facts.study.unfinished:
        return _interim(contests, content)
    headline = select_headlines(Page(content, contests))
    labels = page_labels(content.labels, contests)
    has_baseline = content.facts.study.names_baseline
    (factor,) = content.facts.all_settings().look_factors([contests[0].case])
    contrast = find_contrast(contests[0], has_baseline, factor)
    where = f" in {labels.case(contests[0].case)}" if len(content.cases) > 1 else ""
    if contrast:
        title = contrast_title(contrast, contests[0], labels, where)
    else:
        title = f"{figure_title(contests[0], labels)}{where}"
    compared = ("interconnect", "baseline_interconnect")
    names = [contrast.comparison[name] for name in compared] if contrast else []
    if remark := disturbance(contests[0], content.runs, names):
        title = f"{title} ({remark})"
    figures = make_key_figures(
        contests[0], contrast, labels, has_baseline, headline.key_figures, content.runs
    )
    certainty = how_sure(content.runs, content.tables, contests, content.facts)
    return FirstPage(
        f"{title[:1].upper()}{title[1:]}" if title.startswith(labels.speedup) else title,
        [
            key_figures(figures),
            *_figure_and_table(contests, content, contrast),
            *map(paragraph, filter(None, _remarks(contests[0], content, labels, contrast))),
            paragraph(
                how_sure_in_short(
                    content.runs,
                    contests,
                    labels,
                    None if has_baseline else contrast,
                    content.tables.get("drift"),
                )
            ),
            *map(paragraph, look_sentences(content.facts.study, labels)),
            *map(paragraph, short_sentences(content.runs)),
            *map(paragraph, headline.cautions),
        ],
        _words([*headline.sentences, certainty], headline, contests, content),
    )


def _remarks(contest: Contest, content: Content, labels: Labels, contrast: Contrast | None) -> list[str]:
    """State where the order of the interconnects changes, and what a comparison shows or leaves out."""
    fastest = content.tables.get("fastest")
    return [
        "" if fastest is None else crossover(contest, fastest, labels),
        " ".join(
            [subject_of_comparison(contest, content.facts, labels), pointer_to_differences(content)]
        ).strip(),
        *(
            remark(contrast, contest, labels)
            for remark in (cores_of_nodes, unattained_speedup, unpaired_runs)
            if contrast
        ),
    ]


def _interim(contests: Sequence[Contest], content: Content) -> FirstPage:
    """Make page one of an unfinished study, which states no direction of its runs."""
    study = content.facts.study
    without_runs = [contest for contest in contests if not any(map(ran, contest.kinds))]
    headline = select_headlines(Page(content, without_runs))
    planned = study.until.max_blocks if study.until else study.blocks
    recorded = f"{formats.whole(study.blocks_recorded or 0)} of {counted(planned or 0, 'block')} recorded"
    if study.repeats_left:
        recorded += f", {counted(study.repeats_left, 'run')} of --again left"
    certainty = [progress_sentence(study), f"So far: {count_runs(content.runs)}."]
    return FirstPage(
        f"{recorded}: no result yet",
        [
            *_figure_and_table(contests, content),
            paragraph(" ".join(certainty)),
            *map(paragraph, headline.cautions),
        ],
        _words(headline.sentences, headline, contests, content),
    )


def _figure_and_table(
    contests: Sequence[Contest], content: Content, contrast: Contrast | None = None
) -> list[Block]:
    in_title = str(contrast.comparison["interconnect"]) if contrast else None
    return [*content.figures("answer"), page_one_table(contests, content, in_title)]


def _words(
    sentences: Sequence[str], headline: Headline, contests: Sequence[Contest], content: Content
) -> list[Block]:
    """Make the section behind page one: short names, sentences, and notes of the topics and on the table."""
    names = content.labels.explain(content.tables["peaks"])
    notes = [*headline.notes, " ".join(filter(None, table_notes(contests, content)))]
    return [
        *([paragraph(names)] if names else []),
        *([bullets(sentences)] if sentences else []),
        *map(paragraph, filter(None, notes)),
    ]


def _without_runs(content: Content) -> FirstPage:
    """Make page one of network curves, published figures and prices, which have no times of runs."""
    headline = select_headlines(Page(content))
    sentences = headline.sentences
    if not sentences and not content.runs.empty and not benchmarks(content.tables):
        valid = content.runs["valid"].any()
        why = "Only serial runs are valid" if valid else "No run is valid"
        certainty = f"{why}, so there is no estimate. How sure: {count_runs(content.runs)}."
        return FirstPage(f"{why}: no result", [paragraph(certainty)], [])
    figures = [figure for topic in TOPICS if topic.headline for figure in content.figures(topic.name)]
    figures = figures or [figure for topic in TOPICS for figure in content.figures(topic.name)]
    listing = [bullets(sentences)] if sentences else []
    counts = [] if listing or content.runs.empty else [paragraph(f"How sure: {count_runs(content.runs)}.")]
    first = [key_figures(headline.key_figures[:MOST_FIGURES])] if headline.key_figures else listing
    return FirstPage(
        headline.title or content.labels.title,
        [
            *first,
            *figures[:1],
            *([headline.table] if headline.table else []),
            *counts,
            *map(paragraph, headline.cautions),
        ],
        [*(listing if headline.key_figures else []), *map(paragraph, headline.notes)],
    )
