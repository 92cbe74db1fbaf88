"""Weak scaling from the study's file to its tables: each count at its own size, one curve."""

import json

import pandas as pd
import pytest
from disturbed import sound_runs

pytestmark = [pytest.mark.slow, pytest.mark.alone]

STUDY = """
name: weak
scaling: weak
cases: [cavity]
sizes: {cavity: [4k, 8k]}
interconnects: [emulated_gigabit, shared_memory]
processes: [1, 2]
blocks: 2
limits: {idle_seconds: 0.1}
"""


def test_sizes_grow_with_the_processes(study_folder):
    study_folder.run_well(study_folder.write(STUDY))
    results = study_folder.results("weak")
    runs = pd.read_csv(results / "runs.csv")
    sound_runs(runs)
    assert set(runs["case"]) == {"cavity"}
    assert set(zip(runs["processes"], runs["size"], strict=True)) == {(1, "4k"), (2, "8k")}
    facts = json.loads((results / "facts.json").read_text())
    assert facts["study"]["scaling"] == "weak"
    assert facts["cases"]["cavity"]["answer"]["references"] == {"4k": 0.03775329, "8k": 0.0377661845}

    scaling = pd.read_csv(results / "tables/scaling.csv")
    two = scaling[scaling["processes"] == 2]
    assert (two["efficiency"] - two["reference_seconds"] / two["seconds"]).abs().max() < 1e-12
    assert (two["speedup"] - 2 * two["efficiency"]).abs().max() < 1e-12
    assert set(two["reference_processes"]) == {1}
    assert "size grows with the processes" in (results / "report.html").read_text()


def test_a_wrong_size_is_one_line(study_folder):
    done = study_folder.run(study_folder.write(STUDY.replace("[4k, 8k]", "[4k, 5k]")))
    assert done.returncode != 0
    line = next(line for line in done.stderr.splitlines() if line.startswith("nodeworth:"))
    assert "sizes.cavity: no size '5k'" in line and "Traceback" not in done.stderr
