"""Print the report of a study as one HTML page."""

from pathlib import Path

from workflows.report.html import write_html


def main(report: str, figures: str, output: str) -> None:
    """Print a report with its figures."""
    write_html(Path(report), Path(figures), Path(output))


if "snakemake" in globals():
    inputs = snakemake.input
    main(inputs.report, inputs.figures, snakemake.output.html)
