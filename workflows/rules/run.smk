"""
Runs the study, block by block, in one job; on a cluster, each block of what is compared in a job of its own.
A repetition that is recorded is not run again, whatever happens to this rule: its only output is the list of
the records; the records themselves belong to no rule, so that Snakemake never deletes one.

REQUIRED INPUTS:

    prepared    = <results>/prepared/{case}/processes-{processes}, all of the study
    references  = <results>/prepared/{case}/reference.json, all of the study
    again       = <results>/again.jsonl, if something was asked for again

OUTPUTS:

    part        = <results>/measured/{case}/.../blocks-{first}-{last}.txt: what one job of a cluster measured
    records     = <results>/records.txt, and what it lists, one file a repetition:
                  <results>/records/{case}/{interconnect}/processes-{processes}/
                  oversubscription-{level}/[processes-per-node-{count}/]block-{block}-attempt-{attempt}.json
"""

import gc

from workflows.plan.jobs import (
    due,
    measuring_resources,
    part_list,
    parts,
    prepared_for,
    site_modules,
)
from workflows.plan.once import work_out_once
from workflows.plan.records import TRIES

if plan.cluster and not plan.study.allocation:
    # What Snakemake makes of thousands of jobs stays; to look for garbage in it takes a sixth of the time.
    gc.set_threshold(100_000)
    work_out_once()
    with one_line_errors():
        known = parts(plan)

    rule measure_part:
        """Measuring {wildcards.part}"""
        input:
            lambda wildcards: prepared_for(plan, known[wildcards.part].points),
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
            *site_modules(plan),
        resources:
            **measuring_resources(plan, known),
        params:
            study=str(plan.study.file),
            due=lambda wildcards: due(plan, known[wildcards.part]),
        script:
            "../scripts/measure.py"

    rule measure:
        """Listing what the jobs measured"""
        input:
            # a function, which the jobs of the parts do not call
            parts=lambda _: [str(part_list(plan, part)) for part in known],
        output:
            records="<results>/records.txt",
        log:
            "<results>/logs/measure.log",
        localrule: True
        conda:
            "../../envs/python.yaml"
        params:
            study=str(plan.study.file),
        script:
            "../scripts/measured.py"

else:

    rule measure:
        """Measuring"""
        input:
            prepared=plan.prepared(),
            references=plan.references(),
            again=plan.requests(),
        output:
            records="<results>/records.txt",
        log:
            "<results>/logs/measure.log",
        conda:
            "../../envs/python.yaml"
        envmodules:
            *site_modules(plan),
        threads: workflow.cores
        params:
            study=str(plan.study.file),
            digest=plan.digest,
            lost=plan.lost_records(),
        script:
            "../scripts/measure.py"
