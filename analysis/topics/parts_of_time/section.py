"""The section on where the time goes: parts of runs and main loops, solver iterations, communication."""

from __future__ import annotations

from typing import Any

import pandas as pd

from analysis.presentation import formats
from analysis.presentation.blocks import Block, Row, Section, bullets, left, right, row, section, table
from analysis.presentation.content import Content
from analysis.presentation.formats import MISSING, listed
from analysis.presentation.labels import Labels
from analysis.presentation.sentences import processes
from analysis.runs.frames import as_float, interval, is_missing
from analysis.topics.parts_of_time.tables import MAIN_LOOP, PREPARATION, RUN, RUN_PARTS, at_extremes

CHANGED = 0.05
"""Relative change of a number of iterations, and change of a share, from which on a sentence names it."""
PLACES = 3
"""Decimals of a time: the stamps of the lines are no better."""
MOST_PARTS = 3
"""Parts of a main loop that a cell names."""
_POINT = ["case", "interconnect", "kind", "processes"]
_PREPARED = ("mesh", "decomposition")


def parts_of_time(content: Content) -> Section | None:
    """Where the time of runs goes, and what changes with the process count."""
    tables, labels = content.tables, content.labels
    names = ("parts", "solver_iterations", "solver_efficiency", "communication")
    parts, solver, efficiency, communication = (tables.get(name, pd.DataFrame()) for name in names)
    said: list[str] = []
    blocks: list[Block] = []
    if len(parts):
        said += [*_loop_sentences(parts, labels), *_outside_sentences(parts)]
        blocks += [*content.figures("parts"), _parts_table(parts, labels)]
    if len(solver):
        said += solver_sentences(solver, labels)
        blocks.append(_solver_table(solver, labels))
    if len(efficiency):
        said += efficiency_sentences(efficiency, labels)
        blocks.append(_efficiency_table(efficiency, labels))
    if len(communication):
        blocks.append(_communication_table(communication, labels))
    if not blocks:
        return None
    return section("parts", "Where the time goes", [bullets(said), *blocks])


def solver_sentences(solver: pd.DataFrame, labels: Labels) -> list[str]:
    """Say for which fields the iterations of the linear solver change with the process count.

    Takes the table ``solver_iterations``.
    """
    said = []
    for case, own in labels.by_case(solver):
        few, many = int(own["reference_processes"].min()), int(own["processes"].max())
        if few == many:
            continue
        found = own[own["processes"] == many].groupby("field")["relative"].median()
        changed = found[(found - 1).abs() >= CHANGED].sort_values(ascending=False)
        if changed.empty:
            said.append(
                f"{labels.case(case)}: the linear solver takes as many iterations on {processes(many)} as on "
                f"{processes(few)}, within {formats.percent(100 * CHANGED, places=0)}."
            )
            continue
        (field, factor), *others = changed.items()
        factors = listed(
            [
                f"{formats.number(factor)} times the iterations for {field}",
                *(f"{formats.number(factor)} times for {field}" for field, factor in others),
            ]
        )
        said.append(
            f"{labels.case(case)}: on {processes(many)} the linear solver takes {factors}, compared with "
            f"{processes(few)}."
        )
    return said


def efficiency_sentences(efficiency: pd.DataFrame, labels: Labels) -> list[str]:
    """Say how much of the lost efficiency the iterations of the linear solver are, at the largest count.

    Takes the table ``solver_efficiency``.
    """
    said = []
    for case, own in labels.by_case(efficiency):
        largest = at_extremes(own)
        largest = largest[largest["processes"] == largest["processes"].max()]
        line = largest.loc[largest["efficiency"].idxmin()].to_dict()
        effect = line["algorithmic_efficiency"] - 1
        implemented = [100 * end for end in interval(line, "implementation_efficiency")]
        ends = [line["algorithmic_efficiency"] * end for end in implemented]
        if abs(effect) < CHANGED:
            why = "the iterations of the linear solver change it by less than " + formats.percent(
                100 * CHANGED, places=0
            )
        elif effect > 0:
            why = (
                "without the savings of fewer iterations of the linear solver it would be "
                + formats.percent_with_interval(*implemented)
            )
        else:
            loss = line["algorithmic_loss_percent"]
            share = "" if is_missing(loss) else f", {formats.percent(loss)} of the lost time"
            why = (
                "more iterations of the linear solver alone would leave "
                f"{formats.percent(100 * line['algorithmic_efficiency'])}{share}"
            )
        said.append(
            f"{labels.case(case)}: on {processes(line['processes'])} over "
            f"{labels.interconnect(line['interconnect'], line['kind'])}, the efficiency is "
            f"{formats.percent_with_interval(*ends)}; {why}."
        )
    return said


def _loop_sentences(parts: pd.DataFrame, labels: Labels) -> list[str]:
    """Say which part of the main loop gains most of it from the smallest to the largest process count."""
    loop = at_extremes(parts[parts["stage"] == MAIN_LOOP])
    said = []
    for case, own in labels.by_case(loop):
        few, many = int(own["processes"].min()), int(own["processes"].max())
        shares = own[own["processes"] == few].groupby("part")["share"].median()
        largest = shares.idxmax()
        text = (
            f"{labels.case(case)}: {largest} takes {formats.percent(100 * shares[largest])} of the main loop "
            f"on {processes(few)}"
        )
        grown = own[own["processes"] == many].assign(
            gain=lambda rows, before=shares: rows["share"] - rows["part"].map(before)
        )
        if few != many and grown["gain"].max() >= CHANGED:
            line = grown.loc[grown["gain"].idxmax()].to_dict()
            before = formats.percent(100 * (line["share"] - line["gain"]))
            text += (
                f"; on {processes(many)} over {labels.interconnect(line['interconnect'], line['kind'])}, "
                f"{line['part']} grows from {before} to {formats.percent(100 * line['share'])}"
            )
        said.append(f"{text}.")
    return said


def _outside_sentences(parts: pd.DataFrame) -> list[str]:
    """Say what is in no time: preparation, start-up, output."""
    said = []
    prepared = parts[parts["stage"] == PREPARATION].groupby("part")["seconds"].max()
    if len(prepared):
        times = listed(f"{part} at most {formats.seconds(seconds)}" for part, seconds in prepared.items())
        said.append(f"Made once before the runs, and part of no time here: {times}.")
    outside = parts[(parts["stage"] == RUN) & (parts["part"] != "main loop")]
    if len(outside):
        share = outside.groupby(_POINT, dropna=False)["share"].sum()
        said.append(
            "Start-up, output and the rest of a run, which are in no time either, are "
            f"{formats.percent(100 * share.min())} to {formats.percent(100 * share.max())} of the runs."
        )
    return said


def _parts_table(parts: pd.DataFrame, labels: Labels) -> Block:
    ends = at_extremes(parts)
    groups: dict[str, list[Row]] = {}
    point = ["processes", "interconnect", "kind", "nodes"]
    for case, of_case in labels.by_case(labels.in_order(ends, *point)):
        points = of_case.groupby(point, sort=False, dropna=False)
        groups[labels.case(case)] = [_parts_row(own, labels) for _, own in points]
    columns = [
        *left("Interconnect"),
        *right("Processes", *map(str.capitalize, (*_PREPARED, *RUN_PARTS))),
        *left("Largest parts of the main loop"),
    ]
    caption = (
        "Seconds of the parts of a run, medians, at the smallest and the largest process count; mesh and "
        "decomposition are made before. All points are in tables/parts.csv."
    )
    return table(caption, columns, groups)


def _parts_row(own: pd.DataFrame, labels: Labels) -> Row:
    first = own.iloc[0]
    seconds = own.set_index(["stage", "part"])["seconds"]
    keys = [*((PREPARATION, part) for part in _PREPARED), *((RUN, part) for part in RUN_PARTS)]
    loop = own[own["stage"] == MAIN_LOOP].nlargest(MOST_PARTS, "share").to_dict("records")
    cells = [
        labels.interconnect(first["interconnect"], first["kind"]),
        formats.whole(first["processes"]),
        *(formats.fixed(seconds[key], PLACES) if key in seconds.index else MISSING for key in keys),
        ", ".join(f"{part['part']} {formats.percent(100 * part['share'])}" for part in loop) or MISSING,
    ]
    return row(cells, first["case"], first["interconnect"])


def _solver_table(solver: pd.DataFrame, labels: Labels) -> Block:
    counts = sorted(int(count) for count in solver["processes"].unique())
    groups: dict[str, list[Row]] = {}
    for case, own in labels.by_case(solver):
        found = own.groupby(["field", "processes"])["iterations"].median().unstack()
        groups[labels.case(case)] = [
            row([field, *(formats.number(numbers.get(count)) for count in counts)], case)
            for field, numbers in found.iterrows()
        ]
    columns = [*left("Field"), *right(*map(processes, counts))]
    caption = (
        "Iterations of the linear solver in a time step, or in an iteration of a steady solver, medians over "
        "all interconnects; each point is in tables/solver_iterations.csv."
    )
    return table(caption, columns, groups)


def _efficiency_table(efficiency: pd.DataFrame, labels: Labels) -> Block:
    groups: dict[str, list[Row]] = {}
    for case, own in labels.by_case(
        labels.in_order(at_extremes(efficiency), "processes", "interconnect", "kind")
    ):
        groups[labels.case(case)] = [_efficiency_row(line, labels) for line in own.to_dict("records")]
    columns = [
        *left("Interconnect"),
        *right("Processes", "Efficiency", "Algorithmic", "Implementation", "Lost time by iterations"),
    ]
    caption = (
        "Efficiency, and its two factors: algorithmic, by the iterations of the linear solver weighted with "
        "their share of the reference's main loop, and implementation, by all else: communication, "
        "imbalance, memory. At the smallest and the largest parallel process count; all points are in "
        "tables/solver_efficiency.csv."
    )
    return table(caption, columns, groups)


def _efficiency_row(line: dict[str, Any], labels: Labels) -> Row:
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
    ends = at_extremes(communication)
    groups: dict[str, list[Row]] = {}
    for case, own in labels.by_case(ends):
        found = own.groupby(["operation", "processes"])[["calls", "bytes", "remote_bytes"]].median()
        groups[labels.case(case)] = [
            row(
                [
                    operation,
                    formats.whole(count),
                    formats.whole(numbers["calls"]),
                    *(formats.number(as_float(numbers[name]) / 1e6) for name in ("bytes", "remote_bytes")),
                ],
                case,
            )
            for (operation, count), numbers in found.iterrows()
        ]
    columns = [*left("Operation"), *right("Processes", "Calls", "MB", "MB to others")]
    caption = (
        "What rank 0 did with the Global Arrays in a run, medians over all interconnects, at the smallest "
        "and the largest process count; each point is in tables/communication.csv."
    )
    return table(caption, columns, groups)
