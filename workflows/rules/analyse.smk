"""
Turns the runs table into estimates with their uncertainty.

REQUIRED INPUTS:

    runs        = <results>/runs.parquet
    details     = <results>/details
    facts       = <results>/facts.json
    published   = <results>/published

OUTPUTS:

    tables      = <results>/tables, one CSV file for each table
"""

from workflows.plan.sources import source_digest


rule analyse:
    input:
        runs="<results>/runs.parquet",
        details="<results>/details",
        facts="<results>/facts.json",
        published="<results>/published",
    output:
        tables=directory("<results>/tables"),
    log:
        "<results>/logs/analyse.log",
    localrule: True  # on a cluster, what takes seconds is done where Snakemake runs
    conda:
        "../../envs/python.yaml"
    params:
        source=source_digest("analyse"),
    message:
        "Estimating speedups, peaks and improvements"
    script:
        "../scripts/analyse.py"
