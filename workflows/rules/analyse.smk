"""
Turns the runs table into estimates with their uncertainty.

REQUIRED INPUTS:

    runs        = <results>/runs.csv

OUTPUTS:

    tables      = <results>/tables, one CSV file a table
"""


rule analyse:
    """Estimating speedups, peaks and improvements"""
    input:
        runs="<results>/runs.parquet",
        facts="<results>/facts.json",
    output:
        tables=directory("<results>/tables"),
    log:
        "<results>/logs/analyse.log",
    conda:
        "../../envs/python.yaml"
    params:
        source=source_digest("analysis"),
    script:
        "../scripts/analyse.py"
