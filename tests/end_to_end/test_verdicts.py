"""What a study says of imported times that are told wrongly with medians, arithmetic means or too few draws."""

import json

import numpy as np
import pandas as pd
import pytest
from report_parts import plain, sayings
from study_folders import StudyFolder

pytestmark = pytest.mark.slow
HEAD = (
    "case,interconnect,processes,seconds,block,kind,cores,oversubscription,censored,seconds_low,seconds_high"
)


def lines(case, interconnect, processes, seconds, blocks=True, **more):
    rest = [more.get(name, "") for name in HEAD.split(",")[5:]]
    return [
        ",".join(map(str, [case, interconnect, processes, repr(value), block if blocks else "", *rest]))
        for block, value in enumerate(map(float, seconds), 1)
    ]


def both(case, processes, slow, swift, **more):
    """Times of the baseline and of the other."""
    return lines(case, "slow", processes, slow, **more) + lines(case, "swift", processes, swift, **more)


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Tables of one study of all of these, and what its report says."""
    rng = np.random.default_rng(0)

    def noise(*shape, percent=2):
        return np.exp(rng.normal(0, percent / 100, shape))

    fast = np.array([1, 2, 3, 4, 10, 10, 20, 30, 40, 50.0])
    found = both("shared_noise", 2, fast * np.where(fast == 10, 0.95, 1.2), fast)
    # twice as fast at one count and half as fast at the other: a mean of 1
    steady = 1 + np.arange(10) / 1e4
    for count, times in {2: (10, 5), 4: (9.9, 19.8)}.items():
        found += both("averages", count, *(seconds * steady for seconds in times))
    # a doubling over 20 blocks, one of four blocks, and one of samples of unequal size
    for case, blocks in (("twenty", 20), ("short", 4)):
        found += both(case, 2, *(np.array([[8], [4]]) * noise(2, blocks)))
    found += both("unequal", 2, 8 * noise(10), 4 * noise(3), blocks=False)
    # one serial run; equal times on four counts, and the baseline slower on more than one
    found += lines("serial", "", 1, [3.0])
    for count, times in {2: (6, 4), 4: (5, 2.5), 8: (7, 3)}.items():
        found += both("serial", count, *(seconds * noise(8, percent=1) for seconds in times))
    tied = 4 * noise(8)
    found += both("tie", 2, tied, tied) + both("one", 2, [8.0], [4.0])
    for blocks in (3, 5):
        found += lines(f"few{blocks}", "slow", 1, 10 * noise(blocks))
        found += lines(f"few{blocks}", "slow", 2, 5 * noise(blocks))
    # identical, and a flat top; 10 s, 10 s and three above 20 s; 10 [5, 15] against 5 [3, 9]
    of_block = noise(10, percent=5)
    for count in range(2, 18):
        found += both("flat", count, *(5 * of_block * noise(2, 10, percent=3)))
    found += lines("stopped", "slow", 2, 30 * noise(5)) + lines("stopped", "slow", 4, [10, 10])
    found += [
        line.replace(",1,", f",{n},", 1)
        for n in (3, 4, 5)
        for line in lines("stopped", "slow", 4, [20], censored="true")
    ]
    for name, band in {"slow": (10, 5, 15), "swift": (5, 3, 9)}.items():
        ends = {"seconds_low": band[1], "seconds_high": band[2]}
        found += lines("bands", name, 2, band[:1], kind="simulated", **ends)
    # serial 12 s, two processes on one core 10 s, four on two cores 6 s: no serial part
    found += lines("crowded", "", 1, [12.0] * 6)
    for count, seconds in {2: 10.0, 4: 6.0}.items():
        found += lines("crowded", "slow", count, [seconds] * 6, cores=count // 2, oversubscription=2)

    folder = tmp_path_factory.mktemp("told")
    study_folder = StudyFolder(folder)
    (folder / "times.csv").write_text("\n".join([HEAD, *found]) + "\n")
    study = study_folder.write(f"name: told\nbaselines: [slow]\nimport: [{folder}/times.csv]\n")
    study_folder.run_well(study, "--", "results/told/report.json")
    results = study_folder.results("told")
    said = plain("\n".join(sayings(json.loads((results / "report.json").read_text()))))
    return {table.stem: pd.read_csv(table) for table in (results / "tables").glob("*.csv")}, said


def test_one_functional_gives_estimate_interval_test_and_verdict(tables):
    improvement = tables[0]["improvement"].set_index("case")
    shared = improvement.loc["shared_noise"]
    assert shared["improvement_percent"] == pytest.approx(20) and shared["improvement_low"] > 0
    assert shared["p_value"] < 0.01 and "medians" in shared["note"]
    fastest = tables[0]["fastest"].query("case == 'shared_noise'").set_index("place")
    assert fastest.loc[1, "interconnect"] == "swift" and fastest.loc[2, "longer_percent"] == pytest.approx(20)
    tie = tables[0]["fastest"].query("case == 'tie'")
    assert tie["longer_percent"].dropna().tolist() == [0]
    assert improvement.loc["averages", "average_percent"] == pytest.approx(0, abs=1e-9)
    assert improvement.loc["twenty", "p_value"] == pytest.approx(2 / 2**20)
    assert improvement.loc["twenty", "verdict"] == "faster"
    assert improvement.loc["short", "verdict"] == "untestable with 4 blocks"
    assert improvement.loc["tie", "improvement_percent"] == 0 and improvement.loc["tie", "p_value"] == 1
    assert improvement.loc["flat", "p_adjusted"] > 0.5
    serial = improvement.loc["serial"]
    assert (serial["baseline_peak_processes"], serial["at_processes"]) == (1, 4)
    assert serial["improvement_low"] > 90


def test_bands_stopped_runs_cores_and_few_blocks(tables):
    band = tables[0]["improvement"].set_index("case").loc["bands"]
    ends = band[["improvement_percent", "improvement_low", "improvement_high"]].astype(float)
    assert ends.tolist() == pytest.approx([100, 100 * (5 / 9 - 1), 400])
    assert band["verdict"] == "faster or slower within the band"
    stopped = tables[0]["censored"].set_index("case").loc["stopped"]
    assert (stopped["censored"], stopped["seconds_low"]) == (3, 10) and np.isnan(stopped["seconds"])
    scaling = tables[0]["scaling"].set_index(["case", "interconnect", "processes"])
    crowded = scaling.loc[("crowded", "slow", 4)]
    assert crowded["serial_fraction"] == pytest.approx(0, abs=1e-9)
    assert crowded["incremental_efficiency"] == pytest.approx(10 / 12)
    assert np.isnan(scaling.loc[("few3", "slow", 2), "speedup_low"])
    assert scaling.loc[("few5", "slow", 2), "speedup_low"] > 0
    judged = tables[0]["proposal"].set_index(["case", "ranks"])["verdict"]
    assert (judged["few3", 2], judged["few5", 2]) == ("would pass (untested)", "pass")
    peaks = tables[0]["peaks"].set_index(["case", "interconnect"])
    assert len(peaks.loc[("flat", "slow"), "peak_set"].split()) >= 15


def test_what_the_report_says(tables):
    said = tables[1]
    assert "block by block the comparison has another sign than the medians" in said
    assert "With 4 blocks, 1 of 8 tests of improvements cannot come out" in said
    assert "within one block only" not in said
    assert "-17 %" not in said
    # three blocks are no one sample, and eight beside one serial run are none either
    for case in ("few3", "serial", "short"):
        assert f"{case}: one sample each" not in said
    assert "one: one sample each, without intervals" in said
    assert "1 of them one run each" in said and "; one run each" not in said
    assert "there is one count" in said and "more block" not in said
    assert "speedup still rises at 17 processes" not in said
