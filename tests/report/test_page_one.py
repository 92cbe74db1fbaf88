"""Page one alone, for slides and tickets."""

import json
from xml.etree import ElementTree

from workflows.report.page_one import page_one


def test_it_is_a_page_and_a_text(printed):
    report = json.loads((printed / "report.json").read_text())
    figures = {path.stem: path.read_bytes() for path in (printed / "figures").glob("*.svg")}
    made = page_one(report, figures)
    size = ElementTree.fromstring(made["answer.svg"]).attrib
    assert float(size["height"].removesuffix("pt")) / float(size["width"].removesuffix("pt")) > 1.4
    assert made["answer.png"].startswith(b"\x89PNG")
    text = made["answer.md"].decode()
    (answer,) = (section for section in report["sections"] if section["id"] == "answer")
    (table,) = (block for block in answer["blocks"] if block["type"] == "table")
    (figures_of_page,) = (block for block in answer["blocks"] if block["type"] == "key_figures")
    assert text.startswith(f"# {report['result']}\n\n{report['title']} · ")
    assert text.count("\n- ") == len(figures_of_page["key_figures"]) in (3, 4)
    assert all(f"**{figure['value']}**" in text for figure in figures_of_page["key_figures"])
    assert text.count("\n| ") == 2 + sum(1 + len(group["rows"]) for group in table["groups"])
    assert page_one(report, {}) == {}
    assert page_one({**report, "sections": []}, figures) == {}


def test_marks_of_markdown_are_texts(printed):
    report = json.loads((printed / "report.json").read_text())
    paragraph = {"type": "paragraph", "text": "a|b <i>*c*</i>", "case": "", "printed": True}
    answer = {**report["sections"][0], "id": "answer", "blocks": [paragraph]}
    text = page_one({**report, "sections": [answer]}, {})["answer.md"].decode()
    assert "a\\|b \\<i\\>\\*c\\*\\</i\\>" in text
