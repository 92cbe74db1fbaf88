"""Records of repetitions: their files, and the repetitions that still need one.

A record is written once, as a whole, and never replaced. A later attempt is another file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TypeVar

from workflows.domain import FAILED, WITHDRAW, InputError, Point, Repetition
from workflows.inputs import check
from workflows.paths import StudyPaths
from workflows.plan.record import Record, SimulatedRecord

_Kind = TypeVar("_Kind", bound=Record)
TRIES = 3
"""Largest number of attempts at a repetition if the end of the job cuts off each attempt."""


def write_record(path: Path, record: Record) -> None:
    """Write a record as a whole or not at all, and never over another record.

    Raises
    ------
    FileExistsError
        If the record exists.
    OSError
        If it cannot be written (full disk, read-only folder). No part of it is left then.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with draft.open("w") as file:
            # One key per line, but no indentation: with indentation, json takes five times as long.
            file.write(json.dumps(record.as_json(), separators=(",\n", ": ")) + "\n")
            file.flush()
            os.fsync(file.fileno())
        path.hardlink_to(draft)
    finally:
        draft.unlink(missing_ok=True)


def read_record(path: Path) -> Record:
    """Read the record of a repetition.

    Raises
    ------
    InputError
        One line for a damaged record: the file, and the reason or the key with its value.
    """
    return _read(path, Record)


def _read(path: Path, kind: type[_Kind]) -> _Kind:
    """Read a record as an object of the class `kind`; see `read_record` for the errors."""
    try:
        data = json.loads(path.read_text())
    except ValueError as error:
        raise InputError(f"{path}: damaged record ({error}); move it away to run it again") from None
    check(data, kind.schema, path)
    return kind.of(data)


def attempts(paths: StudyPaths, repetition: Repetition) -> list[Record]:
    """Return the records of all attempts at a repetition, in their order."""
    records: list[Record] = []
    while (path := paths.record(repetition, len(records) + 1)).exists():
        records.append(read_record(path))
    return records


def recorded(paths: StudyPaths) -> set[str]:
    """Return the names of all records of a study (see `record_name`).

    The folders are walked once: looking up thousands of names separately takes five times as long.
    """
    top, names = str(paths.records), set[str]()
    for folder, _, files in os.walk(top):
        below = folder[len(top) + 1 :]
        names |= {f"{below}/{file}" for file in files if fnmatchcase(file, "block-*-attempt-*.json")}
    return names


def record_files(paths: StudyPaths) -> list[Path]:
    """Return the paths of all records of a study, in order."""
    return [paths.records / name for name in sorted(recorded(paths), key=lambda name: name.split("/"))]


def recorded_block(path: Path) -> int:
    """Return the number of a record's block, which its file name contains: see `StudyPaths.record`."""
    return int(path.name.split("-")[1])


def read_all(paths: StudyPaths) -> Iterator[tuple[Path, Record]]:
    """Yield every record of a study with its path, in the order of the paths."""
    for path in record_files(paths):
        yield path, read_record(path)


def read_simulated(paths: StudyPaths) -> Iterator[tuple[Path, SimulatedRecord]]:
    """Yield every record of a simulated point with its path, in the order of the paths."""
    for path in sorted(paths.simulated.glob("*/*/processes-*.json")):
        yield path, _read(path, SimulatedRecord)


@dataclass(frozen=True)
class Rerun:
    """A request to run again repetitions that were recorded before `time`.

    Attributes
    ----------
    what : str
        ``failed``, for every repetition without a valid attempt, or
        ``case[/interconnect[/processes[/oversubscription[/processes per node][/threads-N]]]]``. The
        interconnect of serial runs is ``serial``. The case has the name of its folder of records.
    time : str
        Time of the request, ISO 8601 in UTC.
    blocks : int or None
        Number of blocks of the study at that time: the request does not cover later blocks. None for all.
    is_withdrawn : bool
        Whether no further run fulfils the request. Its earlier runs stay, in blocks of their own.
    """

    what: str
    time: str
    blocks: int | None = None
    is_withdrawn: bool = False

    def recorded(self) -> dict[str, str | int | None]:
        """Return the fields of the file of requests, where a later line withdraws a request."""
        return {"what": self.what, "time": self.time, "blocks": self.blocks}

    def covers(self, point: Point) -> bool:
        """Whether the request covers a point."""
        requested = self.what.split("/")
        return self.what == FAILED or request_names(point)[: len(requested)] == requested

    def is_open(
        self, repetition: Repetition, records: Sequence[Record], inputs: Mapping[str, str | None]
    ) -> bool:
        """Whether a repetition still needs the requested run.

        A later run of another version of the case fulfils the request too. Otherwise a request for an edited
        case would be open again after the edit is undone.

        Parameters
        ----------
        records : sequence of Record
            All attempts at the repetition.
        inputs : mapping
            Current digests: see `is_missing`.
        """
        is_valid = any(record.valid for record in records if record.inputs == inputs)
        return (
            not self.is_withdrawn
            and self.covers(repetition.point)
            and repetition.block <= (self.blocks or repetition.block)
            and not any(record.started > self.time for record in records)
            and not (self.what == FAILED and is_valid)
        )


def request_names(point: Point) -> list[str]:
    """Return the names by which a request refers to a point, in the order of `Rerun.what`."""
    return [
        point.case,
        point.interconnect or "serial",
        str(point.processes),
        str(point.oversubscription),
        *([] if point.processes_per_node is None else [str(point.processes_per_node)]),
        *([] if point.threads == 1 else [f"threads-{point.threads}"]),
    ]


def read_requests(paths: StudyPaths) -> list[Rerun]:
    """Return the recorded requests of a study in their order, withdrawals included."""
    if not paths.requests.exists():
        return []
    return [Rerun(**json.loads(line)) for line in paths.requests.read_text().splitlines()]


def with_withdrawals(requests: Sequence[Rerun]) -> list[Rerun]:
    """Mark the requests before the last withdrawal as withdrawn, and drop the withdrawals."""
    withdrawals = [place for place, request in enumerate(requests) if request.what == WITHDRAW]
    last = max(withdrawals, default=-1)
    return [
        replace(request, is_withdrawn=place < last)
        for place, request in enumerate(requests)
        if request.what != WITHDRAW
    ]


def is_missing(
    repetition: Repetition,
    records: Sequence[Record],
    inputs: Mapping[str, str | None],
    requests: Sequence[Rerun],
) -> bool:
    """Whether a repetition still needs a run.

    Parameters
    ----------
    records : sequence of Record
        All attempts at this repetition. If the end of the job cut off `TRIES` attempts, only a request causes
        another attempt.
    inputs : mapping
        Current digests of the files of the case and interconnect. Records with other digests do not count.
    requests : sequence of Rerun
        Requests to run again.
    """
    counted = [record for record in records if record.inputs == inputs]
    if len(counted) < TRIES and all(record.interrupted for record in counted):
        return True
    return any(request.is_open(repetition, records, inputs) for request in requests)
