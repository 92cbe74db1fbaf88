"""Print the report of a study as PDF or as one HTML page, as the name of the output says."""

from pathlib import Path

from workflows.report.html import write_html
from workflows.report.pdf import write_pdf


def main(report: str, figures: str, output: str) -> None:
    """Print a report with its figures."""
    write = write_pdf if output.endswith(".pdf") else write_html
    write(Path(report), Path(figures), Path(output))


if "snakemake" in globals():
    main(snakemake.input.report, snakemake.input.figures, snakemake.output[0])
