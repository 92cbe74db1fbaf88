"""Every YAML example of README and of the pages is valid: a whole file, or a part of one."""

import re
from functools import cache
from pathlib import Path

import pytest

from analysis.importers.mapping import COLUMNS, make_mapping
from analysis.runs.yaml_files import load_yaml
from analysis.topics.proposal.rules import read_rule
from workflows.errors import InputError
from workflows.inputs import check, keys
from workflows.paths import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FILES = ("study", "interconnect", "cluster", "case")
"""Schemas; an example belongs to the one that has most of its keys."""
MAPPED = {*COLUMNS, "may_differ", "pattern"}
"""Keys of a mapping of variables to columns."""
MISSING = {
    "study": {"name": "example"},
    "interconnect": {
        "name": "example",
        "kind": "simulated",
        "title": "Example",
        "description": "Example.",
    },
    "case": {
        "application": "command",
        "title": "Example",
        "description": "Example.",
        "stands_for": "Nothing.",
        "size": "small",
        "sizes": {"small": {"parameters": {}, "serial_seconds": 1, "memory_MB": 1}},
        "settings": {},
    },
}
MODEL = {
    "source": "example",
    "eager_limit_bytes": 1024,
    "node": {"cores": 1, "memory_latency_us": 1, "memory_MBps": 1000},
}
"""Keys that a file or a model needs and that an example of a part of it leaves out."""


def examples(page):
    text = page.read_text()
    for found in re.finditer(r"^```yaml\n(.*?)^```", text, re.M | re.S):
        yield f"{page.name}:{text[: found.start()].count(chr(10)) + 1}", found[1]


EXAMPLES = dict(example for page in PAGES for example in examples(page))


@pytest.mark.parametrize("place", EXAMPLES)
def test_an_example_is_valid(place, tmp_path):
    check_example(load_yaml(EXAMPLES[place]), place, tmp_path)


def check_example(content, place, folder):
    if "quantity" in content:
        file = folder / f"{content['name']}.yaml"
        file.write_text(EXAMPLES[place])
        read_rule(file)
    elif content.keys() <= MAPPED:
        make_mapping(content, place)
    else:
        schema = max(FILES, key=lambda name: len(content.keys() & known(name)))
        if "simulate" in content:
            content = {**content, "simulate": {**MODEL, **content["simulate"]}}
        check({**MISSING.get(schema, {}), **content}, schema, Path(place))


@cache
def known(schema):
    return frozenset(keys(schema))


def test_a_wrong_key_and_a_wrong_value_are_found(tmp_path):
    with pytest.raises(InputError, match="procesess"):
        check_example({"name": "mine", "procesess": [1]}, "page.md:1", tmp_path)
    with pytest.raises(InputError, match="blocks"):
        check_example({"name": "mine", "blocks": "six"}, "page.md:1", tmp_path)
