"""Draw the figures of a study, and print its report and proposal."""

from pathlib import Path

from analysis.runs.errors import TableError
from workflows.errors import one_line_errors

with one_line_errors(TableError):  # also for Ctrl-C during the imports, which take seconds
    from analysis.importers import read_published
    from analysis.pipeline import read_tables
    from analysis.runs.runs import read_complete
    from workflows.paths import StudyPaths
    from workflows.report.report import write_proposals, write_report
    from workflows.results.looks import note_look
    from workflows.study.sites import read_facts

    inputs, folder = snakemake.input, Path(snakemake.output.report).parent
    study = read_complete(inputs.runs), read_tables(Path(inputs.tables)), read_facts(Path(inputs.facts))
    write_report(*study, read_published(inputs.published), folder)
    write_proposals(*study, folder)
    note_look(StudyPaths(folder).looks, study[2])
