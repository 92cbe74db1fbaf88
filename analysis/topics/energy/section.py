"""What runs took in energy, counted or by the study's model: never both in one table."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from analysis.presentation import formats
from analysis.presentation.blocks import Block, Section, bullets, paragraph, section
from analysis.presentation.content import Content
from analysis.presentation.labels import Labels
from analysis.presentation.rows import line_table, numbers, texts
from analysis.presentation.sentences import processes
from analysis.runs.frames import Line, interval
from analysis.runs.kinds import comparable_sets
from analysis.topics.energy.tables import COUNTED, MODEL

MOST_ROWS = 120
_CAPTIONS = {
    COUNTED: "Counted by {}: energy of the whole run on all its machines, median over the blocks, and {}.",
    MODEL: "A model, nothing counted: {}, times the time of the main loop; with all ranges, and {}.",
}


def energy(content: Content) -> Section | None:
    """Energy to solution, its product with the time, what an extra joule buys; none where it is unknown."""
    table = content.tables.get("energy")
    if table is None or table.empty:
        return None
    labels, blocks = content.labels, []
    for basis, rows in table.groupby("basis", sort=False):
        source = formats.listed(sorted(set("; ".join(rows["source"]).split("; "))))
        caption = _CAPTIONS[str(basis)].format(source, labels.intervals(rows))
        if not content.facts.study.unfinished:
            told = [
                _sentence(own[own["kind"].isin(kinds)], labels)
                for _, own in labels.by_case(rows)
                for kinds in comparable_sets(own["kind"], labels.declared)
            ]
            blocks.append(bullets(told, "Counted energy" if basis == COUNTED else "Energy by the model"))
        blocks.append(_table(rows, caption, labels))
    more = (
        "Greenup is the reference's energy over that of the run, as speedup is of times; where the serial "
        "run's energy is unknown, both refer to the smallest count of which it is known. An extra joule buys "
        "nothing (–) where a run takes none more. All columns are in tables/energy.csv."
    )
    return section("energy", "What does it take in energy?", [*blocks, paragraph(more)])


def _sentence(rows: pd.DataFrame, labels: Labels) -> str:
    """Say which point of a case takes least energy and what the fastest one takes, by their medians."""
    lines = rows.to_dict("records")
    least = min(lines, key=lambda line: line["energy_joules"])
    fastest = max(lines, key=lambda line: line["speedup"])
    text = f"{labels.case(least['case'])}: least is taken by {_point(least, labels)}, {_joules(least)}"
    if fastest is least:
        return f"{text}; that is the fastest point too."
    times = formats.bracketed(*interval(fastest, "greenup"))
    return f"{text}; the fastest, {_point(fastest, labels)}, takes {_joules(fastest)} (greenup {times})."


def _point(line: Line, labels: Labels) -> str:
    if line["serial"]:
        return "the serial run"
    return f"{labels.interconnect(line['interconnect'], line['kind'])} on {processes(line['processes'])}"


def _joules(line: Line) -> str:
    return f"{formats.bracketed(*interval(line, 'energy_joules'))}{formats.THIN}J"


def _table(rows: pd.DataFrame, caption: str, labels: Labels) -> Block:
    rows = rows[~(rows["serial"].astype(bool) & rows.duplicated(["case", "kind", "serial"]))]
    if len(rows) > MOST_ROWS:
        rows = rows[rows["processes"] == rows.groupby("case")["processes"].transform("max")]
        caption += " Shown is the largest process count."
    several = rows["oversubscription"].nunique() > 1

    def curve(line: Line) -> str:
        return labels.interconnect(None, line["kind"]) if line["serial"] else labels.curve(line, several)

    def bracketed(name: str, factor: float = 1.0) -> Callable[[Line], str]:
        return lambda line: formats.bracketed(*(factor * float(one) for one in interval(line, name)))

    fields = [
        texts("Interconnect", curve),
        numbers("Processes", formats.whole, "processes"),
        numbers("Energy (J)", bracketed("energy_joules")),
        numbers("Greenup", bracketed("greenup")),
        numbers("Energy × time (kJ s)", bracketed("energy_delay_joule_seconds", 0.001)),
        numbers(labels.speedup.capitalize(), bracketed("speedup")),
        numbers(f"{labels.speedup.capitalize()} an extra kJ", bracketed("speedup_per_extra_joule", 1000.0)),
    ]
    lines = labels.lines(rows, "case", "oversubscription", "processes", "interconnect")
    return line_table(caption, fields, lines, lambda line: labels.case(line["case"]))
