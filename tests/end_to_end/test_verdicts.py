"""Verdicts on imported times that medians, arithmetic means or too few draws would get wrong."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from report_parts import plain, sayings, table_lines
from scipy import stats
from study_folders import StudyFolder

pytestmark = pytest.mark.slow
HEAD = (
    "case,interconnect,processes,seconds,block,kind,cores,oversubscription,censored,seconds_low,seconds_high,"
    "speed_probe_seconds"
)
FLAT, SPREAD = 39, 35
"""Seeds of a flat top and of unequal spreads at which plain tests find a difference, as they do too often."""


def lines(case, interconnect, processes, seconds, blocks=True, **more):
    rest = [more.get(name, "") for name in HEAD.split(",")[5:]]
    return [
        ",".join(map(str, [case, interconnect, processes, repr(value), block if blocks else "", *rest]))
        for block, value in enumerate(map(float, seconds), 1)
    ]


def both(case, processes, slow, swift, **more):
    """Times of the baseline and of the other."""
    return lines(case, "slow", processes, slow, **more) + lines(case, "swift", processes, swift, **more)


def datasets():
    """Lines of the imported table."""
    rng = np.random.default_rng(0)

    def noise(*shape, percent=2):
        return np.exp(rng.normal(0, percent / 100, shape))

    fast = np.array([1, 2, 3, 4, 10, 10, 20, 30, 40, 50.0])
    csv_lines = both("shared_noise", 2, fast * np.where(fast == 10, 0.95, 1.2), fast)
    # twice as fast at one count and half as fast at the other: a mean of 1
    steady = 1 + np.arange(10) / 1e4
    for count, times in {2: (10, 5), 4: (9.9, 19.8)}.items():
        csv_lines += both("averages", count, *(seconds * steady for seconds in times))
    # 5 % under the noise of 30 blocks, 20 %, that both share
    csv_lines += both(
        "noisy_blocks", 2, *(np.array([[8.4], [8]]) * noise(30, percent=20) * noise(2, 30, percent=3))
    )
    # a doubling over 20 blocks, one of four blocks, and one of samples of unequal size
    for case, blocks in (("twenty", 20), ("short", 4)):
        csv_lines += both(case, 2, *(np.array([[8], [4]]) * noise(2, blocks)))
    csv_lines += both("unequal", 2, 8 * noise(10), 4 * noise(3), blocks=False)
    # one serial run; equal times on four counts, and the baseline slower on more than one
    csv_lines += lines("serial", "", 1, [3.0])
    for count, times in {2: (6, 4), 4: (5, 2.5), 8: (7, 3)}.items():
        csv_lines += both("serial", count, *(seconds * noise(8, percent=1) for seconds in times))
    tied = 4 * noise(8)
    csv_lines += both("tie", 2, tied, tied) + both("one", 2, [8.0], [4.0])
    for blocks in (3, 5):
        csv_lines += lines(f"few{blocks}", "slow", 1, 10 * noise(blocks))
        csv_lines += lines(f"few{blocks}", "slow", 2, 5 * noise(blocks))
    # identical, and a flat top; 10 s, 10 s and three above 20 s; 10 [5, 15] against 5 [3, 9]
    chance = np.random.default_rng(FLAT)
    of_block = np.exp(chance.normal(0, 0.05, 10))
    for count in range(2, 18):
        csv_lines += both("flat", count, *(5 * of_block * np.exp(chance.normal(0, 0.03, (2, 10)))))
    csv_lines += lines("stopped", "slow", 2, 30 * noise(5)) + lines("stopped", "slow", 4, [10, 10])
    csv_lines += [
        line.replace(",1,", f",{n},", 1)
        for n in (3, 4, 5)
        for line in lines("stopped", "slow", 4, [20], censored="true")
    ]
    for name, band in {"slow": (10, 5, 15), "swift": (5, 3, 9)}.items():
        ends = {"seconds_low": band[1], "seconds_high": band[2]}
        csv_lines += lines("bands", name, 2, band[:1], kind="simulated", **ends)
    # serial 12 s, two processes on one core 10 s, four on two cores 6 s: no serial part
    csv_lines += lines("crowded", "", 1, [12.0] * 6)
    for count, seconds in {2: 10.0, 4: 6.0}.items():
        csv_lines += lines("crowded", "slow", count, [seconds] * 6, cores=count // 2, oversubscription=2)
    # congestion of one interconnect that a whole sweep shares; a ratio that wanders from block to block
    steady, congested = noise(10), np.exp(rng.normal(0, 0.08, 10))
    for count, times in {2: (8, 6), 4: (6, 3), 8: (5, 2)}.items():
        csv_lines += both("sweeps", count, times[0] * steady, times[1] * congested)
    wave = np.exp(0.05 + 0.1 * np.sin(np.arange(28) / 4))
    csv_lines += both("wandering", 2, 8 * wave, np.full(28, 8.0))
    # 10 % apart on cores whose speed changes by a tenth from run to run, as work beside them tells
    for name, seconds in (("slow", 8.8), ("swift", 8.0)):
        for block, pace in enumerate(noise(12, percent=10), 1):
            (line,) = lines("paced", name, 2, seconds * pace * noise(1), speed_probe_seconds=0.05 * pace)
            csv_lines.append(line.replace(",1,", f",{block},", 1))
    # equal but for their spread, 20 lone runs against 5; three pairs of equal times; a curve that no model has
    chance = np.random.default_rng(SPREAD)
    for name, blocks, percent in (("slow", 20, 2), ("swift", 5, 10)):
        times = 8 * np.exp(chance.normal(0, percent / 100, blocks))
        csv_lines += lines("uneven", name, 2, times, blocks=False)
    csv_lines += lines("rising", "slow", 2, [1, 1, 2, 2, 3, 3])
    for count in (1, 2, 4, 8, 16):
        csv_lines += lines("bent", "slow", count, (100 / count + 3 * np.sqrt(count)) * noise(6, percent=1))
    return csv_lines


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Tables of one study of all of these, its runs, and the sentences of its report."""
    folder = tmp_path_factory.mktemp("verdicts")
    study_folder = StudyFolder(folder)
    (folder / "times.csv").write_text("\n".join([HEAD, *datasets()]) + "\n")
    study = study_folder.write(
        f"name: verdicts\nbaselines: [slow]\nanalysis: {{extrapolation: 8}}\nimport: [{folder}/times.csv]\n"
    )
    study_folder.run_well(study, "--", "results/verdicts/report.json")
    results = study_folder.results("verdicts")
    report = json.loads((results / "report.json").read_text())
    lines_of = [plain(" | ".join(line["cells"])) for _, line in table_lines(report)]
    sentences = plain("\n".join([*sayings(report), *lines_of]))
    files = [results / "runs.csv", *(results / "tables").glob("*.csv")]
    return {table.stem: pd.read_csv(table) for table in files}, sentences


@pytest.fixture(scope="module")
def improvement(tables):
    return tables[0]["improvement"].set_index("case")


def test_one_functional_gives_estimate_interval_test_and_verdict(tables, improvement):
    shared = improvement.loc["shared_noise"]
    assert shared["improvement_percent"] == pytest.approx(20) and shared["improvement_low"] > 0
    assert shared["p_value"] < 0.01 and "medians" in shared["note"]
    fastest = tables[0]["fastest"].query("case == 'shared_noise'").set_index("place")
    assert fastest.loc[1, "interconnect"] == "swift" and fastest.loc[2, "longer_percent"] == pytest.approx(20)
    tie = tables[0]["fastest"].query("case == 'tie'")
    assert tie["longer_percent"].dropna().tolist() == [0] and tie["may_be_fastest"].all()
    noisy = improvement.loc["noisy_blocks"]  # medians tell it to 9 points
    assert noisy["improvement_low"] < 5 < noisy["improvement_high"] < noisy["improvement_low"] + 5
    assert improvement.loc["averages", "average_percent"] == pytest.approx(0, abs=1e-9)
    assert improvement.loc["twenty", "p_value"] == pytest.approx(2 / 2**20)
    assert improvement.loc["twenty", "verdict"] == "faster"
    assert improvement.loc["short", "verdict"] == "untestable with 4 blocks"
    lone = improvement.loc["one"]
    assert lone["verdict"] == "faster (a single value, untested)" and np.isnan(lone["p_value"])
    assert improvement.loc["tie", "improvement_percent"] == 0 and improvement.loc["tie", "p_value"] == 1
    serial = improvement.loc["serial"]
    assert (serial["baseline_peak_processes"], serial["at_processes"]) == (1, 4)
    assert serial["improvement_low"] > 90


def log_ratios(tables, case, count):
    """Of the baseline's times to the other's, block by block."""
    runs = tables["runs"].query(f"case == '{case}' and processes == {count}")
    times = runs.pivot(index="block", columns="interconnect", values="seconds")
    return np.log(times["slow"] / times["swift"])


def test_a_peak_that_was_chosen_is_not_tested_as_if_given(tables, improvement):
    """At the baseline's luckiest of 16 equal counts, the exact test of this count would be significant."""
    row = improvement.loc["flat"]
    given = stats.wilcoxon(log_ratios(tables[0], "flat", row["at_processes"]), method="exact").pvalue
    assert given <= 0.05 < row["p_value"]


def test_a_sweep_is_a_unit(improvement):
    """What three counts share does not average out: the mean of all is known no better than one of them."""
    ends = [f"{quantity}_{end}" for quantity in ("average", "improvement") for end in ("low", "high")]
    low, high, *of_one = 1 + improvement.loc["sweeps", ends].astype(float) / 100
    assert high / low == pytest.approx(of_one[1] / of_one[0]) and high / low > 1.05


def test_blocks_that_depend_on_the_ones_before_have_no_plain_p(tables, improvement):
    row = improvement.loc["wandering"]
    assert row["lag_one_correlation"] > 0.8 and row["effective_blocks"] == 4
    as_if_independent = stats.wilcoxon(log_ratios(tables[0], "wandering", 2), method="exact").pvalue
    assert as_if_independent < 0.05 < row["p_value"] and row["verdict"] == "not distinguishable"
    spread = tables[0]["variability"].query("case == 'wandering'").set_index("interconnect")
    assert np.isnan(spread.loc["swift", "p_value"])


def test_the_report_shows_the_effect_of_machine_speed(tables):
    (row,) = tables[0]["adjusted"].to_dict("records")
    assert row["case"] == "paced"
    assert row["improvement_low"] < row["adjusted_percent"] < row["improvement_high"]
    assert row["narrower_percent"] > 50 and row["adjusted_percent"] == pytest.approx(10, abs=2)


def test_unequal_spread_is_no_difference(tables, improvement):
    runs = tables[0]["runs"].query("case == 'uneven'")
    times = [runs.loc[runs["interconnect"] == name, "seconds"] for name in ("slow", "swift")]
    row = improvement.loc["uneven"]
    assert stats.mannwhitneyu(*times, method="exact").pvalue < 0.05 < row["p_value"] and not row["paired"]


def test_ties_leave_the_test_of_drift_exact(tables):
    """Of the 90 orders of three pairs of equal times, two rise or fall throughout."""
    drift = tables[0]["drift"].set_index("case")
    assert (
        drift.loc["rising", "p_value"] == pytest.approx(2 / 90) and drift.loc["rising", "kendall_tau"] > 0.89
    )


def test_models_are_averaged_and_end_at_twice_the_last_count(tables):
    predictions = tables[0]["model_curves"].query("case == 'bent'").set_index(["model", "processes"])
    bracket = predictions.loc[("average", 32)]
    assert bracket["speedup_low"] < 103 / (100 / 32 + 3 * np.sqrt(32)) < bracket["speedup_high"]
    single = predictions.query("extrapolated and model != 'average'")
    assert len(single) and single["speedup_low"].isna().all()
    far = predictions.query("processes > 32")
    assert far.index.get_level_values("processes").max() == 128 and far["speedup_low"].isna().all()
    models = tables[0]["models"].query("case == 'bent'").set_index("model")
    assert models.loc["amdahl", "peak_processes"] == np.inf
    assert models["peak_low"].notna().to_dict() == {"amdahl": False, "usl": True, "communication": True}
    assert "The more the models disagree, the wider are the brackets." in tables[1]


def test_intervals_that_hold_at_once_are_wider(improvement):
    twenty, short = improvement.loc[["twenty", "short"]].to_dict("records")
    assert 0 < twenty["simultaneous_low"] < twenty["improvement_low"]
    assert twenty["simultaneous_high"] > twenty["improvement_high"]
    assert np.isnan(short["simultaneous_low"])


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


def test_sentences_of_the_report(tables):
    sentences = tables[1]
    assert "has the opposite sign to the medians of all runs" in sentences
    assert "1 of 13 tests of improvements has only 4 blocks" in sentences
    assert "within one block only" not in sentences
    assert "not compared with the spread of the baseline, because later blocks seem" in sentences
    assert "Spread and drift of 1 point are unknown, because runs were stopped" in sentences
    assert not re.search(r"Fastest[^|\n]*:|overlap", sentences)  # of an exact tie none is
    assert "-17 %" not in sentences
    # three blocks are no one sample, and eight beside one serial run are none either
    for case in ("few3", "serial", "short"):
        assert f"{case}: single samples" not in sentences
    assert "one: single samples without intervals" in sentences
    assert not re.search(r"\(a single run\)|from a single run", sentences)  # other comparisons have more runs
    assert "have only one count" in sentences and "more block" not in sentences
    assert not re.search("rises up to 17.processes", sentences)
