"""The reference in docs/reference/ is what the schemas give, and nothing lacks a description."""

import pandera.pandas as pa
import pytest

from docs import make_reference as reference

TOLD = reference.descriptions()
TABLES = [
    *((name, schema, TOLD["tables"]) for name, schema in reference.STUDY_TABLES.items()),
    *((name, schema, TOLD["details"]) for name, schema in reference.DETAILS.items()),
    *((name, schema, TOLD["imports"]) for name, schema in reference.IMPORTED_TABLES.items()),
]


def test_the_pages_are_what_the_schemas_give():
    committed = {path.stem: path.read_text() for path in reference.FOLDER.glob("*.md")}
    assert committed == reference.pages(), "run python docs/make_reference.py"


@pytest.mark.parametrize("page", reference.KEY_PAGES)
def test_every_key_is_described(page):
    schemas = reference.KEY_PAGES[page][2]
    keys = [key for schema in schemas for key in reference.keys(reference.schema_of(schema))]
    assert keys
    assert [key.path for key in keys if not key.meaning] == []


@pytest.mark.parametrize(("name", "schema", "told"), TABLES, ids=[name for name, *_ in TABLES])
def test_every_column_is_described_and_nothing_else(name, schema, told):
    described = reference.columns(schema, told[name], TOLD["everywhere"])
    assert [column for one in described for column in one.names] != []
    assert {column for one in described for column in one.names} == set(schema.columns)
    assert set(told[name].get("columns", {})) <= set(schema.columns)


def test_a_column_without_a_description_is_found():
    schema = reference.STUDY_TABLES["peaks"].add_columns({"colour": pa.Column(str)})
    with pytest.raises(LookupError, match="peaks: column colour"):
        reference.columns(schema, TOLD["tables"]["peaks"], TOLD["everywhere"])


def test_no_description_is_left_over():
    used = {column for _, schema, _ in TABLES for column in schema.columns}
    assert set(TOLD["everywhere"]) <= used
    assert sum(len(TOLD[kind]) for kind in ("tables", "details", "imports")) == len(TABLES)
