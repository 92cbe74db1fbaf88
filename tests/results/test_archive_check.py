"""An archive is complete, valid and attested, and its report can be made again."""

import hashlib
import io
import json
import zipfile
from dataclasses import replace

import pandas as pd
import pytest
from refused import refusal
from small_records import record
from study_files import study_file

from analysis.importers import write_derived
from analysis.pipeline import read_tables, write_all_tables
from analysis.report import make_report
from analysis.runs.facts import Facts
from analysis.runs.side_tables import write_details
from workflows.domain import InputError
from workflows.launch.attesters import Probe
from workflows.paths import INTERCONNECTS, ROOT
from workflows.plan.plan import make_plan
from workflows.results.archive import archive_study
from workflows.results.archive_check import SAME, _contradictory_records, _not_attested, check_archive
from workflows.results.collect import collect
from workflows.study.interconnects import load_interconnect

STUDY = f"""
name: theirs
import: [{ROOT}/analysis/published/gamess.csv, {ROOT}/analysis/published/fluent_peaks.csv]
baselines: [gigabit_ethernet]
analysis: {{draws: 100}}
"""


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """A study of published times, archived: made here as its rules make it, but for the printed report."""
    folder = tmp_path_factory.mktemp("archive")
    with pytest.MonkeyPatch.context() as here:
        here.chdir(folder)
        plan = make_plan(study_file(folder, STUDY))
        results, collected = plan.paths.results, collect(plan)
        (results / "figures").mkdir(parents=True)
        (results / "figures/index.json").write_text("[]")
        collected.runs.to_csv(results / "runs.csv", index=False)
        write_details(collected.details, results / "details")
        write_derived(collected.published, results / "published")
        (results / "facts.json").write_text(json.dumps(collected.facts.as_json()))
        places = results / "details", results / "published", results / "tables"
        write_all_tables(collected.complete, collected.facts, *places)
        tables = read_tables(results / "tables")
        report = make_report(collected.complete, tables, collected.facts, [], collected.published)
        (results / "report.json").write_text(json.dumps(report))
        for name in ("report.pdf", "report.html"):
            (results / name).write_text("printed")
        archive_study(plan)
        return folder / results / "theirs-archive.zip"


def changed(archive, target, **files):
    """A copy of an archive in which files have other contents, or (None) are missing."""
    with zipfile.ZipFile(archive) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            data = files.get(name.rpartition("/")[2].replace(".", "_"), old.read(name))
            if data is not None:
                new.writestr(name, data)
    return target


def test_an_archive_passes(archive):
    checked = check_archive(archive)
    assert checked.fails == []
    assert [line.partition(":")[0] for line in checked.holds] == [
        "whole",
        "valid",
        "attested",
        *["made again"] * 2,
    ]


def test_a_changed_and_a_missing_file_are_found(archive, tmp_path):
    copy = changed(archive, tmp_path / "a.zip", runs_csv=b"case\n", report_pdf=None)
    assert check_archive(copy).fails == [
        "results/report.pdf: is listed in ro-crate-metadata.json and missing",
        "results/runs.csv: is not what it was when the archive was made",
        "results/report.pdf: is missing: the study was not finished when it was archived",
    ]


def test_numbers_that_do_not_come_out_again_are_found(archive, tmp_path):
    """Whoever edits a table and signs it anew is found out by the runs."""
    with zipfile.ZipFile(archive) as packed:
        name = next(name for name in packed.namelist() if name.endswith("tables/scaling.csv"))
        crate = next(name for name in packed.namelist() if name.endswith("metadata.json"))
        old, listed = packed.read(name), packed.read(crate).decode()
    frame = pd.read_csv(io.BytesIO(old))
    frame.loc[0, "speedup"] *= 1.01
    new = frame.to_csv(index=False).encode()
    digests = [hashlib.sha256(data).hexdigest() for data in (old, new)]
    metadata = listed.replace(*digests).encode()
    copy = changed(archive, tmp_path / "a.zip", scaling_csv=new, **{"ro-crate-metadata_json": metadata})
    (failure,) = check_archive(copy).fails
    assert failure.startswith("tables/scaling.csv: row 1, speedup: ")


@pytest.mark.parametrize(
    ("name", "line"), [("../evil", "a path leaves its folder"), ("x/readme", "is no archive of ./run-study")]
)
def test_foreign_archives_are_refused(tmp_path, name, line):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as packed:
        packed.writestr(name, "x")
    assert line in refusal(InputError, check_archive, tmp_path / "a.zip")
    (tmp_path / "b.zip").write_text("no zip")
    assert "is no whole archive" in refusal(InputError, check_archive, tmp_path / "b.zip")


PROBE = Probe(ranks=(0, 1), hosts=("a", "a"), cores=("0", "1"), latency_us=0.5, bandwidth_MBps=5000.0)


def attested(probe, name="shared_memory"):
    rows = pd.DataFrame([{"interconnect": name, "record": "r.json"}])
    interconnects = {name: load_interconnect(name, INTERCONNECTS)} if name == "shared_memory" else {}
    return list(_not_attested(rows, {"r.json": record(probe=probe)}, interconnects))


def test_a_fabric_that_no_ping_pong_attests_is_reported():
    assert attested(PROBE) == []
    assert attested(None) == ["shared_memory: no ping-pong attests any of its 1 runs"]
    (failure,) = attested(replace(PROBE, latency_us=50.0))
    assert failure.startswith("r.json: counts, but the probe between ranks 0 and 1 contradicts shared_memory")
    assert attested(PROBE, "lost") == ["lost: its file is missing"]


def test_a_record_that_contradicts_the_table_is_found():
    kept = record(seconds=2.0, valid=True)
    row = {key: getattr(kept, key) for key in SAME}
    row |= {"case": kept.case.partition("-")[0], "valid": True, "reason": None, "record": "r"}
    assert list(_contradictory_records(pd.DataFrame([row]), {"r": kept}, Facts())) == []
    for key in ("seconds", "threads"):
        (failure,) = _contradictory_records(pd.DataFrame([row | {key: row[key] + 1}]), {"r": kept}, Facts())
        assert failure == f"r: another {key} than in runs.csv"
    assert list(_contradictory_records(pd.DataFrame([row]), {}, Facts())) == ["r: is in runs.csv and missing"]
