"""
Gathers all records into one table with a row for each repetition, and the facts that a report states.

REQUIRED INPUTS:

    records     = <results>/records.txt, and the records that it lists
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


def prepared_for_records(wildcards):
    """The case of every measured point, prepared for its process count."""
    return [
        f"<results>/prepared/{case}/processes-{processes}"
        for case, processes in files.prepared(plan.design.points)
    ]


def expected_of_records(wildcards):
    """The expected answer of every measured case."""
    return [
        f"<results>/prepared/{case}/reference.json"
        for case in files.cases(plan.design.points)
    ]


def kept_for_records(wildcards):
    """What was prepared for points that cannot be run here now."""
    return files.kept(plan)


def imported_files(wildcards):
    """Imported results, and what studies of Nodeworth keep beside them."""
    return files.imports(plan)


def replayed_records(wildcards):
    """The records of simulated points, if there are any."""
    return ["<results>/simulated"] if plan.design.simulated else []


def traces_of_records(wildcards):
    """The trace of every replayed point, with its profile."""
    return [
        f"<results>/traces/{case}/processes-{processes}"
        + (f"-threads-{threads}" if threads > 1 else "")
        for case, processes, threads in files.traces(plan)
    ]


def shared_bandwidth(wildcards):
    """The bandwidth of the memory, if processes of one node are both measured and traced."""
    return ["<results>/bandwidth.json"] if files.needs_bandwidth(plan) else []


rule collect:
    input:
        records="<results>/records.txt",
        prepared=prepared_for_records,
        expected=expected_of_records,
        kept=kept_for_records,
        imports=imported_files,
        simulated=replayed_records,
        traces=traces_of_records,
        bandwidth=shared_bandwidth,
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
