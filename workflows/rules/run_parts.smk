"""
Runs the study on a cluster, each block of what is compared in a job of its own; run.smk says what becomes of records.

REQUIRED INPUTS:

    prepared    = <results>/prepared/{case}/processes-{processes}, and
                  <results>/prepared/{case}/reference.json, of the part

OUTPUTS:

    part        = <results>/measured/{case}/.../blocks-{first}-{last}.txt: what one job measured
    records     = <results>/records.txt, all of them
"""

from workflows.plan.jobs import (
    due,
    measuring_resources,
    parts,
    prepared_for,
    site_modules,
)
from workflows.plan.once import expect_many_jobs
from workflows.plan.records import TRIES

expect_many_jobs(workflow)
with one_line_errors():
    known = parts(plan)


def prepared_for_part(wildcards):
    return ancient(prepared_for(plan, known[wildcards.part].points))


def due_in_part(wildcards):
    return due(plan, known[wildcards.part])


def lists_of_parts(_):  # a function, which the jobs of the parts do not call
    return [str(plan.paths.part(part)) for part in known]


rule measure_part:
    """Measuring {wildcards.part}"""
    input:
        prepared_for_part,
    output:
        records="<results>/measured/{part}.txt",
    log:
        "<results>/logs/measured/{part}.log",
    wildcard_constraints:
        part=r".+/blocks-\d+-\d+",
    retries: TRIES
    conda:
        "../../envs/python.yaml"
    envmodules:
        *site_modules(plan.here.cluster),
    resources:
        **measuring_resources(plan, known),
    params:
        study=str(plan.asked.study.file),
        due=due_in_part,
    script:
        "../scripts/measure.py"


rule measure:
    """Listing what the jobs measured"""
    input:
        parts=lists_of_parts,
    output:
        records="<results>/records.txt",
    log:
        "<results>/logs/measure.log",
    localrule: True
    conda:
        "../../envs/python.yaml"
    params:
        source=source_digest("measured"),
    script:
        "../scripts/measured.py"
