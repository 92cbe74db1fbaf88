"""The page on five studies made by hand: every named place exists."""

import re

from analysis.pipeline import TABLE_SCHEMAS
from workflows.paths import ROOT

PAGE = ROOT / "docs/studies_by_hand.md"
FIGURES = "network_links network overview scaling improvement oversubscription pareto turnaround models placement prices "
FIGURES += "traffic congestion simulated_times spread"


def results():
    """Published results with the other cells of their line, by document; a line has results separated by "; "."""
    document, rows_by_document = "", {}
    for line in PAGE.read_text().splitlines():
        if line.startswith("## "):
            document = line[3:]
        elif line.startswith("| ") and not line.startswith(("| published results", "| ---")):
            published, *others = (cell.strip() for cell in line.strip("|").split(" | "))
            rows_by_document.setdefault(document, []).extend(
                [result, *others] for result in published.split("; ")
            )
    return rows_by_document


def test_every_document_has_results_and_nearly_all_are_shown():
    documents = results()
    rows = [row for of_document in documents.values() for row in of_document]
    assert len(documents) == 5 and all(len(of_document) > 10 for of_document in documents.values())
    assert all(len(row) in (3, 4) for row in rows) and len({row[0] for row in rows}) > 0.95 * len(rows)
    shown = [row for row in rows if row[1] != "—"]
    assert len(shown) >= 0.95 * len(rows)
    assert f"{len(shown)} of {len(rows)} results are shown" in PAGE.read_text()
    assert all(row[3].startswith("no: ") for row in rows if row[1] == "—")


def test_every_result_that_is_shown_names_a_study_and_a_table_or_page():
    for row in (row for of_document in results().values() for row in of_document if row[1] != "—"):
        study = re.fullmatch(r"\[(\w+)\]\(\.\./config/studies/\1\.yaml\)", row[1])
        assert study and (ROOT / f"config/studies/{study[1]}.yaml").exists(), row
        target = re.fullmatch(r"\[(\w+)\]\(((?:reference/)?[\w-]+\.md)#([\w-]+)\)", row[2])
        assert target and (ROOT / "docs" / target[2]).exists(), row
        assert target[2] != "reference/tables.md" or target[1] in TABLE_SCHEMAS, row


def test_notes_and_statements_are_imported_by_their_documented_study():
    files = {"notes": "notes_", "network_statements": "qsnet.csv", "link_statements": "infiniband_qdr.csv"}
    files |= {"list_prices": "list_price.csv", "network_summary": "netpipe.csv", "cases": "fluent_cases.csv"}
    checked = 0
    for row in (row for of_document in results().values() for row in of_document if "imports.md#" in row[2]):
        study, table = (re.match(r"\[(\w+)\]", cell)[1] for cell in row[1:3])
        if table in files:
            assert files[table] in (ROOT / f"config/studies/{study}.yaml").read_text(), row
            checked += 1
    assert checked > 30


def test_figures_that_are_named_are_drawn():
    drawn = "".join(path.read_text() for path in (ROOT / "analysis").rglob("*.py"))
    named = {
        word
        for of_document in results().values()
        for row in of_document
        for word in re.findall(r"^[a-z_]+(?:-[a-z_]+)?(?=$|[;,])", row[-1] if len(row) == 4 else "")
        if word.partition("-")[0] in FIGURES.split()
    }
    assert len(named) > 10
    assert not [word for word in named if f'"{word.partition("-")[0]}' not in drawn]
