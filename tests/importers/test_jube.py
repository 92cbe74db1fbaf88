"""JUBE's result tables, and other tables with a heading."""

import re

import pytest
from refused import refusal

from analysis.importers import make_mapping, read_foreign
from analysis.runs.runs import TableError

HEAD = "case,interconnect,tasks,time[s]\n"


def test_a_result_table_becomes_runs(foreign):
    imported = read_foreign(foreign / "jube/times.csv")
    assert imported.unread == []
    runs = imported.runs
    assert runs["case"].unique().tolist() == ["jacobi"]
    assert runs.groupby(["interconnect", "processes"])["seconds"].agg(list).to_dict() == {
        ("shared_memory", 1): [0.0715, 0.0672],
        ("shared_memory", 2): [0.0751, 0.1808],
        ("tcp_loopback", 1): [0.1051, 0.0864],
        ("tcp_loopback", 2): [0.3181, 0.1483],
    }
    assert runs["record"][5] == "times.csv: line 7"


def test_iterations_can_be_taken_for_blocks(foreign):
    runs = read_foreign(foreign / "jube/times.csv", mapping=make_mapping({"block": "jube_wp_iteration"})).runs
    assert runs["block"].tolist() == [0, 1] * 4


def test_the_pretty_style_is_read_too(foreign):
    mapping = make_mapping({"case": {"value": "jacobi"}, "seconds": "solving_time"})
    imported = read_foreign(foreign / "jube/means.dat", mapping=mapping)
    same = read_foreign(foreign / "jube/times.csv").runs
    assert imported.unread == [] and imported.runs["seconds"].tolist() == same["seconds"].tolist()


@pytest.mark.parametrize(
    ("last", "times", "unread"),
    [
        ("| lu   | eth          |     4 |     6.5 |", [9.5, 6.5], []),
        ("| lu   | eth          |     4 |", [9.5], ["line 4: cut off: "]),
        ("| lu   | eth          |     4 |     6.", [9.5], ["line 4: cut off: "]),
    ],
)
def test_the_last_row_of_the_pretty_style_needs_no_end_of_line(written, last, times, unread):
    head = "result:\n| case | interconnect | tasks | time[s] |\n| lu   | eth          |     2 |     9.5 |\n"
    imported = read_foreign(written(head + last))
    assert imported.runs["seconds"].tolist() == times
    assert len(imported.unread) == len(unread)
    assert all(part in line for part, line in zip(unread, imported.unread, strict=True))


def test_two_times_are_not_guessed_between(foreign):
    with pytest.raises(TableError, match=r"several variables are times \(solving_time, solving_time_avg\)"):
        read_foreign(foreign / "jube/means.dat", mapping=make_mapping({"case": {"value": "jacobi"}}))


def test_the_second_table_of_a_file_is_reported(foreign):
    imported = read_foreign(foreign / "jube/two_tables.csv")
    assert len(imported.runs) == 8
    assert [line.rpartition("two_tables.csv")[2] for line in imported.unread] == [
        ": line 11: a second table: give each table a file of its own"
    ]


def test_runs_that_failed_are_reported(foreign):
    imported = read_foreign(foreign / "jube/failed.csv")
    assert imported.runs["seconds"].tolist() == [0.0843, 0.0398]
    assert [line.rpartition("failed.csv: ")[2] for line in imported.unread] == [
        f"line {line}: 'seconds' (solving_time) is empty" for line in (3, 5, 6, 7, 8, 9)
    ]


def test_a_title_with_the_separator_in_it_makes_a_table_unreadable(foreign):
    with pytest.raises(TableError, match="line 2: 6 cells where the heading has 7"):
        read_foreign(foreign / "jube/comma.csv")


def test_a_parameter_without_a_unit_makes_another_point(written):
    rows = "case,interconnect,tasks,size,time[ms]\na,b,2,100,5\na,b,2,200,9\n"
    with pytest.raises(TableError, match=r"'size' takes several values in runs of one point \(100, 200\)"):
        read_foreign(written(rows))
    runs = read_foreign(written(rows), mapping=make_mapping({"case": {"from": ["case", "size"]}})).runs
    assert runs["case"].tolist() == ["a-100", "a-200"]
    assert runs["seconds"].tolist() == pytest.approx([0.005, 0.009])


def test_a_unit_that_contradicts_the_file_is_reported(written):
    file = written("case,interconnect,tasks,time[ms]\na,b,2,1500\n")
    same, other = (make_mapping({"seconds": {"from": "time", "unit": unit}}) for unit in ("ms", "s"))
    assert read_foreign(file, mapping=same).runs["seconds"].tolist() == [1.5]
    with pytest.raises(TableError, match=r"'seconds' \(time\) has the unit 'ms', and 's' in the mapping"):
        read_foreign(file, mapping=other)


def test_a_parameter_that_only_moves_with_the_point_is_fine(written):
    rows = "case;interconnect;tasks;label;time[min]\na;b;1;one;2\na;b;2;two;1\n"
    assert read_foreign(written(rows)).runs["seconds"].tolist() == [120, 60]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("case,interconnect,tasks,time\na,b,2,1.5\n", r"'seconds': no variable holds it"),
        ("case,tasks,seconds\na,2,1.5\n", r"column 'interconnect': no variable holds it \(found: case, sec"),
        ("case,interconnect,tasks,tasks\na,b,2,1\n", r"line 1, column 'tasks': is there twice"),
        (f"{HEAD}a,b,2,fast\n", r"line 2: 'seconds' \(time\) is no number: 'fast'"),
        (f"{HEAD}a,b,2,-1\n", r"line 2, column 'seconds': -1: it must be a positive"),
        (f"{HEAD}a,b,2.5,1\n", r"line 2, column 'processes': 2.5 is no whole number"),
        (f"{HEAD}../a,b,2,1\n", r"line 2, column 'case': '../a': it must be"),
        (f'{HEAD}"a""b",b,2,1\n', r"line 2, column 'case': 'a\"b': it must be"),
        (f'{HEAD}"a\nb",b,2,1\n', r"line 3, column 'case': 'a\\nb': it must be"),
        (f'{HEAD}"a,b,2,1\n', r"line 2: cannot be read: unexpected end of data"),
        (HEAD, "holds no run"),
        (f"{HEAD}a,b,2,1", r"holds no run: .*line 2: cut off: 'a,b,2,1' has no end"),
    ],
)
def test_a_bad_table_is_reported_in_one_line(written, text, message):
    assert re.search(message, refusal(TableError, read_foreign, written(text)))


def test_threads_and_energy_need_no_mapping(foreign):
    imported = read_foreign(foreign / "jube/hybrid.csv")
    columns = ["processes", "threads", "cores", "seconds", "energy_joules"]
    assert imported.unread == [] and imported.runs[columns].to_numpy().tolist() == [
        [1, 2, 2, 0.768, 4.731],
        [1, 2, 2, 0.5146, 4.857],
        [2, 1, 2, 1.422, 4.759],
        [2, 1, 2, 1.3358, 4.719],
    ]


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_decimal_commas_are_read_unless_the_comma_separates_columns(written, separator):
    """As a spreadsheet in German or French writes them."""
    rows = [
        ("case", "interconnect", "tasks", "time[s]"),
        ("lu", "eth", "2", "9,5"),
        ("lu", "eth", "4", "6,125"),
    ]
    text = "".join(separator.join(row) + "\n" for row in rows)
    imported = read_foreign(written(text))
    assert imported.runs["seconds"].tolist() == [9.5, 6.125] and imported.unread == []


def test_a_comma_that_may_separate_thousands_is_not_read(written):
    text = "case;interconnect;tasks;time[s]\nlu;eth;2;9,500\nlu;eth;4;6,125\n"
    reason = refusal(TableError, read_foreign, written(text))
    assert (
        "'seconds' (time) is no number: '9,500': write a decimal point, and no thousands separator" in reason
    )
