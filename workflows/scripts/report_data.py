"""Write the report of a study as plain data: sections with ready texts, tables and names of figures."""

import json
from pathlib import Path

from analysis.importers import read_published
from analysis.report import make_report, read_tables
from analysis.runs.runs import TableError, read_complete
from workflows.errors import one_line_errors
from workflows.results.looks import note_look
from workflows.study.sites import read_facts

inputs = snakemake.input
with one_line_errors(TableError):
    facts = read_facts(Path(inputs.facts))
    report = make_report(
        read_complete(inputs.runs),
        read_tables(Path(inputs.tables)),
        facts,
        json.loads((Path(inputs.figures) / "index.json").read_text(encoding="utf-8")),
        read_published(inputs.published),
    )
    text = json.dumps(report, indent=1, ensure_ascii=False, allow_nan=False)
    Path(snakemake.output.report).write_text(text + "\n", encoding="utf-8")
    note_look(Path(snakemake.params.looks), facts)
