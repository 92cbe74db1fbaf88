"""The section on parts of the time: runs, main loops, solver iterations and communication."""

from __future__ import annotations

import math

import pandas as pd

from analysis.presentation import formats
from analysis.presentation.blocks import Block, Row, Section, bullets, left, right, row, section, table
from analysis.presentation.content import Content
from analysis.presentation.formats import MISSING, listed
from analysis.presentation.labels import Labels
from analysis.presentation.sentences import processes
from analysis.runs.frames import Line, as_float, as_lines, interval, is_missing
from analysis.topics.parts_of_time.tables import MAIN_LOOP, PREPARATION, RUN, RUN_PARTS, at_extremes

CHANGED = 0.05
"""Smallest change that a sentence names: a relative change of iterations, or a change of a share."""
PLACES = 3
"""Decimals of a time, the precision of the time stamps."""
MOST_PARTS = 3
"""Largest number of parts in a cell."""
_POINT = ["case", "interconnect", "kind", "processes"]
_PREPARED = ("mesh", "decomposition")


def parts_of_time(content: Content) -> Section | None:
    """Write the section on the parts of the time and their change with the process count."""
    tables, labels = content.tables, content.labels
    names = ("parts", "solver_iterations", "solver_efficiency", "communication")
    parts, solver, efficiency, communication = (tables.get(name, pd.DataFrame()) for name in names)
    sentences: list[str] = []
    blocks: list[Block] = []
    if len(parts):
        sentences += [*_loop_sentences(parts, labels), *_outside_sentences(parts)]
        blocks += [*content.figures("parts"), _parts_table(parts, labels)]
    if len(solver):
        sentences += solver_sentences(solver, labels)
        blocks.append(_solver_table(solver, labels))
    if len(efficiency):
        sentences += efficiency_sentences(efficiency, labels)
        blocks.append(_efficiency_table(efficiency, labels))
    if len(communication):
        blocks.append(_communication_table(communication, labels))
    if not blocks:
        return None
    return section("parts", "Parts of the run time", [bullets(sentences), *blocks])


def solver_sentences(solver: pd.DataFrame, labels: Labels) -> list[str]:
    """Name the fields whose solver iterations change with the process count.

    Parameters
    ----------
    solver : DataFrame
        Table ``solver_iterations``.
    labels : Labels
    """
    sentences = []
    for case, rows in labels.by_case(solver):
        few, many = int(rows["reference_processes"].min()), int(rows["processes"].max())
        if few == many:
            continue
        relative = rows[rows["processes"] == many].groupby("field")["relative"].median()
        changed = relative[(relative - 1).abs() >= CHANGED].sort_values(ascending=False)  # factors by field
        if changed.empty:
            sentences.append(
                f"{labels.case(case)}: the number of iterations of the linear solver changes by less than "
                f"{formats.percent(100 * CHANGED, places=0)} from {processes(few)} to {processes(many)}."
            )
            continue
        factors = listed(f"{formats.number(factor)} for {field}" for field, factor in changed.items())
        change = "another number of"
        if (changed > 1).all() or (changed < 1).all():
            change = "more" if changed.iloc[0] > 1 else "fewer"
        sentences.append(
            f"{labels.case(case)}: the linear solver needs {change} iterations on {processes(many)} than on "
            f"{processes(few)}. The factor is {factors}."
        )
    return sentences


def efficiency_sentences(efficiency: pd.DataFrame, labels: Labels) -> list[str]:
    """State how much efficiency the iterations of the linear solver cost at the largest process count.

    The sentence of a case is about the interconnect with the lowest efficiency.

    Parameters
    ----------
    efficiency : DataFrame
        Table ``solver_efficiency``.
    labels : Labels
    """
    sentences = []
    for case, rows in labels.by_case(efficiency):
        ends = at_extremes(rows)
        at_largest = ends[ends["processes"] == ends["processes"].max()]
        line = at_largest.loc[at_largest["efficiency"].idxmin()].to_dict()
        algorithmic = line["algorithmic_efficiency"]
        implementation = [100 * end for end in interval(line, "implementation_efficiency")]
        value, low, high = (algorithmic * end for end in implementation)
        total = formats.percent_with_interval(value, low, high)
        sentences.append(
            f"{labels.case(case)}: on {processes(line['processes'])} over "
            f"{labels.interconnect(line['interconnect'], line['kind'])}, the efficiency is "
            f"{total}. {_effect_of_iterations(line)}."
        )
    return sentences


def _effect_of_iterations(line: Line) -> str:
    """Describe the effect of the linear solver's iterations on the efficiency of a point."""
    algorithmic = line["algorithmic_efficiency"]
    if abs(algorithmic - 1) < CHANGED:
        limit = formats.percent(100 * CHANGED, places=0)
        return f"The number of iterations of the linear solver changes the efficiency by less than {limit}"
    if algorithmic > 1:
        value, low, high = (100 * end for end in interval(line, "implementation_efficiency"))
        without_savings = formats.percent_with_interval(value, low, high)
        return (
            "The linear solver needs fewer iterations than in the reference run. With as many iterations as "
            f"in the reference run, the efficiency would be {without_savings}"
        )
    loss = line["algorithmic_loss_percent"]
    share = (
        ""
        if is_missing(loss)
        else (
            ". The lost time is the additional run time relative to an efficiency of "
            f"{formats.percent(100)}. The additional iterations cause {formats.percent(loss)} of the lost "
            "time"
        )
    )
    return (
        "The linear solver needs more iterations than in the reference run. If these additional iterations "
        f"were the only loss, the efficiency would be {formats.percent(100 * algorithmic)}{share}"
    )


def _loop_sentences(parts: pd.DataFrame, labels: Labels) -> list[str]:
    """Name the largest part of the main loop, and the part whose share grows most with the process count."""
    loop = at_extremes(parts[parts["stage"] == MAIN_LOOP])
    sentences = []
    for case, rows in labels.by_case(loop):
        few, many = int(rows["processes"].min()), int(rows["processes"].max())
        shares = rows[rows["processes"] == few].groupby("part")["share"].median()
        largest = shares.nlargest(2)
        named = listed(f"“{part}” ({formats.percent(100 * share)})" for part, share in largest.items())
        text = (
            f"{labels.case(case)}: on {processes(few)}, the largest "
            f"{'parts' if len(largest) > 1 else 'part'} of the main loop "
            f"{'are' if len(largest) > 1 else 'is'} {named}"
        )
        at_largest = rows[rows["processes"] == many]
        at_largest = at_largest.assign(growth=at_largest["share"] - at_largest["part"].map(shares))
        if few != many and at_largest["growth"].max() >= CHANGED:
            line = at_largest.nlargest(1, "growth").iloc[0].to_dict()
            before = formats.percent(100 * (line["share"] - line["growth"]))
            text += (
                f". The share of part “{line['part']}” grows most: from {before} on {processes(few)} to "
                f"{formats.percent(100 * line['share'])} on {processes(many)} over "
                f"{labels.interconnect(line['interconnect'], line['kind'])}"
            )
        sentences.append(f"{text}.")
    return sentences


def _outside_sentences(parts: pd.DataFrame) -> list[str]:
    """State the times of preparation, start-up and output, which no other time of the report includes."""
    sentences = []
    prepared = parts[parts["stage"] == PREPARATION].groupby("part")["seconds"].max()
    if len(prepared):
        parts_made = listed(f"the {part}" for part in prepared.index)
        times = listed(f"{formats.seconds(seconds)} for the {part}" for part, seconds in prepared.items())
        sentences.append(
            f"Nodeworth makes {parts_made} before a run. All other times in this report exclude this "
            f"preparation, which takes at most {times}."
        )
    outside = parts[(parts["stage"] == RUN) & (parts["part"] != "main loop")]
    if len(outside):
        share = outside.groupby(_POINT, dropna=False)["share"].sum()
        sentences.append(
            f"All other times in this report{' also' if sentences else ''} exclude the work outside the main "
            "loop, such as start-up and output. This work takes "
            f"{formats.spanned(*(formats.percent(100 * end) for end in (share.min(), share.max())))} of the "
            "whole run."
        )
    return sentences


def _parts_table(parts: pd.DataFrame, labels: Labels) -> Block:
    """Tabulate the parts of the runs of each case at the smallest and the largest process count."""
    ends = at_extremes(parts)
    # A study of one site has no column ``site``; the table omits the columns of sites and threads if empty.
    ends = ends.reindex(columns=ends.columns.union(["site", "threads"], sort=False))
    if ends["threads"].nunique() < 2:
        ends = ends.assign(threads=None)
    groups: dict[str, list[Row]] = {}
    point = ["processes", "interconnect", "kind", "nodes", "site", "threads"]
    for case, rows in labels.by_case(labels.in_order(ends, *point)):
        points = rows.groupby(point, sort=False, dropna=False)
        groups[labels.case(case)] = [_parts_row(parts_of_point, labels) for _, parts_of_point in points]
    columns = [
        *left(labels.interconnect_head, "Site"),
        *right("Threads", "Processes", *map(str.capitalize, (*_PREPARED, *RUN_PARTS))),
        *left("Largest parts of the main loop"),
    ]
    caption = (
        "Median seconds of each part of a run, at the smallest and the largest process count. Nodeworth "
        "makes the mesh and the decomposition before the run. All points are in tables/parts.csv."
    )
    return table(caption, columns, groups)


def _parts_row(parts: pd.DataFrame, labels: Labels) -> Row:
    """Make the row of a point from its rows in the table ``parts``."""
    first = parts.iloc[0]
    seconds = parts.set_index(["stage", "part"])["seconds"]
    stages_and_parts = [(PREPARATION, part) for part in _PREPARED] + [(RUN, part) for part in RUN_PARTS]
    loop = parts[parts["stage"] == MAIN_LOOP].nlargest(MOST_PARTS, "share").to_dict("records")
    cells = [
        labels.interconnect(first["interconnect"], first["kind"]),
        MISSING if is_missing(first["site"]) else first["site"],
        formats.whole(first["threads"]),
        formats.whole(first["processes"]),
        *(formats.fixed(seconds.get(key, math.nan), PLACES) for key in stages_and_parts),
        ", ".join(f"{part['part']} {formats.percent(100 * part['share'])}" for part in loop) or MISSING,
    ]
    return row(cells, first["case"], first["interconnect"])


def _solver_table(solver: pd.DataFrame, labels: Labels) -> Block:
    """Tabulate the iterations of the linear solver by field and process count."""
    counts = sorted(int(count) for count in solver["processes"].unique())
    groups: dict[str, list[Row]] = {}
    for case, rows in labels.by_case(solver):
        medians = rows.groupby(["field", "processes"])["iterations"].median().unstack()
        groups[labels.case(case)] = [
            row([str(field), *(formats.number(iterations.get(count, math.nan)) for count in counts)], case)
            for field, iterations in medians.iterrows()
        ]
    columns = [*left("Field"), *right(*map(processes, counts))]
    caption = (
        "The table counts the iterations of the linear solver in each time step, or in each outer iteration "
        "of a steady solver. The values are medians over all interconnects. "
        "All points are in tables/solver_iterations.csv."
    )
    return table(caption, columns, groups)


def _efficiency_table(efficiency: pd.DataFrame, labels: Labels) -> Block:
    """Tabulate the efficiency and its two factors at the smallest and the largest process count."""
    groups: dict[str, list[Row]] = {}
    ordered = labels.in_order(at_extremes(efficiency), "processes", "interconnect", "kind")
    for case, rows in labels.by_case(ordered):
        groups[labels.case(case)] = [_efficiency_row(line, labels) for line in as_lines(rows)]
    columns = [
        *left(labels.interconnect_head),
        *right("Processes", "Efficiency", "Algorithmic", "Implementation", "Lost time by iterations"),
    ]
    caption = (
        "Efficiency and its two factors, at the smallest and the largest parallel process count. The "
        "efficiency is the algorithmic factor times the implementation factor. The algorithmic factor is the "
        "efficiency that would result if only the number of iterations of the linear solver changed with the "
        "process count. All other effects, such as communication, imbalance and memory, change only the "
        "implementation factor. All points are in tables/solver_efficiency.csv."
    )
    return table(caption, columns, groups)


def _efficiency_row(line: Line, labels: Labels) -> Row:
    """Make the row of a point from its row in the table ``solver_efficiency``."""
    factors = ("efficiency", "algorithmic_efficiency", "implementation_efficiency")
    loss = line["algorithmic_loss_percent"]
    cells = [
        labels.interconnect(line["interconnect"], line["kind"]),
        formats.whole(line["processes"]),
        *(formats.percent(100 * line[name]) for name in factors),
        MISSING if is_missing(loss) else formats.percent(loss),
    ]
    return row(cells, line["case"], line["interconnect"])


def _communication_table(communication: pd.DataFrame, labels: Labels) -> Block:
    """Tabulate the operations on the Global Arrays at the smallest and the largest process count."""
    ends = at_extremes(communication)
    groups: dict[str, list[Row]] = {}
    for case, rows in labels.by_case(ends):
        quantities = ["calls", "bytes", "remote_bytes"]
        medians = rows.groupby(["operation", "processes"])[quantities].median().reset_index()
        groups[labels.case(case)] = [
            row(
                [
                    median["operation"],
                    formats.whole(median["processes"]),
                    formats.whole(median["calls"]),
                    *(formats.number(as_float(median[name]) / 1e6) for name in ("bytes", "remote_bytes")),
                ],
                case,
            )
            for median in as_lines(medians)
        ]
    columns = [*left("Operation"), *right("Processes", "Calls", "MB", "MB to others")]
    caption = (
        "Operations of rank 0 on the Global Arrays in a run, at the smallest and the largest process count. "
        "The values are medians over all interconnects. All points are in tables/communication.csv."
    )
    return table(caption, columns, groups)
