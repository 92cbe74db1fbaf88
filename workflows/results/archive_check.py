"""Whether an archive of a study is whole, valid and attested, and its report comes out again.

``./run-study --check ARCHIVE``
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import numpy as np
import pandas as pd

from analysis.importers import read_published
from analysis.pipeline import read_tables, write_all_tables
from analysis.report import make_report
from analysis.runs.facts import Facts
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
"""What a row of the runs table and its record both tell."""
TOLERANCE = 1e-9
"""Relative difference of numbers that are called the same: other machines add up in another order."""
MOST = 3
"""Examples of one thing that is wrong."""


@dataclass
class Checked:
    """What was found of an archive: lines on what holds, and on what does not."""

    holds: list[str] = field(default_factory=list)
    fails: list[str] = field(default_factory=list)

    def found(self, good: str, wrong: list[str]) -> None:
        """Note that something holds, or what is wrong: `MOST` examples of it, and how many more."""
        shown, more = wrong[:MOST], len(wrong) - MOST
        self.fails += shown + [f"and {more} more of this kind"] * (more > 0)
        self.holds += [] if wrong else [good]


def check_archive(file: Path) -> Checked:
    """Check an archive; it is unpacked into a folder that is removed again.

    Raises
    ------
    InputError
        If there is no such file, it is no archive of a study, or a path in it leaves its folder.
    """
    files, checked = _contents(file), Checked()
    checked.found(f"whole: {len(files)} files, each with its digest", list(_not_whole(files)))
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
    """Files of an archive by their path below its one folder."""
    try:
        with zipfile.ZipFile(file) as packed:
            names = [name for name in packed.namelist() if not name.endswith("/")]
            if odd := [name for name in names if ".." in PurePosixPath(name).parts or name.startswith("/")]:
                raise InputError(f"{file}: a path leaves its folder: {odd[0]}")
            files = {name.partition("/")[2]: packed.read(name) for name in names}
    except FileNotFoundError:
        raise InputError(f"{file}: there is no such file") from None
    except (zipfile.BadZipFile, OSError) as error:
        raise InputError(f"{file}: is no whole archive: {error}") from None
    if CRATE not in files:
        raise InputError(f"{file}: is no archive of ./run-study --archive: {CRATE} is missing")
    return files


def _not_whole(files: Mapping[str, bytes]) -> Iterator[str]:
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
    results = folder / "results"
    (results / "published").mkdir(exist_ok=True)  # an archive holds no empty folder
    runs, facts = read_runs(results / "runs.csv"), read_facts(results / "facts.json")
    own = runs[runs["origin"] == "run"] if "origin" in runs else runs.iloc[:0]
    records = {name: read_record(results / name) for name in own["record"] if (results / name).is_file()}
    valid = own[own["valid"]]
    what = f"valid: {len(records)} records, {len(own) - len(valid)} of them not counted, each with its reason"
    checked.found(what, list(_not_valid(own, records, facts)))
    known = folder / "study/config/interconnects"
    names = sorted(valid["interconnect"].dropna().unique())
    loaded = {name: load_interconnect(name, known) for name in names if (known / f"{name}.yaml").is_file()}
    what = (
        f"attested: {len(names)} interconnects" if names else "attested: nothing was run, so nothing is to be"
    )
    checked.found(what, list(_not_attested(valid, records, loaded)))
    with tempfile.TemporaryDirectory() as fresh:
        write_all_tables(runs, facts, results / "details", results / "published", Path(fresh))
        count = len(list((results / "tables").rglob("*.csv")))
        differing = list(_other_tables(results / "tables", Path(fresh)))
        checked.found(f"made anew: {count} tables with the same numbers", differing)
        entries = json.loads((results / "figures/index.json").read_text())
        published = read_published(results / "published")
        made = make_report(runs, read_tables(Path(fresh)), facts, entries, published)
    told = json.loads((results / "report.json").read_text())
    checked.found(
        f"made anew: {len(told['sections'])} sections of the report", list(_other_sections(told, made))
    )


def _not_valid(own: pd.DataFrame, records: Mapping[str, Record], facts: Facts) -> Iterator[str]:
    if (planned := facts.runs.planned) is not None and facts.runs.recorded != planned:
        yield f"{facts.runs.recorded} of {planned} planned repetitions are there"
    for name in facts.runs.lost:
        yield f"no run over {name} counts"
    for row in own.to_dict("records"):
        name, record = row["record"], records.get(row["record"])
        if record is None:
            yield f"{name}: is in runs.csv and missing"
        elif odd := [key for key in SAME if not _same(row[key], _of_record(record, key))]:
            yield f"{name}: another {odd[0]} than in runs.csv"
        elif row["valid"] and record.problem:
            yield f"{name}: counts, but its run failed: {record.problem}"
        elif not row["valid"] and pd.isna(row["reason"]):
            yield f"{name}: does not count, without a reason"


def _of_record(record: Record, key: str) -> object:
    if key == "case":
        return record.case.partition("-")[0]  # a study that scales its cases names them without a size
    return getattr(record, key)


def _same(one: object, other: object) -> bool:
    if pd.isna(one) or other is None:
        return pd.isna(one) and other is None
    if isinstance(other, str):
        return str(one).partition("-")[0] == other.partition("-")[0]
    return bool(np.isclose(float(one), float(other), rtol=TOLERANCE, atol=0))


def _not_attested(
    valid: pd.DataFrame, records: Mapping[str, Record], loaded: Mapping[str, Interconnect]
) -> Iterator[str]:
    for name, rows in valid.dropna(subset="interconnect").groupby("interconnect"):
        known = loaded.get(name)
        if known is None:
            yield f"{name}: its file is missing"
            continue
        probes = {path: records[path].probe for path in rows["record"] if path in records}
        if not any(probe and not probe.problem for probe in probes.values()):
            yield f"{name}: no ping-pong attests any of its {len(rows)} runs"
        elif not known.attest:
            yield f"{name}: its file says no range (attest) that a ping-pong must lie in"
        for path, probe in probes.items():
            if told := contradiction(probe, known):
                yield f"{path}: counts, but {told}"


def _other_tables(archived: Path, fresh: Path) -> Iterator[str]:
    names = [
        {str(path.relative_to(folder)) for path in folder.rglob("*.csv")} for folder in (archived, fresh)
    ]
    for name in sorted(names[0] ^ names[1]):
        yield f"tables/{name}: {'comes out no more' if name in names[0] else 'is new'}"
    for name in sorted(names[0] & names[1]):
        if (archived / name).read_bytes() != (fresh / name).read_bytes():
            old, new = (pd.read_csv(folder / name, low_memory=False) for folder in (archived, fresh))
            if told := _difference(old, new):
                yield f"tables/{name}: {told}"


def _difference(old: pd.DataFrame, new: pd.DataFrame) -> str | None:
    """Say where two tables differ, first of all; None where their numbers are the same."""
    if list(old) != list(new) or len(old) != len(new):
        return "other rows or columns than in the archive"
    for column in old:
        try:
            pd.testing.assert_series_equal(
                old[column], new[column], rtol=TOLERANCE, atol=0, check_dtype=False
            )
        except AssertionError:
            row = next(
                place
                for place, pair in enumerate(zip(old[column], new[column], strict=True))
                if _apart(*pair)
            )
            return f"row {row + 1}, {column}: {old[column][row]} in the archive, {new[column][row]} anew"
    return None


def _apart(one: object, other: object) -> bool:
    if pd.isna(one) and pd.isna(other):
        return False
    if isinstance(one, int | float) and isinstance(other, int | float):
        return not np.isclose(one, other, rtol=TOLERANCE, atol=0)
    return one != other


def _other_sections(told: Mapping, made: Mapping) -> Iterator[str]:
    old, new = ({section["id"]: section for section in one["sections"]} for one in (told, made))
    for name in old.keys() ^ new.keys():
        yield f"report: section {name} {'comes out no more' if name in old else 'is new'}"
    for name in old.keys() & new.keys():
        if old[name] != json.loads(json.dumps(new[name])):
            yield f"report: section {name} comes out otherwise"
