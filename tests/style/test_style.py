"""Rules of the tree: linters, formatters, schemas and Snakemake's lint."""

import sys
from pathlib import Path

import jsonschema
import pytest
from programs import printed

from workflows import inputs
from workflows.paths import CASES, INTERCONNECTS, ROOT
from workflows.study import cases
from workflows.study.interconnects import load_interconnect
from workflows.study.study import read_study

BIN = Path(sys.executable).parent


def check(program: str, *arguments: str) -> None:
    printed(BIN / program, *arguments, timeout=300)


def test_ruff_finds_nothing():
    check("ruff", "check", ".")


def test_python_is_formatted():
    check("ruff", "format", "--check", ".")


@pytest.mark.slow
def test_types():
    check("mypy")


def test_spelling():
    check("codespell")


def test_snakefiles_are_formatted():
    check("snakefmt", "--check", "Snakefile", "workflows/rules")


def test_snakemake_lint_finds_nothing():
    check("snakemake", "--lint", "--workflow-profile", "none", "--cores", "1")


SCHEMAS = sorted(inputs.SCHEMAS.glob("*.yaml"))


@pytest.mark.parametrize("file", SCHEMAS, ids=lambda file: file.stem)
def test_schemas_are_closed_and_describe_every_key(file):
    schema = inputs.read_yaml(file)
    # as YAML 1.1 too, which the quick reader takes it for
    assert schema == inputs._schema(file.name)
    jsonschema.Draft202012Validator.check_schema(schema)
    all_sections = list(sections(schema))
    assert all_sections
    for section in all_sections:
        assert section.get("additionalProperties") is not None or "patternProperties" in section
        for key, value in section["properties"].items():
            assert "description" in value or "$ref" in value or value == {}, f"{file.name}: {key}"


def sections(schema):
    if isinstance(schema, dict):
        if isinstance(schema.get("properties"), dict):
            yield schema
        for value in schema.values():
            yield from sections(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from sections(value)


@pytest.mark.parametrize("file", sorted(ROOT.glob("config/studies/*.yaml")), ids=lambda file: file.stem)
def test_shipped_studies_are_right(file):
    study = read_study(file)
    assert study.name == file.stem
    for name in study.cases:
        cases.load_case(name, CASES)
    for name in study.interconnects:
        load_interconnect(name, INTERCONNECTS)


@pytest.mark.parametrize("file", sorted(INTERCONNECTS.glob("*.yaml")), ids=lambda file: file.stem)
def test_shipped_interconnects_are_right(file):
    assert load_interconnect(file.stem, file.parent).name == file.stem
