"""
Measures the study on one machine, block by block, in one job: docs/decisions.md says why. This rule never measures a
recorded repetition again. The digests of case and interconnect decide which records count, no source and no date.
Its only output is the list of the records: Snakemake deletes outputs, and no record must be deleted.

REQUIRED INPUTS:

    prepared    = <results>/prepared/{case}/processes-{processes}, of every measured point
    expected    = <results>/prepared/{case}/reference.json, of every measured case
    again       = <results>/again.jsonl, if runs were requested again
    first       = <results>/measured/first-block.txt, if something is simulated too: the first block is measured
                  before that, so that there is a report soon

OUTPUTS:

    records     = <results>/records.txt, and the files that it lists:
                  <results>/records/{case}/{interconnect}/processes-{processes}/oversubscription-{level}/
                  [processes-per-node-{count}/][threads-{threads}/]block-{block}-attempt-{attempt}.json
                  The log of its run lies in the same folder: block-{block}-attempt-{attempt}.log.gz
"""

from workflows.plan import files
from workflows.plan.jobs import site_modules


rule measure:
    input:
        prepared=collect(
            "<results>/prepared/{key.case}/processes-{key.processes}",
            key=files.prepared(plan.design.points),
        ),
        expected=collect(
            "<results>/prepared/{case}/reference.json",
            case=files.cases(plan.design.points),
        ),
        again=branch(plan.paths.requests.exists(), then="<results>/again.jsonl"),
        first=branch(
            files.measures_first_block(plan),
            then="<results>/measured/first-block.txt",
        ),
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
        lost=files.lost_records(plan.paths.listed_records)
        + files.requested_records(plan),
    message:
        "Measuring" if plan.missing(plan.design.repetitions) else "Listing the records"
    script:
        "../scripts/measure.py"


use rule measure as measure_first_block with:
    input:
        prepared=collect(
            "<results>/prepared/{key.case}/processes-{key.processes}",
            key=files.prepared(plan.design.points),
        ),
        expected=collect(
            "<results>/prepared/{case}/reference.json",
            case=files.cases(plan.design.points),
        ),
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
