"""Tables of numbers as a report prints them."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any, NamedTuple

import pandas as pd

from analysis.estimates.outcomes import is_shared, outcome
from analysis.report.blocks import Block, Row, left, right, row, table
from analysis.runs.kinds import side
from analysis.tables.missing import Line, as_float, interval, is_missing, percent_interval
from analysis.tables.selection import alike
from analysis.text import formats
from analysis.text.formats import MISSING
from analysis.text.labels import Labels

CASES_ACROSS = 6
MOST_ROWS = 120
PERCENT = 100


def scaling_tables(case: str, scaling: pd.DataFrame, labels: Labels, room: int) -> list[Block]:
    """Print the rows of a case: all, or times and speedups, or speedups, as many as fit in `room` lines."""
    joined = scaling[~scaling["serial"]]
    full = _full_table(case, scaling, labels)
    if _lines(full) <= room:
        return [full]
    written = "Intervals and all other columns are in tables/scaling.csv."
    times = _by_count(case, joined, labels, "seconds", f"median time per run in seconds. {written}")
    speedups = _by_count(case, joined, labels, "speedup", f"{labels.speedup}. {written}")
    return [times, speedups] if _lines(times) + _lines(speedups) + 3 <= room else [speedups]


def _lines(block: Block) -> int:
    return sum(len(group["rows"]) + bool(group["title"]) for group in block["groups"])


def _full_table(case: str, scaling: pd.DataFrame, labels: Labels) -> Block:
    several = scaling["oversubscription"].nunique() > 1
    nodes, sites = (scaling[name].nunique() > 1 for name in ("nodes", "site"))
    shown = Shown(nodes, not labels.weak, _power(scaling["rate"]))
    groups: dict[str, list[Row]] = {}
    for line in _serial(scaling):
        site = f" ({line['site']})" if sites else ""
        title = f"{labels.interconnect(None)}{site}"
        groups.setdefault(title, []).append(_numbers(case, line, shown, owner=None))
    joined = scaling[~scaling["serial"]]
    for line in _ordered(joined, labels, "oversubscription", "interconnect", "processes"):
        title = labels.curve(line, several)
        groups.setdefault(title, []).append(_numbers(case, line, shown, line["interconnect"]))
    columns = [
        *right("Processes", "Cores"),
        *right("Nodes") * nodes,
        *right(
            "Blocks", "Time (s)", labels.speedup.capitalize(), "Efficiency (%)", "Incremental efficiency (%)"
        ),
        *right("Serial fraction") * shown.serial_fraction,
        *right("Runs/day"),
        *([] if shown.rate is None else right(f"Rate ({_ten_to(shown.rate) or 1}/s)")),
    ]
    intervals = labels.intervals(scaling, times=True)
    caption = f"{labels.case(case)}: {labels.times(scaling)}, with {intervals} in brackets."
    if scaling["speedup_low"].isna().all():
        caption = f"{labels.case(case)}: one sample each, without intervals."
    if shown.rate is not None:
        unit = next(iter(scaling["rate_unit"].dropna()), "units of work")
        caption += f" Rate: {f'{_ten_to(shown.rate)} {unit}'.strip()} a second."
    return table(caption, columns, groups, case)


class Shown(NamedTuple):
    """Columns of a case's table that only some studies have; `rate` is its power of ten."""

    nodes: bool
    serial_fraction: bool
    rate: int | None


def _power(rates: pd.Series) -> int | None:
    """Multiple of 3 to whose power of ten the median of `rates` has up to three digits; None of nothing."""
    middle = rates.median()
    return None if is_missing(middle) else 3 * math.floor(math.log10(middle) / 3)


def _ten_to(power: int) -> str:
    """Write a power of ten; nothing for 1."""
    return f"10{str(power).translate(formats.SUPERSCRIPT)}" if power else ""


def _numbers(case: str, line: Line, shown: Shown, owner: object) -> Row:
    def cell(name: str, factor: float = 1) -> str:
        return formats.bracketed(*(end * factor for end in interval(line, name)))

    serial = bool(line["serial"])
    cells = [
        formats.whole(line["processes"]),
        formats.whole(line["cores"]),
        *[formats.whole(line["nodes"])] * shown.nodes,
        formats.whole(line["n"]),
        cell("seconds"),
        "1" if serial else cell("speedup"),
        "100" if serial else cell("efficiency", PERCENT),
        MISSING if serial else formats.number(as_float(line["incremental_efficiency"]) * PERCENT),
        *[MISSING if serial else formats.number(line["serial_fraction"])] * shown.serial_fraction,
        formats.number(line["runs_per_day"]),
        *([] if shown.rate is None else [formats.number(as_float(line["rate"]) / 10**shown.rate)]),
    ]
    return row(cells, case, owner)


def _by_count(case: str, rows: pd.DataFrame, labels: Labels, quantity: str, caption: str) -> Block:
    counts = sorted(int(count) for count in rows["processes"].unique())
    groups: dict[str, list[Row]] = {}
    several = rows["oversubscription"].nunique() > 1
    keys = ["oversubscription", "interconnect", "kind", "processes_per_node"]
    for line in _ordered(rows.drop_duplicates(keys), labels, "oversubscription", "interconnect"):
        found = alike(rows, line, keys).set_index("processes")[quantity]
        cells = [formats.number(found[count]) if count in found.index else MISSING for count in counts]
        title = f"Oversubscription {line['oversubscription']}" if several else ""
        name = labels.curve(line)
        groups.setdefault(title, []).append(row([name, *cells], case, line["interconnect"]))
    columns = [*left("Processes"), *right(*map(str, counts))]
    return table(f"{labels.case(case)}: {caption}", columns, groups, case)


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
    across = -(-len(cases) // -(-len(cases) // CASES_ACROSS))
    for start in range(0, len(cases), across):
        chunk = cases[start : start + across]
        groups: dict[str, list[Row]] = {}
        for line in _ordered(peaks.drop_duplicates(keys), labels, "oversubscription", "interconnect"):
            found = {found["case"]: found for found in alike(peaks, line, keys).to_dict("records")}
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
    groups: dict[str, list[Row]] = {}
    several = improvement["oversubscription"].nunique() > 1
    keys = ["baseline_interconnect", "oversubscription", "case", "interconnect"]
    compared = improvement["improvement_percent"].notna() & ~is_shared(improvement)
    for line in _ordered(improvement[compared], labels, *keys):
        cells = [
            labels.case(line["case"]),
            labels.compared(line),
            formats.whole(line["at_processes"]),
            *_percentages(line, "improvement", "average"),
            *_verdict(line, "improvement"),
        ]
        title = f"Over {_baseline(line, labels, several)}"
        groups.setdefault(title, []).append(row(cells, line["case"], line["interconnect"]))
    columns = [
        *left("Case", "Interconnect"),
        *right("Processes", "Improvement (%)", "Average (%)", "p"),
        *left("Outcome"),
    ]
    caption = (
        "Improvement over the baseline at its peak (or the nearest common count below), and the average over "
        "the common counts up to it"
    )
    if improvement["improvement_low"].notna().any():
        caption += f", with {labels.intervals(improvement)}"
    if improvement["p_adjusted"].notna().any():
        caption += "; p after Holm's correction"
    caption += "."
    return table(caption, columns, groups)


def oversubscription_table(oversubscription: pd.DataFrame, labels: Labels) -> Block:
    """Print the gain of every level over one process per core at equal cores."""
    rows, caption = oversubscription, "Gain of more processes per core over one, at equal cores."
    if len(rows) > MOST_ROWS:
        rows = rows[rows["cores"] == rows.groupby("case")["cores"].transform("max")]
        caption += " Shown is the largest core count; the others are in tables/oversubscription.csv."
    groups: dict[str, list[Row]] = {}
    for line in _ordered(rows, labels, "case", "cores", "oversubscription", "interconnect"):
        cells = [
            labels.curve(line),
            formats.whole(line["cores"]),
            formats.whole(line["processes"]),
            formats.number(line["seconds_of_one"]),
            formats.number(line["seconds"]),
            *_percentages(line, "gain"),
            *_verdict(line, "gain"),
        ]
        groups.setdefault(labels.case(line["case"]), []).append(
            row(cells, line["case"], line["interconnect"])
        )
    columns = [
        *left("Interconnect"),
        *right("Cores", "Processes", "Time at one per core (s)", "Time (s)", "Gain (%)", "p"),
        *left("Outcome"),
    ]
    return table(caption, columns, groups)


def equivalent_table(equivalent: pd.DataFrame, labels: Labels) -> Block:
    """Print how many processes of each interconnect are worth the baseline at its highest target."""
    keys = ["case", "baseline_interconnect", "kind", "oversubscription", "processes_per_node"]
    highest = equivalent.groupby(keys, dropna=False)["target_speedup"].transform("max")
    groups: dict[str, list[Row]] = {}
    several = equivalent["oversubscription"].nunique() > 1
    rows = equivalent[equivalent["target_speedup"] == highest]
    for line in _ordered(rows, labels, "baseline_interconnect", "oversubscription", "case", "interconnect"):
        cells = [
            labels.case(line["case"]),
            formats.number(line["target_speedup"]),
            formats.plain(line["baseline_processes"]),
            labels.compared(line),
            equivalent_count(line),
            formats.fixed(line["processes_saved"], 1, signed=True),
        ]
        title = f"Worth of {_baseline(line, labels, several)}"
        groups.setdefault(title, []).append(row(cells, line["case"], line["interconnect"]))
    columns = [
        *left("Case"),
        *right(labels.speedup.capitalize(), "Processes of the baseline"),
        *left("Interconnect"),
        *right("Equivalent processes", "Processes saved"),
    ]
    caption = (
        f"Processes at which each interconnect reaches the {labels.speedup} of the baseline at its peak, "
        "interpolated between counts that were run. All other targets are in tables/node_equivalent.csv."
    )
    return table(caption, columns, groups)


def equivalent_count(line: Line) -> str:
    """Write the equivalent processes of a row of the node equivalents, or why there are none."""
    ends = (line["equivalent_processes"], line["equivalent_low"], line["equivalent_high"])
    if not line["attainable"]:
        return "not attained"
    return "below the smallest count" if is_missing(ends[0]) else formats.bracketed(*ends)


def _baseline(line: Line, labels: Labels, several: bool) -> str:
    name = labels.placed(line["baseline_interconnect"], side(line["kind"], 0), line["processes_per_node"])
    return f"{name}, oversubscription {line['oversubscription']}" if several else name


def _percentages(line: Line, *quantities: str) -> list[str]:
    return [formats.bracketed_percent(*percent_interval(line, quantity)) for quantity in quantities]


def _verdict(line: Line, quantity: str) -> list[str]:
    """Give the p-value and the outcome of a comparison."""
    if is_missing(line["p_adjusted"]):
        note = line.get("note")
        return [MISSING, "no test" if is_missing(note) else str(note)]
    word = outcome(line, quantity)
    p_value = formats.p_value(line["p_adjusted"], symbol=False)
    return [p_value, word if line.get("paired", True) else f"{word}, unpaired"]


def _serial(scaling: pd.DataFrame) -> list[Line]:
    return scaling[scaling["serial"]].drop_duplicates(["site", "seconds"]).to_dict("records")


def _ordered(rows: pd.DataFrame, labels: Labels, *keys: str) -> list[dict[Hashable, Any]]:
    return labels.in_order(rows, *keys).to_dict("records")
