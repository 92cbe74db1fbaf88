"""
Runs the study on a cluster, each block of what is compared in a job of its own; run.smk says what becomes of records.

REQUIRED INPUTS:

    prepared    = <results>/prepared/{case}/processes-{processes}, and
                  <results>/prepared/{case}/reference.json, of the batch that one job measures

OUTPUTS:

    records     = <results>/measured/{case}/.../blocks-{first}-{last}.txt: what one job measured
                  <results>/records.txt, all of them
"""

from workflows.plan import files
from workflows.plan.jobs import batches, due, measuring_resources, site_modules
from workflows.plan.records import TRIES

with one_line_errors():
    known = batches(plan)


def prepared_for_batch(wildcards):
    batch = known[wildcards.batch]
    needed = files.prepared(plan.paths, batch.points)
    needed += files.expected(plan.paths, batch.points)
    with one_line_errors():  # Snakemake drops other errors of such functions
        missing = plan.missing(batch.repetitions)
    # A job waits in a queue: Snakemake submits none that has nothing to measure.
    return needed if missing else ancient(needed)


def due_in_batch(wildcards):
    return due(plan, known[wildcards.batch])


def lists_of_batches(_):  # a function, which the jobs of the batches do not call
    return [str(plan.paths.batch(name)) for name in known]


rule measure_batch:
    """Measuring {wildcards.batch}"""
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
        **measuring_resources(plan, known),
    params:
        study=str(plan.asked.study.file),
        due=due_in_batch,
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
