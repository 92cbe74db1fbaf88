"""Number of blocks after which a node that is 20 % slower is flagged, compared with the power of the test.

Run by hand from the project's root: ``.venv/bin/python tests/benchmarks/slow_node.py``; prints a table in
Markdown. With ``real [TRIALS]``, as root: a study of three sizes of one case on a small Slurm of five nodes,
one of which has 80 % of a core by its control group, and the same without that; a trial is ten blocks of it,
a third of a minute.
"""

from __future__ import annotations

import contextlib
import math
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import nct, t

sys.path.insert(0, str(Path(__file__).parents[2]))

from analysis.runs.runs import NODE_NAMES, complete_runs, read_runs, valid_rows
from analysis.runs.settings import Settings
from analysis.topics.nodes import STRICTER, make_nodes
from tests.slurm.small_slurm import small_slurm
from workflows.domain import Point
from workflows.launch.emulation import occupants, usable_cores
from workflows.measure.allocation import chosen_nodes
from workflows.paths import ROOT
from workflows.plan.design import repetitions

NODES = 5
COUNTS = (1, 2, 3, 5)
"""Processes, one a node: a study on all nodes of an allocation."""
STRATA = [(count, 1 if count == 1 else 2) for count in COUNTS]
"""Nodes of a block, and its runs."""
SHARE = 0.8
"""Of a core, that a slow node has."""
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
                NODE_NAMES: " ".join(f"n{number}" for number in chosen),
            }
        )
    return complete_runs(pd.DataFrame(rows))


def flagged_nodes(runs: pd.DataFrame) -> list[str]:
    """Nodes that are told to be slow."""
    tables = make_nodes(runs, Settings())
    return [row.node for row in tables["nodes"].itertuples() if row.slow] if tables else []


def blocks_by_power(factor: float, scatter: float, strata: Sequence[tuple[int, int]] = STRATA) -> int:
    """Least number of blocks in which a t-test at the level of a slow node tells one with probability
    `POWER`.

    Of the blocks of a stratum (nodes, runs), that many of NODES have the node, rounded down, as for the one
    that is drawn least often; a block scatters as its runs together do. There are as many blocks as nodes at
    least, and as it takes that few enough orders of the blocks are as far as the farthest one.
    """
    level = ALPHA / STRICTER
    for blocks in count(NODES):
        drawn = [(blocks * number // NODES, runs) for number, runs in strata]
        orders = math.prod(math.comb(blocks, times) for times, _ in drawn)
        squares = sum(times * (1 - times / blocks) / (1 + 1 / runs) for times, runs in drawn) / scatter**2
        freedom = (blocks - 1) * len(strata) - 1
        power = nct.sf(t.isf(level / 2 / NODES, freedom), freedom, np.log(factor) * np.sqrt(squares))
        if NODES / orders <= level and power >= POWER:
            return blocks


STUDY = """
name: nodes
cases_folder: cases
cases: [work-short, work, work-long]
interconnects: [emulated_gigabit]
processes: [1]
blocks: BLOCKS
limits: {run_seconds: 60, idle_seconds: 0, core_hours: 1000}
report_while_running: false
"""
CASE = """
application: command
title: Work
description: So many additions.
stands_for: Whatever takes CPU time and nothing else.
size: middle
sizes:
  short: {parameters: {additions: 16000000}, serial_seconds: 0.3, memory_MB: 10}
  middle: {parameters: {additions: 20000000}, serial_seconds: 0.4, memory_MB: 10}
  long: {parameters: {additions: 24000000}, serial_seconds: 0.5, memory_MB: 10}
settings: {program: [python3, work.py, $additions], read: {seconds: 'took (\\S+) s'}}
"""
WORK = """
import sys, time
begun = time.perf_counter()
sum(range(int(sys.argv[1])))
print(f"took {time.perf_counter() - begun} s")
"""
SIZES = 3
BLOCKS = 2 * NODES
"""Of a trial: each node is drawn equally often."""
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


def real(trials: int) -> None:
    """Run a study of the given trials with a slow node and one without, and print how often a node is flagged.

    All nodes are on the last core: what differs between two cores is no node's.
    """
    os.sched_setaffinity(0, usable_cores()[-1:])
    ran = {share: _runs(share, trials * BLOCKS) for share in (SHARE, 1.0)}
    print(
        "| node | trials | it is told | another is told | scatter of a run | blocks by power | blocks of a "
        "trial |"
    )
    print("|---|---|---|---|---|---|---|")
    for share, (slow, runs) in ran.items():
        trial = (runs["block"].astype(int) - 1) // BLOCKS
        names = [flagged_nodes(runs[trial == number].reset_index(drop=True)) for number in range(trials)]
        right = sum(slow in flagged for flagged in names)
        wrong = sum(bool(set(flagged) - {slow}) for flagged in names)
        scatter = _scatter(runs.assign(trial=trial))
        needed = blocks_by_power(1 / SHARE, scatter / math.sqrt(2), [(1, 1)] * SIZES)
        print(
            f"| {slow} with {share:.0%} of a core | {trials} | {right} | {wrong} | {scatter:.1%} | {needed} "
            f"| {BLOCKS} |",
            flush=True,
        )


def _scatter(runs: pd.DataFrame) -> float:
    """Standard deviation of log times of a size on a node in a trial."""
    valid = valid_rows(runs)
    logs, cells = np.log(valid["seconds"]), valid.groupby(["trial", "case", NODE_NAMES], observed=True)
    around = logs - logs.groupby(cells.ngroup()).transform("mean")
    return float(np.sqrt((around**2).sum() / (len(valid) - cells.ngroups)))


def _runs(share: float, blocks: int) -> tuple[str, pd.DataFrame]:
    """Run a study in an allocation with a node of a share of a core; give its name, and the runs."""
    with throttled(share), small_slurm(nodes=NODES) as slurm, tempfile.TemporaryDirectory() as name:
        folder, slow = Path(name), slurm.nodes[2]
        for process in occupants([slow.net]) if share < 1 else ():
            (GROUP / "cgroup.procs").write_text(f"{process}")
        case = folder / "cases/command/work"
        case.mkdir(parents=True)
        (case / "case.yaml").write_text(CASE)
        (case / "work.py").write_text(WORK)
        (folder / "study.yaml").write_text(STUDY.replace("BLOCKS", f"{blocks}"))
        (folder / "site.yaml").write_text("joined_by: emulated_gigabit\n")
        options = ["--wait", f"--nodes={NODES}", "--time=120", f"--output={folder}/out"]
        given = [f"{folder}/study.yaml", "--config", f"cluster={folder}/site.yaml"]
        given += ["--directory", str(folder), "--snakefile", str(ROOT / "Snakefile")]
        table = folder / "results/nodes/runs.csv"
        script = [f"{ROOT}/cluster/allocation.sh", *given, "--", "results/nodes/runs.csv"]
        slurm.run("sbatch", *options, *script, timeout=7200)
        if not table.exists():
            raise SystemExit((folder / "out").read_text())
        return slow.name, read_runs(table)


def main(given: Sequence[str]) -> None:
    """Print the table, or what is asked for."""
    if given:
        return real(int(given[1]) if given[1:] else 10)
    print("| scatter of a run | blocks by power | found | other nodes told | told where none is slow |")
    print("|---|---|---|---|---|")
    for scatter, heavy in ((0.01, False), (0.05, False), (0.1, False), (0.2, False), (0.05, True)):
        blocks = blocks_by_power(1 / SHARE, scatter)
        slow = [flagged_nodes(runs_of(blocks, seed, 1 / SHARE, scatter, heavy)) for seed in range(TRIALS)]
        right = sum(f"n{seed % NODES}" in names for seed, names in enumerate(slow))
        wrong = sum(bool(set(names) - {f"n{seed % NODES}"}) for seed, names in enumerate(slow))
        none = sum(bool(flagged_nodes(runs_of(blocks, seed, 1.0, scatter, heavy))) for seed in range(TRIALS))
        tails = ", heavy tails" if heavy else ""
        print(f"| {scatter:.0%}{tails} | {blocks} | {right} | {wrong} | {none} of {TRIALS} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
