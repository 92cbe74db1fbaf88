"""
Traces cases, and replays the traces on the study's simulated interconnects. Patterns of traffic need no trace.

A trace holds what every rank computes and communicates in a few steady steps. There may be far more processes than
cores: each rank is timed by itself afterwards, with its threads. If it cannot be, the trace is corrected by the CPU
time of the serial trace. One trace at a time has all cores of a node, and so have the other rules of this file.

REQUIRED INPUTS:

    prepared    = <results>/prepared/{case}/processes-{processes}
    base        = <results>/prepared/{case}/processes-1, which runs again alongside the ranks
    carrier     = config/interconnects/shared_memory.yaml, over which traced runs communicate

OUTPUTS:

    trace       = <results>/traces/{case}/processes-{processes}[-threads-{threads}]: rank-<r>.txt.gz, trace.json,
                  profile.csv, pairs.csv
    times       = <results>/times/{case}.json, times of the tasks of a case with a distributed array in serial runs
    processor   = <results>/processor.json, speed of a core here, if the study names the processor that it simulates
    bandwidth   = <results>/bandwidth.json, bandwidth of the memory for 1, 2, 4, ... all cores, if processes of one
                  node are both measured and traced
    simulated   = <results>/simulated: fit/{interconnect}.csv, how well each model repeats its ping-pong, and
                  {case}/{interconnect}/processes-{processes}.json, a record for each point
"""

from math import ceil

from workflows.errors import one_line_errors
from workflows.paths import INTERCONNECTS
from workflows.plan import files
from workflows.plan.jobs import site_modules, whole_node
from workflows.plan.sources import source_digest

with one_line_errors():
    own_node = whole_node(plan)

# A resource, since a changed parameter would take every trace again.
run_limit = {"run_seconds": ceil(plan.asked.study.limits.run_seconds)}


rule capture_serial:
    input:
        prepared="<results>/prepared/{case}/processes-1",
        carrier=str(INTERCONNECTS / "shared_memory.yaml"),
    output:
        trace=directory("<results>/traces/{case}/processes-1"),
    log:
        "<results>/logs/traces/{case}-1.log",
    priority: 1
    conda:
        "../../envs/python.yaml"
    envmodules:
        *site_modules(plan.here.cluster),
    threads: workflow.cores
    resources:
        **run_limit,
        **own_node,
    params:
        cases=lambda wildcards: plan.asked.study.source_of(wildcards.case),
        digest=lambda wildcards: plan.asked.case_digests[wildcards.case],
        steps=plan.asked.study.simulation["steps"],
        repeats=plan.asked.study.simulation.get("repeats"),
        source=source_digest("capture"),
    message:
        "Tracing {wildcards.case} on one process"
    script:
        "../scripts/capture.py"


use rule capture_serial as capture with:
    input:
        prepared="<results>/prepared/{case}/processes-{processes}",
        serial="<results>/traces/{case}/processes-1",
        base="<results>/prepared/{case}/processes-1",
        carrier=str(INTERCONNECTS / "shared_memory.yaml"),
    output:
        trace=directory("<results>/traces/{case}/processes-{processes}"),
    log:
        "<results>/logs/traces/{case}-{processes}.log",
    message:
        "Tracing {wildcards.case} on {wildcards.processes} processes"


use rule capture as capture_threads with:
    output:
        trace=directory(
            "<results>/traces/{case}/processes-{processes}-threads-{threads}"
        ),
    log:
        "<results>/logs/traces/{case}-{processes}-threads-{threads}.log",
    message:
        "Tracing {wildcards.case} on {wildcards.processes} processes of {wildcards.threads} threads"


ruleorder: capture_serial > capture


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
        **run_limit,
        **own_node,
    params:
        cases=lambda wildcards: plan.asked.study.source_of(wildcards.case),
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
        traces=collect(
            "<results>/traces/{key.case}/{key.folder}", key=files.traces(plan)
        ),
        times=collect("<results>/times/{case}.json", case=files.cases_with_arrays(plan)),
        processor=branch(files.needs_processor(plan), then="<results>/processor.json"),
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
