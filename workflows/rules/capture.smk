"""
Traces a case at a process count: what every rank computes and communicates in a few steady steps, to be replayed
on simulated interconnects. There may be far more processes than cores: each rank is timed by itself afterwards, with
its threads, and where that cannot be, a trace is corrected by the CPU time of the serial one. All cores are kept for one
trace at a time.

REQUIRED INPUTS:

    prepared    = <results>/prepared/{case}/processes-{processes}
    serial      = <results>/traces/{case}/processes-1, of more than one process
    base        = <results>/prepared/{case}/processes-1, of more than one process: run again beside the ranks
    carrier     = file of the interconnect over which the traced run goes

OUTPUTS:

    trace       = <results>/traces/{case}/processes-{processes}: rank-<r>.txt.gz, trace.json, profile.csv, pairs.csv;
                  of processes of several threads <results>/traces/{case}/processes-{processes}-threads-{threads}
"""

from workflows.paths import INTERCONNECTS
from workflows.plan.jobs import site_modules, whole_node

with one_line_errors():
    own_node = whole_node(plan)


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
        **own_node,
    params:
        cases=cases_folder,
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
