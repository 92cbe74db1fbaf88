"""
Replays the traces of real runs on the study's simulated interconnects, and carries out patterns of traffic on
them, all in one job.

REQUIRED INPUTS:

    prepared    = <results>/prepared/{case}/processes-1, of cases that do tasks on a distributed array
    traces      = <results>/traces/{case}/processes-{processes}, of the study's other simulated points

OUTPUTS:

    probed      = <results>/processor.json, how fast a core is here, if the study says which processor it simulates
    times       = <results>/times/{case}.json, how long the tasks of such a case take in serial runs
    probed      = <results>/bandwidth.json, the bandwidth of memory of 1, 2, 4, ... all cores, if ranks of one node are
                  both run and traced
    simulated   = <results>/simulated: fit/{interconnect}.csv, how well each model repeats its ping-pong, and
                  {case}/{interconnect}/processes-{processes}.json, a record a point
"""

from workflows.plan import files
from workflows.plan.jobs import site_modules, whole_node

with one_line_errors():
    own_node = whole_node(plan)


rule time_tasks:
    input:
        prepared="<results>/prepared/{case}/processes-1",
    output:
        times="<results>/times/{case}.json",
    log:
        "<results>/logs/times/{case}.log",
    priority: 1
    conda:
        "../../envs/python.yaml"
    envmodules:
        *site_modules(plan.here.cluster),
    threads: workflow.cores
    resources:
        **own_node,
    params:
        cases=cases_folder,
        digest=lambda wildcards: plan.asked.case_digests[wildcards.case],
        source=source_digest("time_tasks"),
    message:
        "Timing the tasks of {wildcards.case}"
    script:
        "../scripts/time_tasks.py"


rule probe:
    output:
        probed="<results>/processor.json",
    log:
        "<results>/logs/processor.log",
    priority: 1
    conda:
        "../../envs/python.yaml"
    envmodules:
        *site_modules(plan.here.cluster),
    threads: workflow.cores
    resources:
        **own_node,
    params:
        source=source_digest("probe"),
    message:
        "Measuring how fast a core is"
    script:
        "../scripts/probe.py"


use rule probe as probe_bandwidth with:
    output:
        probed="<results>/bandwidth.json",
    log:
        "<results>/logs/bandwidth.log",
    message:
        "Measuring the memory that cores share"


rule replay:
    input:
        traces=files.traces(plan),
        times=files.times(plan),
        processor=files.processor(plan),
    output:
        simulated=directory("<results>/simulated"),
    log:
        "<results>/logs/replay.log",
    priority: 1
    conda:
        "../../envs/python.yaml"
    envmodules:
        *site_modules(plan.here.cluster),
    threads: workflow.cores
    resources:
        **own_node,
    params:
        study=str(plan.asked.study.file),
        digest=plan.design.replay_digest,
        asked=plan.asked.digest,
        source=source_digest("replay"),
    message:
        "Replaying traces"
    script:
        "../scripts/replay.py"
