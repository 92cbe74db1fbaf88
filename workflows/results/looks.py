"""Looks at the results of a study: complete reports that could decide a comparison.

After a look, a user may add blocks or repeat a case.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.curves.outcomes import could_decide
from analysis.runs.facts import Facts
from analysis.runs.frames import Tables
from analysis.runs.runs import is_outdated
from workflows.domain import InputError, Repetition
from workflows.inputs import check
from workflows.plan.design import Design
from workflows.plan.record import Record
from workflows.plan.records import is_missing

_point_key = attrgetter(
    "case", "interconnect", "processes", "oversubscription", "processes_per_node", "threads"
)


def recorded_blocks(design: Design, records: Sequence[Record]) -> int | None:
    """Count the blocks whose repetitions are all recorded; None if the study runs nothing.

    A block includes points that have records but cannot be run here now. If all blocks of the study are
    recorded, further recorded blocks count, too: the results use them, although the study asks for fewer.
    """
    attempts: dict[tuple[Any, ...], list[Record]] = defaultdict(list)
    for record in records:
        attempts[_point_key(record.point), record.block].append(record)
    points = {_point_key(record.point): (record.point, record.inputs) for record in records}
    points |= {_point_key(point): (point, design.inputs(point)) for point in design.points}
    if not points:
        return None

    def is_complete(block: int) -> bool:
        return not any(
            is_missing(Repetition(point, block, ()), attempts[key, block], inputs, ())
            for key, (point, inputs) in points.items()
        )

    number = sum(map(is_complete, range(1, design.blocks + 1)))
    if number < design.blocks:
        return number
    last = max((record.block for record in records), default=0)
    return number + sum(map(is_complete, range(design.blocks + 1, last + 1)))


def looks(file: Path, runs: pd.DataFrame) -> dict[str, int]:
    """Count the looks at each case of a complete report, including the report itself.

    A report with the same blocks of a case as an earlier report is no new look at this case. All earlier
    looks count, because a smaller number in the study file leaves out none of the recorded runs. A report
    whose first run does not count now is no look, because it showed another version of the case.

    Parameters
    ----------
    file : Path
        File that `note_look` writes.
    runs : DataFrame
        Runs of the report.

    Raises
    ------
    InputError
        If the file is damaged.
    """
    noted = _counting(file, runs)
    return {
        case: len({blocks, *(shown for look in noted if (shown := _shown(look, case)))})
        for case, blocks in compared_blocks(runs).items()
    }


def note_look(file: Path, facts: Facts, tables: Tables, runs: pd.DataFrame) -> None:
    """Note a look in a file if the report is complete, and the first such report of the blocks of a case.

    A report without a test that could decide a comparison is no look: it cannot state a false direction, so
    later reports may use the whole level. Reports of a study with a target are no looks either, because the
    level of its intervals allows for them. For `runs` see `looks`.
    """
    study, compared = facts.study, compared_blocks(runs)
    if study.unfinished or study.until or study.blocks_recorded is None:
        return
    if not could_decide(tables, study.names_baseline, facts.all_settings()):
        return
    noted = _counting(file, runs)
    if all(blocks in [_shown(look, case) for look in noted] for case, blocks in compared.items()):
        return
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    look = {
        "blocks": study.blocks,
        "compared": compared,
        "made": facts.made,
        "first_run": min(_valid_starts(runs), default=None),
    }
    content = {"looks": [*_read(file), look]}
    draft.write_text(json.dumps(content, indent=1) + "\n")
    draft.replace(file)


def compared_blocks(runs: pd.DataFrame) -> dict[str, int]:
    """Count the blocks of each case with runs of two interconnects or two levels of oversubscription.

    Only these blocks enter a comparison, except in a case with imported runs: runs of any block are compared
    with them. Outdated runs do not count. Other invalid runs count, because an edit
    of a range or tolerance can make them valid without another run.
    """
    if not {"origin", "block"} <= {*runs}:
        return {}
    is_run = runs["origin"] == "run"
    imported = {*runs.loc[~is_run, "case"]}
    current = runs[is_run & ~is_outdated(runs)].dropna(subset="interconnect")
    sides = current.drop_duplicates(["case", "block", "interconnect", "oversubscription"])
    number = sides.groupby(["case", "block"], observed=True).size()
    is_compared = (number > 1) | number.index.get_level_values("case").isin(imported)
    compared = number[is_compared].groupby("case", observed=True).size()
    return {str(case): int(blocks) for case, blocks in compared.items()}


def _valid_starts(runs: pd.DataFrame) -> set[str]:
    """Return the starts of the runs of the study that count."""
    if not {"origin", "started"} <= {*runs}:
        return set()
    return {*runs.loc[runs["valid"] & (runs["origin"] == "run"), "started"].dropna().astype(str)}


def _counting(file: Path, runs: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the noted looks whose reports showed runs that count now."""
    starts, counting = _valid_starts(runs), list[dict[str, Any]]()
    for look in _read(file):
        if look.get("first_run"):
            counts = look["first_run"] in starts
        else:  # Earlier versions noted only the time of the report.
            counts = look["made"] is None or look["made"] > min(starts, default="")
        counting += [look] if counts else []
    return counting


def _shown(look: Mapping[str, Any], case: str) -> int | None:
    """Return the blocks of a case at a look. Earlier versions noted only the blocks of the study."""
    blocks: int | None = look["compared"].get(case) if "compared" in look else look["blocks"]
    return blocks


def _read(file: Path) -> list[dict[str, Any]]:
    if not file.exists():
        return []
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"{file}: is no JSON: {error}") from None
    check(data, "looks", file)
    noted: list[dict[str, Any]] = data["looks"]
    return noted
