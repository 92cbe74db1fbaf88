"""From runs to tables: a study worked by hand, and changes that must leave every table unchanged."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from made_tables import make_tables
from refused import refusal
from small_runs import FACTORS, rows, unplaced

from analysis.pipeline import REQUIRED, TABLE_SCHEMAS, write_tables
from analysis.runs.runs import ENDS_OF_COMPUTING, TableError, complete_runs, read_runs
from analysis.runs.settings import Settings


def table(name, runs, **changes):
    return make_tables(unplaced(runs), Settings(draws=200, **changes))[name]


def same(tables, other):
    for name in REQUIRED:
        pd.testing.assert_frame_equal(tables[name], other[name])


# --- worked by hand: serial 12 s; slow 8, 6, 8 s and swift 6, 4, 3 s on 2, 4, 8 processes ---


def test_scaling_by_hand(runs, settings):
    scaling = make_tables(runs, settings)["scaling"].set_index(["interconnect", "processes"])
    slow = scaling.loc["slow"]
    assert slow.index.tolist() == [1, 2, 4, 8]  # the serial run begins every curve
    assert slow["serial"].tolist() == [True, False, False, False]
    assert slow["speedup"].tolist() == pytest.approx([1, 1.5, 2, 1.5])
    assert slow["efficiency"].tolist() == pytest.approx([1, 0.75, 0.5, 0.1875])
    assert slow["incremental_efficiency"].tolist()[1:] == pytest.approx([0.75, 2 / 3, 0.375])
    assert slow["serial_fraction"].tolist()[1:] == pytest.approx([1 / 3, 1 / 3, 13 / 21])
    assert scaling.loc["swift"]["speedup"].tolist() == pytest.approx([1, 2, 3, 4])
    row = slow.loc[4]
    assert (row["n"], row["seconds"], row["coverage"]) == (6, pytest.approx(6), 1 - 2 / 64)
    assert (row["seconds_low"], row["seconds_high"]) == (pytest.approx(5.4), pytest.approx(6.6))
    assert (row["reference_seconds"], row["reference_processes"]) == (pytest.approx(12), 1)
    assert (row["speedup_low"], row["speedup_high"]) == (2, 2)  # what a sweep shares cancels
    assert pd.isna(row["reference_interconnect"]) and pd.isna(row["nodes"])


def test_peaks_by_hand(runs, settings):
    peaks = make_tables(runs, settings)["peaks"].set_index("interconnect")
    assert peaks.loc["slow", ["peak_processes", "peak_set", "reached"]].tolist() == [4, "4", True]
    assert peaks.loc["swift", ["peak_processes", "peak_set", "reached"]].tolist() == [8, "8", False]
    assert peaks["peak_speedup"].tolist() == pytest.approx([2, 4])


def test_improvement_by_hand(runs, settings):
    (row,) = make_tables(runs, settings)["improvement"].to_dict("records")
    assert (row["baseline_interconnect"], row["interconnect"], row["at_processes"]) == ("slow", "swift", 4)
    # 6/4 at the peak; over 2 and 4 processes the geometric mean of 8/6 and 6/4; blocks vary together
    expected = [50, 50, 50, *[100 * (2**0.5 - 1)] * 3]
    names = [f"{kind}_{end}" for kind in ("improvement", "average") for end in ("percent", "low", "high")]
    assert [row[name] for name in names] == pytest.approx(expected)
    assert (row["paired"], row["blocks"], row["p_value"], row["p_adjusted"]) == (True, 6, 2 / 64, 2 / 64)
    assert row["distinguishable"] and row["blocks_needed"] == 6 and pd.isna(row["note"])
    assert (row["verdict"], row["coverage"], row["at_processes_other"]) == ("faster", 1 - 2 / 64, 4)


def test_node_equivalents_by_hand(runs, settings):
    equivalents = make_tables(runs, settings)["node_equivalent"]
    # the speedup of 2 and of 4 processes on slow; the shared serial run is no target
    assert equivalents["target_speedup"].tolist() == pytest.approx([1.5, 2])
    assert equivalents["equivalent_processes"].tolist() == pytest.approx([1.5, 2])
    assert equivalents["processes_saved"].tolist() == pytest.approx([0.5, 2])
    assert equivalents["attainable"].all()


def test_node_equivalents_from_the_fast_side(runs):
    both_directions = make_tables(runs, Settings(draws=200, baselines=("swift",)))["node_equivalent"]
    equivalents = both_directions[~both_directions["reversed"]]
    assert equivalents["target_speedup"].tolist() == pytest.approx([2, 3, 4])
    assert equivalents["equivalent_processes"].tolist() == pytest.approx([4, np.inf, np.inf])
    assert equivalents["attainable"].tolist() == [True, False, False]
    assert equivalents["processes_saved"].tolist() == pytest.approx([-2, np.nan, np.nan], nan_ok=True)
    # The baseline is faster at its best count: its equivalents of 2 and 4 processes on the other follow.
    exchanged = both_directions[both_directions["reversed"]]
    assert exchanged["baseline_interconnect"].tolist() == ["slow", "slow"]
    assert exchanged["equivalent_processes"].tolist() == pytest.approx([1.5, 2])


def test_node_equivalents_at_a_stated_speedup(runs):
    chosen = Settings(draws=200, baselines=("slow",), target_speedups=(1.75, 0.5))
    equivalents = make_tables(runs, chosen)["node_equivalent"]
    assert equivalents["baseline_processes"].tolist() == pytest.approx([3, np.nan], nan_ok=True)
    assert equivalents["equivalent_processes"].tolist() == pytest.approx([1.75, np.nan], nan_ok=True)


# --- reference and serial run ---


def test_the_serial_run_serves_measured_and_emulated_and_every_level():
    runs = rows("duct", None, {1: 12}) + rows("duct", "b", {2: 8}, kind="emulated")
    runs += rows("duct", "a", {2: 6}) + rows("duct", "a", {2: 10, 4: 5}, oversubscription=2)
    scaling = table("scaling", runs)
    first = scaling[scaling["serial"]]
    assert first[["interconnect", "oversubscription"]].values.tolist() == [["b", 1], ["a", 1], ["a", 2]]
    assert (scaling["reference_seconds"] == 12).all()
    over = scaling[scaling["oversubscription"] == 2]
    assert over["cores"].tolist() == [1, 1, 2]
    assert over["efficiency"].tolist() == pytest.approx([1, 1.2, 1.2])


def test_without_a_serial_run_the_reference_is_named():
    runs = rows("duct", "a", {4: 6, 8: 4}) + rows("duct", "b", {2: 10, 4: 5})
    by_points = table("scaling", runs)
    assert set(by_points["reference_interconnect"]) == {"a"} and set(by_points["reference_processes"]) == {4}
    named = table("scaling", runs, reference_interconnect="b").set_index(["interconnect", "processes"])
    speedups = {("a", 4): 10 / 6, ("a", 8): 2.5, ("b", 2): 1, ("b", 4): 2}
    assert named["speedup"].to_dict() == pytest.approx(speedups)
    assert named.loc[("a", 8), "efficiency"] == pytest.approx(2.5 * 2 / 8)


def test_a_simulated_curve_has_its_own_reference_and_its_band():
    runs = rows("duct", None, {1: 12}) + rows("duct", "a", {2: 6})
    simulated = (None, 1, 20, 20, 20), ("a", 2, 8, 10, 11), ("a", 4, 4, 6, 7)
    for interconnect, processes, low, seconds, high in simulated:
        band = {"kind": "simulated", "seconds_low": low, "seconds_high": high}
        runs += rows("duct", interconnect, {processes: seconds}, (1,), **band)
    scaling = table("scaling", runs)
    simulated = scaling[scaling["kind"] == "simulated"].set_index("processes")
    assert simulated["n"].isna().all() and simulated["coverage"].isna().all()
    assert simulated["speedup"].tolist() == pytest.approx([1, 2, 20 / 6])
    assert simulated["speedup_low"].tolist() == pytest.approx([1, 20 / 11, 20 / 7])
    assert simulated["speedup_high"].tolist() == pytest.approx([1, 20 / 8, 5])
    assert simulated["seconds_low"].tolist() == [20, 8, 4]


def test_a_band_holds_all_corners():
    """Of b over a on 2 processes 10/5, from 9/6 to 11/4.8; and b may be fastest on 2 or 4."""
    given = (None, 1, 20, 20, 20), ("a", 2, 9, 10, 11), ("b", 2, 4.8, 5, 6), ("b", 4, 4.9, 4.95, 6.5)
    runs = []
    for interconnect, processes, low, seconds, high in given:
        band = {"kind": "simulated", "seconds_low": low, "seconds_high": high}
        runs += rows("duct", interconnect, {processes: seconds}, (1,), **band)
    ends = ["improvement_percent", "improvement_low", "improvement_high"]
    (improvement,) = table("improvement", runs, baselines=("a",))[ends].to_numpy()
    assert improvement == pytest.approx([100, 50, 100 * (11 / 4.8 - 1)])
    assert table("improvement", runs, baselines=("a",))["verdict"].item() == "faster over the whole band"
    peaks = table("peaks", runs).set_index("interconnect").loc["b"]
    assert (peaks["peak_processes"], peaks["peak_set"]) == (4, "2 4")


def simulated(interconnect, processes, low, seconds, high):
    band = {"seconds_low": low, "seconds_high": high}
    return rows("duct", interconnect, {processes: seconds}, (1,), "simulated", **band)


def test_a_band_of_a_ratio_holds_all_corners():
    """10 [5, 15] against 5 [3, 9]: 5/9 and 15/3 of the other; and neither moves with the other's end."""
    runs = simulated("a", 2, 5, 10, 15) + simulated("b", 2, 3, 5, 9) + simulated("b", 4, 2, 3, 4)
    runs += simulated("c", 2, 8, 9, 10)
    improvement = table("improvement", runs, baselines=("a",)).set_index("interconnect")
    ends = improvement[["improvement_percent", "improvement_low", "improvement_high"]]
    assert ends.loc["b"].tolist() == pytest.approx([100, 100 * (5 / 9 - 1), 400])
    assert ends.loc["c"].tolist() == pytest.approx([100 / 9, -50, 87.5])
    scaling = table("scaling", runs, baselines=("a",)).set_index(["interconnect", "processes"])
    # the reference is a on 2 processes, with itself exactly 1
    ends = scaling[["speedup_low", "speedup_high"]]
    assert ends.loc[("a", 2)].tolist() == [1, 1] and ends.loc[("b", 4)].tolist() == [5 / 4, 15 / 2]


def test_replays_of_one_trace_are_compared_where_computing_takes_as_long_over_both():
    """By hand, on 2 processes 10/5, 5/3 to 6/2.5 and 14/8 to 15/7; on 4 6/4, 3/2.5 and 9/6: means of logs."""

    def replayed(interconnect, processes, least, seconds, most):
        ends = dict(zip(ENDS_OF_COMPUTING, (*least, *most), strict=True))
        band = {"seconds_low": least[0], "seconds_high": most[1]}
        return rows("duct", interconnect, {processes: seconds}, (1,), "simulated", **band, **ends)

    runs = replayed("a", 2, (5, 6), 10, (14, 15)) + replayed("b", 2, (2.5, 3), 5, (7, 8))
    runs += replayed("a", 4, (3, 3), 6, (9, 9)) + replayed("b", 4, (2.5, 2.5), 4, (6, 6))
    runs += simulated("a", 8, 2, 5, 9) + simulated("b", 8, 1, 4, 8)
    improvement = table("improvement", runs, baselines=("a",)).iloc[0]
    assert improvement["at_processes"] == 8 and np.isnan(improvement["improvement_same_computing_low"])
    (improvement,) = table("improvement", runs[:-2], baselines=("a",)).to_dict("records")
    assert improvement["verdict"] == "faster or slower within the band"
    columns = [
        f"{name}_same_computing_{end}" for name in ("improvement", "average") for end in ("low", "high")
    ]
    by_hand = [1.2, 1.5, (5 / 3 * 1.2) ** 0.5, (2.4 * 1.5) ** 0.5]
    assert [1 + improvement[name] / 100 for name in columns] == pytest.approx(by_hand)


def test_two_counts_of_one_curve_take_their_ends_apart():
    runs = simulated("a", 2, 9, 10, 11) + simulated("a", 4, 8, 10.5, 12) + simulated("a", 8, 20, 21, 22)
    scaling = table("scaling", runs).set_index("processes")
    assert scaling.loc[4, ["speedup_low", "speedup_high"]].tolist() == [9 / 12, 11 / 8]
    (peak,) = table("peaks", runs).to_dict("records")
    assert peak["peak_set"] == "2 4"


def test_crowded_points_go_by_their_cores():
    """Serial 12 s; two processes on one core 10 s, four on two 6 s: R = 1/2 on 2 cores is perfect."""
    runs = rows("duct", None, {1: 12}) + rows("duct", "a", {2: 10, 4: 6, 8: 4}, oversubscription=2)
    scaling = table("scaling", runs).set_index("processes")
    assert scaling["cores"].tolist() == [1, 1, 2, 4]
    assert scaling["incremental_efficiency"].tolist()[1:] == pytest.approx([1.2, 5 / 6, 0.75])
    assert np.isnan(scaling.loc[2, "serial_fraction"])
    assert scaling["serial_fraction"].tolist()[2:] == pytest.approx([0, (1 / 3 - 1 / 4) / (3 / 4)])


def test_weak_scaling():
    runs = rows("duct", None, {1: 10}) + rows("duct", "a", {2: 12.5, 4: 20})
    scaling = table("scaling", runs, scaling="weak")
    assert scaling["efficiency"].tolist() == pytest.approx([1, 0.8, 0.5])
    assert scaling["speedup"].tolist() == pytest.approx([1, 1.6, 2])
    assert scaling["incremental_efficiency"].tolist()[1:] == pytest.approx([0.8, 0.625])
    assert scaling["serial_fraction"].isna().all()


def test_placement_divides_a_curve_only_where_it_varies():
    runs = rows("duct", "a", {1: 12, 2: 6, 4: 3}, nodes=1) + rows("duct", "a", {2: 7}, nodes=2)
    scaling = table("scaling", runs)
    curves = scaling.groupby("processes_per_node")["processes"].agg(list).to_dict()
    assert curves == {1: [1, 2], 2: [2], 4: [4]}
    assert table("scaling", rows("duct", "a", {1: 12, 2: 6}, nodes=1))["processes_per_node"].isna().all()


def test_placement_that_varies_needs_all_nodes():
    runs = rows("duct", "a", {2: 6}, nodes=1) + rows("duct", "a", {2: 7}, nodes=2) + rows("duct", "a", {4: 7})
    with pytest.raises(TableError, match=r"^case 'duct': column 'nodes': is empty, where placement varies$"):
        table("scaling", runs)


# --- comparisons ---


def test_blocks_that_share_no_place_are_unpaired():
    later = [row | {"block": row["block"] + 6} for row in rows("duct", "b", {2: 4})]
    runs = rows("duct", "a", {2: 6}) + later
    row = table("improvement", runs).iloc[0]
    assert not row["paired"] and row["p_value"] == pytest.approx(2 / 924)
    assert row["improvement_low"] < 50 < row["improvement_high"]


def test_unequal_block_counts_pair_common_blocks():
    runs = rows("duct", "a", {2: 6}) + rows("duct", "b", {2: 4}, FACTORS[:4])
    row = table("improvement", runs).iloc[0]
    assert row["paired"] and row["blocks"] == 4 and row["p_value"] == 2 / 16
    assert not row["distinguishable"] and row["blocks_needed"] == 6


def test_one_block_gives_no_interval_and_no_test():
    runs = [
        *rows("duct", None, {1: 12}, (1,)),
        *rows("duct", "a", {2: 6}, (1,)),
        *rows("duct", "b", {2: 4}, (1,)),
    ]
    row = table("improvement", runs).iloc[0]
    assert row["improvement_percent"] == pytest.approx(50)
    empty = ["improvement_low", "improvement_high", "average_low", "p_value", "p_adjusted", "blocks_needed"]
    assert row[empty].isna().all() and pd.isna(row["distinguishable"])
    assert row["verdict"] == "faster (a single value, untested)"
    peak = table("peaks", runs).iloc[0]
    assert pd.isna(peak["peak_set"]) and peak["note"] == "one sample" and not peak["reached"]


def test_the_nearest_common_count_below_the_peak_is_noted():
    runs = rows("duct", "a", {1: 12, 2: 8, 6: 3}) + rows("duct", "b", {1: 12, 2: 6, 4: 4, 8: 3})
    row = table("improvement", runs, baselines=("a",)).iloc[0]
    assert (row["baseline_peak_processes"], row["at_processes"]) == (6, 2)
    assert row["note"] == "the baseline's peak, 6, is no common count"


def test_curves_without_a_common_count_are_reported():
    runs = rows("duct", None, {1: 12}) + rows("duct", "a", {2: 8}) + rows("duct", "b", {4: 4})
    row = table("improvement", runs).iloc[0]
    assert row[["at_processes", "improvement_percent", "distinguishable", "verdict"]].isna().all()
    assert row["note"] == "no common process count up to the baseline's peak"


def test_kinds_are_compared_only_where_declared():
    runs = rows("duct", None, {1: 12}) + rows("duct", "a", {2: 8})
    runs += rows("duct", "b", {2: 6}, kind="emulated") + rows("duct", "c", {2: 5}, kind="emulated")
    assert set(table("improvement", runs)["kind"]) == {"emulated"}
    declared = table("improvement", runs, compare_kinds=(("measured", "emulated"),))
    assert declared["kind"].tolist() == ["emulated", "measured/emulated", "measured/emulated"]
    assert declared["paired"].all()
    other_way = table("improvement", runs, compare_kinds=(("measured", "emulated"),), baselines=("b",))
    assert other_way["kind"].tolist() == ["emulated", "emulated/measured"]


def test_a_published_interconnect_is_compared_unpaired_where_declared():
    """Of the same name as a measured one, too: the two were not run side by side."""
    runs = rows("duct", "ib", {1: 12, 2: 8}) + rows("duct", "ib", {1: 12, 2: 6}, kind="published")
    declared = table("improvement", runs, compare_kinds=(("published", "measured"),))
    pairs = declared[["kind", "baseline_interconnect", "interconnect"]].to_numpy().tolist()
    assert pairs == [["published/measured", "ib", "ib"]]
    assert declared["improvement_percent"].iloc[0] == pytest.approx(-25) and not declared["paired"].any()


def test_where_the_baseline_is_fastest_serially_the_others_best_count_is_compared():
    runs = rows("duct", None, {1: 2}) + rows("duct", "a", {2: 8, 4: 6, 8: 7})
    runs += rows("duct", "b", {2: 6, 4: 3, 8: 5})
    row = table("improvement", runs, baselines=("a",)).iloc[0]
    assert (row["baseline_peak_processes"], row["at_processes"], row["verdict"]) == (1, 4, "faster")
    assert row["improvement_percent"] == pytest.approx(100) and row["p_value"] == 2 / 64
    assert row["average_percent"] == pytest.approx(100 * ((8 / 6 * 6 / 3) ** 0.5 - 1))
    assert row["note"] == "the baseline is fastest on one process"


def test_only_the_serial_run_in_common_gives_no_comparison():
    runs = rows("duct", None, {1: 2}) + rows("duct", "a", {2: 8}) + rows("duct", "b", {4: 6})
    row = table("improvement", runs).iloc[0]
    assert pd.isna(row["at_processes"]) and pd.isna(row["verdict"])
    assert row["note"] == "the baseline is fastest on one process, and no other count is common"


def test_published_peaks_a_tenth_apart_are_compared_without_a_test():
    """48 is common to both, but 60 against 64 is what both were published for."""
    runs = rows("duct", "a", {12: 9, 48: 4, 60: 3}) + rows("duct", "b", {12: 8, 48: 3.5, 64: 2})
    row = table("improvement", runs, baselines=("a",)).iloc[0]
    assert (row["at_processes"], row["at_processes_other"]) == (60, 64)
    assert row["improvement_percent"] == pytest.approx(50)
    assert row[["p_value", "p_adjusted", "distinguishable"]].isna().all()
    assert row["verdict"] == "faster (untested)"
    assert row["note"] == "the baseline's peak, 60, is no common count: compared with 64"
    far = rows("duct", "a", {48: 4, 60: 3}) + rows("duct", "b", {48: 3.5, 67: 2})
    assert table("improvement", far, baselines=("a",))["at_processes"].item() == 48


def test_holm_takes_the_whole_table():
    runs = [row for case in ("duct", "wing") for row in rows(case, "a", {2: 6}) + rows(case, "b", {2: 4})]
    improvement = table("improvement", runs)
    assert improvement["p_value"].tolist() == [2 / 64] * 2
    assert improvement["p_adjusted"].tolist() == [4 / 64] * 2
    assert not improvement["distinguishable"].any() and (improvement["blocks_needed"] == 7).all()


def test_oversubscription_gain_is_at_equal_cores():
    runs = rows("duct", None, {1: 12}) + rows("duct", "a", {2: 8, 4: 5})
    runs += rows("duct", "a", {2: 10, 4: 5, 16: 1}, oversubscription=2)
    gains = table("oversubscription", runs)
    assert gains[["cores", "processes", "processes_of_one"]].values.tolist() == [[1, 2, 1], [2, 4, 2]]
    assert gains["gain_percent"].tolist() == pytest.approx([20, 60])
    assert gains["gain_low"].le(gains["gain_percent"]).all() and (gains["blocks"] == 6).all()


# --- what must change nothing ---


@hypothesis_settings(max_examples=6)
@given(st.randoms(use_true_random=False), st.floats(0.01, 100), st.sampled_from(["block", "no block"]))
def test_order_unit_and_invalid_rows_change_nothing(random, unit, blocks):
    parallel = rows("duct", "a", {2: 8.0, 4: 6.0}) + rows("duct", "b", {2: 6.0, 4: 4.0})
    frame = pd.DataFrame(rows("duct", None, {1: 12.0}) + parallel)
    frame["seconds"] *= [random.uniform(0.9, 1.1) for _ in frame.index]
    if blocks == "no block":
        frame = frame.rename(columns={"block": "repetition"}).assign(
            repetition=lambda rows_of_point: rows_of_point["repetition"] + 1
        )
    expected = make_tables(complete_runs(frame), Settings(draws=100))
    shuffled = frame.loc[random.sample(list(frame.index), len(frame))]
    same(make_tables(complete_runs(shuffled), Settings(draws=100)), expected)

    failed = frame.assign(valid=False, seconds=np.nan, attempt=2).iloc[:20]
    more = pd.concat([frame.assign(valid=True), failed, failed.assign(processes=16, interconnect="c")])
    same(make_tables(complete_runs(more), Settings(draws=100)), expected)

    scaled = make_tables(complete_runs(frame.assign(seconds=frame["seconds"] * unit)), Settings(draws=100))
    for name, columns in {
        "scaling": ["speedup", "speedup_low", "speedup_high", "serial_fraction"],
        "improvement": ["improvement_percent", "improvement_low", "average_high", "p_value"],
        "node_equivalent": ["equivalent_low", "equivalent_high"],
    }.items():
        np.testing.assert_allclose(
            scaled[name][columns].to_numpy(float), expected[name][columns].to_numpy(float), rtol=1e-6
        )


def test_repetitions_within_a_block_count_as_their_median():
    runs = rows("duct", "a", {2: 6, 4: 4})
    thrice = [
        row | {"repetition": i + 1, "seconds": row["seconds"] * f}
        for row in runs
        for i, f in enumerate((0.5, 1, 9))
    ]
    same(*(make_tables(unplaced(selected), Settings(draws=100)) for selected in (thrice, runs)))


def test_more_cases_change_no_other_case(runs, settings):
    more = complete_runs(pd.concat([runs, unplaced(rows("wing", "slow", {2: 1.0}))]))
    scaling = make_tables(more, settings)["scaling"]
    of_duct = scaling[scaling["case"] == "duct"].reset_index(drop=True)
    pd.testing.assert_frame_equal(of_duct, make_tables(runs, settings)["scaling"])


# --- tables as files ---


def test_a_missing_value_is_empty_in_the_file(runs, settings, tmp_path):
    (tmp_path / "cost.csv").write_text("kept")
    write_tables(make_tables(runs, settings), tmp_path)
    written = {path.name for path in tmp_path.iterdir()}
    assert written == {*(f"{name}.csv" for name in (*REQUIRED, "fastest")), "cost.csv"}
    first = (tmp_path / "scaling.csv").read_text().splitlines()[1]
    assert first.startswith("duct,slow,measured,1,,1,1,6,12,")
    assert (tmp_path / "oversubscription.csv").read_text().count("\n") == 1  # its header: no level above 1


def test_nothing_is_written_half(runs, settings, tmp_path, monkeypatch):
    write_tables(make_tables(runs, settings), tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    write = pd.DataFrame.to_csv

    def full_disk(table, *given, **named):
        monkeypatch.setattr(pd.DataFrame, "to_csv", no_space)
        write(table, *given, **named)

    def no_space(*_, **__):
        raise OSError("disk full")

    monkeypatch.setattr(pd.DataFrame, "to_csv", full_disk)
    with pytest.raises(OSError, match="disk full"):
        write_tables(make_tables(runs, Settings(draws=100)), tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("text", ["plain", "a, b", 'a "b"', "two\nlines"])
def test_a_table_is_read_as_it_was_written(tmp_path, text):
    columns = {"note": [text, None, "x"], "share": [0.1, np.nan, np.inf]}
    columns |= {"flag": pd.array([True, None, False], dtype="boolean"), "sure": [True, False, True]}
    table = pd.DataFrame(columns).astype({"note": "str"})
    write_tables({"one": table}, tmp_path)
    read = pd.read_csv(tmp_path / "one.csv").astype({"flag": "boolean"})
    pd.testing.assert_frame_equal(read, table)
    assert (tmp_path / "one.csv").read_text().splitlines()[0] == "note,share,flag,sure"
    assert "True" in (tmp_path / "one.csv").read_text()


CONTRACT = {
    "scaling": "case, interconnect, kind, oversubscription, nodes, processes, cores, n, "
    "seconds, seconds_low, seconds_high, coverage, reference_seconds, reference_processes, "
    "speedup, speedup_low, speedup_high, efficiency, efficiency_low, efficiency_high, "
    "incremental_efficiency, serial_fraction",
    "peaks": "case, interconnect, kind, oversubscription, peak_processes, peak_set, peak_speedup, reached",
    "improvement": "case, baseline_interconnect, interconnect, kind, oversubscription, at_processes, "
    "improvement_percent, improvement_low, improvement_high, "
    "average_percent, average_low, average_high, paired, p_value, distinguishable",
    "node_equivalent": "case, target_speedup, baseline_interconnect, interconnect, kind, "
    "baseline_processes, equivalent_processes, equivalent_low, equivalent_high, processes_saved, attainable",
}


@pytest.mark.parametrize("name", CONTRACT)
def test_columns_of_the_contract(runs, settings, name):
    expected = CONTRACT[name].split(", ")
    assert list(make_tables(runs, settings)[name])[: len(expected)] == expected


# --- bad input ---


def test_two_references_are_reported():
    runs = rows("duct", None, {1: 12}) + rows("duct", None, {1: 12}, oversubscription=2)
    runs += rows("duct", "a", {2: 6})
    with pytest.raises(TableError, match=r"^case 'duct', kind measured: two references, 2 serial points$"):
        table("scaling", runs)


@pytest.mark.parametrize("runs", [rows("duct", None, {1: 12}), rows("duct", "a", {1: 9, 2: 6}, valid=False)])
def test_without_a_valid_run_over_an_interconnect_tables_are_empty(runs):
    for name in REQUIRED:
        rows_of_table = table(name, runs)
        assert rows_of_table.empty and list(rows_of_table) == list(TABLE_SCHEMAS[name].columns)


def test_two_core_counts_for_one_point_are_reported():
    runs = rows("duct", "a", {2: 6}, cores=2) + rows("duct", "a", {2: 6}, cores=4, repetition=2)
    message = refusal(TableError, table, "scaling", runs)
    assert message.startswith("case 'duct', interconnect 'a', 2 processes: column 'cores': two core")


@pytest.mark.parametrize("key", ["baselines", "reference_interconnect"])
def test_an_unknown_interconnect_is_reported(key):
    value = "gigabyte" if key == "reference_interconnect" else ("gigabyte",)
    with pytest.raises(TableError, match=rf"^{key}: 'gigabyte' is no interconnect of the runs; there are a$"):
        table("scaling", rows("duct", "a", {2: 6}), **{key: value})


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("draws", 10, "draws: 10; at least 100"),
        ("level", 95, "level: 95; from 0.5 to 0.999"),
        ("scaling", "wrong", "scaling: 'wrong'; strong or weak"),
        ("target_speedups", (2.0, 0.0), "target_speedups: [2.0, 0.0]; above 0"),
    ],
)
def test_wrong_settings_are_refused(key, value, message):
    assert refusal(ValueError, Settings, **{key: value}) == message


def test_one_point_is_a_table():
    tables = make_tables(unplaced(rows("duct", "a", {2: 6}, (1,))), Settings(draws=100))
    assert tables["scaling"]["speedup"].tolist() == [1] and tables["improvement"].empty
    assert tables["peaks"]["reached"].tolist() == [False]


# --- a published table, end to end ---


def test_the_published_gamess_table():
    runs = read_runs("analysis/published/gamess.csv")
    tables = make_tables(runs, Settings(study="published_gamess", baselines=("gigabit_ethernet",)))
    scaling = tables["scaling"].set_index(["interconnect", "oversubscription", "processes"])
    assert len(scaling) == 28 and set(scaling["kind"]) == {"published"}
    # one process and one server on the two CPUs of one node, Gigabit Ethernet: 5823 s
    assert set(scaling["reference_seconds"]) == {5823} and set(scaling["reference_cores"]) == {2}
    row = scaling.loc[("myrinet_tcp", 2, 8)]
    assert row["speedup"] == pytest.approx(5823 / 1279) and row["cores"] == 8
    assert row["efficiency"] == pytest.approx(5823 / 1279 / 4)
    intervals = ["seconds_low", "seconds_high", "coverage", "speedup_low", "efficiency_high"]
    assert scaling[intervals].isna().all(axis=None)

    # the fastest network is not the fastest run: Quadrics loses to Myrinet over TCP
    fastest = scaling["seconds"].groupby(["oversubscription", "processes"]).idxmin()
    assert fastest.loc[(2, 8)][0] == "myrinet_tcp" and fastest.loc[(1, 4)][0] == "infiniband_mpi"

    improvement = tables["improvement"].set_index(["interconnect", "oversubscription"])
    row = improvement.loc[("myrinet_tcp", 2)]
    assert row["at_processes"] == 8 and row["improvement_percent"] == pytest.approx(100 * (1529 / 1279 - 1))
    ratios = [5026 / 3477, 1961 / 1924, 1529 / 1279]
    assert row["average_percent"] == pytest.approx(100 * (np.prod(ratios) ** (1 / 3) - 1))
    assert improvement["distinguishable"].isna().all() and improvement["p_value"].isna().all()
    assert row["verdict"] == "faster (a single value, untested)"

    gains = tables["oversubscription"].set_index(["interconnect", "nodes"])["gain_percent"]
    assert gains.loc[("gigabit_ethernet", 4)] == pytest.approx(100 * (1852 / 1529 - 1))
    assert (tables["peaks"]["note"] == "one sample").all()
