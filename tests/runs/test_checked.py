"""A table is checked as pandera checks it."""

import numpy as np
import pandas as pd
import pytest

from analysis.runs.checked import Check, Column, Schema, SchemaError, _by_pandera, checked, empty

COLUMNS = {
    "count": Column("Int64", Check("ge", 1)),
    "share": Column(float, Check("in_range", 0, 1), nullable=True),
    "seconds": Column(float, Check("gt", 0), nullable=True),
    "inner": Column(float, Check("in_range", 0, 1, include_min=False), nullable=True),
    "kind": Column(str, Check("isin", ["measured", "published"])),
    "sure": Column(bool),
    "short": Column(float, Check("in_range", 0, 1, include_max=False)),
    "serial": Column("Int64", Check("equal_to", 1)),
    "name": Column(str, Check("str_matches", r"[a-z]+\Z")),
}
SOUND = {"count": 1, "share": 1.0, "seconds": 0.5, "inner": 1.0, "kind": "measured", "sure": True}
SOUND |= {"short": 0.0, "serial": 1, "name": "elbow"}


def verdict(check, schema, table):
    try:
        return check(schema, table)
    except SchemaError as error:
        return str(error)


def table_with(**odd):
    return pd.DataFrame([SOUND, SOUND | odd, SOUND])


@pytest.mark.parametrize("coerce", [True, False])
@pytest.mark.parametrize(
    "odd",
    [{}]
    + [{"count": value} for value in (0, None, 1.5, "many", "2", np.inf, 1e23)]
    + [{"share": value} for value in (1.0001, -1, None, np.nan, np.inf)]
    + [{"seconds": value} for value in (0, -1, None, np.inf, "long")]
    + [{"inner": value} for value in (0, None)]
    + [{"kind": value} for value in ("guessed", None, 3)]
    + [{"sure": value} for value in (None, "yes", 0)]
    + [{"short": 1.0}, {"serial": 2}]
    + [{"name": value} for value in ("elbow\n", "Elbow", 3)],
    ids=str,
)
def test_a_row_is_taken_or_refused_as_pandera_does(odd, coerce):
    schema = Schema(COLUMNS, name="table", strict=True, ordered=True, coerce=coerce)
    tables = [table_with(**odd)]
    if not coerce:  # one of the right types as well
        tables.append(table_with().astype({name: column.dtype for name, column in COLUMNS.items()}))
    for table in tables:
        wanted, found = verdict(_by_pandera, schema, table), verdict(checked, schema, table)
        if isinstance(wanted, str):
            assert found == wanted
        else:
            pd.testing.assert_frame_equal(found, wanted)


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(
    "names", [["kind", "count"], ["count"], ["count", "kind", "more"], ["count", "kind"]]
)
def test_columns_are_asked_for_as_pandera_does(names, strict):
    columns = {"count": COLUMNS["count"], "kind": Column(str, required=False)}
    schema = Schema(columns, strict=strict, ordered=strict, coerce=True)
    table = table_with(more=2.0).reindex(columns=names)
    wanted, found = verdict(_by_pandera, schema, table), verdict(checked, schema, table)
    assert type(found) is type(wanted)
    assert found == wanted if isinstance(wanted, str) else found.equals(wanted)


@pytest.mark.parametrize("table", [table_with(), table_with(share=None).iloc[:0]], ids=["rows", "none"])
def test_a_sound_table_costs_no_question_to_pandera(table, monkeypatch):
    monkeypatch.setattr("analysis.runs.checked._by_pandera", None)
    assert len(checked(Schema(COLUMNS, strict=True, coerce=True), table)) == len(table)


def test_no_rows_have_the_types_of_their_columns():
    schema = Schema(COLUMNS, strict=True, ordered=True, coerce=True)
    table = pd.DataFrame(columns=list(COLUMNS))
    pd.testing.assert_frame_equal(checked(schema, table), _by_pandera(schema, table))
    pd.testing.assert_frame_equal(empty(schema), _by_pandera(schema, table))
