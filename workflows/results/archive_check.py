"""Check that an archive is complete, valid and attested, and that its report can be reproduced.

The command is ``./run-study --check ARCHIVE``.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pandas as pd

from analysis.importers import read_published
from analysis.pipeline import read_tables, write_all_tables
from analysis.report import make_report
from analysis.runs.facts import Facts
from analysis.runs.frames import as_float, is_missing
from analysis.runs.runs import TableError, read_runs
from workflows.domain import InputError, Interconnect
from workflows.measure.attestation import contradiction
from workflows.plan.record import Record
from workflows.plan.records import read_record
from workflows.results.archive import EXPECTED
from workflows.results.metadata import CRATE
from workflows.study.interconnects import load_interconnect
from workflows.study.sites import read_facts

SAME = ("case", "interconnect", "kind", "processes", "threads", "oversubscription", "seconds")
"""Values that a row of the runs table shares with its record."""
TOLERANCE = 1e-9
"""Relative difference up to which numbers count as equal: other machines may add in another order."""
MOST = 3
"""Number of errors of a kind that are listed."""


@dataclass
class Checked:
    """Lines about the checks that hold, and lines about the checks that fail."""

    holds: list[str] = field(default_factory=list)
    fails: list[str] = field(default_factory=list)

    def add(self, success: str, errors: Iterable[str]) -> None:
        """Add the result of a check: `success`, or the first `MOST` errors and the number of others."""
        errors = list(errors)
        more = len(errors) - MOST
        self.fails += errors[:MOST] + [f"and {more} more of this kind"] * (more > 0)
        self.holds += [] if errors else [success]


def check_archive(file: Path) -> Checked:
    """Check an archive in a temporary folder.

    Raises
    ------
    InputError
        If the file does not exist, is no archive of a study, or has a path outside its folder.
    """
    files, checked = _contents(file), Checked()
    checked.add(f"whole: {len(files)} files, each with its digest", _incomplete(files))
    if checked.fails:
        return checked
    with tempfile.TemporaryDirectory() as folder:
        for path, data in files.items():
            target = Path(folder) / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        try:
            _check_study(Path(folder), checked)
        except (TableError, InputError) as error:
            checked.fails.append(str(error).replace(f"{folder}/", ""))
    return checked


def _contents(file: Path) -> dict[str, bytes]:
    """Read the files of an archive. The keys are paths below the archive's only folder."""
    try:
        with zipfile.ZipFile(file) as packed:
            names = [name for name in packed.namelist() if not name.endswith("/")]
            outside = [name for name in names if ".." in PurePosixPath(name).parts or name.startswith("/")]
            if outside:
                raise InputError(f"{file}: a path leaves its folder: {outside[0]}")
            files = {name.partition("/")[2]: packed.read(name) for name in names}
    except FileNotFoundError:
        raise InputError(f"{file}: there is no such file") from None
    except (zipfile.BadZipFile, OSError) as error:
        raise InputError(f"{file}: is no whole archive: {error}") from None
    if CRATE not in files:
        raise InputError(f"{file}: is no archive of ./run-study --archive: {CRATE} is missing")
    return files


def _incomplete(files: Mapping[str, bytes]) -> Iterator[str]:
    """Yield one line for each file that is missing, changed, or not listed in the metadata."""
    graph = json.loads(files[CRATE])["@graph"]
    listed = {entry["@id"]: entry["sha256"] for entry in graph if "sha256" in entry}
    for path, digest in listed.items():
        if path not in files:
            yield f"{path}: is listed in {CRATE} and missing"
        elif hashlib.sha256(files[path]).hexdigest() != digest:
            yield f"{path}: is not what it was when the archive was made"
    for path in files.keys() - listed.keys() - {CRATE}:
        yield f"{path}: is not listed in {CRATE}"
    for name in EXPECTED:
        if not any(path == f"results/{name}" or path.startswith(f"results/{name}/") for path in files):
            yield f"results/{name}: is missing: the study was not finished when it was archived"


def _check_study(folder: Path, checked: Checked) -> None:
    """Check the records, the attestation, the tables and the report of an unpacked archive."""
    results = folder / "results"
    (results / "published").mkdir(exist_ok=True)  # an archive holds no empty folder
    all_runs, facts = read_runs(results / "runs.csv"), read_facts(results / "facts.json")
    runs = all_runs[all_runs["origin"] == "run"] if "origin" in all_runs else all_runs.iloc[:0]
    records: dict[str, Record] = {
        name: read_record(results / name) for name in runs["record"] if (results / name).is_file()
    }
    valid = runs[runs["valid"]]
    invalid = len(runs) - len(valid)
    checked.add(
        f"valid: {len(records)} records, {invalid} of them not counted, each with its reason",
        _contradictory_records(runs, records, facts),
    )
    files = folder / "study/config/interconnects"
    names = sorted(valid["interconnect"].dropna().unique())
    loaded = {name: load_interconnect(name, files) for name in names if (files / f"{name}.yaml").is_file()}
    attested = f"{len(names)} interconnects" if names else "nothing was run, so nothing is to be"
    checked.add(f"attested: {attested}", _not_attested(valid, records, loaded))
    with tempfile.TemporaryDirectory() as new:
        write_all_tables(all_runs, facts, results / "details", results / "published", Path(new))
        count = len(list((results / "tables").rglob("*.csv")))
        checked.add(
            f"made again: {count} tables with the same numbers",
            _different_tables(results / "tables", Path(new)),
        )
        entries = json.loads((results / "figures/index.json").read_text())
        published = read_published(results / "published")
        report = make_report(all_runs, read_tables(Path(new)), facts, entries, published)
    archived = json.loads((results / "report.json").read_text())
    checked.add(
        f"made again: {len(archived['sections'])} sections of the report",
        _different_sections(archived, report),
    )


def _contradictory_records(runs: pd.DataFrame, records: Mapping[str, Record], facts: Facts) -> Iterator[str]:
    """Yield one line for each missing repetition or record, and for each record that contradicts its row."""
    planned = facts.runs.planned
    if planned is not None and facts.runs.recorded != planned:
        yield f"{facts.runs.recorded} of {planned} planned repetitions are there"
    for name in facts.runs.lost:
        yield f"no run over {name} counts"
    for row in runs.to_dict("records"):
        name, record = row["record"], records.get(row["record"])
        if record is None:
            yield f"{name}: is in runs.csv and missing"
        elif differing := [key for key in SAME if not _is_same(row[key], _value_of(record, key))]:
            yield f"{name}: another {differing[0]} than in runs.csv"
        elif row["valid"] and record.problem:
            yield f"{name}: counts, but its run failed: {record.problem}"
        elif not row["valid"] and pd.isna(row["reason"]):
            yield f"{name}: does not count, without a reason"


def _value_of(record: Record, key: str) -> str | float | None:
    """Return the value of a record for a key of `SAME`.

    The case is returned without its size: in studies with several sizes, the runs table does not name it.
    """
    value: str | float | None = getattr(record, key)
    return record.case.partition("-")[0] if key == "case" else value


def _is_same(cell: object, value: str | float | None) -> bool:
    """Return whether a cell of the runs table holds a value of a record."""
    if is_missing(cell) or value is None:
        return is_missing(cell) and value is None
    if isinstance(value, str):
        return str(cell).partition("-")[0] == value.partition("-")[0]
    return bool(np.isclose(as_float(cell), float(value), rtol=TOLERANCE, atol=0))


def _not_attested(
    valid: pd.DataFrame, records: Mapping[str, Record], loaded: Mapping[str, Interconnect]
) -> Iterator[str]:
    """Yield one line for each interconnect without a probe, and each valid run that a probe contradicts."""
    for name in sorted(valid["interconnect"].dropna().unique()):
        rows = valid[valid["interconnect"] == name]
        interconnect = loaded.get(name)
        if interconnect is None:
            yield f"{name}: its file is missing"
            continue
        probes = {path: records[path].probe for path in rows["record"] if path in records}
        if not any(probe and not probe.problem for probe in probes.values()):
            yield f"{name}: no ping-pong attests any of its {len(rows)} runs"
        elif not interconnect.attest:
            yield f"{name}: its file says no range (attest) that a ping-pong must lie in"
        for path, probe in probes.items():
            if problem := contradiction(probe, interconnect):
                yield f"{path}: counts, but {problem}"


def _different_tables(archived: Path, made: Path) -> Iterator[str]:
    """Yield one line for each table that differs between the archive and the tables made from its runs."""
    old_names = {str(path.relative_to(archived)) for path in archived.rglob("*.csv")}
    new_names = {str(path.relative_to(made)) for path in made.rglob("*.csv")}
    for name in sorted(old_names ^ new_names):
        yield f"tables/{name}: {'comes out no more' if name in old_names else 'is new'}"
    for name in sorted(old_names & new_names):
        if (archived / name).read_bytes() != (made / name).read_bytes():
            old = pd.read_csv(archived / name, low_memory=False)
            new = pd.read_csv(made / name, low_memory=False)
            if difference := _difference(old, new):
                yield f"tables/{name}: {difference}"


def _difference(old: pd.DataFrame, new: pd.DataFrame) -> str | None:
    """Describe the first difference of two tables; None if their values are equal."""
    if list(old) != list(new) or len(old) != len(new):
        return "other rows or columns than in the archive"
    for column in old:
        try:
            pd.testing.assert_series_equal(
                old[column], new[column], rtol=TOLERANCE, atol=0, check_dtype=False
            )
        except AssertionError:
            pairs = zip(old[column], new[column], strict=True)
            for row, (before, now) in enumerate(pairs, 1):
                if _is_different(before, now):
                    return f"row {row}, {column}: {before} in the archive, {now} now"
    return None


def _is_different(before: object, now: object) -> bool:
    if is_missing(before) and is_missing(now):
        return False
    if isinstance(before, int | float) and isinstance(now, int | float):
        return not np.isclose(before, now, rtol=TOLERANCE, atol=0)
    return before != now


def _different_sections(archived: Mapping[str, Any], made: Mapping[str, Any]) -> Iterator[str]:
    """Yield one line for each section that differs between two reports."""
    old = {section["id"]: section for section in archived["sections"]}
    new = {section["id"]: section for section in made["sections"]}
    for name in old.keys() ^ new.keys():
        yield f"report: section {name} {'comes out no more' if name in old else 'is new'}"
    for name in old.keys() & new.keys():
        if old[name] != json.loads(json.dumps(new[name])):
            yield f"report: section {name} comes out otherwise"
