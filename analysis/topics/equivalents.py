"""How many processes or nodes on one interconnect reach the speed of another?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pandas as pd
import pandera.pandas as pa

from analysis.curves.curve_comparison import Pair, names_of_pair
from analysis.curves.curves import Curve
from analysis.curves.equivalence import equivalents_of, targets_of
from analysis.curves.outcomes import ONE_NODE, outcome
from analysis.presentation import formats
from analysis.presentation.blocks import Block, Section, paragraph, section
from analysis.presentation.content import Content
from analysis.presentation.contests import (
    Contest,
    count_interconnects,
    direction,
    fits_one_node,
    nodes_of,
    whole_count,
)
from analysis.presentation.formats import MISSING, counted
from analysis.presentation.labels import Labels
from analysis.presentation.rows import line_table, numbers, texts, with_levels
from analysis.presentation.sentences import counts_of, units_of
from analysis.runs.columns import (
    COUNT,
    FLAG,
    NUMBER,
    PAIR_COLUMNS,
    POSITIVE,
    TEXT,
    THREADS,
    UNIT,
    described,
    table_schema,
    table_schemas,
)
from analysis.runs.frames import (
    BASELINE,
    Line,
    Piece,
    Tables,
    as_float,
    as_lines,
    is_missing,
    rows_like,
    stacked,
    unit_of,
)
from analysis.runs.kinds import side
from analysis.runs.settings import NODES, Settings
from analysis.statistics import Floats
from analysis.statistics.bootstrap import percentile_interval
from analysis.topics.topic import Context, Headline, Page, Topic

NODE_EQUIVALENT = table_schemas(
    table_schema(
        "node_equivalent",
        "One row per comparison and speedup.",
        case=TEXT,
        target_speedup=described(POSITIVE, "Speedup to be reached."),
        **PAIR_COLUMNS,
        baseline_processes=described(POSITIVE, "Count with which the baseline reaches it, in `unit`."),
        equivalent_processes=described(
            POSITIVE,
            "Smallest count that reaches it, in `unit`; `inf` if it is above the peak, empty if it is below "
            "the speedup of the smallest count.",
        ),
        equivalent_low=POSITIVE,
        equivalent_high=POSITIVE,
        processes_saved=described(NUMBER, "`baseline_processes` − `equivalent_processes`."),
        attainable=described(FLAG, "Whether the interconnect reaches the speedup at all."),
        oversubscription=COUNT,
        processes_per_node=POSITIVE,
        **UNIT,
        reversed=described(
            pa.Column(bool, default=False),
            "Whether the roles are exchanged: the study's baseline is faster at its best count, and stands "
            "in `interconnect`.",
        ),
        **THREADS,
    ),
)


NO_NODE = "no whole node"
"""End of a saving of processes that frees no node."""


def make_node_equivalent(context: Context) -> Tables:
    """Make the table ``node_equivalent``: a row for each pair of curves and target."""
    rows = [piece for pairs in context.curves.pairs for piece in equivalent_pieces(pairs, context.settings)]
    return {"node_equivalent": stacked(rows)}


def equivalent_pieces(pairs: Iterable[Pair], settings: Settings) -> Iterator[Piece]:
    """Make the rows of ``node_equivalent`` for pairs of curves and the targets of their baselines.

    If the baseline of a pair is faster at its best count, rows with exchanged roles follow: the baseline's
    equivalents of the other interconnect's counts.
    """
    for baseline, other, kind, is_reversed in _both_directions(pairs):
        targets = targets_of(baseline, settings)
        if len(targets.speedup) and other.uses_somewhere:
            equivalent, draws = equivalents_of(other, targets)
            low, high = percentile_interval(draws, settings.level)
            saved = targets.counts - np.where(np.isinf(equivalent), np.nan, equivalent)
            yield {
                **names_of_pair(baseline, other, kind),
                "target_speedup": targets.speedup,
                "baseline_processes": _cells(targets.counts),
                "equivalent_processes": _cells(equivalent),
                "equivalent_low": _cells(low),
                "equivalent_high": _cells(high),
                "processes_saved": _cells(saved),
                "attainable": equivalent != np.inf,
                "unit": baseline.unit,
                "reversed": is_reversed,
            }


def _both_directions(pairs: Iterable[Pair]) -> Iterator[tuple[Curve, Curve, str, bool]]:
    """Yield each pair, and again with exchanged roles if the baseline is faster at its best count."""
    for baseline, other, kind in pairs:
        yield baseline, other, kind, False
        if baseline.speedup.max() > other.speedup.max():
            yield other, baseline, "/".join(reversed(kind.split("/"))), True


def _cells(counts: Floats) -> Floats:
    """Empty the cells of equivalents below the smallest count, which are -inf."""
    return np.where(np.isneginf(counts), np.nan, counts)


def equivalents_section(content: Content) -> Section | None:
    """Show the processes on one interconnect that reach the speed of another."""
    equivalent, labels = content.tables["node_equivalent"], content.labels
    if equivalent.empty:
        return None
    table = equivalent_table(equivalent, labels)
    verdicts = content.tables["improvement"]["verdict"].map(outcome)
    if verdicts.isin(("not distinguishable", "untestable")).any():
        text = (
            "The table also has equivalents of undecided comparisons. They follow from median times. Their "
            "intervals assume independent runs."
        )
        return section("equivalents", "Node equivalents", [paragraph(text), table])
    return section("equivalents", "Node equivalents", [table])


def equivalent_table(equivalent: pd.DataFrame, labels: Labels) -> Block:
    """Tabulate the node equivalents of each baseline at its highest target."""
    keys = ["case", "baseline_interconnect", "kind", "oversubscription", "processes_per_node"]
    highest = equivalent.groupby(keys, dropna=False)["target_speedup"].transform("max")
    rows = equivalent[equivalent["target_speedup"] == highest]
    nouns = units_of(rows)
    capital = nouns.capitalize()
    fields = [
        texts("Case", labels.case, "case"),
        numbers(labels.speedup.capitalize(), formats.number, "target_speedup"),
        numbers(f"{capital} of the baseline", formats.plain, "baseline_processes"),
        texts(labels.interconnect_head, labels.compared),
        numbers(f"Equivalent {nouns}", equivalent_count),
        numbers(f"{capital} saved", lambda saved: formats.fixed(saved, 1, signed=True), "processes_saved"),
    ]
    caption = (
        f"Number of {nouns} that each {labels.noun} needs for the highest {labels.speedup} of its baseline. "
        "The heading of each group of rows names the baseline. "
        f"Between two counts with runs, Nodeworth interpolates {labels.speedup} linearly. The intervals omit "
        "the error of this interpolation. Where page one names such a number, "
        f"Nodeworth rounds it up to whole {nouns}. File tables/node_equivalent.csv also has these "
        f"numbers for lower values of {labels.speedup}."
    )
    if rows["reversed"].any():
        caption += (
            f" For {labels.noun}s that are slower than their baseline, a second group exchanges the two: the "
            f"slower {labels.noun} is the baseline there."
        )
    if (rows["equivalent_low"].isna() & rows["equivalent_high"].notna()).any():
        caption += (
            f" In brackets, {MISSING} stands for a number below the smallest count with runs. In "
            f"brackets, ∞ means that the {labels.noun} does not reach the speedup."
        )
    if (~rows["attainable"] | rows["equivalent_processes"].isna()).any():
        caption += (
            " “Not attained” means at none of the measured counts. “Not attained” and “below the smallest "
            "count” follow from median times."
        )
    lines = labels.lines(rows, "baseline_interconnect", "oversubscription", "case", "interconnect")
    title = with_levels(equivalent, lambda line: f"Baseline: {labels.baseline(line)}")
    return line_table(caption, fields, lines, title)


def equivalent_count(line: Line) -> str:
    """Write the equivalent processes of a row of ``node_equivalent``, or why there are none."""
    if not line["attainable"]:
        return "not attained"
    count, low, high = (line[f"equivalent_{name}"] for name in ("processes", "low", "high"))
    return "below the smallest count" if is_missing(count) else formats.bracketed(count, low, high)


def headline(page: Page) -> Headline | None:
    """Offer a sentence about the processes and nodes that the better of several interconnects saves."""
    if count_interconnects(page.contests) < 2:
        return None
    return Headline(sentences=[nodes_saved(page.contests, page.content.labels)])


def nodes_saved(contests: Sequence[Contest], labels: Labels) -> str:
    """Say how many whole processes and nodes the better interconnect saves.

    The sentence covers the first contest with a saving, and the contest with the largest saving.
    """
    best = [(line, contest) for contest in contests if (line := best_equivalent(contest)) is not None]
    savings = [(line, contest) for line, contest in best if share_needed(line) < 1]
    if savings:
        first, largest = savings[0], min(savings, key=lambda saving: share_needed(saving[0]))
        shown = [first] if largest is first else [first, largest]
        return " ".join(f"{_saving(line, contest, labels)}." for line, contest in shown)
    if best:
        return f"Nodes saved: none. No {labels.noun} needs fewer processes than its baseline at equal speed."
    return f"Nodes saved: unknown. {_why_unknown(contests, labels)}."


def best_equivalent(contest: Contest) -> Line | None:
    """Return the row of ``node_equivalent`` that needs the smallest share of its baseline's count.

    Rows with an interval take precedence over rows that rest on single runs.
    """
    return min(
        _attained(contest.equivalent),
        key=lambda line: (
            is_missing(line["equivalent_low"]),
            share_needed(line),
            line["equivalent_processes"],
        ),
        default=None,
    )


def share_needed(line: Line) -> float:
    """Return the whole processes that an interconnect needs, over the processes of its baseline."""
    return float(whole_count(line["equivalent_processes"]) / line["baseline_processes"])


def _attained(equivalent: pd.DataFrame) -> Sequence[Line]:
    """Return the rows of ``node_equivalent`` that have a process count."""
    return as_lines(equivalent[equivalent["attainable"] & equivalent["equivalent_processes"].notna()])


def _why_unknown(contests: Sequence[Contest], labels: Labels) -> str:
    """Say why no interconnect has a node equivalent of its baseline's best."""
    lines = [line for contest in contests for line in as_lines(contest.improvement)]
    faster = [line for line in lines if direction(line) == "faster"]
    if any(line["baseline_peak_processes"] > 1 for line in faster):
        return f"The faster {labels.noun} exceeds the baseline's highest speed at its smallest count already"
    if faster:
        return "The baseline is fastest on one process"
    if lines and all(is_missing(line["improvement_percent"]) for line in lines):
        at_best = any(str(line["note"]).endswith(ONE_NODE) for line in lines)
        place = " at the best count of their baseline" if at_best else ""
        return f"No {labels.noun}s are compared{place}"
    return f"No {labels.noun} is clearly faster than its baseline at the count where the baseline is fastest"


def _saving(line: Line, contest: Contest, labels: Labels) -> str:
    """Say what a row of ``node_equivalent`` saves, without the last full stop.

    If fewer processes of the baseline are nearly as fast, a sentence states the saving against these.
    """
    curve = ["interconnect", "kind", "processes_per_node"]
    baseline = {**line, "interconnect": line["baseline_interconnect"], "kind": side(line["kind"], 0)}
    baseline_rows = rows_like(contest.scaling, baseline, curve)
    rows = rows_like(contest.scaling, {**line, "kind": side(line["kind"], 1)}, curve)
    needed = _needed(line, rows)
    matched = _with_nodes(int(line["baseline_processes"]), baseline_rows)
    saved = _saved(line, baseline_rows, rows)
    if fits_one_node(line, contest):
        return (
            f"Nodes saved in {labels.case(contest.case)}: unknown. {labels.compared(line)} with {needed} is "
            f"as fast as {labels.baseline(line)} with {matched}. On one node, no message uses the "
            "interconnect"
        )
    unit = "Processes" if saved.endswith(NO_NODE) else "Nodes"
    text = (
        f"{unit} saved in {labels.case(contest.case)}: {labels.compared(line)} with {needed} is as fast as "
        f"{labels.baseline(line)} with {matched}. "
        f"{labels.compared(line)} saves {saved}"
    )
    peaks = as_lines(rows_like(contest.peaks, baseline, curve))
    nearly = contest.nearly_best(peaks[0]) if peaks else None
    if nearly is None:
        return text
    keys = [*BASELINE, "interconnect", "baseline_processes"]
    at_nearly = rows_like(contest.targets, {**line, "baseline_processes": nearly[contest.unit]}, keys)
    attained = _attained(at_nearly)
    less = formats.percent(100 * (1 - nearly["speedup"] / peaks[0]["peak_speedup"]))
    if not attained:
        return text
    smaller = f"{labels.baseline(line)} with {counts_of(contest.unit, nearly[contest.unit])}"
    needed = _needed(attained[0], rows)
    return (
        f"{text}. The {labels.speedup} of {smaller} is only {less} below the highest {labels.speedup} of "
        f"{labels.baseline(line)}. {labels.compared(line)} with {needed} is as fast as {smaller} and saves "
        f"{_saved(attained[0], baseline_rows, rows)}"
    )


def _needed(line: Line, rows: pd.DataFrame) -> str:
    """Write the equivalent of a row, ``about`` it if no run of the curve in `rows` has this count."""
    count = whole_count(line["equivalent_processes"])
    about = "" if rows[unit_of(rows)].eq(count).any() else "about "
    return f"{about}{_with_nodes(count, rows)}"


def _with_nodes(count: int, rows: pd.DataFrame) -> str:
    """Write a count of the curve in `rows`, with the nodes of processes if they are known."""
    nodes = nodes_of(rows, count)
    text = counts_of(unit_of(rows), count)
    return text if nodes is None else f"{text} on {counted(nodes, 'node')}"


def _saved(line: Line, baseline_rows: pd.DataFrame, rows: pd.DataFrame) -> str:
    """Write the processes and nodes that a row of ``node_equivalent`` saves, with their ranges."""
    baseline_count, count = int(line["baseline_processes"]), whole_count(line["equivalent_processes"])
    if count >= baseline_count:
        return "nothing"
    ends = [as_float(line[f"equivalent_{end}"]) for end in ("high", "low")]
    counts = [count, *(map(whole_count, ends) if np.isfinite(ends).all() else ())]
    noun = "node" if line["unit"] == NODES else "process"
    saved = _with_range([baseline_count - needed for needed in counts], noun)
    baseline_nodes = nodes_of(baseline_rows, baseline_count)
    nodes = [node for needed in counts if (node := nodes_of(rows, needed)) is not None]
    if baseline_nodes is None or len(nodes) < len(counts):
        return saved
    saved_nodes = [baseline_nodes - needed for needed in nodes]
    return (
        f"{saved} and {_with_range(saved_nodes, 'node')}" if any(saved_nodes) else f"{saved}, but {NO_NODE}"
    )


def _with_range(counts: Sequence[int], noun: str) -> str:
    """Write the first of `counts` with its noun, and the others as its range."""
    ends = f" [{', '.join(map(formats.whole, counts[1:]))}]" if len(counts) > 1 else ""
    return counted(counts[0], noun).replace(formats.SPACE, f"{ends}{formats.SPACE}")


TOPIC = Topic(
    name="equivalents",
    schemas=NODE_EQUIVALENT,
    make=make_node_equivalent,
    by_site=True,
    always=("node_equivalent",),
    directions=("node_equivalent",),
    section=equivalents_section,
    headline=headline,
)
