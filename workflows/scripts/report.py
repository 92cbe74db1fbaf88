"""Draw the figures of a study, print its report and proposal: one process imports and reads once."""

from pathlib import Path

from analysis.importers import read_published
from analysis.pipeline import read_tables
from analysis.runs.runs import TableError, read_complete
from workflows.errors import one_line_errors
from workflows.paths import StudyPaths
from workflows.report.report import write_proposals, write_report
from workflows.results.looks import note_look
from workflows.study.sites import read_facts

inputs, folder = snakemake.input, Path(snakemake.output.report).parent
with one_line_errors(TableError):
    study = read_complete(inputs.runs), read_tables(Path(inputs.tables)), read_facts(Path(inputs.facts))
    write_report(*study, read_published(inputs.published), folder)
    write_proposals(*study, folder)
    note_look(StudyPaths(folder).looks, study[2])
