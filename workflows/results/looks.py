"""Looks at the results of a study: complete reports that could decide a comparison.

The study may be extended after a look.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.curves.outcomes import could_decide
from analysis.runs.facts import Facts
from analysis.runs.frames import Tables
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


def looks(file: Path, blocks: int | None, whole: bool, starts: Collection[str] = ()) -> list[int]:
    """Return the number of blocks at each look, including the look at the current report.

    If a report with the same number of blocks was made before, the current report is no new look. All earlier
    looks count, because a smaller number in the study file leaves out none of the recorded runs. A report
    whose first run does not count now is no look, because it showed another version of the case.

    Parameters
    ----------
    file : Path
        File that `note_look` writes.
    blocks : int or None
        Number of blocks of the study.
    whole : bool
        Whether the study is finished. The report of an unfinished study is no look.
    starts : collection of str
        Starts of the runs that count, ISO 8601 in UTC.

    Raises
    ------
    InputError
        If the file is damaged.
    """
    noted = list(dict.fromkeys(look["blocks"] for look in _read(file) if _counts(look, starts)))
    if not whole or blocks is None:
        return noted
    return noted if blocks in noted else [*noted, blocks]


def note_look(file: Path, facts: Facts, tables: Tables, starts: Collection[str] = ()) -> None:
    """Note a look in a file if the report is complete, and the first such report of the runs that count.

    A report without a test that could decide a comparison is no look: it cannot state a false direction, so
    later reports may use the whole level. Reports of a study with a target are no looks either, because the
    level of its intervals allows for them. For `starts` see `looks`.
    """
    study, noted = facts.study, _read(file)
    if study.unfinished or study.until or study.blocks_recorded is None:
        return
    if not could_decide(tables, study.names_baseline, facts.all_settings().alpha):
        return
    if study.blocks in [look["blocks"] for look in noted if _counts(look, starts)]:
        return
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    look = {"blocks": study.blocks, "made": facts.made, "first_run": min(starts, default=None)}
    content = {"looks": [*noted, look]}
    draft.write_text(json.dumps(content, indent=1) + "\n")
    draft.replace(file)


def valid_starts(runs: pd.DataFrame) -> set[str]:
    """Return the starts of the runs of the study that count."""
    if not {"origin", "started"} <= {*runs}:
        return set()
    return {*runs.loc[runs["valid"] & (runs["origin"] == "run"), "started"].dropna().astype(str)}


def _counts(look: Mapping[str, Any], starts: Collection[str]) -> bool:
    """Return whether the report of a look showed runs that count now."""
    if look.get("first_run"):
        return look["first_run"] in starts
    # Earlier versions noted only the time of the report.
    return look["made"] is None or look["made"] > min(starts, default="")


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
