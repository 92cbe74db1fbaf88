"""Tables of numbers as a report prints them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import pandas as pd

from analysis.presentation import formats
from analysis.presentation import sentences as sentences
from analysis.presentation.blocks import Block, Row, left, lines_of, right, row, table
from analysis.presentation.derived_coverage import OF_SPEEDUPS, has_several
from analysis.presentation.formats import MISSING
from analysis.presentation.labels import Labels
from analysis.presentation.rows import in_percent, line_table, numbers, texts, with_levels
from analysis.runs.frames import Line, as_float, interval, is_missing, percent_interval, rows_like

CASES_ACROSS, COUNTS_ACROSS = 6, 16
"""The most columns of a table that fit on a page beside the names."""

MOST_ROWS = 120
CAPTION_LINES = 6
"""Lines of a table that its caption and its head are worth."""
PERCENT = 100

_Column = TypeVar("_Column")


def scaling_tables(case: str, scaling: pd.DataFrame, labels: Labels, room: int) -> list[Block]:
    """Print the rows of a case: all, or times and speedups, or speedups, as many as fit in `room` lines.

    All that are not printed are on the screen, up to `MOST_ROWS`.
    """
    joined = scaling[~scaling["serial"]]
    full = _full_table(case, scaling, labels)
    if lines_of(full) <= room:
        return [full]
    written = "Intervals and all other columns are in tables/scaling.csv."
    times = _by_count(case, joined, labels, "seconds", f"median time per run in seconds. {written}")
    speedups = _by_count(case, joined, labels, "speedup", f"{labels.speedup}. {written}")
    height = sum(lines_of(block) + CAPTION_LINES for block in times + speedups)
    short = times + speedups if height <= room else speedups
    return [*short, {**full, "printed": False}] if lines_of(full) <= MOST_ROWS else short


def _full_table(case: str, scaling: pd.DataFrame, labels: Labels) -> Block:
    several = scaling["oversubscription"].nunique() > 1
    nodes, sites = (scaling[name].nunique() > 1 for name in ("nodes", "site"))

    def title(line: Line) -> str:
        if line["serial"]:
            return labels.interconnect(None) + (f" ({line['site']})" if sites else "")
        return labels.curve(line, several)

    intervals = labels.intervals(scaling, times=True)
    caption = f"{labels.case(case)}: {labels.times(scaling)}, with {intervals} in brackets."
    if scaling["speedup_low"].isna().all():
        of_times = "one sample each, without intervals"
        if has_several(scaling["n"]):
            of_times = f"{labels.times(scaling)}, with intervals of the times in brackets; {OF_SPEEDUPS}"
        caption = f"{labels.case(case)}: {of_times}."
    rate = []
    if (power := _power(scaling["rate"])) is not None:
        unit = next(iter(scaling["rate_unit"].dropna()), "units of work")
        caption += f" Rate: {f'{_ten_to(power)} {unit}'.strip()} a second."
        head = f"Rate ({_ten_to(power) or 1}/s)"
        rate = [numbers(head, lambda rate: formats.number(as_float(rate) / 10**power), "rate")]
    fields = [
        numbers("Processes", formats.whole, "processes"),
        numbers("Cores", formats.whole, "cores"),
        *[numbers("Nodes", formats.whole, "nodes")] * nodes,
        numbers("Blocks", formats.whole, "n"),
        numbers("Time (s)", lambda line: formats.bracketed(*interval(line, "seconds"))),
        numbers(labels.speedup.capitalize(), _speedup),
        numbers("Efficiency (%)", _efficiency),
        numbers("Incremental efficiency (%)", _of_parallel(PERCENT), "serial", "incremental_efficiency"),
        *[numbers("Serial fraction", _of_parallel(1), "serial", "serial_fraction")] * (not labels.weak),
        numbers("Runs/day", formats.number, "runs_per_day"),
        *rate,
    ]
    serial = scaling[scaling["serial"]].drop_duplicates(["site", "seconds"]).assign(interconnect=None)
    points = labels.lines(scaling[~scaling["serial"]], "oversubscription", "interconnect", "processes")
    return line_table(caption, fields, [*serial.to_dict("records"), *points], title, case)


def _speedup(line: Line) -> str:
    return "1" if line["serial"] else formats.bracketed(*interval(line, "speedup"))


def _efficiency(line: Line) -> str:
    ends = (end * PERCENT for end in interval(line, "efficiency"))
    return "100" if line["serial"] else formats.bracketed(*ends)


def _of_parallel(factor: float) -> Callable[[bool, float], str]:
    """Write a number that a serial run has not."""
    return lambda serial, value: MISSING if serial else formats.number(as_float(value) * factor)


def _power(rates: pd.Series) -> int | None:
    """Multiple of 3 to whose power of ten the median of `rates` has up to three digits; None of nothing."""
    middle = rates.median()
    return None if is_missing(middle) else 3 * math.floor(math.log10(middle) / 3)


def _ten_to(power: int) -> str:
    """Write a power of ten; nothing for 1."""
    return f"10{str(power).translate(formats.SUPERSCRIPT)}" if power else ""


def _by_count(case: str, rows: pd.DataFrame, labels: Labels, quantity: str, caption: str) -> list[Block]:
    several = rows["oversubscription"].nunique() > 1
    keys = ["oversubscription", "interconnect", "kind", "processes_per_node"]
    blocks = []
    parts = list(_side_by_side(sorted(int(count) for count in rows["processes"].unique()), COUNTS_ACROSS))
    for counts in parts:
        groups: dict[str, list[Row]] = {}
        for line in labels.lines(rows.drop_duplicates(keys), "oversubscription", "interconnect"):
            found = rows_like(rows, line, keys).set_index("processes")[quantity]
            if found.index.intersection(counts).empty:
                continue
            cells = [formats.number(found[count]) if count in found.index else MISSING for count in counts]
            title = f"Oversubscription {line['oversubscription']}" if several else ""
            groups.setdefault(title, []).append(row([labels.curve(line), *cells], case, line["interconnect"]))
        columns = [*left("Processes"), *right(*map(str, counts))]
        of = f" on {counts[0]} to {counts[-1]} processes" if len(parts) > 1 else ""
        blocks.append(table(f"{labels.case(case)}{of}: {caption}", columns, groups, case))
    return blocks


def _side_by_side(columns: Sequence[_Column], most: int) -> Iterator[Sequence[_Column]]:
    """Deal columns to as few tables as hold `most` each at most, about as many to each."""
    tables = -(-len(columns) // most)
    across = -(-len(columns) // tables) if tables else 1
    return (columns[start : start + across] for start in range(0, len(columns), across))


def reference_table(scaling: pd.DataFrame, labels: Labels) -> Block:
    """Print the time that the speedups of each case and kind refer to."""
    lines = []
    keys = ["site", "reference_interconnect", "reference_processes", "reference_seconds"]
    for case, rows in labels.by_case(scaling):
        for (site, name, count, seconds), group in rows.groupby(keys, dropna=False, sort=False):
            kinds = list(dict.fromkeys(group["kind"]))
            what = labels.interconnect(name, None if is_missing(name) else kinds[0])
            what += f" ({site})" if is_missing(name) and not is_missing(site) else ""
            numbers = [formats.whole(count), formats.number(seconds)]
            lines.append(row([labels.case(case), formats.listed(kinds), what, *numbers], case))
    columns = [*left("Case", "Kinds", "Reference"), *right("Processes", "Time (s)")]
    return table("What speedup refers to.", columns, {"": lines})


def peak_tables(peaks: pd.DataFrame, labels: Labels) -> list[Block]:
    """Print the highest speedup of every interconnect, one column per case."""
    cases = labels.sorted_cases(peaks["case"])
    several = peaks["oversubscription"].nunique() > 1
    keys = ["oversubscription", "interconnect", "kind", "processes_per_node"]
    blocks = []
    for chunk in _side_by_side(cases, CASES_ACROSS):
        groups: dict[str, list[Row]] = {}
        for line in labels.lines(peaks.drop_duplicates(keys), "oversubscription", "interconnect"):
            found = {found["case"]: found for found in rows_like(peaks, line, keys).to_dict("records")}
            cells = [_peak(found[case]) if case in found else MISSING for case in chunk]
            title = f"Oversubscription {line['oversubscription']}" if several else ""
            name = labels.curve(line)
            groups.setdefault(title, []).append(row([name, *cells], "", line["interconnect"]))
        columns = [*left("Interconnect"), *right(*map(labels.case, chunk))]
        highest = f"Highest {labels.speedup} and its process count"
        caption = f"{highest}; ↑ where the peak is not reached or may lie beyond."
        blocks.append(table(caption, columns, groups))
    return blocks


def _peak(line: Line) -> str:
    beyond = "" if line["reached"] else f"{formats.THIN}↑"
    return f"{formats.number(line['peak_speedup'])} at {formats.whole(line['peak_processes'])}{beyond}"


def improvement_table(improvement: pd.DataFrame, labels: Labels) -> Block:
    """Print every comparison that could be made with its interval, its test and what it says."""
    at_once = bool(improvement[["simultaneous_low", "simultaneous_high"]].notna().any(axis=None))
    same_computing = bool(improvement["improvement_same_computing_low"].notna().any())
    fields = [
        texts("Case", labels.case, "case"),
        texts("Interconnect", labels.compared),
        numbers("Processes", _counts, "at_processes", "at_processes_other"),
        numbers("Improvement (%)", _improvement),
        *[numbers("With the same computing (%)", _ends("improvement_same_computing"))] * same_computing,
        *[numbers("All at once (%)", _ends("simultaneous"))] * at_once,
        numbers("Average (%)", in_percent("average")),
        numbers("p", p_value, "p_adjusted"),
        texts("Outcome", _verdict),
    ]
    caption = (
        "Improvement over the baseline at its peak (or the nearest common count; where it is fastest on one "
        "process, at the other's best), and the geometric mean over the common counts from 2 up to it"
    )
    if improvement["improvement_low"].notna().any():
        caption += f", with {labels.intervals(improvement)}"
    if improvement["p_adjusted"].notna().any():
        caption += "; p after Holm's correction"
    caption += "; intervals in All at once hold together" * at_once
    caption += "; with the same computing, the band if computing takes as long over both" * same_computing
    keys = ["baseline_interconnect", "oversubscription", "case", "interconnect"]
    lines = labels.lines(improvement[improvement["improvement_percent"].notna()], *keys)
    return line_table(f"{caption}.", fields, lines, _of_baseline("Over", improvement, labels))


def _of_baseline(word: str, rows: pd.DataFrame, labels: Labels) -> Callable[[Line], str]:
    """Write the baseline above its rows."""
    return with_levels(rows, lambda line: f"{word} {labels.baseline(line)}")


MEANS = {"geometric": "Geometric", "plain": "Plain", "weighted": "By the weights of the mix"}
"""Means over cases, as a row begins."""


def improvement_mean_table(means: pd.DataFrame, labels: Labels) -> Block:
    """Print the mean improvement over the cases, and what its interval means."""
    fields = [
        texts("Interconnect", labels.compared),
        texts("Mean", MEANS.get, "mean"),
        numbers("Cases", formats.whole, "cases"),
        numbers("Improvement (%)", in_percent("improvement")),
        numbers("Average (%)", in_percent("average")),
    ]
    caption = "Mean over the cases of the table above: of the ratios (geometric), of the percentages (plain)."
    if means["improvement_low"].notna().any():
        caption += (
            f" Brackets hold {labels.confidence} intervals of Student's t over the cases: they are about "
            "cases like these, as if these had been drawn from them, and wide where cases are few."
        )
    if means["cases"].lt(3).any():
        caption += " Fewer than three cases say nothing of others: no interval."
    lines = labels.lines(means, "baseline_interconnect", "oversubscription", "interconnect")
    return line_table(caption, fields, lines, _of_baseline("Over", means, labels), of_cases=False)


def _improvement(line: Line) -> str:
    """Write an improvement with its interval, with words where stopped runs make it a bound."""
    return sentences.bound(line["note"]) + formats.bracketed_percent(*percent_interval(line, "improvement"))


def _ends(name: str) -> Callable[[Line], str]:
    """Write an interval of the improvement that has columns of its own."""

    def written(line: Line) -> str:
        places = formats.percent_places(line["improvement_percent"])
        return formats.ends(line[f"{name}_low"], line[f"{name}_high"], places, signed=True).strip() or MISSING

    return written


def oversubscription_table(oversubscription: pd.DataFrame, labels: Labels) -> Block:
    """Print the gain of every level over one process per core at equal cores."""
    rows, caption = oversubscription, "Gain of more processes per core over one, at equal cores."
    if len(rows) > MOST_ROWS:
        rows = rows[rows["cores"] == rows.groupby("case")["cores"].transform("max")]
        caption += " Shown is the largest core count; the others are in tables/oversubscription.csv."
    fields = [
        texts("Interconnect", labels.curve),
        numbers("Cores", formats.whole, "cores"),
        numbers("Processes", formats.whole, "processes"),
        numbers("Time at one per core (s)", formats.number, "seconds_of_one"),
        numbers("Time (s)", formats.number, "seconds"),
        numbers("Gain (%)", in_percent("gain")),
        numbers("p", p_value, "p_adjusted"),
        texts("Outcome", _verdict),
    ]
    lines = labels.lines(rows, "case", "cores", "oversubscription", "interconnect")
    return line_table(caption, fields, lines, lambda line: labels.case(line["case"]))


def equivalent_table(equivalent: pd.DataFrame, labels: Labels) -> Block:
    """Print how many processes of each interconnect are worth the baseline at its highest target."""
    keys = ["case", "baseline_interconnect", "kind", "oversubscription", "processes_per_node"]
    highest = equivalent.groupby(keys, dropna=False)["target_speedup"].transform("max")
    rows = equivalent[equivalent["target_speedup"] == highest]
    fields = [
        texts("Case", labels.case, "case"),
        numbers(labels.speedup.capitalize(), formats.number, "target_speedup"),
        numbers("Processes of the baseline", formats.plain, "baseline_processes"),
        texts("Interconnect", labels.compared),
        numbers("Equivalent processes", equivalent_count),
        numbers("Processes saved", lambda saved: formats.fixed(saved, 1, signed=True), "processes_saved"),
    ]
    caption = (
        f"Processes at which each interconnect reaches the {labels.speedup} of the baseline at its peak, "
        "interpolated between counts that were run. All other targets are in tables/node_equivalent.csv."
    )
    if (rows["equivalent_low"].isna() & rows["equivalent_high"].notna()).any():
        caption += (
            f" {formats.MISSING} in brackets: an end below the smallest count; ∞: one that is not reached."
        )
    lines = labels.lines(rows, "baseline_interconnect", "oversubscription", "case", "interconnect")
    return line_table(caption, fields, lines, _of_baseline("Worth of", equivalent, labels))


def equivalent_count(line: Line) -> str:
    """Write the equivalent processes of a row of the node equivalents, or why there are none."""
    ends = (line["equivalent_processes"], line["equivalent_low"], line["equivalent_high"])
    if not line["attainable"]:
        return "not attained"
    return "below the smallest count" if is_missing(ends[0]) else formats.bracketed(*ends)


def p_value(value: float) -> str:
    """Write a p-value of a column that is named p."""
    return formats.p_value(value, symbol=False)


def _counts(count: float, other: float) -> str:
    """Write the process count of a comparison, or both."""
    own = formats.whole(other)
    return own if is_missing(count) or count == other else f"{own} against {formats.whole(count)}"


def _verdict(line: Line) -> str:
    """Write the outcome of a comparison."""
    verdict = "no test" if is_missing(line["verdict"]) else str(line["verdict"])
    unpaired = not line.get("paired", True) and not is_missing(line["p_adjusted"])
    return verdict + ", unpaired" * unpaired


GAIN = [
    numbers("Gain (%)", in_percent("gain")),
    numbers("p", p_value, "p_adjusted"),
    texts("Outcome", lambda verdict, paired: verdict + ", unpaired" * (not paired), "verdict", "paired"),
]
"""Columns of a gain at equal cores or processes."""
