"""
Runs the study block by block. A repetition that is recorded is not run again, whatever happens to
this rule: its only output is the list of records, the records themselves belong to nobody but the study.

REQUIRED INPUTS:

    prepared    = <results>/prepared/{case}/processes-{processes}, all of the study
    references  = <results>/prepared/{case}/reference.json, all of the study

OUTPUTS:

    records     = <results>/blocks/{block}.txt, and the records it lists, one a repetition:
                  <results>/records/{case}/{interconnect}/processes-{processes}/
                  oversubscription-{level}/block-{block}-attempt-{attempt}.json
"""


rule measure:
    """Measuring block {wildcards.block}"""
    input:
        prepared=plan.prepared(),
        references=plan.references(),
        again=plan.requests(),
    output:
        records="<results>/blocks/{block}.txt",
    params:
        study=str(plan.study.file),
        points=plan.digest,
    log:
        "<results>/logs/measure/block-{block}.log",
    threads: workflow.cores
    priority: 1
    script:
        "../scripts/measure.py"
