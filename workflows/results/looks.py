"""Looks at the results of a study: complete reports that were made before it was extended."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

from analysis.runs.facts import Facts
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

    Points that cannot be run here now, but have records, are included.
    """
    by_block: dict[tuple[Any, ...], dict[int, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        by_block[_point_key(record.point)][record.block].append(record)
    points = {_point_key(record.point): (record.point, record.inputs) for record in records}
    points |= {_point_key(point): (point, design.inputs(point)) for point in design.points}
    if not points:
        return None
    return sum(
        not any(
            is_missing(Repetition(point, block, ()), by_block[key][block], inputs, ())
            for key, (point, inputs) in points.items()
        )
        for block in range(1, design.blocks + 1)
    )


def looks(file: Path, blocks: int | None, whole: bool) -> list[int]:
    """Return the numbers of blocks at each look, including the look at the current report.

    A report that is made again is no new look. The list then ends at its first look.

    Parameters
    ----------
    file : Path
        File of `note_look`.
    blocks : int or None
        Blocks of the study.
    whole : bool
        Whether the study is finished. Otherwise the current report is no look.

    Raises
    ------
    InputError
        If the file is damaged.
    """
    noted = [look["blocks"] for look in _read(file)]
    if not whole or blocks is None:
        return noted
    return noted[: noted.index(blocks) + 1] if blocks in noted else [*noted, blocks]


def note_look(file: Path, facts: Facts) -> None:
    """Note a look if the report is complete and the first with its number of blocks.

    Reports of a study that goes on until a target are no looks, because its intervals have their own level.
    """
    study, noted = facts.study, _read(file)
    if study.unfinished or study.until or study.blocks_recorded is None:
        return
    if study.blocks in [look["blocks"] for look in noted]:
        return
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    content = {"looks": [*noted, {"blocks": study.blocks, "made": facts.made}]}
    draft.write_text(json.dumps(content, indent=1) + "\n")
    draft.replace(file)


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
