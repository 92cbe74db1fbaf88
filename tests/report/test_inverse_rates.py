"""A figure of merit is shown as what it is: an inverse rate, not a time."""

import pytest
from made_tables import make_tables
from report_parts import blocks, part, plain
from small_runs import rows, runs_table

from analysis.report import make_report
from analysis.runs.facts import Facts
from analysis.runs.settings import Settings


@pytest.mark.parametrize(
    ("columns", "head"),
    [
        ({"run_seconds": 40.0, "work": 1e12, "work_unit": "cells"}, "Inverse rate (s per 10¹² cells)"),
        ({"figure_of_merit": 2e11, "work": 1e12, "work_unit": "cells"}, "Time (s)"),
        ({"work": 1e12, "work_unit": "cells"}, "Time (s)"),
        ({}, "Time (s)"),
    ],
)
def test_the_table_of_page_one_names_an_inverse_rate(columns, head):
    times = {2: 8.0, 4: 5.0}
    runs = runs_table(rows("box", "a", times, (1,), **columns), rows("box", "b", times, (1,), **columns))
    tables = make_tables(runs, Settings(baselines=("a",), draws=100))
    report = make_report(runs, tables, Facts.of({"study": {"baselines": ["a"]}}), [])
    (table,) = blocks(part(report, "answer"), "table")
    assert head in [plain(" ".join(column["title"])) for column in table["columns"]]
