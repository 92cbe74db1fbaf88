"""
Gathers all records into one table, one row a repetition, and the facts that a report states.

REQUIRED INPUTS:

    records     = <results>/records.txt, and the records that it lists
    imports     = files of foreign results that the study names
    simulated   = <results>/simulated, if the study has simulated interconnects

OUTPUTS:

    runs        = <results>/runs.csv
    parquet     = <results>/runs.parquet
    details     = <results>/details, one CSV file a table: what runs tell beside seconds, traces, fits of models
    facts       = <results>/facts.json
    published   = <results>/published, one CSV file for each table of imported figures without times
"""


rule collect:
    """Collecting the records"""
    input:
        records="<results>/records.txt",
        imports=plan.imports(),
        simulated=plan.replayed(),
    output:
        runs="<results>/runs.csv",
        parquet="<results>/runs.parquet",
        details=directory("<results>/details"),
        facts="<results>/facts.json",
        published=directory("<results>/published"),
    log:
        "<results>/logs/collect.log",
    localrule: True  # on a cluster, what takes seconds is done where Snakemake runs
    conda:
        "../../envs/python.yaml"
    params:
        study=str(plan.study.file),
        description=plan.description,
    script:
        "../scripts/collect.py"
