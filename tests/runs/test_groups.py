"""Groups of equal rows as arrays equal those of pandas' groupby."""

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from analysis.runs.groups import Groups, coded, combined, labelled
from analysis.statistics.bootstrap import end_rank, percentile_interval

ROWS = st.lists(
    st.tuples(st.sampled_from(["b", "a", None]), st.integers(1, 3), st.floats(-9, 9)), min_size=1, max_size=30
)


@given(ROWS)
def test_groups_equal_those_of_pandas(rows):
    frame = pd.DataFrame(rows, columns=["name", "count", "value"]).astype({"name": "str"})
    groups = Groups.of(coded(frame["name"])[0], coded(frame["count"])[0])
    expected = frame.groupby(["name", "count"], dropna=False)
    assert groups.number.tolist() == expected.ngroup().tolist()
    assert groups.position.tolist() == expected.cumcount().tolist()
    assert groups.size.tolist() == expected.size().tolist()
    assert groups.median(frame["value"].to_numpy()).tolist() == expected["value"].median().tolist()
    first = frame.drop_duplicates(["name", "count"]).index
    assert sorted(groups.rows.tolist()) == first.tolist()


def test_missing_values_come_last_or_first():
    names = pd.Series(["b", None, "a"], dtype="str")
    assert coded(names)[0].tolist() == [1, 2, 0]
    codes, labels = labelled(names, "")
    assert labels[codes].tolist() == ["b", "", "a"] and codes.tolist() == [2, 0, 1]


def test_no_rows_make_no_groups():
    assert len(Groups.of(np.empty(0, np.int64)).size) == 0


def test_keys_of_many_values_still_sort_as_they_do():
    rng = np.random.default_rng(0)
    keys = [rng.integers(0, 2**40, 50), rng.integers(0, 2**40, 50)]
    assert np.argsort(combined(keys)).tolist() == np.lexsort(keys[::-1]).tolist()


@given(st.sampled_from([100, 250, 1000, 1500, 2000]), st.sampled_from([0.9, 0.95, 0.99]), st.booleans())
def test_ends_computed_in_parts_equal_those_of_all_draws(count, level, endless):
    draws = np.random.default_rng(count).normal(size=(3, 2, count)).round(2)
    draws[0, 0, : count // 2] = np.inf if endless else 0
    ordered, k = np.sort(draws, axis=-1), end_rank(count, level)
    low, high = percentile_interval(draws, level)
    assert low.tolist() == ordered[..., k - 1].min(axis=1).tolist()
    assert high.tolist() == ordered[..., -k].max(axis=1).tolist()
