"""
Makes every case ready to run: its mesh, and its decomposition for each process count. Never timed.

REQUIRED INPUTS:

    cases/<application>/{case}: the study's `cases_folder` replaces `cases`

OUTPUTS:

    folder      = <results>/prepared/{case}/processes-{processes}
    reference   = <results>/prepared/{case}/reference.json
"""

from math import ceil

from workflows.plan.files import kept_answer
from workflows.plan.jobs import (
    preparing_group,
    preparing_resources,
    reference_resources,
    site_modules,
)
from workflows.plan.sources import source_digest


rule prepare_serial:
    output:
        folder=directory("<results>/prepared/{case}/processes-1"),
    log:
        "<results>/logs/prepare/{case}-1.log",
    priority: 3
    group:
        preparing_group(plan)
    conda:
        "../../envs/python.yaml"
    envmodules:
        *site_modules(plan.here.cluster),
    resources:
        **preparing_resources(plan.here.cluster),
    params:
        cases=lambda wildcards: plan.asked.study.source_of(wildcards.case),
        digest=lambda wildcards: plan.asked.case_digests[wildcards.case],
        source=source_digest("prepare"),
    message:
        "Preparing {wildcards.case}"
    script:
        "../scripts/prepare.py"


use rule prepare_serial as prepare_parallel with:
    input:
        base="<results>/prepared/{case}/processes-1",
    output:
        folder=directory("<results>/prepared/{case}/processes-{processes}"),
    log:
        "<results>/logs/prepare/{case}-{processes}.log",
    message:
        "Preparing {wildcards.case} for {wildcards.processes} processes"


ruleorder: prepare_serial > prepare_parallel


rule reference:
    input:
        folder="<results>/prepared/{case}/processes-1",
    output:
        reference="<results>/prepared/{case}/reference.json",
    log:
        "<results>/logs/prepare/{case}-reference.log",
    priority: 3
    group:
        preparing_group(plan)
    conda:
        "../../envs/python.yaml"
    envmodules:
        *site_modules(plan.here.cluster),
    threads: 1 if plan.here.cluster else workflow.cores
    resources:
        **reference_resources(plan),
        # A resource, since a changed parameter would find the answer again.
        run_seconds=ceil(plan.asked.study.limits.run_seconds),
    params:
        cases=lambda wildcards: plan.asked.study.source_of(wildcards.case),
        kept=lambda wildcards: str(kept_answer(plan, wildcards.case)),
        source=source_digest("reference"),
    message:
        "Checking {wildcards.case}"
    script:
        "../scripts/reference.py"
