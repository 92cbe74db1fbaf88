"""
Gathers all records into one table, one row a repetition, and the facts that a report states.

REQUIRED INPUTS:

    blocks      = <results>/blocks/{block}.txt, all of the study

OUTPUTS:

    runs        = <results>/runs.csv
    parquet     = <results>/runs.parquet
    facts       = <results>/facts.json
"""


rule collect:
    """Collecting the records"""
    input:
        blocks=expand("<results>/blocks/{block}.txt", block=plan.blocks),
    output:
        runs="<results>/runs.csv",
        parquet="<results>/runs.parquet",
        facts="<results>/facts.json",
    params:
        study=str(plan.study.file),
        description=plan.description,
    log:
        "<results>/logs/collect.log",
    script:
        "../scripts/collect.py"
