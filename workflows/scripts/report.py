"""Draw the figures of a study, and print its report and proposal."""

from pathlib import Path
from typing import TYPE_CHECKING

from analysis.runs.errors import TableError
from workflows.errors import one_line_errors

if TYPE_CHECKING:
    from snakemake.script import Snakemake

    snakemake: Snakemake


def report(runs: Path, tables: Path, facts: Path, published: Path, folder: Path) -> None:
    """Write the figures, the report and the proposal to `folder`, and note the look at the data.

    The imports, which take seconds, are here so that Ctrl-C during them ends the script with a single line.
    """
    from analysis.importers import read_published
    from analysis.pipeline import read_tables
    from analysis.runs.runs import read_complete
    from workflows.paths import StudyPaths
    from workflows.report.report import write_proposals, write_report
    from workflows.results.looks import note_look
    from workflows.study.sites import read_facts

    study = read_complete(runs), read_tables(tables), read_facts(facts)
    write_report(*study, read_published(published), folder)
    write_proposals(*study, folder)
    note_look(StudyPaths(folder).looks, study[2], study[1], study[0])


if __name__ == "__main__":
    with one_line_errors(TableError):
        inputs, folder = snakemake.input, Path(snakemake.output.report).parent
        report(Path(inputs.runs), Path(inputs.tables), Path(inputs.facts), Path(inputs.published), folder)
