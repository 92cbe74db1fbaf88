"""A study on a Slurm of two nodes: one job per block, or one allocation; the tables are equal."""

import json
import shutil

import pandas as pd
import pytest
from cluster_folders import ClusterFolder
from disturbed import disturbed, sound_runs
from needs import SLURM
from programs import write_program

from workflows.paths import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.needs(*SLURM)]

STUDY = """
name: smoke_cluster
cases: [cavity-4k, water_scf-smoke]
interconnects: [emulated_gigabit, shared_memory]
processes: [1, 2, 4]
oversubscription: [1, 2]
exclude: [{processes: 2, oversubscription: 2}, {case: water_scf-smoke, oversubscription: 2}]
blocks: 1
limits: {run_seconds: 60, idle_seconds: 0}
"""
SIMULATED = """
name: simulated_cluster
cases: [cavity-4k]
interconnects: [gigabit_ethernet]
processes: [1, 2]
blocks: 1
"""
POINTS = {
    ("cavity-4k", 1, 1), ("cavity-4k", 2, 1), ("cavity-4k", 4, 2),
    ("water_scf-smoke", 1, 1), ("water_scf-smoke", 2, 1),
}  # fmt: skip
TARGET = "results/smoke_cluster/runs.csv"
COLUMNS = (
    "study case application interconnect kind nodes processes cores oversubscription block repetition "
    "attempt seconds valid reason noise started record"
).split()


@pytest.fixture(scope="module")
def folders(slurm, tmp_path_factory):
    """The same study, in jobs of its blocks and in one allocation."""
    made = {}
    for way in ("jobs", "allocation"):
        folder = ClusterFolder(slurm, tmp_path_factory.mktemp(way))
        folder.study.write_text(STUDY)
        if way == "jobs":
            folder.run_well(target=TARGET)
        else:
            folder.until_completed(folder.allocate(target=TARGET, nodes=2, time=10), 240)
        made[way] = folder
    return made


@pytest.mark.parametrize("way", ["jobs", "allocation"])
def test_the_table_equals_that_of_one_machine(folders, way):
    runs = pd.read_csv(folders[way].folder / TARGET)
    assert list(runs.columns[: len(COLUMNS)]) == COLUMNS
    assert set(zip(runs["case"], runs["processes"], runs["oversubscription"], strict=True)) == POINTS
    assert (sound_runs(runs)["seconds"] > 0).all()
    parallel = runs[runs["processes"] > 1]
    assert set(parallel["interconnect"]) == {"emulated_gigabit"} and set(parallel["nodes"]) == {2}


@pytest.mark.parametrize("way", ["jobs", "allocation"])
def test_a_record_has_job_and_place_of_every_rank(folders, way):
    records = folders[way].records()
    assert len(records) == len(POINTS)
    for path, record in records.items():
        job = record["cluster"]
        assert job["launcher"] == "srun" and job["job"].isdigit() and job["exclusive"], path
        assert record["command"][0] == "srun" and "--mpi=pmix" in record["command"], path
        hosts = {rank["host"] for rank in record["placement"]}
        assert len(hosts) == record["nodes"], path
        assert len({(rank["host"], rank["cores"]) for rank in record["placement"]}) == record["cores"], path
        assert record["mpi"] and record["version"]
        if record["processes"] > 1 and not record["problem"]:
            assert record["probe"]["way"] == "in the run" and "tcp" in record["probe"]["transports"], path


def test_jobs_of_blocks_and_steps_of_one_allocation(folders):
    jobs, allocation = ({r["cluster"]["job"] for r in folders[way].records().values()} for way in folders)
    assert len(jobs) == len(POINTS) and len(allocation) == 1


def test_impossible_points_are_left_out(folders):
    output = folders["jobs"].output()
    assert "over shared_memory: needs more cores than there are (1)" in output, output


def test_a_finished_study_submits_nothing(folders):
    folder = folders["jobs"]
    before = folder.queue().count("\n")
    folder.run_well(target=TARGET)
    assert folder.queue().count("\n") == before


def test_the_next_command_submits_jobs_for_an_edited_case(slurm, tmp_path):
    case = tmp_path / "cases/command/faulty"
    shutil.copytree(ROOT / "tests/cases/command/faulty", case)
    folder = ClusterFolder(slurm, tmp_path).faulty("sound")
    folder.study.write_text(
        folder.study.read_text().replace(str(ROOT / "tests/cases"), str(tmp_path / "cases"))
    )
    original = (case / "faulty.py").read_text()
    for text, attempts in ((original, [1, 1]), (f"{original}\n", [1, 1, 2, 2]), (original, [1, 1, 2, 2])):
        (case / "faulty.py").write_text(text)
        folder.run_well()
        assert sorted(record["attempt"] for record in folder.records().values()) == attempts


@pytest.mark.parametrize("way", ["jobs", "allocation"])
def test_no_file_of_a_run_is_left(folders, way):
    assert not list(folders[way].folder.glob("results/*/scratch/*"))
    assert not list(folders[way].folder.glob("results/*/measured/**/*.running.json"))


def test_the_launcher_of_open_mpi(slurm, tmp_path):
    folder = ClusterFolder(slurm, tmp_path).faulty("sound")
    folder.site.write_text(folder.site.read_text() + "launcher: mpirun\n")
    folder.run_well()
    records = folder.records()
    assert {record["command"][0] for record in records.values()} == {"mpirun"}
    assert all(record["valid"] or disturbed(record["reason"]) for record in records.values())
    probes = [record["probe"] for record in records.values() if record["probe"]]
    assert probes and all("none of its programs initialised MPI" in probe["way"] for probe in probes)
    assert len({rank["host"] for rank in next(iter(records.values()))["placement"]}) == 2


def test_modules_that_the_cluster_file_names(slurm, tmp_path, monkeypatch):
    """The program of the case is on nobody's PATH but that of a module."""
    case = tmp_path / "cases/command/faulty"
    shutil.copytree(ROOT / "tests/cases/command/faulty", case)
    described = (case / "case.yaml").read_text()
    (case / "case.yaml").write_text(described.replace("[python3,", "[python_of_site,"))
    (tmp_path / "bin").mkdir()
    write_program(tmp_path / "bin/python_of_site", '#!/bin/sh\nexec python3 "$@"\n')
    (tmp_path / "modulefiles/solver").mkdir(parents=True)
    (tmp_path / "modulefiles/solver/1").write_text(f"#%Module\nprepend-path PATH {tmp_path}/bin\n")
    monkeypatch.setenv("MODULESHOME", "/usr/share/modules")
    monkeypatch.setenv("MODULEPATH", str(tmp_path / "modulefiles"))
    folder = ClusterFolder(slurm, tmp_path).faulty("sound", processes=(1,))
    study = folder.study.read_text()
    folder.study.write_text(study.replace(str(ROOT / "tests/cases"), str(tmp_path / "cases")))
    folder.site.write_text(folder.site.read_text() + "modules: [solver]\n")
    folder.run_well()
    (record,) = folder.records().values()
    assert record["reason"] is None and "python_of_site" in record["command"]
    assert record["environment"]["LOADEDMODULES"] == "solver/1"


def test_the_simulated_part_is_made_in_jobs(slurm, tmp_path):
    folder = ClusterFolder(slurm, tmp_path)
    folder.study.write_text(SIMULATED)
    folder.run_well(target="results/simulated_cluster/runs.csv")
    runs = pd.read_csv(tmp_path / "results/simulated_cluster/runs.csv")
    assert set(runs["processes"]) == {1, 2} and (runs["kind"] == "simulated").all()
    assert (runs["seconds"] > 0).all()
    traces = list(tmp_path.glob("results/*/traces/*/*/trace.json"))
    assert len(traces) == 2
    for trace in traces:
        about = json.loads(trace.read_text())
        assert about["machine"]["host"].startswith("emulated-node") and about["load"]["cores"] == 1, trace


def test_an_allocation_stops_before_its_end_and_goes_on(slurm, tmp_path):
    """The job puts itself back into the queue and goes on.

    A walltime of a minute, in the last 20 s of which no run is begun, has no place for five runs of 12 s.
    """
    folder = ClusterFolder(slurm, tmp_path).faulty("slow", blocks=5, processes=(2,))
    number = folder.allocate(nodes=2, time=1)
    folder.until((tmp_path / "results/faulty/runs.csv").exists, 500)
    output = folder.output()
    assert "before the next run would" in output and "it goes on in the next" in output, output
    records = folder.records()
    assert len(records) == 5
    assert all(record["valid"] or disturbed(record["reason"]) for record in records.values())
    assert {record["cluster"]["job"] for record in records.values()} == {number}
    assert len({record["cluster"]["restarts"] for record in records.values()}) > 1
    assert "TIMEOUT" not in folder.queue()
