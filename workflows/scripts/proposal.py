"""Print the scaling table for a proposal: a page of the chosen curves, and tables of all to paste."""

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

inputs, outputs = snakemake.input, snakemake.output
with one_line_errors(TableError):
    known = read_facts(Path(inputs.facts))
    rule = request_of(known).rule
    applications = without_benchmarks(read_tables(Path(inputs.tables)))
    _, found, titled = told_apart(read_complete(inputs.runs), applications, known)
    labels = Labels(titled)
    table = found.get("proposal", conform("proposal", pd.DataFrame()))
    choice = choose(table, rule, labels, known.proposal_interconnect)
    write_proposal(lambda number: page(choice, number, labels), len(choice.sheets), Path(outputs.pdf))
    every = sheets(table, rule, labels)
    Path(outputs.tex).write_text(to_latex(every), encoding="utf-8")
    write_word(every, outputs.docx, labels.title)
