"""Mistakes in a YAML file: one line with the file, the key and the value."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refused import refusal
from ruamel.yaml import YAML

from workflows import inputs
from workflows.domain import InputError


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"a: 1\nb: 2\na: 3\n", ", line 3: key 'a' is there twice; each only once"),
        (b"a: {x: 1, x: 2}\n", ", line 1: key 'x' is there twice; each only once"),
        (b"a: [1,\n", ", line 2: expected the node content, but found '<stream end>'"),
        (b"a: 1\n\tb: 2\n", ", line 2: found character '\\t' that cannot start any token"),
        (b"a\n---\nb\n", ", line 2: expected a single document in the stream, but found another document"),
        (b"a: *x\n", ", line 1: found undefined alias 'x'"),
        (b"a: !thing 1\n", ", line 1: could not determine a constructor for the tag '!thing'"),
        (b"", ": is empty"),
        (b"# nothing\n", ": is empty"),
        (b"- a\n", ": the file must be a section of keys, not ['a']"),
        (b"b: {1: x}\n", ": b.1: a key must be text; quote it"),
        (b"b: [0, .inf]\n", ": b[1]: inf is not a finite number"),
        (b"b: &b {c: *b}\n", ": b.c: refers to itself"),
        (b"\xff\n", ": is not UTF-8 text (byte 0)"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_in_one_line(tmp_path, text, message):
    file = tmp_path / "file.yaml"
    file.write_bytes(text)
    assert refusal(InputError, inputs.read_yaml, file) == f"{file}{message}"


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        inputs.read_yaml(tmp_path / "none.yaml")
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        inputs.read_yaml(tmp_path)


def test_numbers_and_words_follow_yaml_1_2(tmp_path):
    file = tmp_path / "file.yaml"
    file.write_text("tolerance: 1e-7\nanswer: no\nswitch: true\ncount: 010\n")
    assert inputs.read_yaml(file) == {"tolerance": 1e-7, "answer": "no", "switch": True, "count": 10}


@given(
    st.dictionaries(
        st.text(st.characters(codec="ascii", categories=["L"]), min_size=1),
        st.recursive(
            st.integers() | st.booleans() | st.none() | st.text(st.characters(categories=["L", "N"])),
            lambda inner: st.lists(inner) | st.dictionaries(st.text("abc", min_size=1), inner),
            max_leaves=8,
        ),
        min_size=1,
    )
)
def test_valid_files_are_read_as_written(tmp_path_factory, data):
    file = tmp_path_factory.mktemp("yaml") / "file.yaml"
    YAML(typ="safe", pure=True).dump(data, file)
    assert inputs.read_yaml(file) == data


SCHEMA = """
type: object
additionalProperties: false
required: [name, count]
properties:
  name: {type: string, pattern: "^[a-z]+$", description: what it is called.}
  count: {type: integer, minimum: 1, maximum: 8}
  share: {type: number, exclusiveMinimum: 0, exclusiveMaximum: 1}
  kind: {enum: [measured, emulated]}
  list: {type: array, items: {type: integer}, minItems: 1, maxItems: 2, uniqueItems: true}
  either: {anyOf: [{type: integer}, {enum: [all, none]}]}
  deep: {anyOf: [{type: string}, {type: object, properties: {a: {type: string}}}]}
  given: {not: {}, description: set for each run}
"""


@pytest.fixture
def schema(tmp_path, monkeypatch):
    (tmp_path / "thing.yaml").write_text(SCHEMA)
    monkeypatch.setattr(inputs, "SCHEMAS", tmp_path)
    inputs._validator.cache_clear()
    yield
    inputs._validator.cache_clear()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"nmae": "x"}, "nmae: unknown key, did you mean 'name'?; allowed: "),
        ({"name": None}, "name: an empty value is not text"),
        ({"name": "A"}, "name: 'A' does not match ^[a-z]+$"),
        ({"count": 0}, "count: 0 is too small; at least 1"),
        ({"count": 9}, "count: 9 is too large; at most 8"),
        ({"count": True}, "count: true is not a whole number"),
        ({"count": 1.5}, "count: 1.5 is not a whole number"),
        ({"share": 0}, "share: 0 is too small; must be above 0"),
        ({"share": 1}, "share: 1 is too large; must be below 1"),
        ({"kind": "emulate"}, "kind: no 'emulate' here, did you mean 'emulated'?; allowed: measured"),
        ({"list": []}, "list: [] has too few entries; at least 1"),
        ({"list": [1, 2, 3]}, "list: [1, 2, 3] has too many entries; at most 2"),
        ({"list": [2, 2]}, "list: 2 is there twice; each only once"),
        ({"list": [1, "x"]}, "list[1]: 'x' is not a whole number"),
        ({"either": "some"}, "either: 'some' is not a whole number or all, none"),
        ({"deep": {"a": 1}}, "deep.a: 1 is not text"),
        ({"given": 1}, "given: does not belong here: set for each run"),
    ],
)
def test_a_breach_of_the_schema_is_reported_in_one_line(schema, tmp_path, change, reason):
    message = refusal(
        InputError, inputs.check, {"name": "x", "count": 1} | change, "thing", tmp_path / "mine.yaml"
    )
    assert message.startswith(f"{tmp_path / 'mine.yaml'}: {reason}")


def test_a_missing_key_is_explained(schema, tmp_path):
    with pytest.raises(InputError, match=r"mine.yaml: name: missing \(what it is called\)$"):
        inputs.check({"count": 1}, "thing", tmp_path / "mine.yaml")


def test_valid_values_pass(schema, tmp_path):
    inputs.check({"name": "x", "count": 8, "either": "all", "list": [1, 2]}, "thing", tmp_path)


def test_an_unknown_name_lists_the_nearest_and_all_known():
    assert inputs.choose("b", ["a", "b"], "letter", "file: key") == "b"
    names = ["infiniband", "gigabit"]
    message = refusal(InputError, inputs.choose, "gigabyt", names, "interconnect", "file: key")
    assert (
        message == "file: key: no interconnect 'gigabyt', did you mean 'gigabit'?; known: gigabit, infiniband"
    )
