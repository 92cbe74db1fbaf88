"""The scaling table for a proposal, as files: a page of the chosen curves, and tables of all to paste."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from analysis.decisions.request import request_of
from analysis.estimates.sites import told_apart
from analysis.networks.curves import without_benchmarks
from analysis.report.proposal import choose, page
from analysis.runs.facts import Facts
from analysis.tables.decision_schemas import conform
from analysis.text.labels import Labels
from analysis.text.proposal_sheets import sheets, to_latex, write_word
from workflows.report.pdf import write_proposal


def write_proposals(
    runs: pd.DataFrame, tables: Mapping[str, pd.DataFrame], facts: Facts, folder: Path
) -> None:
    """Write ``proposal.pdf``, ``.tex`` and ``.docx`` of a study into the folder that `write_report` wrote."""
    rule = request_of(facts).rule
    _, found, titled = told_apart(runs, without_benchmarks(tables), facts)
    labels = Labels(titled, full=True)
    table = found.get("proposal", conform("proposal", pd.DataFrame()))
    choice = choose(table, rule, labels, facts.proposal_interconnect)
    figures = folder / "figures"
    entries = json.loads((figures / "index.json").read_text(encoding="utf-8"))
    write_proposal(
        lambda number: page(choice, number, labels, entries),
        len(choice.sheets),
        folder / "proposal.pdf",
        figures,
    )
    every = sheets(table, rule, labels)
    (folder / "proposal.tex").write_text(to_latex(every), encoding="utf-8")
    write_word(every, folder / "proposal.docx", labels.title)
