"""Draw the figures of a study, print its report and proposal: one process imports and reads once."""

import gc
from pathlib import Path

from analysis.importers import read_published
from analysis.report import read_tables
from analysis.runs.runs import TableError, quick_strings, read_complete
from workflows.errors import one_line_errors
from workflows.paths import StudyPaths
from workflows.report.proposal import write_proposals
from workflows.report.report import write_report
from workflows.results.looks import note_look
from workflows.study.sites import read_facts

gc.disable()  # what figures are made of refers to itself, and stays to the end
inputs, folder = snakemake.input, Path(snakemake.output.report).parent
with one_line_errors(TableError), quick_strings(inputs.runs):
    study = read_complete(inputs.runs), read_tables(Path(inputs.tables)), read_facts(Path(inputs.facts))
    write_report(*study, read_published(inputs.published), folder)
    write_proposals(*study, folder)
    note_look(StudyPaths(folder).looks, study[2])
gc.freeze()  # else Python looks for garbage in all of it before it ends
