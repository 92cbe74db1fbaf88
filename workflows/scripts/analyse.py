"""Make the tables of a study from its runs table."""

import gc
from pathlib import Path

from analysis.runs.runs import TableError, quick_strings, read_complete
from workflows.errors import one_line_errors
from workflows.results.analysed import write_all_tables
from workflows.study.sites import read_facts

gc.disable()  # tables refer to nothing that refers to them
inputs = snakemake.input
with one_line_errors(TableError), quick_strings(inputs.runs):
    runs, facts = read_complete(inputs.runs), read_facts(Path(inputs.facts))
    target = Path(snakemake.output.tables)
    write_all_tables(runs, facts, Path(inputs.details), Path(inputs.published), target)
gc.freeze()  # else Python looks for garbage in all tables before it ends
