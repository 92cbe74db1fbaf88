"""
Measures the study on a cluster, each block of compared points in a job; run.smk describes the records.

REQUIRED INPUTS:

    prepared    = <results>/prepared/{case}/processes-{processes}, of every point of a batch
    expected    = <results>/prepared/{case}/reference.json, of every case of a batch

OUTPUTS:

    records     = <results>/measured/{batch}.txt, the list of the records of a batch;
                  {batch} is {case}/processes-{processes}/oversubscription-{level}/blocks-{first}-{last}
                  <results>/records.txt, all lists together
"""

from workflows.errors import one_line_errors
from workflows.plan import files
from workflows.plan.jobs import batches, due, measuring_resources, site_modules
from workflows.plan.records import TRIES
from workflows.plan.sources import source_digest

with one_line_errors():
    batches_by_name = batches(plan)


def prepared_for_batch(wildcards):
    """Prepared cases and expected answers of a batch.

    A job waits in a queue. So no job is submitted for a batch without missing runs: its inputs are `ancient`.
    """
    batch = batches_by_name[wildcards.batch]
    paths = collect(
        "<results>/prepared/{key.case}/processes-{key.processes}",
        key=files.prepared(batch.points),
    )
    paths += collect(
        "<results>/prepared/{case}/reference.json", case=files.cases(batch.points)
    )
    with one_line_errors():  # Snakemake drops other errors of such functions
        is_missing = bool(plan.missing(batch.repetitions))
    return paths if is_missing else ancient(paths)


def due_in_batch(wildcards):
    """Changed repetitions, requests and lost records measure a batch again."""
    return due(plan, batches_by_name[wildcards.batch])


def lists_of_batches(wildcards):
    """The list of the records of every batch."""
    return [f"<results>/measured/{batch}.txt" for batch in batches_by_name]


rule measure_batch:
    input:
        prepared_for_batch,
    output:
        records="<results>/measured/{batch}.txt",
    log:
        "<results>/logs/measured/{batch}.log",
    wildcard_constraints:
        batch=r".+/blocks-\d+-\d+",
    retries: TRIES
    conda:
        "../../envs/python.yaml"
    envmodules:
        *site_modules(plan.here.cluster),
    resources:
        **measuring_resources(plan, batches_by_name),
    params:
        study=str(plan.asked.study.file),
        due=due_in_batch,
    message:
        "Measuring {wildcards.batch}"
    script:
        "../scripts/measure_batch.py"


rule measure:
    input:
        lists=lists_of_batches,
    output:
        records="<results>/records.txt",
    log:
        "<results>/logs/measure.log",
    localrule: True
    conda:
        "../../envs/python.yaml"
    params:
        source=source_digest("measured"),
    message:
        "Listing what the jobs measured"
    script:
        "../scripts/measured.py"
