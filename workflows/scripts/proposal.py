"""Print the scaling table for a proposal: a page, and tables to paste."""

from pathlib import Path

import pandas as pd

from analysis.decisions.request import request_of
from analysis.estimates.sites import told_apart
from analysis.networks.curves import without_benchmarks
from analysis.report import read_tables
from analysis.report.proposal import choose, page
from analysis.runs.runs import TableError, read_complete
from analysis.tables.decision_schemas import conform
from analysis.text.labels import Labels
from analysis.text.proposal_sheets import sheets, to_latex, write_word
from workflows.errors import one_line_errors
from workflows.report.pdf import write_proposal
from workflows.study.sites import read_facts


def main(runs: str, tables: str, facts: str, pdf: str, tex: str, docx: str) -> None:
    """Write the page of the chosen curves as PDF, and all curves for LaTeX and Word."""
    known = read_facts(Path(facts))
    request = request_of(known)
    applications = without_benchmarks(read_tables(Path(tables)))
    _, found, titled = told_apart(read_complete(runs), applications, known)
    labels = Labels(titled)
    table = found.get("proposal", conform("proposal", pd.DataFrame()))
    choice = choose(table, request.rule, labels, known.proposal_interconnect)
    write_proposal(lambda number: page(choice, number, labels), len(choice.sheets), Path(pdf))
    every = sheets(table, request.rule, labels)
    Path(tex).write_text(to_latex(every), encoding="utf-8")
    write_word(every, docx, labels.title)


if "snakemake" in globals():
    inputs, outputs = snakemake.input, snakemake.output
    with one_line_errors(TableError):
        main(inputs.runs, inputs.tables, inputs.facts, outputs.pdf, outputs.tex, outputs.docx)
