"""
Draws the figures and writes the report, once as PDF and once as HTML, from the same text.

REQUIRED INPUTS:

    runs        = <results>/runs.parquet
    facts       = <results>/facts.json
    tables      = <results>/tables
    published   = <results>/published

OUTPUTS:

    figures     = <results>/figures, every figure as SVG and PNG
    report      = <results>/report.json, sections as plain data; it is noted in looks.json
    pdf         = <results>/report.pdf
    html        = <results>/report.html
    proposal    = <results>/proposal.pdf, .tex and .docx, the table that computing centres ask for
"""


rule figures:
    """Drawing the figures"""
    input:
        runs="<results>/runs.parquet",
        facts="<results>/facts.json",
        tables="<results>/tables",
    output:
        figures=directory("<results>/figures"),
    log:
        "<results>/logs/figures.log",
    localrule: True
    conda:
        "../../envs/python.yaml"
    params:
        source=source_digest("figures"),
    script:
        "../scripts/figures.py"


rule report_data:
    """Putting the report together"""
    input:
        runs="<results>/runs.parquet",
        facts="<results>/facts.json",
        tables="<results>/tables",
        figures="<results>/figures",
        published="<results>/published",
    output:
        report="<results>/report.json",
    log:
        "<results>/logs/report.log",
    localrule: True
    conda:
        "../../envs/python.yaml"
    params:
        looks=str(plan.paths.looks),  # no output: what was looked at is never forgotten
        source=source_digest("report_data"),
    script:
        "../scripts/report_data.py"


rule report_pdf:
    """Printing the report as PDF"""
    input:
        report="<results>/report.json",
        figures="<results>/figures",
    output:
        pdf="<results>/report.pdf",
    log:
        "<results>/logs/report_pdf.log",
    localrule: True
    conda:
        "../../envs/python.yaml"
    params:
        source=source_digest("print_report"),
    script:
        "../scripts/print_report.py"


use rule report_pdf as report_html with:
    """Printing the report as HTML"""
    output:
        html="<results>/report.html",
    log:
        "<results>/logs/report_html.log",


rule proposal:
    """Printing the scaling table for a proposal"""
    input:
        runs="<results>/runs.parquet",
        facts="<results>/facts.json",
        tables="<results>/tables",
    output:
        pdf="<results>/proposal.pdf",
        tex="<results>/proposal.tex",
        docx="<results>/proposal.docx",
    log:
        "<results>/logs/proposal.log",
    localrule: True
    conda:
        "../../envs/python.yaml"
    params:
        source=source_digest("proposal"),
    script:
        "../scripts/proposal.py"
