"""
Gathers all records into one table with a row for each repetition, and the facts that a report states.

REQUIRED INPUTS:

    records     = <results>/records.txt, and the records that it lists
    again       = <results>/again.jsonl, if runs were requested again: after SIGTERM, records.txt is missing, and
                  this file is newer than runs.csv
    prepared    = <results>/prepared/{case}/processes-{processes}, of every measured point
    expected    = <results>/prepared/{case}/reference.json, of every measured case
    kept        = <results>/prepared/..., of records of points that cannot be run here now
    imports     = files of imported results that the study names, and facts.json, records and simulated beside them
    simulated   = <results>/simulated, if the study has simulated interconnects
    traces      = <results>/traces/{case}/processes-{processes}[-threads-{threads}], of every replayed point
    bandwidth   = <results>/bandwidth.json, if processes of one node are both measured and traced

OUTPUTS:

    runs        = <results>/runs.csv
    parquet     = <results>/runs.parquet
    details     = <results>/details, one CSV file a table: details of runs, traces, fits of models
    facts       = <results>/facts.json
    published   = <results>/published, one CSV file for each table of imported figures without times
"""

from workflows.plan import files
from workflows.plan.sources import source_digest


rule collect:
    input:
        records="<results>/records.txt",
        again=branch(plan.paths.requests.exists(), then="<results>/again.jsonl"),
        prepared=collect(
            "<results>/prepared/{key.case}/processes-{key.processes}",
            key=files.prepared(plan.design.points),
        ),
        expected=collect(
            "<results>/prepared/{case}/reference.json",
            case=files.cases(plan.design.points),
        ),
        kept=lambda wildcards: files.kept(plan),
        imports=lambda wildcards: files.imports(plan),
        simulated=branch(bool(plan.design.simulated), then="<results>/simulated"),
        traces=collect(
            "<results>/traces/{key.case}/{key.folder}", key=files.traces(plan)
        ),
        bandwidth=branch(files.needs_bandwidth(plan), then="<results>/bandwidth.json"),
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
