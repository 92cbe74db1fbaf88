"""Measure what Nodeworth costs, and write docs/clock.md. For an idle machine.

    ./run-tests clock [NAME ...] [--dry]

The exit status is 1 if a cost is above its limit.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd

from tests.benchmarks.bare import bare_dry_run, write_bare
from tests.benchmarks.costs import ROOT, Cost, Measured, cost, interleaved
from tests.benchmarks.packets_speed import packet_seconds
from tests.benchmarks.replay_speed import replay_rate
from tests.benchmarks.tracer_overhead import tracer_ratio
from tests.study_files import timed_case
from workflows.launch.provenance import machine
from workflows.plan.jobs import batches
from workflows.plan.plan import make_plan
from workflows.plan.records import read_record, write_record

PAGE = ROOT / "docs/clock.md"
TEXT = """# Clock

`./run-tests clock` measures what Nodeworth costs and writes this page. It fails if a cost is above its limit.
CPU times include all processes. A cost and its peer ran in turn, and the table has the medians.

Measured on {date}, commit {commit}, on {machine}.

| cost | measured | limit | peer |
| --- | --- | --- | --- |
{rows}
"""
PROGRAM = """
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        puts("took 0.001 s");
    return MPI_Finalize();
}
"""
REPETITIONS = """
name: clock_repetitions
cases_folder: cases
cases: [{cases}]
interconnects: [shared_memory]
processes: [1, 2]
blocks: {blocks}
report_while_running: false
limits: {{idle_seconds: 0, core_hours: 100000, run_seconds: 60}}
"""
MANY_JOBS = f"""
name: clock_jobs
cases_folder: {ROOT / "tests/cases"}
cases: [faulty, faulty-crashes, faulty-killed, faulty-wrong, faulty-cut]
interconnects: [ucx_verbs]
processes: {list(range(16, 16 + 8 * 500, 8))}
oversubscription: [1, 2, 4, 8]
blocks: 1
limits: {{core_hours: 100000000}}
"""
SITE = "nodes: 10000\ncores_per_node: 1\nmemory_per_node_MB: 1000000\n"
SNAKEMAKE = Path(sys.executable).with_name("snakemake")
COLLECT = """
import sys
from pathlib import Path
from workflows.plan.plan import make_plan
from workflows.results.collect import collect
rows = len(collect(make_plan(Path(sys.argv[1]))).runs)
sys.exit(rows != int(sys.argv[2]) and f"{rows} rows")
"""
TABLES = """
import sys
from pathlib import Path
from analysis.topics.topic import Request
from analysis.topics.proposal.rules import read_rule
from analysis.pipeline import make_all_tables, write_tables
from analysis.runs.runs import read_runs
from analysis.runs.settings import Settings
request = Request(Settings(draws=1000), rule=read_rule(Path("config/proposals/doubling_1_5.yaml")))
write_tables(make_all_tables(read_runs(Path(sys.argv[1])), request), Path(sys.argv[2]))
"""


def framework_per_repetition(further: int = 100) -> list[Measured]:
    """CPU time of a repetition without its launcher and program: the difference of two lengths of a study."""

    def outside_runs(blocks: int) -> float:
        with tempfile.TemporaryDirectory() as name:
            used = _run_repetitions(Path(name), blocks)
            records = [read_record(file) for file in Path(name).glob("results/*/records/**/*.json")]
        if len(records) != 2 * blocks or not all(record.valid for record in records):
            raise RuntimeError(f"{len(records)} records, not {2 * blocks} valid records")
        return used.cpu_seconds - sum(record.times.cpu_seconds for record in records)

    milliseconds = 1000 * (outside_runs(further + 1) - outside_runs(1)) / (2 * further)
    return [Measured("framework, per repetition", milliseconds, "ms CPU", 20)]


def _run_repetitions(folder: Path, blocks: int, cases: Sequence[str] = ("nothing",)) -> Cost:
    """Run a study of an MPI program that does nothing, on one and two processes, up to its runs table."""
    (folder / "nothing.c").write_text(PROGRAM)
    subprocess.run(["mpicc.openmpi", folder / "nothing.c", "-o", folder / "nothing"], check=True)
    for case in cases:
        timed_case(folder / "cases", case, str(folder / "nothing"))
    text = REPETITIONS.format(cases=", ".join(cases), blocks=blocks)
    (folder / "clock_repetitions.yaml").write_text(text)
    where = ["--directory", folder, "--snakefile", ROOT / "Snakefile"]
    study = ["--configfile", folder / "clock_repetitions.yaml"]
    return cost([SNAKEMAKE, *where, *study, "--", "results/clock_repetitions/runs.csv"])


def finished_study() -> list[Measured]:
    """CPU time of the default study when nothing is left to do, next to bare Snakemake; time of its report."""
    study = [ROOT / "run-study"]
    cost(study)
    with tempfile.TemporaryDirectory() as name:
        bare = [SNAKEMAKE, "--cores", "1", "--workflow-profile", "none", "--directory", name]
        (Path(name) / "Snakefile").write_text('rule all:\n    output: "made"\n    shell: "touch {output}"\n')
        bare += ["--snakefile", Path(name) / "Snakefile"]
        cost(bare)
        ways = {"study": lambda: cost(study).cpu_seconds, "bare": lambda: cost(bare).cpu_seconds}
        seconds = interleaved(ways)
    report = cost([*study, "--forcerun", "analyse"])
    return [
        Measured(
            "finished default study",
            seconds["study"],
            "s CPU",
            1.5 * seconds["bare"] + 2,
            f"1.5 × bare Snakemake ({seconds['bare']:.2f} s) + 2 s",
        ),
        Measured("report of the default study made again", report.wall_seconds, "s", 30),
    ]


def dry_run() -> list[Measured]:
    """CPU time of a dry run of 10,000 jobs on a cluster, next to bare Snakemake with jobs of the same shape."""
    with tempfile.TemporaryDirectory() as ours, tempfile.TemporaryDirectory() as theirs:
        study, site = Path(ours) / "clock_jobs.yaml", Path(ours) / "site.yaml"
        study.write_text(MANY_JOBS)
        site.write_text(SITE)
        plan = make_plan(study, {"cluster": str(site)})
        counts = sorted({point.processes for point in plan.design.points})
        write_bare(Path(theirs), plan.asked.study.cases, counts, plan.asked.study.oversubscription)
        command = [SNAKEMAKE, "--profile", "cluster", "--directory", ours, "--snakefile", ROOT / "Snakefile"]
        command += ["--configfile", study, "--config", f"cluster={site}", "--dry-run", "--quiet", "all"]
        command += ["--", "results/clock_jobs/runs.csv"]
        ways = {
            "study": lambda: cost(command).cpu_seconds,
            "bare": lambda: cost(bare_dry_run(Path(theirs))).cpu_seconds,
        }
        seconds = interleaved(ways)
    name = f"dry run of {len(batches(plan)):,} jobs"
    peer = f"2 × bare Snakemake ({seconds['bare']:.1f} s)"
    return [Measured(name, seconds["study"], "s CPU", 2 * seconds["bare"], peer)]


def collecting(records: int = 60_000) -> list[Measured]:
    """Time to collect copies of the records of a block of three cases on one and two processes."""
    cases = ("nothing", "nil", "none")
    blocks = records // (2 * len(cases))
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _run_repetitions(folder, 1, cases)
        study = folder / "clock_repetitions.yaml"
        study.write_text(REPETITIONS.format(cases=", ".join(cases), blocks=blocks))
        os.chdir(folder)
        try:
            first = list(folder.glob("results/*/records/**/block-1-attempt-1.json"))
            for file in first:
                record = read_record(file)
                for block in range(2, blocks + 1):
                    copy = file.with_name(f"block-{block}-attempt-1.json")
                    write_record(copy, replace(record, block=block))
        finally:
            os.chdir(here)
        command = [sys.executable, "-c", COLLECT, study, str(records)]
        used = cost(command, folder)
    return [Measured(f"collecting {records:,} records", used.wall_seconds, "s", 120)]


def all_tables(rows: int = 100_000) -> list[Measured]:
    """Time and memory from a runs table to all tables: 125 cases × 10 interconnects × 8 counts × 10 blocks."""
    counts = 2 ** np.arange(8)
    shape = (rows // 800, 10, len(counts), 10)
    case, interconnect, count, block = (index.ravel() for index in np.indices(shape))
    processes = counts[count]
    seconds = 100 / processes + 0.2 * (1 + interconnect) * np.log2(processes) + 0.5
    noise = np.random.default_rng(0).normal(0, 0.03, len(seconds))
    runs = pd.DataFrame(
        {
            "case": pd.Series(case).map("case{}".format),
            "interconnect": pd.Series(interconnect).map("net{}".format),
            "kind": "measured",
            "processes": processes,
            "block": block,
            "seconds": seconds * np.exp(noise),
        }
    )
    with tempfile.TemporaryDirectory() as folder:
        runs.to_csv(f"{folder}/runs.csv", index=False)
        used = cost([sys.executable, "-c", TABLES, f"{folder}/runs.csv", f"{folder}/tables"])
    name = f"{len(runs):,} rows to all tables"
    return [
        Measured(name, used.wall_seconds, "s", 30),
        Measured(f"memory of {name}", used.memory_bytes / 1e6, "MB", 2000),
    ]


def simulation() -> list[Measured]:
    """Speed of tracing, replay and packet simulation."""
    with tempfile.TemporaryDirectory() as folder:
        trace = [sys.executable, "-m", "workflows.tracing", "elbow_segregated-4k", "16", folder, "--together"]
        cost(trace)
        rate = replay_rate(Path(folder) / "processes-16")
    return [
        Measured("traced run over plain run", tracer_ratio(pairs=5), "× CPU", 1.2),
        Measured("replay of a million lines", 1e6 / rate, "s CPU", 4),
        Measured("simulation of 64 nodes that send 16 MB each by packets", packet_seconds(), "s CPU", 60),
    ]


COSTS: dict[str, Callable[[], list[Measured]]] = {
    "repetition": framework_per_repetition,
    "finished": finished_study,
    "dry_run": dry_run,
    "collecting": collecting,
    "tables": all_tables,
    "simulation": simulation,
}


def page(measured: Sequence[Measured]) -> str:
    """Write the page of measured costs."""
    about = machine()
    commit = subprocess.run(
        [shutil.which("git") or "git", "describe", "--always", "--dirty"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    ).stdout.strip()
    where = f"{about['cpu']}, {about['cores']} cores, {about['memory_GB']} GB, Linux {about['kernel']}"
    rows = "\n".join(cost.row for cost in measured)
    return TEXT.format(date=f"{datetime.now(UTC):%Y-%m-%d}", commit=commit, machine=where, rows=rows)


def main() -> int:
    """Measure, print each cost as it is measured, and write the page if all were measured."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], prog="./run-tests clock")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(COSTS)}; all by default")
    parser.add_argument("--dry", action="store_true", help="write no page")
    given = parser.parse_args()
    if unknown := set(given.names) - set(COSTS):
        parser.error(f"{', '.join(sorted(unknown))}: unknown cost; allowed: {', '.join(COSTS)}")
    measured = []
    for name in given.names or COSTS:
        for result in COSTS[name]():
            print(result.row, flush=True)
            measured.append(result)
    if not (given.dry or given.names):
        PAGE.write_text(page(measured))
    return int(any(result.is_above_limit for result in measured))


if __name__ == "__main__":
    sys.exit(main())
