"""Make the tables of a study from its runs table."""

from pathlib import Path

from analysis.runs.errors import TableError
from workflows.errors import one_line_errors

with one_line_errors(TableError):  # also for Ctrl-C during the imports, which take seconds
    from analysis.pipeline import write_all_tables
    from analysis.runs.runs import read_complete
    from workflows.study.sites import read_facts

    inputs = snakemake.input
    runs, facts = read_complete(inputs.runs), read_facts(Path(inputs.facts))
    target = Path(snakemake.output.tables)
    write_all_tables(runs, facts, Path(inputs.details), Path(inputs.published), target)
