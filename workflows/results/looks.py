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
    looks count, because a smaller number in the study file leaves out none of the recorded runs. An earlier
    report is no look at a case if none of its first runs counts now: it showed another version of the case.

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
    noted = _read(file)
    return {
        case: len({blocks, *(_blocks_at(look, case, runs) for look in noted)} - {None})
        for case, blocks in _blocks_of_cases(_compared(runs)).items()
    }


def note_look(file: Path, facts: Facts, tables: Tables, runs: pd.DataFrame) -> None:
    """Note a look in a file if the report is complete, and shows a new number of blocks of a case.

    A report without a test that could decide a comparison is no look: it cannot state a false direction, so
    later reports may use the whole level. Reports of a study with a target are no looks either, because the
    level of its intervals allows for them. For `runs` see `looks`.
    """
    study = facts.study
    if study.unfinished or study.until or study.blocks_recorded is None:
        return
    if not could_decide(tables, study.names_baseline, facts.all_settings()):
        return
    noted, compared = _read(file), _compared(runs)
    blocks = _blocks_of_cases(compared)
    if all(number in [_blocks_at(look, case, runs) for look in noted] for case, number in blocks.items()):
        return
    first_runs = compared.groupby(["case", "interconnect"], observed=True)["started"].min()
    cases = {
        case: {"blocks": number, "first_runs": sorted(first_runs[case])} for case, number in blocks.items()
    }
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    draft.write_text(json.dumps({"looks": [*noted, {"made": facts.made, "cases": cases}]}, indent=1) + "\n")
    draft.replace(file)


def _blocks_of_cases(runs: pd.DataFrame) -> dict[str, int]:
    """Count the blocks of each case."""
    blocks = runs.groupby("case", observed=True)["block"].nunique()
    return {str(case): int(number) for case, number in blocks.items()}


def _compared(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs that comparisons may use.

    They are in blocks with two interconnects. In a case with imported or simulated runs, or with several
    levels of oversubscription, placements or numbers of threads, they are in any block, because comparisons
    of these need no common blocks or no second interconnect. Outdated runs do not count. Other invalid runs
    count, because an edit of a range or tolerance can make them valid without another run.
    """
    current = _current(runs).dropna(subset="interconnect")
    case = current["case"]
    interconnects = current.groupby(["case", "block"], observed=True)["interconnect"].transform("nunique")
    layouts = current.groupby(["case", "processes"], observed=True)[["oversubscription", "nodes", "threads"]]
    has_layouts = layouts.transform("nunique").gt(1).any(axis=1).groupby(case, observed=True).transform("any")
    is_elsewhere = case.isin(runs.loc[runs["origin"] != "run", "case"])
    return current[(interconnects > 1) | has_layouts | is_elsewhere]


def _current(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs of the study that are not outdated."""
    return runs[(runs["origin"] == "run") & ~is_outdated(runs)]


def _blocks_at(look: Mapping[str, Any], case: str, runs: pd.DataFrame) -> int | None:
    """Return the blocks of a case at a look; None if the look did not show runs that count now.

    Looks of earlier versions did not distinguish cases, and may lack the first run.
    """
    shown: Mapping[str, Any] = look["cases"].get(case, {}) if "cases" in look else look
    first_runs = shown.get("first_runs", [shown.get("first_run")])
    is_shown = first_runs == [None] or _current(runs)["started"].isin(first_runs).any()
    return shown.get("blocks") if is_shown else None


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
