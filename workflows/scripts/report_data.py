"""Put together what the report of a study says."""

import json
from pathlib import Path

from analysis.importers import read_published
from analysis.report import make_report, read_tables
from analysis.runs.runs import TableError, read_complete
from workflows.errors import one_line_errors
from workflows.study.sites import read_facts


def main(runs: str, tables: str, facts: str, figures: str, published: str, output: str) -> None:
    """Write the report as plain data: sections with ready texts, tables and names of figures."""
    index = json.loads((Path(figures) / "index.json").read_text(encoding="utf-8"))
    report = make_report(
        read_complete(runs),
        read_tables(Path(tables)),
        read_facts(Path(facts)),
        index,
        read_published(published),
    )
    text = json.dumps(report, indent=1, ensure_ascii=False, allow_nan=False)
    Path(output).write_text(text + "\n", encoding="utf-8")


if "snakemake" in globals():
    inputs = snakemake.input
    with one_line_errors(TableError):
        main(
            inputs.runs,
            inputs.tables,
            inputs.facts,
            inputs.figures,
            inputs.published,
            snakemake.output.report,
        )
