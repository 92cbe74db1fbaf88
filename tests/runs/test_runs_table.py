"""Reading runs tables: completed columns, and one line per mistake."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_tables import make_tables
from refused import refusal

from analysis.runs.runs import COLUMNS, TableError, complete_runs, read_complete, read_runs
from analysis.runs.settings import Settings

HEADER = "case,interconnect,processes,seconds"
NAME_RULE = "it must be letters, digits and _ . + -, the first a letter or a digit"


def written(tmp_path, text, name="runs.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_four_columns_are_enough(tmp_path):
    runs = read_runs(written(tmp_path, f"{HEADER}\nduct,gigabit,4,2.5\n"))
    row = runs.iloc[0]
    assert tuple(runs) == COLUMNS
    assert (row.kind, row.cores) == ("published", 4)
    assert (row.oversubscription, row.attempt, row.repetition) == (1, 1, 1)
    assert row.valid and pd.isna(row.nodes) and pd.isna(row.noise) and pd.isna(row.study)


def test_cores_follow_from_processes_servers_and_level(tmp_path):
    text = f"{HEADER},data_servers,oversubscription\ngamess,a,2,1,2,2\ngamess,a,1,1,1,1\nduct,a,3,1,0,2\n"
    assert read_runs(written(tmp_path, text))["cores"].tolist() == [2, 2, 2]


def test_the_level_follows_from_processes_servers_and_cores(tmp_path):
    rows = "duct,a,4,1,0,2\nduct,a,3,1,,2\nduct,a,2,1,,8\ngamess,a,2,1,2,2\nduct,a,2,1,,\n"
    runs = read_runs(written(tmp_path, f"{HEADER},data_servers,cores\n{rows}"))
    assert runs["oversubscription"].tolist() == [2, 2, 1, 2, 1]
    assert runs["cores"].tolist() == [2, 2, 8, 2, 2]


def test_rows_without_a_block_are_paired_with_nothing(tmp_path):
    runs = read_runs(written(tmp_path, f"{HEADER}\nduct,a,2,1\nduct,b,2,1\nduct,a,2,2\nduct,a,4,1\n"))
    assert runs.groupby(["case", "processes"])["block"].nunique().tolist() == [3, 1]
    assert runs["repetition"].tolist() == [1, 1, 1, 1]


def test_invalid_rows_may_lack_a_time_and_extra_columns_stay(tmp_path):
    text = f"{HEADER},valid,reason,residual\nduct,a,2,,false,crashed,1e-3\nduct,a,2,1.5,True,,1e-9\n"
    runs = read_runs(written(tmp_path, text))
    assert runs["valid"].tolist() == [False, True]
    assert runs["reason"].tolist()[0] == "crashed" and "residual" in runs


@pytest.mark.parametrize("rows", ["duct,a,2,1,0\nduct,,1,2,0\n", ""])
def test_a_complete_table_is_read_as_it_was_written(tmp_path, rows):
    cells = pd.read_csv(written(tmp_path, f"{HEADER},block\n{rows}"), dtype=str)
    runs = complete_runs(cells, may_be_empty=True)
    runs.to_parquet(tmp_path / "runs.parquet", index=False)
    pd.testing.assert_frame_equal(read_complete(tmp_path / "runs.parquet"), runs)


def test_a_table_of_an_earlier_version_is_completed(tmp_path):
    """Results that were collected before there were threads had one a process."""
    runs = read_runs(written(tmp_path, f"{HEADER},block\nduct,a,2,1,0\nduct,,1,2,0\n"))
    runs.drop(columns="threads").to_parquet(tmp_path / "runs.parquet", index=False)
    completed = read_complete(tmp_path / "runs.parquet")
    pd.testing.assert_frame_equal(completed, runs)
    assert len(make_tables(completed, Settings())["scaling"]) == 2
    runs.drop(columns="seconds").to_parquet(tmp_path / "runs.parquet", index=False)
    with pytest.raises(TableError, match=r"runs\.parquet: column 'seconds': is missing \(needed: "):
        read_complete(tmp_path / "runs.parquet")


def test_parquet_is_the_same_table(tmp_path):
    runs = read_runs(written(tmp_path, f"{HEADER},block\nduct,a,2,1,0\nduct,,1,2,0\n"))
    runs.to_parquet(tmp_path / "runs.parquet")
    pd.testing.assert_frame_equal(read_runs(tmp_path / "runs.parquet"), runs)


def test_names_that_pandas_takes_for_missing_are_names(tmp_path):
    runs = read_runs(written(tmp_path, f"{HEADER}\nNA,None,2,1\n"))
    assert runs.loc[0, ["case", "interconnect"]].tolist() == ["NA", "None"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "cannot be read: Empty CSV file"),
        (f"{HEADER}\n", "holds no row"),
        (b"\xff\xfe", "is no UTF-8 text: invalid start byte at byte 0"),
        (f"case,{HEADER}\nduct,duct,a,1,1\n", "column 'case': is there twice"),
        ("case,interconnect,seconds\nduct,a,1\n",
         "column 'processes': is missing (needed: case, interconnect, processes, seconds; "
         "found: case, interconnect, seconds)"),
        (f"{HEADER}\nduct,a,2,1,9\n",
         "cannot be read: CSV parse error: Row #2: Expected 4 columns, got 5: duct,a,2,1,9"),
        # a line break inside a cell and an empty line do not mislead about the line
        (f'{HEADER},reason\nduct,a,2,1,"x\ny"\n\nduct,a,2,-1,\n',
         "line 5, column 'seconds': -1: it must be a positive time"),
    ],
)  # fmt: skip
def test_a_bad_table_is_reported_in_one_line(tmp_path, text, message):
    path = written(tmp_path, text)
    assert refusal(TableError, read_runs, path) == f"{path}: {message}"


@pytest.mark.parametrize(
    ("row", "column", "message"),
    [
        ("duct,a,2,-1", "seconds", "-1: it must be a positive time"),
        ("duct,a,2,0", "seconds", "0: it must be a positive time"),
        ("duct,a,2,inf", "seconds", "inf: it must be a positive time"),
        ("duct,a,2,1e-300", "seconds", "1e-300: it must be a time from 10^-12 to 10^12 s"),
        ("duct,a,2,nan", "seconds", "'nan' is no number"),
        ("duct,a,2,", "seconds", "is empty"),
        ("duct,a,2,fast", "seconds", "'fast' is no number"),
        ('duct,a,2,"1,5"', "seconds", "'1,5' is no number"),
        ("duct,a,two,1", "processes", "'two' is no number"),
        ("duct,a,2.5,1", "processes", "2.5 is no whole number"),
        ("duct,a,inf,1", "processes", "inf is no whole number"),
        ("duct,a,0,1", "processes", "0: it must be a whole number from 1 to 10^9"),
        ("duct,,2,1", "processes", "2: it must be 1 where 'interconnect' is empty (a serial run)"),
        ("../duct,a,2,1", "case", f"'../duct': {NAME_RULE}"),
        ('"du\nct",a,2,1', "case", f"'du\\nct': {NAME_RULE}"),
        ('duct,"a""b",2,1', "interconnect", f"'a\"b': {NAME_RULE}"),
        (",a,2,1", "case", "is empty"),
    ],
)
def test_a_bad_row_is_reported_by_its_line_and_column(tmp_path, row, column, message):
    path = written(tmp_path, f"{HEADER}\nduct,a,4,1\n{row}\n")
    assert refusal(TableError, read_runs, path) == f"{path}: line 3, column '{column}': {message}"


@pytest.mark.parametrize(
    ("columns", "rows", "message"),
    [
        ("kind", "2,1,guessed", "'guessed': it must be one of measured, emulated, simulated, published"),
        ("valid", "2,1,maybe", "'maybe' is neither true nor false"),
        ("noise", "2,1,1.5", "1.5: it must be a share from 0 to 1"),
        ("block,repetition", "2,1,1,1\nduct,a,2,2,1,1", "the same repetition as in a row before"),
        ("cores,oversubscription", "4,1,2,2\nduct,a,4,1,2,1", "1: by processes and cores it is 2"),
        ("threads", "2,1,0", "0: it must be a whole number from 1 to 10^9"),
        ("energy_joules", "2,1,-5", "-5: it must be energy from 0 to 10^15 J"),
        ("energy_joules", "2,1,inf", "inf: it must be energy from 0 to 10^15 J"),
    ],
)
def test_a_bad_cell_of_a_further_column_is_reported_by_its_line_and_column(tmp_path, columns, rows, message):
    path = written(tmp_path, f"{HEADER},{columns}\nduct,a,{rows}\n")
    line, column = 2 + rows.count("\n"), columns.split(",")[-1]
    assert refusal(TableError, read_runs, path) == f"{path}: line {line}, column '{column}': {message}"


def test_other_files_are_reported(tmp_path):
    with pytest.raises(TableError, match=r"none\.csv: there is no such file$"):
        read_runs(tmp_path / "none.csv")
    with pytest.raises(TableError, match=r"runs\.xlsx: must end in \.csv or \.parquet$"):
        read_runs(tmp_path / "runs.xlsx")
    with pytest.raises(TableError, match=r"runs\.parquet: cannot be read: "):
        read_runs(written(tmp_path, "no parquet", "runs.parquet"))


def test_a_frame_without_a_file_is_reported_by_row():
    frame = pd.DataFrame({"case": "duct", "interconnect": "a", "processes": 2, "seconds": [1.0, -1.0]})
    with pytest.raises(TableError, match=r"^runs table: row 2, column 'seconds': -1: it must be"):
        complete_runs(frame)


def test_one_bad_row_among_many(tmp_path):
    lines = [f"duct,a,2,{1 + i}" for i in range(20_000)]
    lines[17_000] = "duct,a,2,oops"
    with pytest.raises(TableError, match="line 17002, column 'seconds': 'oops' is no number"):
        read_runs(written(tmp_path, "\n".join([HEADER, *lines])))


@settings(max_examples=30)
@given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=20))
def test_completing_twice_changes_nothing(times):
    frame = pd.DataFrame({"case": "duct", "interconnect": "a", "processes": 2, "seconds": times})
    completed_once = complete_runs(frame)
    pd.testing.assert_frame_equal(complete_runs(completed_once), completed_once)
    assert np.array_equal(completed_once["seconds"], times)
