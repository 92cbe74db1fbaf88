"""Records of repetitions: where they are, how they are written, which are still to be made.

A record is written once, whole, and never replaced: a later attempt is another file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TypeVar

from workflows.domain import InputError, Point, Repetition
from workflows.inputs import check
from workflows.paths import StudyPaths
from workflows.plan.record import Record, SimulatedRecord

_Kind = TypeVar("_Kind", bound=Record)
TRIES = 3  # of a repetition whose job ends before it does


def write_record(path: Path, record: Record) -> None:
    """Write a record whole or not at all, never over another one.

    Raises
    ------
    FileExistsError
        If there is a record already.
    OSError
        If it cannot be written (full disk, read-only folder); nothing is left of it then.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with draft.open("w") as file:
            # A key a line, none indented: to indent takes json five times as long.
            file.write(json.dumps(record.as_json(), separators=(",\n", ": ")) + "\n")
            file.flush()
            os.fsync(file.fileno())
        path.hardlink_to(draft)
    finally:
        draft.unlink(missing_ok=True)


def read_record(path: Path, kind: type[_Kind] = Record) -> _Kind:
    """Read a record of a repetition, or of another kind.

    Raises
    ------
    InputError
        If it is damaged: one line with the file, and the reason or the key, its value and what is allowed.
    """
    try:
        data = json.loads(path.read_text())
    except ValueError as error:
        raise InputError(f"{path}: damaged record ({error}); move it away to run it again") from None
    check(data, kind.schema, path)
    return kind.of(data)


def attempts(paths: StudyPaths, repetition: Repetition) -> list[Record]:
    """Records of all attempts at a repetition, in their order."""
    found = []
    while (path := paths.record(repetition, len(found) + 1)).exists():
        found.append(read_record(path))
    return found


def recorded(paths: StudyPaths) -> set[str]:
    """Names of all records of a study (see `record_name`), from one look through their folders.

    To ask for each of thousands takes five times as long.
    """
    top, found = str(paths.records), set()
    for folder, _, files in os.walk(top):
        below = folder[len(top) + 1 :]
        found |= {f"{below}/{file}" for file in files if fnmatchcase(file, "block-*-attempt-*.json")}
    return found


def record_files(paths: StudyPaths) -> list[Path]:
    """Paths of all records of a study, in order."""
    return [paths.records / name for name in sorted(recorded(paths), key=lambda name: name.split("/"))]


def recorded_block(path: Path) -> int:
    """Block of a record, by its path: see `StudyPaths.record`."""
    return int(path.name.split("-")[1])


def read_all(paths: StudyPaths) -> Iterator[tuple[Path, Record]]:
    """Every record of a study with its path, in order of the paths."""
    for path in record_files(paths):
        yield path, read_record(path)


def read_simulated(paths: StudyPaths) -> Iterator[tuple[Path, SimulatedRecord]]:
    """Every record of a simulated point with its path, in order of the paths."""
    for path in sorted(paths.simulated.glob("*/*/processes-*.json")):
        yield path, read_record(path, SimulatedRecord)


@dataclass(frozen=True)
class Rerun:
    """A wish to run again what was recorded before `time`.

    Attributes
    ----------
    what : str
        ``failed``: every repetition without a valid attempt; else
        ``case[/interconnect[/processes[/oversubscription[/processes per node][/threads-N]]]]`` with
        ``serial`` for the serial run and the case as its records' folder is called.
    time : str
        When it was made, ISO 8601 in UTC.
    """

    what: str
    time: str

    def covers(self, point: Point) -> bool:
        """Whether the point is meant."""
        own = [
            point.case,
            point.interconnect or "serial",
            str(point.processes),
            str(point.oversubscription),
            *([] if point.processes_per_node is None else [str(point.processes_per_node)]),
            *([] if point.threads == 1 else [f"threads-{point.threads}"]),
        ]
        wanted = self.what.split("/")
        return self.what == "failed" or own[: len(wanted)] == wanted


def read_requests(paths: StudyPaths) -> list[Rerun]:
    """Requests of a study in the order in which they were made."""
    if not paths.requests.exists():
        return []
    return [Rerun(**json.loads(line)) for line in paths.requests.read_text().splitlines()]


def wanted(
    repetition: Repetition,
    records: Sequence[Record],
    inputs: Mapping[str, str | None],
    requests: Sequence[Rerun],
) -> bool:
    """Whether a repetition is still to be run.

    Parameters
    ----------
    records : sequence of Record
        All its attempts. Those that ended with their jobs do not count, until there are TRIES of them.
    inputs : mapping
        Digests of its case and interconnect as they are now. Records of other inputs do not count.
    """
    counted = [record for record in records if record.inputs == inputs]
    if all(record.interrupted for record in counted):
        return len(counted) < TRIES
    return any(
        request.covers(repetition.point)
        and not any(record.started > request.time for record in counted)
        and not (request.what == "failed" and any(record.valid for record in counted))
        for request in requests
    )
