"""Make the tables of a study from its runs table."""

from pathlib import Path
from typing import TYPE_CHECKING

from analysis.runs.errors import TableError
from workflows.errors import one_line_errors

if TYPE_CHECKING:
    from snakemake.script import Snakemake

    snakemake: Snakemake


def analyse(runs: Path, details: Path, facts: Path, published: Path, tables: Path) -> None:
    """Write the tables of a study to the folder `tables`.

    The imports, which take seconds, are here so that Ctrl-C during them ends the script with a single line.
    """
    from analysis.pipeline import write_all_tables
    from analysis.runs.runs import read_complete
    from workflows.study.sites import read_facts

    write_all_tables(read_complete(runs), read_facts(facts), details, published, tables)


if __name__ == "__main__":
    with one_line_errors(TableError):
        inputs = snakemake.input
        analyse(
            Path(inputs.runs),
            Path(inputs.details),
            Path(inputs.facts),
            Path(inputs.published),
            Path(snakemake.output.tables),
        )
