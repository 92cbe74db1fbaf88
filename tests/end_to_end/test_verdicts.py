"""What a study says of imported times that are told wrongly with medians, arithmetic means or too few draws."""

import json

import numpy as np
import pandas as pd
import pytest
from report_parts import plain, sayings

pytestmark = pytest.mark.slow


def lines(case, interconnect, processes, seconds):
    return [
        f"{case},{interconnect},{processes},{value!r},{block}"
        for block, value in enumerate(map(float, seconds), 1)
    ]


@pytest.fixture(scope="module")
def table():
    """Rows of ``case,interconnect,processes,seconds,block``; the baseline of all is slow."""
    rng = np.random.default_rng(0)
    fast = np.array([1, 2, 3, 4, 10, 10, 20, 30, 40, 50.0])
    found = lines("shared_noise", "slow", 2, fast * np.where(fast == 10, 0.95, 1.2))
    found += lines("shared_noise", "swift", 2, fast)
    # twice as fast at one count and half as fast at the other: a mean of 1
    steady = 1 + np.arange(10) / 1e4
    for count, times in {2: (10, 5), 4: (9.9, 19.8)}.items():
        for name, seconds in zip(("slow", "swift"), times, strict=True):
            found += lines("averages", name, count, seconds * steady)
    # a doubling over 20 blocks, and one of four blocks
    for case, blocks in (("twenty", 20), ("short", 4)):
        noise = np.exp(rng.normal(0, 0.02, (2, blocks)))
        found += lines(case, "slow", 2, 8 * noise[0]) + lines(case, "swift", 2, 4 * noise[1])
    # one serial run; equal times on four counts, and the baseline slower on more than one
    found += ["serial,,1,3.0,1"]
    for count, times in {2: (6, 4), 4: (5, 2.5), 8: (7, 3)}.items():
        for name, seconds in zip(("slow", "swift"), times, strict=True):
            found += lines("serial", name, count, seconds * np.exp(rng.normal(0, 0.01, 8)))
    return "\n".join(["case,interconnect,processes,seconds,block", *found]) + "\n"


def test_what_the_report_says(study_folder, tmp_path, table):
    (tmp_path / "times.csv").write_text(table)
    study = study_folder.write("name: told\nbaselines: [slow]\nimport: [times.csv]\n")
    study_folder.run_well(study, "--", "results/told/report.json")
    results = study_folder.results("told")
    improvement = pd.read_csv(results / "tables/improvement.csv").set_index("case")

    shared = improvement.loc["shared_noise"]
    assert shared["improvement_percent"] == pytest.approx(20) and shared["improvement_low"] > 0
    assert shared["verdict"] == "faster" and "medians" in shared["note"]
    assert improvement.loc["averages", "average_percent"] == pytest.approx(0, abs=1e-9)
    assert improvement.loc["twenty", "p_value"] == pytest.approx(2 / 2**20)
    assert improvement.loc["twenty", "verdict"] == "faster"
    assert improvement.loc["short", "verdict"] == "untestable with 4 blocks"
    serial = improvement.loc["serial"]
    assert (serial["baseline_peak_processes"], serial["at_processes"], serial["verdict"]) == (1, 4, "faster")

    said = plain("\n".join(sayings(json.loads((results / "report.json").read_text()))))
    assert "block by block the comparison has another sign than the medians" in said
    assert "1 of 5 tests of improvements cannot come out" in said
    assert "within one block only" not in said
