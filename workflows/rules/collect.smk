"""
Gathers all records into one table, one row a repetition, and the facts that a report states.

REQUIRED INPUTS:

    records     = <results>/records.txt, and the records that it lists
    prepared    = <results>/prepared/{case}/processes-{processes}, all of what is measured
    expected    = <results>/prepared/{case}/reference.json, all of what is measured
    kept        = what was prepared for records of points that cannot be run here now
    imports     = files of imported results that the study names, and facts.json, records and simulated beside them
    simulated   = <results>/simulated, if the study has simulated interconnects
    traces      = <results>/traces/{case}/processes-{processes}, all of what is replayed
    bandwidth   = <results>/bandwidth.json, if ranks of one node are both run and traced

OUTPUTS:

    runs        = <results>/runs.csv
    parquet     = <results>/runs.parquet
    details     = <results>/details, one CSV file a table: details of runs, traces, fits of models
    facts       = <results>/facts.json
    published   = <results>/published, one CSV file for each table of imported figures without times
"""

from workflows.plan import files


rule collect:
    input:
        records="<results>/records.txt",
        prepared=files.prepared(plan.paths, plan.design.points),
        expected=files.expected(plan.paths, plan.design.points),
        kept=lambda _: files.kept(plan),  # a function, which the jobs of a cluster do not call
        imports=lambda _: files.imports(plan),
        simulated=files.replayed(plan),
        traces=files.traces(plan),
        bandwidth=files.bandwidth(plan),
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
        study=str(plan.asked.study.file),
        description=plan.design.description,
        asked=plan.asked.digest,
        source=source_digest("collect"),
    message:
        "Collecting the records"
    script:
        "../scripts/collect.py"
