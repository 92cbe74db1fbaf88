"""docs/reference/ follows from the schemas, and everything has a description."""

import pandera.pandas as pa
import pytest

from docs import make_reference as reference

TABLES = [
    *((name, schema, None) for name, schema in (reference.STUDY_TABLES | reference.IMPORTED_TABLES).items()),
    *((name, schema, reference.SOURCE_OF.get(name)) for name, schema in reference.DETAILS.items()),
]


def test_the_pages_follow_from_the_schemas():
    committed = {path.stem: path.read_text() for path in reference.FOLDER.glob("*.md")}
    assert committed == reference.pages(), "run python docs/make_reference.py"


@pytest.mark.parametrize("page", reference.KEY_PAGES)
def test_every_key_is_described(page):
    schemas = reference.KEY_PAGES[page][2]
    keys = [key for schema in schemas for key in reference.keys(reference.schema_of(schema))]
    assert keys
    assert [key.path for key in keys if not key.meaning] == []


@pytest.mark.parametrize(("name", "schema", "made"), TABLES, ids=[name for name, *_ in TABLES])
def test_every_column_and_table_is_described(name, schema, made):
    assert schema.description
    described = reference.columns(schema, reference.STUDY_TABLES[made] if made else None)
    assert [column for group in described for column in group.names] != []
    assert {column for group in described for column in group.names} == set(schema.columns)


def test_a_column_without_a_description_is_found():
    schema = reference.STUDY_TABLES["peaks"].add_columns({"colour": pa.Column(str)})
    with pytest.raises(LookupError, match="peaks: column colour"):
        reference.columns(schema)


def test_no_shared_description_is_left_over():
    used = {column for _, schema, _ in TABLES for column in schema.columns}
    assert set(reference.SHARED_DESCRIPTIONS) <= used
    assert set(reference.SOURCE_OF) <= set(reference.DETAILS)
