"""After how many blocks a node that is 20 % slower is told, beside what its test needs by its power.

Run by hand from the project's root: ``.venv/bin/python tests/benchmarks/slow_node.py``; prints a table in Markdown.
With ``real [BLOCKS]``, as root: a study of three cases on a small Slurm of five nodes, one of which has 80 % of a
core by its control group, and the same without that; prints the tables ``nodes``.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[2]))

from analysis.estimates.distributions import t_quantile
from analysis.estimates.nodes import NAMES, make_nodes
from analysis.runs.runs import complete_runs, read_runs
from analysis.runs.settings import Settings
from tests.slurm.small_slurm import small_slurm
from workflows.domain import Point
from workflows.launch.emulation import occupants
from workflows.paths import ROOT
from workflows.plan.design import repetitions
from workflows.plan.rotation import chosen_nodes

NODES = 5
COUNTS = (1, 2, 3, 5)
"""Processes, one a node: a study on all nodes of an allocation."""
ALPHA = 0.05
POWER = 0.9
TRIALS = 100


def points(interconnects: int = 2) -> list[Point]:
    """Points of a case, serial and over interconnects."""
    names = [f"network{number}" for number in range(interconnects)]
    over = [(count, name) for count in COUNTS for name in (names if count > 1 else [None])]
    return [Point("duct", name, count, 1, count, count) for count, name in over]


def runs_of(blocks: int, seed: int, factor: float, scatter: float, heavy: bool = False) -> pd.DataFrame:
    """Runs of a study in one allocation, with one of its nodes slower by a factor.

    Each run scatters by `scatter` (of its logarithm), and each block of what is compared by as much again;
    `heavy` is Student's t with 2 degrees of freedom.
    """
    rng = np.random.default_rng(seed)
    noise = (lambda: rng.standard_t(2)) if heavy else rng.standard_normal
    rows, shared = [], {}
    for repetition in repetitions(points(), range(1, blocks + 1), seed):
        point, chosen = repetition.point, chosen_nodes(NODES, repetition, seed)
        together = shared.setdefault((point.processes, repetition.block), noise())
        seconds = 10 / point.processes * np.exp(scatter * (together + noise()))
        rows.append(
            {
                "case": "duct",
                "interconnect": point.interconnect,
                "kind": "measured",
                "nodes": point.nodes,
                "processes": point.processes,
                "block": repetition.block,
                "seconds": seconds * (factor if seed % NODES in chosen else 1),
                NAMES: " ".join(f"n{number}" for number in chosen),
            }
        )
    return complete_runs(pd.DataFrame(rows))


def told(runs: pd.DataFrame) -> list[str]:
    """Nodes that are told to be slow."""
    tables = make_nodes(runs, Settings())
    return [row.node for row in tables["nodes"].itertuples() if row.slow] if tables else []


def blocks_by_power(factor: float, scatter: float) -> int:
    """Least number of blocks in which a t-test at `ALPHA` / `NODES` tells a node with probability `POWER`.

    A block of `count` processes has the node in count / NODES of cases, and scatters as its runs together do.
    As many blocks as nodes are the fewest in which each node was chosen.
    """
    normal = NormalDist().inv_cdf(POWER)
    for blocks in count(NODES):
        of_counts = [(number, 1 if number == 1 else 2) for number in COUNTS if number < NODES]
        squares = sum(
            blocks * (number / NODES) * (1 - number / NODES) / (scatter**2 * (1 + 1 / runs))
            for number, runs in of_counts
        )
        freedom = (blocks - 1) * len(COUNTS) - 1
        if np.log(factor) * np.sqrt(squares) >= t_quantile(ALPHA / 2 / NODES, freedom) + normal:
            return blocks


STUDY = """
name: nodes
cases: [cavity-4k, elbow_segregated-smoke, water_scf-smoke]
interconnects: [emulated_gigabit]
processes: [1]
blocks: BLOCKS
limits: {run_seconds: 60, idle_seconds: 0}
"""
GROUP = Path("/sys/fs/cgroup/cpu/nodeworth-slow-node")
PERIOD_US = 10_000


@contextlib.contextmanager
def throttled(share: float) -> Iterator[None]:
    """Make a control group of a share of a core, which goes when all in it have ended."""
    GROUP.mkdir()
    try:
        (GROUP / "cpu.cfs_period_us").write_text(f"{PERIOD_US}")
        (GROUP / "cpu.cfs_quota_us").write_text(f"{int(share * PERIOD_US)}")
        yield
    finally:
        GROUP.rmdir()


def real(blocks: int) -> None:
    """Run the study twice, and print what is told."""
    for share in (0.8, 1.0):
        with throttled(share), small_slurm(nodes=NODES) as slurm, tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for process in occupants([slurm.nodes[2].net]) if share < 1 else ():
                (GROUP / "cgroup.procs").write_text(f"{process}")
            (folder / "study.yaml").write_text(STUDY.replace("BLOCKS", f"{blocks}"))
            (folder / "site.yaml").write_text("joined_by: emulated_gigabit\n")
            options = ["--wait", f"--nodes={NODES}", "--time=60", f"--output={folder}/out"]
            given = [f"{folder}/study.yaml", "--config", f"cluster={folder}/site.yaml"]
            given += ["--directory", str(folder), "--snakefile", str(ROOT / "Snakefile")]
            table = folder / "results/nodes/runs.csv"
            script = [f"{ROOT}/cluster/allocation.sh", *given, "--", "results/nodes/runs.csv"]
            slurm.run("sbatch", *options, *script, timeout=1800)
            if not table.exists():
                raise SystemExit((folder / "out").read_text())
            found = make_nodes(read_runs(table), Settings())["nodes"]
            print(f"{share:.0%} of a core for {slurm.nodes[2].name}, {blocks} blocks of three cases:")
            print(found.round(4).to_string(index=False), flush=True)


def main(given: Sequence[str]) -> None:
    """Print the table, or what is asked for."""
    if given:
        return real(int(given[1]) if given[1:] else 2 * NODES)
    print("| scatter of a run | blocks by power | found | other nodes told | told where none is slow |")
    print("|---|---|---|---|---|")
    for scatter, heavy in ((0.01, False), (0.05, False), (0.1, False), (0.2, False), (0.05, True)):
        blocks = blocks_by_power(1.25, scatter)
        slow = [told(runs_of(blocks, seed, 1.25, scatter, heavy)) for seed in range(TRIALS)]
        right = sum(f"n{seed % NODES}" in names for seed, names in enumerate(slow))
        wrong = sum(bool(set(names) - {f"n{seed % NODES}"}) for seed, names in enumerate(slow))
        none = sum(bool(told(runs_of(blocks, seed, 1.0, scatter, heavy))) for seed in range(TRIALS))
        tails = ", heavy tails" if heavy else ""
        print(f"| {scatter:.0%}{tails} | {blocks} | {right} | {wrong} | {none} of {TRIALS} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
