"""Intervals that decide whether a study has reached its target."""

import numpy as np
import pytest
from made_tables import make_tables
from small_runs import rows, unplaced

from analysis.runs.settings import Settings
from analysis.topics.precision import half_widths

SETTINGS = Settings(draws=500, baselines=("slow",))


def runs(seconds, blocks=8, spread=0.02):
    """Runs of one case: by interconnect (None: serial) and processes, a median time."""
    rng = np.random.default_rng(3)
    return unplaced(
        *(
            rows("duct", interconnect, {processes: median}, np.exp(spread * rng.standard_normal(blocks)))
            for (interconnect, processes), median in seconds.items()
        )
    )


def test_those_of_the_improvements():
    tables = make_tables(runs({(None, 1): 8, ("slow", 2): 5, ("swift", 2): 4}), SETTINGS)
    row = tables["improvement"].iloc[0]
    assert half_widths(tables).tolist() == [(row["improvement_high"] - row["improvement_low"]) / 2]


def test_where_nothing_is_compared_times_are_looked_at():
    tables = make_tables(runs({(None, 1): 3, ("slow", 2): 5, ("swift", 4): 4}), SETTINGS)
    assert tables["improvement"]["improvement_percent"].isna().all()
    parallel = tables["scaling"][~tables["scaling"]["serial"]]
    expected = 50 * (parallel["seconds_high"] - parallel["seconds_low"]) / parallel["seconds"]
    assert half_widths(tables).tolist() == pytest.approx(expected.tolist())
    assert len(expected) == 2 and (expected > 0).all()


def test_one_interconnect_has_its_times():
    tables = make_tables(runs({(None, 1): 8, ("slow", 2): 5, ("slow", 4): 3}), SETTINGS)
    assert len(half_widths(tables)) == 2


def test_one_block_has_no_width():
    tables = make_tables(runs({(None, 1): 8, ("slow", 2): 5, ("swift", 2): 4}, blocks=1), SETTINGS)
    assert half_widths(tables).isna().tolist() == [True]


def test_serial_runs_alone_have_none():
    assert half_widths(make_tables(runs({(None, 1): 8}), Settings(draws=500))).empty
