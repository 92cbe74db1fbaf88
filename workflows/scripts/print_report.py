"""Print the report of a study as PDF or as one HTML page, as the name of the output says."""

from pathlib import Path

from workflows.report.html import write_html
from workflows.report.pdf import write_pdf

output = Path(snakemake.output[0])
write = write_pdf if output.suffix == ".pdf" else write_html
write(Path(snakemake.input.report), Path(snakemake.input.figures), output)
