"""Tables of the times and speedups of a case, as a report prints them."""

from __future__ import annotations

import math
from collections.abc import Callable

import pandas as pd

from analysis.presentation import formats
from analysis.presentation.blocks import Block, Row, left, lines_of, on_screen, right, row, table
from analysis.presentation.formats import MISSING
from analysis.presentation.labels import Labels
from analysis.presentation.rows import MOST_ROWS, Field, line_table, numbers, side_by_side
from analysis.presentation.sentences import OF_SPEEDUPS, has_several
from analysis.runs.frames import Line, as_float, as_lines, interval, is_missing, rows_like
from analysis.runs.settings import NODES

MOST_COUNTS = 16
"""Process counts that fit on a page as columns."""
CAPTION_ROWS = 6
"""Height of a caption and a table head, in table rows."""
PERCENT = 100
NS_PER_DAY = 86.4
"""1 ps of simulated time per second in ns/day, in which molecular dynamics states its speed."""

CELL_ITERATION = (
    "A cell iteration is one time step of one cell. A steady solver has iterations instead of time steps."
)


def scaling_tables(
    case: str, scaling: pd.DataFrame, labels: Labels, room: int, has_blocks: bool = True
) -> list[Block]:
    """Tabulate the points of a case in at most `room` table rows.

    If the full table does not fit, times and speedups by process count are printed, or only speedups. Then
    the HTML report shows the full table, up to `MOST_ROWS` rows.
    """
    full = _full_table(case, scaling, labels, has_blocks)
    if lines_of(full) <= room:
        return [full]
    points = scaling[~scaling["serial"]]
    elsewhere = "File tables/scaling.csv has the intervals and all other quantities."
    times = _tables_by_count(case, points, labels, "seconds", "median time per run in seconds", elsewhere)
    speedups = _tables_by_count(case, points, labels, "speedup", labels.speedup, elsewhere)
    height = sum(lines_of(block) + CAPTION_ROWS for block in times + speedups)
    printed = times + speedups if height <= room else speedups
    return [*printed, on_screen(full)] if lines_of(full) <= MOST_ROWS else printed


def _full_table(case: str, scaling: pd.DataFrame, labels: Labels, has_blocks: bool) -> Block:
    """Tabulate all points of a case with their times, speedups and efficiencies."""
    several_levels, several_nodes, several_sites = (
        scaling[name].nunique() > 1 for name in ("oversubscription", "nodes", "site")
    )

    def title(line: Line) -> str:
        if line["serial"]:
            return labels.interconnect(None) + (f" ({line['site']})" if several_sites else "")
        return labels.curve(line, several_levels)

    rate_field, rate_note = _rates(scaling)
    has_whole_runs = bool(scaling["kind"].ne("published").any())  # published times may cover a part of a run
    fields = [
        numbers("Processes", formats.whole, "processes"),
        numbers("Cores", formats.whole, "cores"),
        *([numbers("Nodes", formats.whole, "nodes")] if several_nodes else []),
        numbers("Blocks" if has_blocks else "Runs", formats.whole, "n"),
        numbers("Time (s)", lambda line: formats.bracketed(*interval(line, "seconds"))),
        numbers(labels.speedup.capitalize(), _speedup),
        numbers("Efficiency (%)", _efficiency),
        numbers("Incremental efficiency (%)", _unless_serial(PERCENT), "serial", "incremental_efficiency"),
        *(
            []
            if labels.weak
            else [numbers("Serial fraction", _unless_serial(1), "serial", "serial_fraction")]
        ),
        *([numbers("Runs/day", formats.number, "runs_per_day")] if has_whole_runs else []),
        *rate_field,
    ]
    serial = scaling[scaling["serial"]].drop_duplicates(["site", "seconds"]).assign(interconnect=None)
    points = labels.lines(scaling[~scaling["serial"]], "oversubscription", "interconnect", "processes")
    caption = f"{labels.case(case)}: {_contents(scaling, labels)}{rate_note}"
    if (scaling["unit"] == NODES).any():
        caption += " Efficiency is speedup × nodes of the reference run / nodes."
    if has_whole_runs:
        caption += " Column “Runs/day” is 86,400 s divided by this time, without start-up."
    return line_table(caption, fields, [*as_lines(serial), *points], title, case)


def _rates(scaling: pd.DataFrame) -> tuple[list[Field], str]:
    """Make the column of rates, and the sentence on its unit; both are empty without a rate."""
    power = _power_of_thousand(scaling["rate"])
    if power is None:
        return [], ""
    unit = next(iter(scaling["rate_unit"].dropna()), "units of work")
    if unit == "ps of simulated time":
        return [numbers("ns/day", lambda rate: formats.number(as_float(rate) * NS_PER_DAY), "rate")], ""
    factor = f"10{str(power).translate(formats.SUPERSCRIPT)}" if power else ""
    field = numbers(
        f"Rate ({factor or 1}/s)", lambda rate: formats.number(as_float(rate) / 10**power), "rate"
    )
    meaning = f" {CELL_ITERATION}" if unit == "cell iterations" else ""
    return [field], f" The rate is the work per second, in {f'{factor} {unit}'.strip()}.{meaning}"


def _contents(scaling: pd.DataFrame, labels: Labels) -> str:
    """Say what the numbers and brackets of the full table are."""
    if scaling["speedup_low"].notna().any():
        return f"times are {labels.times(scaling)}. Brackets contain {labels.intervals(scaling, times=True)}."
    if has_several(scaling["n"]):
        return f"times are {labels.times(scaling)}. Brackets contain intervals of the times. {OF_SPEEDUPS}"
    return "single samples without intervals."


def _speedup(line: Line) -> str:
    return "1" if line["serial"] else formats.bracketed(*interval(line, "speedup"))


def _efficiency(line: Line) -> str:
    value, low, high = interval(line, "efficiency")
    return "100" if line["serial"] else formats.bracketed(PERCENT * value, PERCENT * low, PERCENT * high)


def _unless_serial(factor: float) -> Callable[[bool, float], str]:
    """Return a function that writes a number times `factor`, but nothing for a serial run."""
    return lambda serial, value: MISSING if serial else formats.number(as_float(value) * factor)


def _power_of_thousand(rates: pd.Series) -> int | None:
    """Return the multiple of 3 whose power of ten leaves the median of `rates` one to three digits.

    None without a rate.
    """
    median = rates.median()
    return None if is_missing(median) else 3 * math.floor(math.log10(median) / 3)


def _tables_by_count(
    case: str, points: pd.DataFrame, labels: Labels, quantity: str, title: str, note: str
) -> list[Block]:
    """Tabulate a quantity with a row for each curve and a column for each process count.

    More than `MOST_COUNTS` counts are split over several tables.
    """
    curve_key = ["oversubscription", "interconnect", "kind", "processes_per_node"]
    several_levels = points["oversubscription"].nunique() > 1
    curves = labels.lines(points.drop_duplicates(curve_key), "oversubscription", "interconnect")
    all_counts = sorted(int(count) for count in points["processes"].unique())
    tables = []
    for counts in side_by_side(all_counts, MOST_COUNTS):
        groups: dict[str, list[Row]] = {}
        for curve in curves:
            values = rows_like(points, curve, curve_key).set_index("processes")[quantity]
            if values.index.intersection(list(counts)).empty:
                continue
            cells = [formats.number(values[count]) if count in values.index else MISSING for count in counts]
            level = f"Oversubscription {curve['oversubscription']}" if several_levels else ""
            curve_row = row([labels.curve(curve), *cells], case, curve["interconnect"])
            groups.setdefault(level, []).append(curve_row)
        columns = [*left("Processes"), *right(*map(str, counts))]
        span = f" on {counts[0]} to {counts[-1]} processes" if len(counts) < len(all_counts) else ""
        tables.append(table(f"{labels.case(case)}: {title}{span}. {note}", columns, groups, case))
    return tables
