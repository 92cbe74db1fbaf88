"""A table is checked as pandera checks it."""

import numpy as np
import pandas as pd
import pandera.pandas as pa
import pytest
from pandera.errors import SchemaError, SchemaErrors

from analysis.runs.checked import checked

COLUMNS = {
    "count": pa.Column("Int64", pa.Check.ge(1)),
    "share": pa.Column(float, pa.Check.in_range(0, 1), nullable=True),
    "seconds": pa.Column(float, pa.Check.gt(0), nullable=True),
    "inner": pa.Column(float, pa.Check.in_range(0, 1, include_min=False), nullable=True),
    "kind": pa.Column(str, pa.Check.isin(["measured", "published"])),
    "sure": pa.Column(bool),
    "short": pa.Column(float, pa.Check.in_range(0, 1, include_max=False)),
    "serial": pa.Column("Int64", pa.Check.equal_to(1)),
    "name": pa.Column(str, pa.Check.str_matches(r"[a-z]+\Z")),
    "even": pa.Column("Int64", pa.Check(lambda values: values % 2 == 0)),
}
SOUND = {"count": 1, "share": 1.0, "seconds": 0.5, "inner": 1.0, "kind": "measured", "sure": True}
SOUND |= {"short": 0.0, "serial": 1, "name": "elbow", "even": 2}


def verdict(check, schema, table):
    try:
        return check(schema, table)
    except (SchemaError, SchemaErrors) as error:
        return str(error)


def by_pandera(schema, table):
    return schema.validate(table)


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
    + [{"short": 1.0}, {"serial": 2}, {"even": 3}]
    + [{"name": value} for value in ("elbow\n", "Elbow", 3)],
    ids=str,
)
def test_a_row_is_taken_or_refused_as_pandera_does(odd, coerce):
    schema = pa.DataFrameSchema(COLUMNS, name="table", strict=True, ordered=True, coerce=coerce)
    tables = [table_with(**odd)]
    if not coerce:  # one of the right types as well
        tables.append(table_with().astype({name: column.dtype.type for name, column in COLUMNS.items()}))
    for table in tables:
        wanted, found = verdict(by_pandera, schema, table), verdict(checked, schema, table)
        if isinstance(wanted, str):
            assert found == wanted
        else:
            pd.testing.assert_frame_equal(found, wanted)


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(
    "names", [["kind", "count"], ["count"], ["count", "kind", "more"], ["count", "kind"]]
)
def test_columns_are_asked_for_as_pandera_does(names, strict):
    columns = {"count": COLUMNS["count"], "kind": pa.Column(str, required=False)}
    schema = pa.DataFrameSchema(columns, strict=strict, ordered=strict, coerce=True)
    table = table_with(more=2.0).reindex(columns=names)
    wanted, found = verdict(by_pandera, schema, table), verdict(checked, schema, table)
    assert type(found) is type(wanted)
    assert found == wanted if isinstance(wanted, str) else found.equals(wanted)


@pytest.mark.parametrize("table", [table_with(), table_with(share=None).iloc[:0]], ids=["rows", "none"])
def test_a_sound_table_costs_no_question_to_pandera(table, monkeypatch):
    monkeypatch.setattr(pa.DataFrameSchema, "validate", None)
    assert len(checked(pa.DataFrameSchema(COLUMNS, strict=True, coerce=True), table)) == len(table)


def test_no_rows_have_the_types_of_their_columns():
    schema = pa.DataFrameSchema(COLUMNS, strict=True, ordered=True, coerce=True)
    table = pd.DataFrame(columns=list(COLUMNS))
    pd.testing.assert_frame_equal(checked(schema, table), schema.validate(table))
