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
    params:
        source=source_digest("analysis"),
    log:
        "<results>/logs/analyse.log",
    script:
        "../scripts/analyse.py"
