"""Adjusted comparisons stand next to the plain ones and state missing ones."""

import numpy as np
from report_parts import blocks, cells, part, sentences_of
from synthetic_study import make_runs, make_whole_study

from analysis.report import make_report


def study(follows):
    """Eight blocks whose times follow the speed of the machine, or do not."""
    runs = make_runs(8, levels=(1,))
    speed = np.random.default_rng(3).normal(0, 0.2, len(runs))
    seconds = runs["seconds"] * np.exp(speed * follows)
    return make_whole_study(runs.assign(seconds=seconds, speed_probe_seconds=0.1 * np.exp(speed)))


def section(made):
    return part(make_report(*made, []), "adjusted")


def test_the_section_has_both_comparisons():
    made = study(follows=1)
    table = made[1]["adjusted"]
    assert table["adjusted_percent"].notna().any() and table["narrower_percent"].median() > 20
    adjusted = section(made)
    assert "of the scatter of the run times (p" in sentences_of(adjusted)
    assert "The adjustment narrows the intervals by" in sentences_of(adjusted)
    (printed,) = blocks(adjusted, "table")
    assert len(cells(printed)) == len(table)
    key = ["case", "baseline_interconnect", "interconnect"]
    plain, shown_as_plain = (
        rows.set_index(key)["improvement_percent"] for rows in (made[1]["improvement"], table)
    )
    assert shown_as_plain.equals(plain[shown_as_plain.index])


def test_an_unrelated_speed_adjusts_nothing():
    adjusted = section(study(follows=0))
    assert "the run times do not rise significantly with the probe times" in sentences_of(adjusted)
