"""Make the tables of a study from its runs table."""

from pathlib import Path

from analysis.pipeline import write_all_tables
from analysis.runs.runs import TableError, read_complete
from workflows.errors import one_line_errors
from workflows.study.sites import read_facts

inputs = snakemake.input
with one_line_errors(TableError):
    runs, facts = read_complete(inputs.runs), read_facts(Path(inputs.facts))
    target = Path(snakemake.output.tables)
    write_all_tables(runs, facts, Path(inputs.details), Path(inputs.published), target)
