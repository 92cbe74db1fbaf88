"""Files of the figures, the report and the proposal of a study, made from its tables."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from analysis.curves.sites import with_distinct_interconnects
from analysis.pipeline import draw_figures
from analysis.presentation.drawing import save
from analysis.presentation.labels import Labels
from analysis.report import make_report
from analysis.runs.columns import empty
from analysis.runs.facts import Facts
from analysis.topics.network.curves import without_benchmarks
from analysis.topics.proposal.section import choose, page
from analysis.topics.proposal.sheets import sheets, to_latex, write_word
from analysis.topics.proposal.topic import PROPOSAL
from analysis.topics.topic import request_of
from workflows.report.html import write_html
from workflows.report.pdf import write_pdf, write_proposal


def write_report(
    runs: pd.DataFrame,
    tables: Mapping[str, pd.DataFrame],
    facts: Facts,
    published: Mapping[str, pd.DataFrame],
    folder: Path,
    png: bool = True,
) -> None:
    """Draw the figures of a study and print its report.

    Parameters
    ----------
    folder : Path
        Receives ``figures`` (each figure as SVG, and their entries in ``index.json``), ``report.json``,
        ``report.pdf`` and ``report.html``. Old figures are removed.
    png : bool
        Whether each figure is also drawn as PNG.
    """
    figures, report = folder / "figures", folder / "report.json"
    shutil.rmtree(figures, ignore_errors=True)
    figures.mkdir(parents=True)
    drawings = draw_figures(runs, tables, facts)
    for drawing in drawings:
        save(drawing, figures, png)
    index = [drawing.entry() for drawing in drawings]
    _write_json(index, figures / "index.json")
    _write_json(make_report(runs, tables, facts, index, published), report)
    write_html(report, figures, folder / "report.html")
    write_pdf(report, figures, folder / "report.pdf")


def write_proposals(
    runs: pd.DataFrame, tables: Mapping[str, pd.DataFrame], facts: Facts, folder: Path
) -> None:
    """Write ``proposal.pdf``, ``.tex`` and ``.docx`` into the folder of `write_report`.

    The PDF shows the chosen curves, the other files hold the tables of all curves.
    """
    rule = request_of(facts).rule
    _, tables, facts = with_distinct_interconnects(runs, without_benchmarks(tables), facts)
    labels = Labels(facts, full=True)
    table = tables.get("proposal", empty(PROPOSAL["proposal"]))
    choice = choose(table, rule, labels, facts.proposal_interconnect)
    figures = folder / "figures"
    entries = json.loads((figures / "index.json").read_text(encoding="utf-8"))
    write_proposal(
        lambda number: page(choice, number, labels, entries),
        len(choice.sheets),
        folder / "proposal.pdf",
        figures,
    )
    all_sheets = sheets(table, rule, labels) if rule else []
    (folder / "proposal.tex").write_text(to_latex(all_sheets), encoding="utf-8")
    write_word(all_sheets, folder / "proposal.docx", labels.title)


def _write_json(data: object, file: Path) -> None:
    text = json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False)
    file.write_text(f"{text}\n", encoding="utf-8")
