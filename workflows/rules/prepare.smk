"""
Makes every case ready to run: its mesh, and its decomposition once a process count. Never timed.

REQUIRED INPUTS:

    the case's folder under cases/

OUTPUTS:

    folder      = <results>/prepared/{case}/processes-{processes}
    reference   = <results>/prepared/{case}/reference.json
"""

from workflows.plan.jobs import preparing_group, site_modules, site_resources

if plan.cluster and plan.cluster.container:

    container: plan.cluster.container


wildcard_constraints:
    processes=r"\d+",


rule prepare_serial:
    """Meshing {wildcards.case}"""
    output:
        folder=directory("<results>/prepared/{case}/processes-1"),
    log:
        "<results>/logs/prepare/{case}-1.log",
    group:
        preparing_group(plan)
    conda:
        "../../envs/python.yaml"
    envmodules:
        *site_modules(plan),
    resources:
        **site_resources(plan),
    params:
        study=str(plan.study.file),
        digest=plan.case_digest,
        source=source_digest("prepare"),
    script:
        "../scripts/prepare.py"


use rule prepare_serial as prepare_parallel with:
    """Decomposing {wildcards.case} for {wildcards.processes} processes"""
    input:
        base="<results>/prepared/{case}/processes-1",
    output:
        folder=directory("<results>/prepared/{case}/processes-{processes}"),
    log:
        "<results>/logs/prepare/{case}-{processes}.log",


ruleorder: prepare_serial > prepare_parallel


rule reference:
    """Finding the answer that runs of {wildcards.case} must give"""
    input:
        folder="<results>/prepared/{case}/processes-1",
    output:
        reference="<results>/prepared/{case}/reference.json",
    log:
        "<results>/logs/prepare/{case}-reference.log",
    group:
        preparing_group(plan)
    conda:
        "../../envs/python.yaml"
    envmodules:
        *site_modules(plan),
    threads: 1 if plan.cluster else workflow.cores
    resources:
        **site_resources(plan),
    params:
        study=str(plan.study.file),
        golden=plan.golden,
        source=source_digest("reference"),
    script:
        "../scripts/reference.py"
