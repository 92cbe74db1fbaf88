"""Parts of runs and main loops, and iterations of the linear solver, by hand."""

import numpy as np
import pandas as pd
import pytest
from report_parts import blocks

from analysis.presentation.content import Content
from analysis.runs.facts import Facts
from analysis.runs.runs import TableError, complete_runs, read_runs
from analysis.topics.parts_of_time.section import parts_of_time
from analysis.topics.parts_of_time.tables import at_extremes, make_part_tables

COLUMNS = [
    *("case", "interconnect", "kind", "processes", "block", "seconds", "valid"),
    *("startup_seconds", "output_seconds", "wall_seconds", "prepare_seconds.mesh"),
    *("loop_seconds.p", "loop_seconds.other", "solver_iterations.p"),
]
ROWS = [
    ("duct", None, "measured", 1, 1, 8.0, True, 1.0, 0.5, 10.0, 3.0, 4.0, 4.0, 10.0),
    ("duct", None, "measured", 1, 2, 8.0, True, 1.0, 0.5, 10.0, 3.0, 2.0, 6.0, 10.0),
    ("duct", "gigabit", "measured", 2, 1, 5.0, True, 2.0, 0.5, 8.0, 3.0, 4.0, 1.0, 13.0),
    ("duct", "gigabit", "measured", 2, 2, 5.0, True, 2.0, 0.5, 8.0, 3.0, 4.0, 1.0, 13.0),
    ("duct", "gigabit", "measured", 2, 3, 99.0, False, 90.0, 0.5, 200.0, 3.0, 90.0, 1.0, 99.0),
]


@pytest.fixture
def runs():
    return complete_runs(pd.DataFrame(ROWS, columns=COLUMNS))


def seconds_and_shares(parts, processes, stage):
    selected = parts[(parts["processes"] == processes) & (parts["stage"] == stage)]
    return {row["part"]: (row["seconds"], row["share"]) for row in selected.to_dict("records")}


def test_parts_by_hand(runs):
    parts = make_part_tables(runs)["parts"]
    assert set(parts["n"]) == {2}  # the invalid repetition has no part in it
    assert seconds_and_shares(parts, 1, "run") == {
        "start-up": (1.0, 0.1),
        "main loop": (8.0, 0.8),
        "output": (0.5, 0.05),
        "rest": (0.5, 0.05),  # 10 - 1 - 8 - 0.5
    }
    # Of p, 4 s and 2 s of 8 s.
    assert seconds_and_shares(parts, 1, "main loop") == {"p": (3.0, 0.375), "other": (5.0, 0.625)}
    assert seconds_and_shares(parts, 2, "main loop") == {"p": (4.0, 0.8), "other": (1.0, 0.2)}
    mesh = parts[parts["stage"] == "preparation"]
    assert list(mesh["seconds"]) == [3.0, 3.0] and mesh["share"].isna().all()


def test_a_part_that_exceeds_the_main_loop_by_rounding_is_all_of_it(runs):
    """Lines that arrive together: all of 0.2160005 s is one part, which is rounded to microseconds."""
    one_part = runs.assign(seconds=0.2160005)
    one_part["loop_seconds.p"], one_part["loop_seconds.other"] = 0.0, 0.216001
    parts = make_part_tables(one_part)["parts"]
    assert seconds_and_shares(parts, 1, "main loop") == {"p": (0.0, 0.0), "other": (0.216001, 1.0)}


def test_iterations_are_relative_to_the_smallest_count(runs):
    solver = make_part_tables(runs)["solver_iterations"].set_index("processes")
    assert solver.loc[2, ["iterations", "relative", "reference_processes"]].tolist() == [13, 1.3, 1]
    assert solver.loc[1, "relative"] == 1


def test_a_part_that_only_some_cases_have_is_not_zero_in_the_others(runs):
    other = runs.assign(case="melt", **{"loop_seconds.p": np.nan, "solver_iterations.p": np.nan})
    both = pd.concat([runs, other.assign(**{"loop_seconds.Pair": 1.0})], ignore_index=True)
    tables = make_part_tables(both)
    loop = tables["parts"][tables["parts"]["stage"] == "main loop"]
    assert set(loop.loc[loop["case"] == "melt", "part"]) == {"other", "Pair"}
    assert set(loop.loc[loop["case"] == "duct", "part"]) == {"other", "p"}
    assert set(tables["solver_iterations"]["case"]) == {"duct"}


def test_communication_by_hand(runs):
    counters = {"calls.get": [10, 10, 6, 8, 99], "calls.create": [3, 3, 3, 3, 9], "calls.put": [0] * 5}
    counters |= {"bytes.get": [4e6, 4e6, 2e6, 4e6, 9e9], "remote_bytes.get": [0, 0, 1e6, 2e6, 9e9]}
    counted = runs.assign(**{f"global_array_{name}": values for name, values in counters.items()})
    table = make_part_tables(counted)["communication"].set_index(["processes", "operation"])
    columns = ["n", "calls", "bytes", "remote_bytes"]
    assert table.loc[(1, "get"), columns].tolist() == [2, 10, 4e6, 0]
    assert table.loc[(2, "get"), columns].tolist() == [2, 7, 3e6, 1.5e6]  # without the invalid repetition
    assert table.loc[(1, "create"), "calls"] == 3 and np.isnan(table.loc[(1, "create"), "bytes"])
    assert set(table.index.get_level_values("operation")) == {"create", "get"}  # nothing was put


def test_a_csv_file_gives_the_same_tables(runs, tmp_path):
    runs.to_csv(tmp_path / "runs.csv", index=False)
    again = make_part_tables(read_runs(tmp_path / "runs.csv"))
    tables = make_part_tables(runs)
    assert len(tables["parts"]) and len(tables["solver_iterations"])
    for name, table in tables.items():
        pd.testing.assert_frame_equal(again[name], table)


def test_a_part_that_is_no_number_is_one_line(tmp_path):
    file = tmp_path / "runs.csv"
    file.write_text("case,interconnect,processes,seconds,loop_seconds.p\nduct,gigabit,2,5,often\n")
    with pytest.raises(TableError, match=r"line 2, column 'loop_seconds.p': 'often' is no number"):
        read_runs(file)


def test_extremes_are_at_the_lowest_oversubscription():
    points = [(1, 1), (2, 1), (4, 1), (4, 2), (8, 2)]
    table = pd.DataFrame(points, columns=["processes", "oversubscription"]).assign(case="duct")
    assert list(at_extremes(table)["processes"]) == [1, 4]


def test_a_server_per_process_raises_the_oversubscription_of_parallel_runs():
    served = [("served", 1, 1), ("served", 2, 2), ("served", 4, 4)]
    points = [("duct", 1, 1), ("duct", 2, 1), *served, ("alone", 1, 1)]
    table = pd.DataFrame(points, columns=["case", "processes", "oversubscription"])
    assert list(at_extremes(table).index) == [0, 1, 2, 3, 5]


@pytest.mark.parametrize(("column", "values"), [("site", ("before", "after")), ("threads", (1, 2))])
def test_each_site_and_number_of_threads_has_a_row(runs, column, values):
    parts = make_part_tables(runs)["parts"]
    tables = {"parts": pd.concat([parts.assign(**{column: value}) for value in values], ignore_index=True)}
    section = parts_of_time(Content(runs, tables, Facts(), [], {}))
    table = blocks(section, "table")[0]
    rows = [row["cells"] for group in table["groups"] for row in group["rows"]]
    assert [row[2] for row in rows] == ["1", "1", "2", "2"]
    assert {row[1] for row in rows} == set(map(str, values))
