"""What the clock measures beside this project: the same work in bare Snakemake and in bash.

Bare Snakemake has an environment of its own: it does not import the plugins that this project needs.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

from tests.benchmarks.figures import ROOT, Cost, cost

ENVIRONMENTS = ROOT / ".venv/peers"

BARE = """
rule all:
    input: [f"out/{n}" for n in range(JOBS)]

rule run:
    output: "out/{n}"
    shell: "echo took 0.001 s > {output}"
"""
HAND = r"""
runs=$1
shift
for number in $(seq "$runs"); do
    said=$("$@")
    [[ $said =~ took\ ([0-9.]+) ]] || exit 1
    echo "$number,${BASH_REMATCH[1]}"
done
"""


@functools.cache
def environment(package: str) -> Path:
    """Make an environment of one package, as ``name==version``, where there is none yet; give its programs' folder."""
    made = ENVIRONMENTS / package
    if not (made / "complete").exists():
        uv = Path(sys.executable).with_name("uv")
        cost([uv, "venv", "--clear", "--python", sys.executable, made])
        cost([uv, "pip", "install", "--compile-bytecode", "--python", made / "bin/python", package])
        (made / "complete").touch()
    return made / "bin"


def bare_snakemake(folder: Path, jobs: int, *options: str) -> Cost:
    """Run bare Snakemake over so many jobs of one `echo` each, one at a time."""
    (folder / "Snakefile").write_text(BARE.replace("JOBS", str(jobs)))
    program = environment(f"snakemake=={version('snakemake')}") / "snakemake"
    command = [program, "--cores", "1", "--scheduler", "greedy", "--workflow-profile", "none"]
    return cost([*command, "--directory", folder, "--snakefile", folder / "Snakefile", *options], folder)


def finished_bare(folder: Path, jobs: int) -> None:
    """Put everything there that `bare_snakemake` would make, known to Snakemake."""
    (folder / "out").mkdir()
    for number in range(jobs):
        (folder / f"out/{number}").write_text("took 0.001 s\n")
    bare_snakemake(folder, jobs, "--touch")


def by_hand(command: Sequence[str], environment: Mapping[str, str], runs: int) -> Cost:
    """Run a command so often, and read its time, in a loop of bash."""
    words = [f"{name}={value}" for name, value in environment.items()]
    return cost(["env", *words, "bash", "-c", HAND, "bash", str(runs), *command])
