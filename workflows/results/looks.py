"""Which whole reports were made of a study: a study that is extended after one has looked at its results."""

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
from workflows.plan.records import wanted

_place = attrgetter("case", "interconnect", "processes", "oversubscription", "processes_per_node", "threads")


def recorded_blocks(design: Design, records: Sequence[Record]) -> int | None:
    """How many of a study's blocks are recorded whole; None where nothing is run.

    A point that cannot be run here now counts by the records that it has.
    """
    held: dict[tuple, dict[int, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        held[_place(record.point)][record.block].append(record)
    points = {_place(record.point): (record.point, record.inputs) for record in records}
    points |= {_place(point): (point, design.inputs(point)) for point in design.points}
    if not points:
        return None
    return sum(
        not any(
            wanted(Repetition(point, block, ()), held[place][block], inputs, ())
            for place, (point, inputs) in points.items()
        )
        for block in range(1, design.blocks + 1)
    )


def looks(file: Path, blocks: int | None, whole: bool) -> list[int]:
    """Numbers of blocks of the whole reports up to one of `blocks`; of an unfinished study, of all until now.

    A report that is made again is no new look: it counts those that were made before it for the first time.

    Raises
    ------
    InputError
        If the file is damaged.
    """
    seen = [look["blocks"] for look in _read(file)]
    if not whole or blocks is None:
        return seen
    return seen[: seen.index(blocks) + 1] if blocks in seen else [*seen, blocks]


def note_look(file: Path, facts: Facts) -> None:
    """Note that a report was made, if it is whole and the first of so many blocks.

    A study that goes on until a target has a level of its own, and none of its reports is a look.
    """
    study, seen = facts.study, _read(file)
    if study.unfinished or study.until or study.blocks_recorded is None:
        return
    if study.blocks in [look["blocks"] for look in seen]:
        return
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    told = {"looks": [*seen, {"blocks": study.blocks, "made": facts.made}]}
    draft.write_text(json.dumps(told, indent=1) + "\n")
    draft.replace(file)


def _read(file: Path) -> list[dict[str, Any]]:
    if not file.exists():
        return []
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"{file}: is no JSON: {error}") from None
    check(data, "looks", file)
    return data["looks"]
