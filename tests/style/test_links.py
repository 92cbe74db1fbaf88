"""Links of the documents lead to existing files and headings."""

import re

import pytest

from workflows.paths import ROOT

PAGES = [ROOT / "README.md", ROOT / "envs/README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def anchors(page):
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if not target.startswith("http"):
            file, _, anchor = target.partition("#")
            yield (page.parent / file if file else page), anchor


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    broken = [
        (file.name, anchor)
        for file, anchor in links(page)
        if not file.exists() or (anchor and anchor not in anchors(file))
    ]
    assert broken == []


def test_links_are_found():
    assert len(list(links(ROOT / "README.md"))) > 20
