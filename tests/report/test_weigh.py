"""Page Further criteria: notes of interconnect files, of price books and of publications."""

from dataclasses import replace

import pandas as pd
import pytest
from refused import refusal
from report_parts import blocks, cells
from small_runs import ROOT
from synthetic_study import make_runs, make_study

from analysis.importers import read_published
from analysis.presentation.content import Content
from analysis.report import make_report
from analysis.runs.facts import Facts
from analysis.topics.weigh import notes_section
from workflows.domain import InputError
from workflows.paths import INTERCONNECTS
from workflows.study.interconnects import load_interconnect

NOTE = {"topic": "cabling", "note": "Heavy", "year": 2005, "source": "us"}


def content(interconnects, notes=None, prices=None):
    about = {name: {"notes": notes} for name, notes in interconnects.items()}
    published = {} if notes is None else {"notes": pd.DataFrame(notes)}
    return Content(
        pd.DataFrame(),
        {} if prices is None else {"prices": prices},
        Facts.of({"interconnects": about}),
        [],
        published,
    )


def rows(made):
    (table,) = blocks(made, "table")
    return {group["title"]: [line["cells"] for line in group["rows"]] for group in table["groups"]}


def test_a_note_of_a_file_is_listed_with_its_year_and_source():
    assert rows(notes_section(content({"fast": [NOTE]}))) == {"fast": [["cabling", "Heavy", "2005", "[1]"]]}


def test_a_note_on_several_stands_once():
    assert rows(notes_section(content({"fast": [NOTE], "swift": [NOTE]}))) == {
        "fast and swift": [["cabling", "Heavy", "2005", "[1]"]]
    }


def test_sources_are_named_once_in_the_caption():
    notes = [NOTE, {**NOTE, "note": "Loud"}, {**NOTE, "note": "Long", "source": "them"}]
    made = notes_section(content({"fast": notes}))
    (table,) = blocks(made, "table")
    assert table["caption"] == "Notes on interconnects. Sources: [1] us; [2] them."
    assert [line[-1] for line in rows(made)["fast"]] == ["[1]", "[1]", "[2]"]


def test_published_notes_are_those_of_compared_interconnects():
    notes = [{**NOTE, "note": f"Of {name}", "interconnect": name} for name in ("myrinet", "sci", None)]
    notes_by_title = rows(notes_section(content({"myrinet_mpi": [], "scilab": []}, notes)))
    assert list(notes_by_title) == ["All of them", "Myrinet"]


def test_notes_of_a_price_book_are_there_once():
    priced = pd.DataFrame(
        [{**NOTE, "interconnect": "fast", "basis": "published", "nodes": n} for n in (2, 24)]
    )
    assert rows(notes_section(content({"fast": []}, prices=priced))) == {
        "fast": [["price", "Heavy", "2005", "[1]"]]
    }


def test_the_report_has_the_page_after_the_prices():
    runs, tables, facts = make_study(make_runs())[:3]
    name = runs["interconnect"].dropna().iloc[0]
    about = dict(facts.interconnects) | {name: replace(facts.interconnect(name), notes=[NOTE])}
    report = make_report(runs, tables, replace(facts, interconnects=about), [])
    (page,) = (section for section in report["sections"] if section["id"] == "weigh")
    assert cells(page["blocks"][1]) == [["cabling", "Heavy", "2005", "[1]"]]


def test_published_notes_are_dated_and_sourced_and_of_every_document():
    notes = read_published(ROOT / "analysis/published")["notes"]
    assert notes["source"].nunique() == 5 and notes["year"].between(2003, 2009).all()
    assert {"cabling", "size", "maturity", "reliability", "bus slots", "software"} <= set(notes["topic"])


@pytest.mark.parametrize("lost", ["year", "source"])
def test_a_note_of_a_file_needs_its_date_and_source(tmp_path, lost):
    text = (INTERCONNECTS / "rdma_gigabit_ethernet.yaml").read_text()
    kept = "\n".join(line for line in text.splitlines() if not line.startswith(f"    {lost}:"))
    (tmp_path / "rdma_gigabit_ethernet.yaml").write_text(kept)
    assert f"notes[0].{lost}: missing" in refusal(
        InputError, load_interconnect, "rdma_gigabit_ethernet", tmp_path
    )
