"""The scaling table for a proposal, as files: a page of the chosen curves, and tables of all to paste."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from analysis.curves.sites import with_distinct_interconnects
from analysis.presentation.labels import Labels
from analysis.runs.columns import empty
from analysis.runs.facts import Facts
from analysis.topics.network.curves import without_benchmarks
from analysis.topics.proposal.section import choose, page
from analysis.topics.proposal.sheets import sheets, to_latex, write_word
from analysis.topics.proposal.tables import PROPOSAL
from analysis.topics.request import request_of
from workflows.report.pdf import write_proposal


def write_proposals(
    runs: pd.DataFrame, tables: Mapping[str, pd.DataFrame], facts: Facts, folder: Path
) -> None:
    """Write ``proposal.pdf``, ``.tex`` and ``.docx`` of a study into the folder that `write_report` wrote."""
    rule = request_of(facts).rule
    _, found, titled = with_distinct_interconnects(runs, without_benchmarks(tables), facts)
    labels = Labels(titled, full=True)
    table = found.get("proposal", empty(PROPOSAL["proposal"]))
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
