"""
Draws the figures, and prints the report (as PDF and as HTML, from the same text) and the proposal.

REQUIRED INPUTS:

    runs        = <results>/runs.parquet
    facts       = <results>/facts.json
    tables      = <results>/tables
    published   = <results>/published

OUTPUTS:

    figures     = <results>/figures, every figure as SVG and PNG
    report      = <results>/report.json, sections as plain data; looks.json counts the reports
    pdf         = <results>/report.pdf
    html        = <results>/report.html
    proposal    = <results>/proposal.pdf, .tex and .docx, the table that computing centres ask for
"""

from workflows.plan.sources import source_digest


rule report:
    input:
        runs="<results>/runs.parquet",
        facts="<results>/facts.json",
        tables="<results>/tables",
        published="<results>/published",
    output:
        figures=directory("<results>/figures"),
        report="<results>/report.json",
        pdf="<results>/report.pdf",
        html="<results>/report.html",
        proposal=multiext("<results>/proposal", ".pdf", ".tex", ".docx"),
    log:
        "<results>/logs/report.log",
    localrule: True
    conda:
        "../../envs/python.yaml"
    params:
        source=source_digest("report"),
    message:
        "Drawing the figures, printing report and proposal"
    script:
        "../scripts/report.py"
