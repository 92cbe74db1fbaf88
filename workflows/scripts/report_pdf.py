"""Print the report of a study as PDF."""

from pathlib import Path

from workflows.report.pdf import write_pdf


def main(report: str, figures: str, output: str) -> None:
    """Print a report with its figures."""
    write_pdf(Path(report), Path(figures), Path(output))


if "snakemake" in globals():
    inputs = snakemake.input
    main(inputs.report, inputs.figures, snakemake.output.pdf)
