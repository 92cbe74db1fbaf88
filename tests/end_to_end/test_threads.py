"""Processes and threads of a real OpenMP program: each has its own core, or the run does not count."""

import json
from pathlib import Path

import pandas as pd
import pytest
from needs import need
from programs import ran
from study_folders import StudyFolder

from analysis.runs.runs import ENDS_OF_COMPUTING

pytestmark = [pytest.mark.slow, pytest.mark.alone]

STUDY = """
name: threads
cases_folder: cases
interconnects_folder: interconnects
cases: [pi]
interconnects: [shared_memory, both_on_a_core, gigabit_ethernet]
processes: [1, 2]
threads: [1, 2]
simulation: {repeats: 3}
exclude: [{interconnect: both_on_a_core, threads: 1}]
blocks: 2
limits: {idle_seconds: 0.1}
"""
CASE = """
application: command
title: Integral
description: A sum by processes and threads.
stands_for: nothing
size: own
sizes:
  own: {parameters: {steps: 60000000}, serial_seconds: 0.3, memory_MB: 10, golden: 3.14159265359, golden_from: pi}
answer: {quantity: pi, unit: "", possible: [3, 4], tolerance: 1.0e-9, reason: rounding}
settings:
  program: [./pi, $steps, $threads]
  read: {seconds: 'in (\\S+) s', answer: 'pi (\\S+) in'}
"""
BOTH_ON_A_CORE = """
name: both_on_a_core
kind: measured
title: Both threads on a core
description: Shared memory, with every thread bound to the first core.
launch:
  mpi: openmpi
  mca: {btl: "self,vader"}
  env: {OMP_PLACES: "{0}"}
"""


def test_processes_or_threads(tmp_path):
    need("mpicc.openmpi")
    folder = StudyFolder(tmp_path)
    case, interconnects = tmp_path / "cases/command/pi", tmp_path / "interconnects"
    case.mkdir(parents=True)
    interconnects.mkdir()
    (case / "case.yaml").write_text(CASE)
    (interconnects / "both_on_a_core.yaml").write_text(BOTH_ON_A_CORE)
    source = Path(__file__).with_name("pi.c")
    done = ran("mpicc.openmpi", "-O2", "-fopenmp", source, "-o", case / "pi")
    assert done.returncode == 0, done.stderr

    plan = folder.run(folder.write(STUDY))
    assert "2 processes of 2 threads at oversubscription 1 over shared_memory" in plan.stderr
    assert plan.returncode == 1 and "no run over both_on_a_core is valid" in plan.stderr
    results = folder.results("threads")
    runs = pd.read_csv(results / "runs.csv")
    simulated, runs = (runs[runs["kind"].eq("simulated") == is_simulated] for is_simulated in (True, False))
    bad = runs["interconnect"] == "both_on_a_core"
    last_columns = ["threads", "probe_latency_us", "world_verified", "seconds_low", "seconds_high"]
    assert list(runs)[-9:] == [*last_columns, *ENDS_OF_COMPUTING]
    assert runs.loc[~bad, "valid"].all()
    assert runs.loc[bad, "reason"].str.contains("rank 0: 2 of its threads on core 0, not 1 on each of").all()
    assert sorted(runs.loc[~bad, ["processes", "threads", "cores"]].values.tolist()) == [
        *[[1, 1, 1]] * 2,
        *[[1, 2, 2]] * 2,
        *[[2, 1, 2]] * 2,
    ]

    hybrid = runs[(runs["threads"] == 2) & ~bad]
    for path in hybrid["record"]:
        assert "/threads-2/" in path
        record = json.loads((results / path).read_text())
        assert set(record["companions"]) == {
            "shared_memory",
            "shared_memory/threads-2",
            "both_on_a_core/threads-2",
        }
        (rank,) = record["placement"]
        first, second = rank["threads"][:2]
        assert first["cores"] != second["cores"] and second["cpu_seconds"] > 0.3 * first["cpu_seconds"]

    hybrid = pd.read_csv(results / "tables/hybrid.csv").set_index("kind")
    row = hybrid.loc["measured"]
    assert (row["processes"], row["threads"], row["processes_of_baseline"]) == (1, 2, 2)
    assert row["paired"] and row["blocks"] == 2
    check_simulated(results, simulated, hybrid)
    report = (results / "report.html").read_text()
    assert "Processes or threads" in report and "1 × 2 against 2 × 1" in report


def check_simulated(results, runs, hybrid):
    """Two threads are traced on two cores, and two ranks of two threads share them; alone each rank has both."""
    points = runs[["processes", "threads", "cores", "nodes"]].values.tolist()
    assert sorted(points) == [[1, 1, 1, 1], [1, 2, 2, 1], [2, 1, 2, 1], [2, 2, 4, 2]], "two cores a node"
    traces = pd.read_csv(results / "tables/traces.csv").set_index(["processes", "threads"])
    assert (traces["timing"] == "alone").all()
    assert traces["clock"].tolist() == ["thread_cpu", "elapsed", "thread_cpu", "elapsed"]
    assert traces["cores"].tolist() == [1, 2, 2, 2]
    row = hybrid.loc["simulated"]
    assert (row["processes"], row["threads"], row["processes_of_baseline"]) == (1, 2, 2)
