"""
Runs the study, block by block, in one job. This rule never runs a recorded repetition again: the digests of case and
interconnect decide which records count, no source and no date. So the rule may follow what is prepared, at the cost of
seconds. Its only output is the list of the records. The records belong to no rule, so that Snakemake never deletes one.

REQUIRED INPUTS:

    prepared    = <results>/prepared/{case}/processes-{processes}, all of the study
    expected    = <results>/prepared/{case}/reference.json, all of the study
    again       = <results>/again.jsonl, if something was asked for again
    first       = <results>/measured/first-block.txt, where something is simulated too: the first block is measured
                  before that, so that there is a report soon

OUTPUTS:

    records     = <results>/records.txt, and what it lists, one file a repetition:
                  <results>/records/{case}/{interconnect}/processes-{processes}/
                  oversubscription-{level}/[processes-per-node-{count}/]block-{block}-attempt-{attempt}.json
"""

from workflows.plan import files
from workflows.plan.jobs import site_modules


rule measure:
    input:
        prepared=files.prepared(plan.paths, plan.design.points),
        expected=files.expected(plan.paths, plan.design.points),
        again=files.requests(plan.paths),
        first=files.first_block(plan),
    output:
        records="<results>/records.txt",
    log:
        "<results>/logs/measure.log",
    conda:
        "../../envs/python.yaml"
    envmodules:
        *site_modules(plan.here.cluster),
    threads: workflow.cores
    params:
        study=str(plan.asked.study.file),
        digest=plan.design.digest,
        asked=plan.asked.digest,
        lost=files.lost_records(plan.paths.listed_records),
    message:
        "Measuring"
    script:
        "../scripts/measure.py"


use rule measure as measure_first_block with:
    input:
        prepared=files.prepared(plan.paths, plan.design.points),
        expected=files.expected(plan.paths, plan.design.points),
    output:
        records="<results>/measured/first-block.txt",
    log:
        "<results>/logs/measure-first-block.log",
    priority: 2
    params:
        study=str(plan.asked.study.file),
        digest=plan.design.digest,
        asked=plan.asked.digest,
        lost=files.lost_records(plan.paths.first_block),
        first_block=True,
    message:
        "Measuring the first block"
