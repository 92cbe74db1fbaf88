"""A tiny study of both applications over all interconnects, from its file to its report."""

import json

import pandas as pd
import pytest
from disturbed import sound_runs, went_through
from machine_state import left_behind
from programs import ran
from study_files import study_file
from study_folders import StudyFolder

from workflows.paths import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.alone]

SMOKE = ROOT / "config/studies/smoke.yaml"
RUNS_COLUMNS = (
    "study case application interconnect kind nodes processes cores oversubscription block repetition "
    "attempt seconds valid reason noise started record"
).split()
POINTS = 4 + 3 * 4 + 2 + 2 * 4 + 1
"""Serial; 2 processes of three cases over four interconnects, of one over two; 4 of two over four, of one over one."""


@pytest.fixture(scope="module")
def smoke(tmp_path_factory):
    """The folder of the smoke study, run once, and what was on the machine before it."""
    before = left_behind()
    folder = StudyFolder(tmp_path_factory.mktemp("smoke"))
    folder.run_well(SMOKE)
    return folder, before


@pytest.fixture
def runs(smoke):
    return pd.read_csv(smoke[0].results("smoke") / "runs.csv")


def test_every_point_was_run_in_every_block(runs):
    assert list(runs.columns[: len(RUNS_COLUMNS)]) == RUNS_COLUMNS
    assert len(runs) == POINTS * 2
    points = runs.groupby(["case", "interconnect", "processes", "oversubscription"], dropna=False)
    assert points.size().eq(2).all()
    names = {"emulated_gigabit", "emulated_ten_gigabit", "tcp_loopback", "shared_memory"}
    assert set(runs["interconnect"].dropna()) == names
    assert set(runs["application"]) == {"openfoam", "nwchem"}


def test_the_runs_are_right(runs):
    assert (sound_runs(runs)["seconds"] > 0).all()
    assert runs["noise"].between(0, 1).all()


def test_serial_runs_have_no_interconnect(runs):
    assert runs.loc[runs["processes"] == 1, "interconnect"].isna().all()
    assert runs.loc[runs["processes"] > 1, "interconnect"].notna().all()


def test_a_record_has_the_place_of_every_rank(smoke, runs):
    emulated = runs[(runs["interconnect"] == "emulated_gigabit") & (runs["processes"] == 4)]
    assert len(emulated) == 2 * 2  # the chemistry is left out at two processes a core
    for path in emulated["record"]:
        record = json.loads((smoke[0].results("smoke") / path).read_text())
        hosts = [rank["host"] for rank in record["placement"]]
        assert len(set(hosts)) == 2 and hosts == sorted(hosts)
        assert len({rank["cores"] for rank in record["placement"]}) == 2
        assert record["mpi"] and record["version"] and record["machine"]["kernel"]
        log = smoke[0].results("smoke") / path.replace(".json", ".log.gz")
        assert log.stat().st_size > 0


def test_tables_and_reports_are_there(smoke, runs):
    results = smoke[0].results("smoke")
    scaling = pd.read_csv(results / "tables/scaling.csv")
    assert set(scaling["case"]) == set(runs["case"])
    assert (scaling.loc[scaling["processes"] == 1, "speedup"] == 1).all()
    assert (results / "report.pdf").read_bytes().startswith(b"%PDF")
    assert "<html" in (results / "report.html").read_text()[:1000]
    assert list((results / "figures").glob("*.svg"))


def test_nothing_is_left_behind(smoke):
    assert left_behind() <= smoke[1]


def test_a_finished_study_runs_nothing(smoke):
    def dates():
        files = smoke[0].results("smoke").rglob("*")
        return {file: file.stat().st_mtime_ns for file in files if file.is_file()}

    before = dates()
    smoke[0].run_well(SMOKE)
    assert before == dates()


def test_more_blocks_and_interconnects_are_added(study_folder):
    """More blocks, a record that is lost, one more interconnect: only what is not there is run.

    What is new is not taken for paired with what was there.
    """
    small = "name: grows\ncases: [cavity-smoke]\nprocesses: [1, 2]\nlimits: {idle_seconds: 0.1}\n"
    results = study_folder.results("grows")

    def grow(blocks, interconnects):
        study = study_folder.write(f"{small}interconnects: [{interconnects}]\nblocks: {blocks}\n")
        done = study_folder.run(study, "--", "results/grows/runs.csv")
        assert went_through(done.returncode, done.stderr), done.stderr
        records = {file: file.read_bytes() for file in results.rglob("records/**/*.json")}
        assert len(pd.read_csv(results / "runs.csv")) == len(records)
        return records

    first = grow(1, "shared_memory")
    second = grow(2, "shared_memory")
    assert (len(first), len(second)) == (2, 2 * 2)
    assert first.items() <= second.items()
    lost = next(file for file in second if file.name.startswith("block-2-"))
    lost.unlink()
    third = grow(2, "shared_memory")
    assert third.keys() == second.keys() and third[lost] != second[lost]
    last = grow(3, "shared_memory, tcp_loopback")
    assert len(last) == 2 * 3 + 3
    assert third.items() <= last.items()
    runs = pd.read_csv(results / "runs.csv")
    pairs = runs[runs["processes"] == 2].groupby("block")["interconnect"].apply(set)
    shared, other = ["shared_memory"], ["tcp_loopback"]
    assert sorted(map(sorted, pairs)) == [shared, shared, shared + other, other, other]


def test_a_case_again_is_a_further_attempt(tmp_path):
    study = study_file(
        tmp_path,
        "name: again_test\ncases: [cavity-smoke]\ninterconnects: [shared_memory]\nprocesses: [1, 2]\n"
        "blocks: 1\nlimits: {idle_seconds: 0.1}\n",
    )
    for options in ([], ["--again", "cavity-smoke/shared_memory"]):
        command = [ROOT / "run-study", *options, study, "--", "results/again_test/runs.csv"]
        done = ran(*command, cwd=tmp_path, timeout=300)
        assert went_through(done.returncode, done.stderr), done.stderr
    runs = pd.read_csv(tmp_path / "results/again_test/runs.csv")
    attempts = runs.groupby("processes")["attempt"].apply(list).to_dict()
    assert attempts == {1: [1], 2: [1, 2]}
