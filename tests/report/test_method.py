"""The section that describes the blocks, estimates and tests of a study."""

import pandas as pd
from made_tables import make_tables
from report_parts import part, sentences_of
from small_runs import FACTORS, rows, runs_table

from analysis.report import make_report
from analysis.runs.facts import Facts
from analysis.runs.settings import Settings


def test_the_method_names_points_that_were_repeated_alone():
    """Six blocks of two counts; --again runs the second count once more."""
    runs = runs_table([*rows("duct", "a", {1: 8.0, 2: 4.0}, blocks=FACTORS)])
    path = "records/duct/a/processes-{}/block-{}-attempt-{}.json"
    runs["record"] = [path.format(*pair, 1) for pair in zip(runs["processes"], runs["block"], strict=True)]
    last = runs[runs["processes"] == 2].iloc[-1]
    again = {"block": 7, "attempt": 2, "record": path.format(2, last["block"], 2)}
    repeated = pd.concat([runs, pd.DataFrame([last.to_dict() | again])], ignore_index=True)
    texts = [
        sentences_of(
            part(make_report(table, make_tables(table, Settings(draws=200)), Facts.of({}), []), "method")
        )
        for table in (runs, repeated)
    ]
    assert "--again" not in texts[0]
    assert "The option --again repeated 1 point. A repeated run" in texts[1]
    assert (
        "A block is one repetition of every point, or of the points that --again named. The runs" in texts[1]
    )
