"""What every topic must be; docs/extending/topic.md describes the same and has a template."""

import re

import pytest
from small_runs import ROOT, rows, runs_table

from analysis.presentation.content import Content
from analysis.presentation.drawing import drawable
from analysis.presentation.style import FigureLabels
from analysis.runs.facts import Facts
from analysis.runs.settings import Settings
from analysis.topics.registry import TOPICS
from analysis.topics.topic import Context, CurveSet, Request, Topic, View


def test_names_of_topics_and_tables_are_unique():
    names = [topic.name for topic in TOPICS]
    tables = [table for topic in TOPICS for table in topic.schemas]
    assert len(set(names)) == len(names) and len(set(tables)) == len(tables)


@pytest.mark.parametrize("topic", TOPICS, ids=[topic.name for topic in TOPICS])
def test_its_tables_are_described_and_its_lists_name_them(topic):
    assert isinstance(topic, Topic) and (topic.section or topic.draw or topic.make or topic.headline)
    assert all(schema.description and schema.name == name for name, schema in topic.schemas.items())
    assert {*topic.always, *topic.tested, *topic.directions} <= set(topic.schemas)


def test_the_template_makes_a_table_a_figure_and_a_section():
    page = (ROOT / "docs/extending/topic.md").read_text()
    module = {}
    exec(re.search(r"```python\n(.*?)```", page, re.DOTALL)[1], module)
    topic = module["TOPIC"]
    runs, settings, facts = runs_table(rows("duct", "swift", {2: 4.0, 8: 1.0})), Settings(draws=100), Facts()
    tables = topic.make(Context(runs, Request(settings), CurveSet(runs, settings)))
    (table,) = [topic.schemas[name].validate(made.assign(site=None)) for name, made in tables.items()]
    assert table[["case", "largest"]].to_dict("records") == [{"case": "duct", "largest": 8}]
    view = View(runs, tables, facts, FigureLabels.of(drawable(facts), ["swift"]))
    (drawing,) = topic.draw(view)
    content = Content(runs, tables, facts, [drawing.entry()])
    section = topic.section(content)
    assert (section["id"], [block["type"] for block in section["blocks"]]) == (
        "largest",
        ["table", "figure"],
    )
