"""Runs tables, network curves and published figures: read as they are, and back again."""

import numpy as np
import pandas as pd
import pytest
from foreign_files import format_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import pandas as frames
from refused import refusal
from small_runs import ROOT, rows, unplaced

from analysis.importers import CURVES, make_mapping, read_foreign, read_published, write_derived, write_table
from analysis.runs.runs import TableError, complete_runs

PUBLISHED = ROOT / "analysis/published"
PEAKS = "case,interconnect,peak_processes,note\n"
POINTS = "benchmark,interconnect,bytes,quantity,value\n"
NAMES = st.from_regex(r"\A[A-Za-z0-9][A-Za-z0-9_.+-]{0,8}\Z")
REASONS = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=12)
TIMES = st.floats(1e-9, 1e9)

RUNS = frames.data_frames(
    index=frames.range_indexes(min_size=1, max_size=8),
    columns=[
        frames.column("case", elements=NAMES, dtype=object),
        frames.column("interconnect", elements=NAMES, dtype=object),
        frames.column("processes", elements=st.integers(1, 10**6), dtype=int),
        frames.column("seconds", elements=TIMES, dtype=float),
        frames.column("nodes", elements=st.sampled_from([1.0, 7.0, np.nan]), dtype=float),
        frames.column("reason", elements=REASONS, dtype=object),
        frames.column("noise", elements=st.floats(0, 1), dtype=float),
    ],
)


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(frame=RUNS)
def test_a_runs_table_written_and_read_back_is_the_same(tmp_path, frame):
    runs = complete_runs(frame)
    path = tmp_path / "runs.csv"
    write_table(runs, path)
    pd.testing.assert_frame_equal(read_foreign(path).runs, runs)


@pytest.mark.parametrize(
    "file", ["osu/allreduce_full_7.4.txt", "imb/multi_2021.11.txt", "netpipe/tcp_3.7.out"]
)
def test_network_curves_written_and_read_back_are_the_same(foreign, shared_memory, tmp_path, file):
    curves = read_foreign(foreign / file, format_of(file), shared_memory).curves
    write_table(curves, tmp_path / "curves.csv")
    pd.testing.assert_frame_equal(read_foreign(tmp_path / "curves.csv").curves, curves)


def test_a_parquet_table(tmp_path):
    runs = unplaced(rows("a", "b", {2: 1.5}))
    runs.to_parquet(tmp_path / "runs.parquet")
    pd.testing.assert_frame_equal(read_foreign(tmp_path / "runs.parquet").runs, runs)


@pytest.mark.parametrize("name", ["../a", 'a"b', "a\nb", "a/b", "", ".."])
def test_names_that_could_leave_a_folder_or_a_cell_are_refused(written, name):
    frame = pd.DataFrame({"case": [name], "interconnect": ["b"], "processes": [2], "seconds": [1]})
    file = written(frame.to_csv(index=False), "runs.csv")
    assert "column 'case'" in refusal(TableError, read_foreign, file)


def test_an_unwritable_place_is_reported(tmp_path):
    with pytest.raises(TableError, match=r"nowhere/runs\.csv: cannot be written: Cannot save file"):
        write_table(pd.DataFrame({"a": [1]}), tmp_path / "nowhere/runs.csv")


def test_the_published_runs_equal_the_paper():
    runs = read_foreign(PUBLISHED / "gamess.csv").runs
    assert len(runs) == 28 and set(runs["kind"]) == {"published"}
    best = runs.loc[runs["seconds"].idxmin()]
    assert (best["interconnect"], best["processes"], best["seconds"]) == ("myrinet_tcp", 8, 1279)


def test_the_published_curves():
    curves = read_foreign(PUBLISHED / "pmb.csv").curves
    assert tuple(curves) == tuple(CURVES.columns)
    point = curves[(curves["benchmark"] == "pingpong") & (curves["interconnect"] == "infiniband_4x_pcie")]
    point = point[point["bytes"] == 4096].iloc[0]
    assert (point["latency_us"], point["bandwidth_MBps"]) == (21.26, 192.7)
    assert point["bandwidth_MBps"] == pytest.approx(4096 / 21.26, 1e-3)


def test_derived_figures_are_tables_of_their_own_and_no_runs():
    tables = read_published(PUBLISHED)
    assert set(tables) >= {"cases", "peaks", "improvement", "node_equivalent"}
    peaks = tables["peaks"].set_index(["case", "interconnect"])["peak_processes"]
    assert (peaks["fl5m2", "gigabit_ethernet"], peaks["fl5m2", "infiniband"]) == (32, 64)
    improvement = tables["improvement"].query("case == 'fl5s1' and interconnect == 'infiniband'").iloc[0]
    assert (improvement["at_processes"], improvement["improvement_percent"]) == (8, 77)
    assert improvement["average_percent"] == 48 and improvement["source"] == "fluent_improvement.csv"
    assert tables["improvement"].query("case == 'average'")["at_processes"].isna().all()
    assert tables["node_equivalent"]["processes_saved"].tolist() == [0, 4, 8]
    imported = read_foreign(PUBLISHED / "fluent_peaks.csv")
    assert imported.runs.empty and list(imported.derived) == ["peaks"]


def test_every_published_file_is_read():
    files = sorted(PUBLISHED.glob("*.csv"))
    contents = [read_foreign(file) for file in files]
    assert contents and all(imported.unread == [] for imported in contents)
    assert all(
        (len(imported.runs) > 0) + (len(imported.curves) > 0) + len(imported.derived) == 1
        for imported in contents
    )


def test_the_same_table_from_two_files_is_merged(tmp_path):
    for name, case in (("a.csv", "duct"), ("b.csv", "wing")):
        (tmp_path / name).write_text(f"{PEAKS}{case},gigabit,8,\n")
    peaks = read_published(tmp_path)["peaks"]
    assert peaks[["case", "source"]].to_numpy().tolist() == [["duct", "a.csv"], ["wing", "b.csv"]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{PEAKS}a,b,0,\n", "line 2, column 'peak_processes': '0' must be a whole"),
        (f"{PEAKS}a,b,many,\n", "line 2, column 'peak_processes': 'many' is no"),
        (f"{PEAKS}../a,b,4,\n", "line 2, column 'case': '../a' must be letters"),
        (f"{POINTS}p,b,4,latency_us,0\n", "column 'value': '0' must be above"),
        (f"{POINTS}p,b,4,speed,1\n", "column 'quantity': 'speed' must be one"),
        (
            f"{POINTS}p,b,4,latency_us,1\np,b,4,latency_us,2\n",
            "line 3, column 'quantity': 'latency_us' is there twice",
        ),
    ],
)
def test_a_bad_table_of_figures_is_reported_in_one_line(written, text, message):
    assert message in refusal(TableError, read_foreign, written(text, "figures.csv"))


def test_figures_put_together_are_written_and_read_back_the_same(tmp_path):
    tables = read_published(PUBLISHED)
    write_derived(tables, tmp_path / "published")
    again = read_published(tmp_path / "published")
    assert set(again) == set(tables)
    for name, table in tables.items():
        pd.testing.assert_frame_equal(again[name], table, check_like=True)


def test_a_repeated_figure_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text(f"{PEAKS}duct,gigabit,8,\nwing,gigabit,8,\n")
    (tmp_path / "b.csv").write_text(f"{PEAKS}duct,gigabit,16,\n")
    with pytest.raises(TableError, match=r"b\.csv: tells peaks of duct, gigabit a second time$"):
        read_published(tmp_path)


def test_a_folder_that_is_missing_empty_or_holds_others(tmp_path):
    with pytest.raises(TableError, match="nowhere: there is no such folder"):
        read_published(tmp_path / "nowhere")
    assert read_published(tmp_path) == {}
    (tmp_path / "odd.csv").write_text("a,b\n1,2\n")
    message = refusal(TableError, read_published, tmp_path)
    assert "odd.csv: has the columns of no table of derived figures (cases: " in message


def test_a_table_of_ours_takes_no_mapping():
    with pytest.raises(TableError, match=r"is a Nodeworth table \(runs\), which takes no mapping"):
        read_foreign(PUBLISHED / "gamess.csv", mapping=make_mapping({"kind": {"value": "measured"}}))


def test_a_misspelt_optional_column_is_named(tmp_path):
    file = tmp_path / "runs.csv"
    file.write_text("case,interconnect,processes,nodez,weather,seconds\nlid,eth,2,1,fair,11\n")
    assert read_foreign(file).remarks == ["'nodez' is not used (similar to column 'nodes')"]
