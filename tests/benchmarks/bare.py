"""Bare Snakemake as the peer of a study: equally many jobs of the same shape over equally many files.

Rules are those up to the runs table, with names of files as they come, a line of shell each, and no
functions, resources, parameters, logs or environments.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

SNAKEFILE = """
CASES = {cases}
COUNTS = {counts}
LEVELS = {levels}

rule all:
    input:
        "runs.csv",

rule prepare_serial:
    output:
        directory("prepared/{{case}}/processes-1"),
    shell:
        "mkdir {{output}}"

rule prepare_parallel:
    input:
        "prepared/{{case}}/processes-1",
    output:
        directory("prepared/{{case}}/processes-{{processes}}"),
    shell:
        "mkdir {{output}}"

ruleorder: prepare_serial > prepare_parallel

rule reference:
    input:
        "prepared/{{case}}/processes-1",
    output:
        "prepared/{{case}}/reference.json",
    shell:
        "touch {{output}}"

rule measure_batch:
    input:
        "prepared/{{case}}/processes-{{processes}}",
        "prepared/{{case}}/reference.json",
    output:
        "measured/{{case}}/processes-{{processes}}/oversubscription-{{level}}/blocks-1-1.txt",
    shell:
        "touch {{output}}"

rule measure:
    input:
        expand(
            "measured/{{case}}/processes-{{processes}}/oversubscription-{{level}}/blocks-1-1.txt",
            case=CASES, processes=COUNTS, level=LEVELS,
        ),
    output:
        "records.txt",
    shell:
        "touch {{output}}"

rule collect:
    input:
        "records.txt",
    output:
        "runs.csv",
    shell:
        "touch {{output}}"
"""


def write_bare(folder: Path, cases: Sequence[str], counts: Sequence[int], levels: Sequence[int]) -> None:
    """Write a Snakefile with as many jobs as a study of these cases and counts has in one block."""
    text = SNAKEFILE.format(cases=list(cases), counts=list(counts), levels=list(levels))
    (folder / "Snakefile").write_text(text)


def bare_dry_run(folder: Path) -> list[str]:
    """Command of a dry run of that Snakefile."""
    command = [sys.executable, "-m", "snakemake", "--directory", str(folder), "--cores", "2"]
    snakefile = ["--snakefile", str(folder / "Snakefile"), "--workflow-profile", "none"]
    return [*command, *snakefile, "--scheduler", "greedy", "--nolock", "--dry-run", "--quiet", "all"]
